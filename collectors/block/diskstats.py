"""Block device counters from `/proc/diskstats` (block/genhd.c: diskstats_show)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from sys import intern
from typing import Any

from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Host, Malformed
from sdstop.core.model import Derivation, Reading
from sdstop.readings.disk import DISKSTATS as PATH
from sdstop.readings.disk import Disk, DiskActivity, activity

BLOCK = "/sys/block"
PARTITIONS = "/proc/partitions"

_SHAPE = bytes(ord("0" if chr(c) in "0123456789" else " " if c == 32 else "x") for c in range(256))
"""Translation table: digits become `0`, spaces stay, everything else becomes `x`."""
_TOO_LONG = b"0" * 21
"""More digits than a 64-bit number has: forged, and too large to compute with."""
_LOST = 1 << 31
"""Lower bound of invalid in-flight counts; old kernels miscount and print a negative number as unsigned."""

_PARTITION = 7
"""Fields of a partition before 2.6.25."""
_BEGUN = expression(rb"^[ \t]*\d{1,10}[ \t]+\d{1,10}[ \t]+([a-zA-Z][\w!.-]{0,60})\b[^\n]*", re.MULTILINE)

_decoded = json.JSONDecoder().decode
"""Parses the numbers of all rows at once, in half the time of calling int() on each."""


def parse(data: bytes) -> Iterator[Disk]:
    """Yield the devices of /proc/diskstats in file order.

    A row of kernel 5.5 or later:

        8       0 sda 221540 30980 5535002 51223 14479 61511 2730120 8217 0 18868 60620 12525 45 934832 1148 592 31

    Fields: major, minor, name; reads completed, merged, sectors of 512 bytes, ms; the same four for writes; in flight;
    ms busy; weighted ms; since 4.18 discards completed, merged, sectors, ms; since 5.5 flushes completed, ms. Fields
    appended by later kernels are ignored. A slash in a name (`cciss/c0d0`) is an exclamation mark in sysfs.

    The kernel prints complete rows, so an incomplete row was truncated or edited: prompts, dots, half a line. Such
    lines are skipped, as is an unterminated last line with fewer fields than the row before. Raises Malformed, quoting
    the first line, if no line is a row; empty input yields no devices. Partitions of kernels before 2.6.25 (7 fields)
    are skipped because they count requests differently.
    """
    lines = data.split(b"\n")
    last = lines.pop()
    if last and len(last.split()) >= (len(lines[-1].split()) if lines else 0):
        lines.append(last)
    rows = _rows(lines)
    if not rows and data and not data.isspace():
        first = data.lstrip().split(b"\n", 1)[0]
        raise Malformed(f"{PATH}: no row of a block device: {first[:80].decode('utf-8', 'replace')!r}")
    yield from rows


_last: dict[bytes, tuple[bytes, Disk]] = {}
"""Last line and parsed row by device name; most rows of a node do not change and cost only a lookup."""
_MOST_NAMES = 16384


def _rows(lines: list[bytes]) -> list[Disk]:
    """Return the devices of all lines that are complete rows."""
    rows: list[Disk | None] = []
    fresh: list[tuple[int, bytes, list[bytes]]] = []
    for line in lines:
        parts = line.split(None, 3)
        if len(parts) == 4:
            known = _last.get(parts[2])
            if known is not None and known[0] == line:
                rows.append(known[1])
            elif parts[0].isdigit() and parts[1].isdigit() and len(parts[0]) + len(parts[1]) <= 20:
                fresh.append((len(rows), line, parts))
                rows.append(None)
    numbers = _numbers([parts[3] for _, _, parts in fresh])
    for (place, line, parts), values in zip(fresh, numbers, strict=True):
        row = None if values is None else _disk(parts, values)
        if row is not None:
            if len(_last) >= _MOST_NAMES:
                _last.clear()
            _last[parts[2]] = line, row
            rows[place] = row
    return [row for row in rows if row is not None]


def _numbers(rests: list[bytes]) -> Sequence[list[int] | None]:
    """Return the numbers after each device name, None for rows with anything but numbers."""
    if _plain(b" ".join(rests)):
        try:
            found: list[list[int]] = _decoded(f"[[{b'],['.join(rests).decode().replace(' ', ',')}]]")
        except ValueError:  # repeated spaces or leading zeros: not kernel output, but still valid
            pass
        else:
            return found if rests else []
    return [list(map(int, rest.split())) if _plain(rest.rstrip()) else None for rest in rests]


def _plain(text: bytes) -> bool:
    """Return whether the text has only spaces and numbers of at most 20 digits."""
    shape = text.translate(_SHAPE)
    return b"x" not in shape and _TOO_LONG not in shape


def _disk(parts: list[bytes], numbers: list[Any]) -> Disk | None:
    """Return the Disk for a row's major number, minor number, name and counters, None if there are too few."""
    count = len(numbers)
    if count != 17:
        if count < 11:
            return None
        numbers = (numbers[:17] if count > 17 else numbers[:15] if count > 14 else numbers[:11]) + [None] * 6
        del numbers[17:]
    if numbers[8] >= _LOST:
        numbers[8] = None
    name = intern(parts[2].decode("utf-8", "surrogateescape"))  # one string for all samples that are kept
    return Disk(name, int(parts[0]), int(parts[1]), *numbers)


def _lost(data: bytes, known: AbstractSet[str]) -> str:
    """Return the device of the first row that lacks counters, "" if all rows are complete."""
    for found in _BEGUN.finditer(data):
        name = found[1].decode("utf-8", "surrogateescape")
        if name not in known and len(found[0].split()) != _PARTITION:
            return name
    return ""


def read(host: Host) -> Iterable[Reading]:
    """Return a Disk for each row. An empty file is incomplete if sysfs or /proc/partitions show devices.

    This call only reads; rows are parsed when they are consumed, which a sampler never does.
    """
    data = host.read(PATH)
    hidden = not data.strip() and bool(host.names(BLOCK) or (host.maybe(PARTITIONS) or "").count("\n"))
    return _disks(host, data, hidden=hidden)


def _disks(host: Host, data: bytes, *, hidden: bool) -> Iterator[Disk]:
    if hidden:
        host.defect(PATH, "empty, but there are block devices")
    rows = list(parse(data))
    if data.count(b"\n") + (not data.endswith(b"\n")) > len(rows) and (
        lost := _lost(data, {row.device for row in rows})
    ):
        host.defect(PATH, f"no counters in the row of {lost}")
    yield from rows


_BUSY, _REQUESTS = 0.1, 100.0
"""Share of time and requests per second above which a device works."""


def stirs(before: bytes, now: bytes, seconds: float) -> bool:
    """Return whether a device has requests in flight, is busy or completes many, or was added or removed.

    A journal that is written every few seconds stays below these limits.
    """
    if seconds <= 0:
        return True
    old, new = before.split(b"\n"), now.split(b"\n")
    if len(old) != len(new):
        return True
    changed = [(a.split(), b.split()) for a, b in zip(old, new, strict=True) if a != b]
    try:
        return any(
            a[2] != b[2]
            or int(b[11]) != 0
            or not 0 <= int(b[12]) - int(a[12]) <= _BUSY * 1000 * seconds
            or not 0 <= int(b[3]) + int(b[7]) - int(a[3]) - int(a[7]) <= _REQUESTS * seconds
            for a, b in changed
        )
    except (IndexError, ValueError):
        return True


DISKSTATS = Collector(
    "diskstats",
    "Block device counters",
    read,
    (Disk,),
    (
        Need(PATH, "requests, bytes, times and requests in flight of every block device", everyone=True),
        Need(f"list:{BLOCK}", "whether there are block devices, if /proc/diskstats is empty"),
        Need(PARTITIONS, "whether there are block devices, if /proc/diskstats is empty"),
    ),
    LIVE,
    derives=(Derivation(Disk, DiskActivity, activity),),
    eager=True,
    stirs=stirs,
)
