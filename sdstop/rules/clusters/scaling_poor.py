"""Clusters whose throughput for several clients is barely higher than for one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.core import format as human
from sdstop.core.averages import median
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_order import urgency
from sdstop.core.finding_text import fitting
from sdstop.core.history import Moment, Window
from sdstop.core.rule import Limits, Rule, Threshold
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

    @property
    def wait(self) -> float | None:
        """Mean seconds of a request, None if unknown."""
        return None if self.queue is None or not self.total else self.queue * self.clients / self.total


SUSPECTS = {
    "link-saturated": "a saturated link",
    "link-oversubscribed": "an oversubscribed link",
    "hba-oversubscribed": "a saturated HBA",
    "device-saturated": "a saturated device",
    "volume-qos-saturated": "an I/O limit",
    "rmcache-on-flash": "RAM read cache on flash",
}
"""Rules whose findings limit all clients alike, likeliest first, and their words; measured saturation leads."""


def _check(window: Window, limits: Limits, findings: Sequence[Finding]) -> Iterator[Verdict]:
    suspects = _suspects(findings)
    for cluster in window.rows(Cluster).values():
        yield from _of_cluster(window, cluster, suspects, limits)


def _suspects(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of this node that can limit all clients, likeliest first."""
    found = [finding for finding in findings if finding.severity is not Severity.INFO]
    return sorted(found, key=lambda finding: (list(SUSPECTS).index(finding.rule), *urgency(finding)))


def _of_cluster(window: Window, cluster: Cluster, suspects: Sequence[Finding], limits: Limits) -> Iterator[Verdict]:
    phases = _phases(window, cluster.cluster, limits)
    single = phases.get(1)
    many = phases[max(phases)] if phases else None
    if single is None or many is None or many.clients == 1:
        yield Unchecked("no samples with one client and with several, both under load", cluster.cluster, calm=True)
        return
    if single.queue is None or many.queue is None:
        yield Unchecked("no client latency; demand unknown", cluster.cluster)
        return
    efficiency = many.total / (many.clients * single.total)
    told = (
        f"{many.clients} clients {_iops(many.total)} IOPS, one client {_iops(single.total)}: "
        f"{human.percent(efficiency)}% of {many.clients} x 1"
    )
    if many.queue < single.queue * limits["queue"]:
        yield RuledOut(cluster.cluster, f"{told}; each had less outstanding than one alone")
    elif efficiency >= limits["efficiency"]:
        yield RuledOut(cluster.cluster, told)
    else:
        yield _found(window, cluster, single, many, suspects, limits)


def _iops(rate: float) -> str:
    return human.number(rate)


def _phases(window: Window, cluster: str, limits: Limits) -> dict[int, _Phase]:
    """Return the phases by number of active clients, each with enough samples and enough requests."""
    seen: dict[int, list[tuple[float, float | None]]] = {}
    for moment in window.moments(ClusterClient):
        rows = _clients_of(moment, cluster)
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


def _clients_of(moment: Moment[ClusterClient], cluster: str) -> Sequence[ClusterClient]:
    """Return the clients of a cluster; grouped once per run, because many windows ask for it."""
    groups: dict[str, list[ClusterClient]] | None = moment.memo.get("clients by cluster")
    if groups is None:
        groups = moment.memo["clients by cluster"] = {}
        for row in moment.rows.values():
            groups.setdefault(row.cluster, []).append(row)
    return groups.get(cluster, ())


def _phase(clients: int, readings: Sequence[tuple[float, float | None]]) -> _Phase:
    queues = [queue for _, queue in readings if queue is not None]
    return _Phase(clients, median(total for total, _ in readings), median(queues) if queues else None)


def _queue(row: ClusterClient) -> float | None:
    parts = [(row.reads, row.read_wait), (row.writes, row.write_wait)]
    if any(rate and wait is None for rate, wait in parts):
        return None
    return added(rate * wait for rate, wait in parts if rate and wait is not None)


def _found(
    window: Window, cluster: Cluster, single: _Phase, many: _Phase, suspects: Sequence[Finding], limits: Limits
) -> Finding:
    rows = window.where(ClusterClient, "cluster", cluster.cluster)
    busiest = sorted(rows, key=lambda row: -((row.reads or 0.0) + (row.writes or 0.0)))[:2]
    efficiency = many.total / (many.clients * single.total)
    alone, each = single.wait or 0.0, many.wait or 0.0
    because = f"; likeliest: {SUSPECTS[suspects[0].rule]}" if suspects else ""
    done = f"{many.clients} clients do {_iops(many.total)} IOPS, one {_iops(single.total)}"
    return Finding(
        severity=Severity.WARNING,
        subject=cluster.cluster,
        title=f"POOR SCALING: {human.percent(efficiency)}% of {many.clients} x 1",
        cause=fitting(f"{done}{because}.", f"{done}."),
        impact=(
            f"A request takes {human.quantity(each, 'seconds')} instead of {human.quantity(alone, 'seconds')}, "
            f"{human.number(many.queue, 0)} outstanding each."
        ),
        values=(
            Value("efficiency", f"rate of {many.clients} clients, of {many.clients} times one", efficiency, "ratio",
                  below=limits["efficiency"]),
            Value("single", "rate of one client alone", single.total, "per_second"),
            Value("together", "rate of all clients", many.total, "per_second", of=many.clients * single.total),
            Value("clients", "clients together", many.clients),
            Value("single_queue", "outstanding requests of the one", single.queue, ""),
            Value("queue", "outstanding requests of each", many.queue, ""),
            Value("single_wait", "time of a request of the one", alone, "seconds"),
            Value("wait", "time of a request of each", each, "seconds"),
            *(Value(f"suspect{n}", "found here", f"{SUSPECTS[one.rule]}: {one.subject}")
              for n, one in enumerate(suspects[:3], 1)),
        ),
        evidence=cites(*(window.cite(row, "reads") for row in busiest), window.cite(cluster),
                       *(one.evidence[0] for one in suspects[:2] if one.evidence)),
        advice=tuple(_advice(suspects)),
        refuted_by="lower demand or other request sizes while the clients ran together",
        cost=max(0.0, many.clients * (many.queue or 0.0) - many.total * alone),
    )  # fmt: skip


def _advice(suspects: Sequence[Finding]) -> Iterator[str]:
    if suspects:
        yield f"Fix this first: {SUSPECTS[suspects[0].rule]}; then measure again."
        yield "Then find the saturated resource (CPU, NIC, devices) on each node."
    else:
        yield "Run sdstop on each node while all clients work: CPU, NIC, devices."
    yield "Try more devices, nodes or volumes: a single queue per SDS may be the bottleneck."


SCALING_POOR = Rule(
    "scaling-poor",
    "cluster that gives several clients little more than one",
    Severity.WARNING,
    _check,
    (Cluster, ClusterClient),
    (
        Threshold("efficiency", 0.5, "minimum scaling efficiency", "ratio"),
        Threshold("worth", 1000.0, "minimum IOPS of the busiest client",
                  "per_second"),
        Threshold("queue", 0.5, "minimum outstanding requests of each, of those of one client", "ratio"),
        Threshold("readings", 3.0, "minimum number of samples, of one client and of several"),
    ),
    after=frozenset(SUSPECTS),
    view="volumes",
    advice="Find the saturated resource (CPU, NIC, devices) on each node.",
)  # fmt: skip
