"""The cluster manager is configured on this node and does not run, runs only in part, or does not answer.

A daemon that hangs keeps its listening socket: only an unanswered question shows it. Pacemaker goes on
reporting its state before Corosync hung, so its answers do not prove a healthy cluster.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.clusters.manager import silent
from sdstop.collectors.pacemaker.cluster import PACEMAKER
from sdstop.collectors.pacemaker.corosync import COROSYNC_MEMBERSHIP
from sdstop.collectors.pacemaker.readings import ClusterMembership, ClusterPolicy
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.rule import Limits, Rule
from sdstop.core.snapshot import Run
from sdstop.readings.cluster import Cluster

_YES: dict[int | None, str] = {0: "no", 1: "yes"}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    hung = silent(window, COROSYNC_MEMBERSHIP.name)
    if hung is not None:
        yield from (_unanswered(window, "Corosync", row, hung) for row in window.rows(ClusterPolicy).values())
    mute = silent(window, PACEMAKER.name)
    for row in window.rows(ClusterMembership).values():
        answers = window.get(Cluster, row.cluster) is not None
        if row.corosync == "running":
            broken = row.pacemaker in {"stopped", "partial"}
        else:
            broken = row.corosync == "stopped" and (row.pacemaker != "not used" or bool(row.enabled))
        if broken:
            yield _found(window, row)
        elif mute is not None and row.pacemaker == "running":
            yield _unanswered(window, "Pacemaker", row, mute)
        elif row.corosync == "stopped":
            yield RuledOut(row.cluster, "0 daemons run, and systemd does not start them")
        elif row.pacemaker == "unknown" and not answers:
            yield Unchecked("daemons of Pacemaker unknown", row.cluster, calm=True, gap=Gap.UNRECORDED)
        elif row.pacemaker == "not used":
            yield RuledOut(row.cluster, "Corosync runs with all daemons; Pacemaker is not used here")
        else:
            yield RuledOut(row.cluster, "Corosync and Pacemaker run with all daemons")


_TOOL = {"Corosync": "corosync-quorumtool", "Pacemaker": "crm_mon"}
_HUNG = {
    "Corosync": "The other nodes can take this one for lost and run its resources.",
    "Pacemaker": "Resources on this node can run without control.",
}


def _unanswered(window: Window, daemon: str, row: ClusterPolicy | ClusterMembership, ran: Run) -> Finding:
    """Return a daemon that listens and does not answer: critical from the second unanswered question on."""
    again = ran.started > ran.began
    known: Reading = row
    return Finding(
        severity=Severity.CRITICAL if again else Severity.WARNING,
        subject=row.cluster,
        title=f"{daemon.upper()} DOES NOT ANSWER",
        cause=f"{daemon} runs, but {_TOOL[daemon]} got no answer in time.",
        impact=_HUNG[daemon],
        values=(
            Value("source", "source", f"{ran.collector}: {ran.outcome.value}"),
            Value("since", "unanswered for at least", ran.started - ran.began if again else None, "seconds"),
        ),
        evidence=cites(window.cite(known)),
        advice=(
            "Compare with the state on the other nodes.",
            run("crm_mon", "-1", note="on another node"),
            run("journalctl", "-b", "-u", daemon.lower()),
        ),
        refuted_by=f"an answer of {_TOOL[daemon]} on this node",
    )


def _found(window: Window, row: ClusterMembership) -> Finding:
    partial = row.pacemaker == "partial"
    if row.corosync == "stopped":
        title, cause = "CLUSTER NOT RUNNING", "Corosync is configured on this node and does not run."
        impact = "This node is not in the cluster and runs none of its resources."
        steps = (run("systemctl", "status", "corosync", "pacemaker"), run("journalctl", "-b", "-u", "corosync"))
    elif partial:
        title = "PACEMAKER RUNS ONLY IN PART"
        cause = fitting(f"Corosync runs; gone: {row.gone}.", "Corosync runs; daemons of Pacemaker are gone.")
        impact = "Resources on this node can run without control."
        steps = (run("systemctl", "status", "pacemaker"), run("journalctl", "-b", "-u", "pacemaker"))
    else:
        title, cause = "PACEMAKER NOT RUNNING", "Corosync runs on this node, and Pacemaker does not."
        impact = "This node starts no resources; any left here run without control."
        steps = (run("systemctl", "status", "pacemaker"), run("journalctl", "-b", "-u", "pacemaker"))
    off = row.corosync == "stopped" and not row.enabled
    return Finding(
        severity=Severity.CRITICAL if partial else Severity.INFO if off else Severity.WARNING,
        subject=row.cluster,
        title=title,
        cause=cause,
        impact=impact,
        values=(
            Value("corosync", "Corosync", row.corosync),
            Value("pacemaker", "Pacemaker", row.pacemaker),
            *((Value("gone", "daemons gone", row.gone),) if row.gone else ()),
            Value("enabled", "started at boot", _YES.get(row.enabled)),
            Value("members", "members", row.members, "", of=row.configured),
            Value("quorate", "quorum", _YES.get(row.quorate)),
        ),
        evidence=cites(window.cite(row), window.cite(row, "pacemaker") if row.witness else None),
        advice=(
            "Check which resources still run on this node, then start it.",
            *steps,
            run("crm_mon", "-1", note="on another node"),
        ),
        standing=off,
        refuted_by="crm_mon answers on this node, with all daemons running",
    )  # fmt: skip


CLUSTER_NOT_RUNNING = Rule(
    "cluster-not-running",
    "cluster manager configured on this node, and not running, only in part, or silent",
    Severity.CRITICAL,
    _check,
    (ClusterMembership,),
    instead=(ClusterPolicy,),
    damage=Damage.AVAILABILITY,
    view="cluster",
    advice="Check which resources still run on this node, then start it.",
)
