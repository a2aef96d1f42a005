"""A control group of this machine that is held to a limit on a loop device, as sdstop sees it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.limits.cgroups import CGROUPS
from sdstop.core.evidence import Frame, Origin
from sdstop.core.finding import Finding, Severity
from sdstop.core.recording import RecordingHost
from sdstop.core.session import Session
from sdstop.node.live import LiveHost
from sdstop.rules.limits.volume_qos_saturated import VOLUME_QOS_SATURATED
from tests.nodes.frames import check, value

pytestmark = [pytest.mark.live, pytest.mark.needs("losetup", "loop devices", "I/O limits")]

ROOT = Path("/sys/fs/cgroup")
MIB = 1 << 20


@dataclass(frozen=True)
class Group:
    """A control group held to 1 MiB/s of reads from a device; `folders` are where a process is put."""

    name: str
    device: str
    folders: tuple[Path, ...]

    def run(self, *argv: str) -> subprocess.Popen[bytes]:
        """Start a command in the group."""
        moves = "".join(f"echo $$ > {folder}/cgroup.procs; " for folder in self.folders)
        return subprocess.Popen(["sh", "-ec", f'{moves}exec "$@"', "sh", *argv], stderr=subprocess.DEVNULL)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    """Make a loop device and a group, of version 2 or, where the controller is there, of version 1."""
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(64 * MIB)
    device = subprocess.run(
        ["losetup", "-f", "--show", "--direct-io=on", str(image)], check=True, capture_output=True, text=True
    ).stdout.strip()
    number = Path(f"/sys/class/block/{Path(device).name}/dev").read_text("ascii").strip()
    name = f"sdstop-limits-{os.getpid()}"
    folders: tuple[Path, ...]
    if (ROOT / "cgroup.controllers").exists():
        with contextlib.suppress(OSError):
            (ROOT / "cgroup.subtree_control").write_text("+io", "ascii")
        folders = (ROOT / name,)
        limit, line = folders[0] / "io.max", f"{number} rbps={MIB}"
    else:
        folders = (ROOT / "blkio" / name, ROOT / "unified" / name)
        limit, line = folders[0] / "blkio.throttle.read_bps_device", f"{number} {MIB}"
    try:
        for folder in folders:
            folder.mkdir()
        limit.write_text(line, "ascii")
        yield Group(name, Path(device).name, folders)
    finally:
        for folder in folders:
            with contextlib.suppress(OSError):
                folder.rmdir()
        subprocess.run(["losetup", "-d", device], check=True)


def watched(name: str, least: int = 7, most: int = 40) -> tuple[Finding, ...]:
    """Return what a session says of a group after some looks, a second apart; more looks until it says anything.

    A busy machine may keep the reader of the group from running for some seconds, and rightly nothing is said of those.
    """
    collectors = (CGROUPS, DISKSTATS)
    session = Session(Origin("n"), collectors, [VOLUME_QOS_SATURATED])
    host = LiveHost(collectors=collectors)
    said: tuple[Finding, ...] = ()
    for number in range(1, most + 1):
        recorder = RecordingHost(host)
        now, taken = time.monotonic(), time.time()
        for collector in collectors:
            list(collector.read(recorder))
        session.feed(Frame(number, taken, now, tuple(recorder.evidence.values())))
        if number >= least:
            found = session.head().judgement.findings
            said = tuple(f for f in found if name in f.subject)
            if said:
                return said
        time.sleep(max(0.0, now + 1 - time.monotonic()))
    raise AssertionError(session.head().judgement)


def test_a_process_that_waits_for_its_groups_limit(group: Group) -> None:
    # Held to one processor: the kernel averages stalls over the processors on which a task was.
    cpu = str(min(os.sched_getaffinity(0)))
    with group.run(
        "taskset", "-c", cpu, "dd", f"if=/dev/{group.device}", "of=/dev/null", "bs=64k", "iflag=direct"
    ) as reader:
        try:
            (finding,) = watched(group.name)
        finally:
            reader.kill()
    check(finding)
    assert finding.subject == f"vol:{group.device}@{group.name}"
    assert finding.severity is Severity.WARNING
    assert finding.title.startswith("AT BANDWIDTH LIMIT: reads")
    assert value(finding, "bytes") == pytest.approx(MIB, rel=0.15)
    assert value(finding, "size") == pytest.approx(65536)
    assert value(finding, "stalled") == pytest.approx(1.0, abs=0.1)  # dd does nothing but wait
