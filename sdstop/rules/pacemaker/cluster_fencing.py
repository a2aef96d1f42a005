"""Clusters that cannot fence a lost node: fencing is disabled, has no device, or failed the last time."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.clusters.manager import can_fence
from sdstop.collectors.pacemaker.readings import ClusterPolicy
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule
from sdstop.readings.cluster import Cluster

_SEVERAL = 2


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for policy in window.rows(ClusterPolicy).values():
        cluster = window.get(Cluster, policy.cluster)
        devices = f"{policy.fence_devices} fence device{'s' * (policy.fence_devices != 1)}"
        if cluster is not None and (cluster.managers or 0) < _SEVERAL:
            yield RuledOut(policy.cluster, "1 node: another one to fence does not exist")
        elif policy.fencing is None:
            yield Unchecked("fencing unknown", policy.cluster, gap=Gap.OPEN)
        elif not policy.fencing:
            yield _found(
                window, policy, Severity.INFO, "FENCING DISABLED", "Fencing is disabled: stonith-enabled=false.",
                "A lost node can go on running resources that start elsewhere.",
                ("Configure a fence device and set stonith-enabled=true.",),
            )  # fmt: skip
        elif can_fence(policy) is False:
            yield _found(
                window, policy, Severity.WARNING, "FENCING WITHOUT A DEVICE",
                "Fencing is enabled, without a fence device or a watchdog.",
                "Pacemaker starts no resources and waits for lost nodes without end.",
                (
                    "Configure a fence device, or disable fencing deliberately.",
                    run("stonith_admin", "--list-installed", note="agents for devices"),
                ),
            )  # fmt: skip
        elif policy.fencing_pending:
            yield _found(
                window, policy, Severity.WARNING, "FENCING UNDER WAY",
                fitting(f"Fencing of {policy.fencing_pending} has not ended.", "Fencing of a node has not ended."),
                "Resources of the node start elsewhere only after it.",
                (
                    "Wait for its end; an entry that stays is a leftover of a fencer that died.",
                    run("stonith_admin", "--history", "*", "--verbose"),
                    run("stonith_admin", "--cleanup", "--history", "*", note="removes a leftover entry"),
                ),
            )  # fmt: skip
        elif policy.fencing_failed:
            yield _found(
                window, policy, Severity.WARNING, "FENCING FAILED",
                fitting(f"The last fencing of {policy.fencing_failed} failed.", "The last fencing of a node failed."),
                "Resources of a lost node stay where they were until it is fenced.",
                ("Test the fence device.", run("stonith_admin", "--history", "*", "--verbose", note="reasons")),
            )  # fmt: skip
        elif can_fence(policy) is None:
            yield Unchecked(f"{devices}; whether nodes have a watchdog is unknown", policy.cluster, calm=True)
        else:
            yield RuledOut(policy.cluster, f"fencing enabled, {devices}")


def _found(
    window: Window, policy: ClusterPolicy, severity: Severity, title: str, cause: str, impact: str,
    advice: tuple[Advice, ...],
) -> Finding:  # fmt: skip
    failed = {"FENCING FAILED": "fencing_failed", "FENCING UNDER WAY": "fencing_pending"}.get(title, "")
    return Finding(
        severity=severity,
        subject=policy.cluster,
        title=title,
        cause=cause,
        impact=impact,
        values=(
            Value("fencing", "fencing", "enabled" if policy.fencing else "disabled"),
            Value("devices", "fence devices", policy.fence_devices),
            Value("watchdog", "watchdog", policy.watchdog),
            Value("pending", "nodes being fenced", policy.fencing_pending or None),
            Value("failed", "nodes whose fencing failed", policy.fencing_failed or None),
        ),
        evidence=cites(window.cite(policy, failed)),
        advice=advice,
        standing=not failed,
        harmless_if="the resources may run on several nodes at once" if not policy.fencing else "",
        refuted_by="stonith-enabled=true and a fence device that fenced a node in a test",
    )


CLUSTER_FENCING = Rule(
    "cluster-fencing",
    "fencing of a Pacemaker cluster disabled, without a device, or failed",
    Severity.WARNING,
    _check,
    (ClusterPolicy,),
    damage=Damage.HYGIENE,
    standing=True,
    view="cluster",
    advice="Configure a fence device and test it.",
)
