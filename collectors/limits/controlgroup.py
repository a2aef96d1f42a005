r"""Parsers for control group limits on block devices, in both versions of the kernel interface.

Formats: Documentation/admin-guide/cgroup-v2.rst (io.max, io.stat, *.pressure) and cgroup-v1/blkio-controller.rst of the
kernel. A version 2 limit applies to a group and all its descendants together, a version 1 limit only to the group.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.text import is_whole

ROOT = "/sys/fs/cgroup"
V1 = f"{ROOT}/blkio"
UNIFIED = f"{ROOT}/unified"
"""Mount point of version 2 next to version 1; it has no limits there, but I/O pressure."""

THROTTLES = ("read_bps", "read_iops", "write_bps", "write_iops")
"""Version 1: each limit has its own file, `blkio.throttle.NAME_device`."""
OWN_FILES = (
    "cgroup.", "io.", "memory.", "cpu.", "cpuset.", "pids.", "hugetlb.", "rdma.", "misc.", "irq.", "dmem.", "blkio.",
    "cpuacct.", "devices.", "freezer.", "net_cls.", "net_prio.", "perf_event.", "tasks", "notify_on_release",
    "release_agent",
)  # fmt: skip
"""Name prefixes of the kernel's own files in a group; all other entries are groups."""

_NUMBER = expression(r"[0-9]{1,10}:[0-9]{1,10}")
_USUAL = expression(
    r"(?m)^([0-9]{1,10}:[0-9]{1,10}) rbytes=([0-9]{1,19}) wbytes=([0-9]{1,19}) rios=([0-9]{1,19}) wios=([0-9]{1,19})"
    r" dbytes=[0-9]{1,19} dios=[0-9]{1,19}$"
)
"""A line of io.stat without numbers of further controllers."""
_PRESSURE = expression(r"some (?:avg[0-9]+=[0-9.]+ )*total=([0-9]{1,19})(?:\n|$)")
_KEYS = {"rbps": "read_bps", "wbps": "write_bps", "riops": "read_iops", "wiops": "write_iops"}
_LARGEST = 1 << 64
"""Numbers of the kernel are below it."""


class Throttle(Struct, frozen=True):
    """Limits of one direction: requests and bytes per second, None if unlimited."""

    iops: int | None = None
    bytes: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether any limit is set."""
        return self.iops is not None or self.bytes is not None


class GroupIoTotals(Struct, frozen=True):
    """Requests and bytes per direction since the group or device was created."""

    reads: int = 0
    read_bytes: int = 0
    writes: int = 0
    write_bytes: int = 0


Throttles = dict[str, tuple[Throttle, Throttle]]
"""Read and write limits by device number `MAJ:MIN`."""


def parse_max(text: str) -> Throttles:
    """Parse io.max of version 2; devices without a limit have no line, and each line has all keys.

    254:0 rbps=max wbps=1048576 riops=100 wiops=max

    Raises Malformed.
    """
    found: Throttles = {}
    for number, words in _lines(text, "io.max"):
        known: dict[str, int | None] = {}
        for word in words:
            key, equals, value = word.partition("=")
            if key in _KEYS and equals:
                known[_KEYS[key]] = None if value == "max" else _whole(value, "io.max")
        found[number] = _both(known)
    return found


def parse_stat(text: str) -> dict[str, GroupIoTotals]:
    """Parse io.stat of version 2. Some kernels omit the numbers of idle devices.

    254:0 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0

    Raises Malformed.
    """
    found = {}
    usual = _USUAL.findall(text)
    if len(usual) == text.count("\n") + 1:
        for number, read_bytes, write_bytes, reads, writes in usual:
            found[number] = GroupIoTotals(int(reads), int(read_bytes), int(writes), int(write_bytes))
        return found
    for number, words in _lines(text, "io.stat"):
        known = {}
        for word in words:
            key, equals, value = word.partition("=")
            if equals and key in {"rbytes", "wbytes", "rios", "wios"}:
                known[key] = _whole(value, "io.stat")
        found[number] = GroupIoTotals(
            known.get("rios", 0), known.get("rbytes", 0), known.get("wios", 0), known.get("wbytes", 0)
        )
    return found


def parse_pressure(text: str) -> float | None:
    """Return the seconds with at least one task waiting for I/O, from io.pressure; None if missing.

        some avg10=43.19 avg60=9.84 avg300=2.14 total=7755972
        full avg10=39.19 avg60=8.96 avg300=1.95 total=7085972

    The value is a lower bound: the kernel (kernel/sched/psi.c) averages over the CPUs that ran the group's tasks, so a
    single task that always waits while alternating between two CPUs counts as half. Requests without a waiting task
    (libaio, io_uring) are not counted. Raises Malformed.
    """
    usual = _PRESSURE.match(text)
    if usual is not None:
        return int(usual[1]) / 1e6
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["some"]:
            totals = [word[6:] for word in words if word.startswith("total=")]
            return _whole(totals[0], "io.pressure") / 1e6 if totals else None
    return None


def parse_device(text: str, name: str) -> dict[str, int]:
    """Parse a version 1 limit, `blkio.throttle.NAME_device`: `254:0 1048576`. Raises Malformed."""
    found = {}
    for number, words in _lines(text, name):
        if len(words) != 1:
            raise Malformed(f"{name}: no number behind {number}")
        found[number] = _whole(words[0], name)
    return found


def parse_service(text: str, name: str) -> dict[str, tuple[int, int]]:
    """Parse version 1 blkio.throttle.io_serviced or io_service_bytes into reads and writes by device.

        254:0 Read 192
        254:0 Write 353
        254:0 Sync 545
        Total 545

    Raises Malformed.
    """
    found: dict[str, tuple[int, int]] = {}
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("Total"))
    for number, words in _lines(kept, name):
        if len(words) != 2:
            raise Malformed(f"{name}: {' '.join(words)[:40]!r} behind {number}")
        reads, writes = found.get(number, (0, 0))
        if words[0] == "Read":
            reads = _whole(words[1], name)
        elif words[0] == "Write":
            writes = _whole(words[1], name)
        found[number] = reads, writes
    return found


def joined(limits: dict[str, dict[str, int]]) -> Throttles:
    """Combine the four version 1 files, named by THROTTLES, into limits by device."""
    numbers = sorted({number for devices in limits.values() for number in devices})
    return {
        number: _both({name: devices[number] for name, devices in limits.items() if number in devices})
        for number in numbers
    }


def _both(known: dict[str, int | None]) -> tuple[Throttle, Throttle]:
    return (
        Throttle(known.get("read_iops"), known.get("read_bps")),
        Throttle(known.get("write_iops"), known.get("write_bps")),
    )


def _lines(text: str, name: str) -> Iterator[tuple[str, list[str]]]:
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if not _NUMBER.fullmatch(words[0]):
            raise Malformed(f"{name}: {line[:60]!r} does not begin with a device's number")
        yield words[0], words[1:]


def _whole(text: str, name: str) -> int:
    if not is_whole(text) or int(text) >= _LARGEST:
        raise Malformed(f"{name}: {text[:40]!r} is not a number")
    return int(text)
