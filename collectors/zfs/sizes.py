"""Request size histograms of ZFS: `zpool iostat -r` (OpenZFS 0.7 to 2.3, cmd/zpool/zpool_main.c)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sdstop.collectors.zfs.readings import KSTATS
from sdstop.collectors.zfs.zpool_status import imported
from sdstop.core.collector import SLOW, Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.host import Failed, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.text import is_whole
from sdstop.readings.iosize import RequestSizes, cumulative

COMMAND = ("zpool", "iostat", "-r", "-H", "-p")

_CLASSES = ("read", "write", "read", "write", "read", "discard")
"""Direction of each column pair: sync_read, sync_write, async_read, async_write, scrub and, since 0.8, trim.

The rebuild pair of later versions mixes reads and writes and is skipped.
"""
_FEWEST = 11
"""Fewest columns of a line: the size, and two for each of five classes."""
_MOST = 33
"""Maximum columns; later versions have more classes."""
_DIGITS = 20
"""Maximum digits of a count: 64 bits."""


def parse(text: str) -> Iterator[RequestSizes]:
    """Yield the sizes per pool and direction from `zpool iostat -r -H -p`, counted since the import.

    A pool starts with an empty line and its name. Each tab-separated line has a size and the number of disk I/Os from
    that size up to the next one, per class: individual (ind) and aggregated (agg) I/Os:

        tank
        512	0	0	12	0	0	0	181	0	0	0
        1024	0	0	0	0	0	0	40	16	0	0

    A range is represented by its upper end. The last line counts I/Os of that size or larger. Raises Malformed, quoting
    the line, for a line that is neither a name nor counts.
    """
    pool: str | None = None
    rows: list[list[int]] = []
    for line in [*text.split("\n"), ""]:
        if not line:
            yield from _sizes(pool, rows)
            pool, rows = None, []
        elif pool is None:
            pool = line
        else:
            rows.append(_row(line, rows))


def _row(line: str, before: list[list[int]]) -> list[int]:
    words = line.split("\t")
    good = all(is_whole(word, _DIGITS) for word in words)
    if not good or not _FEWEST <= len(words) <= _MOST or not len(words) % 2:
        raise Malformed(f"no line of sizes and counts: {line[:120]!r}")
    row = [int(word) for word in words]
    if before and (row[0] <= before[-1][0] or len(row) != len(before[-1])):
        raise Malformed(f"a line that does not follow the one before: {line[:120]!r}")
    return row


def _sizes(pool: str | None, rows: list[list[int]]) -> Iterator[RequestSizes]:
    if pool is None:
        return
    for direction in dict.fromkeys(_CLASSES):
        columns = [
            1 + 2 * place + kind
            for place, its in enumerate(_CLASSES)
            for kind in (0, 1)
            if its == direction and rows and 2 + 2 * place < len(rows[0])
        ]
        counts = [(row[0], sum(row[column] for column in columns)) for row in rows]
        if not any(count for _, count in counts):
            continue
        ends = {after - 1: count for (_, count), (after, _) in pairwise(counts)}
        yield RequestSizes(
            counter="zpool",
            device=pool,
            direction=direction,
            sizes=cumulative(ends),
            larger=counts[-1][1],
            exact=0,
            lost=None,
            where=command_key(COMMAND),
            needle=pool,
        )


def read(host: Host) -> Iterator[Reading]:
    """Yield the RequestSizes of each pool.

    Raises Absent if no pool is imported, because running the command would load the ZFS module; Failed if it fails.
    """
    imported(host)
    output = host.run(COMMAND)
    if output.exit:
        raise Failed(command_key(COMMAND), output.failure)
    yield from parse(output.text)


ZPOOL_SIZES = Collector(
    "zpool-sizes",
    "Request sizes counted by ZFS",
    read,
    (RequestSizes,),
    (
        Need(f"list:{KSTATS}", "whether any pool is imported"),
        Command(COMMAND, "I/Os to the disks of each pool by size, since its import"),
    ),
    SLOW,
    12.0,
)
