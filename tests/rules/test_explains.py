"""Findings of the rules explain those that the graph puts above them, as each rule declares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.block.readings import BlockLink
from sdstop.collectors.devicemapper.readings import MappedDevice
from sdstop.collectors.fabric.readings import DiskPath, Hba
from sdstop.collectors.md.readings import Array, Member
from sdstop.collectors.network.peer_readings import StorageSession
from sdstop.collectors.network.readings import Interface, InterfaceLink
from sdstop.core.finding import Finding, Severity
from sdstop.core.finding_order import by_cause
from sdstop.core.model import Reading
from sdstop.core.placement import placed
from sdstop.core.topologies import Topologies
from sdstop.core.topology import Topology
from sdstop.readings.cache import Cache
from sdstop.readings.disk import Disk
from sdstop.rules import RULES
from tests.nodes.rows import row


def graph(rows: Iterable[Reading]) -> Topology:
    tables: dict[Any, dict[Any, Any]] = {}
    for each in rows:
        table = tables.setdefault(type(each), {})
        table[len(table)] = each
    return Topologies().of(tables)


NODE = graph([
    row(StorageSession, session="session1", transport="iscsi", devices="sda", target="iqn.a", peer="192.0.2.7:3260"),
    row(Hba, hba="0000:3b:00.0", kind="sas", node=0),
    row(DiskPath, device="sdb", hba="0000:3b:00.0", host="host1"),
    row(Array, array="md0", level="raid0"), row(Member, array="md0", device="sda", state="in_sync", slot=0),
    row(Member, array="md0", device="sdb", state="in_sync", slot=1),
    row(Array, array="md1", level="raid1"), row(Member, array="md1", device="sdc", state="in_sync", slot=0),
    row(MappedDevice, mapping="vg-v", volume="vg/v", device="dm-0", targets="linear"),
    BlockLink("dm-0", "md0", "slave"),
    row(Cache, cache="mail", kind="dm-cache", fast="nvme0n1", slow="sdd"),
    row(Interface, interface="bond0", kind="bond"), row(Interface, interface="eth0", kind="ether"),
    row(InterfaceLink, upper="bond0", interface="eth0", relation="bond"), row(Disk, device="sdz"),
    row(MountPoint, point="/srv/home", filesystem="xfs", device="/dev/vg/v"),
])  # fmt: skip
"""sda of a session and sdb of an HBA in md0, dm-0 on md0; md1 beside it; a cache; a bond; vg/v is mounted."""


def finding(text: str, severity: Severity = Severity.CRITICAL) -> Finding:
    rule, _, subject = text.partition(" ")
    others = ("/srv/home",) if rule == "nfs-server-busy" else ()
    return Finding(severity=severity, subject=subject, cause="s", rule=rule, others=others)


@pytest.mark.parametrize(
    ("cause", "effects"),
    [
        ("session-down session1", ["device-hung sda", "slow-stripe-member md0/sda", "stripe-convoy md0",
                                   "rebuild-stalled md0", "tasks-stuck dm-0", "volume-below-promise vol:vg/v"]),
        ("volume-suspended dm-0", ["device-hung dm-0", "tasks-stuck dm-0", "volume-qos-saturated vg/v"]),
        ("slow-device sda", ["slow-stripe-member md0/sda", "stripe-convoy md0", "rebuild-slow md0",
                             "device-saturated sda", "volume-below-promise vol:vg/v"]),
        ("slow-stripe-member md0/sdb", ["device-saturated sdb", "stripe-convoy md0", "volume-below-promise vg/v"]),
        ("hot-stripe-member md0/sdb", ["device-saturated sdb", "rebuild-slow md0"]),
        ("stripe-convoy md0", ["rebuild-slow md0", "volume-below-promise vg/v"]),
        ("array-degraded md0/sda", ["slow-stripe-member md0/sda", "slow-device sda"]),
        ("cache-errors mail", ["cache-bypassed mail", "cache-full-of-dirty mail", "cache-ineffective mail"]),
        ("mtu-mismatch bond0/eth0", ["frames-dropped eth0", "frames-dropped bond0", "path-mtu-shrunk eth0"]),
        ("link-saturated eth0", ["frames-dropped eth0"]),
        ("device-hung sda", ["rebuild-slow md0", "tasks-stuck dm-0", "nfs-server-busy nfsd"]),
        ("slow-device sdb", ["nfs-server-busy nfsd"]),
    ],
)  # fmt: skip
def test_what_is_above_is_folded_below_its_cause(cause: str, effects: list[str]) -> None:
    findings = placed([*map(finding, effects), finding(cause)], NODE, RULES)
    ids = [each.replace(" ", ":", 1) for each in effects]
    assert set(findings[-1].explains) == set(ids)
    shown = by_cause(findings)
    assert findings[shown[0].place].id == findings[-1].id
    assert {findings[each.place].id for each in shown if each.follows} == set(ids)  # none vanishes


@pytest.mark.parametrize(
    ("cause", "other"),
    [
        ("session-down session1", "device-hung sdb"),  # another disk of the same array
        ("slow-device sdc", "nfs-server-busy nfsd"),  # a disk below no exported directory
        ("session-down session1", "array-degraded md0"),  # less redundancy may have another cause
        ("session-down session1", "rebuild-stalled md1"),
        ("volume-suspended dm-0", "device-hung sda"),  # below it
        ("volume-suspended dm-0", "stripe-convoy md0"),
        ("slow-device sda", "slow-device sdb"),
        ("slow-stripe-member md0/sda", "device-saturated sdb"),
        ("hot-stripe-member md0/sda", "rebuild-slow md1"),
        ("array-degraded md0", "slow-stripe-member md0/sda"),
        ("cache-errors mail", "cache-bypassed other"),
        ("mtu-mismatch bond0/eth0", "session-down session1"),
        ("link-saturated eth0", "frames-dropped eth1"),
        ("device-saturated sda", "rebuild-slow md0"),
    ],
)
def test_what_is_beside_or_below_is_not(cause: str, other: str) -> None:
    assert placed([finding(cause), finding(other)], NODE, RULES)[0].explains == ()


@pytest.mark.parametrize("cause", ["session-down session1", "slow-device sda", "hot-stripe-member md0/sda"])
def test_information_explains_nothing(cause: str) -> None:
    found = placed([finding(cause, Severity.INFO), finding("rebuild-slow md0")], NODE, RULES)
    assert found[0].explains == ()


def test_each_rule_that_explains_names_rules_that_exist() -> None:
    ids = {rule.id for rule in RULES}
    assert {name for rule in RULES for name in rule.explains} <= ids
