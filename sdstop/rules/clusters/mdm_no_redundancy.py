"""Clusters that cannot lose another manager: MDMs and tie-breakers, or Ceph's monitors."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.core.advice import Advice, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.core.shell import phrase, quoted
from sdstop.readings.cluster import Cluster, ClusterNode

_WITHOUT = frozenset({"drbd", "gluster", "linstor", "pacemaker"})
"""Kinds to skip: DRBD, LINSTOR and GlusterFS have none; Corosync's quorum is more than counts (two_node, qdevice)."""
_ROLES = frozenset({"mdm", "tiebreaker", "mon"})


def _has_managers(cluster: Cluster) -> bool:
    """Return whether managers can be judged; Ceph without a quorum has lost them already (see ceph-health)."""
    return cluster.kind not in _WITHOUT and not (cluster.kind == "ceph" and cluster.leader is None)


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for cluster in window.rows(Cluster).values():
        if not _has_managers(cluster):
            continue
        if cluster.managers is None and cluster.managers_up is None:
            yield Unchecked("number of managers unavailable", cluster.cluster)
        elif cluster.tolerates is None or cluster.managers_up is None:
            yield Unchecked("number of managers up unavailable", cluster.cluster)
        elif cluster.tolerates > 0 and (cluster.managers is None or cluster.managers_up >= cluster.managers):
            records = "" if cluster.replicas_up is None else f", {cluster.replicas_up} with its records"
            yield RuledOut(
                cluster.cluster,
                f"{cluster.managers_up} of {cluster.managers or cluster.managers_up} managers up{records}: "
                f"{cluster.tolerates} more may fail",
            )
        else:
            yield _found(window, cluster, cluster.managers_up, cluster.tolerates)


def _found(window: Window, cluster: Cluster, up: int, tolerates: int) -> Finding:
    managers = cluster.managers or up
    gone = [
        node for node in window.rows(ClusterNode).values()
        if node.cluster == cluster.cluster and node.role in _ROLES and node.healthy == 0
    ]  # fmt: skip
    who = f" ({gone[0].node} {gone[0].state})" if len(gone) == 1 else ""
    if managers == 1 and cluster.kind == "ceph":  # it has managers, too, which are something else
        title, cause = "SINGLE MONITOR", "The cluster has one monitor and no other."
    elif managers == 1:
        title, cause = "SINGLE MANAGER", "The cluster has one manager and no other."
    elif cluster.kind == "ceph":
        title = f"MONITORS NOT REDUNDANT: {up} of {managers} up" if not tolerates else "MONITOR MISSING"
        cause = f"{up} of {managers} monitors up{who}."
    else:
        title = f"MANAGERS NOT REDUNDANT: {up} of {managers} up" if not tolerates else "MANAGER MISSING"
        cause = f"{up} of {managers} managers up{who}."
    impact = f"{tolerates} more may fail before the cluster has no leader."
    if not tolerates:
        impact = "The next manager failure leaves the cluster without a leader."
        if cluster.kind == "ceph":
            impact = "The next monitor failure stops the cluster."
    critical = managers > 1 and tolerates == 0 and cluster.kind != "ceph"  # its monitors hold no data
    severity = Severity.CRITICAL if critical else Severity.WARNING
    return Finding(
        severity=severity,
        subject=cluster.cluster,
        title=title,
        cause=cause,
        impact=impact,
        values=(
            Value("managers", "managers up", up, "", of=managers),
            Value("replicas", "copies of the records", cluster.replicas_up, "", of=cluster.replicas),
            Value("tolerates", "managers that may still fail", tolerates, "", below=1),
            Value("state", "state", cluster.state),
        ),
        evidence=cites(window.cite(cluster), *(window.cite(node) for node in gone[:3])),
        advice=_advice(cluster, gone, single=managers == 1),
        standing=managers == 1,
        refuted_by=f"{cluster.managers or 'all'} healthy managers",
    )


def _advice(cluster: Cluster, gone: list[ClusterNode], *, single: bool) -> tuple[Advice, ...]:
    if cluster.kind == "ceph":
        return (
            run("ceph", "mon", "stat"),
            run("ceph", "health", "detail"),
            "Add monitors until three run on three hosts.",
        )
    query = run("scli", "--query_cluster")
    if single:
        return (
            "Add a second MDM and a tie-breaker, then switch the cluster mode.",
            query,
            run("scli", "--switch_cluster_mode", "--cluster_mode", "3_node", note="with the IDs of both"),
        )
    who = f"MDM {quoted(gone[0].node)}" if gone else "the missing MDM"
    return (
        f"Restore {phrase(who)}: check its node and its service.",
        query,
        run("systemctl", "status", "mdm", note="on that node"),
        "If that MDM stays down, replace it with a standby (scli --replace_cluster_mdm).",
    )


MDM_NO_REDUNDANCY = Rule(
    "mdm-no-redundancy",
    "cluster managers (MDM, monitor) without redundancy",
    Severity.CRITICAL,
    _check,
    (Cluster,),
    covers=(Covers(Cluster, where=_has_managers),),
    damage=Damage.REDUNDANCY,
    view="cluster",
    advice="Restore the missing MDM: check its node and its service.",
)
