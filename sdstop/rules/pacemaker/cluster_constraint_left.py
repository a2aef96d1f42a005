"""Constraints that keep resources from nodes: bans left by a move by hand, and tickets that are not granted."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.pacemaker.readings import ClusterConstraint
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Value, Verdict, cites, passed
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    good = []
    for row in window.rows(ClusterConstraint).values():
        if row.state == "by hand":
            yield _ban(window, row)
        elif row.kind == "ticket" and row.state != "granted":
            yield _ticket(window, row)
        else:
            good.append(row)
    for row in good:
        if row.kind == "ticket":
            yield RuledOut(f"{row.cluster}/{row.constraint}", "all its resources may run: granted")
    bans = [f"{row.cluster}/{row.constraint}" for row in good if row.kind == "ban"]
    yield from passed(bans, "all are configured, none left by a move by hand")


def _ban(window: Window, row: ClusterConstraint) -> Finding:
    return Finding(
        severity=Severity.INFO,
        subject=f"{row.cluster}/{row.constraint}",
        title="BAN LEFT BY A MOVE",
        cause=fitting(f"{row.resource} may not run on {row.node}.", "A ban by hand keeps a resource from a node."),
        impact="The resource has fewer nodes to move to until the ban is removed.",
        values=(Value("resource", "resource", row.resource), Value("node", "forbidden node", row.node)),
        evidence=cites(window.cite(row)),
        advice=(
            run("crm_resource", "--clear", "--resource", row.resource or "", note="removes the ban"),
        ),
        harmless_if="the resource is meant to stay away from the node",
        refuted_by="no such constraint in crm_mon -1 -L",
        view_subject=row.cluster,
    )  # fmt: skip


def _ticket(window: Window, row: ClusterConstraint) -> Finding:
    return Finding(
        severity=Severity.INFO,
        subject=f"{row.cluster}/{row.constraint}",
        title="TICKET NOT GRANTED",
        cause=f"A ticket of this site is {'in standby' if row.state == 'standby' else row.state}.",
        impact="Resources that depend on the ticket do not run at this site.",
        values=(Value("state", "state", row.state),),
        evidence=cites(window.cite(row)),
        advice=(run("crm_ticket", "--info", note="tickets of this site"),),
        harmless_if="another site holds the ticket",
        refuted_by="the ticket granted in crm_mon -1 -c",
        view_subject=row.cluster,
    )


CLUSTER_CONSTRAINT_LEFT = Rule(
    "cluster-constraint-left",
    "bans left by moves by hand, and tickets that are not granted",
    Severity.INFO,
    _check,
    (ClusterConstraint,),
    covers=(Covers(ClusterConstraint, "{cluster}/{constraint}"),),
    damage=Damage.HYGIENE,
    standing=True,
    view="cluster",
    advice="Remove the constraint if the move is over.",
)
