"""Stalls: devices with requests in flight that complete none, over the samples of a window."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.collectors.block.readings import BlockDevice
from sdstop.core.columns import values_beside, values_of
from sdstop.core.expression import expression
from sdstop.core.history import Moment, Window
from sdstop.readings.disk import Disk

_MEMO = "stretches without a completion"
NEVER = frozenset({"rom", "ram", "zram", "floppy"})
"""Kinds that wait for a person, or for nothing."""
_NAMES = expression(r"(ram|zram|sr|fd)\d")
_LOOP = "loop"
_PARTITION = expression(r"(.*\d)p\d+|(.*\D)\d+")


def _disk_of(name: str) -> str:
    """Return the disk of a partition by its name: `sda1` -> `sda`, `nvme0n1p1` -> `nvme0n1`; "" for other names."""
    found = _PARTITION.fullmatch(name)
    return (found[1] or found[2]) if found else ""


class Stall(Struct, frozen=True):
    """A device with requests in flight and no completions for `seconds`.

    `worked`: it completed requests earlier in this window; `whole`: the silence covers the whole window; `since` is the
    monotonic time of the first reading that shows it.
    """

    device: str
    seconds: float
    readings: int
    in_flight: int
    ticking: bool
    worked: bool
    whole: bool
    since: float


def stalls(window: Window, moments: Sequence[Moment[Disk]]) -> Iterator[Stall]:
    """Yield the devices that complete nothing in the newest sample though they have requests."""
    newest, starts = moments[-1], [moment.started for moment in moments]
    for name, stretch in _stretches(window, moments).items():
        row, first = newest.rows[name], bisect_left(starts, stretch.since)
        yield Stall(
            row.device,
            newest.started - starts[first],
            len(moments) - first,
            row.in_flight or 0,
            stretch.ticked > starts[first],
            first > 0 and _worked(moments, name, row),
            first == 0,
            starts[first],
        )


class _Stretch(Struct, frozen=True):
    """Time without a completion: its start, and when the busy time last moved (monotonic seconds)."""

    since: float
    ticked: float


def _stretches(window: Window, moments: Sequence[Moment[Disk]]) -> dict[Hashable, _Stretch]:
    """Return the silent devices of the newest moment, kept with it: the next moment continues where this one ends."""
    newest, earlier = moments[-1], moments[-2::-1]
    found: dict[Hashable, _Stretch] = newest.memo.setdefault(_MEMO, {})
    if found or not earlier:
        return found
    before: dict[Hashable, _Stretch] = earlier[0].memo.pop(_MEMO, {})  # needed only by the next moment
    for name in _silent(newest.rows, earlier[0].rows):
        row, last = newest.rows.get(name), earlier[0].rows.get(name)
        if row is None or last is None or is_exempt(window, str(name)):
            continue
        known = before.get(name)
        if known is not None and completions(last) == completions(row):
            found[name] = _Stretch(known.since, newest.started if row.io_time > last.io_time else known.ticked)
            continue
        since, ticked, later = newest.started, -math.inf, row
        for moment in earlier:
            then = moment.rows.get(name)
            if then is None or not then.in_flight or completions(then) != completions(row):
                break
            if math.isinf(ticked) and later.io_time > then.io_time:
                ticked = since
            since, later = moment.started, then
        found[name] = _Stretch(since, ticked)
    return found


def _silent(rows: Mapping[Hashable, Disk], before: Mapping[Hashable, Disk]) -> list[Hashable]:
    """Return the devices with requests in flight that completed no read and no write since the sample before."""
    done = [each for name in ("reads", "writes") for each in (values_of(rows, name), values_beside(before, rows, name))]
    found = zip(rows, values_of(rows, "in_flight"), *done, strict=True)
    return [name for name, waiting, *(reads, old_reads, writes, old_writes) in found
            if waiting and reads == old_reads and writes == old_writes]  # fmt: skip


def _worked(moments: Sequence[Moment[Disk]], name: Hashable, row: Disk) -> bool:
    first = next((then for then in (moment.rows.get(name) for moment in moments) if then is not None), row)
    return completions(first) != completions(row)


def completions(row: Disk) -> tuple[int, int, int, int]:
    """Return the completed reads, writes, discards and flushes."""
    return row.reads, row.writes, row.discards or 0, row.flushes or 0


def is_loop(window: Window, name: str) -> bool:
    """Return whether a device is a file, on a file system that may be of another node."""
    device = window.get(BlockDevice, name)
    return device.kind == _LOOP if device is not None else name.startswith(_LOOP)


def exempt(window: Window, names: Iterable[str]) -> set[str]:
    """Return those of the devices that cannot hang by themselves."""
    rows = window.rows(BlockDevice)
    known = window.of_run(BlockDevice, "exempt", lambda: {name for name, row in rows.items() if _is_exempt(row)})
    return {name for name in names if (name in known if name in rows else is_exempt(window, name))}


def is_exempt(window: Window, name: str) -> bool:
    """Return whether a device cannot hang by itself: memory, a drive, or a partition, whose disk is checked."""
    device = window.get(BlockDevice, name)
    if device is None:
        return _NAMES.match(name) is not None or window.get(Disk, _disk_of(name)) is not None
    return _is_exempt(device)


def _is_exempt(device: BlockDevice) -> bool:
    return device.kind in NEVER or (device.kind == "partition" and device.parent is not None)
