"""Client links that are saturated by too many simultaneous clients, with the remaining rate per client."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.collectors.network.peer_readings import StorageClient, StorageClientActivity
from sdstop.collectors.network.readings import Interface, InterfaceActivity
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.core.text import added

_GIB = float(1 << 30)


class _Direction(Struct, frozen=True):
    """One direction of a link: traffic by client address, and the rest."""

    word: str
    clients: dict[str, float]
    line: float

    def heavy(self, capacity: float) -> dict[str, float]:
        """Return the clients that move at least half of an even share; others do not contribute to the contention."""
        even = capacity / len(self.clients)
        return {name: rate for name, rate in self.clients.items() if rate >= even / 2}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    by_interface: dict[str, list[StorageClient]] = {}
    lost = 0
    for row in window.rows(StorageClient).values():
        if row.interface is None:
            lost += 1
        else:
            by_interface.setdefault(row.interface, []).append(row)
    if lost:
        yield Unchecked(f"interface unknown for {human.plural(lost, 'client')}")
    for name, rows in sorted(by_interface.items()):
        if len({row.client for row in rows}) < limits["clients"]:
            yield Unchecked(f"fewer than {limits['clients']:g} clients", name, calm=True)
            continue
        speed = _speed(window, name)
        if speed is None:
            yield Unchecked("link speed unknown", name)
        else:
            yield from _judge(window, name, rows, speed, limits)


def _speed(window: Window, name: str) -> float | None:
    """Return the bytes per second of a link: for a bond the sum of its active slaves, for a VLAN its parent's speed."""
    row = window.get(Interface, name)
    if row is None:
        return None
    if row.kind == "vlan" and row.parent is not None and row.parent != name:
        below = window.get(Interface, row.parent)
        return None if below is None or below.kind == "vlan" else _speed(window, row.parent)
    if row.kind == "bond":
        slaves = [other for other in window.where(Interface, "master", name) if other.active]
        speeds = [slave.speed for slave in slaves]
        return float(sum(speed or 0 for speed in speeds)) if speeds and None not in speeds else None
    return None if row.speed is None else float(row.speed)


def _judge(window: Window, name: str, rows: list[StorageClient], speed: float, limits: Limits) -> Iterator[Verdict]:
    capacity = speed * limits["usable"]
    moments = window.moments(InterfaceActivity)[-int(limits["readings"]) :]
    lines = [found for moment in moments if (found := moment.rows.get(name)) is not None]
    known = [(row, window.get(StorageClientActivity, (row.client, row.service, row.address))) for row in rows]
    if len(lines) < limits["readings"] or not any(moved for _, moved in known):
        yield Unchecked("collecting data: client rates need two samples", name, gap=Gap.EARLY)
        return
    sides = []
    for word, field, line in (
        ("reading", "sent_per_second", min(found.tx_bytes_per_second for found in lines)),
        ("writing", "received_per_second", min(found.rx_bytes_per_second for found in lines)),
    ):
        clients: dict[str, float] = {}
        for row, moved in known:
            clients[row.client] = clients.get(row.client, 0.0) + (getattr(moved, field) if moved is not None else 0.0)
        sides.append(_Direction(word, clients, line))
    full = [side for side in sides if side.line > limits["full"] * speed and len(side.heavy(capacity)) > 1]
    if full:
        yield from (_finding(window, name, side, speed, capacity, rows) for side in full[:1])
        return
    most = max(side.line for side in sides)
    count = len(sides[0].clients)
    yield RuledOut(
        name,
        f"{count} clients, {human.percent(most / speed)}% of {human.quantity(speed, 'bytes_per_second')} in use; "
        f"all at once would get {human.quantity(capacity / count, 'bytes_per_second')} each",
    )


def _finding(
    window: Window, name: str, side: _Direction, speed: float, capacity: float, rows: list[StorageClient]
) -> Finding:
    heavy = side.heavy(capacity)
    light = added(rate for client, rate in side.clients.items() if client not in heavy)
    each = max(0.0, capacity - light) / len(heavy)
    share, whole = (human.quantity(rate, "bytes_per_second") for rate in (each, capacity))
    others = len(side.clients) - len(heavy)
    left = f"; {others} others use {human.quantity(light, 'bytes_per_second')}" if others else ""
    first = sorted(heavy, key=lambda client: -heavy[client])[:4]
    return Finding(
        severity=Severity.WARNING,
        subject=name,
        title=f"LINK OVERSUBSCRIBED: {len(heavy)} clients",
        cause=f"{len(heavy)} of {len(side.clients)} {side.word} clients share {whole}{left}.",
        impact=f"{share} per client{f': {human.duration(_GIB / each)} per GiB' if each else ''}.",
        values=(
            Value("clients", "connected clients", len(side.clients)),
            Value("heavy", "clients with half of an even share", len(heavy)),
            Value("light", "rate of the others together", light, "bytes_per_second"),
            Value("each", "rate left for each of these", each, "bytes_per_second"),
            Value("busiest", "busiest clients", ", ".join(first)),
            Value("capacity", "usable rate of the link", capacity, "bytes_per_second"),
            Value("line", "rate of the link now", side.line, "bytes_per_second", of=speed),
        ),
        evidence=cites(
            *(window.cite(row) for client in first for row in rows if row.client == client),
            *(window.cite(row) for row in [window.get(InterfaceActivity, name)] if row is not None),
        ),
        advice=(
            "Use a faster link, or a second one with the clients spread over both.",
            "In a bond, one client uses one slave.",
            run("ss", "-tinO", "state", "established", note="busiest connections"),
        ),
        refuted_by="unchanged client throughput over a faster link",
        explains=(f"link-saturated:{name}",),
    )


LINK_OVERSUBSCRIBED = Rule(
    "link-oversubscribed",
    "full link shared by too many storage clients",
    Severity.WARNING,
    _check,
    (StorageClient, Interface, InterfaceActivity),
    (
        Threshold("clients", 2.0, "minimum number of clients"),
        Threshold("usable", 0.941, "payload share of the line rate (TCP, MTU 1500)", "ratio"),
        Threshold("full", 0.85, "utilization above which the link is full", "ratio"),
        Threshold("readings", 3.0, "consecutive samples that must show it"),
    ),
    covers=(Covers(StorageClient, "{interface}"),),
    view="network",
    advice="Use a faster link, or a second one with the clients spread over both.",
)
