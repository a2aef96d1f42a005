"""Devices that complete requests of one direction while those of the other wait: lost writes beside reads."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from sdstop.core.columns import value_of, values_beside, values_of
from sdstop.core.history import Moment, Window
from sdstop.readings.disk import Disk
from sdstop.rules.disks.device_hung.stall import is_exempt

_LEAST = 2
"""Requests that must be left over: the kernel can count one for an idle device."""
_CROWD = 2.0
"""Requests in flight that those of the other direction may have, as a multiple of their mean."""
_MILLI = 1000.0
"""Per second, in the kernel's milliseconds."""


class OneWay(Struct, frozen=True):
    """A device that completed no request of one direction for `seconds`, though some wait.

    `way` is the direction, "writes" or "reads"; `waiting` is the least number of requests that were in flight,
    `others` the mean number that the completed requests of the other direction account for, and `rate` their rate.
    """

    device: str
    way: str
    seconds: float
    readings: int
    waiting: int
    others: float
    rate: float


def one_way(window: Window, moments: Sequence[Moment[Disk]], seconds: float) -> Iterator[OneWay]:
    """Yield the devices that complete no request of one direction for at least `seconds`.

    By Little's law the requests that complete account for a mean number in flight, the time that they took in all
    divided by the time that passed. If always many more are in flight, these are others, and of the other direction.
    """
    newest = moments[-1]
    start = newest.started - seconds
    first = next((at for at in range(len(moments) - 1, -1, -1) if moments[at].started <= start), None)
    if first is None:
        return
    judged = moments[first:]
    for name in _stopped(newest.rows, judged[0].rows):
        row, before = newest.rows.get(name), judged[0].rows.get(name)
        if row is None or before is None or is_exempt(window, str(name)):
            continue
        for way in ("writes", "reads"):
            found = _stands(judged, before, row, way)
            if found is not None:
                yield found


def _stopped(rows: Mapping[Hashable, Disk], before: Mapping[Hashable, Disk]) -> list[Hashable]:
    """Return the devices with requests in flight that completed no read, or no write, since an earlier sample."""
    done = [each for name in ("reads", "writes") for each in (values_of(rows, name), values_beside(before, rows, name))]
    found = zip(rows, values_of(rows, "in_flight"), *done, strict=True)
    return [name for name, waiting, *(reads, old_reads, writes, old_writes) in found
            if (reads == old_reads or writes == old_writes) and (waiting or 0) >= _LEAST]  # fmt: skip


def _stands(judged: Sequence[Moment[Disk]], before: Disk, now: Disk, way: str) -> OneWay | None:
    """Return the state of a direction that completes nothing, None if it completes something."""
    done, took = (now.reads - before.reads, now.read_time - before.read_time)
    same = (now.writes, now.flushes or 0, now.discards or 0) == (
        before.writes,
        before.flushes or 0,
        before.discards or 0,
    )
    if way == "reads":
        done, took = (now.writes - before.writes, now.write_time - before.write_time)
        same = now.reads == before.reads and (now.flushes or 0, now.discards or 0) == (
            before.flushes or 0,
            before.discards or 0,
        )
    if not same or done <= 0 or took < 0 or any(now.device not in moment.rows for moment in judged):
        return None
    span = judged[-1].started - judged[0].started
    waiting = min(value_of(moment.rows, now.device, "in_flight") or 0 for moment in judged)
    others = took / _MILLI / span
    crowd = max((_mean(earlier, later, now.device, way) for earlier, later in pairwise(judged)), default=0.0)
    if waiting < _LEAST + _CROWD * max(others, crowd):
        return None
    return OneWay(now.device, way, span, len(judged), waiting, others, done / span)


def _mean(earlier: Moment[Disk], later: Moment[Disk], name: str, way: str) -> float:
    """Return the mean number of requests in flight that the completed ones of a sample account for."""
    before, after = earlier.rows[name], later.rows[name]
    took = after.read_time - before.read_time if way == "writes" else after.write_time - before.write_time
    return max(took, 0) / _MILLI / (later.started - earlier.started)
