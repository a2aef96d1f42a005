"""Clusters whose throughput for several clients is barely higher than for one."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.text import added
from sdstop.readings.cluster import Cluster, ClusterClient

_ACTIVE = 0.2
"""Share of the busiest client's requests above which another client counts as active."""


class _Phase(Struct, frozen=True):
    """Samples with the same number of active clients."""

    clients: int
    total: float
    queue: float | None
    """Mean outstanding requests per client, by Little's law; None if their waits are unknown."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for cluster in window.rows(Cluster).values():
        yield from _of_cluster(window, cluster, limits)


def _of_cluster(window: Window, cluster: Cluster, limits: Limits) -> Iterator[Verdict]:
    phases = _phases(window, cluster.cluster, limits)
    single = phases.get(1)
    many = phases[max(phases)] if phases else None
    if single is None or many is None or many.clients == 1:
        yield Unchecked("not seen with one client and with several, both under load", cluster.cluster, calm=True)
        return
    if single.queue is None or many.queue is None:
        yield Unchecked("the clients' waits are not told: whether they wanted more is not known", cluster.cluster)
        return
    efficiency = many.total / (many.clients * single.total)
    told = (
        f"{many.clients} clients together {_iops(many.total)}, one alone {_iops(single.total)}: "
        f"{human.percent(efficiency)} % of {many.clients} times as much"
    )
    if many.queue < single.queue * limits["queue"]:
        yield RuledOut(cluster.cluster, f"{told}; but each wanted less than the one alone")
    elif efficiency >= limits["efficiency"]:
        yield RuledOut(cluster.cluster, told)
    else:
        yield _found(window, cluster, single, many, efficiency, told, limits)


def _iops(rate: float) -> str:
    return f"{human.quantity(rate, 'per_second')}"


def _phases(window: Window, cluster: str, limits: Limits) -> dict[int, _Phase]:
    """Return the phases by number of active clients, each with enough samples and enough requests."""
    seen: dict[int, list[tuple[float, float | None]]] = {}
    for moment in window.moments(ClusterClient):
        rows = [row for row in moment.rows.values() if row.cluster == cluster]
        busy = [(row, (row.reads or 0.0) + (row.writes or 0.0)) for row in rows]
        most = max((rate for _, rate in busy), default=0.0)
        active = [(row, rate) for row, rate in busy if rate >= most * _ACTIVE]
        if most < limits["worth"]:
            continue
        queues = [_queue(row) for row, _ in active]
        known = [queue for queue in queues if queue is not None]
        queue = added(known) / len(known) if len(known) == len(active) else None
        seen.setdefault(len(active), []).append((added(rate for _, rate in active), queue))
    return {
        clients: _phase(clients, readings) for clients, readings in seen.items() if len(readings) >= limits["readings"]
    }


def _phase(clients: int, readings: Sequence[tuple[float, float | None]]) -> _Phase:
    queues = [queue for _, queue in readings if queue is not None]
    return _Phase(
        clients, statistics.median(total for total, _ in readings), statistics.median(queues) if queues else None
    )


def _queue(row: ClusterClient) -> float | None:
    parts = [(row.reads, row.read_wait), (row.writes, row.write_wait)]
    if any(rate and wait is None for rate, wait in parts):
        return None
    return added(rate * wait for rate, wait in parts if rate and wait is not None)


def _found(
    window: Window, cluster: Cluster, single: _Phase, many: _Phase, efficiency: float, told: str, limits: Limits
) -> Finding:
    rows = [row for row in window.rows(ClusterClient).values() if row.cluster == cluster.cluster]
    busiest = sorted(rows, key=lambda row: -((row.reads or 0.0) + (row.writes or 0.0)))[:2]
    gain = many.total / single.total - 1
    return Finding(
        severity=Severity.WARNING,
        subject=cluster.cluster,
        cause=(f"{told}; {many.clients} clients give {human.percent(gain)} % more than one, though each waits for "
        "as many "
        "requests"),
        values=(
            Value("efficiency", "share of what so many clients would get if each got as much", efficiency, "ratio",
                  above=limits["efficiency"]),
            Value("single", "requests of one client alone", single.total, "per_second"),
            Value("together", "requests of all together", many.total, "per_second"),
            Value("clients", "clients together", many.clients),
            Value("single_queue", "requests that the one had outstanding", single.queue, ""),
            Value("queue", "requests that each had outstanding", many.queue, ""),
        ),
        evidence=cites(*(window.cite(row, "reads") for row in busiest), window.cite(cluster)),
        advice=(
            "which resource is full while all work? the nodes' CPU, NICs and devices: sdstop on each node",
            "rmcache-on-flash, volume-qos-saturated and link-saturated first: they limit all clients alike",
            "try more devices or nodes in the pool, and more volumes: one queue of each SDS may be what is full",
        ),
        refuted_by="clients that wanted less, or other sizes of requests, when they worked together",
    )  # fmt: skip


SCALING_POOR = Rule(
    "scaling-poor",
    "several clients of a cluster together get hardly more than one alone",
    Severity.WARNING,
    _check,
    (Cluster, ClusterClient),
    (
        Threshold("efficiency", 0.5, "share of one client's requests that each of several must get", "ratio"),
        Threshold("worth", 1000.0, "requests a second of the busiest client below which nothing is compared",
                  "per_second"),
        Threshold("queue", 0.5, "share of the one client's outstanding requests that each must have", "ratio"),
        Threshold("readings", 3.0, "readings of one client, and of several, that are needed"),
    ),
)  # fmt: skip
