"""Device mapper devices that stay suspended, so that every request to them waits."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.stalled import FOLLOWS_WAITS, GRACE, stalled_tasks
from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.devicemapper.suspended import MappedState
from sdstop.core import format as human
from sdstop.core.finding import (
    Finding,
    Gap,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.history import Window
from sdstop.core.shell import operand


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(MappedState).values():
        if not row.suspended:
            yield RuledOut(row.device, "0 in dm/suspended: it takes requests")
            continue
        seconds = _since(window, row)
        if seconds + GRACE < limits["seconds"]:
            yield Unchecked(
                f"suspended for {human.duration(seconds)}: {limits['seconds']:g} s are allowed",
                row.device,
                gap=Gap.EARLY,
            )
        else:
            yield _finding(window, row, seconds, limits)


def _since(window: Window, row: MappedState) -> float:
    """Return for how many seconds each sample shows the device suspended."""
    moments = window.moments(MappedState)
    first = moments[-1].started
    for moment in moments[::-1]:
        then = moment.rows.get(row.device)
        if then is None or not then.suspended:
            break
        first = moment.started
    return moments[-1].started - first


def _finding(window: Window, row: MappedState, seconds: float, limits: Limits) -> Finding:
    device = window.get(BlockDevice, row.device)
    mapping = device.dm_name if device is not None else None
    waiting = [each.task for each in stalled_tasks(window, limits["seconds"])]
    on_it = sum(task.device == row.device for task in waiting)
    unplaced = sum(task.device is None and task.mount is None for task in waiting)
    summary = f"suspended for {human.duration(seconds)}: every request to it waits, and is in flight nowhere"
    if on_it:
        summary += f"; {on_it} task{' waits' if on_it == 1 else 's wait'} for it"
    return Finding(
        severity=Severity.CRITICAL if on_it or unplaced else Severity.WARNING,
        subject=row.device,
        cause=summary,
        values=(
            Value("seconds", "suspended for", seconds, "seconds", above=limits["seconds"]),
            Value("mapping", "mapping", mapping),
            Value("tasks", "tasks that wait for it", on_it),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            f"dmsetup info {operand(mapping or row.device)}   # State: SUSPENDED, and whether a table is loaded",
            "ps ax | grep -E 'lvm|lvcreate|dmsetup|pvmove|multipathd'   # did the command that suspended it die?",
            f"dmsetup resume {operand(mapping or row.device)}   # once no such command runs any more",
        ),
        refuted_by=f"0 in /sys/block/{row.device}/dm/suspended",
        lasting=seconds,
    )


VOLUME_SUSPENDED = Rule(
    "volume-suspended",
    "a device mapper device stays suspended: all its requests wait",
    Severity.CRITICAL,
    _check,
    (MappedState,),
    (Threshold("seconds", 10.0, "time suspended; LVM suspends for milliseconds", "seconds"),),
    many="stay suspended",
    explains=FOLLOWS_WAITS,
)
