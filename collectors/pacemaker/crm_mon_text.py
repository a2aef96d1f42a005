"""Parser for the text of `crm_mon -1`, `crm status` and `pcs status`, Pacemaker 1.1 to 3.0.

Formats: lib/pengine/pe_output.c, native.c, group.c, clone.c, bundle.c and lib/pacemaker/pcmk_output.c of Pacemaker; of
1.1 tools/crm_mon.c. The text has neither options of the cluster nor the agents of clones, and without `--inactive` no
resource that is stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.collectors.pacemaker.status import (
    BY_HAND,
    Ban,
    Failure,
    Fencing,
    ManagedResource,
    PacemakerNode,
    PacemakerStatus,
    Ticket,
    moment,
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
    "node attributes": "", "migration summary": "", "operations": "", "daemon status": "end", "pcsd status": "end",
    "warnings": "warnings",
}  # fmt: skip
_DC = expression(r"Current DC: (NONE|\S+)(?: \([^)]*\))?(?: \(version (\S+)\)| \(unknown\))?(?: - (.*))?")
_VERSION = expression(r"\(version ([^)]+)\)")
_NODES = expression(r"(\d{1,6}) nodes? configured")
_INSTANCES = expression(r"(\d{1,9}) resource instances? configured(?: \((.*)\))?")
_OLD_INSTANCES = expression(r"(\d{1,9}) resources? configured")
_LISTED = expression(r"(Online|OFFLINE|RemoteOnline|RemoteOFFLINE|GuestOnline|GuestOFFLINE|Containers): \[ (.*?) ?\]")
_NODE = expression(r"(Node|RemoteNode|GuestNode) ([^\s:]+)(?: \([^)]*\))*: (.*)")
_RESOURCE = expression(
    r"(?P<name>[^\s()]+)(?: \([^)]*\))?\s*"
    r"\((?P<agent>(?:ocf|lsb|systemd|service|stonith|upstart|heartbeat|nagios):[^)\s]*)\):\s*(?P<rest>.*)"
)
_GROUP = expression(r"Resource Group: (\S+?):?(?: \((?P<flags>[^)]*)\))?:?")
_CLONE = expression(
    r"(?P<kind>Clone Set|Master/Slave Set): (?P<name>\S+) \[(?P<inner>\S+)\](?P<flags>(?: \([^)]*\))*):?(?: \(.*)?"
)
_BUNDLE = expression(r"(?:Container bundle|Docker container)(?: set)?: (?P<name>\S+)(?P<rest>.*)")
_ROLES = expression(
    r"(Started|Promoted|Unpromoted|Masters|Slaves|Stopped|Starting|Stopping|Promoting|Demoting)(?: \(([^)]*)\))?: "
    r"\[ (.*?) ?\]"
)
_ROLE_OF = {"Masters": "Master", "Slaves": "Slave"}
_STATE = expression(
    r"(?P<orphan>ORPHANED )?(?P<failed>FAILED ?)?(?P<role>Started|Stopped|Promoted|Unpromoted|Master|Slave|Starting|"
    r"Stopping|Promoting|Demoting|Migrating|Unknown)?(?P<rest>.*)"
)
_FRIENDLY = expression(
    r"(?P<resource>[^\s:]+)(?::\d+)? (?:\S+-interval )?(?P<task>[a-z_-]+) on (?P<node>\S+) "
    r"(?P<rest>(?:returned|could not|is|was|did) .*|'.*|\(.*)"
)
_TECHNICAL = expression(
    r"(?P<key>\S+)_(?P<task>[a-z-]+)_\d{1,12} on (?P<node>\S+) '(?P<status>[^']*)' \(-?\d{1,9}\): (?P<rest>.*)"
)
_ISO = r"\d{4}-\d\d-\d\d[ T][\d:]{8}(?:\.\d+)?(?: ?[+-]\d\d:?\d\d|Z)?"
_WHEN = expression(rf"\bat ([A-Z][a-z]{{2}} [A-Z][a-z]{{2}} [ \d]\d [\d:]{{8}} \d{{4}}|{_ISO})")
_FENCING = expression(
    r"(?P<action>[\w-]+) of (?P<target>\S+?) (?P<state>failed|successful|pending)(?: \([^)]*\))?(?:: (?P<rest>.*))?"
)
_COMPLETED = expression(r"(?:completed|last-failed|last-successful)='([^']*)'")
_BAN = expression(r"(\S+)\s+prevents (\S+) from (?:running|becoming promoted|being promoted) on (\S+)")
_TICKET = expression(r"([^\s:]+):?\s+(granted|revoked)(?:\s+(\[?standby\]?))?.*")
_STARTED, _STOPPED = "Started", "Stopped"


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
    nodes: int | None = None
    instances: int | None = None
    disabled: int = 0
    complete: bool = False
    """Whether stopped resources are listed, too."""
    listing: bool = False
    """Whether any list of resources was seen."""
    members: dict[str, PacemakerNode] = field(default_factory=dict)
    resources: list[_Instance] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    fencings: list[Fencing] = field(default_factory=list)
    bans: list[Ban] = field(default_factory=list)
    tickets: list[Ticket] = field(default_factory=list)
    stray: str = ""
    section: str = ""
    containers: list[_Container] = field(default_factory=list)
    node: str = ""
    """Node below which resources are listed (crm_mon -n)."""


class _Instance(Struct, frozen=True):
    """An instance of a resource, or several in one role on the nodes of a list."""

    name: str
    agent: str
    role: str
    nodes: tuple[str, ...]
    flags: frozenset[str]
    failed: bool = False
    orphaned: bool = False
    container: _Container | None = None


class _Container(Struct, frozen=True):
    """The group, clone or bundle that holds instances."""

    name: str
    indent: int
    inner: str = ""
    group: str = ""
    many: bool = False
    promotable: bool = False
    flags: frozenset[str] = frozenset()


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
        found.section, found.containers, found.node = title, [], ""
        found.complete = found.complete or title == "all"
        found.listing = found.listing or title in {"all", "active"}
    elif found.section == "end" or _summary(found, words):
        pass
    elif found.section in {"", "summary", "nodes", "warnings"} and (node := _members(found, words)) is not None:
        found.node = node
        found.section = found.section or "nodes"
    elif found.section == "failures":
        _failed_action(found, words)
    elif found.section == "fencing":
        _fenced(found, words)
    elif found.section in {"bans", "tickets"}:
        _constraint(found, words)
    elif found.section in {"all", "active"} or (found.section == "nodes" and found.node):
        indent = len(line) - len(line.lstrip())
        found.containers = [each for each in found.containers if each.indent < indent]
        if not _resource(found, words, indent) and not words.startswith(("No active res", "No inactive res", "No res")):
            found.stray = found.stray or words


def _constraint(found: _LineValues, words: str) -> None:
    if (ban := _BAN.match(words)) is not None:
        found.bans.append(Ban(ban[1], ban[2], ban[3], ban[1].startswith(BY_HAND)))
    elif (ticket := _TICKET.match(words)) is not None:
        found.tickets.append(Ticket(ticket[1], "standby" if ticket[3] else ticket[2]))


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
        found.fencing = True
    else:
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


def _flags(words: str | None) -> frozenset[str]:
    return frozenset(word.strip() for part in re.findall(r"\(([^)]*)\)", words or "") for word in part.split(","))


def _resource(found: _LineValues, words: str, indent: int) -> bool:
    """Read a line of a list of resources; return whether it is understood. Opens containers."""
    containers = found.containers
    above = containers[-1] if containers else None
    if (group := _GROUP.fullmatch(words)) is not None:
        name = re.sub(r":\d{1,6}$", "", group[1])
        containers.append(
            _Container(name, indent, group=name, many=above is not None and above.many, flags=_flags(words))
        )
        return True
    if (clone := _CLONE.fullmatch(words)) is not None:
        flags = _flags(clone["flags"])
        promotable = clone["kind"] != "Clone Set" or "promotable" in flags
        containers.append(
            _Container(clone["name"], indent, inner=clone["inner"], many=True, promotable=promotable, flags=flags)
        )
        return True
    if (bundle := _BUNDLE.fullmatch(words)) is not None:
        flags = _flags(bundle["rest"])
        containers.append(_Container(bundle["name"], indent, inner=bundle["name"], many=True, flags=flags))
        return True
    if re.fullmatch(r"Replica\[\d+\].*|Resources:?", words):
        return True
    if (roles := _ROLES.fullmatch(words)) is not None and above is not None and above.inner:
        role = _ROLE_OF.get(roles[1], roles[1])
        found.resources.append(
            _Instance(above.inner, "", role, tuple(roles[3].split()), _flags(f"({roles[2] or ''})"), container=above)
        )
        return True
    one = _RESOURCE.fullmatch(words)
    if one is None:
        return False
    each = _instance(one, above, found.node)
    if (above is None or not above.many) and (
        each.role in _OF_CLONES or any(each.name == other.name for other in found.resources)
    ):
        return False  # the first line of its clone is missing
    found.resources.append(each)
    return True


def _instance(one: re.Match[str], above: _Container | None, node: str) -> _Instance:
    state = _STATE.match(one["rest"])
    if state is None:  # never: every part of the pattern is optional
        raise Malformed(f"crm_mon: state of a resource: {one['rest'][:60]!r}")
    rest = state["rest"]
    flags = _flags(rest)
    listed = re.search(r"\[ (.*?) ?\]", rest)
    alone = re.sub(r"\([^)]*\)|\[.*?\]", " ", rest).split()
    nodes = tuple(listed[1].split()) if listed else tuple(alone[:1])
    role = state["role"] or ""
    if not nodes and node and role != _STOPPED:
        nodes = (node,)
    return _Instance(
        re.sub(r":\d{1,9}\Z", "", one["name"]) if above is not None and above.many else one["name"],
        one["agent"].replace("::", ":"),
        role,
        nodes,
        flags,
        failed=state["failed"] is not None,
        orphaned=state["orphan"] is not None,
        container=above,
    )


_OF_CLONES = frozenset({"Promoted", "Unpromoted", "Master", "Slave", "Promoting", "Demoting"})
"""Roles that only instances of a clone have."""
_PENDING = {"Starting": "Starting", "Stopping": "Stopping", "Promoting": "Promoting", "Demoting": "Demoting"}
_INACTIVE = frozenset({_STOPPED, "Starting", ""})


def _failed_action(found: _LineValues, words: str) -> None:
    old = _TECHNICAL.fullmatch(words)
    if old is not None:
        reason = re.search(r"exitreason='([^']*)'", old["rest"])
        when = re.search(r"last-rc-change='([^']*)'", old["rest"])
        found.failures.append(
            Failure(
                old["key"],
                old["task"],
                old["node"],
                old["status"],
                reason[1] if reason else "",
                when[1] if when else "",
            )
        )
        return
    one = _FRIENDLY.fullmatch(words)
    if one is None:
        found.stray = found.stray or words
        return
    rest = one["rest"]
    when = _WHEN.search(rest)
    told = rest[: when.start()] if when is not None else rest
    status = re.search(r"returned '([^']*)'", told) or re.search(r"could not be executed \(([^)]*)\)", told)
    after = told[status.end() :] if status is not None else told
    reason = re.search(r"because '(.*)'", after) or re.search(r"\((.*)\)", after)
    found.failures.append(
        Failure(
            one["resource"], one["task"], one["node"], status[1] if status else "", reason[1] if reason else "",
            when[1] if when is not None else "",
        )
    )  # fmt: skip


_OUTCOMES = {"successful": "success"}


def _fenced(found: _LineValues, words: str) -> None:
    one = _FENCING.match(words)
    if one is None:
        found.stray = found.stray or words
        return
    when = _COMPLETED.search(one["rest"] or "")
    state = _OUTCOMES.get(one["state"], one["state"])
    found.fencings.append(Fencing(one["target"], one["action"], state, moment(when[1]) if when else 0.0))


def _status(found: _LineValues) -> PrintedStatus:
    defect = _lacking(found)
    if defect and found.section in {"all", "active"} and found.resources:
        last = found.resources[-1]  # a text that was cut may lack other instances
        found.resources = [each for each in found.resources if each.name != last.name]
    resources = list(_managed(found))
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
        policy=None,
        members=tuple(replace(member, leads=member.name == found.leader) for member in found.members.values()),
        resources=(*resources, *_unlisted(found, {known.name for known in resources})),
        failures=tuple(found.failures),
        bans=tuple(found.bans),
        tickets=tuple(found.tickets),
        fencings=tuple(found.fencings),
        stopped=found.stopped,
    )
    return PrintedStatus(status, found.name, defect)


def _unlisted(found: _LineValues, names: set[str]) -> Iterator[ManagedResource]:
    """Yield resources known from their failures alone: without `--inactive`, stopped ones are not listed."""
    if found.complete or not found.listing:
        return
    for name in dict.fromkeys(failure.resource.partition(":")[0] for failure in found.failures):
        if name not in names:
            yield ManagedResource(name, "", 1, (), (), blocked=False, managed=True, expected=True)


def _managed(found: _LineValues) -> Iterator[ManagedResource]:
    by_name: dict[str, list[_Instance]] = {}
    for each in found.resources:
        by_name.setdefault(each.name, []).append(each)
    members: dict[str, list[str]] = {}
    for each in found.resources:
        if each.container is not None and each.container.group:
            own = members.setdefault(each.container.name, [])
            own.extend([each.name] if each.name not in own else [])
    for name, every in by_name.items():
        first = every[0]
        box = first.container
        group = box.group if box is not None else ""
        running = tuple(
            (node, each.role or _STARTED) for each in every if each.role not in _INACTIVE or each.failed
            for node in each.nodes if each.role != _STOPPED
        )  # fmt: skip
        flags = frozenset().union(*(each.flags for each in every))
        boxed = box.flags if box is not None else frozenset()
        stopped = sum(len(each.nodes) or 1 for each in every if each.role in _INACTIVE and not each.failed)
        yield ManagedResource(
            name,
            next((each.agent for each in every if each.agent), ""),
            len(running) + stopped,
            running,
            tuple(dict.fromkeys(
                node for each in every if each.failed and "failure ignored" not in each.flags
                for node in (each.nodes or ("?",))
            )),
            "blocked" in flags,
            not any("unmanaged" in each.flags or "maintenance" in each.flags for each in every)
            and not {"unmanaged", "maintenance"} & boxed,
            "disabled" not in boxed and not all("disabled" in each.flags for each in every),
            box is not None and box.promotable and not any(flag.startswith("target-role:") for flag in boxed | flags),
            box is not None and box.many,
            group,
            tuple(members[group][: members[group].index(name)]) if group else (),
            all(each.orphaned for each in every),
            next((each.role for each in every if each.role in _PENDING), "")
            or next((flag for flag in flags if flag.endswith("ing") and flag[:1].isupper()), ""),
            ignored=tuple(dict.fromkeys(
                node for each in every if "failure ignored" in each.flags for node in each.nodes
            )),
        )  # fmt: skip


def _lacking(found: _LineValues) -> str:
    """Return which part of a status is missing or not understood, "" if none is."""
    if found.stray:
        return f"line not understood: {found.stray[:60]!r}"
    nodes = sum(member.kind == "member" for member in found.members.values())
    if found.nodes is not None and nodes < found.nodes and len(found.members) < found.nodes:
        return f"{found.nodes} nodes configured, {len(found.members)} listed"
    if not found.listing:
        return "no list of resources"
    listed = sum(
        max(len(each.nodes), 1) for each in found.resources
        if "disabled" not in each.flags and "disabled" not in (each.container.flags if each.container else ())
    )  # fmt: skip
    if found.instances is not None and listed < found.instances - found.disabled:
        return f"{found.instances} resource instances configured, {listed} listed"
    return ""


_KEPT = frozenset({"summary", "nodes", "all", "active", "fencing", "bans", "tickets", "warnings"})


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
            kept.append(re.sub(r"(because '|exitreason='|\()([^')]*)", lambda m: f"{m[1]}{own_words(m[2])}", line))
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
