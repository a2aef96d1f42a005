"""A fault that one node sees in its cluster leads to the disk of the node that has it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.finding import Severity
from sdstop.core.site_session import SiteSession
from tests.nodes.cluster import COLLECTOR, TOLD, cluster, session
from tests.nodes.site import Shown, finding, found, ruled_out, site, unchecked


def frames(hangs: str = "") -> Shown:
    """Return 16 seconds of two disks, one of which may hang: 3 requests in flight, none completed."""
    known = {f"/sys/block/{name}/queue/{key}": "1" for name in ("sda", "sdb") for key in ("iostats", "rotational")}
    known |= {"/sys/block/sda/dev": "8:0", "/sys/block/sdb/dev": "8:16"}
    shown: Shown = []
    for at in range(16):
        busy, rows = 1000 * at, []
        for minor, name in ((0, "sda"), (16, "sdb")):
            done = 500 if name == hangs else 10 * at
            rows.append(f"8 {minor} {name} {done} 0 {done * 8} {busy} 0 0 0 0 3 {busy} {busy} 0 0 0 0 0 0\n")
        shown = [*shown, (float(at), {**known, "/proc/diskstats": "".join(rows)})]
    return shown


def osd(node: str, name: str, healthy: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "is": "ClusterDevice", "cluster": "c1", "node": node, "device": name, "pool": "fast",
        "state": "up" if healthy else "down", "healthy": healthy, "capacity": 10**12, "origin": TOLD,
    } | more  # fmt: skip


def node(name: str, healthy: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "is": "ClusterNode", "cluster": "c1", "role": "osd", "node": name, "state": "up" if healthy else "down",
        "healthy": healthy, "leads": False, "local": False, "origin": TOLD,
    } | more  # fmt: skip


def told(shown: Shown, *rows: dict[str, Any], later: float = 0.0) -> Shown:
    """Return frames with these rows of a cluster, `later` seconds afterwards."""
    return [(at + later, {**files, TOLD: json.dumps(rows)}) for at, files in shown]


WELL = frames()
HANGS = frames("sdb")


def pair(mine: Shown, *, later: float = 0.5, local: str | None = "sdb", **state: Any) -> SiteSession:
    """Return the node that sees osd.3 of node2 down, and node2, whose frames are `mine`."""
    down = osd("node2", "osd.3", 0, **state)
    first = told(WELL, cluster(healthy=0, degraded=10**9), node("node1"), node("node2"), osd("node1", "osd.1"), down)
    own = told(mine, osd("node2", "osd.3", 0, local=local), later=later)
    return site({"node1": first, "node2": own}, collectors=(*BUILTIN, COLLECTOR))


def test_an_osd_that_is_down_leads_to_its_disk_on_its_node() -> None:
    made = pair(HANGS)
    cause = finding(made, "cause-on-node")
    assert (cause.host, cause.subject, cause.severity) == ("node2", "c1/node2/osd.3", Severity.CRITICAL)
    assert cause.cause == "osd.3 is down: device-hung of sdb on node2."
    assert cause.steps[0] == "Repair sdb of node2 first; the cluster follows."
    assert cause.explains == ("node2:device-hung:sdb", "node1:cluster-degraded:c1")
    assert {cite.host for cite in cause.evidence} == {"node1", "node2"}
    order = [episode.finding.id for episode in made.episodes()]
    assert order.index(cause.id) < order.index("node1:cluster-degraded:c1")
    assert order[0] == cause.id


def test_a_good_disk_is_ruled_out_as_the_cause() -> None:
    made = pair(WELL)
    assert found(made, "cause-on-node") == []
    assert ruled_out(made, "cause-on-node", "c1/node2/osd.3").startswith("disk sdb of node2: no finding")


def test_another_disk_of_that_node_is_not_the_cause() -> None:
    assert found(pair(HANGS, local="sda"), "cause-on-node") == []


def test_without_the_disk_nothing_is_guessed() -> None:
    made = pair(HANGS, local=None)
    assert found(made, "cause-on-node") == []
    assert unchecked(made, "cause-on-node", "c1/node2/osd.3") == "disk of osd.3 on node2 unknown"


def test_the_path_in_the_cluster_leads_to_the_disk_too() -> None:
    made = pair(HANGS, local=None, path="/dev/sdb")
    assert finding(made, "cause-on-node").host == "node2"


@pytest.mark.parametrize(("later", "judged"), [(599.0, True), (601.0, False)])
def test_captures_of_different_times_are_not_joined(later: float, *, judged: bool) -> None:
    made = pair(HANGS, later=later)
    assert bool(found(made, "cause-on-node")) is judged
    if judged:
        assert finding(made, "cause-on-node").confidence == 0.7
    else:
        assert "10m01 apart" in unchecked(made, "cause-on-node", "c1/node2/osd.3")


def test_a_healthy_cluster_says_nothing() -> None:
    rows = (cluster(), node("node1"), node("node2"), osd("node2", "osd.3"))
    made = site({"node1": told(WELL, *rows), "node2": told(HANGS, osd("node2", "osd.3", local="sdb"))},
                collectors=(*BUILTIN, COLLECTOR))  # fmt: skip
    assert [v for v in made.judgement.findings if v.rule == "cause-on-node"] == []


def test_a_node_that_is_not_among_the_captures_is_left_alone() -> None:
    assert session([cluster()]).head() is not None
    down = (cluster(healthy=0, degraded=10**9), node("node9"), osd("node9", "osd.9", 0))
    made = site({"node1": told(WELL, *down), "node2": told(HANGS)}, collectors=(*BUILTIN, COLLECTOR))
    assert found(made, "cause-on-node") == []
