"""Convoys: parallel streams that queue on one stripe member together and move on together."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis import programs
from sdstop.analysis.column import thresholds
from sdstop.analysis.judged_group import JudgedGroup, is_striped
from sdstop.analysis.peer_groups import is_deep, spread_groups
from sdstop.analysis.stripe import StripePattern
from sdstop.analysis.stripe import Verdict as Spread
from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.md.readings import Array
from sdstop.core import format as human
from sdstop.core.finding import (
    Covers,
    Finding,
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
from sdstop.core.shell import quoted
from sdstop.readings.disk import DiskActivity


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for judged in spread_groups(window, limits):
        name = judged.name
        spread = judged.verdict
        if spread is None:
            yield Unchecked(judged.unchecked, name, calm=not judged.striped)
        elif spread.kind is StripePattern.CONVOY and _may_be_limited(window, judged, spread, limits["work"]):
            yield Unchecked(
                "its queue stands at one member at a time, but each does as much as ever, and none is a disk of this "
                "node: limits that their host puts on them look the same",
                name,
            )
        elif spread.kind is StripePattern.CONVOY:
            yield _convoy(window, judged, spread, limits)
        elif spread.kind is StripePattern.UNCLEAR:
            yield _unclear(window, judged, spread, limits["moving"])
        elif spread.kind is StripePattern.TOO_FEW:
            few = f"{spread.columns} stripe columns are too few to tell a convoy from chance"
            yield Unchecked(few, name, calm=True)
        elif spread.kind is StripePattern.UNEQUAL:
            yield Unchecked("its members are of unequal size, so the load cannot be even", name, calm=True)
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
        return f"too little outstanding in {spread.seconds - spread.active} of {spread.seconds} readings to crowd"
    return (
        f"{human.number(spread.busy)} of {spread.columns} columns busy with {human.number(spread.queue)} requests "
        f"outstanding ({human.number(spread.expected)} expected by chance); fullest column "
        f"{human.number(spread.top_share)} times the mean"
    )


def values(judged: JudgedGroup, spread: Spread, stays: float) -> tuple[Value, ...]:
    """Return the numbers that every verdict on a stripe compares; `stays` is the threshold for its standing."""
    return (
        Value("busy", "columns busy", spread.busy),
        Value("expected", "expected busy", spread.expected),
        Value("columns", "of columns", spread.columns),
        Value("queue", "requests outstanding", spread.queue),
        Value("deficit", "columns idle that should be busy", spread.deficit, "ratio", above=spread.deficit_limit),
        Value(
            "top_share",
            "fullest column's queue, times the mean",
            spread.top_share,
            "",
            above=spread.top_share_limit,
        ),
        Value("standing", "pattern of the crowd that stays as it is", spread.standing, "ratio", above=stays),
        Value("persistence", "seconds with the same fullest column", spread.persistence, "ratio"),
        Value("chunk", "chunk", judged.chunk, "bytes"),
    )


def _convoy(window: Window, judged: JudgedGroup, spread: Spread, limits: Limits) -> Finding:
    name = judged.name
    chunk = human.quantity(judged.chunk, "bytes") if judged.chunk else "a chunk"
    behind = programs.programs(window)
    writer = programs.advice(window)
    return Finding(
        severity=Severity.CRITICAL if is_deep(window, judged, limits) else Severity.WARNING,
        subject=name,
        cause=(
            f"the queue stands at one member at a time and moves: {human.number(spread.busy)} of {spread.columns} "
            "stripe "
            f"columns busy while {human.number(spread.queue)} requests wait"
            + (f"; {behind[0].words} behind it" if behind and behind[0].share >= _BEHIND else "")
        ),
        values=(
            *values(judged, spread, limits["moving"]),
            *(
                Value("processes", "processes that do the I/O", ", ".join(p.words for p in behind[:3]))
                for _ in behind[:1]
            ),
        ),
        evidence=cites(
            *(window.cite(row) for row in judged.rows),
            window.cite(judged.array, "chunk") if judged.array is not None else None,
            *(window.cite(row) for row in _rows(window, (judged.layout.own or name, *spread.top))),
            window.cite(behind[0].row) if behind and behind[0].row is not None else None,
        ),
        advice=(
            *((writer,) if writer else ()),
            f"look at {quoted(name)}'s heat strip: streams share one member for {chunk}, then all move on",
            "run fewer copies, clones or scans at once; random I/O on this array suffers with them",
            f"for the next array: chunks far below {chunk} (64 KiB) end the crowding, smaller arrays contain it",
            "do not expect the streams themselves to get faster by either: what recovers is the random I/O beside them",
        ),
        refuted_by="a fullest member that stays the same (hot or slow member), or an even heat strip at the same load",
        confidence=spread.crowded / spread.seconds if spread.seconds else None,
    )


def _unclear(window: Window, judged: JudgedGroup, spread: Spread, moving: float) -> Finding:
    name = judged.name
    top = "+".join(spread.top)
    return Finding(
        severity=Severity.INFO,
        subject=name,
        cause=f"the queue crowds, {human.percent(spread.persistence)} % of the time at {top}: neither clearly moving "
        "nor clearly fixed",
        values=values(judged, spread, moving),
        evidence=cites(
            *(window.cite(row) for row in judged.rows), *(window.cite(row) for row in _rows(window, spread.top))
        ),
        advice=(
            (
                f"watch {quoted(name)}'s heat strip for a minute: a steady line is a hot or slow member, a "
                "moving one a convoy"
            ),
        ),
        refuted_by="an even heat strip at the same load",
        confidence=0.5,
    )


def _rows(window: Window, names: tuple[str, ...]) -> Iterator[DiskActivity]:
    rows = (window.get(DiskActivity, name) for name in names)
    return (row for row in rows if row is not None)


_BEHIND = 0.5
"""Share of all I/O of a node's processes from which a program is named as the cause."""

STRIPE_CONVOY = Rule(
    "stripe-convoy",
    "parallel sequential streams crowd on one stripe member after the other while the rest idle",
    Severity.CRITICAL,
    _check,
    (DiskActivity,),
    (
        *thresholds("columns", "queue", "ios", "deficit", "deficit_flash", "top_share", "crowded", "moving", "fixed"),
        Threshold(
            "work",
            1.15,
            "requests of the fullest column, times the mean, up to which disks that a hypervisor or a cloud serves may "
            "only be held to a rate each",
        ),
    ),
    covers=(Covers(Array, where=is_striped),),
    explains=(
        "device-saturated",
        "rebuild-slow",
        "volume-below-promise",
    ),
)
