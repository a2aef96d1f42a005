"""A smartctl that never ends, on a node with disks that are asked: nobody waits for it, and nothing of it is left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sdstop.collectors.health.readings import DiskHealth
from tests.expectation import course

pytestmark = pytest.mark.live

BENCH = Path(__file__).parent.parent.parent / "bench"
HUNG = """#!/bin/sh
trap '' TERM INT HUP
echo $$ >>{asked}
while :; do sleep 600; done
"""
NODE = """
mount --bind "$0/programs" /usr/local/sbin && mount --rbind /proc /mnt && mount --bind "$0/node/sys" /sys &&
mount --bind "$0/node/proc" /proc && exec "$@"
"""


@pytest.mark.slow
@pytest.mark.needs("root", "mounts")
def test_a_hung_smartctl_harms_nothing(tmp_path: Path) -> None:
    node, programs, asked = tmp_path / "node", tmp_path / "programs", tmp_path / "asked"
    subprocess.run([sys.executable, BENCH / "tree.py", "build", node, "--disks", "1"], check=True)
    for place in (node / "sys/block").glob("sd*"):
        link = place.resolve() / "device"
        number = link.resolve().name
        link.unlink()
        link.symlink_to(f"../../../{number}")
    host = node / "sys/class/scsi_host/host0"
    host.mkdir(parents=True)
    (host / "proc_name").write_text("mpt3sas\n")
    for name in ("self", "thread-self"):
        (node / "proc" / name).symlink_to(Path("/mnt", name))
    programs.mkdir()
    (programs / "smartctl").write_text(HUNG.format(asked=asked))
    (programs / "smartctl").chmod(0o755)
    under = ["unshare", "--mount", "sh", "-c", NODE, str(tmp_path)]
    record = [sys.executable, "-m", "sdstop", "capture", "-o", str(tmp_path / "capture"), "--duration", "24s"]
    subprocess.run([*under, *record, "--interval", "1s"], check=True, capture_output=True, timeout=120)

    seen = course(tmp_path / "capture")
    disks = seen.session.head().window.rows(DiskHealth)
    assert {disk.device: disk.state for disk in disks.values()} == {"sda": "timed out"}
    assert len(seen.frames) >= 23
    assert "disk-failing" not in {good.rule for good in seen.judgements[-1].ruled_out}
    assert any(one.rule == "disk-failing" and one.subject == "sda" for one in seen.judgements[-1].unchecked)
    pids = asked.read_text().split()
    assert len(pids) == 1
    assert not any(Path("/proc", pid).exists() for pid in pids)
