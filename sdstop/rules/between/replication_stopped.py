"""A DRBD resource whose sides are not connected, and the side that keeps them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.clusters.drbd_pairs import ALONE, DrbdOrphan, DrbdPair, DrbdSide, drbd_connections
from sdstop.collectors.drbd.readings import DrbdConnection
from sdstop.collectors.network.readings import Interface
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.rule import Limits, NodeRule
from sdstop.core.shell import phrase
from sdstop.core.site import APART, AT_ONCE, Site, SiteNode

_PORTS = frozenset({"physical", "bond", "team", "vlan"})


def _check(site: Site, limits: Limits) -> Iterator[Verdict]:
    for each in drbd_connections(site, limits["apart"]):
        if isinstance(each, Unchecked):
            yield each
        elif isinstance(each, DrbdOrphan):
            yield _down(each)
        elif each.one.connected and each.other.connected:
            yield RuledOut(each.subject, f"both sides Connected: {each.one.node.name} and {each.other.node.name}")
        elif each.one.connected or each.other.connected:
            yield Unchecked(f"one side Connected, the other not; {human.duration(each.apart)} apart", each.subject)
        elif not each.diverged:  # split-brain reports it then, with other advice
            yield _apart(each)


def _apart(pair: DrbdPair) -> Finding:
    alone = [side for side in pair.sides if side.row.connection == ALONE]
    waiting = [side for side in pair.sides if side.row.connection != ALONE]
    if len(alone) == 1:
        return _one_alone(pair, alone[0], waiting[0])
    if alone:
        return _both_alone(pair)
    return _cut(pair)


def _one_alone(pair: DrbdPair, alone: DrbdSide, waiting: DrbdSide) -> Finding:
    here, there = human.safe(alone.node.name, 20), human.safe(waiting.node.name, 20)
    return _finding(
        pair,
        title="ONE SIDE STANDALONE",
        cause=fitting(
            f"{here} is StandAlone: no reconnect; {there} waits ({waiting.row.connection}).",
            "One side is StandAlone and does not reconnect; the other waits.",
        ),
        advice=(
            f"Reconnect on {phrase(here)}, unless its kernel log shows a split brain.",
            run("journalctl", "-k", note=f"on {here}").pipe("grep", "-i", "split-brain"),
            run("drbdadm", "connect", *operands(alone.row.argument), note=f"on {here}; {there} waits already"),
        ),
        host=alone.node.name,
    )


def _both_alone(pair: DrbdPair) -> Finding:
    one, other = (human.safe(name, 20) for name in pair.nodes)
    return _finding(
        pair,
        title="BOTH SIDES STANDALONE",
        cause=fitting(f"{one} and {other} are StandAlone: neither reconnects.", "Neither side reconnects: StandAlone."),
        advice=(
            "Look for a split brain in both kernel logs; without one, reconnect.",
            run("journalctl", "-k", note=f"on {one} and {other}").pipe("grep", "-i", "split-brain"),
            run("drbdadm", "connect", *operands(pair.one.row.argument), note=f"on {one}, then on {other}"),
        ),
    )


def _cut(pair: DrbdPair) -> Finding:
    """Return the finding of two sides that both try to connect: the network between them fails."""
    dead = {side.node.name: _without_carrier(side.node) for side in pair.sides}
    blamed = [name for name, ports in dead.items() if ports]
    one, other = (human.safe(name, 20) for name in pair.nodes)
    host, evidence = "", []
    cause = fitting(f"{one} and {other} both try: no network between them.", "Both sides try: no network between them.")
    steps: list[Advice] = []
    if len(blamed) == 1:
        host = blamed[0]
        ports = dead[host]
        side = next(side for side in pair.sides if side.node.name == host)
        names, at = human.listed([port.interface for port in ports]), human.safe(host, 20)
        cause = fitting(f"Both sides try; {names} of {at} has no carrier.", "Both sides try; one has no carrier.")
        evidence = [side.node.cite(port, "carrier") for port in ports]
        steps = [
            f"Check cable and switch port of {phrase(names)} on {phrase(at)}.",
            run("ip", "-br", "link", note=f"on {at}"),
        ]
    return _finding(
        pair,
        title="NO CONNECTION: BOTH SIDES TRY",
        cause=cause,
        advice=(
            *steps,
            "Test the replication network from both nodes.",
            run("drbdadm", "dump", *operands(pair.one.row.argument), note="addresses and port of both sides"),
            run("ss", "-tn", note="connections to that port"),
        ),
        host=host,
        evidence=evidence,
    )


def _without_carrier(node: SiteNode) -> list[Interface]:
    """Return the interfaces that are meant to be up and have no carrier."""
    rows = node.window.rows(Interface).values()
    return [row for row in rows if row.kind in _PORTS and row.up and row.carrier is False]


def _down(orphan: DrbdOrphan) -> Verdict:
    """Return the verdict on a side whose peer was captured and has no such resource."""
    side, here = orphan.side, human.safe(orphan.peer.name, 20)
    if side.connected:
        return Unchecked(
            f"{side.node.name} is Connected, but {orphan.peer.name} shows no such resource", orphan.subject
        )
    return Finding(
        severity=Severity.CRITICAL,
        subject=orphan.subject,
        view_subject=side.row.resource,
        title="RESOURCE DOWN ON THE PEER",
        cause=fitting(
            f"{here} has no such resource; {human.safe(side.node.name, 20)} is {side.row.connection}.",
            "The peer has no such resource: it is not up there.",
        ),
        impact="One copy is reachable; another failure makes the data unavailable.",
        values=tuple(_values(side)),
        evidence=cites(side.node.cite(side.row)),
        advice=(
            f"Start the resource on {phrase(here)}.",
            run("drbdadm", "up", *operands(side.row.argument), note=f"on {here}"),
            run("drbdadm", "status", note=f"on {here}"),
        ),
        refuted_by="the resource in drbdadm status of the peer",
        harmless_if="the peer was taken out on purpose",
        explains=(f"{side.node.name}:cluster-degraded:{side.row.resource}",),
        host=orphan.peer.name,
        between=(side.node.name, orphan.peer.name),
    )


def _values(side: DrbdSide) -> Iterator[Value]:
    name, row = side.node.name, side.row
    yield Value(f"connection_{name}", f"connection of {name}", row.connection)
    yield Value(f"role_{name}", f"role of {name}", row.role)
    yield Value(f"disk_{name}", f"data of {name}", row.disk)
    yield Value(f"out_of_sync_{name}", f"out of sync on {name}", row.out_of_sync, "bytes")


def _finding(
    pair: DrbdPair, title: str, cause: str, advice: tuple[Advice, ...], host: str = "", evidence: Sequence[object] = ()
) -> Finding:
    return Finding(
        severity=Severity.CRITICAL,
        subject=pair.subject,
        view_subject=pair.one.row.resource,
        title=title,
        cause=cause,
        impact="Writes reach one copy only; another failure can lose them.",
        values=(
            *(value for side in pair.sides for value in _values(side)),
            Value("apart", "time between the captures", pair.apart, "seconds"),
        ),
        evidence=cites(*(side.node.cite(side.row) for side in pair.sides), *evidence),  # type: ignore[arg-type]
        advice=advice,
        refuted_by="cs:Connected on both nodes",
        harmless_if="the resource was disconnected on purpose",
        confidence=None if pair.apart <= AT_ONCE else 0.9,
        explains=tuple(f"{side.node.name}:cluster-degraded:{side.row.resource}" for side in pair.sides),
        host=host,
        between=pair.nodes,
    )


REPLICATION_STOPPED = NodeRule(
    "replication-stopped",
    "DRBD sides that are not connected, with the side that keeps them apart",
    Severity.CRITICAL,
    (APART,),
    damage=Damage.REDUNDANCY,
    standing=False,
    view="cluster",
    check=_check,
    needs=(DrbdConnection,),
)
