"""Block devices' counters from `/proc/diskstats` (block/genhd.c: diskstats_show)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Host, Malformed
from sdstop.core.model import Derivation, Reading
from sdstop.readings.disk import DISKSTATS as PATH
from sdstop.readings.disk import Disk, DiskActivity, activity

_SHAPE = bytes(ord("0" if chr(c) in "0123456789" else " " if c == 32 else "x") for c in range(256))
"""Makes every digit a 0 and everything that is neither digit nor space an x."""
_TOO_LONG = b"0" * 21
"""More digits than 64 bits have: made up, and too large to calculate with."""
_LOST = 1 << 31
"""From here on requests in flight are no count: old kernels lose track and print a negative one as unsigned."""

_decoded = json.JSONDecoder().decode
"""Parses the numbers of all rows together in half of the time that int() of each takes: frames are made of rows."""


def parse(data: bytes) -> Iterator[Disk]:
    """Yield the devices of a /proc/diskstats, in its order.

    A row, of a kernel since 5.5:

        8       0 sda 221540 30980 5535002 51223 14479 61511 2730120 8217 0 18868 60620 12525 45 934832 1148 592 31

    major, minor, name; completed, merged, sectors of 512 bytes and ms of reads, the same of writes; in flight; ms
    busy; ms weighted; since 4.18 completed, merged, sectors and ms of discards; since 5.5 completed and ms of
    flushes. What a later kernel appends is ignored. A slash in a name (`cciss/c0d0`) is an exclamation mark in sysfs.

    The kernel prints whole rows, so what is no whole row was cut, or typed by hand: prompts, dots, half a line. Such
    lines are left out, and so is a last one without its end of line that has fewer fields than the row before.
    Raises Malformed, naming the first line, if no line is a row; no lines are no devices. Partitions of kernels
    before 2.6.25 (7 fields) are left out: they count requests differently.
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
"""The row that was last parsed of each name, and its line: most rows of a node do not change, and cost a look."""
_MOST_NAMES = 16384


def _rows(lines: list[bytes]) -> list[Disk]:
    """Return the devices of all lines that are whole rows."""
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
    """Return the numbers of what follows the names, None for what is not numbers."""
    if _plain(b" ".join(rests)):
        try:
            found: list[list[int]] = _decoded(f"[[{b'],['.join(rests).decode().replace(' ', ',')}]]")
        except ValueError:  # more than one space, or leading zeros: not the kernel, but not wrong
            pass
        else:
            return found if rests else []
    return [list(map(int, rest.split())) if _plain(rest.rstrip()) else None for rest in rests]


def _plain(text: bytes) -> bool:
    """Whether there are only spaces and numbers, none of which is made up."""
    shape = text.translate(_SHAPE)
    return b"x" not in shape and _TOO_LONG not in shape


def _disk(parts: list[bytes], numbers: list[Any]) -> Disk | None:
    """Return the device of a line's major and minor number and name, and of its numbers, None if they are too few."""
    count = len(numbers)
    if count != 17:
        if count < 11:
            return None
        numbers = (numbers[:17] if count > 17 else numbers[:15] if count > 14 else numbers[:11]) + [None] * 6
        del numbers[17:]
    if numbers[8] >= _LOST:
        numbers[8] = None
    return Disk(parts[2].decode("utf-8", "surrogateescape"), int(parts[0]), int(parts[1]), *numbers)


def read(host: Host) -> Iterable[Reading]:
    """Yield a Disk of each row."""
    return parse(host.read(PATH))


DISKSTATS = Collector(
    "diskstats",
    "Block devices' counters",
    read,
    (Disk,),
    (Need(PATH, "requests, bytes, times and requests in flight of every block device"),),
    LIVE,
    derives=(Derivation(Disk, DiskActivity, activity),),
    eager=True,
)
