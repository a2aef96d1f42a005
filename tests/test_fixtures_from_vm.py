"""Raw recordings of virtual machines become captures, and those in fixtures/ hold what their README says."""

import json
from pathlib import Path

import pytest

from sdstop.capture.reader import open_capture
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from tests.fixtures import opened
from tests.fixtures_from_vm import convert, frames

LINKS = {
    "/sys/block/md0": "../devices/virtual/block/md0",
    "/sys/block/vda": "../devices/pci0/0:1/block/vda",
    "/sys/block/vdb": "../devices/pci0/0:2/block/vdb",
    "/sys/block/md0/slaves/vda": "../../../../pci0/0:1/block/vda",
    "/sys/block/vda/holders/md0": "../../../../../virtual/block/md0",
}
RECORDING = {
    "static/links.json": json.dumps(LINKS),
    "static/proc/version": "Linux\n",
    "static/sys/block/vda/size": "8\n",
    "static/sys/block/vda/stat": "moves\n",
    "static/sys/block/md0/md/level": "before\n",
    "static/sys/block/md0/queue/wbt_lat_usec": "!Invalid argument\n",
    "s0000/meta.json": '{"time": 1700000000.5, "monotonic": 10.25}',
    "s0000/proc/diskstats": "one\n",
    "s0000/proc/mdstat": "md0\n",
    "s0000/cmd/iostat.txt": "since boot\n",
    "s0000/sys/block/md0/md/level": "raid1\n",
    "s0000/sys/block/md0/md/new_dev": "!Permission denied\n",
    "s0000/sys/block/md0/md/dev-vda/slot": "0\n",
    "s0001/meta.json": '{"time": 1700000001.5, "monotonic": 11.25}',
    "s0001/proc/diskstats": "two\n",
    "s0001/proc/mdstat": "md0\n",
    "s0001/sys/block/md0/md/level": "raid1\n",
    "s0001/sys/block/md0/md/new_dev": "!Permission denied\n",
    "s0001/sys/block/md0/md/dev-vdb/slot": "0\n",
}


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    for name, text in RECORDING.items():
        path = tmp_path / "raw" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "raw"


def gone(key: str) -> Evidence:
    return Evidence(key, Outcome.ABSENT, detail="no such file")


def test_a_recording_becomes_frames(recording: Path) -> None:
    first, second = frames(recording)
    assert (first.number, first.taken, first.monotonic, first.ran) == (1, 1700000000.5, 10.25, None)
    assert {e.key: e for e in first.evidence if not e.key.startswith("link:")} == {
        e.key: e
        for e in (
            Evidence("/proc/version", data=b"Linux\n"),
            Evidence("/sys/block/vda/size", data=b"8\n"),
            Evidence("/sys/block/md0/queue/wbt_lat_usec", Outcome.FAILED, detail="Invalid argument"),
            Evidence("/proc/diskstats", data=b"one\n"),
            Evidence("/proc/mdstat", data=b"md0\n"),
            Evidence("/sys/block/md0/md/level", data=b"raid1\n"),
            Evidence("/sys/block/md0/md/new_dev", Outcome.DENIED, detail="Permission denied"),
            Evidence("/sys/block/md0/md/dev-vda/slot", data=b"0\n"),
        )
    }
    assert {e.key[5:]: e.data.decode() for e in first.evidence if e.key.startswith("link:")} == LINKS
    assert {e.key: e for e in second.evidence} == {
        e.key: e
        for e in (
            Evidence("/proc/diskstats", data=b"two\n"),
            gone("/sys/block/md0/md/dev-vda/slot"),
            Evidence("/sys/block/md0/md/dev-vdb/slot", data=b"0\n"),
            gone("link:/sys/block/md0/slaves/vda"),
            gone("link:/sys/block/vda/holders/md0"),
            Evidence("link:/sys/block/md0/slaves/vdb", data=b"../../../../pci0/0:2/block/vdb"),
            Evidence("link:/sys/block/vdb/holders/md0", data=b"../../../../../virtual/block/md0"),
        )
    }


def test_the_same_recording_gives_the_same_capture(recording: Path, tmp_path: Path) -> None:
    first = convert(recording, tmp_path / "a").read_bytes()
    assert convert(recording, tmp_path / "a").read_bytes() == first
    origin, written = open_capture(tmp_path / "a")
    assert (origin.name, origin.complete, origin.note, len(written)) == ("sdsvm", True, "", 2)


@pytest.mark.parametrize(
    ("name", "count", "seconds"), [("vm-md-slow-member", 20, 1), ("vm-md-clones", 40, 0.5), ("vm-md-rebuild", 100, 1)]
)
def test_what_was_recorded_opens_whole(name: str, count: int, seconds: float) -> None:
    origin, shown = opened(name)
    assert (origin.name, origin.complete, origin.note) == ("sdsvm", True, "")
    assert [f.number for f in shown] == list(range(1, count + 1))
    assert shown[-1].monotonic - shown[0].monotonic == pytest.approx((count - 1) * seconds, abs=0.1)
    assert all("/proc/diskstats" in {e.key for e in f.evidence} for f in shown)
    host = EvidenceHost(shown[0].evidence)
    assert host.text("/proc/version").startswith("Linux version 6.1.0-53-amd64 ")
    assert len(host.entries("/sys/block/md0/slaves")) == (4 if name == "vm-md-rebuild" else 8)


def test_the_phases_of_the_rebuild() -> None:
    host = EvidenceHost()
    phases: dict[tuple[str | None, str | None, bool, bool], list[int]] = {}
    members: dict[tuple[str, ...], int] = {}
    md = "/sys/block/md0/md"
    done = None
    for frame in opened("vm-md-rebuild")[1]:
        host.apply(frame.evidence)
        before, done = done, host.maybe(f"{md}/sync_completed")
        stalled = done == before == "163840 / 258048"
        said = "recovery" in host.text("/proc/mdstat")
        phase = (host.maybe(f"{md}/degraded"), host.maybe(f"{md}/sync_action"), said, stalled)
        phases.setdefault(phase, []).append(frame.number)
        members.setdefault(tuple(host.entries("/sys/block/md0/slaves")), frame.number)
    assert {phase: (numbers[0], numbers[-1], len(numbers)) for phase, numbers in phases.items()} == {
        ("0", "idle", False, False): (1, 100, 18),
        ("1", "idle", False, False): (4, 6, 3),
        ("1", "recover", True, False): (7, 85, 49),
        ("1", "frozen", True, False): (27, 27, 1),
        ("1", "frozen", False, False): (28, 42, 15),
        ("1", "recover", True, True): (64, 77, 14),
    }
    assert members == {("vdb", "vdc", "vdd", "vde"): 1, ("vdb", "vdd", "vde", "vdf"): 7}
