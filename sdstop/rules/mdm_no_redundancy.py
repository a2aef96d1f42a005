"""Clusters that cannot lose another manager: MDMs and tie-breakers, or Ceph's monitors."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.core.finding import Covers, Finding, Limits, Rule, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import quoted
from sdstop.readings.cluster import Cluster, ClusterNode

_WITHOUT = frozenset({"drbd", "pacemaker"})
"""Kinds to skip: DRBD has no managers, and Corosync's quorum depends on more than counts (two_node, qdevice)."""
_ROLES = frozenset({"mdm", "tiebreaker", "mon"})


def _has_managers(cluster: Cluster) -> bool:
    return cluster.kind not in _WITHOUT


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for cluster in window.rows(Cluster).values():
        if not _has_managers(cluster):
            continue
        if cluster.managers is None and cluster.managers_up is None:
            yield Unchecked("how many managers it has is not told", cluster.cluster)
        elif cluster.tolerates is None or cluster.managers_up is None:
            yield Unchecked("how many of its managers are there is not told", cluster.cluster)
        elif cluster.tolerates > 0 and (cluster.managers is None or cluster.managers_up >= cluster.managers):
            more = "" if cluster.tolerates == 1 else "s"
            records = "" if cluster.replicas_up is None else f", {cluster.replicas_up} with its records"
            yield RuledOut(
                cluster.cluster,
                f"{cluster.managers_up} of {cluster.managers or cluster.managers_up} managers{records}: it may lose "
                f"{cluster.tolerates} manager{more}",
            )
        else:
            yield _found(window, cluster, cluster.managers_up, cluster.tolerates)


def _found(window: Window, cluster: Cluster, up: int, tolerates: int) -> Finding:
    managers = cluster.managers or up
    gone = [
        node for node in window.rows(ClusterNode).values()
        if node.cluster == cluster.cluster and node.role in _ROLES and node.healthy == 0
    ]  # fmt: skip
    if managers == 1:
        summary = "there is one manager and no other: when it goes, nobody leads the cluster"
    else:
        who = f" ({', '.join(f'{node.node} {node.state}' for node in gone[:3])})" if gone else ""
        left = "may lose one more" if tolerates == 1 else f"may lose {tolerates} more" if tolerates else "may lose none"
        summary = f"{up} of {managers} managers are there{who}: it {left} and still be led"
    severity = Severity.CRITICAL if managers > 1 and tolerates == 0 else Severity.WARNING
    return Finding(
        severity=severity,
        subject=cluster.cluster,
        cause=summary,
        values=(
            Value("managers", "managers that are there", up, "", above=managers),
            Value("replicas", "copies of its records", cluster.replicas_up, "", above=cluster.replicas),
            Value("tolerates", "managers that it may still lose", tolerates, "", above=1),
            Value("state", "state", cluster.state),
        ),
        evidence=cites(window.cite(cluster), *(window.cite(node) for node in gone[:3])),
        advice=_advice(cluster, gone, single=managers == 1),
        refuted_by=f"{cluster.managers or 'all'} managers that are well",
    )


def _advice(cluster: Cluster, gone: list[ClusterNode], *, single: bool) -> tuple[str, ...]:
    if cluster.kind == "ceph":
        return ("ceph mon stat; ceph health detail", "add monitors until there are three, on three hosts")
    if single:
        return (
            "scli --query_cluster",
            "add a second MDM and a tie-breaker, then: scli --switch_cluster_mode --cluster_mode 3_node ...",
        )
    who = gone[0].node if gone else "the one that is missing"
    return (
        "scli --query_cluster",
        f"bring {quoted(who)} back: is its node up, and its service (systemctl status mdm)?",
        "if it does not come back: put a standby MDM in its place (scli --replace_cluster_mdm)",
    )


MDM_NO_REDUNDANCY = Rule(
    "mdm-no-redundancy",
    "the managers of a cluster cannot spare one more, or one is missing",
    Severity.CRITICAL,
    _check,
    (Cluster,),
    covers=(Covers(Cluster, where=_has_managers),),
)
