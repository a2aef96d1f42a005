"""Devices without peers whose requests wait far longer than they did, under the same load: known from their own past.

A disk behind a network, a volume of a hypervisor, an array as a whole: no peer shows that one of them became slow, and
none needs to be busy all the time. A changed pattern of requests looks alike, so this is never more than a lead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.disks.device_work import DeviceWork, device_work
from sdstop.analysis.members.peer_groups import judged_groups
from sdstop.analysis.tasks.stalled import LOADS
from sdstop.collectors.block.readings import BlockDevice
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.columns import values_of
from sdstop.core.finding import Finding, Gap, Severity, Unchecked, Value, Verdict, cites, passed
from sdstop.core.history import Moment, Window
from sdstop.core.joins import ThingKind
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.core.thing import Thing
from sdstop.readings.disk import Disk, DiskActivity

AFTER = 10.0
"""Last seconds, which are compared."""
APART = 10.0
"""Minimum seconds between the two: no load changes at one moment."""
BEFORE = 10.0
"""Oldest seconds of the window, which they are compared with."""
LEAST = 8.0
"""Seconds that each of both must last."""
_FEWEST = 10
"""Requests that each of both must have."""
_MORE = 1.25
"""Load that explains a longer wait, as a multiple of the load before."""
_ALIKE = 1.5
"""Largest ratio between mean sizes of requests whose waits are compared."""
_ACCESS = 0.03
"""Busy seconds of a request that no random access of a working disk takes: smaller requests do not explain them."""
_LONG = 0.1
"""Wait in seconds that is long whatever it was before: a queue, or a device that has been slow for a while."""
_MIX = 0.2
"""Largest difference between shares of reads."""
_ROUGH = 2.5
"""Divisor of both thresholds for single samples."""
FEWEST = 4
"""Minimum number of samples."""
_PARTS = frozenset({"partition", "rom", "floppy", "ram", "zram"})


class Slowed(Struct, frozen=True):
    """A device that slowed, and its work before and after; `ago` is the seconds between their ends."""

    device: str
    ago: float
    before: DeviceWork
    after: DeviceWork


def _check(window: Window, limits: Limits, findings: Sequence[Finding]) -> Iterator[Verdict]:
    moments = window.moments(Disk)
    sides = _sides(moments)
    if sides is None:
        seconds = moments[-1].started - moments[0].started if moments else 0.0
        needed = LEAST + APART + AFTER
        yield Unchecked(f"collecting data: {seconds:.0f} of {needed:g} s", calm=True, gap=Gap.EARLY)
        return
    judged, even = _compared(window, sides, limits)
    slowed = {each.device: each for each in judged if _is_slower(each, limits)}
    explained = {finding.subject for finding in findings if finding.rule in LOADS}
    lowest = [each for each in slowed.values() if not _is_explained(window, each.device, {*slowed, *explained})]
    for each in lowest:
        yield _finding(window, each, limits)
    even += [each.device for each in judged if each.device not in slowed]
    ago = human.duration(sides[3].started - sides[1].started)
    slow = _steady(window, even)
    yield from passed([name for name in even if name not in slow], f"requests wait no longer than {ago} before")
    for name, wait in slow.items():
        said = f"requests wait {human.quantity(wait, 'seconds')}, as they did {ago} before"
        yield Unchecked(said, name, calm=True)
    if not judged and not even:
        yield Unchecked("no device without peers has a wait to compare", calm=True)


_Sides = tuple[Moment[Disk], Moment[Disk], Moment[Disk], Moment[Disk]]
"""Beginning and end of the time before, beginning and end of the last seconds."""


def _sides(moments: Sequence[Moment[Disk]]) -> _Sides | None:
    """Return the samples between which the work is compared, None if they do not last long enough."""
    if len(moments) < 4:
        return None
    last = moments[-1]
    begun = next(moment for moment in moments if moment.started >= last.started - AFTER - 0.5)
    latest = min(begun.started - APART, moments[0].started + BEFORE)
    until = next((moment for moment in reversed(moments) if moment.started <= latest + 0.5), None)
    if until is None or last.started - begun.started < LEAST or until.started - moments[0].started < LEAST:
        return None
    return moments[0], until, begun, last


def _compared(window: Window, sides: _Sides, limits: Limits) -> tuple[list[Slowed], list[str]]:
    """Return the devices without peers that may have slowed, with their work, and those whose last wait is not longer.

    One sample is a rough measure, but there are a thousand disks, and nearly all of them wait as long as before.
    """
    activity = window.moments(DiskActivity)
    if len(activity) < FEWEST:
        return [], []
    peers = {name for judged in judged_groups(window, {}) for name in judged.layout.names}
    newest, oldest = activity[-1].rows, activity[0].rows
    waited = dict(zip(values_of(oldest, "device"), values_of(oldest, "wait"), strict=True))
    devices = window.rows(BlockDevice)
    kinds = dict(zip(values_of(devices, "device"), values_of(devices, "kind"), strict=True))
    slower, even = [], []
    for name, wait in zip(values_of(newest, "device"), values_of(newest, "wait"), strict=True):
        if wait is None or name in peers or kinds.get(name, "partition") in _PARTS:
            continue
        if wait < limits["wait"] / _ROUGH or wait < limits["times"] / _ROUGH * (waited.get(name) or 0.0):
            even.append(name)
        else:
            before, after = (device_work(begin, end, name, _FEWEST) for begin, end in (sides[:2], sides[2:]))
            if before is not None and after is not None:
                slower.append(Slowed(name, sides[3].started - sides[1].started, before, after))
    return slower, even


def _steady(window: Window, names: Sequence[str]) -> dict[str, float]:
    """Return the devices whose requests wait so long that an equal past does not make them good, and the wait."""
    wanted, rows = set(names), window.rows(DiskActivity)
    waits = zip(values_of(rows, "device"), values_of(rows, "wait"), strict=True)
    return {name: wait for name, wait in waits if wait is not None and wait >= _LONG and name in wanted}


def _is_slower(each: Slowed, limits: Limits) -> bool:
    """Return whether requests wait far longer, under no more load and with the same kind of requests."""
    before, after = each.before, each.after
    if after.wait < limits["wait"] or after.wait < limits["times"] * before.wait:
        return False
    smaller = before.size > after.size * _ALIKE and after.service >= max(_ACCESS, limits["times"] * before.service)
    alike = smaller or max(before.size, after.size) <= min(before.size, after.size) * _ALIKE
    return after.completed <= before.completed * _MORE and alike and abs(after.reads - before.reads) <= _MIX


def _is_explained(window: Window, name: str, names: set[str]) -> bool:
    """Return whether a thing below a device slowed too, or whether a finding is about one of them."""
    thing = window.topology.find(name)
    below = window.topology.below(thing) if thing is not None else ()
    return any(other.name in names for other in below)


def _finding(window: Window, each: Slowed, limits: Limits) -> Finding:
    name, before, after = each.device, each.before, each.after
    thing, row = window.topology.find(name), window.get(DiskActivity, name)
    users = [other.label for other in window.topology.affected(thing)] if thing is not None else []
    who = f"Requests of {human.listed(users, limit=18)}" if users else "Requests to the device"
    times = after.wait / before.wait if before.wait else None
    often = f"{human.number(times)} times as long as" if times is not None else "far longer than"
    return Finding(
        severity=Severity.INFO,
        subject=name,
        title=f"DEVICE SLOWED: {human.wait(before.wait)} to {human.wait(after.wait)} ms",
        cause=f"Requests wait {often} {human.duration(each.ago)} before, under no more load.",
        impact=f"{who} wait {human.wait(after.wait)} ms each.",
        values=(
            Value("wait", "wait of a request", after.wait, "seconds", above=limits["wait"]),
            Value("wait_before", "wait before", before.wait, "seconds"),
            Value("completed", "requests completed", after.completed, "per_second"),
            Value("completed_before", "requests completed before", before.completed, "per_second"),
            Value("size", "mean size of requests", after.size, "bytes"),
        ),
        evidence=cites(window.cite(row) if row is not None else None),
        advice=tuple(_advice(window, name, thing)),
        refuted_by="another pattern of requests: random after sequential, or data that a cache no longer holds",
        cost=after.completed * after.wait,
        lasting=after.seconds,
    )


_FAR = frozenset({ThingKind.SESSION, ThingKind.TARGET, ThingKind.PEER})


def _advice(window: Window, name: str, thing: Thing | None) -> Iterator[Advice]:
    """Yield commands for the network if the device is behind one, else for what limits or delays it."""
    far = [other for other in window.topology.below(thing) if _FAR & other.kinds] if thing is not None else []
    if far:
        yield "Look for delay and loss on the way to the target, then at the target."
        yield run("ss", "-tinO", note="rtt and retrans of its connections")
    else:
        yield "Look for what changed then: a limit, a neighbor, a path, the disk."
    yield run("iostat", "-x", name, "1")
    yield run("journalctl", "-k", note="resets, timeouts, paths that changed").pipe("grep", "-w", *operands(name))


DEVICE_SLOWED = Rule(
    "device-slowed",
    "device without peers whose requests wait far longer than before, under no more load",
    Severity.INFO,
    _check,
    (Disk,),
    (
        Threshold("wait", 0.01, "wait of a request", "seconds"),
        Threshold("times", 5.0, "wait as a multiple of the wait before"),
    ),
    covers=(),
    many="slowed",
    view="disks",
    after=LOADS,
    advice="Look for what changed then: a limit, a neighbor, a path, the disk.",
)
