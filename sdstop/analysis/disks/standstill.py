"""Standstills: seconds in which a device completes nothing while requests wait, counted over a minute.

A disk that retries a sector, or whose firmware collects garbage, answers as fast as its peers between two standstills;
medians over seconds do not show it. Each second is known from the kernel's counters: nothing completed, and requests
were in flight at both ends.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import compress, pairwise

from msgspec import Struct
from msgspec.structs import replace

from sdstop.analysis.hysteresis import is_above
from sdstop.core.averages import median
from sdstop.core.columns import values_of
from sdstop.core.history import Moment, Window
from sdstop.readings.disk import DiskActivity

SECONDS = 60.0
"""Span over which standstills are counted."""
LEAST = 5.0
"""Seconds within that span that a device must be stalled."""
EPISODES = 2
"""Separate standstills that are needed: a single one is a disk that spins up, or a reset."""
OFTEN = 4.0
"""The device is stalled this many times as long as the median of its peers."""
WAITED = 0.5
"""Share of a standstill that the requests after it must have waited in all: a request that the kernel lost is counted
as in flight permanently, and nothing waits with it."""


CRITICAL = 0.2
"""Share of the time that makes it critical."""


class Standstill(Struct, frozen=True):
    """Standstills of a device: start and end of each (monotonic seconds), and the longest wait after one, in seconds.

    `seconds` is their sum within the last minute, of which `of` seconds were sampled.
    """

    device: str
    spans: tuple[tuple[float, float], ...]
    wait: float
    seconds: float
    of: float


def standstills(window: Window) -> Mapping[str, Standstill]:
    """Return the standstills of the last minute by device; devices without one are not included."""
    return window.once("standstills", lambda: _found(window))


def worst(window: Window, names: Collection[str]) -> Standstill | None:
    """Return the standstill of the one device among peers that is held up by itself; None if there is none."""
    known = standstills(window)
    if not known:
        return None
    found = [known[name] for name in names if name in known]
    most = max(found, key=lambda one: one.seconds, default=None)
    if most is None or most.seconds < LEAST or len(most.spans) < EPISODES or len(names) < 2:
        return None
    peers = [known[name].seconds if name in known else 0.0 for name in names if name != most.device]
    return most if most.seconds >= OFTEN * median(peers) else None


def is_critical(window: Window, still: Standstill) -> bool:
    """Return whether a device is stalled too often for the group to work, with hysteresis."""
    now = window.now.monotonic

    def earlier() -> Iterator[float | None]:
        return (_within(still.spans, now - back) / still.of for back in range(1, int(SECONDS)))

    return is_above(still.seconds / still.of, CRITICAL, earlier)


def _within(spans: Sequence[tuple[float, float]], end: float) -> float:
    """Return the seconds of spans within the minute before `end`."""
    start = end - SECONDS
    return math.fsum(max(0.0, min(stop, end) - max(begin, start)) for begin, stop in spans)


def _found(window: Window) -> dict[str, Standstill]:
    moments = window.moments(DiskActivity)
    spans: dict[str, list[tuple[float, float]]] = {}
    waits: dict[str, float] = {}
    since: dict[str, float] = {}
    still = _NONE
    for before, moment in pairwise(moments):
        sample = _sample(moment, before).following(still)
        still = sample.still
        since.update(dict.fromkeys(sample.begun, before.started))
        for name in sample.ended:
            began, after = since.pop(name), _after(moment, name)
            if after is not None and after[0] >= WAITED * (before.started - began):
                spans.setdefault(name, []).append((began, before.started))
                waits[name] = max(waits.get(name, 0.0), after[1])
    if not spans:
        return {}
    for name in since.keys() & spans.keys():  # stalled now
        spans[name].append((since[name], moments[-1].started))
    end = moments[-1].started
    of = min(SECONDS, end - moments[0].started)
    made = (Standstill(name, tuple(known), waits[name], _within(known, end), of) for name, known in spans.items())
    return {one.device: one for one in made}


def _after(moment: Moment[DiskActivity], name: str) -> tuple[float, float] | None:
    """Return the seconds that requests of a device waited, and its longest mean wait, in the sample after a standstill.

    Kept with the sample, because sixty windows ask for them, and rows of old samples are made each time.
    """
    kept: dict[str, tuple[float, float] | None] = moment.memo.setdefault("after standstills", {})
    if name not in kept:
        row = moment.rows.get(name)
        waited = (row.queue or 0.0) * (moment.seconds or 0.0) if row is not None else 0.0
        kept[name] = None if row is None else (waited, max(row.read_wait or 0.0, row.write_wait or 0.0))
    return kept[name]


class _Devices(Struct, frozen=True):
    """Some of the devices of a sample, each as a byte that is 1; `names` are all, which successive samples share.

    A set of 1000 names takes 0.13 MB, and each sample of a minute has two.
    """

    names: Sequence[str]
    marks: int

    @classmethod
    def where(cls, moment: Moment[DiskActivity], marks: Iterable[object], like: _Devices | None = None) -> _Devices:
        """Return the devices of a sample whose mark is true."""
        names = values_of(moment.rows, "device")
        shared = like.names if like is not None and like.names == names else names
        return cls(shared, int.from_bytes(bytes(map(bool, marks)), "little"))

    def of(self, names: Sequence[str]) -> int:
        """Return the marks of these devices in the order of others, without those that are not among them."""
        if self.names is names:
            return self.marks
        some = frozenset(self) if self.marks else ()
        return int.from_bytes(bytes([name in some for name in names]), "little")

    def __iter__(self) -> Iterator[str]:
        return compress(self.names, self.marks.to_bytes(len(self.names), "little"))


_NONE = _Devices((), 0)


class _Sample(Struct, frozen=True):
    """Devices with requests in flight at the end of a sample, and those of them that were stalled during it.

    `begun` and `ended` are the differences to the devices that were stalled in the sample before, `earlier`.
    """

    waiting: _Devices
    still: _Devices
    earlier: _Devices
    begun: tuple[str, ...]
    ended: tuple[str, ...]

    def following(self, earlier: _Devices) -> _Sample:
        """Return the sample as the one after a sample in which these devices were stalled."""
        if earlier is self.earlier:
            return self
        names, still = self.still.names, self.still.marks
        before = earlier.of(names)
        begun = tuple(_Devices(names, still & ~before))
        if earlier.names is names:
            ended = tuple(_Devices(names, before & ~still))
        else:
            now = frozenset(self.still)
            ended = tuple([name for name in earlier if name not in now])
        return replace(self, earlier=earlier, begun=begun, ended=ended)


def _sample(moment: Moment[DiskActivity], before: Moment[DiskActivity]) -> _Sample:
    """Return the sample of a moment, kept with it: only the newest moment is not in the window before."""
    known: _Sample | None = moment.memo.get("standstill")
    if known is None:
        earlier: _Sample | None = before.memo.get("standstill")
        waited = earlier.waiting if earlier is not None else _in_flight(before, None)
        now = _in_flight(moment, waited)
        idle = _Devices.where(moment, map(operator.not_, values_of(moment.rows, "completed_per_second")), now)
        still = _Devices(now.names, waited.of(now.names) & now.marks & idle.marks)
        known = _Sample(now, still, still, (), ()).following(earlier.still if earlier is not None else _NONE)
        moment.memo["standstill"] = known
    return known


def _in_flight(moment: Moment[DiskActivity], like: _Devices | None) -> _Devices:
    return _Devices.where(moment, values_of(moment.rows, "in_flight"), like)
