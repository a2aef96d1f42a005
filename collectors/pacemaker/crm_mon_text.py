"""Parser for the text of `crm_mon -1`, `crm status` and `pcs status`, Pacemaker 1.1 to 3.0.

Formats: lib/pengine/pe_output.c, native.c, group.c, clone.c, bundle.c and lib/pacemaker/pcmk_output.c of Pacemaker; of
1.1 tools/crm_mon.c. The text has neither options of the cluster nor the agents of clones, and without `--inactive` no
resource that is stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.collectors.pacemaker.crm_mon_actions import (
    ban,
    count_failures,
    failed_action,
    fencing_action,
    ticket,
    updated,
)
from sdstop.collectors.pacemaker.crm_mon_resources import ResourceList
from sdstop.collectors.pacemaker.status import (
    Ban,
    FailCount,
    Failure,
    Fencing,
    ManagedResource,
    PacemakerNode,
    PacemakerStatus,
    Ticket,
)
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed
from sdstop.core.wording import own_words

_TITLES = {
    "cluster summary": "summary", "node list": "nodes", "full list of resources": "all", "active resources": "active",
    "inactive resources": "all", "failed resource actions": "failures", "failed actions": "failures",
    "failed fencing actions": "fencing", "pending fencing actions": "fencing", "fencing history": "fencing",
    "failed stonith actions": "fencing", "negative location constraints": "bans", "tickets": "tickets",
    "node attributes": "", "migration summary": "counts", "operations": "", "daemon status": "end",
    "pcsd status": "end", "warnings": "warnings",
}  # fmt: skip
_VERSION = expression(r"\(version ([^)]+)\)")
_NODES = expression(r"(\d{1,6}) nodes? configured")
_INSTANCES = expression(r"(\d{1,9}) resource instances? configured(?: \((.*)\))?")
_OLD_INSTANCES = expression(r"(\d{1,9}) resources? configured")
_LISTED = expression(r"(Online|OFFLINE|RemoteOnline|RemoteOFFLINE|GuestOnline|GuestOFFLINE|Containers): \[ (.*?) ?\]")
_NODE = expression(r"(Node|RemoteNode|GuestNode) ([^\s:]+)(?: \([^)]*\))*: (.*)")

Action = TypeVar("Action", Failure, Fencing)


class PrintedStatus(Struct, frozen=True):
    """A status, the cluster's name if printed, and why not all of it may be known: "" if it is complete."""

    status: PacemakerStatus
    name: str | None
    defect: str = ""


class _LineValues(Struct):
    """Values of the lines read."""

    name: str | None = None
    headed: bool = False
    """Whether the first line of pcs status was seen."""
    dc: bool = False
    leader: str | None = None
    version: str | None = None
    quorum: bool | None = None
    maintenance: bool = False
    stopped: bool = False
    fencing: bool | None = None
    unfenced: bool = False
    nodes: int | None = None
    instances: int | None = None
    disabled: int = 0
    complete: bool = False
    """Whether stopped resources are listed, too."""
    listing: bool = False
    """Whether any list of resources was seen."""
    members: dict[str, PacemakerNode] = field(default_factory=dict)
    resources: ResourceList = field(default_factory=ResourceList)
    failures: list[Failure] = field(default_factory=list)
    fencings: list[Fencing] = field(default_factory=list)
    counts: dict[str, FailCount] = field(default_factory=dict)
    now: float = 0.0
    bans: list[Ban] = field(default_factory=list)
    tickets: list[Ticket] = field(default_factory=list)
    stray: str = ""
    section: str = ""
    node: str = ""
    """Node below which resources are listed (crm_mon -n)."""


def parse(text: str) -> PrintedStatus:
    """Parse what `crm_mon -1`, `crm_mon -1rf`, `crm status` or `pcs status` prints.

        Cluster Summary:
          * Current DC: san1 (version 2.1.5-a3f44794f94) - partition with quorum
          * 3 nodes configured
          * 5 resource instances configured (1 DISABLED)

        Node List:
          * Node san3: UNCLEAN (offline)
          * Online: [ san1 san2 ]

        Full List of Resources:
          * vip	(ocf:heartbeat:IPaddr2):	 Started san1
          * Resource Group: nfs (disabled):
            * nfs-fs	(ocf:heartbeat:Filesystem):	 Stopped (disabled)
          * Clone Set: drbd-clone [drbd] (promotable):
            * Promoted: [ san1 ]
            * Stopped: [ san2 ]

        Failed Resource Actions:
          * vip 10s-interval monitor on san1 returned 'not running' (no address) at Sun Nov 22 11:07:40 2026

    Pacemaker 1.1 prints the same without bullets, and failures as `vip_monitor_10000 on san1 'not running' (7): call=5,
    status=complete, exitreason='no address', last-rc-change='...'`. Raises Malformed without a summary.
    """
    found = _LineValues()
    for line in text.splitlines():
        words = line.strip().removeprefix("* ").strip()
        if words:
            _read(found, words, line)
    if not found.dc or (found.leader is not None and found.quorum is None):
        raise Malformed(f'crm_mon: no line "Current DC:", or without quorum: {text.strip()[:60]!r}')
    if found.section == "end" and not found.headed:
        raise Malformed('pcs status: no line "Cluster name:"')
    return _status(found)


def _read(found: _LineValues, words: str, line: str) -> None:
    title = _title(words, line)
    if title is not None:
        found.section, found.resources.containers, found.node = title, [], ""
        found.complete = found.complete or title == "all"
        found.listing = found.listing or title in {"all", "active"}
    elif found.section == "end" or _summary(found, words):
        pass
    elif found.section in {"", "summary", "nodes", "warnings"} and (node := _members(found, words)) is not None:
        found.node = node
        found.section = found.section or "nodes"
    elif found.section == "failures":
        later = _LATER.match(words)
        if later is not None and found.failures:  # Pacemaker 1.1 prints it in a line of its own
            found.failures[-1] = replace(found.failures[-1], when=later[1])
        else:
            _noted(found, words, found.failures, failed_action(words))
    elif found.section == "fencing":
        _noted(found, words, found.fencings, fencing_action(words))
    elif found.section == "counts":
        count_failures(found.counts, words)
    elif found.section in {"bans", "tickets"}:
        found.bans.extend(filter(None, [ban(words)]))
        found.tickets.extend(filter(None, [ticket(words)]))
    elif found.section in {"all", "active"} or (found.section == "nodes" and found.node):
        indent = len(line) - len(line.lstrip())
        known = found.resources.read(words, indent, found.node)
        if not known and not words.startswith(("No active res", "No inactive res", "No res")):
            found.stray = found.stray or words


_LATER = expression(r"last-rc-change='([^']*)'")


def _noted(found: _LineValues, words: str, actions: list[Action], action: Action | None) -> None:
    """Keep an action, or the line that was not understood."""
    if action is not None:
        actions.append(action)
    else:
        found.stray = found.stray or words


def _title(words: str, line: str) -> str | None:
    name = words.partition(":")[0]
    if not words.startswith(name + ":") or (line != line.lstrip() and line.lstrip().startswith("* ")):
        return None
    rest = words[len(name) + 1 :].strip()
    return _TITLES.get(name.lower()) if not rest else None


def _summary(found: _LineValues, words: str) -> bool:
    """Read a line of the summary; return whether it is one."""
    if words.startswith("Cluster name:"):
        found.headed = True
        found.name = words.partition(":")[2].strip() or None
    elif words.startswith("Current DC:"):
        said = words.partition(":")[2].strip()
        found.dc = True
        found.leader = None if said.startswith("NONE") else said.split()[0] if said else None
        version = _VERSION.search(said)
        found.version = version[1] if version is not None and version[1] != "unknown" else None
        if "partition" in said:
            found.quorum = "WITHOUT quorum" not in said and ("with quorum" in said or None)
    elif (nodes := _NODES.match(words)) is not None:
        found.nodes = int(nodes[1])
        if (rest := re.search(r"(\d{1,9}) resource instances? configured(?: \((.*)\))?", words)) is not None:
            _count(found, rest[1], rest[2])
    elif (instances := _INSTANCES.match(words)) is not None:
        _count(found, instances[1], instances[2])
    elif (old := _OLD_INSTANCES.match(words)) is not None:
        _count(found, old[1], None)
    elif "will not attempt to start, stop or recover" in words:
        found.maintenance = True
    elif "will keep all resources stopped" in words:
        found.stopped, found.maintenance = True, False
    elif words.startswith("*** Resource management is DISABLED"):
        found.maintenance = True
    elif "No stonith devices and stonith-enabled is not false" in words:
        found.fencing = found.unfenced = True  # pcs prints it without SBD only
    else:
        found.now = updated(words) or found.now
        return words.startswith(("Stack:", "Last updated:", "Last change:", "Status of pacemakerd:"))
    return True


def _count(found: _LineValues, instances: str, more: str | None) -> None:
    found.instances = int(instances)
    disabled = re.search(r"(\d{1,9}) DISABLED", more or "")
    found.disabled = int(disabled[1]) if disabled is not None else 0


def _members(found: _LineValues, words: str) -> str | None:
    """Read a line of the list of nodes; return the node below which resources can follow, None for another line."""
    listed = _LISTED.fullmatch(words)
    if listed is not None:
        kind = "member" if listed[1] in {"Online", "OFFLINE"} else "remote"
        for name in listed[2].split():
            own = name.partition("@")[0].rpartition(":")[2] if kind == "remote" else name
            _member(found, own, kind, online=listed[1].endswith("nline") or listed[1] == "Containers")
        return ""
    one = _NODE.fullmatch(words)
    if one is None:
        return None
    kind = "member" if one[1] == "Node" else "remote"
    state = one[3].rstrip(":")
    unclean = "UNCLEAN" in state
    away = state.startswith("OFFLINE") or "offline" in state
    known = unclean or away or re.match(r"online|standby|maintenance|pending|OFFLINE", state) is not None
    if not known:
        found.stray = found.stray or words
    health = re.search(r"health is (RED|YELLOW)", words)
    found.members[one[2]] = PacemakerNode(
        one[2], kind, online=not away and "pending" not in state and known, unclean=unclean,
        standby="standby" in state, maintenance="maintenance" in state, pending="pending" in state,
        leads=one[2] == found.leader, failed_over="on-fail" in state,
        health=health[1].lower() if health is not None else None,
    )  # fmt: skip
    if "pending" in state and not unclean and not away:
        found.members[one[2]] = replace(found.members[one[2]], online=True)
    return one[2]


def _member(found: _LineValues, name: str, kind: str, *, online: bool) -> None:
    found.members[name] = PacemakerNode(
        name, kind, online=online, unclean=False, standby=False, maintenance=False, pending=False,
        leads=name == found.leader,
    )  # fmt: skip


def _status(found: _LineValues) -> PrintedStatus:
    defect = _lacking(found)
    if defect and found.section in {"all", "active"} and found.resources.instances:
        found.resources.without_last()
    resources = list(found.resources.managed())
    if defect:
        away = {member.name for member in found.members.values() if member.unclean or not member.online}
        resources = [
            replace(known, promoted=False) for known in resources
            if not known.many or not known.running or not away.issuperset(node for node, _ in known.running)
        ]  # fmt: skip
    status = PacemakerStatus(
        version=found.version,
        leader=found.leader,
        quorum=found.quorum,
        maintenance=found.maintenance,
        fencing=found.fencing,
        unfenced=found.unfenced,
        policy=None,
        members=tuple(replace(member, leads=member.name == found.leader) for member in found.members.values()),
        resources=(*resources, *_unlisted(found, {known.name for known in resources})),
        failures=tuple(found.failures),
        bans=tuple(found.bans),
        tickets=tuple(found.tickets),
        fencings=tuple(found.fencings),
        stopped=found.stopped,
        counts=found.counts,
        now=found.now,
    )
    return PrintedStatus(status, found.name, defect)


def _unlisted(found: _LineValues, names: set[str]) -> Iterator[ManagedResource]:
    """Yield resources known from their failures alone: without `--inactive`, stopped ones are not listed."""
    if found.complete or not found.listing:
        return
    for name in dict.fromkeys(failure.resource.partition(":")[0] for failure in found.failures):
        if name not in names:
            yield ManagedResource(name, "", 1, (), (), blocked=False, managed=True, expected=True)


def _lacking(found: _LineValues) -> str:
    """Return which part of a status is missing or not understood, "" if none is."""
    if found.stray:
        return f"line not understood: {found.stray[:60]!r}"
    nodes = sum(member.kind == "member" for member in found.members.values())
    if found.nodes is not None and nodes < found.nodes and len(found.members) < found.nodes:
        return f"{found.nodes} nodes configured, {len(found.members)} listed"
    if not found.listing:
        return "no list of resources"
    listed = found.resources.enabled
    if found.instances is not None and listed < found.instances - found.disabled:
        return f"{found.instances} resource instances configured, {listed} listed"
    return ""


_KEPT = frozenset({"summary", "nodes", "all", "active", "fencing", "bans", "tickets", "warnings"})


_REASON = expression(r"(exitreason=')(.*?)(?=',? *(?:last-rc-change=|$))")
"""Reason of a failed action: free words, in which apostrophes are not escaped."""


def without_reasons(data: bytes) -> bytes:
    """Return the lines of a status that `parse` reads, without reasons of failures."""
    section = "summary"
    kept: list[str] = []
    for line in data.decode("utf-8", "surrogateescape").splitlines():
        words = line.strip().removeprefix("* ").strip()
        title = _title(words, line) if words else None
        section = title if title is not None else section
        if words.startswith(("Last change:", "Last updated:")):
            continue
        if section == "failures" and title is None and words:
            without = _REASON.sub(lambda m: f"{m[1]}{own_words(m[2])}", line)
            kept.append(re.sub(r"(because '|\()([^')]*)", lambda m: f"{m[1]}{own_words(m[2])}", without))
        elif section in _KEPT | {"failures"}:
            kept.append(line)
    return ("\n".join(kept) + "\n").encode("utf-8", "surrogateescape")


_FIRST = (
    r"(?:Status of pacemakerd: |Cluster Summary:\n|Stack: \S+\n(?:Current DC|Last )"
    r"|Last updated: [^\n]*\n *(?:Last change|Stack):)"
)
_GOES_ON = (
    r"(?i:" + "|".join(_TITLES) + r"):.*|\s+\S.*|\* .*|(?:Cluster name|Stack|Current DC|Last updated|Last change): .*"
    r"|Status of pacemakerd: .*|\d+ (?:nodes?|resource instances?|resources?) .*|No (?:active |inactive )?resources.*"
    r"|(?:Online|OFFLINE|Remote\w+|Guest\w+|Containers): \[.*|(?:Node|RemoteNode|GuestNode) \S+: .*"
    r"|(?:Clone Set|Master/Slave Set|Resource Group|Container bundle|Docker container)[: ].*"
    r"|\S+\s+\((?:ocf|lsb|systemd|service|stonith|upstart):.*|No stonith devices and stonith-enabled .*"
)
_READS = "nodes, quorum, resources, failed actions"
_VERSIONS = "Pacemaker 1.1 and later"
TEXT = Form(key="cmd:crm_mon -1", first=_FIRST, goes_on=_GOES_ON, reads=_READS, versions=_VERSIONS)
PCS = Form(
    key="cmd:pcs status",
    first=rf"Cluster name: .*\n(?:\s*\n)?(?:WARNINGS:|Status of|Cluster Summary|Stack:|Last updated)|{_FIRST}",
    goes_on=_GOES_ON,
    last=r" +pcsd: ",
    reads=_READS,
    versions="pcs 0.9 and later",
)
CRM = Form(key="cmd:crm status", first=_FIRST, goes_on=_GOES_ON, reads=_READS, versions="crmsh 2 and later")
TEXTS = (TEXT, PCS, CRM)
XML = Form(
    key="cmd:crm_mon --output-as=xml -1",
    first=r"(?:<\?xml [^>]*>\s*)?<(?:pacemaker-result|crm_mon)\b",
    last=r"</(?:pacemaker-result|crm_mon)>",
    reads="nodes, quorum, resources, failed actions, options",
    versions=_VERSIONS,
)
