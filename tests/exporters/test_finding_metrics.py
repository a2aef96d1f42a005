"""Metrics of findings: cause, damage, beginning and numbers, without free text in labels."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.session import Session
from sdstop.exporters.prometheus.findings import _UNITS
from sdstop.exporters.prometheus.health import STEP
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.exporters.prometheus.page import FINDINGS, WHOLE, PageSelection
from sdstop.rules import RULES
from tests.exporters.page import samples
from tests.fixtures import each_of, opened, story, third


def series(name: str, wanted: str) -> dict[tuple[str, ...], float]:
    """Return the samples of metrics that begin with `wanted`, on the page of a story."""
    page = Exposition(story(name).session)
    page.observe(story(name).session.head())
    part = PageSelection(frozenset({FINDINGS})) if "finding" in wanted else WHOLE
    return {key: value for key, value in samples(page.page(part=part)).items() if key[0].startswith(wanted)}


def test_a_finding_names_its_first_cause() -> None:
    found = series("aoe-flashcache", "sdstop_finding_active")
    by_subject = {key[-1]: key for key in found if "rule=cache-bypassed" in key or "rule=mtu-misaligned" in key}
    assert {"cause_rule=", "cause_subject="} <= set(by_subject["subject=eth1"])
    assert {"cause_rule=mtu-misaligned", "cause_subject=eth1"} <= set(by_subject["subject=cachedev"])
    assert {"standing=true", "rule=dimm-too-few-channels"} <= set(
        next(key for key in series("draid-one-dimm", "sdstop_finding_active") if "rule=dimm-too-few-channels" in key)
    )


@pytest.mark.parametrize(
    ("name", "subject", "known"),
    [
        ("lvm-failing", "dm-13", "vg2/db"),  # a number of device mapper that the next boot gives to another volume
        ("slow-member", "md0/sdd", "wwn-0x5000c500378cfa23"),
        ("disks-failing", "sdf", "0x5000c50000000005"),
        ("lvm-failing", "vg2/backup", None),  # has a name that stays
        ("md-degraded", "md0", None),
        ("aoe-flashcache", "eth1", None),
    ],
)
def test_a_kernel_name_has_one_that_survives_a_boot(name: str, subject: str, known: str | None) -> None:
    found = [key for key in series(name, "sdstop_finding_thing_info") if f"subject={subject}" in key]
    assert [label for key in found for label in key if label.startswith("name=")] == [f"name={known}"] * len(found)
    assert bool(found) is (known is not None)


def test_the_numbers_of_a_finding_are_series_in_base_units() -> None:
    found = series("aoe-flashcache", "sdstop_finding_")
    this = ("rule=mtu-misaligned", "subject=eth1")
    assert found["sdstop_finding_value", *this, "value=payload"] == 3584
    assert 0.92 < found["sdstop_finding_value_ratio", *this, "value=small"] < 0.94
    limit = ("sdstop_finding_limit_ratio", "compared=above", *this, "value=small")
    assert 0 < found[limit] < found["sdstop_finding_value_ratio", *this, "value=small"]
    begun = found["sdstop_finding_start_timestamp_seconds", *this]
    assert begun <= story("aoe-flashcache").session.head().now.taken


@each_of(third(1))
def test_the_labels_of_findings_have_no_free_text(name: str) -> None:
    judgement = story(name).judgements[-1]
    for key in series(name, "sdstop_finding"):
        labels = dict(part.partition("=")[::2] for part in key[1:])
        assert re.fullmatch(r"[\w.:-]{0,40}", labels.get("value", ""), re.ASCII), labels
    units = {value.unit for finding in judgement.findings for value in finding.values}
    assert units <= _UNITS.keys()


def test_the_end_of_a_rebuild_is_estimated_beside_what_the_source_says() -> None:
    found = series("md-rebuild-running", "sdstop_rebuild_")
    this = ("array=md0", "operation=recovery")
    assert found["sdstop_rebuild_remaining_seconds", *this] == 28644
    assert 28_000 < found["sdstop_rebuild_estimated_remaining_seconds", *this] < 29_500
    assert (
        found["sdstop_rebuild_estimated_remaining_seconds", *this]
        < found["sdstop_rebuild_estimated_latest_seconds", *this]
    )
    stalled = series("md-rebuild-stalled", "sdstop_rebuild_estimated_remaining")
    assert stalled == {}


def test_names_of_values_are_stable_whatever_their_thing_is_called() -> None:
    pages = [series(name, "sdstop_finding_value_ratio") for name in ("aoe-flashcache", "aoe-flashcache-8700")]
    names = [
        {label.removeprefix("value=") for key in page for label in key if label.startswith("value=")} for page in pages
    ]
    assert "bypass_share" in names[0]
    assert not any("cachedev" in name for found in names for name in found)
    assert any("thing=cachedev" in key and "value=bypass_share" in key for key in pages[0])


@pytest.mark.parametrize("step", [-3600.0, *(pytest.param(step, marks=pytest.mark.slow) for step in (86400.0, 3.0))])
def test_the_beginning_is_by_the_clock_of_now_after_it_was_set(step: float) -> None:
    """A node that boots with a wrong clock would have findings of the future, or of last year."""
    origin, frames = opened("md-degraded")
    page = Exposition(Session(origin, BUILTIN, RULES))
    found: dict[tuple[str, ...], float] = {}
    before: dict[tuple[str, ...], float] = {}
    for at, frame in enumerate(frames):
        page.feed(replace(frame, taken=frame.taken + step * (at > 20)))
        found = samples(page.page(process=False))
        counters = {key: value for key, value in found.items() if key[0].endswith("_total")}
        assert all(value >= before.get(key, 0.0) for key, value in counters.items())
        before = counters
    begun = found["sdstop_finding_start_timestamp_seconds", "rule=array-degraded", "subject=md0"]
    assert begun == frames[0].taken + (step if abs(step) > STEP else 0.0)
    assert found["sdstop_finding_seconds_total", "rule=array-degraded", "severity=critical", "subject=md0"] == 40
