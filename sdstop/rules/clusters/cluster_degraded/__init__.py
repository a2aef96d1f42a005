"""Clusters with missing data copies, or with unhealthy nodes, devices or managers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.analysis.clusters.gluster_pool import GLUSTER, pool_verdict
from sdstop.analysis.clusters.linstor import LINSTOR, linstor_verdict
from sdstop.analysis.clusters.manager import PACEMAKER, manager_verdict
from sdstop.collectors.drbd.condition import FAILS, SUSPENDED, UNCONFIGURED
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.evidence import Cite
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode, ClusterPool
from sdstop.rules.clusters.cluster_degraded.drbd import drbd_advice, node_name

DRBD = "drbd"

_ALONE = frozenset({"StandAlone", "suspended", "failing", "no-quorum"})
_STOPPED = {
    SUSPENDED: ("I/O SUSPENDED", "Every request waits."), FAILS: ("I/O FAILS", "Every request ends with an error."),
}  # fmt: skip
"""Title and impact of faults that stop the I/O of a DRBD resource, by their beginning."""


_ABSENT = frozenset({"DeviceInit", "InitialTest", "InitialTestDone", "NormalTesting", "RemovePending"})
"""States of PowerFlex's devices that are added, tested or removed: not in full service, but not failed either."""
_CEPH = "ceph"
"""Kind of cluster whose health checks and OSDs have rules of their own."""


def _is_covered(cluster: Cluster) -> bool:
    return cluster.kind != _CEPH


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for cluster in window.rows(Cluster).values():
        if _is_covered(cluster):
            yield _VERDICTS.get(cluster.kind, _judged)(window, cluster)


class _Part(Struct, frozen=True):
    """One fault of a cluster; `stops`: requests wait or fail now."""

    severity: Severity
    damage: Damage
    title: str
    cause: str
    impact: str
    stops: bool = False


def _judged(window: Window, cluster: Cluster) -> Verdict:
    nodes = window.where(ClusterNode, "cluster", cluster.cluster)
    devices = [d for d in window.where(ClusterDevice, "cluster", cluster.cluster) if d.healthy == 0]
    down = [n for n in nodes if n.healthy == 0]
    away = [n for n in nodes if n.maintenance is not None]
    alone = _alone(cluster, nodes)
    parts = [
        *_copies(window, cluster, nodes, alone),
        *_members(cluster, down, devices),
        *_reported(cluster, down),
        *_events(window, cluster, away),
    ]
    if not parts:
        return _good(cluster, nodes)
    first = max(parts, key=lambda part: (part.severity.rank, part.stops, -part.damage.rank, -parts.index(part)))
    lost = [*down, *_unknown(cluster, nodes)]
    worst: list[Reading] = [*lost[:3], *devices[:3], *away[:2]]
    others = list(dict.fromkeys(part.cause for part in parts if part is not first and part.cause != first.cause))
    return Finding(
        severity=first.severity,
        subject=cluster.cluster,
        title=first.title,
        cause=first.cause,
        impact=first.impact,
        values=(
            *_values(cluster, len(devices)),
            *(Value(f"also{number}", "also", cause) for number, cause in enumerate(others, 1)),
            *((Value("says", "reported by the cluster", cluster.says),) if cluster.says else ()),
        ),
        evidence=cites(window.cite(cluster), *(window.cite(row) for row in worst), *_pools(window, cluster)),
        advice=_advice(window, cluster, lost, devices, lacking=bool(cluster.degraded or cluster.failed or alone)),
        refuted_by="all nodes and devices healthy, and no degraded data",
        damage=first.damage,
    )


def _copies(
    window: Window, cluster: Cluster, nodes: Sequence[ClusterNode], alone: ClusterNode | None
) -> Iterator[_Part]:
    """Yield missing copies."""
    unknown = _unknown(cluster, nodes)
    if cluster.failed:
        size = human.quantity(cluster.failed, "bytes")
        yield _Part(
            Severity.CRITICAL, Damage.DATA, f"DATA UNREACHABLE: {size}", f"No copy of {size} is accessible.",
            "Requests to these data fail or wait.", stops=True,
        )  # fmt: skip
    if cluster.degraded:
        size = human.quantity(cluster.degraded, "bytes")
        last = alone is not None or _last_copy(window, cluster)
        title, count, impact = "COPIES MISSING", "fewer copies than configured", "reduces redundancy further"
        if last:
            title = "ONE COPY REACHABLE" if unknown else "ONE COPY LEFT"
            count, impact = f"a single {'reachable ' if unknown else ''}copy", "can lose this data"
        bad = next((f"; {node_name(node)} is {node.state}" for node in (*unknown, *nodes) if not node.healthy), "")
        severity = Severity.CRITICAL if last else Severity.WARNING
        cause = fitting(f"{size} has {count}{bad}.", f"{size} has {count}.")
        yield _Part(severity, Damage.REDUNDANCY, f"{title}: {size}", cause, f"Another failure {impact}.")
    elif alone is not None:
        cause = f"Only {node_name(alone)} has current data."
        yield _Part(
            Severity.CRITICAL, Damage.REDUNDANCY, "ONE COPY REACHABLE" if unknown else "ONE COPY LEFT",
            f"Only the copy of {node_name(alone)} is reachable." if unknown else cause,
            "Another failure makes the data unavailable.",
        )  # fmt: skip
    own = next((node for node in nodes if node.local and node.healthy == 0), None)
    if own is not None and unknown and not any(node.healthy for node in nodes):
        others = _listed([node_name(node) for node in unknown])
        yield _Part(
            Severity.CRITICAL, Damage.REDUNDANCY, "NO CURRENT COPY REACHABLE",
            fitting(
                f"{human.safe(own.node, 20)} is {own.state}; {others} is not connected.",
                f"This node is {own.state}, and no other is connected.",
            ),
            "This node cannot take over; only the peer can have current data.",
        )  # fmt: skip
    if cluster.kind == DRBD and len(nodes) == 1 and nodes[0].healthy:
        yield _Part(
            Severity.INFO, Damage.REDUNDANCY, "NOT REPLICATED", "The resource has no peers.",
            "The data has a single copy.",
        )  # fmt: skip
    if unknown:
        yield _Part(
            Severity.INFO, Damage.REDUNDANCY, "COPY UNKNOWN",
            f"The data of {_listed([node_name(n) for n in unknown])} is unknown ({unknown[0].state}).",
            "The copy can be outdated.",
        )  # fmt: skip


def _members(cluster: Cluster, down: Sequence[ClusterNode], devices: list[ClusterDevice]) -> Iterator[_Part]:
    """Yield nodes and devices that failed."""
    if down:
        cause = _sentence(_listed([f"{node_name(n)} is {n.state}" for n in down]))
        title = _counted(len(down), "NODE DOWN", "NODES DOWN")
        impact = "The cluster can lose fewer nodes than configured."
        if cluster.kind == DRBD:  # the states of its nodes are those of their data
            title = _counted(len(down), f"COPY {human.safe(down[0].state or '', 20).upper()}", "COPIES NOT CURRENT")
            impact = "A node without current data cannot take over."
        yield _Part(Severity.WARNING, Damage.REDUNDANCY, title, cause, impact)
    if devices:
        cause = f"{_listed([f'{d.device} of {d.node} is {d.state}' for d in devices])}."
        absent = all(d.state in _ABSENT for d in devices)
        fault = "NOT IN SERVICE" if absent else "FAILED"
        yield _Part(
            Severity.WARNING, Damage.REDUNDANCY, _counted(len(devices), f"DEVICE {fault}", f"DEVICES {fault}"), cause,
            "The cluster has fewer devices for its copies.",
        )  # fmt: skip


def _sentence(text: str) -> str:
    """Return a sentence; the name of a node at its beginning stays as it is."""
    begins = text.partition(" ")[0] in {"neither", "no", "the", "this", "volume"}
    return f"{text[:1].upper() if begins else text[:1]}{text[1:]}."


def _counted(count: int, one: str, several: str) -> str:
    return one if count == 1 else f"{count} {several}"


def _reported(cluster: Cluster, down: Sequence[ClusterNode]) -> Iterator[_Part]:
    """Yield faults that the cluster itself reports."""
    says = cluster.says or ""
    if cluster.kind == DRBD and says and (not down or cluster.state in _ALONE):
        stops = next((begins for begins in _STOPPED if says.startswith(begins)), None)
        title, impact = _STOPPED.get(stops or "", ("REPLICATION FAULT", "The sides no longer have the same data."))
        if cluster.state == UNCONFIGURED:
            title, impact = "NOT CONFIGURED", "This node has no copy of the data, and replicates nothing."
        yield _Part(
            Severity.CRITICAL if stops else Severity.WARNING,
            Damage.AVAILABILITY if stops else Damage.REDUNDANCY,
            title,
            _sentence(says.split("; ")[0]),
            impact,
            stops is not None,
        )
    elif cluster.healthy == 0 and not down:
        reported = [f"The cluster reports {human.safe(cluster.state, 40)}{detail}." for detail in (f": {says}", "")]
        reported = reported if says else reported[1:]
        yield _Part(
            Severity.WARNING, Damage.REDUNDANCY, "CLUSTER UNHEALTHY", fitting(*reported),
            "Redundancy or service can be reduced.",
        )  # fmt: skip


def _events(window: Window, cluster: Cluster, away: Sequence[ClusterNode]) -> Iterator[_Part]:
    if away:
        yield _Part(
            Severity.INFO, Damage.HYGIENE, "MAINTENANCE", f"In maintenance: {_listed([n.node for n in away])}.",
            "Redundancy is reduced until the maintenance ends.",
        )  # fmt: skip
    switched = _switched(window, cluster)
    if switched:
        yield _Part(
            Severity.INFO, Damage.HYGIENE, "LEADER CHANGED",
            f"Managers re-elected (session {switched[0]} -> {switched[1]}); leader: {cluster.leader}.",
            "Requests can pause during the election.",
        )  # fmt: skip


def _unknown(cluster: Cluster, nodes: Sequence[ClusterNode]) -> Sequence[ClusterNode]:
    """Return the peers of a DRBD resource of whose data nothing is known, because they are not connected."""
    return [node for node in nodes if node.healthy is None and not node.local] if cluster.kind == DRBD else []


def _values(cluster: Cluster, bad: int) -> tuple[Value, ...]:
    managers = Value("managers", "managers up", cluster.managers_up, "", of=cluster.managers)
    state = Value("state", "state", cluster.state)
    common = (
        Value("failed", "inaccessible data", cluster.failed, "bytes", above=0),
        Value("degraded", "degraded data", cluster.degraded, "bytes", above=0),
        Value("nodes", "healthy nodes", cluster.nodes_up, "", of=cluster.nodes),
    )
    devices = Value("devices", "failed devices", bad, "", above=0)
    if cluster.kind == DRBD:
        return (*common, devices, state)
    if cluster.kind == PACEMAKER:
        return (managers, state)
    return (*common, managers, devices, state, Value("epoch", "session of the managers", cluster.epoch))


def _listed(names: list[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _alone(cluster: Cluster, nodes: Sequence[ClusterNode]) -> ClusterNode | None:
    """Return the only node of a DRBD resource known to have good data, if others should have it too.

    A DRBD client is Diskless and healthy: it never had any data.
    """
    meant = [node for node in nodes if not (node.healthy and node.state == "Diskless")]
    good = [node for node in meant if node.healthy]
    return good[0] if cluster.kind == DRBD and len(meant) > len(good) == 1 else None


def _last_copy(window: Window, cluster: Cluster) -> bool:
    """Return whether degraded data has one copy left: certain with two copies, unknown with three."""
    if cluster.kind == "powerflex":
        return True
    copies = [
        pool.copies for pool in window.where(ClusterPool, "cluster", cluster.cluster)
        if pool.copies is not None and pool.degraded != 0
    ]  # fmt: skip
    return bool(copies) and max(copies) <= 2


def _switched(window: Window, cluster: Cluster) -> tuple[int, int] | None:
    """Return the managers' session before and now, if it changed in the window; ScaleIO only."""
    if cluster.kind != "powerflex":
        return None
    known = [row.epoch for _, row in window.series(Cluster, cluster.cluster) if row is not None]
    epochs = [epoch for epoch in known if epoch is not None]
    return (epochs[0], epochs[-1]) if epochs and epochs[-1] != epochs[0] else None


def _pools(window: Window, cluster: Cluster) -> list[Cite | None]:
    return [
        window.cite(pool, "degraded") for pool in window.where(ClusterPool, "cluster", cluster.cluster)
        if pool.degraded or pool.failed
    ][:2]  # fmt: skip


def _good(cluster: Cluster, nodes: Sequence[ClusterNode]) -> Verdict:
    if cluster.state is None and cluster.degraded is None and not nodes:
        return Unchecked("state, nodes and copies unavailable", cluster.cluster)
    if cluster.healthy is None and cluster.state is not None:
        return Unchecked(f'unknown state "{human.safe(cluster.state, 40)}"', cluster.cluster, gap=Gap.FAULTY)
    parts = [cluster.state or "managers unknown"]
    if cluster.nodes is not None and cluster.nodes_up is not None:
        parts.append(f"{cluster.nodes_up} of {cluster.nodes} nodes healthy")
    if cluster.degraded is None:
        return Unchecked("amount of degraded data unknown", cluster.cluster)
    parts.append("all copies present")
    return RuledOut(cluster.cluster, ", ".join(parts))


def _advice(
    window: Window, cluster: Cluster, down: Sequence[ClusterNode], devices: list[ClusterDevice], *, lacking: bool
) -> tuple[Advice, ...]:
    steps: list[Advice] = []
    if lacking:
        steps.append("Do not touch other nodes or disks until all copies are restored.")
    if cluster.kind == DRBD:
        return (*steps, *drbd_advice(window, cluster))
    steps += _TOOLS.get(cluster.kind, ("Use the tools of the cluster.",))
    if down:
        address = (down[0].address or down[0].node).split(" ")[0]
        steps += [
            run("ping", "-c", "3", *operands(address), note="network of the lost node"),
            "Then on that node:",
            run("systemctl", "--failed"),
            run("journalctl", "-b", "-p", "err").pipe("tail", "-40"),
        ]
    if devices:
        steps += [
            "On the node of the failed device:",
            run("journalctl", "-k").pipe("grep", "-i", "-E", "I/O error|reset"),
            run("smartctl", "-x", *operands(devices[0].device), note=f"on {human.safe(devices[0].node)}"),
        ]
    return tuple(steps)


_TOOLS: Mapping[str, tuple[Advice, ...]] = {
    "powerflex": (run("scli", "--query_cluster"), run("scli", "--query_all_sds")),
}


_VERDICTS: Mapping[str, Callable[[Window, Cluster], Verdict]] = {
    PACEMAKER: manager_verdict, GLUSTER: pool_verdict, LINSTOR: linstor_verdict,
}  # fmt: skip
"""Verdicts on kinds of clusters that count no copies of data."""


CLUSTER_DEGRADED = Rule(
    "cluster-degraded",
    "cluster with missing data copies, or nodes, devices or managers down",
    Severity.CRITICAL,
    _check,
    (Cluster,),
    covers=(Covers(Cluster, where=_is_covered),),
    remembers=True,
    damage=Damage.REDUNDANCY,
    view="cluster",
    advice="Do not touch other nodes or disks until all copies are restored.",
)
