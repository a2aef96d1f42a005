"""What changed between two captures: stories and their healthy twins read as what the fix did."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from msgspec.structs import replace

from sdstop.analysis.comparison.comparison import comparison
from sdstop.analysis.comparison.findings import FindingChange, differs
from sdstop.analysis.comparison.load_totals import WaitDistribution
from sdstop.analysis.comparison.loads import LoadFigure
from sdstop.exporters.report.changes import data, page, rows, text
from tests.compared import edited, pair, side, without
from tests.fixtures import names, opened, renamed

PUBLISHED = json.loads((Path(__file__).parent.parent.parent / "docs" / "diff.schema.json").read_text(encoding="utf-8"))
SAMPLE = ("aoe-flashcache", "bond-one-slave", "md-rebuild-running", "quiet-node", "san-neglected", "zfs-neglected")
"""One story a kind of node in the ordinary suite."""
TWINS = (
    ("bond-one-slave", "bond-both-slaves", "bond-unbalanced", "all 2 links up"),
    ("hba-lost", "hba-back", "device-hung", "all requests complete"),
    ("layers-misplaced", "layers-in-place", "cache-misplaced", "only the cache uses"),
    ("mtu-mismatch", "mtu-mended", "mtu-mismatch", "MTU 9000"),
    ("san-neglected", "san-tended", "paths-unbalanced", "2 paths"),
    ("zfs-neglected", "zfs-tended", "scrub-overdue", ""),
)  # fmt: skip
"""A story, its healthy twin, a rule whose finding the fix ends, and words of the check that then passes."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.slow) for name in names()]
)
def test_a_story_compared_with_itself_did_not_change(name: str) -> None:
    found = pair(name, name)
    assert not found.changed
    assert not found.gaps
    assert not found.remarks or "unknown" in found.remarks[0]
    assert ": nothing changed" in rows.title(found)


@pytest.mark.parametrize(("before", "after", "rule", "words"), TWINS, ids=[each[0] for each in TWINS])
def test_a_repaired_story_reads_as_what_the_fix_did(before: str, after: str, rule: str, words: str) -> None:
    found = pair(before, after)
    gone = [each for each in found.findings if each.finding.rule == rule]
    assert gone
    assert all(each.change is FindingChange.GONE for each in gone)
    assert any(words in each.why for each in gone)
    assert not found.worse
    said = text.text(found)
    assert f"FINDINGS\n  {'gone' if found.same_host else 'only A'} " in said
    back = pair(after, before)
    assert back.worse
    assert {each.change for each in back.findings if each.finding.rule == rule} == {FindingChange.NEW}


def test_a_fix_during_the_capture_is_over_and_its_setting_and_latency_changed() -> None:
    found = pair("aoe-flashcache", "aoe-flashcache-mended")
    assert {each.change for each in found.findings} == {FindingChange.OVER}
    assert [(each.column.name, each.items, each.before, each.after) for each in found.properties.settings] == [
        ("mtu", ("eth1",), 4000, 8700)
    ]
    waits = {(each.group, each.title): each for each in found.loads.changed}
    median = waits["cachedev", "write latency p50"]
    assert median.before is not None
    assert median.after is not None
    assert median.before > 5 * median.after
    said = text.text(found)
    assert "Network interfaces: MTU  eth1  4000 -> 8700" in said
    assert "11.0 ms    1.38 ms" in said


def test_a_source_that_only_one_side_has_is_not_taken_for_removed_things() -> None:
    names_of = {"interfaces", "interface-traffic", "hba", "sas"}
    short = side("aoe-flashcache", without("aoe-flashcache", lambda key: "/sys/class/net" in key, names_of))
    found = comparison(side("aoe-flashcache"), short)
    assert not [each for each in found.properties.things if each.kind == "nic"]
    said = dict(rows.gaps(found))
    assert "Network interfaces" in said["not recorded in B"]
    back = dict(rows.gaps(comparison(short, side("aoe-flashcache"))))
    assert "Network interfaces" in back["not recorded in A"]
    lost = [each for each in found.findings if each.finding.rule == "mtu-misaligned"]
    assert [each.change for each in lost] == [FindingChange.UNPROVED]
    assert "not checked in B" in lost[0].why


def test_one_frame_has_no_rates_and_proves_nothing_gone() -> None:
    single = side("hba-back", opened("hba-back")[1][:1])
    found = comparison(side("hba-lost"), single)
    assert found.loads.changed == ()
    assert found.loads.same == 0
    assert ("rates", "B: no two samples, so no rates") in list(rows.gaps(found))
    assert [each.change for each in found.findings] == [FindingChange.UNPROVED]
    assert data.diff(found).no_rates == ["b"]


def test_a_disk_with_another_name_is_renamed_and_keeps_its_settings_and_findings() -> None:
    moved = edited("slow-member", lambda said: re.sub(r"\bsd([a-z])(?=\b|\d)", r"sdz\1", said))
    found = comparison(side("slow-member"), side("slow-member", moved))
    changes = [(each.change.value, each.name, each.other) for each in found.properties.things]
    assert ("renamed", "sdb", "sdzb") in changes
    assert {change for change, *_ in changes} == {"renamed"}
    assert found.properties.settings == ()
    assert found.findings == ()
    assert len(found.same_findings) == len(side("slow-member").episodes)
    assert re.search(r"renamed  device  \d: sda -> sdza, sdb -> sdzb", text.text(found))


def test_a_disk_that_is_gone_is_removed_with_its_membership() -> None:
    def cut(said: str) -> str:
        lines = said.splitlines(keepends=True)
        kept = "".join(line for line in lines if line.strip() != "sdb" and " sdb " not in line)
        return re.sub(r" sdb\d?\[\d+\]", "", kept)

    frames = edited("slow-member", cut)
    frames = [
        replace(frame, evidence=tuple(item for item in frame.evidence if "sdb" not in item.key)) for frame in frames
    ]
    found = comparison(side("slow-member"), side("slow-member", frames))
    changes = {(each.change.value, each.name) for each in found.properties.things}
    assert ("removed", "sdb") in changes
    assert any(name.endswith("/sdb") for _, name in changes)
    back = comparison(side("slow-member", frames), side("slow-member"))
    assert ("added", "sdb") in {(each.change.value, each.name) for each in back.properties.things}


def test_two_hosts_are_said() -> None:
    other = side("quiet-node", renamed("quiet-node", "elsewhere"), host="elsewhere")
    found = comparison(side("quiet-node"), other)
    assert not found.same_host
    assert "these are differences between two nodes, not changes of one" in text.text(found)
    assert rows.title(found).startswith("A (")


def test_things_of_two_hosts_are_not_added_or_removed() -> None:
    said = {change for change, _, _ in rows.things(pair("layers-misplaced", "layers-in-place"))}
    assert said == {"only in A", "only in B"}


def test_only_a_change_for_the_worse_has_the_color_of_an_alarm() -> None:
    before, after = "aoe-flashcache", "aoe-flashcache-8700"
    assert '<span class="sev passed">gone: critical</span>' in page.page(pair(before, after))
    assert 'class="sev critical"' not in page.page(pair(before, after))
    assert '<span class="sev critical">new: critical</span>' in page.page(pair(after, before))


def test_findings_of_two_hosts_have_neither_begun_nor_ended() -> None:
    found = pair("scaleio-tight", "scaleio-roomy")
    assert rows.title(found).startswith("A (sds07) to B (ops1): findings: 11 only A;")
    assert {row.change for row in rows.findings(found)} == {"only A"}
    said = text.text(found)
    assert "Not in B: cloud1/sas10k\n" in said
    assert "Cloud1" not in said
    assert {row.change for row in rows.findings(pair("md-degraded", "md-rebuild-running"))} == {"only B", "less in B"}


def test_a_boot_between_them_and_other_policies_are_said() -> None:
    before = opened("quiet-node")[1]
    boot = next(item for frame in before for item in frame.evidence if item.key == "/proc/stat")
    found = re.search(rb"(?m)^btime (\d+)$", boot.data)
    assert found
    later = str(int(found[1]) + 40 * 86400).encode()
    frames = edited("quiet-node", lambda said: said.replace(found[1].decode(), later.decode()))
    shifted = [replace(frame, taken=frame.taken + 41 * 86400) for frame in frames]
    b = side("quiet-node", shifted)
    b.session.origin = replace(b.session.origin, facts={"policy": "{}"})
    remarks = comparison(side("quiet-node"), b).remarks
    assert "booted between A and B" in remarks[0]
    assert "policies that they recorded" in remarks[1]


def test_nothing_changed_is_qualified_where_a_side_lacks_data() -> None:
    lacking = {"interfaces", "interface-traffic"}
    short = side("quiet-node", without("quiet-node", lambda key: "/sys/class/net" in key, lacking))
    found = comparison(short, short)
    assert rows.title(found).endswith(": nothing changed")
    found = comparison(side("quiet-node", opened("quiet-node")[1][:1]), side("quiet-node", opened("quiet-node")[1][:1]))
    assert rows.title(found).endswith(": nothing changed in the data that both have")


def test_the_reversed_order_is_said() -> None:
    found = pair("hba-back", "hba-lost")
    assert "B is older than A by 23h59" in text.text(found)
    assert data.diff(found).worse


def test_hostile_names_are_quoted() -> None:
    nasty = "\x1b]0;PWNED\x1b\\<script>\u202e[red]x"
    other = side("aoe-flashcache", renamed("aoe-flashcache", nasty), host=nasty)
    other.source = nasty
    found = comparison(side("aoe-flashcache"), other)
    for said in (text.text(found), page.page(found)):
        assert "\x1b" not in said
        assert "\u202e" not in said
    assert "<script>" not in page.page(found)
    json.loads(data.text(found))


@pytest.mark.parametrize(("before", "after"), [each[:2] for each in TWINS], ids=[each[0] for each in TWINS])
def test_the_data_has_the_published_schema(before: str, after: str) -> None:
    said = json.loads(data.text(pair(before, after)))
    assert not list(Draft202012Validator(PUBLISHED).iter_errors(said))
    assert set(said) == set(PUBLISHED["$defs"]["Diff"]["properties"])


def test_the_published_schema_is_one_and_is_that_of_the_code() -> None:
    Draft202012Validator.check_schema(PUBLISHED)
    assert json.loads(data.schema_text()) == PUBLISHED
    assert PUBLISHED["$id"] == "urn:sdstop.diff:1"


def test_a_folded_finding_is_compared_with_what_is_left_of_it() -> None:
    lost = side("hba-lost")
    found = comparison(lost, lost)
    assert [each.subject for each in found.same_findings] == ["0000:3b:00.0"]
    folded = found.same_findings[0]
    single = [replace(each, finding=folded.members[0]) for each in lost.episodes if each.finding.members]
    rest = side("hba-lost")
    rest.episodes = single  # one disk still hangs
    assert not [each for each in comparison(lost, rest).findings if each.change is FindingChange.GONE]


@pytest.mark.parametrize(
    ("before", "after", "unit", "telling"),
    [
        (100.0, 149.0, "per_second", False),
        (100.0, 151.0, "per_second", True),
        (1.0, 5.9, "per_second", False),
        (0.0, 5.1, "per_second", True),
        (0.0001, 0.0005, "seconds", False),
        (0.001, 0.0016, "seconds", True),
        (0.50, 0.59, "ratio", False),
        (0.50, 0.61, "ratio", True),
        (None, 0.61, "ratio", False),
    ],
)
def test_noise_is_silent(before: float | None, after: float, unit: str, *, telling: bool) -> None:
    assert LoadFigure("md0", "x", unit, before, after).telling is telling
    assert LoadFigure("md0", "x", unit, after, before).telling is telling


def test_nothing_differs_from_an_unknown_value() -> None:
    assert not differs(None, 3)
    assert not differs(3, None)
    assert differs(2, 3)
    assert not differs(0.02, 0.05, "ratio")


def test_quantiles_are_within_five_percent() -> None:
    waits = WaitDistribution()
    for at in range(1, 1001):
        waits.add(at / 1e4, 1.0)
    assert waits.quantile(0.5) == pytest.approx(0.05, rel=0.05)
    assert waits.quantile(0.99) == pytest.approx(0.099, rel=0.05)
    assert WaitDistribution().quantile(0.5) is None


def test_things_that_only_one_side_asked_for_are_not_called_removed() -> None:
    # draid-mended has no output of smp_rep_phy_err_log, from which the other knows the phys of an expander.
    for found, place in (
        (comparison(side("draid-one-dimm"), side("draid-mended")), "B"),
        (comparison(side("draid-mended"), side("draid-one-dimm")), "A"),
    ):
        assert {each.kind for each in found.properties.things} == {"pool vdev"}
        assert "SAS phys" in dict(rows.gaps(found))[f"recorded in part in {place}"]
