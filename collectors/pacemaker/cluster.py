"""Pacemaker: nodes and resources of a high-availability cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.pacemaker import crm_mon, crm_mon_text
from sdstop.collectors.pacemaker.corosync import CIB, CONFIGURED, KIND, parse_name
from sdstop.collectors.pacemaker.crm_mon import MON, MON_OLD, parse_status
from sdstop.collectors.pacemaker.readings import COROSYNC, ClusterConstraint, ClusterPolicy, ClusterResource
from sdstop.collectors.pacemaker.status import (
    UNPROMOTED,
    Failure,
    ManagedResource,
    PacemakerNode,
    PacemakerStatus,
    moment_of,
    nodes_of,
)
from sdstop.core.collector import SLOW, Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.form import outputs
from sdstop.core.host import Absent, Denied, Failed, Host, Malformed, Output, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.core.refusal import NO_PACEMAKER
from sdstop.readings.cluster import Cluster, ClusterNode

CONFIG = ("cibadmin", "-Q", "-o", "crm_config")
_WATCHDOG = r'name="(?:have-watchdog|stonith-watchdog-timeout)"'
_PROPERTY = expression(r'<nvpair [^>]*\bname="([\w-]+)" value="([^"]*)"')
UNUSED = 300.0
"""Seconds after which Pacemaker is asked again where it has never run: a start of crm_mon takes 10 ms."""
_DISCONNECTED = frozenset({102, 107})
"""Exit codes of crm_mon if Pacemaker is not running: CRM_EX_DISCONNECT, and ENOTCONN before 2.0."""


def read(host: Host) -> Iterable[Reading]:
    """Return the cluster, its nodes and resources. Raise Absent if Pacemaker is not installed or not running."""
    key, text = _asked(host)
    printed = crm_mon_text.parse(text) if not text.lstrip().startswith("<") else None
    said = printed.status if printed is not None else parse_status(text)
    named = printed.name if printed is not None else None
    name = parse_name(host.maybe(COROSYNC) or "") or named or KIND
    if printed is not None and printed.defect:
        host.defect(key, printed.defect, name)
    here = host.maybe("/proc/sys/kernel/hostname")
    return [
        _cluster(said, name, key),
        _policy(host, said, name, key),
        *(_node(member, said, name, here, key) for member in said.members),
        *_resources(said, name, key),
        *_constraints(said, name, key),
    ]


def _asked(host: Host) -> tuple[str, str]:
    """Return the evidence key and the crm_mon output, recorded or current."""
    exact = [
        name for name in host.recorded("crm_mon")
        if any(word in name for word in ("--output-as=xml", "--output-as xml", "--as-xml", "-X"))
    ]  # fmt: skip
    recorded = exact or _texts(host)
    if recorded and " ".join(MON) not in recorded:
        name = recorded[-1] if not exact else recorded[0]
        key = _key(name)
        text = _said(key, host.recorded_output(name))
        for other in recorded[:-1] if not exact else ():  # which is newer is unknown
            older = host.recorded_output(other).text
            if _lost(older) > _lost(text):
                host.defect(_key(other), f"more nodes online in {key}")
                key, text = _key(other), older
        return key, text
    if host.rests(command_key(MON)):
        raise Absent(command_key(MON), "never used here when asked last")
    output = host.run(MON, 5.0)
    if output.exit in _DISCONNECTED and _is_new(host):
        host.rest(command_key(MON), UNUSED)
    if output.exit != 0 and "option" in output.stderr.decode("utf-8", "replace"):
        try:
            return command_key(MON_OLD), _said(command_key(MON_OLD), host.run(MON_OLD, 5.0))
        except TimedOut:
            raise
        except Unreadable:
            pass  # The first answer has the reason.
    return command_key(MON), _said(command_key(MON), output)


def _is_new(host: Host) -> bool:
    """Return whether Pacemaker is installed and has never run: it has no configuration of a cluster."""
    try:
        return "cib.xml" not in host.entries(CIB)
    except Unreadable:
        return False


def _key(name: str) -> str:
    return f"cmd:{name}" if " " in name else f"slug:{name}"


def _lost(text: str) -> int:
    """Return the number of nodes that are not online in a status as text."""
    try:
        return sum(not member.online for member in crm_mon_text.parse(text).status.members)
    except Malformed:
        return 0


def _texts(host: Host) -> list[str]:
    """Return recorded commands that print a status as text, those that list stopped resources last."""
    found = [output for form in crm_mon_text.TEXTS for output in outputs(host, form)]
    names = [output.key.partition(":")[2] for output in found]
    return sorted(names, key=lambda name: name.startswith("pcs") or _INACTIVE.search(name) is not None)


_INACTIVE = expression(r"[ _]-\w*r|--inactive")


def _said(key: str, output: Output) -> str:
    if output.exit == 0:
        return output.text
    said = output.error
    if "ermission denied" in f"{said}{output.text[:2000]}" or "ot authorized" in said:
        raise Denied(key, "Pacemaker answers root and the group haclient alone: start sdstop with sudo")
    if output.exit in _DISCONNECTED or "not connected" in f"{said}{output.text[:2000]}".lower():
        raise Absent(key, NO_PACEMAKER)
    raise Failed(key, output.failure)


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
        yield "no designated controller"
    elif said.quorum is False:
        yield "no quorum"
    for member in said.members:
        if member.state in {"UNCLEAN", "lost", "pending"} and member.kind == "member":
            yield f"{member.name} is {member.state}"


def _policy(host: Host, said: PacemakerStatus, name: str, key: str) -> ClusterPolicy:
    devices = sum(known.agent.startswith("stonith:") for known in said.resources)
    by_time = sorted(said.fencings, key=lambda event: event.when)
    worked = {event.target: event.when for event in by_time if event.state == "success"}
    failed = [
        event.target for event in said.fencings
        if event.state == "failed" and event.when >= worked.get(event.target, 0.0)
    ]  # fmt: skip
    return ClusterPolicy(
        cluster=name,
        fencing=None if said.fencing is None else int(said.fencing),
        fence_devices=devices,
        watchdog=0 if said.unfenced else _watchdog(host) if said.fencing and not devices else None,
        without_quorum=said.policy,
        maintenance=int(said.maintenance),
        stop_all=int(said.stopped),
        fencing_pending=", ".join(dict.fromkeys(each.target for each in said.fencings if each.state == "pending")),
        fencing_failed=", ".join(dict.fromkeys(failed)),
        origin=key,
    )


def _watchdog(host: Host) -> int | None:
    """Return whether nodes fence themselves by a watchdog (SBD without a disk), which needs no fence device."""
    try:
        output = host.run(CONFIG, 5.0)
    except TimedOut:
        raise
    except Unreadable:
        return None
    if output.exit != 0:
        return None
    found = dict(_PROPERTY.findall(output.text))
    seconds = found.get("stonith-watchdog-timeout", "0").strip()
    return int(found.get("have-watchdog") == "true" and not seconds.startswith("0"))


def _node(member: PacemakerNode, said: PacemakerStatus, cluster: str, here: str | None, key: str) -> ClusterNode:
    state = member.state
    away = "maintenance" if member.maintenance else "standby" if member.standby and not member.failed_over else None
    good = state == "online" and not member.failed_over and member.health != "red"
    healthy: int | None = int(good)
    if member.kind != "member" and state != "UNCLEAN" and not good:
        # A remote node is connected by a resource of its name, a guest is one; if that is disabled, it is on purpose.
        names = {member.name, member.inside}
        link = next((known for known in said.resources if not names.isdisjoint((known.name, *known.parts))), None)
        healthy = 0 if link is not None and link.expected else None
    return ClusterNode(
        cluster=cluster,
        role=member.kind,
        node=member.name,
        ident=None,
        address=None,
        area=None,
        domain=member.name,
        state="standby after a failure" if member.failed_over and state == "online"
        else f"health {member.health}" if state == "online" and member.health in {"red", "yellow"} else state,
        healthy=healthy,
        maintenance=away,
        leads=member.leads,
        devices=None,
        capacity=None,
        used=None,
        version=None,
        local=here is not None and here == member.name,
        origin=key,
    )  # fmt: skip


def _resources(said: PacemakerStatus, cluster: str, key: str) -> Iterator[ClusterResource]:
    away = frozenset(member.name for member in said.members if member.unclean or not member.online)
    idle = away | {member.name for member in said.members if member.standby or member.maintenance}
    running = {known.name for known in said.resources if any(node not in away for node, _ in known.running)}
    by_name: dict[str, list[Failure]] = {}
    for failure in said.failures:
        by_name.setdefault(failure.resource.partition(":")[0], []).append(failure)
    bans: dict[str, list[str]] = {}
    for ban in said.bans:
        bans.setdefault(ban.resource, []).append(ban.node)
    for known in said.resources:
        names = dict.fromkeys(name.partition(":")[0] for name in (known.name, *known.parts))
        own = [failure for name in names for failure in by_name.get(name, ())]
        last = max(own, key=moment_of, default=None)
        counts = [said.counts[name] for name in names if name in said.counts]
        when = max((count.last for count in counts), default=0.0) or (moment_of(last) if last is not None else 0.0)
        state = _state(known, own, away, idle)
        broken = [node for node in known.failed if node != "?"] if state == "failed" else []
        broken = list(known.ignored) if state == "ignored" else broken
        yield ClusterResource(
            cluster=cluster,
            resource=known.name,
            agent=known.agent,
            state=state,
            where=nodes_of(known.running),
            instances=known.instances,
            running=len(known.running),
            failures=len(own),
            fail_count=sum(count.failures for count in counts) if said.counts else None,
            failed_ago=said.now - when if said.now >= when > 0 else None,
            said=_words(last) if last is not None else None,
            part=last.resource if last is not None else known.name,
            task=last.task or None if last is not None else None,
            failed_on=", ".join(dict.fromkeys(broken or [failure.node for failure in own if failure.node])),
            waits=next((name for name in known.after if name not in running), ""),
            barred=", ".join(bans.get(known.name, []) + bans.get(known.group, [])),
            origin=key,
        )


def _state(known: ManagedResource, own: Iterable[Failure], away: frozenset[str], idle: frozenset[str]) -> str:  # noqa: PLR0911
    nodes = [node for node, _ in known.running]
    roles = {role for _, role in known.running}
    if known.blocked:
        return "blocked"
    if not known.many and len(set(nodes) - away) > 1 and not known.pending and "Migrating" not in roles:
        return "multiple"
    if known.failed:
        return "failed"
    if nodes and away.issuperset(nodes):
        return "unclean"
    if not known.expected:
        return "disabled"
    if not nodes:
        return "starting" if known.pending.startswith("Start") else "stopped"
    if known.promoted and roles <= UNPROMOTED:
        return "unpromoted"
    if known.ignored:
        return "ignored"
    if known.many and any(failure.node not in idle.union(nodes) for failure in own):
        return "partial"
    if known.orphaned:
        return "orphaned"
    return "running" if known.managed else "unmanaged"


def _constraints(said: PacemakerStatus, cluster: str, key: str) -> Iterator[ClusterConstraint]:
    for ban in said.bans:
        yield ClusterConstraint(
            cluster=cluster, constraint=ban.ident, kind="ban", state="by hand" if ban.by_hand else "configured",
            resource=ban.resource, node=ban.node, by_hand=int(ban.by_hand), origin=key,
        )  # fmt: skip
    for ticket in said.tickets:
        yield ClusterConstraint(
            cluster=cluster, constraint=ticket.name, kind="ticket", state=ticket.state, ticket=ticket.name, origin=key
        )  # fmt: skip


def _words(failure: Failure) -> str:
    when = f" ({failure.when})" if failure.when else ""
    why = failure.reason or failure.status or "failed"
    return f"{failure.task or 'an action'} on {failure.node or '?'}: {why}{when}"


def without_reasons(data: bytes) -> bytes:
    """Return the parts of a status, in XML or text, that are read, without reasons of failures."""
    is_xml = data.lstrip().startswith(b"<")
    return crm_mon.without_reasons(data) if is_xml else crm_mon_text.without_reasons(data)


PACEMAKER = Collector(
    "pacemaker",
    "Pacemaker's nodes and resources",
    read,
    (Cluster, ClusterNode, ClusterResource, ClusterPolicy, ClusterConstraint),
    (
        Command(MON, "nodes, quorum and resources", "root, or the group haclient"),
        Command(MON_OLD, "nodes, quorum and resources of Pacemaker before 2.0.3", "root, or the group haclient"),
        Command(
            CONFIG, "watchdog of the nodes, if fencing is enabled without a device",
            "root, or the group haclient", keep=rf"\s*<nvpair [^>]*\b{_WATCHDOG}",
        ),
        Need("cmd:crm_mon*", "status recorded by other tools, also as text", redact=without_reasons),
        Need("cmd:crm status*", "status recorded by other tools, as text", redact=without_reasons),
        Need("cmd:pcs status*", "status recorded by other tools, as text", redact=without_reasons),
        Need(COROSYNC, "name and nodes of the cluster", keep=CONFIGURED),
        Need(f"list:{CIB}", "earlier use of Pacemaker on this node", "root"),
        Need("/proc/sys/kernel/hostname", "host name"),
    ),
    SLOW,
    deadline=8.0,
    forms=(crm_mon_text.XML, *crm_mon_text.TEXTS),
)  # fmt: skip
