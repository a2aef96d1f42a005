"""Reasons for which a peer group cannot be judged: other work on its members, and counters that say nothing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import cast

from sdstop.analysis.members.group_columns import counted_device
from sdstop.analysis.members.peer_samples import GroupColumns
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Array
from sdstop.core.columns import values_of
from sdstop.core.history import Moment, Window
from sdstop.core.model import Rows
from sdstop.core.thing import Thing
from sdstop.readings.disk import Disk, DiskActivity
from sdstop.readings.rebuild import Rebuild

SILENT = 3
"""Consecutive samples without completions after which a member's queue counts as unknown."""


def parity_alone(array: Array | None) -> str | None:
    """Return the layout of an array of which one disk holds parity alone, None for all others."""
    layout = array.layout if array is not None else None
    return layout if layout is not None and (layout.startswith("parity-") or layout.endswith("-6")) else None


def synchronizing(window: Window, upper: Thing | None, moments: Sequence[Moment[DiskActivity]]) -> str | None:
    """Return the rebuild or check that ran at any time since the first sample, None if there was none."""
    if upper is None:
        return None
    actions = window.once(("actions", len(moments)), lambda: _actions(window, moments))  # the last ones, of all groups
    if not actions:
        return None
    return actions.get(upper.name) or actions.get(upper.label)


def _actions(window: Window, moments: Sequence[Moment[DiskActivity]]) -> dict[str, str]:
    """Return the rebuilds and checks by array or pool since the first sample, the newest of each."""
    start = min((moment.started - (moment.seconds or 0.0) for moment in moments), default=window.now.monotonic)
    found: dict[str, str] = {}
    seen: set[int] = set()
    for shot in reversed(window.snapshots):
        for family in (Array, Rebuild):
            run = shot.run_of(family)
            if run is None or id(run) in seen:
                continue
            seen.add(id(run))
            for array in shot.rows(Array).values() if family is Array else ():
                if array.action not in {"idle", "frozen", None}:
                    found.setdefault(array.array, array.action or "")
            for row in shot.rows(Rebuild).values() if family is Rebuild else ():
                if row.state == "running" and row.kind != "md":
                    found.setdefault(row.array, row.operation)
        if shot.monotonic < start:
            break
    return found


def silent_member(layout: GroupColumns, moments: Sequence[Moment[DiskActivity]]) -> str | None:
    """Return a member with outstanding requests that completed none in the last samples."""
    if not moments:
        return None
    silent = _silent(moments[-1])
    if not silent:
        return None
    before = [_silent(moment) for moment in moments[-SILENT:-1]]
    return next((name for name in layout.names if name in silent and all(name in other for other in before)), None)


def _silent(moment: Moment[DiskActivity]) -> frozenset[Hashable]:
    """Return the devices with outstanding requests that completed none in a sample, kept with it: all groups ask."""
    known = moment.brief("silent")
    if () not in known:
        rows = cast("Rows", moment.rows)
        figures = zip(rows, values_of(rows, "in_flight"), values_of(rows, "completed_per_second"), strict=True)
        known[()] = frozenset([name for name, waiting, done in figures if waiting and not done])
    silent: frozenset[Hashable] = known[()]
    return silent


NO_ROW = "has no row in /proc/diskstats"


def uncounted_member(
    window: Window, layout: GroupColumns, array: Array | None, moments: Sequence[Moment[DiskActivity]]
) -> str:
    """Return why a member's requests are unknown, "" if the kernel counts them all.

    The kernel has a row of every device: one that md has and the counters lack is gone, or was cut off. Of those that
    are switched off, only counters that never move count as missing: dm, DRBD and bcache are counted regardless of
    queue/iostats.
    """
    disks = window.rows(Disk) if array is not None else {}
    if disks and (missing := next((name for name in layout.names if name not in disks), "")):
        return f"{missing} {NO_ROW}"
    off = window.of_run(BlockDevice, ("iostats off", layout.columns), lambda: _switched_off(window, layout))
    for name in off:
        rows = (moment.rows.get(name) for moment in moments)
        if not any(row is not None and row.completed_per_second for row in rows):
            return f"no I/O statistics of {name} (queue/iostats = 0)"
    return ""


def _switched_off(window: Window, layout: GroupColumns) -> tuple[str, ...]:
    devices = ((name, counted_device(window, name)) for name in layout.names)
    return tuple(name for name, device in devices if device is not None and device.iostats_enabled == 0)
