"""Resources of a high-availability cluster that failed, are blocked, run twice, or are stopped but should run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.clusters.manager import doubt
from sdstop.collectors.pacemaker.readings import ClusterPolicy, ClusterResource
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.format import duration, plural
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.readings.cluster import Cluster, ClusterNode

_REMOTE = "ocf:pacemaker:remote"
"""Agent of the connection to a remote node, which has the name of the node."""
_IDLE = frozenset({"stopped", "unpromoted", "starting"})
"""States that follow from a cluster without quorum, without a leader, or with stop-all-resources."""
_WELL = frozenset({"running", "disabled", "unmanaged", "orphaned"})
_OFTEN = 3
"""Failures on record from which a resource that failed again lately fails repeatedly."""
_LATELY = 600.0
"""Seconds for which a failure is recent."""
_LASTING = 20.0
"""Seconds after which a stopped resource is not one that is just being moved."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    by_cluster: dict[str, list[ClusterResource]] = {}
    for row in window.rows(ClusterResource).values():
        by_cluster.setdefault(row.cluster, []).append(row)
    for name, rows in by_cluster.items():
        cluster, policy = window.get(Cluster, name), window.get(ClusterPolicy, name)
        halted = cluster is not None and cluster.state != "quorum"
        halted = halted or (policy is not None and bool(policy.stop_all))
        bad = [row for row in rows if row.state not in _WELL and not (halted and row.state in _IDLE)]
        found = [_found(window, row, bad) for row in bad]
        found += [_on_record(window, row) for row in rows if row.state == "running" and row.failures]
        found += [_on_purpose(window, row) for row in rows if row.state in _WELL - {"running"} and not halted]
        yield from found
        if halted and not any(finding.severity is not Severity.INFO for finding in found):
            state = cluster.state if cluster is not None and cluster.state != "quorum" else "stop-all-resources"
            yield Unchecked(f"cluster state: {state} (see cluster-degraded)", name)
        elif not halted and not bad:
            yield doubt(window, name) or _good(name, rows)


class _Words(Struct, frozen=True):
    """Texts of a state: title, cause without names, impact."""

    title: str
    cause: str
    impact: str


_TEXTS = {
    "blocked": _Words(
        "RESOURCE BLOCKED", "An action failed; manual action is needed",
        "The resource is neither stopped nor moved until an administrator acts.",
    ),
    "multiple": _Words(
        "RESOURCE RUNS TWICE", "Active on more than one node, and not a clone",
        "Both instances can write the same data.",
    ),
    "failed": _Words("RESOURCE FAILED", "Failed", "The service of this resource can be down."),
    "unclean": _Words(
        "RESOURCE ON A LOST NODE", "Last known on a node that is lost and not fenced",
        "The resource is not started elsewhere.",
    ),
    "unpromoted": _Words("RESOURCE NOT PROMOTED", "No instance promoted", "No instance serves the data."),
    "ignored": _Words(
        "FAILURE IGNORED", "Monitor failed; on-fail=ignore",
        "Pacemaker lists the resource as running and does not recover it.",
    ),
    "partial": _Words(
        "INSTANCE FAILED", "Instances are stopped where they failed", "The clone runs on fewer nodes than it could."
    ),
    "starting": _Words("RESOURCE STARTING", "Starting", "The service of this resource is not up yet."),
    "stopped": _Words(
        "RESOURCE STOPPED", "Not running on any node, although enabled", "The service of this resource is down."
    ),
}  # fmt: skip


def _severity(window: Window, row: ClusterResource) -> Severity:
    """Return the severity by effect: a service that is down is critical once it is not just being moved."""
    if row.state in {"blocked", "multiple", "unclean"}:
        return Severity.CRITICAL
    if row.state == "ignored":
        return Severity.WARNING
    if row.state in {"failed", "partial"}:
        return Severity.WARNING if row.running or row.is_fence_device else Severity.CRITICAL
    if row.is_fence_device:
        return Severity.WARNING
    if row.state == "stopped" and row.task in {"start", "promote", "stop", "demote"}:
        return Severity.CRITICAL
    states = [
        (when, None if past is None else past.state)
        for when, past in window.series(ClusterResource, (row.cluster, row.resource))
    ]
    since = states[-1][0] if states else 0.0
    for when, state in reversed(states):
        if state != row.state:
            break
        since = when
    lasting = bool(states) and states[-1][0] - since >= _LASTING
    if row.state == "starting":
        return Severity.WARNING if lasting else Severity.INFO
    return Severity.CRITICAL if lasting else Severity.WARNING


def _cause(row: ClusterResource) -> str:
    words = _TEXTS[row.state].cause
    where = f" on {row.where}" if row.where else ""
    if row.state == "stopped":
        where = ""
        if row.task == "start" and row.failed_on:
            words, where = "Start failed", f" on {row.failed_on}"
        elif row.waits:
            return fitting(f"Stopped: {row.waits} of its group does not run.", "Stopped: its group is not started.")
        elif row.barred:
            return fitting(f"Stopped: barred from {row.barred}.", f"{words}.")
    elif row.state == "unclean":
        return fitting(f"Last known on {row.where}, lost and not fenced.", f"{words}.")
    elif row.state == "ignored":
        return fitting(f"Monitor failed on {row.failed_on}; on-fail=ignore.", f"{words}.")
    elif row.state == "partial":
        return fitting(f"Stopped where an action failed: {row.failed_on}.", f"{words}.")
    elif row.state == "failed" and row.failed_on:
        where = f" on {row.failed_on}"
    elif row.state == "blocked" and row.task:
        words, where = f"{row.task.capitalize()} failed", f" on {row.failed_on}" if row.failed_on else where
    said = f": {row.said.partition(': ')[2].rpartition(' (')[0] or row.said}" if row.said else ""
    return fitting(f"{words}{where}{said}.", f"{words}{where}.", f"{words}.")


def _found(window: Window, row: ClusterResource, bad: Sequence[ClusterResource]) -> Finding:
    words = _TEXTS[row.state]
    title, impact = words.title, words.impact
    if row.is_fence_device:
        title, impact = title.replace("RESOURCE", "FENCE DEVICE"), "Lost nodes may not be fenced."
    elif row.state == "stopped" and row.task == "start":
        title = "START FAILED"
    explained: tuple[str, ...] = ()
    node = window.get(ClusterNode, (row.cluster, "remote", row.resource)) if row.agent == _REMOTE else None
    if row.state == "unclean" or node is not None:
        explained = (f"cluster-degraded:{row.cluster}",)
    elif row.state == "stopped" and row.waits in {other.resource for other in bad} and not row.failures:
        explained = (f"cluster-resource-failed:{row.cluster}/{row.waits}",)
    return Finding(
        severity=_severity(window, row),
        subject=f"{row.cluster}/{row.resource}",
        title=title,
        cause=_cause(row),
        impact=impact,
        values=_values(row),
        evidence=cites(window.cite(row), window.cite(row, "failures") if row.failures else None),
        advice=_advice(row),
        explained_by=explained,
        damage=Damage.DATA if row.state == "multiple" else Damage.AVAILABILITY,
        refuted_by="an active resource without failed or blocked instances",
        view_subject=row.cluster,
    )


def _values(row: ClusterResource) -> tuple[Value, ...]:
    return (
        Value("state", "state", row.state),
        Value("running", "running instances", row.running, "", of=row.instances),
        Value("failures", "failed actions on record", row.failures, "", above=0),
        *((Value("fail_count", "failures since the last cleanup", row.fail_count, ""),) if row.fail_count else ()),
        Value("agent", "agent", row.agent),
        Value("said", "last failure", row.said),
        *((Value("barred", "forbidden nodes", row.barred),) if row.barred else ()),
    )


def _advice(row: ClusterResource) -> tuple[Advice, ...]:
    if row.state == "unclean":
        return ("See to the lost node first.", run("crm_mon", "-1", "-r"))
    if row.state == "multiple":
        return (
            "Stop the instance whose data is not wanted, by hand and with care.",
            run("crm_resource", "--locate", "--resource", row.resource),
            run("crm_mon", "-1", "-r", "-f"),
        )
    if row.state == "stopped" and row.barred and not row.failures:
        return (
            "Remove the constraint if it is not wanted.",
            run("crm_resource", "--why", "--resource", row.resource),
            run("crm_resource", "--clear", "--resource", row.resource, note="left by a ban or move"),
        )
    return (
        "Fix the cause that the log names, then clean up the resource.",
        run("crm_mon", "-1", "-r", "-f", note="failed actions"),
        run("journalctl", "-u", "pacemaker").pipe("grep", "-w", *operands(row.resource)),
        run("crm_resource", "--cleanup", "--resource", row.resource, note="after the fix"),
    )


def _on_record(window: Window, row: ClusterResource) -> Finding:
    """Return a resource that failed and runs again: its failed actions count until they are cleaned up."""
    times = max(row.failures, row.fail_count or 0)
    if times >= _OFTEN and row.failed_ago is not None and row.failed_ago <= _LATELY:
        return _repeatedly(window, row, times)
    count = f"{plural(times, 'failed action')} on record"
    return Finding(
        severity=Severity.INFO,
        subject=f"{row.cluster}/{row.resource}",
        title="FAILED BEFORE, RUNS NOW",
        cause=fitting(f"{count}; {row.said}.", f"{count}."),
        impact="Recorded failures count towards its migration threshold.",
        values=_values(row),
        evidence=cites(window.cite(row), window.cite(row, "failures")),
        advice=(run("crm_resource", "--cleanup", "--resource", row.resource, note="after the cause is clear"),),
        damage=Damage.HYGIENE,
        standing=True,
        refuted_by="no failed actions of the resource in crm_mon -1 -f",
        view_subject=row.cluster,
    )


def _repeatedly(window: Window, row: ClusterResource, times: int) -> Finding:
    """Return a resource that runs now, and fails and recovers again and again."""
    count = f"{times} failures since the last cleanup, the last {duration(row.failed_ago)} ago"
    why = f": {row.said.partition(': ')[2].rpartition(' (')[0] or row.said}" if row.said else ""
    return Finding(
        severity=Severity.WARNING,
        subject=f"{row.cluster}/{row.resource}",
        title="RESOURCE FAILS REPEATEDLY",
        cause=fitting(f"{count}{why}.", f"{count}.", f"{times} failures on record."),
        impact="Each recovery interrupts the service of this resource.",
        values=_values(row),
        evidence=cites(window.cite(row), window.cite(row, "failures")),
        advice=_advice(row),
        damage=Damage.AVAILABILITY,
        refuted_by="an unchanged fail count in crm_mon -1 -f ten minutes later",
        harmless_if="the failures are those of a test",
        view_subject=row.cluster,
    )


_PURPOSE = {
    "disabled": ("RESOURCE DISABLED", "Disabled: its target role is Stopped.", "The service of this resource is off."),
    "unmanaged": (
        "RESOURCE NOT MANAGED", "Pacemaker does not manage the resource.", "A failure of it leads to no recovery."
    ),
    "orphaned": (
        "RESOURCE NO LONGER CONFIGURED", "Running, and no longer configured.", "Pacemaker stops orphaned resources."
    ),
}  # fmt: skip


def _on_purpose(window: Window, row: ClusterResource) -> Finding:
    title, cause, impact = _PURPOSE[row.state]
    return Finding(
        severity=Severity.INFO,
        subject=f"{row.cluster}/{row.resource}",
        title=title,
        cause=cause,
        impact=impact,
        values=_values(row),
        evidence=cites(window.cite(row)),
        damage=Damage.HYGIENE,
        standing=True,
        refuted_by="the resource enabled and managed in crm_mon -1 -r",
        view_subject=row.cluster,
    )


def _good(cluster: str, rows: list[ClusterResource]) -> RuledOut:
    return RuledOut(cluster, f"{sum(row.state == 'running' for row in rows)} of {len(rows)} resources run")


CLUSTER_RESOURCE_FAILED = Rule(
    "cluster-resource-failed",
    "Pacemaker resource failed, blocked, running twice, or stopped although enabled",
    Severity.CRITICAL,
    _check,
    (ClusterResource,),
    covers=(Covers(ClusterResource, "{cluster}"),),
    damage=Damage.AVAILABILITY,
    view="cluster",
    advice="Fix the cause that the log names, then clean up the resource.",
)
