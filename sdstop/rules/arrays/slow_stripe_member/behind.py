"""Members of arrays and pools that take somewhat longer for each request than all of their peers, over a minute."""

from __future__ import annotations

from sdstop.analysis.members.judged_group import JudgedGroup, Laggard
from sdstop.analysis.members.lag import FULL, TIMES, Lag
from sdstop.analysis.members.replacement import advice
from sdstop.analysis.members.slow_members import device_below, neighbor_of, thing_of
from sdstop.collectors.block.readings import BlockDevice
from sdstop.core import format as human
from sdstop.core.finding import Finding, RuledOut, Severity, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.readings.disk import DiskActivity


def lagging(window: Window, judged: JudgedGroup, lag: Lag) -> Verdict:
    """Return the verdict on a member that lags; other load on its disk, or another model, explains it."""
    thing = thing_of(judged, lag.disk)
    near = neighbor_of(window, judged, thing)
    name = human.safe(lag.disk, 16)
    times = human.number(lag.times)
    if near is not None or _is_of_another_model(window, judged, lag.disk):
        why = f"whose disk also serves {human.safe(near.device, 16)}" if near is not None else "of another model"
        return RuledOut(judged.subject(lag.disk), f"{times} times the wait of its slowest peer; {name} is one {why}")
    base = device_below(window, thing)
    row = window.get(DiskActivity, lag.disk)
    peer = next((each for each in judged.layout.names if each != lag.disk), lag.disk)
    other = window.get(DiskActivity, peer)
    upper = "array" if judged.striped else "pool"
    waits = f"{human.wait(lag.seconds)} ms, {human.wait(lag.peers)} ms"
    return Finding(
        severity=Severity.WARNING if lag.is_limit else Severity.INFO,
        subject=judged.subject(lag.disk),
        title=f"MEMBER LAGS: {times}x its slowest peer",
        cause=fitting(
            f"Requests take {waits} on its slowest peer, at an equal share.", f"Requests take {waits} on its peers."
        ),
        impact=(
            f"{name} is {human.percent(lag.busy)}% busy, its peers {human.percent(lag.busiest)}%: "
            f"it limits the {upper}."
            if lag.is_limit
            else f"The {upper} can only become as fast as this member."
        ),
        values=(
            Value("wait", "wait of requests, 1 min", lag.seconds, "seconds"),
            Value("peers", "of its slowest peer", lag.peers, "seconds"),
            Value("times", "times its slowest peer's", lag.times, "", above=TIMES),
            Value("busy", "busy", lag.busy, "ratio", above=FULL if lag.is_limit else None),
            Value("busiest", "busiest peer", lag.busiest, "ratio"),
            Value("share", "requests, of its peers'", lag.share, "ratio"),
            *((Value("base", "device below", base),) if base else ()),
        ),
        evidence=cites(
            window.cite(row) if row is not None else None,
            window.cite(other) if other is not None else None,
            *(window.cite(group) for group in judged.rows),
        ),
        advice=advice(judged, Laggard(lag.disk, thing, base=base)),
        refuted_by="equal waits of all members in iostat -x 10 under the same load",
        harmless_if="the disk does a self-test or a scan of its media, which end by themselves",
        confidence=0.8,
        view_subject=lag.disk,
        cost=row.queue or 0.0 if row is not None else 0.0,
    )


def _is_of_another_model(window: Window, judged: JudgedGroup, disk: str) -> bool:
    """Return whether the disks of a group are known to be of several models, this one unlike others."""
    models = {}
    for name in judged.layout.names:
        row = window.get(BlockDevice, name)
        whole = window.get(BlockDevice, row.parent) if row is not None and row.parent is not None else row
        models[name] = whole.model if whole is not None else None
    others = {model for name, model in models.items() if name != disk}
    return models[disk] is not None and others != {models[disk]}
