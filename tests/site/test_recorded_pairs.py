"""Both sides of real clusters, recorded at one time: the side that is wrong, and healthy pairs that are silent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sdstop.cli import command

RECORDED = Path(__file__).parent.parent / "clusters" / "recorded"

Said = tuple[str, str, str, str]
"""Rule, subject, host, title."""

TRY = "NO CONNECTION: BOTH SIDES TRY"
PAIRS: dict[str, list[Said]] = {
    "drbd-healthy@2": [],
    "drbd-resync@2": [],
    "drbd-verify-differences@2": [],
    "drbd-diskless-primary@2": [],
    "drbd-io-suspended@2": [],
    "drbd-disconnected-by-hand@2": [("replication-stopped", "r1", "b", "ONE SIDE STANDALONE")],
    "drbd-cable-cut@2": [("replication-stopped", "r0", "", TRY), ("replication-stopped", "r1", "", TRY)],
    "drbd-split-brain@2": [("split-brain", "r0", "", "SPLIT BRAIN: BOTH SIDES PRIMARY")],
    "pacemaker-pair-healthy@2": [],
    "pacemaker-cut@3": [("cluster-partitioned", "vault", "san3", "PARTITIONED: 2 + 1 nodes")],
    "pacemaker-pair-split@2": [("cluster-partitioned", "twin", "", "PARTITIONED AND RUNNING TWICE: 1 + 1")],
    "pacemaker-pair-split-no-device@2": [("cluster-partitioned", "twin", "", "PARTITIONED: 1 + 1 nodes")],
    "pacemaker-pair-peer-stopped@2": [("cause-on-node", "twin/san2", "san2", "PACEMAKER NOT RUNNING")],
    "pacemaker-pacemaker-stopped@3": [("cause-on-node", "vault/san3", "san3", "PACEMAKER NOT RUNNING")],
    "ceph-osd-down@3": [("cause-on-node", "ceph-b067058c/node2/osd.2", "node2", "OSD NOT RUNNING")],
    "ceph-slow-disk@3": [],
    "san-target-disabled@2": [
        ("session-down", "s/session1", "target", "TARGET DISABLED"),
        ("session-down", "s/session2", "target", "TARGET DISABLED"),
    ],
    "san-nvme-target-gone@2": [
        ("session-down", "s/nvme0", "target", "TARGET NOT EXPORTED"),
        ("session-down", "s/nvme1", "target", "TARGET NOT EXPORTED"),
    ],
    "san-all-links-down-idle@2": [
        ("session-down", f"s/{name}", "s", "LINK SHUT DOWN AT THE INITIATOR")
        for name in ("nvme0", "nvme1", "session1", "session2")
    ],
    "gluster-healthy@3": [],
    "gluster-split-brain@2": [("gluster-split-brain", "pair", "", "SPLIT BRAIN BETWEEN 2 SERVERS")],
    "gluster-glusterd-dead@3": [("gluster-pool-split", "gluster/gfs3", "gfs3", "GLUSTERD NOT RUNNING")],
    "gluster-cut@3": [("gluster-pool-split", "gluster", "gfs3", "POOL SPLIT: 2 + 1 servers")],
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_side_that_is_wrong_is_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, other = RECORDED / f"{name.partition('@')[0]}.tar.gz", RECORDED / f"{name}.tar.gz"
    assert command.execute(["report", "--format", "json", "--from", str(first), "--from", str(other)]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    between = [each for each in data["findings"] if each["between"] and each["until"] is None]
    said = [(each["rule"], each["subject"], each["host"], each["title"]) for each in between]
    assert sorted(said) == sorted(PAIRS[name])
    hosts = [host["name"] for host in data["hosts"]]
    for each in between:
        assert set(each["between"]) == set(hosts)
        assert {cite["host"] for cite in each["evidence"]} <= set(hosts)
        assert len(each["cause"]) <= 71
    if between:
        assert data["findings"][0] in between  # what both sides show together stands first


def test_a_healthy_pair_of_drbd_is_ruled_out(capsys: pytest.CaptureFixture[str]) -> None:
    pair = [str(RECORDED / f"drbd-healthy{side}.tar.gz") for side in ("", "@2")]
    assert command.execute(["report", "--format", "json", "--from", pair[0], "--from", pair[1]]) == 0
    good = {(each["rule"], each["subject"]) for each in json.loads(capsys.readouterr().out)["ruled_out"]}
    assert {("split-brain", "r0"), ("split-brain", "r1"), ("replication-stopped", "r0")} <= good


def test_the_disk_of_a_slow_osd_is_looked_for_on_its_node(capsys: pytest.CaptureFixture[str]) -> None:
    pair = [str(RECORDED / f"ceph-slow-disk{side}.tar.gz") for side in ("", "@3")]
    assert command.execute(["report", "--format", "json", "--from", pair[0], "--from", pair[1]]) == 0
    good = {each["rule"]: each["summary"] for each in json.loads(capsys.readouterr().out)["ruled_out"]}
    assert good["cause-on-node"].startswith("disk vda of node2: no finding")
