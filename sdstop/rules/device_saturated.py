"""Devices that work at their limit, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis import programs
from sdstop.analysis.peer_groups import judged_groups
from sdstop.analysis.peer_samples import SECONDS, recent
from sdstop.analysis.saturation import BUSY, FAR, Saturated, saturated, times_its_past, times_its_peers
from sdstop.core import format as human
from sdstop.core.finding import (
    Finding,
    Gap,
    Limits,
    Rule,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
    passed,
)
from sdstop.core.history import Window
from sdstop.core.shell import quoted
from sdstop.core.thing import Thing
from sdstop.readings.disk import DiskActivity

_NAMED = 3
_ADVICE = {
    None: "spread the load over more devices, or limit who asks for it",
    True: "spread the load over more devices, or limit who asks for it: the device itself is as fast as its peers",
    False: "find out first why the device is slower than its peers",
}
"""Advice by whether a device is as fast as its peers; None: unknown."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    moments = recent(window, SECONDS, 1)
    if len(moments) < limits["readings"]:
        yield Unchecked(f"needs {limits['readings']:g} readings, has {len(moments)}", gap=Gap.EARLY)
        return
    groups = judged_groups(window, {})
    slow = {laggard.member for judged in groups for laggard in judged.slow}
    found = {each.device: each for each in saturated(window, moments, limits["busy"], limits["part"])}
    left = {name: each for name, each in found.items() if name not in slow}
    told = 0
    for name in list(left):
        times = times_its_past(window, moments, name)
        if times is not None and times >= FAR:
            told += 1
            yield Unchecked(
                f"requests take {human.number(times)} times as long as before: slow, or at its limit",
                name,
                gap=Gap.EARLY,
            )
            del left[name]
    for judged in groups:
        upper = judged.group.upper if judged.group is not None else None
        full = [left[name] for name in judged.layout.names if name in left]
        if upper is not None and len(full) > 1 and len(full) >= limits["together"] * len(judged.layout.names):
            told += 1
            yield _of_group(window, judged.name, upper, full, len(judged.layout.names))
            for each in full:
                del left[each.device]
    peers = {name: judged.layout.names for judged in groups for name in judged.layout.names if name in left}
    for name, each in left.items():
        told += 1
        times = times_its_peers(moments, name, peers.get(name, ()))
        yield _of_device(window, window.topology.find(name), each, times)
    if not told:
        names = [str(name) for name in moments[-1].rows]
        yield from passed(names, f"not busy all the time with requests waiting ({len(moments)} readings)")


def _of_group(window: Window, name: str, upper: Thing, full: Sequence[Saturated], members: int) -> Finding:
    busiest = max(full, key=lambda each: each.queue)
    summary = (
        f"{len(full)} of {members} members work at their limit, each at about {human.number(busiest.completed)} "
        f"requests/s with up to {human.number(busiest.queue)} waiting, {human.wait(busiest.wait)} ms each"
    )
    return _finding(window, name, upper, busiest, summary, ", ".join(each.device for each in full))


def _of_device(window: Window, thing: Thing | None, each: Saturated, times: float | None) -> Finding:
    summary = (
        f"{each.device} works at its limit: {human.number(each.completed)} requests/s, "
        f"{human.number(each.queue)} waiting, {human.wait(each.wait)} ms each"
    )
    if times is not None and times >= FAR:
        summary += f"; its requests take {human.number(times)} times as long as those of its peers"
    return _finding(window, each.device, thing, each, summary, None, times)


def _finding(
    window: Window,
    subject: str,
    thing: Thing | None,
    each: Saturated,
    summary: str,
    members: str | None,
    times: float | None = None,
) -> Finding:
    users = [other.label for other in window.topology.affected(thing)] if thing is not None else []
    more = f" and {len(users) - _NAMED} more" if len(users) > _NAMED else ""
    used = ", ".join(human.safe(user, 60) for user in users[:_NAMED]) + more
    doers = programs.programs(window)
    writer = programs.advice(window)
    row = window.get(DiskActivity, each.device)
    return Finding(
        severity=Severity.INFO,
        subject=subject,
        cause=summary + (f"; for {used}" if used else "") + (f", by {doers[0].words}" if doers else ""),
        values=(
            Value("busy", "busy", each.busy, "ratio", above=BUSY),
            Value("queue", "requests outstanding", each.queue),
            Value("wait", "wait of a request", each.wait, "seconds"),
            Value("completed", "requests completed", each.completed, "per_second"),
            Value("times", "service time, as a multiple of its peers'", times, "", above=FAR),
            Value("members", "devices at their limit", members),
            Value("volumes", "volumes and mounts that use it", used or None),
            Value("processes", "processes that do the I/O", ", ".join(p.words for p in doers[:_NAMED]) or None),
        ),
        evidence=cites(
            window.cite(row) if row is not None else None,
            window.cite(doers[0].row) if doers and doers[0].row is not None else None,
        ),
        advice=(
            *((writer,) if writer else ()),
            f"iostat -x {quoted(each.device)} 1   # is this load what it is there for?",
            _ADVICE[None if times is None else times < FAR],
        ),
        refuted_by="a queue that stays as long when the load is less, or a wait that its peers do not have",
    )


DEVICE_SATURATED = Rule(
    "device-saturated",
    "a device works at its limit: busy all the time, with requests waiting, and no slower than its peers",
    Severity.INFO,
    _check,
    (DiskActivity,),
    (
        Threshold("busy", BUSY, "busy time from which a device counts as full", "ratio"),
        Threshold("part", 0.8, "share of the readings in which it must be", "ratio"),
        Threshold("together", 0.5, "share of a group's members at their limit that is told of the group", "ratio"),
        Threshold("readings", 8.0, "readings that are needed"),
    ),
    covers=(),
    many="work at their limit",
)
