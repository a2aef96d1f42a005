"""Servers of one GlusterFS pool: who reaches whom, whose glusterd is gone, and whose copies are in split brain."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sdstop.collectors.network.path_readings import TRIE
from sdstop.core.evidence import Evidence, Frame
from sdstop.core.finding import Damage, Severity
from sdstop.core.site_session import SiteSession
from tests.nodes.frames import START, frames
from tests.nodes.gluster import INFO, PEERS, STATUS, count_key, counts, info, peers, running, split, split_key, volume
from tests.nodes.gluster import status as processes
from tests.nodes.site import HOSTNAME, Shown, finding, found, ruled_out, site, together, unchecked

NODES = {"gfs1": "10.0.0.1", "gfs2": "10.0.0.2", "gfs3": "10.0.0.3"}
BRICKS = tuple(f"{host}:/srv/b" for host in NODES.values())
THREE = volume("data", *BRICKS, copies=3)
PAIR = volume("pair", *BRICKS[:2], copies=2)


def server(name: str, gone: set[str], volumes: str = THREE, more: Mapping[str, str] | None = None) -> Shown:
    """Return what a server shows that does not reach others; it sees its own bricks and those of servers it reaches."""
    others = {host: node not in gone for node, host in NODES.items() if node != name}
    online = {brick: True for node, brick in zip(NODES, BRICKS, strict=True) if node not in gone}
    files = {INFO: info(volumes), PEERS: peers(others), STATUS: processes(running("data", online)), **(more or {})}
    return [(float(second), files) for second in (0, 5)]


def dead(name: str) -> list[Frame]:
    """Return what a server shows whose glusterd does not run."""
    said = b"Connection failed. Please check if gluster daemon is operational.\n"
    items = (
        Evidence(INFO, data=said, exit=1), Evidence("list:/var/lib/glusterd/vols", data=b"data"),
        Evidence(HOSTNAME, data=f"{name}\n".encode()),
        Evidence(TRIE, data=f"Main:\n  |-- {NODES[name]}\n     /32 host LOCAL\n".encode()),
    )  # fmt: skip
    return [Frame(number, START + second, second, items) for number, second in ((1, 0.0), (2, 5.0))]


def pool(**gone: set[str]) -> SiteSession:
    return site({name: server(name, gone.get(name, set())) for name in NODES})


def test_servers_that_reach_each_other_are_ruled_out() -> None:
    made = pool()
    assert ruled_out(made, "gluster-pool-split", "gluster") == "3 servers reach each other"
    assert made.judgement.findings == ()


def test_a_server_that_is_cut_off_is_the_smaller_part() -> None:
    split_ = finding(pool(gfs1={"gfs3"}, gfs2={"gfs3"}, gfs3={"gfs1", "gfs2"}), "gluster-pool-split")
    assert (split_.severity, split_.title, split_.host) == (Severity.WARNING, "POOL SPLIT: 2 + 1 servers", "gfs3")
    assert split_.cause == "Each sees the other as disconnected: gfs1, gfs2 | gfs3."
    assert split_.impact == "Clients of the smaller part cannot write data."
    assert set(split_.explains) == {f"{name}:cluster-degraded:gluster" for name in NODES}
    assert split_.between == ("gfs1", "gfs2", "gfs3")


def test_two_copies_without_a_quorum_can_be_written_on_both_sides() -> None:
    made = site({name: server(name, {other}, PAIR) for name, other in (("gfs1", "gfs2"), ("gfs2", "gfs1"))})
    split_ = finding(made, "gluster-pool-split")
    assert (split_.severity, split_.damage) == (Severity.CRITICAL, Damage.DATA)
    assert split_.impact == "Clients of each part can write pair: split brain."


def test_a_server_whose_glusterd_is_gone_is_not_cut_off() -> None:
    shown = {
        name: frames([(at, {HOSTNAME: f"{name}\n", **files}) for at, files in server(name, {"gfs3"})])
        for name in ("gfs1", "gfs2")
    }
    made = together({**shown, "gfs3": dead("gfs3")})
    one = finding(made, "gluster-pool-split")
    assert (one.subject, one.title, one.host) == ("gluster/gfs3", "GLUSTERD NOT RUNNING", "gfs3")
    assert one.cause == "glusterd of gfs3 does not run; gfs1, gfs2 see it as disconnected."
    assert set(one.explains) == {f"{name}:cluster-degraded:gluster" for name in NODES}


def test_servers_without_a_capture_belong_to_the_part_that_reaches_them() -> None:
    made = site({"gfs1": server("gfs1", {"gfs3"}), "gfs3": server("gfs3", {"gfs1", "gfs2"})})
    one = finding(made, "gluster-pool-split")
    assert (one.title, one.host) == ("POOL SPLIT: 2 + 1 servers", "gfs3")
    assert one.cause == "Each sees the other as disconnected: 10.0.0.2, gfs1 | gfs3."
    assert "ping -c 3 10.0.0.1   # on gfs3" in one.steps


def test_a_link_that_one_side_alone_sees_as_lost_is_changing() -> None:
    said = unchecked(pool(gfs1={"gfs2"}), "gluster-pool-split", "gluster")
    assert said.startswith("one server sees another as lost, which sees it")


def test_a_single_capture_of_a_pool_is_left_to_its_own_rule() -> None:
    made = site({"gfs1": server("gfs1", {"gfs2", "gfs3"})})
    assert found(made, "gluster-pool-split") == []


@pytest.mark.parametrize("both", [True, False])
def test_split_brain_names_the_servers_whose_copies_differ(both: bool) -> None:  # noqa: FBT001  # a table
    brains = {
        count_key("pair"): counts("pair", dict.fromkeys(BRICKS[:2], 2)),
        split_key("pair"): split({brick: [("fc41", "/x")] for brick in BRICKS[:2]}),
    }
    shown = {"gfs1": server("gfs1", set(), PAIR, brains), "gfs2": server("gfs2", set(), PAIR, brains if both else None)}
    one = finding(site(shown), "gluster-split-brain")
    assert (one.severity, one.damage, one.title) == (Severity.CRITICAL, Damage.DATA, "SPLIT BRAIN BETWEEN 2 SERVERS")
    assert one.cause == "1 entry: the copies of gfs1, gfs2 blame each other."
    assert set(one.explains) == {
        f"{name}:gluster-split-brain:pair" for name in (("gfs1", "gfs2") if both else ("gfs1",))
    }
    assert f"gluster volume heal pair split-brain source-brick {BRICKS[1]} /x" in " ".join(one.steps)
    assert found(site({"gfs1": shown["gfs1"]}), "gluster-split-brain") == []
