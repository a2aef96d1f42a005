"""Readings of a high-availability cluster: its resources, its policy and its constraints."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.evidence import command_key
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State

RESOURCE_STATES = (
    "blocked", "multiple", "failed", "unclean", "stopped", "unpromoted", "ignored", "partial", "starting", "disabled",
    "orphaned", "unmanaged", "running",
)  # fmt: skip
"""States of a resource, worst first."""


class ClusterResource(Reading, frozen=True, kw_only=True):
    """A resource managed by a high-availability cluster; the instances of a clone share a row.

    States, worst first: blocked (neither stopped nor moved until an administrator acts), multiple (active on several
    nodes, although it may run once), failed, unclean (last known on nodes that are lost and not fenced), stopped,
    unpromoted, ignored (its monitor fails, and on-fail=ignore keeps it listed as running), partial (stopped on an
    online node where it failed), starting, disabled, orphaned (no longer configured), unmanaged, running.
    """

    family: ClassVar[str] = "cluster_resource"
    title: ClassVar[str] = "Cluster resources"
    rows_of = Source("{origin}", 'id="{resource}"')
    fields_of: ClassVar = {"failures": Source("{origin}", '"{part}_')}

    cluster: Annotated[str, Label("Cluster", "Name of the cluster", names=Name.VOLUME)]
    resource: Annotated[str, Label("Resource", "Its name", names=Name.VOLUME)]
    agent: Annotated[str, Fact("Agent", "Resource agent", plain=True)]
    state: Annotated[
        str,
        State(
            "State",
            "Worst state of an instance: blocked, failed, unclean, stopped, partial, disabled, running ...",
        ),
    ]
    where: Annotated[str, Fact("Where", "Nodes that run the resource, and its role", export=False, names=Name.EVIDENCE)]
    instances: Annotated[int, Metric("Instances", "Configured number of instances")]
    running: Annotated[int, Metric("Running", "Active instances of the resource")]
    failures: Annotated[int, Metric("Failures", "Failed actions of the resource that are not cleaned up")]
    fail_count: Annotated[
        int | None,
        Metric(
            "Fail count", "Failures since the last cleanup, as they count towards its threshold",
            name="sdstop_cluster_resource_failures_since_cleanup",
        ),
    ] = None  # fmt: skip
    failed_ago: Annotated[
        float | None, Metric("Failed ago", "Time since its last failed action", "seconds", export=False)
    ] = None
    said: Annotated[str | None, Fact("Said", "Message of its last failed action", export=False, names=Name.TEXT)] = None
    task: Annotated[str | None, Fact("Task", "Its last failed action: start, stop ...", export=False, plain=True)] = (
        None
    )
    failed_on: Annotated[
        str,
        Fact(
            "Failed on",
            "Nodes where it has failed, or with failed actions; commas between",
            export=False,
            names=Name.EVIDENCE,
        ),
    ] = ""
    part: Annotated[
        str, Fact("Part", "Resource of its last failed action, which is one of a bundle's own", export=False,
                  names=Name.EVIDENCE),
    ] = ""  # fmt: skip
    waits: Annotated[
        str, Fact("Waits for", "Member of its group that must run first, and does not", export=False,
                  names=Name.EVIDENCE),
    ] = ""  # fmt: skip
    barred: Annotated[
        str, Fact("Barred", "Nodes that a constraint forbids to it", export=False, names=Name.EVIDENCE)
    ] = ""
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""

    @property
    def is_fence_device(self) -> bool:
        """Whether it is a device that fences nodes."""
        return self.agent.startswith("stonith:")


class ClusterPolicy(Reading, frozen=True, kw_only=True):
    """Configured treatment of lost nodes, and of all resources, in a high-availability cluster."""

    family: ClassVar[str] = "cluster_policy"
    title: ClassVar[str] = "Cluster policies"
    rows_of = Source("{origin}", "<cluster_options")
    fields_of: ClassVar = dict.fromkeys(("fencing_failed", "fencing_pending"), Source("{origin}", "<fence_event"))

    cluster: Annotated[str, Label("Cluster", "Name of the cluster", names=Name.VOLUME)]
    fencing: Annotated[int | None, Metric("Fencing", "Whether fencing is enabled (1 = yes)", setting=True)]
    fence_devices: Annotated[int, Metric("Fence devices", "Configured fence devices", setting=True)]
    watchdog: Annotated[
        int | None,
        Metric(
            "Watchdog", "Whether nodes fence themselves by a watchdog (1 = yes); absent if not queried", setting=True
        ),
    ]
    without_quorum: Annotated[str | None, Fact("Without quorum", "no-quorum-policy", plain=True)]
    maintenance: Annotated[int, Metric("Maintenance", "Whether the whole cluster is in maintenance mode (1 = yes)")]
    stop_all: Annotated[int, Metric("Stop all", "Whether stop-all-resources is set (1 = yes)", setting=True)]
    fencing_pending: Annotated[
        str, Fact("Fencing pending", "Nodes whose fencing is under way, commas between", export=False,
                  names=Name.EVIDENCE),
    ]  # fmt: skip
    fencing_failed: Annotated[
        str, Fact("Fencing failed", "Nodes whose last fencing failed, commas between", export=False,
                  names=Name.EVIDENCE),
    ]  # fmt: skip
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""


class ClusterConstraint(Reading, frozen=True, kw_only=True):
    """A constraint that keeps resources from nodes: a ban left by `crm_resource --ban` or `--move`, or a ticket."""

    family: ClassVar[str] = "cluster_constraint"
    title: ClassVar[str] = "Cluster constraints"
    rows_of = Source("{origin}", 'id="{constraint}"')

    cluster: Annotated[str, Label("Cluster", "Name of the cluster", names=Name.VOLUME)]
    kind: Annotated[str, Label("Kind", "ban or ticket", plain=True)]
    ticket: Annotated[str, Label("Ticket", "Name of the ticket; empty for a ban", names=Name.VOLUME)] = ""
    resource: Annotated[str, Label("Resource", "Resource that it is about", names=Name.VOLUME)] = ""
    node: Annotated[str, Label("Node", "Node that it forbids to the resource", names=Name.HOST)] = ""
    by_hand: Annotated[int, Label("By hand", "Whether crm_resource left it (1 = yes)")] = 0
    constraint: Annotated[str, Fact("Constraint", "ID of the constraint, or name of the ticket", names=Name.EVIDENCE)]
    state: Annotated[str, State("State", "State of a ban: by hand, configured; of a ticket: granted, standby, revoked")]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""


COROSYNC = "/etc/corosync/corosync.conf"

SOCKETS = "/proc/net/unix"

LINKS = ("corosync-cfgtool", "-s")


class ClusterMembership(Reading, frozen=True, kw_only=True):
    """Part of this node in a cluster of Corosync and Pacemaker: whether the daemons run, and the votes they count.

    States of `pacemaker`: running, partial (pacemakerd or a daemon that it starts is gone), stopped, not used (never
    configured here), unknown.
    """

    family: ClassVar[str] = "cluster_membership"
    title: ClassVar[str] = "Cluster membership"
    rows_of = Source("{origin}", "{needle}")
    fields_of: ClassVar = {
        "pacemaker": Source(SOCKETS, "{witness}"),
        "configured": Source(COROSYNC, "node"),
    }

    cluster: Annotated[str, Label("Cluster", "Name of the cluster", names=Name.VOLUME)]
    corosync: Annotated[str, State("Corosync", "State of Corosync: running, stopped or unknown")]
    pacemaker: Annotated[str, State("Pacemaker", "State of Pacemaker: running, partial, stopped, not used or unknown")]
    gone: Annotated[str, Fact("Gone", "Daemons of Pacemaker that do not run, commas between", plain=True)]
    enabled: Annotated[
        int | None, Metric("Enabled", "Whether systemd starts the cluster at boot (1 = yes)", setting=True, detail=True)
    ]
    configured: Annotated[int | None, Metric("Configured", "Nodes in corosync.conf", setting=True, detail=True)]
    two_node: Annotated[
        int | None, Metric("Two node", "Whether one node of two keeps quorum (1 = yes)", setting=True, detail=True)
    ]
    quorate: Annotated[int | None, Metric("Quorate", "Whether Corosync reports quorum (1 = yes)")]
    members: Annotated[int | None, Metric("Members", "Nodes in the membership", setting=True)]
    votes: Annotated[int | None, Metric("Votes", "Votes present")]
    expected: Annotated[int | None, Metric("Expected", "Votes expected", setting=True)]
    quorum: Annotated[int | None, Metric("Quorum", "Votes needed", setting=True)]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = COROSYNC
    needle: Annotated[str, Fact("Needle", "Text that marks it in the evidence", export=False, names=Name.EVIDENCE)] = ""
    witness: Annotated[
        str, Fact("Witness", "Socket of a daemon that runs", export=False, names=Name.EVIDENCE)
    ] = ""  # fmt: skip


class CorosyncLink(Reading, frozen=True, kw_only=True):
    """A link of Corosync from this node to another one."""

    family: ClassVar[str] = "corosync_link"
    title: ClassVar[str] = "Corosync links"
    rows_of = Source(command_key(LINKS), "{needle}")

    cluster: Annotated[str, Label("Cluster", "Name of the cluster", names=Name.VOLUME)]
    link: Annotated[str, Label("Link", "Number of the link", plain=True)]
    node: Annotated[str, Label("Node", "Name of the other node, or its ID", names=Name.HOST)]
    state: Annotated[str, State("State", "State of the link: connected, disconnected, disabled or faulty")]
    member: Annotated[int | None, Metric("Member", "Whether the other node is in the membership (1 = yes)")]
    needle: Annotated[str, Fact("Needle", "Text that marks it in the evidence", export=False, names=Name.EVIDENCE)] = ""
