"""Both sides of a DRBD resource were written to apart from each other, as both nodes show."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.clusters.drbd_pairs import ALONE, GOOD, DrbdPair, DrbdSide, drbd_connections
from sdstop.collectors.drbd.readings import DrbdConnection
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.rule import Limits, NodeRule
from sdstop.core.site import APART, AT_ONCE, Site


def _check(site: Site, limits: Limits) -> Iterator[Verdict]:
    for each in drbd_connections(site, limits["apart"]):
        if isinstance(each, Unchecked):
            yield each
        elif isinstance(each, DrbdPair):
            yield _judged(each)


def _judged(pair: DrbdPair) -> Verdict:
    one, other = pair.sides
    if one.connected and other.connected:
        return RuledOut(pair.subject, f"both sides Connected: {one.row.disk} and {other.row.disk}")
    if one.connected or other.connected:
        return Unchecked(_differ(pair), pair.subject)
    if pair.diverged:
        return _finding(pair, now=pair.both_primary)
    lost = [side for side in pair.sides if side.row.disk not in GOOD]
    if lost:
        return RuledOut(pair.subject, f"data of {lost[0].node.name} {lost[0].row.disk}: not written to by itself")
    quiet = next((side for side in pair.sides if side.row.out_of_sync == 0), None)
    if quiet is not None:
        return RuledOut(pair.subject, f"nothing written on {quiet.node.name} alone: 0 B out of sync")
    return Unchecked("both sides are out of sync; which were Primary is unknown", pair.subject)


def _differ(pair: DrbdPair) -> str:
    seconds = human.duration(pair.apart)
    if pair.apart <= AT_ONCE:
        return f"one side Connected, the other not, {seconds} apart: the state is changing"
    return f"one side Connected, the other not: changed between the captures, {seconds} apart"


def _finding(pair: DrbdPair, *, now: bool) -> Finding:
    loser, winner = sorted(pair.sides, key=_changes)
    name = operands(loser.row.argument)
    amounts = ", ".join(f"{_amount(side)} on {human.safe(side.node.name, 20)}" for side in pair.sides)
    plain = " and ".join(map(_amount, pair.sides))
    return Finding(
        severity=Severity.CRITICAL,
        subject=pair.subject,
        view_subject=loser.row.resource,
        title="SPLIT BRAIN: BOTH SIDES PRIMARY" if now else "SPLIT BRAIN: BOTH SIDES WRITTEN TO",
        cause=fitting(
            f"Both sides write apart: {amounts}.",
            f"Both sides write apart: {plain}.",
        ) if now else fitting(
            f"Both sides were written to apart: {amounts}.",
            f"Both sides were written to apart: {plain}.",
        ),
        impact="Their data diverged: one side loses its changes.",
        values=(
            *(value for side in pair.sides for value in _values(side)),
            Value("apart", "time between the captures", pair.apart, "seconds"),
        ),
        evidence=cites(*(side.node.cite(side.row, field) for side in pair.sides for field in ("", "out_of_sync"))),
        advice=(*_stop(pair, now=now), *_discard(loser, winner, name)),
        refuted_by="one side that was Secondary all the time, or cs:Connected on both",
        confidence=None if pair.apart <= AT_ONCE else 0.9,
        explains=tuple(
            f"{side.node.name}:{rule}"
            for side in pair.sides
            for rule in (f"split-brain:{side.row.name}", f"cluster-degraded:{side.row.resource}")
        ),
        between=pair.nodes,
    )  # fmt: skip


def _changes(side: DrbdSide) -> tuple[bool, bool, int]:
    """Return a key by which the side with the fewer changes is first: a Secondary, then the smaller amount."""
    return side.row.role == "Primary", side.row.out_of_sync is None, side.row.out_of_sync or 0


def _amount(side: DrbdSide) -> str:
    return "unknown" if side.row.out_of_sync is None else human.quantity(side.row.out_of_sync, "bytes")


def _values(side: DrbdSide) -> Iterator[Value]:
    name, row = side.node.name, side.row
    yield Value(f"connection_{name}", f"connection of {name}", row.connection)
    yield Value(f"role_{name}", f"role of {name}", row.role)
    yield Value(f"disk_{name}", f"data of {name}", row.disk)
    yield Value(f"out_of_sync_{name}", f"out of sync on {name}", row.out_of_sync, "bytes", above=0)


def _stop(pair: DrbdPair, *, now: bool) -> Iterator[Advice]:
    yield "Choose the side whose changes are discarded; save its data first."
    if now:
        yield f"Stop the programs on one of {' and '.join(map(human.safe, pair.nodes))} at once: both accept writes."


def _discard(loser: DrbdSide, winner: DrbdSide, name: tuple[str, ...]) -> Iterator[Advice]:
    """Yield the commands that discard the changes of the side with fewer of them."""
    at, what = human.safe(loser.node.name), f"{_amount(loser)}, {loser.row.role}"
    fewer = None not in (loser.row.out_of_sync, winner.row.out_of_sync) and _changes(loser) < _changes(winner)
    yield f"To discard the changes of {at} ({'the fewer: ' * fewer}{what}), which cannot be undone, run there:"
    yield run("drbdadm", "disconnect", *name)
    yield run("drbdadm", "secondary", *name)
    yield run("drbdadm", "connect", "--discard-my-data", *name)
    if winner.row.connection == ALONE:
        yield f"Then on {human.safe(winner.node.name)}, which is StandAlone too:"
        yield run("drbdadm", "connect", *operands(winner.row.argument))
    yield f"To discard the changes of {human.safe(winner.node.name)} instead, exchange the sides."


SPLIT_BRAIN = NodeRule(
    "split-brain",
    "DRBD sides that were both written to without each other",
    Severity.CRITICAL,
    (APART,),
    damage=Damage.DATA,
    standing=False,
    view="cluster",
    check=_check,
    needs=(DrbdConnection,),
)
