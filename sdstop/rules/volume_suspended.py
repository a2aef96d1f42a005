"""Device mapper devices that stay suspended, so that every request to them waits."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.stalled import FOLLOWS_WAITS, GRACE, stalled_tasks
from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.devicemapper.suspended import MappedState
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import (
    Damage,
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


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(MappedState).values():
        if not row.suspended:
            yield RuledOut(row.device, "not suspended: flag 0")
            continue
        seconds = _since(window, row)
        if seconds + GRACE < limits["seconds"]:
            yield Unchecked(
                f"suspended for {human.duration(seconds)}; below {limits['seconds']:g} s is normal",
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
    if on_it:
        impact = f"Blocked on it: {human.plural(on_it, 'task')}."
    elif unplaced:
        impact = f"All requests to it wait; {human.plural(unplaced, 'task')} blocked in an unknown place."
    else:
        impact = "Every request to the device waits."
    return Finding(
        severity=Severity.CRITICAL if on_it or unplaced else Severity.WARNING,
        subject=row.device,
        title="SUSPENDED: every request waits",
        cause=f"Suspended for {human.duration(seconds)}; its requests are in flight nowhere.",
        impact=impact,
        values=(
            Value("seconds", "suspended for", seconds, "seconds", above=limits["seconds"]),
            Value("mapping", "mapping", mapping),
            Value("tasks", "tasks blocked on it", on_it),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Find the command that suspended it; resume if it no longer runs.",
            run("dmsetup", "info", *operands(mapping or row.device), note="state, and whether a table is loaded"),
            run("ps", "ax").pipe("grep", "-E", "lvm|lvcreate|dmsetup|pvmove|multipathd"),
            run("dmsetup", "resume", *operands(mapping or row.device), note="once no such command runs"),
        ),
        refuted_by=f"0 in /sys/block/{row.device}/dm/suspended",
        lasting=seconds,
        cost=float(on_it),
    )


VOLUME_SUSPENDED = Rule(
    "volume-suspended",
    "device mapper device that stays suspended: all its requests wait",
    Severity.CRITICAL,
    _check,
    (MappedState,),
    (Threshold("seconds", 10.0, "time suspended; LVM suspends for milliseconds", "seconds"),),
    many="stay suspended",
    damage=Damage.AVAILABILITY,
    view="disks",
    explains=FOLLOWS_WAITS,
    advice="Find the command that suspended it; resume if it no longer runs.",
)
