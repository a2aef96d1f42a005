"""Time series of the whole session, thinned out for drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from sdstop.collectors.fabric.port_readings import SasPhyActivity
from sdstop.collectors.fabric.sas import COUNTERS
from sdstop.collectors.md.readings import Member
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.snapshot import Snapshot
from sdstop.core.text import added
from sdstop.readings.cache import CacheActivity
from sdstop.readings.disk import DiskActivity
from sdstop.readings.iosize import RequestSizes, between
from sdstop.readings.rebuild import Rebuild

MOST = 360
"""Minimum number of kept samples; at twice this number, pairs of samples are merged."""

MOST_SIZES = 200
"""Maximum request sizes kept per counter; further ones are ignored."""
DATA = frozenset({"", "read", "write"})
"""Directions of requests that carry data."""

Key = tuple[str, str, str]
"""Kind, owner and name of a series: `queue` (requests outstanding) of an array's member, `busy` of a disk, `size`
(requests a second of `COUNTER DEVICE` by bytes), a phy's error counter (errors a second), ..."""


class ReportSeries(Struct):
    """Values over time. `times` are Unix seconds; a value is None if not measured.

    `values[key]` is as long as `times`. Merged samples have the mean of both, rebuild progress the later value.
    """

    times: list[float] = field(default_factory=list)
    values: dict[Key, list[float | None]] = field(default_factory=dict)
    _seen: dict[type[Reading], float] = field(default_factory=dict)
    _sizes: dict[tuple[str, str, str], tuple[float, RequestSizes]] = field(default_factory=dict)

    def add(self, shot: Snapshot) -> None:
        """Add the values of the next frame."""
        place = len(self.times)
        self.times.append(shot.taken)
        for key, value in self._noted(shot):
            column = self.values.setdefault(key, [])
            column.extend([None] * (place - len(column)))
            if len(column) == place:
                column.append(value)
        for column in self.values.values():
            column.extend([None] * (place + 1 - len(column)))
        if len(self.times) >= 2 * MOST:
            self._halve()

    def of(self, what: str) -> dict[str, dict[str, list[float | None]]]:
        """Return all series of one kind, by owner and name."""
        found: dict[str, dict[str, list[float | None]]] = {}
        for (kind, whose, which), values in self.values.items():
            if kind == what:
                found.setdefault(whose, {})[which] = values
        return found

    def _new(self, shot: Snapshot, family: type[Reading]) -> bool:
        """Return whether a family was read since the last sample; an old row is not a new value."""
        run = shot.run_of(family)
        if run is None or self._seen.get(family) == run.started:
            return False
        self._seen[family] = run.started
        return True

    def _noted(self, shot: Snapshot) -> Iterator[tuple[Key, float | None]]:
        if self._new(shot, DiskActivity):
            active = shot.rows(DiskActivity)
            members = {(m.device, m.array) for m in shot.rows(Member).values() if m.slot is not None}
            for device, array in members:
                row = active.get(device)
                yield ("queue", array, device), row.queue if row is not None else None
            held = {device for device, _ in members}
            for row in active.values():
                key = ("busy", "", row.device)
                if row.device not in held and (row.completed_per_second > 0 or key in self.values):
                    yield key, row.busy
        for rebuild in shot.rows(Rebuild).values():
            yield ("rebuild", rebuild.array, rebuild.operation), rebuild.progress
        if self._new(shot, SasPhyActivity):
            for phy in shot.rows(SasPhyActivity).values():
                for counter in COUNTERS:
                    yield (counter, "", phy.phy), getattr(phy, f"{counter}_per_second")
        yield from self._requests(shot)
        if self._new(shot, CacheActivity):
            for cached in shot.rows(CacheActivity).values():
                for which, share in _shares(cached).items():
                    yield ("cache", cached.cache, which), share

    def _requests(self, shot: Snapshot) -> Iterator[tuple[Key, float | None]]:
        """Yield requests per second of each size since the previous sample, 0 for known sizes without requests.

        Range counters are ignored, because they do not show sizes split by blocks or frames.
        """
        run = shot.run_of(RequestSizes)
        if run is None or not self._new(shot, RequestSizes):
            return
        came: dict[str, dict[int, float]] = {}
        for row in shot.rows(RequestSizes).values():
            if row.direction not in DATA or not row.exact:
                continue
            key = (row.counter, row.device, row.direction)
            before = self._sizes.get(key)
            self._sizes[key] = (run.started, row)
            if before is None or run.started <= before[0]:
                continue
            grown = between(before[1], row)
            if grown is not None:
                total = came.setdefault(f"{row.counter} {row.device}", {})
                for size, count in grown.items():
                    total[size] = total.get(size, 0.0) + count / (run.started - before[0])
        for whose, counts in came.items():
            known = {int(which) for kind, of, which in self.values if (kind, of) == ("size", whose)}
            for size in sorted(known | counts.keys()):
                if size in known or len(known) < MOST_SIZES:
                    known.add(size)
                    yield ("size", whose, str(size)), counts.get(size, 0.0)

    def _halve(self) -> None:
        self.times = self.times[1::2]
        for key, column in self.values.items():
            last = key[0] == "rebuild"
            pairs = zip(column[::2], column[1::2], strict=False)
            self.values[key] = [_later(a, b) if last else _mean(a, b) for a, b in pairs]


def series_of(window: Window) -> ReportSeries:
    """Return the series of a window's snapshots."""
    series = ReportSeries()
    for shot in window.snapshots:
        series.add(shot)
    return series


def _shares(cached: CacheActivity) -> Mapping[str, float | None]:
    parts = {"hit": cached.hits, "miss": cached.misses, "bypass": cached.bypassed}
    known = [part for part in parts.values() if part is not None]
    total = added(known)
    return {which: part / total if part is not None and total else None for which, part in parts.items()}


def _mean(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else (a + b) / 2


def _later(a: float | None, b: float | None) -> float | None:
    return a if b is None else b
