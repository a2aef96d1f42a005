"""The kernel's statistics of one block device (`/proc/diskstats`, kernel 5.5 and later)."""

from __future__ import annotations

from tests.arrays.spec import Ticks

HZ = 250
SECTOR = 512
_WRAP = 1 << 32


class Counters:
    """Counts requests as `block/blk-core.c` does; every method takes the time in seconds since boot.

    Request times, and with them the weighted time, are credited at completion. Busy time moves in jiffies, at the
    start and end of requests and when the statistics are read.
    """

    __slots__ = (
        "_jiffies", "_sampled", "_stamp", "bytes", "inflight", "ios", "merged", "time",
    )  # fmt: skip

    def __init__(self, ticks: Ticks) -> None:
        self.ios = [0, 0]
        self.merged = [0, 0]
        self.bytes = [0, 0]
        self.time = [0.0, 0.0]
        self.inflight = 0
        self._jiffies = 0
        self._stamp = 0
        self._sampled = ticks is Ticks.SAMPLED

    def begin(self, now: float) -> None:
        """Count a request that was queued."""
        jiffy = int(now * HZ)
        if jiffy > self._stamp:
            if self._sampled:
                self._jiffies += 1
            elif self.inflight:
                self._jiffies += jiffy - self._stamp
            self._stamp = jiffy
        self.inflight += 1

    def end(self, now: float, *, write: bool, size: int, waited: float) -> None:
        """Count a request that was answered `waited` seconds after it was queued."""
        jiffy = int(now * HZ)
        if jiffy > self._stamp:
            self._jiffies += jiffy - self._stamp
            self._stamp = jiffy
        self.inflight -= 1
        self.ios[write] += 1
        self.bytes[write] += size
        self.time[write] += waited

    def row(self, major: int, minor: int, name: str, now: float) -> str:
        """Return the device's line of `/proc/diskstats` (20 fields)."""
        jiffy = int(now * HZ)
        if self.inflight and jiffy > self._stamp:
            self._jiffies += jiffy - self._stamp
            self._stamp = jiffy
        read, write = (int(seconds * 1000) for seconds in self.time)
        fields = (
            self.ios[0], self.merged[0], self.bytes[0] // SECTOR, read % _WRAP,
            self.ios[1], self.merged[1], self.bytes[1] // SECTOR, write % _WRAP,
            self.inflight, self._jiffies * 1000 // HZ % _WRAP, (read + write) % _WRAP,
            0, 0, 0, 0, 0, 0,
        )  # fmt: skip
        return f"{major:4d} {minor:7d} {name} " + " ".join(map(str, fields))
