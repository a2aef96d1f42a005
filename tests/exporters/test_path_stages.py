"""Series of the stages of data paths: those of the paths that matter, few, and steady."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
from msgspec.structs import replace

from sdstop.analysis.path import data_path
from sdstop.analysis.path.stage import StageKind
from sdstop.analysis.path.subjects import path_subjects
from sdstop.collectors import BUILTIN
from sdstop.core.history import Window
from sdstop.core.session import Session
from sdstop.exporters.prometheus import tallies
from sdstop.exporters.prometheus.choice import DEFAULT
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.exporters.prometheus.page import PageSelection
from sdstop.exporters.prometheus.stages import MOST_PATHS, PACE, PathStage, path_stages
from sdstop.rules import RULES
from tests.exporters.page import samples
from tests.fixtures import each_of, opened, story, third

SOME = ("aoe-flashcache", "hba-lost", "lvm-mended", "md-rebuild-running", "scaleio-cloud", "vm-cgroup-io-max")


def stages(name: str) -> list[PathStage]:
    look = story(name).session.head()
    return list(path_stages(look.window, look.judgement.every).values())


def test_the_figures_are_those_of_the_path_on_the_screen() -> None:
    window = story("aoe-flashcache").session.head().window
    subject = next(each for each in path_subjects(window) if each.name == "vmstore/vm01")
    known = {(s.kind.value, s.name): s for s in data_path(window, subject).stages if s.known}
    found = {(row.stage, row.name): row for row in stages("aoe-flashcache") if row.path == "vmstore/vm01"}
    assert found.keys() == known.keys()
    assert {"cache", "array", "disks", "network"} <= {stage for stage, _ in found}
    for key, row in found.items():
        stage = known[key]
        assert (row.used, row.wait, row.own) == (stage.used, stage.wait, stage.own)
        assert (row.bytes, row.requests, row.queue) == (stage.bytes, stage.requests, stage.queue)


def test_the_page_has_them_with_the_load_and_the_full_page_more() -> None:
    def page(full: bool) -> set[str]:  # noqa: FBT001
        exposition = Exposition(story("aoe-flashcache").session, chosen=None if full else DEFAULT)
        exposition.observe(story("aoe-flashcache").session.head())
        return {key[0] for key in samples(exposition.page()) if key[0].startswith("sdstop_path_stage_")}

    lean = {f"sdstop_path_stage_{name}" for name in ("used_ratio", "wait_seconds", "own_seconds", "bytes_per_second")}
    assert page(full=False) == lean
    more = {f"sdstop_path_stage_{name}" for name in ("requests_per_second", "queue", "at_limit")}
    assert page(full=True) == lean | more


def test_rebuilds_and_limits_come_before_others_and_findings_before_them() -> None:
    assert {row.path for row in stages("md-rebuild-running")} >= {"recovery of md0"}
    limited = stages("vm-cgroup-io-max")
    assert {row.stage for row in limited} >= {"client", "limit"}
    assert {row.path for row in stages("scaleio-cloud")} >= {"canary for 10.20.0.201", "web-data for 10.20.0.201"}


@each_of(third(2))
def test_a_node_has_few_of_them_each_once(name: str) -> None:
    rows = stages(name)
    assert len({row.path for row in rows}) <= MOST_PATHS
    assert len({(row.path, row.stage, row.name) for row in rows}) == len(rows)
    assert sum(v is not None for row in rows for v in (row.used, row.wait, row.own, row.bytes)) <= 120
    for path in {row.path for row in rows}:
        assert sum(row.path == path for row in rows) > 1


def test_disks_alone_have_no_path() -> None:
    """Their figures are those of the disk; twelve of them would choose four at random."""
    window = story("server-even").session.head().window
    assert len(path_subjects(window)) > MOST_PATHS
    kinds = {stage.kind for subject in path_subjects(window) for stage in data_path(window, subject).stages}
    assert StageKind.HBA in kinds
    assert path_stages(window, ()) == {}


@pytest.mark.parametrize("name", SOME)
def test_load_does_not_choose_the_paths(name: str) -> None:
    """With the same findings, any moment of a story has the same paths, so that their series do not come and go."""
    findings = story(name).session.head().judgement.every
    chosen = []
    for look in story(name).looks:
        rows = path_stages(look.window, findings)
        chosen.append({row.path for row in rows.values()})
    middle = chosen[len(chosen) // 2 :]
    assert all(each == middle[-1] for each in middle)


def test_they_are_computed_again_after_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def noted(window: Window, _: object) -> dict[Hashable, PathStage]:
        asked.append(window.now.monotonic)
        return {}

    monkeypatch.setattr(tallies, "path_stages", noted)
    origin, frames = opened("aoe-flashcache")
    exposition = Exposition(Session(origin, BUILTIN, RULES))
    for at, frame in enumerate(frames[:12]):
        exposition.feed(replace(frame, monotonic=100.0 + at))
    assert asked == [100.0, 100.0 + PACE, 100.0 + 2 * PACE]


def test_they_are_computed_shortly_before_a_page_that_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[float] = []

    def noted(window: Window, _: object) -> dict[Hashable, PathStage]:
        made.append(window.now.monotonic)
        return {}

    monkeypatch.setattr(tallies, "path_stages", noted)
    origin, frames = opened("md-rebuild-running")
    exposition = Exposition(Session(origin, BUILTIN, RULES))
    for at, frame in enumerate(frames[:60]):
        exposition.feed(replace(frame, monotonic=100.0 + at))
        if at in {0, 15, 30}:
            exposition.page()
        if at in {20, 21}:
            exposition.page(part=PageSelection(frozenset({"findings"})))
    # The next page after 30 is expected at 45, and then overdue: it can be any of the next seconds.
    assert made == [100.0, 105.0, 110.0, 115.0, 128.0, 143.0, 148.0, 153.0, 158.0]


def test_an_error_costs_these_series_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(tallies, "path_stages", broken)
    exposition = Exposition(story("aoe-flashcache").session)
    exposition.observe(story("aoe-flashcache").session.head())
    page = samples(exposition.page())
    assert not [key for key in page if key[0].startswith("sdstop_path_stage_")]
    assert page["sdstop_internal_errors_total", "name=path_stage", "part=tally"] == 1
    assert [key for key in page if key[0] == "sdstop_disk_reads_total"]
    story("aoe-flashcache").session.guard.counts.clear()
