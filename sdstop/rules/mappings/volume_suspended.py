"""Device mapper devices and md arrays that stay suspended, so that requests to them wait."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.tasks.stalled import FOLLOWS_WAITS, GRACE, stalled_tasks
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.readings import MappedState
from sdstop.collectors.md.readings import Array
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(MappedState).values():
        if not row.suspended:
            yield RuledOut(row.device, "not suspended: flag 0")
            continue
        seconds = _since(window, row)
        if row.told is None and seconds + GRACE < limits["seconds"]:
            yield Unchecked(
                f"suspended for {human.duration(seconds)}; below {limits['seconds']:g} s is normal",
                row.device,
                gap=_gap(seconds),
            )
        else:
            yield _finding(window, row, seconds, limits)
    for array in window.rows(Array).values():
        if array.suspended_to is not None:
            yield _of_array(window, array, limits)


def _gap(seconds: float) -> Gap:
    """Return whether the time is a sign of the fault: LVM suspends for milliseconds, not in two samples in a row."""
    return Gap.SIGNS if seconds >= _SIGN else Gap.EARLY


_SIGN = 2.0
"""Seconds of suspension that are a sign of the fault."""


def _of_array(window: Window, array: Array, limits: Limits) -> Verdict:
    """Judge the range of an array whose writes wait; mdadm moves it along with a reshape that has a backup file."""
    if not array.suspended_to:
        return RuledOut(array.array, "no range suspended: suspend_hi 0")
    if array.action == "reshape":
        return Unchecked("suspended range belongs to the running reshape", array.array, calm=True)
    moments = window.moments(Array)
    first = moments[-1].started
    for moment in moments[::-1]:
        then = moment.rows.get(array.array)
        if then is None or (then.suspended_from, then.suspended_to) != (array.suspended_from, array.suspended_to):
            break
        first = moment.started
    seconds = moments[-1].started - first
    if seconds + GRACE < limits["seconds"]:
        return Unchecked(
            f"range suspended for {human.duration(seconds)}; below {limits['seconds']:g} s is normal",
            array.array,
            gap=_gap(seconds),
        )
    return _range_finding(window, array, seconds, limits)


def _waiting_on(window: Window, device: str, seconds: float) -> tuple[int, int]:
    """Return how many tasks wait on a device, and how many in an unknown place."""
    waiting = [each.task for each in stalled_tasks(window, seconds)]
    unplaced = sum(task.device is None and task.mount is None for task in waiting)
    return sum(task.device == device for task in waiting), unplaced


def _range_finding(window: Window, array: Array, seconds: float, limits: Limits) -> Finding:
    on_it, unplaced = _waiting_on(window, array.array, limits["seconds"])
    start, end = (human.quantity(value, "bytes") for value in (array.suspended_from, array.suspended_to))
    folder = f"/sys/block/{array.array.replace('/', '!')}/md"
    return Finding(
        severity=Severity.CRITICAL if on_it or unplaced else Severity.WARNING,
        subject=array.array,
        title="RANGE SUSPENDED: writes wait",
        cause=f"Suspended from {start} to {end} for {human.duration(seconds)}, without a reshape.",
        impact=f"{human.plural(on_it, 'task')} blocked." if on_it else "Every write to this range waits.",
        values=(
            Value("seconds", "suspended for", seconds, "seconds", above=limits["seconds"]),
            Value("start", "start of the range", array.suspended_from, "bytes"),
            Value("end", "end of the range", array.suspended_to, "bytes", of=array.size),
            Value("tasks", "tasks blocked on it", on_it),
        ),
        evidence=cites(window.cite(array, "suspended_to")),
        advice=(
            "Find the mdadm that suspended the range; release it if none runs.",
            run("ps", "axo", "pid,etime,args", note="mdadm --grow").pipe("grep", "mdadm"),
            run("echo", "0", into=f"{folder}/suspend_hi", note="once no mdadm runs"),
        ),
        refuted_by=f"0 in {folder}/suspend_hi",
        lasting=seconds,
        cost=float(on_it),
    )


_TOLD = "Suspended when dmsetup ran; LVM suspends for milliseconds only."
"""Cause where a text of one moment shows it: a normal suspension is too short to be met by chance."""


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
    mapping = (device.dm_name if device is not None else None) or row.mapping
    on_it, unplaced = _waiting_on(window, row.device, limits["seconds"])
    if on_it:
        impact = f"{human.plural(on_it, 'task')} blocked."
    elif unplaced:
        impact = f"All requests to it wait; {human.plural(unplaced, 'task')} blocked in an unknown place."
    else:
        impact = "Every request to the device waits."
    known = seconds > 0 or row.told is None
    return Finding(
        severity=Severity.CRITICAL if on_it or unplaced else Severity.WARNING,
        subject=row.device,
        title="SUSPENDED: every request waits",
        cause=f"Suspended for {human.duration(seconds)}; no device below has its requests." if known else _TOLD,
        impact=impact,
        values=(
            *((Value("seconds", "suspended for", seconds, "seconds", above=limits["seconds"]),) if known else ()),
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
    "device mapper device, or range of an md array, that stays suspended",
    Severity.CRITICAL,
    _check,
    (MappedState,),
    (Threshold("seconds", 10.0, "time suspended; LVM suspends for milliseconds", "seconds"),),
    instead=(Array,),
    covers=(Covers(MappedState), Covers(Array, where=lambda row: row.suspended_to is not None)),
    many="stay suspended",
    damage=Damage.AVAILABILITY,
    view="disks",
    explains=FOLLOWS_WAITS,
    advice="Find the command that suspended it; resume if it no longer runs.",
)
