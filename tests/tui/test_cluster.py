"""The view of clusters: quorum, spare against the largest failure domain, rebuilds, and the tree of nodes."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import Any

import pytest

from sdstop.collectors.ceph.cluster import CEPH
from sdstop.collectors.ceph.osds import CEPH_OSDS
from sdstop.collectors.gluster.readings import INFO
from sdstop.collectors.pacemaker.cluster import PACEMAKER
from sdstop.collectors.pacemaker.crm_mon import MON
from sdstop.core.evidence import Evidence, Outcome, command_key
from sdstop.core.finding import Finding, RuledOut, Severity, Verdict
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule
from sdstop.core.session import Session
from sdstop.rules.ceph.ceph_health import CEPH_HEALTH
from sdstop.rules.clusters.cluster_degraded import CLUSTER_DEGRADED
from sdstop.rules.pacemaker.cluster_resource_failed import CLUSTER_RESOURCE_FAILED
from sdstop.tui.terminal import Options
from tests.clusters.scenario import RECORDED
from tests.expectation import course
from tests.nodes import ceph as cephnode
from tests.nodes import pacemaker as pacemakernode
from tests.nodes.block import Node
from tests.nodes.cluster import TB, cluster, parts, pool, rebalance, session
from tests.nodes.frames import Judged
from tests.tui.hostile import NASTY, harmless
from tests.tui.rules import says
from tests.tui.screens import LOW, SMALL, WIDE, Screen, screen

_RULE = "spare-below-fault-set"


def good(subject: str) -> Rule:
    """Return a rule that finds a pool's spare sufficient."""

    def check(window: Window, limits: Limits) -> Iterable[Verdict]:
        del window, limits
        yield RuledOut(subject, "enough")

    return Rule(_RULE, "says", Severity.CRITICAL, check, ())


def bad(severity: Severity = Severity.CRITICAL) -> Rule:
    found = Finding(rule=_RULE, severity=severity, subject="c1/fast", cause="spare 2 TiB, the largest has 12")
    return says(found)[0]


@functools.cache
def told() -> Session:
    """Return a healthy cluster whose spare suffices, seen from its first node."""
    return session([cluster(), *parts(), pool(12 * TB, 8 * TB), rebalance()], [good("c1/fast")])


def names(shown: Screen) -> list[str]:
    return [row.item.lead + row.item.entity.name for row in shown.app.main.shown.main.rows]


async def test_one_screen_says_whether_it_survives_and_when_the_rebuild_ends() -> None:
    async with screen(told()) as shown:
        text = await shown.press("7")
        assert "c1 R3_6 · ClusteredNormal · 4 of 4 nodes" in text
        assert "3 of 3 managers, 2 of 2 copies, led by mdm1, 1 more can fail" in text
        assert "7.3T of 21.8T in use, spare 10.9T" in shown.line(" fast ")
        assert "rack1 10.9T ├" in text
        assert "┤ loss tolerated" in text
        assert "25.0%  10.0 MiB/s  cluster reports 47h39 left  c1/fast" in shown.line(" rebalance ")
        assert "throttled by rebalance policy favorAppIos" in text


async def test_a_pool_is_drawn_with_its_spare_under_its_largest_domain() -> None:
    async with screen(told(), WIDE) as shown:
        await shown.press("7")
        bar = shown.line(" fast ")
        used, free, spare = (bar.count(glyph) for glyph in "█░▒")
        room = used + free + spare
        assert abs(used - room * 8 / 24) <= 1
        assert abs(spare - room / 2) <= 1
        bracket = shown.line("┤ loss tolerated")
        assert abs(bracket.count("─") + 2 - room / 2) <= 1
        assert bracket.index("┤") == bar.rindex("▒")


@pytest.mark.parametrize(
    ("severity", "said"), [(Severity.CRITICAL, "loss NOT tolerated"), (Severity.WARNING, "not safe to lose")]
)
async def test_a_pool_that_does_not_survive_says_so(severity: Severity, said: str) -> None:
    made = session([cluster(), *parts(), pool(2 * TB, 20 * TB)], [bad(severity)])
    async with screen(made) as shown:
        text = await shown.press("7")
        assert said in text
        assert "c1/fast spare 2 TiB, the largest has 12" in text
        shown.app.screen.query_one("#cluster-glance").point(f"{_RULE}:c1/fast")  # type: ignore[attr-defined]
        shown.app.screen.query_one("#cluster-glance").focus()
        assert f"rule {_RULE}" in await shown.press("enter")


async def test_what_no_rule_looked_at_is_not_called_safe() -> None:
    async with screen(session([cluster(), *parts(), pool(12 * TB)])) as shown:
        text = await shown.press("7")
        assert "loss not checked" in text
        assert "loss tolerated" not in text


async def test_nodes_stand_by_what_fails_together_and_managers_first() -> None:
    async with screen(told(), WIDE) as shown:
        await shown.press("7")
        listed = names(shown)
        assert listed[:5] == ["managers", "├ mdm1", "├ mdm2", "└ tb1", "rack1"]
        assert listed[5:10] == ["├ sds1-1", "│ ├ sda", "│ ├ sdb", "│ └ sdc", "└ sds1-2"]
        assert listed[13] == "rack2"
        assert "mdm leads" in shown.line("├ mdm1")
        assert "fault set" in shown.line("rack1   ")
        assert " 50 ███" in shown.line("rack1   ")
        assert "this node 10.0.1.1" in shown.line("├ sds1-1")
        assert "local: sda fast" in shown.line("├ sda")
        assert " 5.00" in shown.line("├ sda")


async def test_of_what_is_folded_this_nodes_disks_and_what_is_ill_stay_in_sight() -> None:
    rows = parts(sets=4, nodes=4, devices=6)
    ill = next(row for row in rows if row.get("node") == "sds3-2" and row["is"] == "ClusterDevice")
    ill.update(healthy=0, state="Failed")
    async with screen(session([cluster(), *rows, pool(12 * TB)])) as shown:
        await shown.press("7")
        listed = names(shown)
        assert listed[:3] == ["rack3", "├ + sds3-2", "│ └ /dev/disk/by-path/d0"]
        assert "├ + sds1-1" in listed
        assert "│ ├ sda" in listed
        assert "/dev/disk/by-path/d5" not in " ".join(listed)
        assert "Failed" in shown.line("│ └ /dev/disk")


async def test_a_node_that_is_down_is_marked_and_counted() -> None:
    rows = parts()
    next(row for row in rows if row.get("node") == "sds2-1").update(healthy=0, state="Disconnected")
    made = session([cluster(healthy=0, state="Degraded", degraded=TB, failed=0, nodes_up=3), *rows])
    async with screen(made, WIDE) as shown:
        text = await shown.press("7")
        assert "931G degraded, 0 unavailable" in text
        assert "3 of 4 nodes" in text
        assert names(shown)[:2] == ["rack2", "├ sds2-1"]
        assert "1 unhealthy" in text
        assert "Disconnected" in shown.line("sds2-1")


async def test_several_clusters_have_a_branch_each() -> None:
    other = [cluster("r0", kind="drbd", managers=None, tolerates=None, nodes=2, nodes_up=2),
             {"is": "ClusterNode", "cluster": "r0", "role": "peer", "node": "store2", "state": "UpToDate",
              "healthy": 1, "leads": False, "local": False}]  # fmt: skip
    async with screen(session([cluster(), *parts(), *other]), WIDE) as shown:
        text = await shown.press("7")
        assert "2 clusters" in text
        assert names(shown)[0] == "c1"
        assert names(shown)[-2:] == ["r0", "└ store2"]


async def test_rows_lead_to_their_facts() -> None:
    async with screen(told(), WIDE) as shown:
        await shown.press("7")
        shown.app.main.shown.point(("c1", "sds1-1", "/dev/disk/by-path/d0"))
        assert "Wait, ms a request" in await shown.press("enter")
        assert "Cluster devices" in await shown.press("enter")
        await shown.press("escape", "escape", "tab")
        assert "Clusters" in await shown.press("enter")


async def test_a_filter_finds_nodes_and_this_one() -> None:
    async with screen(told()) as shown:
        await shown.press("7", "/")
        await shown.type("10.0.2.2")
        assert names(shown) == ["rack2", "└ sds2-2", "  ├ /dev/disk/by-path/d0", "  ├ /dev/disk/by-path/d1",
                                "  └ /dev/disk/by-path/d2"]  # fmt: skip


async def test_disks_and_fabric_name_the_pool_that_a_disk_is_given_to() -> None:
    async with screen(told(), (160, 40)) as shown:
        await shown.press("2")
        shown.app.main.shown.point(("", "sda"))
        await shown.settled()
        assert "device of c1/fast, d0" in shown.line(" stack ")


async def test_without_a_cluster_a_line_says_so() -> None:
    asked = ("http:GET /api/instances", "list:/etc/ceph", "/proc/drbd", command_key(MON), command_key(INFO))
    here = [Evidence(key, Outcome.ABSENT) for key in asked]
    async with screen(Node(later={1: here}).session(2)) as shown:
        text = await shown.press("7", "j", "enter", "left", "z", "tab")
        assert "no cluster found (PowerFlex gateway, Ceph, DRBD, Pacemaker, GlusterFS)" in text


async def test_what_nobody_looked_for_is_not_said_to_be_missing() -> None:
    async with screen(Node().session(2)) as shown:
        text = await shown.press("7")
        assert "no cluster found; not recorded: scaleio, ceph, drbd, pacemaker, gluster" in text
        text = await shown.press("8")
        assert "no volume or limit found; not recorded: scaleio, cgroups, qemu, rbd, ceph" in text
        assert "no I/O limits" not in text
    denied = [Evidence("/proc/drbd", Outcome.DENIED, detail="needs root")]
    async with screen(Node(later={1: denied}).session(2)) as shown:
        assert "no cluster found; drbd: denied: /proc/drbd: needs root; not rec" in await shown.press("7")


@pytest.mark.parametrize(("size", "ascii_only"), [(LOW, True), (SMALL, True), ((120, 30), False), ((40, 8), True)])
async def test_it_fits_every_screen(size: tuple[int, int], *, ascii_only: bool) -> None:
    async with screen(told(), size, options=Options(ascii=ascii_only)) as shown:
        await shown.press("7")
        lines = shown.lines()
        assert len(lines) == size[1]
        assert max(map(len, lines)) <= size[0]
        harmless(shown, ascii_only=ascii_only)


async def test_hostile_names_do_no_harm() -> None:
    def nasty(row: dict[str, Any], at: int) -> dict[str, Any]:
        name = NASTY[at % len(NASTY)].encode("utf-8", "replace").decode()
        free = {"leader", "version", "state", "address", "limited_by", "largest_domain", "device", "model", "path"}
        return row | dict.fromkeys(free & row.keys(), name)

    rows = [cluster(), *parts(), pool(TB), rebalance()]
    made = session([nasty(row, at) for at, row in enumerate(rows)], [bad()])
    for ascii_only in (False, True):
        async with screen(made, WIDE, options=Options(ascii=ascii_only)) as shown:
            for keys in (("7",), ("j", "j", "enter"), ("escape", "tab", "j"), ("enter",)):
                await shown.press(*keys)
                harmless(shown, ascii_only=ascii_only)


async def test_what_a_high_availability_cluster_runs_and_where() -> None:
    said = pacemakernode.status(
        pacemakernode.node("store1", leads=True) + pacemakernode.node("store2", online=False, unclean=True),
        pacemakernode.instance("ip", "x", "store1") + pacemakernode.instance("lun", "x", "store1", failed=True),
    )
    rules = [CLUSTER_DEGRADED, CLUSTER_RESOURCE_FAILED]
    shown_by = Judged([PACEMAKER], rules, [(1.0, {pacemakernode.MON: said, **pacemakernode.COROSYNC})]).session
    async with screen(shown_by) as shown:
        text = await shown.press("7")
        assert "1 of 2 nodes online, led by store1" in shown.line(" quorum ")
        assert "running store1" in shown.line(" ip ")
        assert "failed store1" in text
        assert text.index(" lun ") < text.index(" ip ")  # what is not well comes first
        assert "CRIT san store2 UNCLEAN" in text
        assert "WARN san/lun Failed on store1" in text


@pytest.mark.parametrize(
    ("state", "lines"),
    [
        ("pool-quota", {" health ": "POOL_FULL", " pool small ": "3 of 2 objects"}),
        ("all-muted", {" health ": "(muted)"}),
        (
            "osd-down@3",
            {
                " health ": "PG_DEGRADED", " pool data ": "3 copies, 2 of 3 hosts up",
                " this node ": "osd.2 not running on vda",
            },
        ),
        ("mgr-down", {" this node ": "mgr.x not running, mon.a, osd.0 on vda"}),
        ("healthy", {" pool data ": "3 copies, 3 of 3 hosts up", " this node ": "mgr.x, mon.a, osd.0 on vda"}),
    ],
)  # fmt: skip
async def test_checks_pools_and_daemons_of_ceph_have_rows(state: str, lines: dict[str, str]) -> None:
    session = course(RECORDED / f"ceph-{state}.tar.gz").session
    async with screen(session, WIDE) as shown:
        await shown.press("7")
        for head, said in lines.items():
            assert said in shown.line(head)


async def test_hostile_names_of_ceph_do_no_harm() -> None:
    dump = json.loads(cephnode.osd_dump(*(cephnode.pool(n, name) for n, name in enumerate(NASTY, 1))))
    said = json.loads(cephnode.status(health="HEALTH_WARN", checks={name: name for name in NASTY}))
    # Hosts below buckets of a hostile type, by a rule that takes these as failure domains.
    tree = cephnode.tree().replace('"host"', json.dumps(NASTY[0].encode("utf-8", "replace").decode()))
    rules = cephnode.crush_rules(NASTY[0].encode("utf-8", "replace").decode())
    files = {
        **cephnode.HERE, cephnode.STATUS: json.dumps(said), cephnode.TREE: tree,
        cephnode.DUMP: json.dumps(dump), cephnode.RULES: rules,
    }  # fmt: skip
    made = Judged([CEPH, CEPH_OSDS], [CEPH_HEALTH], [(1.0, files)]).session
    for ascii_only in (False, True):
        async with screen(made, WIDE, options=Options(ascii=ascii_only)) as shown:
            for keys in (("7",), ("j", "j", "enter"), ("escape", "j", "enter")):
                await shown.press(*keys)
                harmless(shown, ascii_only=ascii_only)
