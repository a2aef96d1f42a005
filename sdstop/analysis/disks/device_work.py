"""Work of a device between two samples of its counters, which may be many samples apart."""

from __future__ import annotations

from msgspec import Struct

from sdstop.core.columns import value_of
from sdstop.core.history import Moment
from sdstop.readings.disk import SECTOR, Disk

_FIELDS = ("reads", "writes", "read_time", "write_time", "read_sectors", "write_sectors", "io_time")


class DeviceWork(Struct, frozen=True):
    """Work of a device in some seconds.

    `completed` is requests a second, `wait` and `service` are the mean wait and busy time of a request in seconds,
    `size` is its mean size in bytes, and `reads` the share of reads.
    """

    seconds: float
    completed: float
    wait: float
    service: float
    size: float
    reads: float


def device_work(begin: Moment[Disk], end: Moment[Disk], name: str, fewest: float) -> DeviceWork | None:
    """Return the work of a device between two samples.

    None with less than `fewest` requests or one a second, and after a reset or wrap of a counter.
    """
    pairs = [(value_of(begin.rows, name, field), value_of(end.rows, name, field)) for field in _FIELDS]
    if any(then is None or now is None or now < then for then, now in pairs):
        return None
    reads, writes, reading, writing, read, written, busy = (now - then for then, now in pairs)
    count, seconds = reads + writes, end.started - begin.started
    if count < fewest or count < seconds:
        return None
    waited, moved = (reading + writing) / 1000, (read + written) * SECTOR
    return DeviceWork(seconds, count / seconds, waited / count, busy / 1000 / count, moved / count, reads / count)
