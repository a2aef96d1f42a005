"""Pacemaker: nodes and resources of a high-availability cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from sdstop.collectors.pacemaker.crm_mon import (
    MON,
    Failure,
    ManagedResource,
    PacemakerNode,
    PacemakerStatus,
    nodes_of,
    parse_name,
    parse_status,
    without_reasons,
)
from sdstop.core.collector import SLOW, Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.host import Absent, Denied, Failed, Host, Output
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State
from sdstop.core.retention import lines_of
from sdstop.readings.cluster import Cluster, ClusterNode

KIND = "pacemaker"
COROSYNC = "/etc/corosync/corosync.conf"
_UNPROMOTED = frozenset({"Unpromoted", "Slave"})
"""Roles of instances of a promotable clone that serve no data; Slave is of Pacemaker before 2.1."""
_DISCONNECTED = frozenset({102, 107})
"""Exit codes of crm_mon if Pacemaker is not running: CRM_EX_DISCONNECT, and ENOTCONN before 2.0."""


class ClusterResource(Reading, frozen=True, kw_only=True):
    """A resource managed by a high-availability cluster; the instances of a clone share a row."""

    family: ClassVar[str] = "cluster_resource"
    title: ClassVar[str] = "Cluster resources"
    rows_of = Source("{origin}", 'id="{resource}"')
    fields_of: ClassVar = {"failures": Source("{origin}", '"{resource}_')}

    cluster: Annotated[str, Label("Cluster", "Name of the cluster", names=Name.VOLUME)]
    resource: Annotated[str, Label("Resource", "Its name", names=Name.VOLUME)]
    agent: Annotated[str, Fact("Agent", "Resource agent", plain=True)]
    state: Annotated[
        str,
        State(
            "State",
            "Worst state of an instance: blocked, failed, stopped, unpromoted, unmanaged, disabled, running",
        ),
    ]
    where: Annotated[str, Fact("Where", "Nodes that run the resource, and its role", export=False, names=Name.EVIDENCE)]
    instances: Annotated[int, Metric("Instances", "Configured number of instances")]
    running: Annotated[int, Metric("Running", "Active instances of the resource")]
    failures: Annotated[int, Metric("Failures", "Failed actions of the resource that are not cleaned up")]
    said: Annotated[str | None, Fact("Said", "Message of its last failed action", export=False, names=Name.TEXT)] = None
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""


def read(host: Host) -> Iterable[Reading]:
    """Return the cluster, its nodes and resources. Raise Absent if Pacemaker is not installed or not running."""
    key, text = _asked(host)
    said = parse_status(text)
    name = parse_name(host.maybe(COROSYNC) or "") or KIND
    here = host.maybe("/proc/sys/kernel/hostname")
    return [
        _cluster(said, name, key),
        *(_node(member, name, here, key) for member in said.members),
        *(_resource(known, said.failures, name, key) for known in said.resources),
    ]


def _asked(host: Host) -> tuple[str, str]:
    """Return the evidence key and the crm_mon output, recorded or current."""
    recorded = [
        name for name in host.recorded("crm_mon")
        if any(word in name for word in ("--output-as=xml", "--as-xml", "-X"))
    ]  # fmt: skip
    if recorded and " ".join(MON) not in recorded:
        name = recorded[0]
        key = f"cmd:{name}" if " " in name else f"slug:{name}"
        return key, _said(key, host.recorded_output(name))
    return command_key(MON), _said(command_key(MON), host.run(MON, 5.0))


def _said(key: str, output: Output) -> str:
    if output.exit == 0:
        return output.text
    said = output.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    if output.exit in _DISCONNECTED or "not connected" in f"{said}{output.text[:2000]}".lower():
        raise Absent(key, "Pacemaker does not run here")
    if "ermission denied" in said or "ot authorized" in said:
        raise Denied(key, "Pacemaker answers root and the group haclient alone: start sdstop with sudo")
    raise Failed(key, f"exit {output.exit}: {said[:200]}")


def _cluster(said: PacemakerStatus, name: str, key: str) -> Cluster:
    voters = [member for member in said.members if member.kind == "member"]
    wrong = list(_wrong(said))
    state = "maintenance" if said.maintenance else "quorum" if said.quorum else "partition"
    return Cluster(
        cluster=name,
        kind=KIND,
        ident=None,
        version=said.version,
        state="no quorum" if said.quorum is False else state if said.quorum else "no leader",
        healthy=0 if wrong else 1,
        leader=said.leader,
        managers=len(voters),
        managers_up=sum(member.online for member in voters),
        replicas=None,
        replicas_up=None,
        tolerates=None,
        nodes=None,
        nodes_up=None,
        capacity=None,
        used=None,
        spare=None,
        degraded=None,
        failed=None,
        says="; ".join(wrong) or None,
        origin=key,
        needle="<current_dc",
    )


def _wrong(said: PacemakerStatus) -> Iterable[str]:
    if said.leader is None:
        yield "no designated controller: resources are not started, moved or fenced"
    elif said.quorum is False:
        policies = {"stop": "all resources are stopped", "ignore": "resources keep running",
                    "freeze": "running resources stay, and none is moved",
                    "demote": "promoted resources are demoted, the others stopped",
                    "suicide": "these nodes are fenced", "fence": "these nodes are fenced"}  # fmt: skip
        yield f"no quorum: {policies.get(said.policy or '', 'no-quorum-policy decides on resources')}"
    for member in said.members:
        if member.unclean:
            never = " (fencing is disabled)" if said.fencing is False else ""
            yield f"{member.name} is UNCLEAN: its resources wait for fencing{never}"


def _node(member: PacemakerNode, cluster: str, here: str | None, key: str) -> ClusterNode:
    up = member.online and not member.unclean
    state = "UNCLEAN" if member.unclean else "pending" if member.pending else "online" if member.online else "offline"
    away = "maintenance" if member.maintenance else "standby" if member.standby else None
    # A remote node may be a container that is stopped on purpose.
    healthy = int(up and not member.pending) if member.kind == "member" or up else None
    return ClusterNode(
        cluster=cluster,
        role=member.kind,
        node=member.name,
        ident=None,
        address=None,
        area=None,
        domain=member.name,
        state=state,
        healthy=healthy,
        maintenance=away,
        leads=member.leads,
        devices=None,
        capacity=None,
        used=None,
        version=None,
        local=here is not None and here == member.name,
        origin=key,
    )


def _resource(known: ManagedResource, failures: Iterable[Failure], cluster: str, key: str) -> ClusterResource:
    own = [failure for failure in failures if failure.resource.partition(":")[0] == known.name.partition(":")[0]]
    last = max(own, key=lambda failure: failure.when, default=None)
    state = (
        "blocked" if known.blocked
        else "failed" if known.failed
        else "disabled" if not known.expected
        else "unmanaged" if not known.managed
        else "unpromoted" if known.running and all(role in _UNPROMOTED for _, role in known.running)
        else "running" if known.running
        else "stopped"
    )  # fmt: skip
    return ClusterResource(
        cluster=cluster,
        resource=known.name,
        agent=known.agent,
        state=state,
        where=nodes_of(known.running),
        instances=known.instances,
        running=len(known.running),
        failures=len(own),
        said=_words(last) if last is not None else None,
        origin=key,
    )


def _words(failure: Failure) -> str:
    when = f" ({failure.when})" if failure.when else ""
    why = failure.reason or failure.status or "failed"
    return f"{failure.task or 'an action'} on {failure.node or '?'}: {why}{when}"


PACEMAKER = Collector(
    "pacemaker",
    "Pacemaker's nodes and resources",
    read,
    (Cluster, ClusterNode, ClusterResource),
    (
        Command(MON, "nodes, quorum and resources", "root, or the group haclient"),
        Need("cmd:crm_mon*", "the same, as others recorded it", redact=without_reasons),
        Need(COROSYNC, "the cluster's name", keep=lines_of(r"\s*cluster_name\s*:")),
        Need("/proc/sys/kernel/hostname", "this node's name"),
    ),
    SLOW,
    deadline=8.0,
)
