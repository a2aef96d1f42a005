"""Queue depths and I/O latencies of vdevs: `zpool iostat -v -l -q` (cmd/zpool/zpool_main.c)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.zfs.readings import IOSTAT, KSTATS, VdevLoad
from sdstop.collectors.zfs.zpool_status import imported
from sdstop.core.collector import SLOW, Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.host import Failed, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.text import whole

_ANSWER = 8.0
"""Seconds in which `zpool iostat` must end."""
_DIGITS = 20
"""Maximum digits of a number: 64 bits."""
_BEFORE_WAITS = 7
"""Columns before the wait times: name, allocated, free, operations and bytes of both directions."""
_WAITS = {26: 9, 29: 10, 32: 11}
"""Total columns (OpenZFS 0.7; 0.8 to 2.1; 2.2 and later) mapped to the number of wait columns; the rest are queues."""


def parse(text: str, pools: Sequence[str]) -> Iterator[VdevLoad]:
    """Yield the rows of `zpool iostat -v -H -p -l -q`, which are separated by tabs and not indented.

    The line of a pool precedes those of its vdevs.

    tank	262860800	1213511680	0	48	2402 ...

    The columns: name, allocated, free, operations and bytes per second since the import; then wait times in
    nanoseconds: total, on the disk, in the queues of synchronous and asynchronous I/O (reads and writes each), scrub,
    trim (since 0.8), rebuild (since 2.2); then the pending and active I/Os of each queue. Raises Malformed for any
    other line.
    """
    pool = ""
    left = list(pools)
    for line in text.split("\n"):
        if not line:
            continue
        name, *words = line.split("\t")
        waits = _WAITS.get(len(words) + 1)
        if waits is None:
            raise Malformed(f"no line of zpool iostat -v -H -p -l -q: {line[:120]!r}")
        numbers = [whole(word, _DIGITS) for word in words]
        if name in left or not pool:
            pool = name
            left = [other for other in left if other != name]
        took = numbers[_BEFORE_WAITS - 1 :]
        queued = took[waits:]
        depths = [_both(queued[at : at + 2]) for at in range(0, len(queued), 2)]
        rebuilds = depths[6] if len(depths) > 6 else None
        yield VdevLoad(
            pool=pool,
            vdev=name,
            read_wait=took[0],
            write_wait=took[1],
            disk_read_wait=took[2],
            disk_write_wait=took[3],
            sync_reads=depths[0],
            sync_writes=depths[1],
            async_reads=depths[2],
            async_writes=depths[3],
            scrubs=depths[4],
            rebuilds=rebuilds,
        )


def _both(pair: Sequence[int | None]) -> int | None:
    """Return the sum of pending and active I/Os, None if both are unknown."""
    known = [number for number in pair if number is not None]
    return sum(known) if known else None


def read(host: Host) -> Iterator[Reading]:
    """Yield a VdevLoad for each pool and vdev. Raises Absent if no pool is imported, Failed if `zpool iostat` fails."""
    pools = imported(host)
    output = host.run(IOSTAT, _ANSWER)
    if output.exit:
        raise Failed(command_key(IOSTAT), output.failure)
    yield from parse(output.text, pools)


ZPOOL_LOAD = Collector(
    "zpool-load",
    "Queues of ZFS vdevs",
    read,
    (VdevLoad,),
    (
        Need(f"list:{KSTATS}", "whether any pool is imported"),
        Command(IOSTAT, "queues of each vdev, and I/O latencies since the import"),
    ),
    SLOW,
    deadline=_ANSWER + 4,
)
