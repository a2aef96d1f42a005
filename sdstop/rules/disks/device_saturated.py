"""Devices that work at their limit, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from sdstop.analysis.disks.saturation import (
    BUSY,
    FAR,
    FEWEST,
    PART,
    READINGS,
    SaturatedDevice,
    saturated,
    suffice,
    times_its_past,
    times_its_peers,
)
from sdstop.analysis.members.peer_groups import judged_groups
from sdstop.analysis.members.peer_samples import SECONDS, recent
from sdstop.analysis.tasks import programs
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, Gap, Severity, Unchecked, Value, Verdict, cites, passed
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.core.thing import Thing
from sdstop.readings.disk import DiskActivity

_NAMED = 3
"""Users and programs named."""
_SPREAD = "Spread the load over more devices, or limit the programs behind it."
_ADVICE = {
    None: (_SPREAD,),
    True: (_SPREAD, "The device itself is as fast as its peers."),
    False: ("Find first why the device is slower than its peers.",),
}
"""Advice by whether a device is as fast as its peers; None: unknown."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    moments = recent(window, SECONDS, FEWEST)
    if not suffice(moments, limits["readings"]):
        yield Unchecked(f"collecting data: {len(moments)} of {limits['readings']:g} samples", gap=Gap.EARLY)
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
        yield from passed(names, f"not at its limit in {human.plural(len(moments), 'sample')}")


def _of_group(window: Window, name: str, upper: Thing, full: Sequence[SaturatedDevice], members: int) -> Finding:
    busiest = max(full, key=lambda each: each.queue)
    cause = (
        f"{len(full)} of {members} members are full: about {human.number(busiest.completed)} requests/s, "
        f"{human.number(busiest.queue)} waiting."
    )
    found = _finding(window, name, upper, busiest, cause, ", ".join(each.device for each in full))
    return replace(found, title="MEMBERS AT THEIR LIMIT", cost=sum(each.queue for each in full))


def _of_device(window: Window, thing: Thing | None, each: SaturatedDevice, times: float | None) -> Finding:
    cause = (
        f"Busy {human.percent(each.busy)}% of the time: {human.number(each.completed)} requests/s, "
        f"{human.number(each.queue)} waiting."
    )
    return _finding(window, each.device, thing, each, cause, None, times)


def _finding(
    window: Window,
    subject: str,
    thing: Thing | None,
    each: SaturatedDevice,
    cause: str,
    members: str | None,
    times: float | None = None,
) -> Finding:
    users = [other.label for other in window.topology.affected(thing)] if thing is not None else []
    used = human.listed(users, _NAMED, 60)
    doers = programs.programs(window)
    writer = programs.advice(window)
    row = window.get(DiskActivity, each.device)
    slower = times is not None and times >= FAR
    return Finding(
        severity=Severity.INFO,
        subject=subject,
        title=f"DEVICE AT ITS LIMIT: {human.wait(each.wait)} ms a request",
        cause=cause,
        impact=(
            f"Each request takes {human.number(times)} times as long as those of its peers."
            if times is not None and slower
            else f"Requests of {human.listed(users, limit=18)} wait {human.wait(each.wait)} ms each."
            if users
            else f"Each request takes {human.wait(each.wait)} ms."
        ),
        values=(
            Value("busy", "busy", each.busy, "ratio", above=BUSY),
            Value("queue", "requests outstanding", each.queue),
            Value("wait", "wait of a request", each.wait, "seconds"),
            Value("completed", "requests completed", each.completed, "per_second"),
            Value("times", "service time, times its peers'", times, "", above=FAR if slower else None),
            Value("members", "devices at their limit", members),
            Value("volumes", "volumes and mounts on it", used or None),
            Value("processes", "programs with most I/O", ", ".join(p.words for p in doers[:_NAMED]) or None),
        ),
        evidence=cites(
            window.cite(row) if row is not None else None,
            window.cite(doers[0].row) if doers and doers[0].row is not None else None,
        ),
        harmless_if="the device is meant for this load",
        cost=each.queue,
        advice=(
            *_ADVICE[None if times is None else times < FAR],
            run("iostat", "-x", each.device, "1"),
            *((writer,) if writer else ()),
        ),
        refuted_by="a queue as long under less load, or a wait that its peers do not have",
    )


DEVICE_SATURATED = Rule(
    "device-saturated",
    "device at its limit: busy all the time, with requests waiting",
    Severity.INFO,
    _check,
    (DiskActivity,),
    (
        Threshold("busy", BUSY, "busy time of a full device", "ratio"),
        Threshold("part", PART, "share of samples in which it is full", "ratio"),
        Threshold("together", 0.5, "share of full members that makes it a finding of the group", "ratio"),
        Threshold("readings", READINGS, "samples needed, or seconds that at least 3 samples cover"),
    ),
    covers=(),
    many="are at their limit",
    view="disks",
    advice="Spread the load over more devices, or limit the programs behind it.",
)
