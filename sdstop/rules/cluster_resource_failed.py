"""Resources of a high-availability cluster that failed, are blocked, or are stopped but should run."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.pacemaker.cluster import ClusterResource
from sdstop.core.finding import Covers, Finding, Limits, Rule, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted
from sdstop.readings.cluster import Cluster

_BAD = {"blocked": Severity.CRITICAL, "failed": Severity.WARNING, "stopped": Severity.WARNING,
        "unpromoted": Severity.WARNING}  # fmt: skip


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    by_cluster: dict[str, list[ClusterResource]] = {}
    for row in window.rows(ClusterResource).values():
        by_cluster.setdefault(row.cluster, []).append(row)
    for name, rows in by_cluster.items():
        cluster = window.get(Cluster, name)
        bad = [row for row in rows if row.state in _BAD]
        if cluster is not None and cluster.state != "quorum":
            # Without quorum, or in maintenance, stopped and failed resources are a consequence that cluster-degraded
            # reports.
            yield Unchecked(f"the cluster is not at work: {cluster.state}", name)
            continue
        for row in bad:
            yield _found(window, row)
        if not bad:
            yield _good(name, rows)


def _found(window: Window, row: ClusterResource) -> Finding:
    where = f" on {row.where}" if row.where else ""
    said = f"; last: {row.said}" if row.said else ""
    words = {
        "blocked": f"is blocked{where}: it could not be stopped, and the cluster leaves it alone until somebody acts",
        "failed": f"has failed{where}",
        "unpromoted": f"runs{where}, and no instance of it is promoted: nothing serves its data",
        "stopped": "is stopped everywhere, although it is not disabled",
    }
    return Finding(
        severity=_BAD[row.state],
        subject=f"{row.cluster}/{row.resource}",
        cause=f"{words[row.state]}{said}",
        values=(
            Value("state", "state", row.state),
            Value("running", "instances that run", row.running, "", above=row.instances),
            Value("failures", "failed actions on record", row.failures, "", above=0),
            Value("agent", "agent", row.agent),
        ),
        evidence=cites(window.cite(row), window.cite(row, "failures") if row.failures else None),
        advice=(
            f"crm_mon -1 -f; journalctl -u pacemaker | grep -w {operand(row.resource)}",
            f"once the cause is mended: crm_resource --cleanup --resource {quoted(row.resource)}",
        ),
        refuted_by="active on a node, and no instance of it failed or blocked",
    )


def _good(cluster: str, rows: list[ClusterResource]) -> RuledOut:
    running = sum(row.state == "running" for row in rows)
    left = [row for row in rows if row.state in {"disabled", "unmanaged"}]
    more = f", {len(left)} disabled or not managed" if left else ""
    failures = sum(row.failures for row in rows)
    past = f"; {failures} failed actions on record" if failures else ""
    return RuledOut(cluster, f"{running} of {len(rows)} resources run{more}{past}")


CLUSTER_RESOURCE_FAILED = Rule(
    "cluster-resource-failed",
    "a resource of Pacemaker failed, is blocked, or does not run although it should",
    Severity.CRITICAL,
    _check,
    (ClusterResource,),
    covers=(Covers(ClusterResource, "{cluster}"),),
)
