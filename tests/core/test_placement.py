"""Findings are placed in the topology: parts, affected, and what follows from the graph."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.block.readings import BlockLink
from sdstop.collectors.devicemapper.readings import MappedDevice
from sdstop.collectors.md.readings import Array, Member
from sdstop.core.finding import Finding, RuledOut, Severity
from sdstop.core.model import Reading
from sdstop.core.placement import NAMES, place_lines, placed, qualified
from sdstop.core.rule import Rule
from sdstop.core.topologies import Topologies
from sdstop.core.topology import Topology
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterVolume
from sdstop.readings.disk import Disk
from tests.nodes.rows import row


def node(volumes: int = 2) -> Topology:
    """Return a node with sda and sdb in md0, volumes on it, and sdc beside it."""
    rows = [
        row(Array, array="md0", level="raid1"), row(Member, array="md0", device="sda", state="in_sync", slot=0),
        row(Member, array="md0", device="sdb", state="in_sync", slot=1), row(Disk, device="sdc"),
    ]  # fmt: skip
    for number in range(volumes):
        name = f"dm-{number}"
        rows.append(row(MappedDevice, mapping=f"vg-v{number}", volume=f"vg/v{number}", device=name, targets="linear"))
        rows.append(BlockLink(name, "md0", "slave"))
    tables: dict[Any, dict[Any, Any]] = {}
    for each in rows:
        table = tables.setdefault(type(each), {})
        table[len(table)] = each
    return Topologies().of(tables)


def finding(rule: str, subject: str, severity: Severity = Severity.CRITICAL, **fields: Any) -> Finding:
    return Finding(severity=severity, subject=subject, cause="s", rule=rule, **fields)


def rule(name: str, *explains: str) -> Rule:
    return Rule(name, name, Severity.CRITICAL, lambda _window, _limits: (), (), explains=explains)


RULES = [rule("low", "high", "low"), rule("high")]


def explained(*findings: Finding) -> dict[str, tuple[str, ...]]:
    return {each.id: each.explains for each in placed(findings, node(), RULES)}


def test_a_finding_names_what_contains_its_thing_and_who_needs_it() -> None:
    [found] = placed([finding("low", "sda")], node(), RULES)
    assert (found.part_of, found.affected, found.affected_count) == (("md0",), ("vg/v0", "vg/v1"), 2)
    assert list(place_lines(found)) == [("Part of", "md0"), ("Affects", "vg/v0, vg/v1")]


def test_a_subject_that_is_not_a_thing_stays_as_it_is() -> None:
    alone = finding("low", "memory")
    assert placed([alone], node(), RULES) == [alone]
    assert list(place_lines(alone)) == []


def test_of_two_things_with_one_name_the_one_that_the_rule_covers_is_meant() -> None:
    rows: list[Reading] = [
        row(Cluster, cluster="md0"),
        row(ClusterVolume, cluster="md0", volume="v"),
        row(Array, array="md0", level="raid1"),
        row(MappedDevice, mapping="vg-v0", volume="vg/v0", device="dm-0", targets="linear"),
        BlockLink("dm-0", "md0", "slave"),
    ]
    topology = Topologies().of({type(one): {0: one} for one in rows})
    rules = [replace(rule("clusters"), needs=(Cluster,)), replace(rule("arrays"), needs=(Array,)), rule("low")]
    found = placed([finding("clusters", "md0"), finding("arrays", "md0"), finding("low", "md0")], topology, rules)
    assert [each.affected for each in found] == [("v",), ("vg/v0",), ("vg/v0",)]


def test_a_drbd_device_is_not_below_itself() -> None:
    own = row(ClusterDevice, cluster="r0", node="n", device="/dev/drbd0", local="drbd0")
    sds = row(ClusterDevice, cluster="c", node="n", device="/dev/sdb", local="sdb")
    assert (own.backing, sds.backing, replace(own, local="sda").backing) == (None, "sdb", "sda")


def test_many_names_are_counted() -> None:
    [found] = placed([finding("low", "md0")], node(NAMES + 6), RULES)
    assert (len(found.affected), found.affected_count) == (NAMES, NAMES + 6)
    assert dict(place_lines(found))["Affects"].endswith(", vg/v5 and 64 more")


@pytest.mark.parametrize("subject", ["md0", "md0/sda", "sda", "vg/v1", "dm-0"])
def test_a_finding_explains_what_its_rule_declares_about_its_thing_and_above(subject: str) -> None:
    assert explained(finding("low", "sda"), finding("high", subject))["low:sda"] == (f"high:{subject}",)


@pytest.mark.parametrize(
    ("lower", "higher"),
    [(finding("low", "sda"), finding("high", "sdb")), (finding("low", "sda"), finding("high", "md0/sdb")),
     (finding("low", "md0"), finding("high", "sda")), (finding("low", "sda"), finding("other", "md0")),
     (finding("high", "sda"), finding("low", "md0")), (finding("low", "sdc"), finding("high", "md0")),
     (finding("low", "sda"), finding("high", "memory")),
     (finding("low", "sda", Severity.INFO), finding("high", "md0"))],
)  # fmt: skip
def test_nothing_else_is_explained(lower: Finding, higher: Finding) -> None:
    assert set(explained(lower, higher).values()) == {()}


@pytest.mark.parametrize(("log", "is_explained"), [("/dev/sda", True), (None, False)])
def test_a_device_of_a_file_system_explains_what_is_said_of_its_first_one(
    log: str | None,
    is_explained: bool,  # noqa: FBT001  # a table
) -> None:
    mount = MountPoint(point="/srv", filesystem="xfs", device="/dev/sdc", log=log)
    topology = Topologies().of({MountPoint: {0: mount}, Disk: {0: row(Disk, device="sda"), 1: row(Disk, device="sdc")}})
    first, higher = placed([finding("low", "sda"), finding("high", "sdc", others=("/srv",))], topology, RULES)
    assert (first.affected, first.explains) == ((("/srv",), (higher.id,)) if is_explained else ((), ()))


def test_a_finding_does_not_explain_itself_and_keeps_what_its_rule_says() -> None:
    own = replace(finding("low", "sda"), explains=("other:thing",))
    assert explained(own, finding("low", "md0")) == {"low:sda": ("other:thing", "low:md0"), "low:md0": ()}


GOOD = RuledOut("md0", "all members in sync", "high", ("md1", "sdc"))


def test_what_is_good_although_a_disk_below_is_not_names_that_and_is_last() -> None:
    other = RuledOut("eth0", "not full", "low")
    assert qualified([GOOD, other], [finding("low", "sda")], node(), RULES) == [
        RuledOut("md1", "all members in sync", "high", ("sdc",)), other,
        RuledOut("md0", "all members in sync; but see low sda", "high", (), ("low:sda",)),
    ]  # fmt: skip


@pytest.mark.parametrize("subject", ["vg/v1", "vol:vg/v1", "dm-1", "md0", "sda", "mapper/vg-v1"])
def test_it_counts_for_all_that_holds_its_data_on_the_disk(subject: str) -> None:
    [found] = qualified([RuledOut(subject, "fine", "high")], [finding("low", "sda")], node(), RULES)
    assert (found.subject, found.summary) == (subject, "fine; but see low sda")


def test_several_findings_below_are_counted_and_a_folded_one_is_named_once() -> None:
    [found] = qualified([replace(GOOD, others=())], [finding("low", "sda"), finding("low", "dm-0")], node(), RULES)
    assert found.summary == "all members in sync; but see low sda"
    both = [RuledOut("md0", "fine", "high", ("dm-5", "sdc"))]
    found = qualified(both, [finding("low", "sda"), finding("low", "sdc")], node(), RULES)[-1]
    assert (found.subjects, found.summary) == (("md0", "sdc"), "fine; but see low sda and 1 more")
    fold = finding("low", "hba", members=(finding("low", "sda"), finding("low", "sdb")))
    [found] = qualified([replace(GOOD, others=())], [fold], node(), RULES)
    assert (found.summary, found.despite) == ("all members in sync; but see low hba", ("low:hba",))


@pytest.mark.parametrize(
    "found",
    [
        [], [finding("low", "sda", Severity.WARNING)], [finding("low", "sda", Severity.INFO)],
        [finding("low", "sdc")],  # beside it
        [finding("low", "dm-0")],  # on top of it
        [finding("low", "memory")],  # not a thing
    ],
)  # fmt: skip
def test_other_findings_leave_it_as_it_is(found: list[Finding]) -> None:
    good = [RuledOut("md0", "all members in sync", "high")]
    assert qualified(good, found, node(), RULES) == good
