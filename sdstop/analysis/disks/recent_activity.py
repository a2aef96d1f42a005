"""Recent activity of block devices: their queues, and the totals of all disks, for each run in a window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct

from sdstop.analysis.disks.drives import STACKED, kind_of
from sdstop.analysis.latest import latest_rows
from sdstop.collectors.block.readings import BlockDevice
from sdstop.core.columns import Columns, value_of, values_at
from sdstop.core.history import Moment, Window
from sdstop.core.model import Rows
from sdstop.readings.disk import DiskActivity

PAST = 60
"""Length of the recent history in seconds."""


def moments(window: Window) -> list[Moment[DiskActivity]]:
    """Return the runs whose rates are in the window."""
    return window.moments(DiskActivity)


def _queue(moment: Moment[DiskActivity], name: str) -> float | None:
    """Return a device's queue in a run, cached with that run."""
    known: dict[str, float | None] = moment.memo.setdefault("queue", {})
    if name not in known:
        known[name] = value_of(cast("Rows", moment.rows), name, "queue")
    return known[name]


def queues(window: Window, name: str) -> list[tuple[float, float, float | None]]:
    """Return (ends, seconds, queue) of a device for each run in the window."""
    return [(moment.started, moment.seconds or 0.0, _queue(moment, name)) for moment in moments(window)]


def queue_extent(window: Window, group: str, names: Sequence[str]) -> tuple[float, float]:
    """Return the largest and the mean queue of these devices over the window; `group` names the set."""
    most, total, count = 0.0, 0.0, 0
    for moment in moments(window):
        known: dict[str, tuple[float, float, int]] = moment.memo.setdefault("queue extents", {})
        extent = known.get(group)
        if extent is None:
            found = [queue for queue in _queues_of(moment, names) if queue is not None]
            extent = known[group] = max(found, default=0.0), sum(found), len(found)
        most = max(most, extent[0])
        total += extent[1]
        count += extent[2]
    return most, total / count if count else 0.0


def _queues_of(moment: Moment[DiskActivity], names: Sequence[str]) -> Sequence[float | None]:
    """Return the queues of devices in a run; those of many are picked at once, and not kept one by one."""
    rows = cast("Rows", moment.rows)
    pick = rows.pick(tuple(names)) if isinstance(rows, Columns) else None
    return [_queue(moment, name) for name in names] if pick is None else pick(cast("Columns", rows).column("queue"))


class DiskTotals(Struct, frozen=True):
    """Combined activity of all disks, per second; `read_wait` and `write_wait` are in seconds, None if unknown."""

    read_bytes: float
    write_bytes: float
    reads: float
    writes: float
    read_wait: float | None = None
    write_wait: float | None = None


def totals(window: Window) -> list[tuple[float, float, DiskTotals]]:
    """Return (ends, seconds, totals) for each run in the window, without devices built on others."""
    names = whole_names(window)
    found = []
    for moment in moments(window):
        known = moment.memo.get("totals of disks")
        if known is None:
            known = moment.memo["totals of disks"] = _total(cast("Rows", moment.rows), names)
        found.append((moment.started, moment.seconds or 0.0, known))
    return found


def whole_names(window: Window) -> tuple[str, ...]:
    """Return the names of the devices whose I/O totals include."""
    return window.once("names of whole disks", lambda: _whole_names(window))


def _whole_names(window: Window) -> tuple[str, ...]:
    """Return the names, which are kept with a run of their kinds as long as rates are of the same devices."""
    devices, _ = latest_rows(window, BlockDevice)
    rates = cast("Rows", latest_rows(window, DiskActivity)[0])
    index = rates.index if isinstance(rates, Columns) else None

    run = window.now.run_of(BlockDevice)
    known: tuple[Any, tuple[str, ...]] = (None, ()) if run is None else run.memo.get("names of whole disks", (None, ()))
    if index is None or known[0] is not index:
        known = index, tuple([name for name in map(str, rates) if kind_of(name, devices.get(name)) not in STACKED])
        if run is not None:
            run.memo["names of whole disks"] = known
    return known[1]


def _total(rows: Rows, names: tuple[str, ...]) -> DiskTotals:
    fields = (
        "read_bytes_per_second", "write_bytes_per_second", "reads_per_second", "writes_per_second", "read_wait",
        "write_wait",
    )  # fmt: skip
    pick = rows.pick(names) if isinstance(rows, Columns) else None
    if isinstance(rows, Columns) and pick is not None:
        figures: Sequence[Sequence[Any]] = [pick(rows.column(field)) for field in fields]
    else:
        figures = values_at(rows, [name for name in names if name in rows], *fields)
    read_bytes, write_bytes, reads, writes, read_waits, write_waits = figures
    return DiskTotals(
        sum(read_bytes), sum(write_bytes), sum(reads), sum(writes),
        _mean_wait(reads, read_waits), _mean_wait(writes, write_waits),
    )  # fmt: skip


def _mean_wait(rates: Sequence[float], waits: Sequence[float | None]) -> float | None:
    """Return the mean wait of all requests in seconds, from requests and wait of each disk; None without any."""
    waited = [
        (requests, wait) for requests, wait in zip(rates, waits, strict=True) if requests > 0 and wait is not None
    ]
    requests = sum(each for each, _ in waited)
    return sum(each * wait for each, wait in waited) / requests if requests else None
