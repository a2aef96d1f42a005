"""Clusters with missing data copies, or with unhealthy nodes, devices or managers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sdstop.collectors.powerflex.readings import Gateway
from sdstop.core import format as human
from sdstop.core.evidence import Cite
from sdstop.core.finding import Finding, Gap, Limits, Rule, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.shell import operand, quoted
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode, ClusterPool

DRBD = "drbd"
PACEMAKER = "pacemaker"
"""Kind of cluster that holds no data but runs the services for it, which stop without quorum or when a node is lost."""

_ALONE = frozenset({"StandAlone", "suspended", "no-quorum"})
_SUSPENDED = "I/O is suspended"


_CEPH = "ceph"
_STOPPED = re.compile(r"\b(?:pauserd|pausewr|OSD_FULL|POOL_FULL)\b")
"""Health checks of Ceph that say that clients' I/O stops."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for gateway in window.rows(Gateway).values():
        if gateway.state == "stale":
            age = human.duration(gateway.age) if gateway.age is not None else "some time"
            why = gateway.trouble or "no gateway answers"
            yield Unchecked(f"what is shown of the cluster is {age} old: {why}")
    for cluster in window.rows(Cluster).values():
        yield _judged(window, cluster)


def _judged(window: Window, cluster: Cluster) -> Verdict:
    nodes = [n for n in window.rows(ClusterNode).values() if n.cluster == cluster.cluster]
    devices = [d for d in window.rows(ClusterDevice).values() if d.cluster == cluster.cluster and d.healthy == 0]
    down = [n for n in nodes if n.healthy == 0]
    told = [n for n in down if cluster.kind != PACEMAKER or n.state != "UNCLEAN"]  # UNCLEAN: reported by the cluster
    away = [n for n in nodes if n.maintenance is not None]
    switched = _switched(window, cluster)
    alone = _alone(cluster, nodes)
    severity, said = _copies(window, cluster, nodes, alone)
    if told:
        severity = _worse(severity, Severity.WARNING)
        said.append(f"{_listed([f'{n.node} is {n.state}' for n in told])}")
    if devices:
        severity = _worse(severity, Severity.WARNING)
        said.append(f"{_listed([f'{d.device} of {d.node} is {d.state}' for d in devices])}")
    if cluster.kind == PACEMAKER and cluster.says:
        severity = Severity.CRITICAL
        said.insert(0, cluster.says)
    elif cluster.kind == DRBD and cluster.says and (not down or cluster.state in _ALONE):
        severity = _worse(severity, Severity.CRITICAL if _SUSPENDED in cluster.says else Severity.WARNING)
        said.append(cluster.says)
    elif cluster.healthy == 0 and (not down or cluster.kind == _CEPH):
        stops = cluster.state == "HEALTH_ERR" or _STOPPED.search(cluster.says or "")
        severity = _worse(severity, Severity.CRITICAL if stops and cluster.kind == _CEPH else Severity.WARNING)
        said.append(f"it says {cluster.state}{f': {cluster.says}' if cluster.says else ''}")
    if away:
        said.append(f"in maintenance: {_listed([n.node for n in away])}")
    if switched:
        said.append(f"its managers began anew (session {switched[0]} -> {switched[1]}): the leader is {cluster.leader}")
    if not said:
        return _good(cluster, nodes)
    lost = [*down, *_unknown(cluster, nodes)]
    worst: list[Reading] = [*lost[:3], *devices[:3], *away[:2]]
    return Finding(
        severity=severity,
        subject=cluster.cluster,
        cause="; ".join(said),
        values=_values(cluster, len(devices)),
        evidence=cites(window.cite(cluster), *(window.cite(row) for row in worst), *_pools(window, cluster)),
        advice=_advice(cluster, lost, devices, lacking=bool(cluster.degraded or cluster.failed or alone)),
        refuted_by="all nodes and devices well, and no data with too few copies",
    )


def _copies(
    window: Window, cluster: Cluster, nodes: list[ClusterNode], alone: ClusterNode | None
) -> tuple[Severity, list[str]]:
    """Return the severity and the statements of missing copies."""
    severity, said = Severity.INFO, list[str]()
    unknown = _unknown(cluster, nodes)
    if cluster.failed:
        severity = Severity.CRITICAL
        said.append(f"{human.quantity(cluster.failed, 'bytes')} of data cannot be reached")
    if cluster.degraded:
        last = alone is not None or _last_copy(window, cluster)
        severity = Severity.CRITICAL if last else _worse(severity, Severity.WARNING)
        left = "one copy is reachable" if last and unknown else "one copy is left" if last else "copies are missing"
        said.append(f"of {human.quantity(cluster.degraded, 'bytes')} {left}: a further failure may lose data")
    elif alone is not None:
        severity = Severity.CRITICAL
        whose = f"only the copy of {alone.node} is reachable" if unknown else f"only {alone.node} has good data"
        said.append(f"{whose}: a further failure takes it out of reach")
    if unknown:
        said.append(f"whether {_listed([n.node for n in unknown])} has good data is unknown ({unknown[0].state})")
    return severity, said


def _unknown(cluster: Cluster, nodes: list[ClusterNode]) -> list[ClusterNode]:
    """Return the peers of a DRBD resource of whose data nothing is known, because they are not connected."""
    return [node for node in nodes if node.healthy is None and not node.local] if cluster.kind == DRBD else []


def _values(cluster: Cluster, bad: int) -> tuple[Value, ...]:
    managers = Value("managers", "managers that are there", cluster.managers_up, "", above=cluster.managers)
    state = Value("state", "state", cluster.state)
    if cluster.kind == PACEMAKER:
        return (managers, state)
    return (
        Value("failed", "data that cannot be reached", cluster.failed, "bytes", above=0),
        Value("degraded", "data with too few copies", cluster.degraded, "bytes", above=0),
        Value("nodes", "nodes that are well", cluster.nodes_up, "", above=cluster.nodes),
        managers,
        Value("devices", "devices that are not well", bad, "", above=0),
        state,
        Value("epoch", "session of the managers", cluster.epoch),
    )


def _worse(one: Severity, other: Severity) -> Severity:
    return max(one, other, key=lambda severity: severity.rank)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _alone(cluster: Cluster, nodes: list[ClusterNode]) -> ClusterNode | None:
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
        pool.copies for pool in window.rows(ClusterPool).values()
        if pool.cluster == cluster.cluster and pool.copies is not None and pool.degraded != 0
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
        window.cite(pool, "degraded") for pool in window.rows(ClusterPool).values()
        if pool.cluster == cluster.cluster and (pool.degraded or pool.failed)
    ][:2]  # fmt: skip


def _good(cluster: Cluster, nodes: list[ClusterNode]) -> Verdict:
    if cluster.state is None and cluster.degraded is None and not nodes:
        return Unchecked("neither its state nor its nodes nor its copies are told", cluster.cluster)
    if cluster.healthy is None and cluster.state is not None:
        return Unchecked(f'state "{human.safe(cluster.state, 40)}" is not known', cluster.cluster, gap=Gap.FAULTY)
    parts = [cluster.state or "its managers are not told"]
    if cluster.kind == PACEMAKER:
        return RuledOut(cluster.cluster, f"{parts[0]}, {cluster.managers_up} of {cluster.managers} nodes online")
    if cluster.nodes is not None:
        parts.append(f"{cluster.nodes_up} of {cluster.nodes} nodes well")
    if cluster.degraded is None:
        return Unchecked("amount of degraded data unknown", cluster.cluster)
    parts.append("all data has its copies")
    return RuledOut(cluster.cluster, ", ".join(parts))


def _advice(
    cluster: Cluster, down: list[ClusterNode], devices: list[ClusterDevice], *, lacking: bool
) -> tuple[str, ...]:
    said = []
    if down:
        address = (down[0].address or down[0].node).split(" ")[0]
        said.append(f"ping {operand(address)}; on it: systemctl --failed; journalctl -b -p err | tail -40")
    if devices:
        said.append(
            f"on {quoted(devices[0].node)}: journalctl -k | grep -i -E 'I/O error|reset'; "
            f"smartctl -x {operand(devices[0].device)}"
        )
    if lacking:
        said.append("touch no other node or disk until all data has its copies again: rebuild-running says when")
    tell = {
        "powerflex": "scli --query_cluster; scli --query_all_sds",
        "ceph": "ceph health detail; ceph osd tree down",
        DRBD: "drbdadm status --verbose",
        PACEMAKER: "crm_mon -1 -r -f; corosync-quorumtool -s",
    }
    said.append(tell.get(cluster.kind, "ask the cluster's own tools"))
    return tuple(said)


CLUSTER_DEGRADED = Rule(
    "cluster-degraded",
    "data of a cluster lacks copies, or nodes, devices or managers of it are not well",
    Severity.CRITICAL,
    _check,
    (Cluster,),
    remembers=True,
)
