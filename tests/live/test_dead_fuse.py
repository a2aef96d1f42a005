"""A FUSE mount whose program does not answer, on this machine's kernel: it is named, and sdstop does not touch it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.expectation import course
from tests.nodes.frames import value

READERS = 3
NODE = """
import ctypes, os, subprocess, sys
mount, readers, *record = sys.argv[1:]
os.mkdir(mount)
silent = os.open("/dev/fuse", os.O_RDWR)  # nobody reads its requests
options = f"fd={silent},rootmode=40000,user_id=0,group_id=0".encode()
assert not ctypes.CDLL(None).mount(b"silent", mount.encode(), b"fuse.silent", 6, options)
waiting = [subprocess.Popen(["cat", f"{mount}/file"], stderr=subprocess.DEVNULL) for _ in range(int(readers))]
done = subprocess.run(record).returncode
os.close(silent)  # the kernel ends the requests
for each in waiting:
    each.wait(10)
sys.exit(done)
"""
"""A mount in a namespace of its own: no other program of this machine can walk into it."""


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.needs("root", "mounts", "FUSE")
def test_a_mount_whose_program_is_silent_is_named(tmp_path: Path) -> None:
    place = tmp_path / "silent"
    record = [sys.executable, "-m", "sdstop", "capture", "-o", str(tmp_path / "capture"), "--duration", "24s",
              "--interval", "2s"]  # fmt: skip
    node = [sys.executable, "-c", NODE, str(place), str(READERS), *record]
    private = ["unshare", "--mount", "--propagation", "private"]
    done = subprocess.run([*private, *node], check=False, capture_output=True, timeout=180)
    assert done.returncode == 0, done.stderr.decode()[-500:]
    seen = course(tmp_path / "capture")
    found = {(one.rule, one.subject): one for one in seen.judgements[-1].findings}
    stuck = found["tasks-stuck", str(place)]
    assert stuck.severity.value == "critical"
    assert value(stuck, "tasks") == READERS
    assert "io-stalled" not in {rule for rule, _ in found}
