"""Block device counters from `/proc/diskstats` (block/genhd.c: diskstats_show)."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from sys import intern
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.column_series import Reprint, Row
from sdstop.core.columns import Batch, packed
from sdstop.core.expression import expression
from sdstop.core.host import Host, Malformed
from sdstop.core.model import Derivation, Reading
from sdstop.readings.disk import DISKSTATS as PATH
from sdstop.readings.disk import Disk, DiskActivity
from sdstop.readings.disk_rates import DiskRates

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

_decoded = msgspec.json.Decoder(list[list[int]]).decode
_decoded_row = msgspec.json.Decoder(list[int]).decode
"""Parses the numbers of all rows at once, in a third of the time of calling int() on each."""


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
    yield from map(Disk, *parse_columns(data).values())


def parse_columns(data: bytes) -> Mapping[str, Sequence[Any]]:
    """Return the same devices as one sequence of values for each field of Disk, in its order. Raises Malformed."""
    return _parsed(data).values


def _parsed(data: bytes) -> _Text:
    lines = data.split(b"\n")
    last = lines.pop()
    if last and len(last.split()) >= (len(lines[-1].split()) if lines else 0):
        lines.append(last)
    text = _text(lines)
    if not text.values["device"] and data and not data.isspace():
        first = data.lstrip().split(b"\n", 1)[0]
        raise Malformed(f"{PATH}: no row of a block device: {first[:80].decode('utf-8', 'replace')!r}")
    return text


class _Text(NamedTuple):
    """Lines with their values by field; `heads` are the beginnings up to the name, if each line is a whole row.

    `printer` prints them from the counters, None if a line is not its head and its counters with a space between them.
    """

    lines: Sequence[bytes]
    heads: Sequence[bytes]
    values: Mapping[str, Sequence[Any]]
    printer: _Printer | None = None

    def reprint(self, data: bytes) -> Reprint | None:
        """Return what prints the data with these lines again, None if it would not be the same."""
        columns = [self.values[name] for name in _COUNTERS]
        whole = self.printer is not None and all(isinstance(column, array) for column in columns)
        return Reprint(PATH, data, columns, self.printer) if whole and self.printer and data.endswith(b"\n") else None


class _Printer(Struct, frozen=True, eq=False):
    """Prints lines from their heads and counters."""

    heads: Sequence[bytes]

    def __call__(self, columns: Row) -> bytes:
        counters = b"%d " * (len(columns) - 1) + b"%d\n"
        form = b"".join([head.replace(b"%", b"%%") + counters for head in self.heads])
        return form % tuple(chain.from_iterable(zip(*columns, strict=True)))


_NAMED = ("device", "major", "minor")
_COUNTERS = Disk.__struct_fields__[len(_NAMED) :]
_IN_FLIGHT = _COUNTERS.index("in_flight")
_last = _Text((), (), {})
"""The text parsed last: the next sample has the same devices, and many counters that did not change."""


def _text(lines: Sequence[bytes]) -> _Text:
    """Return lines with their values, and keep them for the next text."""
    global _last  # noqa: PLW0603  # one for all histories of a process
    known = _last
    if lines == known.lines:
        return known
    found = _again(lines, known) if lines and len(lines) == len(known.lines) == len(known.heads) else None
    if found is None:
        found = _anew(lines, known)
    _last = found
    return found


def _again(lines: Sequence[bytes], known: _Text) -> _Text | None:
    """Return lines of the same devices in the same order with new counters, None if they are others."""
    changed = [place for place, (new, old) in enumerate(zip(lines, known.lines, strict=True)) if new != old]
    heads = [known.heads[place] for place in changed]
    if not all(map(bytes.startswith, map(lines.__getitem__, changed), heads)):
        return None
    rests = [lines[place][len(head) :] for place, head in zip(changed, heads, strict=True)]
    columns = _columns(rests)
    plain = columns is not None
    if columns is None:
        numbers, _ = _numbers(rests)
        if any(row is None or len(row) != len(_COUNTERS) for row in numbers):
            return None
        columns = _in_columns(numbers)
    values = dict(known.values)
    for name, column in zip(_COUNTERS, columns, strict=True):
        before = known.values[name]
        whole = column
        if len(changed) < len(lines):
            mixed = list(before)
            for place, value in zip(changed, column, strict=True):
                mixed[place] = value
            whole = mixed
        values[name] = packed(whole, before)
    return _Text(lines, known.heads, values, known.printer if plain else None)


def _anew(lines: Sequence[bytes], known: _Text) -> _Text:
    """Return the values of all lines that are complete rows."""
    rows = []
    for line in lines:
        parts = line.split(None, 3)
        if len(parts) == 4 and parts[0].isdigit() and parts[1].isdigit() and len(parts[0]) + len(parts[1]) <= 20:
            rows.append((line, parts))
    numbers, plain = _numbers([parts[3] for _, parts in rows])
    whole = [(line, parts, row) for (line, parts), row in zip(rows, numbers, strict=True) if row and len(row) > 10]
    names = [intern(parts[2].decode("utf-8", "surrogateescape")) for _, parts, _ in whole]  # shared by all samples
    numbered = [[int(parts[place]) for _, parts, _ in whole] for place in (0, 1)]
    counters = _in_columns([_padded(row) for _, _, row in whole])
    columns: list[Sequence[Any]] = [names, *numbered, *counters]
    fields = zip(Disk.__struct_fields__, columns, strict=True)
    values = {name: packed(column, known.values.get(name)) for name, column in fields}
    if len(whole) < len(lines) or any(len(row) != len(_COUNTERS) for _, _, row in whole):
        return _Text(lines, (), values)
    heads = [line[: len(line) - len(parts[3])] for line, parts, _ in whole]
    return _Text(lines, heads, values, _Printer(heads) if plain and heads else None)


def _padded(numbers: list[Any]) -> list[Any]:
    """Return the counters of a row, None for those that its kernel does not have."""
    count = len(numbers)
    if count == len(_COUNTERS):
        return numbers
    kept = 17 if count > 17 else 15 if count > 14 else 11
    return (numbers[:kept] + [None] * 6)[: len(_COUNTERS)]


def _columns(rests: Sequence[bytes]) -> Sequence[Sequence[Any]] | None:
    """Return the counters of rows as this kernel prints them, by field, None if any row is another.

    All numbers are one list, and a column each seventeenth of them: a list for each row takes three times as long.
    """
    count = len(_COUNTERS)
    if not rests or not _plain(b" ".join(rests)) or {rest.count(b" ") for rest in rests} != {count - 1}:
        return None
    try:
        flat = _decoded_row(b"[%b]" % b",".join(rests).replace(b" ", b","))
    except msgspec.MsgspecError:  # repeated spaces or leading zeros
        return None
    try:
        whole: Sequence[Any] = array("I", flat)
    except OverflowError:
        whole = flat
    return _known([whole[place::count] for place in range(count)])


def _in_columns(numbers: Sequence[Sequence[Any] | None]) -> Sequence[Sequence[Any]]:
    """Return the counters of rows by field; lost counts of requests in flight are None."""
    return _known([*map(list, zip(*numbers, strict=True))] if numbers else [[] for _ in _COUNTERS])


def _known(columns: list[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    waiting = columns[_IN_FLIGHT]
    if waiting and max(waiting) >= _LOST:
        columns[_IN_FLIGHT] = [None if count >= _LOST else count for count in waiting]
    return columns


def _numbers(rests: list[bytes]) -> tuple[Sequence[list[int] | None], bool]:
    """Return the numbers after each device name, None for rows with anything but numbers.

    The second value is whether the rows are as the kernel prints them: numbers with one space between them.
    """
    if _plain(b" ".join(rests)):
        try:
            found = _decoded(b"[[%b]]" % b"],[".join(rests).replace(b" ", b","))
        except msgspec.MsgspecError:  # repeated spaces or leading zeros: not kernel output, but still valid
            pass
        else:
            return (found if rests else []), True
    return [list(map(int, rest.split())) if _plain(rest.rstrip()) else None for rest in rests], False


def _plain(text: bytes) -> bool:
    """Return whether the text has only spaces and numbers of at most 20 digits."""
    shape = text.translate(_SHAPE)
    return b"x" not in shape and _TOO_LONG not in shape


def _lost(data: bytes, known: AbstractSet[str]) -> str:
    """Return the device of the first row that lacks counters, "" if all rows are complete."""
    for found in _BEGUN.finditer(data):
        name = found[1].decode("utf-8", "surrogateescape")
        if name not in known and len(found[0].split()) != _PARTITION:
            return name
    return ""


def read(host: Host) -> Iterable[Reading]:
    """Return the columns of Disk. An empty file is incomplete if sysfs or /proc/partitions show devices.

    This call only reads; rows are parsed when they are consumed, which a sampler never does.
    """
    data = host.read(PATH)
    hidden = not data.strip() and bool(host.names(BLOCK) or (host.maybe(PARTITIONS) or "").count("\n"))
    return _disks(host, data, hidden=hidden)


def _disks(host: Host, data: bytes, *, hidden: bool) -> Iterator[Batch]:
    if hidden:
        host.defect(PATH, "empty, but there are block devices")
    text = _parsed(data)
    names = text.values["device"]
    if data.count(b"\n") + (not data.endswith(b"\n")) > len(names) and (lost := _lost(data, set(names))):
        host.defect(PATH, f"no counters in the row of {lost}")
    yield Batch(Disk, text.values, text.reprint(data))


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
    changed = ((a.split(), b.split()) for a, b in zip(old, new, strict=True) if a != b)  # the first that works suffices
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
    derives=(Derivation(Disk, DiskActivity, DiskRates),),
    eager=True,
    stirs=stirs,
)
