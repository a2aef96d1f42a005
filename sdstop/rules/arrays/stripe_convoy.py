"""Convoys: parallel streams that queue on one stripe member together and move on together."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.members import stripe
from sdstop.analysis.members.column import thresholds
from sdstop.analysis.members.judged_group import JudgedGroup, is_striped
from sdstop.analysis.members.peer_groups import is_deep, spread_groups
from sdstop.analysis.members.stripe import StripePattern
from sdstop.analysis.members.stripe import Verdict as Spread
from sdstop.analysis.tasks import programs
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Array
from sdstop.core import format as human
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.readings.disk import DiskActivity


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for judged in spread_groups(window, limits):
        name = judged.name
        spread = judged.verdict
        if spread is None:
            yield Unchecked(judged.unchecked, name, calm=not judged.striped)
        elif spread.kind is StripePattern.CONVOY and _may_be_limited(window, judged, spread, limits["work"]):
            yield Unchecked(
                "one virtual disk queues at a time; perhaps host limits",
                name,
            )
        elif spread.kind is StripePattern.CONVOY:
            yield _convoy(window, judged, spread, limits)
        elif spread.kind is StripePattern.UNCLEAR:
            yield _unclear(window, judged, spread, limits["moving"])
        elif spread.kind is StripePattern.TOO_FEW:
            few = f"too few stripe columns ({spread.columns}) to distinguish a convoy from chance"
            yield Unchecked(few, name, calm=True)
        elif spread.kind is StripePattern.UNEQUAL:
            yield Unchecked("members differ in size; load cannot be even", name, calm=True)
        else:
            yield RuledOut(name, _good(spread))


def _may_be_limited(window: Window, judged: JudgedGroup, spread: Spread, work: float) -> bool:
    """Return whether an apparent crowd may be members that their host limits to a rate, one after the other.

    A host that grants requests in advance (a token bucket) responds immediately until they are used up; then all
    requests queue on that member, although the load is even and no member could do more.
    """
    if spread.work is None or spread.work >= work:
        return False
    members = [window.get(BlockDevice, name) for column in judged.columns for name in column]
    return all(member is not None and member.hosted for member in members)


def _good(spread: Spread) -> str:
    if spread.kind is StripePattern.IDLE or spread.queue is None or spread.expected is None or spread.busy is None:
        return f"queue too short in {spread.seconds - spread.active} of {spread.seconds} samples"
    return (
        f"{human.number(spread.busy)} of {spread.columns} columns busy with {human.number(spread.queue)} requests "
        f"outstanding ({human.number(spread.expected)} expected by chance); longest queue "
        f"{human.number(spread.top_share)} times the mean"
    )


def values(
    judged: JudgedGroup, spread: Spread, *, above: float | None = None, below: float | None = None
) -> tuple[Value, ...]:
    """Return the numbers that every verdict on a stripe compares; its standing is above or below a threshold."""
    return (
        Value("busy", "columns busy", spread.busy, of=spread.columns),
        Value("expected", "columns busy by chance", spread.expected),
        Value("columns", "columns", spread.columns),
        Value("queue", "requests outstanding", spread.queue),
        Value("deficit", "idle columns expected busy", spread.deficit, "ratio", above=spread.deficit_limit),
        Value("top_share", "longest queue, times the mean", spread.top_share, "", above=spread.top_share_limit),
        Value("standing", "unchanged queue pattern", spread.standing, "ratio", above=above, below=below),
        Value("persistence", "time with the same longest queue", spread.persistence, "ratio"),
        Value("chunk", "chunk", judged.chunk, "bytes"),
    )


def _convoy(window: Window, judged: JudgedGroup, spread: Spread, limits: Limits) -> Finding:
    name = judged.name
    chunk = human.quantity(judged.chunk, "bytes") if judged.chunk else "a chunk"
    behind = programs.programs(window)
    fewer = "Run fewer copies, clones or scans at once"
    waits = stripe.waits(judged.seconds)
    return Finding(
        severity=Severity.CRITICAL if is_deep(window, judged, limits) else Severity.WARNING,
        subject=name,
        title="CONVOY: queue moving between members",
        cause=(
            f"{human.number(spread.busy)} of {spread.columns} columns busy while {human.number(spread.queue)} requests "
            "wait; the hot one moves."
        ),
        impact=(
            f"Requests take {human.wait(waits[0])} ms on the hot column, {human.wait(waits[1])} ms on the others."
            if waits is not None
            else "Requests wait on the hot column while the others idle."
        ),
        values=(
            *values(judged, spread, below=limits["moving"]),
            *(Value("processes", "programs with most I/O", ", ".join(p.words for p in behind[:3])) for _ in behind[:1]),
        ),
        evidence=cites(
            *(window.cite(row) for row in judged.rows),
            window.cite(judged.array, "chunk") if judged.array is not None else None,
            *(window.cite(row) for row in _rows(window, (judged.layout.own or name, *spread.top))),
            window.cite(behind[0].row) if behind and behind[0].row is not None else None,
        ),
        advice=(
            f"{fewer}: {behind[0].phrase}." if behind and behind[0].share >= _BEHIND else f"{fewer}.",
            f"For the next array: chunks far below {chunk} (64 KiB), or smaller arrays.",
            "Neither makes the streams faster; random I/O beside them recovers.",
        ),
        refuted_by="a longest queue that stays on one member, or an even heat strip under the same load",
        confidence=spread.crowded / spread.seconds if spread.seconds else None,
        cost=spread.queue or 0.0,
    )


def _unclear(window: Window, judged: JudgedGroup, spread: Spread, moving: float) -> Finding:
    name = judged.name
    top = "+".join(spread.top)
    return Finding(
        severity=Severity.INFO,
        subject=name,
        title="UNEVEN QUEUE: hot, slow or convoy",
        cause=(
            f"The queue is on {human.safe(top, 20)} {human.percent(spread.persistence)}% of the time: "
            "neither moving nor fixed."
        ),
        impact="Requests can wait on one member while the others idle.",
        values=values(judged, spread, above=moving),
        evidence=cites(
            *(window.cite(row) for row in judged.rows), *(window.cite(row) for row in _rows(window, spread.top))
        ),
        advice=("Watch the heat strip for a minute: a steady line is a hot or slow member.",),
        refuted_by="an even heat strip under the same load",
        confidence=0.5,
        cost=spread.queue or 0.0,
    )


def _rows(window: Window, names: tuple[str, ...]) -> Iterator[DiskActivity]:
    rows = (window.get(DiskActivity, name) for name in names)
    return (row for row in rows if row is not None)


_BEHIND = 0.5
"""Share of all I/O of a node's processes from which a program is named as the cause."""

STRIPE_CONVOY = Rule(
    "stripe-convoy",
    "parallel streams that queue on one stripe member after another",
    Severity.CRITICAL,
    _check,
    (DiskActivity,),
    (
        *thresholds("columns", "queue", "ios", "deficit", "deficit_flash", "top_share", "crowded", "moving", "fixed"),
        Threshold(
            "work",
            1.15,
            "requests of the fullest column, times the mean, below which virtual disks may be rate-limited",
        ),
    ),
    covers=(Covers(Array, where=is_striped),),
    view="disks",
    explains=(
        "device-saturated",
        "rebuild-slow",
        "volume-below-promise",
        "nfs-server-busy",
    ),
    advice="Run fewer copies, clones or scans at once.",
)
