"""Request sizes counted by the kernel for `--io-sizes`: tracefs hist triggers in sdstop's own instance.

The format is that of kernel/trace/trace_events_hist.c and tracing_map.c, Linux 4.7 to 6.18.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Denied, Host, Malformed, again
from sdstop.core.model import Reading
from sdstop.core.text import is_whole
from sdstop.readings.iosize import RequestSizes, cumulative

EVENTS = "/sys/kernel/tracing/events/block/block_rq_issue"
INSTANCE = "/sys/kernel/tracing/instances/sdstop"
COUNTERS = {"issue": "block_rq_issue", "queue": "block_bio_queue"}
DISKSTATS = "/proc/diskstats"

PACE = 2.0
"""Seconds between runs; the text has a line per size, and counts accumulate, so a slow pace loses nothing."""

_SECTOR = 512
"""Bytes."""
_UNITS = {"bytes": 1, "nr_sector": _SECTOR}
_ROW = expression(r"\{ (?P<keys>.*) \} hitcount: +(?P<count>\d{1,20})(?:\s|$)", re.ASCII)
_OURS = expression(r"\{ dev: +(\d{1,10}), (\w+): +(\d{1,15}), rwbs: (\w*) +\} hitcount: +(\d{1,20}) *", re.ASCII)
"""Row format of sdstop's own triggers; there may be thousands of rows."""
_KEY = expression(r"(\w+): +(.*?) *", re.ASCII)
_SIZE = expression(r"(?P<exact>\d{1,15})|~ 2\^(?P<power>\d{1,2})|~ \d{1,15}-(?P<end>\d{1,15})", re.ASCII)
_TOTAL = expression(r" {4}Dropped: (\d{1,20})", re.ASCII)
_DIRECTIONS = {"R": "read", "W": "write", "D": "discard"}


class Histogram(Struct, frozen=True):
    """Request counts by (major, minor), direction and size in bytes; whether sizes are exact; lost requests."""

    counts: Mapping[tuple[int, int], Mapping[str, Mapping[int, int]]]
    exact: bool = True
    lost: int | None = None


def parse(text: str) -> Histogram:
    """Parse a hist file with the keys dev, bytes or nr_sector, and optionally rwbs.

        # event histogram
        #
        # trigger info: hist:keys=dev,bytes,rwbs:vals=hitcount:sort=dev,bytes:size=8192 [active]
        #

        { dev:  266338320, bytes:       3584, rwbs: WS       } hitcount:         11
        { dev:  266338320, bytes:       4096, rwbs: RA       } hitcount:         62

        Totals:
            Hits: 73
            Entries: 2
            Dropped: 0

    dev is major << 20 | minor. A size is a number, `~ 2^12` (key.log2: at most 4096, more than 2048) or `~ 4096-4607`
    (key.buckets=512); a range is represented by its upper end. Rows that are not I/O, such as passthrough commands
    (`N`), are skipped, as is an unterminated last line, which was truncated. Raises Malformed, quoting the row, for an
    invalid row.
    """
    counts: dict[tuple[int, int], dict[str, dict[int, int]]] = {}
    exact, lost = True, None
    for line in text.split("\n")[:-1]:
        if not line.startswith("{"):
            dropped = _TOTAL.fullmatch(line.rstrip())
            lost = int(dropped[1]) if dropped is not None else lost
            continue
        device, size, whole, direction, count = _row(line)
        exact = exact and whole
        if direction is not None:
            its = counts.setdefault(device, {}).setdefault(direction, {})
            its[size] = its.get(size, 0) + count
    return Histogram(counts, exact, lost)


def _row(line: str) -> tuple[tuple[int, int], int, bool, str | None, int]:
    """Return a row's device, size in bytes, whether the size is exact, direction (None: not I/O), and count."""
    ours = _OURS.fullmatch(line)
    if ours is not None and ours[2] in _UNITS:
        dev, size = int(ours[1]), int(ours[3]) * _UNITS[ours[2]]
        return (dev >> 20, dev & 0xFFFFF), size, True, _direction(ours[4], size), int(ours[5])
    return _other_row(line)


def _other_row(line: str) -> tuple[tuple[int, int], int, bool, str | None, int]:
    """Parse a row of a trigger that sdstop did not set; the result is that of `_row`."""
    row = _ROW.match(line)
    keys = dict(pair for part in row["keys"].split(", ") if (pair := _pair(part))) if row is not None else {}
    name = next((name for name in _UNITS if name in keys), None)
    device = keys.get("dev", "")
    found = _SIZE.fullmatch(keys[name]) if name is not None else None
    if row is None or name is None or found is None or not re.fullmatch(r"[0-9]{1,10}", device):
        raise Malformed(f"no row of a histogram of sizes by device: {line[:120]!r}")
    many = int(found["exact"] or found["end"] or 1 << int(found["power"]))
    bytes_ = many * _UNITS[name]
    numbers = int(device) >> 20, int(device) & 0xFFFFF
    return numbers, bytes_, found["exact"] is not None, _direction(keys.get("rwbs"), bytes_), int(row["count"])


def _pair(part: str) -> tuple[str, str] | None:
    found = _KEY.fullmatch(part)
    return (found[1], found[2]) if found is not None else None


def _direction(rwbs: str | None, size: int) -> str | None:
    """Return the direction of a request, None if it transfers no data.

    The letters are those of blk_fill_rwbs (kernel/trace/blktrace.c): a leading `F` for a preceding flush; `R`, `W`,
    `D`, or `F` for a lone flush; then modifiers: `F` (force unit access), `A` (read ahead), `S` (sync), `M` (metadata).
    """
    if rwbs is None:
        return ""
    operation = rwbs[1:] if len(rwbs) > 1 and rwbs[0] == "F" else rwbs
    if not size or operation[:1] == "F":
        return "flush" if rwbs[:1] == "F" else None
    return _DIRECTIONS.get(operation[:1])


def names(text: str) -> dict[tuple[int, int], str]:
    """Return the kernel names in /proc/diskstats by major and minor number; invalid lines are skipped."""
    rows = (line.split(None, 3) for line in text.split("\n"))
    return {(int(r[0]), int(r[1])): r[2] for r in rows if len(r) == 4 and is_whole(r[0], 10) and is_whole(r[1], 10)}


def read(host: Host) -> Iterable[Reading]:
    """Return RequestSizes for each event, device and direction. Raises Absent if counting is not active."""
    texts = {}
    why: Absent | Denied | None = None
    for counter, event in COUNTERS.items():
        path = f"{INSTANCE}/events/block/{event}/hist"
        try:
            texts[counter, path] = host.text(path)
        except (Absent, Denied) as error:
            why = again(error)
    if not texts:
        raise _nobody_counts(host, why)
    return _rows(texts, host.text(DISKSTATS))


def _rows(texts: Mapping[tuple[str, str], str], diskstats: str) -> Iterator[Reading]:
    known = names(diskstats)
    for (counter, path), text in texts.items():
        try:
            histogram = parse(text)
        except Malformed as error:
            raise Malformed(f"{path}: {error}") from error
        exact, lost = int(histogram.exact), histogram.lost
        for (major, minor), directions in histogram.counts.items():
            device = known.get((major, minor), f"{major}:{minor}")
            needle = f"dev: {major << 20 | minor:>10},"
            for direction, counts in directions.items():
                yield RequestSizes(
                    counter=counter,
                    device=device,
                    direction=direction,
                    sizes=cumulative(counts),
                    larger=None,
                    exact=exact,
                    lost=lost,
                    where=path,
                    needle=needle,
                )


def _nobody_counts(host: Host, why: Absent | Denied | None) -> Absent:
    """Return the reason for missing counts, which is not an error: counting runs only on request."""
    if isinstance(why, Absent) and not why.recorded:
        return again(why)
    files = host.names(EVENTS)
    if files and "hist" not in files:
        return Absent(EVENTS, "kernel lacks CONFIG_HIST_TRIGGERS")
    refused = f" ({why.detail})" if isinstance(why, Denied) else ""
    return Absent(INSTANCE, f"off; --io-sizes counts request sizes (root, for a limited time){refused}")


_NEEDS: Iterable[tuple[str, str]] = (
    (f"{INSTANCE}/events/block/block_rq_issue/hist", "requests by size as devices get them, while --io-sizes counts"),
    (f"{INSTANCE}/events/block/block_bio_queue/hist", "requests by size as received, before splitting and merging"),
)

IO_SIZES = Collector(
    "io-sizes",
    "Request sizes (--io-sizes)",
    read,
    (RequestSizes,),
    (
        *(Need(what, why, "root") for what, why in _NEEDS),
        Need(f"list:{EVENTS}", "whether this kernel supports counting", "root"),
        Need(DISKSTATS, "names of devices by their numbers"),
    ),
    PACE,
    eager=True,
    option="--io-sizes",
)
