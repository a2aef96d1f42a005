"""Resources of a high-availability cluster that failed, are blocked, or are stopped but should run."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.pacemaker.cluster import ClusterResource
from sdstop.core.advice import operands, run
from sdstop.core.finding import (
    Covers,
    Damage,
    Finding,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
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
            yield Unchecked(f"cluster state: {cluster.state} (see cluster-degraded)", name)
            continue
        for row in bad:
            yield _found(window, row)
        if not bad:
            yield _good(name, rows)


_TEXTS = {
    "blocked": (
        "RESOURCE BLOCKED", "Stop failed, waiting for manual action",
        "The resource is neither stopped nor moved until an administrator acts.",
    ),
    "failed": ("RESOURCE FAILED", "Failed", "The service of this resource can be down."),
    "unpromoted": ("RESOURCE NOT PROMOTED", "No instance promoted", "No instance serves the data."),
    "stopped": (
        "RESOURCE STOPPED", "Not running on any node, although enabled", "The service of this resource is down."
    ),
}  # fmt: skip
"""Title, cause and impact of each bad state."""


def _found(window: Window, row: ClusterResource) -> Finding:
    where = f" on {row.where}" if row.where else ""
    title, words, impact = _TEXTS[row.state]
    return Finding(
        severity=_BAD[row.state],
        subject=f"{row.cluster}/{row.resource}",
        title=title,
        cause=fitting(f"{words}{where}{f': {row.said}' if row.said else ''}.", f"{words}{where}.", f"{words}."),
        impact=impact,
        values=(
            Value("state", "state", row.state),
            Value("running", "running instances", row.running, "", of=row.instances),
            Value("failures", "failed actions on record", row.failures, "", above=0),
            Value("agent", "agent", row.agent),
            Value("said", "last failure", row.said),
        ),
        evidence=cites(window.cite(row), window.cite(row, "failures") if row.failures else None),
        advice=(
            "Fix the cause that the log names, then clean up the resource.",
            run("crm_mon", "-1", "-f", note="failed actions"),
            run("journalctl", "-u", "pacemaker").pipe("grep", "-w", *operands(row.resource)),
            run("crm_resource", "--cleanup", "--resource", row.resource, note="after the fix"),
        ),
        refuted_by="an active resource without failed or blocked instances",
        view_subject=row.cluster,
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
    "Pacemaker resource failed, blocked or stopped although enabled",
    Severity.CRITICAL,
    _check,
    (ClusterResource,),
    covers=(Covers(ClusterResource, "{cluster}"),),
    damage=Damage.AVAILABILITY,
    view="cluster",
)
