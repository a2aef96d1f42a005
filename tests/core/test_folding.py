"""Findings about most of the things that share another one are one finding about that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.fabric.readings import DiskPath, Hba
from sdstop.collectors.md.readings import Array, Member
from sdstop.collectors.network.peer_readings import StorageSession
from sdstop.collectors.network.readings import BondSlave, Interface, InterfaceLink
from sdstop.core.evidence import Cite
from sdstop.core.finding import Finding, Severity
from sdstop.core.folding import CITED, INTERFACES, NODE, Folds, folded, folds_of
from sdstop.core.model import Reading, schema
from sdstop.core.placement import place_lines, placed
from sdstop.core.rule import Rule
from sdstop.core.topologies import Topologies
from sdstop.core.topology import Topology
from tests.nodes.block import disk_name


def row(family: Any, **fields: Any) -> Any:
    numbers = {column.name: None if column.optional or column.is_text else 0 for column in schema(family).columns}
    return family(**{**numbers, **fields})


def topology(rows: Iterable[Reading]) -> Topology:
    tables: dict[Any, dict[Any, Any]] = {}
    for each in rows:
        table = tables.setdefault(type(each), {})
        table[len(table)] = each
    return Topologies().of(tables)


def shelf(first: int, count: int, hba: str, expander: str | None, enclosure: str | None = None) -> list[Reading]:
    """Return disks behind an HBA, and behind an expander of it or in an enclosure."""
    host = f"host{hba[-6:-4]}"
    return [
        row(Hba, hba=hba, kind="sas", node=0),
        *(
            row(DiskPath, device=disk_name(first + n), hba=hba, host=host, expander=expander,
                enclosure=enclosure, bay=n if enclosure else None)
            for n in range(count)
        ),
    ]  # fmt: skip


ONE, TWO = "0000:3b:00.0", "0000:86:00.0"
NODES = topology([*shelf(0, 12, ONE, "expander-0:0"), *shelf(12, 12, ONE, "expander-0:1"),
                  *shelf(24, 12, TWO, "expander-1:0"), *shelf(36, 12, TWO, "expander-1:1"),
                  row(BlockDevice, device="nvme0n1", kind="nvme")])  # fmt: skip
"""48 disks: two HBAs with two expanders each; and an NVMe drive that shares nothing with them."""
RULES = [
    Rule("hung", "a device hangs", Severity.CRITICAL, lambda _window, _limits: (), (), many="do not respond",
         explains=("slow",)),
    Rule("slow", "a device is slow", Severity.WARNING, lambda _window, _limits: (), ()),
]  # fmt: skip


def finding(name: str, rule: str = "hung", severity: Severity = Severity.CRITICAL, **fields: Any) -> Finding:
    cite = Cite("/proc/diskstats", 7, f"   8       0 {name} 1 2 3", name)
    return Finding(severity=severity, subject=name, cause=f"{name} waits", rule=rule, evidence=(cite,), **fields)


def values(fold: Finding) -> dict[str, object]:
    return {value.name: value.value for value in fold.values}


def of(*numbers: Iterable[int]) -> list[Finding]:
    """Return a finding about each disk with these numbers."""
    return [finding(disk_name(number)) for each in numbers for number in each]


def said(findings: Sequence[Finding], graph: Topology = NODES, held: Folds = frozenset()) -> dict[
    str, Finding
]:  # fmt: skip
    return {each.id: each for each in folded(placed(findings, graph, RULES), graph, RULES, held)}


@pytest.mark.parametrize(
    ("numbers", "subject", "words"),
    [
        ([range(24)], ONE, f"24 disks behind HBA {ONE} do not respond"),
        ([range(23)], ONE, f"23 of 24 disks behind HBA {ONE} do not respond"),
        ([range(24, 36)], "expander-1:0", f"12 disks behind expander-1:0 of HBA {TWO} do not respond"),
        ([range(24, 30)], "expander-1:0", f"6 of 12 disks behind expander-1:0 of HBA {TWO} do not respond"),
        ([range(8), range(12, 20)], ONE, f"16 of 24 disks behind HBA {ONE} do not respond"),
        ([range(48)], "node0", "48 disks near NUMA node 0 do not respond"),
    ],
)
def test_the_lowest_thing_that_fits_best_is_named(numbers: list[range], subject: str, words: str) -> None:
    found = said(of(*numbers))
    assert list(found) == [f"hung:{subject}"]
    [fold] = found.values()
    assert fold.cause == f"{words}."
    assert fold.title == f"{words.split(maxsplit=1)[0]} DISKS DO NOT RESPOND"
    assert values(fold)["example"] == (f"{fold.members[0].subject}: {fold.members[0].cause}")
    assert {each.subject for each in fold.members} == {each.subject for each in of(*numbers)}


def test_an_expander_whose_hba_is_unknown_is_named_alone() -> None:
    """The HBA is named if it is the only one below; an enclosure that two of them see names none."""
    two = topology([*shelf(0, 6, ONE, "expander-0:0"), *shelf(6, 6, ONE, "expander-0:1")])
    [fold] = said(of(range(6)), two).values()
    assert fold.summary.startswith(f"6 disks behind expander-0:0 of HBA {ONE} do not respond")
    assert any(ONE in line for line in fold.steps)
    both = topology([*shelf(0, 8, ONE, None, "0x5000c1"), *shelf(8, 8, TWO, None, "0x5000c1"),
                     *shelf(16, 8, ONE, None, "0x5000c2"), *shelf(24, 8, TWO, None, "0x5000c2")])  # fmt: skip
    [fold] = said(of(range(16)), both).values()
    assert "HBA" not in fold.summary
    assert not any("HBA" in line for line in fold.steps)


def test_half_of_two_expanders_are_two_findings_on_the_lower_things() -> None:
    assert set(said(of(range(6), range(12, 18)))) == {"hung:expander-0:0", "hung:expander-0:1"}
    assert set(said(of(range(12), range(24, 30)))) == {"hung:expander-0:0", "hung:expander-1:0"}


def test_what_remains_beside_a_fold_stays_single() -> None:
    found = said(of(range(12), [14], [30, 31]))
    assert set(found) == {"hung:expander-0:0", "hung:sdo", "hung:sdae", "hung:sdaf"}


@pytest.mark.parametrize("numbers", [[0, 1], range(5), [0, 12, 24, 36], [0, 1, 12, 13, 24, 25, 36, 37]])
def test_few_are_not_folded(numbers: Sequence[int]) -> None:
    assert set(said(of(numbers))) == {each.id for each in of(numbers)}


def test_two_of_two_are_not_folded() -> None:
    graph = topology(shelf(0, 2, ONE, "expander-0:0"))
    assert set(said(of([0, 1]), graph)) == {"hung:sda", "hung:sdb"}


def test_disks_of_an_enclosure_that_two_hbas_see() -> None:
    graph = topology([*shelf(0, 8, ONE, None, "0x5000c1"), *shelf(8, 8, TWO, None, "0x5000c1"),
                      *shelf(16, 8, ONE, None, "0x5000c2"), *shelf(24, 8, TWO, None, "0x5000c2")])  # fmt: skip
    found = said(of(range(16)), graph)
    assert list(found) == ["hung:0x5000c1"]
    assert found["hung:0x5000c1"].summary.startswith("16 disks in enclosure 0x5000c1 do not respond")


def test_every_disk_of_the_node() -> None:
    """Loop devices and arrays are no disks; one disk that answers is enough to refute it."""
    disks = [row(BlockDevice, device=name, kind="disk") for name in ("vda", "vdb", "vdc", "vdd")]
    beside = [row(BlockDevice, device="loop0", kind="loop"), row(BlockDevice, device="sr0", kind="rom"),
              row(Array, array="md0", level="raid1"),
              row(Member, array="md0", device="vda", state="in_sync", slot=0)]  # fmt: skip
    graph = topology([*disks, *beside])
    every = [finding(name) for name in ("vda", "vdb", "vdc", "vdd")]
    assert list(said(every, graph)) == [f"hung:{NODE}"]
    assert said(every, graph)[f"hung:{NODE}"].summary.startswith("4 disks of this node do not respond")
    assert len(said(every[:3], graph)) == 3


@pytest.mark.parametrize(("count", "is_one"), [(6, True), (5, True), (4, True), (3, False), (2, False)])
def test_a_fold_is_held_down_to_a_third(count: int, is_one: bool) -> None:  # noqa: FBT001  # a table
    held = folds_of(said(of(range(12))).values())
    assert held == {("hung", "expander-0:0")}
    assert (list(said(of(range(count)), held=held)) == ["hung:expander-0:0"]) is is_one
    assert (len(said(of(range(count)))) == 1) is (count >= 6)


def test_a_held_fold_gives_way_to_one_that_fits_better() -> None:
    held = folds_of(said(of(range(12))).values())
    assert list(said(of(range(24)), held=held)) == [f"hung:{ONE}"]


def test_severity_is_the_worst_and_counted_when_mixed() -> None:
    mixed = [finding(disk_name(n), severity=Severity.CRITICAL if n == 5 else Severity.WARNING) for n in range(12)]
    [fold] = said(mixed).values()
    assert fold.severity is Severity.CRITICAL
    assert fold.cause == f"12 disks behind expander-0:0 of HBA {ONE} do not respond."
    assert {value.title: value.value for value in fold.values}["critical"] == 1
    assert values(fold)["example"] == "sdf: sdf waits"


def test_findings_of_different_rules_are_not_mixed_and_links_lead_to_the_folds() -> None:
    slow = [finding(disk_name(n), "slow", Severity.WARNING) for n in range(12)]
    found = said([*of(range(12)), *slow])
    assert set(found) == {"hung:expander-0:0", "slow:expander-0:0"}
    assert found["hung:expander-0:0"].explains == ("slow:expander-0:0",)
    assert found["slow:expander-0:0"].cause == f"12 disks behind expander-0:0 of HBA {ONE} are affected."


def test_a_single_finding_that_explains_members_explains_the_fold() -> None:
    cause = finding("elsewhere", "slow", explains=tuple(f"hung:{disk_name(n)}" for n in range(12)))
    assert said([*of(range(12)), cause])["slow:elsewhere"].explains == ("hung:expander-0:0",)


def test_a_subject_that_the_rule_already_speaks_of_is_not_taken() -> None:
    found = said([*of(range(12)), finding("expander-0:0")])
    assert found["hung:expander-0:0"].members == ()
    assert len(found) == 2
    assert len(found[f"hung:{ONE}"].members) == 12


def test_subjects_of_a_member_in_its_array_count_by_the_member() -> None:
    members = [row(Member, array="md0", device=disk_name(n), state="in_sync", slot=n) for n in range(12)]
    graph = topology([*shelf(0, 12, ONE, "expander-0:0"), row(Array, array="md0", level="raid10"), *members])
    [fold] = said([finding(f"md0/{disk_name(n)}") for n in range(12)], graph).values()
    assert (fold.subject, fold.members[3].subject, fold.part_of) == ("expander-0:0", "md0/sdd", ("md0",))


def test_what_is_told_is_bounded_and_what_is_known_is_not() -> None:
    [fold] = said(of(range(24))).values()
    assert len(fold.evidence) == CITED
    assert len(fold.members) == 24
    assert dict(place_lines(fold))["Members"] == "sda, sdb, sdc, sdd, sde, sdf and 18 more"
    assert values(fold) == {"affected": 24, "all": 24, "worst": 24, "example": "sda: sda waits"}


def session(name: str, devices: str, target: str) -> Any:
    return row(StorageSession, session=name, transport="iscsi", devices=devices, target=target, peer="192.0.2.7:3260")


REMOTE = topology([session("session1", "sda,sdb,sdc", "iqn.a"), session("session2", "sdd,sde,sdf", "iqn.a"),
                   session("session3", "sdg,sdh,sdi", "iqn.b"), session("session4", "sdj", "iqn.b"),
                   session("session5", "sdk", "iqn.b")])  # fmt: skip


@pytest.mark.parametrize(
    ("names", "subject", "words"),
    [
        (["sda", "sdb", "sdc"], "session1", "3 disks behind session1"),
        (["sda", "sdb", "sdc", "sdd", "sde", "sdf"], "iqn.a", "6 disks behind target iqn.a"),
        (["session3", "session4", "session5"], "iqn.b", "3 sessions behind target iqn.b"),
        ([f"sd{letter}" for letter in "abcdefghijk"], "192.0.2.7:3260", "11 disks behind host 192.0.2.7:3260"),
    ],
)
def test_remote_storage_is_folded_on_what_serves_it(names: list[str], subject: str, words: str) -> None:
    [fold] = said([finding(name) for name in names], REMOTE).values()
    assert fold.subject == subject
    assert fold.summary.startswith(f"{words} do not respond")


PORTS = ("eth0", "eth1", "eth2")
CARDS = topology([
    *(row(Interface, interface=port, kind="physical") for port in PORTS),
    row(Interface, interface="lo", kind="loopback"),
    row(Interface, interface="bond0", kind="bond"),
    row(BondSlave, bond="bond0", interface="eth1"),
    row(BondSlave, bond="bond0", interface="eth2"),
    row(Interface, interface="eth0.7", kind="vlan"),
    row(InterfaceLink, upper="eth0.7", interface="eth0", relation="vlan"),
])  # fmt: skip
"""Three ports, two of them in a bond, and a VLAN."""


def lossy(*causes: str) -> list[str]:
    """Return the subjects of findings, of which each port has one with a cause."""
    found = [replace(finding(port), cause=cause) for port, cause in zip(PORTS, causes, strict=False)]
    return sorted(each.subject for each in said(found, CARDS).values())


def test_one_fault_of_all_interfaces_is_one_of_the_node() -> None:
    assert lossy("12 missed: RX ring full.", "1.7M missed: RX ring full.", "9 missed: RX ring full.") == [INTERFACES]
    found = said([replace(finding(port), cause="7 missed.") for port in PORTS], CARDS)
    fold = found[f"hung:{INTERFACES}"]
    assert fold.cause == "3 network interfaces of this node do not respond."
    assert [each.subject for each in fold.members] == list(PORTS)
    assert values(fold)["example"] == "eth0: 7 missed."


def test_faults_of_some_interfaces_or_of_different_kinds_are_not() -> None:
    assert lossy("12 missed.", "17 missed.") == ["eth0", "eth1"]
    assert lossy("12 missed.", "17 missed.", "9 CRC errors.") == list(PORTS)
