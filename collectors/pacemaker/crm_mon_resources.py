"""Lists of resources in the text of `crm_mon -1`, `crm status` and `pcs status`: groups, clones, bundles, instances.

Formats: lib/pengine/native.c, group.c, clone.c and bundle.c and lib/pacemaker/pcmk_output.c of Pacemaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from sdstop.collectors.pacemaker.status import ManagedResource
from sdstop.core.expression import expression
from sdstop.core.host import Malformed

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
_STARTED, _STOPPED = "Started", "Stopped"
_OF_CLONES = frozenset({"Promoted", "Unpromoted", "Master", "Slave", "Promoting", "Demoting"})
"""Roles that only instances of a clone have."""
_PENDING = {"Starting": "Starting", "Stopping": "Stopping", "Promoting": "Promoting", "Demoting": "Demoting"}
_INACTIVE = frozenset({_STOPPED, "Starting", ""})


class PrintedInstance(Struct, frozen=True):
    """An instance of a resource, or several in one role on the nodes of a list."""

    name: str
    agent: str
    role: str
    nodes: tuple[str, ...]
    flags: frozenset[str]
    failed: bool = False
    orphaned: bool = False
    container: ResourceContainer | None = None


class ResourceContainer(Struct, frozen=True):
    """The group, clone or bundle that holds instances."""

    name: str
    indent: int
    inner: str = ""
    group: str = ""
    many: bool = False
    promotable: bool = False
    flags: frozenset[str] = frozenset()


class ResourceList(Struct):
    """Instances in the order of their lines, and the containers around the next line."""

    instances: list[PrintedInstance] = field(default_factory=list)
    containers: list[ResourceContainer] = field(default_factory=list)

    def read(self, words: str, indent: int, node: str) -> bool:
        """Read a line of the list, below a node's line or none (""); return whether it is understood."""
        containers = self.containers = [each for each in self.containers if each.indent < indent]
        above = containers[-1] if containers else None
        if (group := _GROUP.fullmatch(words)) is not None:
            name = re.sub(r":\d{1,6}$", "", group[1])
            containers.append(
                ResourceContainer(name, indent, group=name, many=above is not None and above.many, flags=_flags(words))
            )
            return True
        if (clone := _CLONE.fullmatch(words)) is not None:
            flags = _flags(clone["flags"])
            promotable = clone["kind"] != "Clone Set" or "promotable" in flags
            containers.append(
                ResourceContainer(
                    clone["name"], indent, inner=clone["inner"], many=True, promotable=promotable, flags=flags
                )
            )
            return True
        if (bundle := _BUNDLE.fullmatch(words)) is not None:
            flags = _flags(bundle["rest"])
            containers.append(ResourceContainer(bundle["name"], indent, inner=bundle["name"], many=True, flags=flags))
            return True
        if re.fullmatch(r"Replica\[\d+\].*|Resources:?", words):
            return True
        if (roles := _ROLES.fullmatch(words)) is not None and above is not None and above.inner:
            role = _ROLE_OF.get(roles[1], roles[1])
            self.instances.append(
                PrintedInstance(
                    above.inner, "", role, tuple(roles[3].split()), _flags(f"({roles[2] or ''})"), container=above
                )
            )
            return True
        one = _RESOURCE.fullmatch(words)
        if one is None:
            return False
        each = _instance(one, above, node)
        if (above is None or not above.many) and (
            each.role in _OF_CLONES or any(each.name == other.name for other in self.instances)
        ):
            return False  # the first line of its clone is missing
        self.instances.append(each)
        return True

    def managed(self) -> Iterator[ManagedResource]:
        """Yield the resources, each of all its instances."""
        by_name: dict[str, list[PrintedInstance]] = {}
        for each in self.instances:
            by_name.setdefault(each.name, []).append(each)
        members: dict[str, list[str]] = {}
        for each in self.instances:
            if each.container is not None and each.container.group:
                own = members.setdefault(each.container.name, [])
                own.extend([each.name] if each.name not in own else [])
        for name, every in by_name.items():
            yield _managed(name, every, members)

    def without_last(self) -> None:
        """Remove all instances of the last resource: a text that was cut may lack others of it."""
        last = self.instances[-1]
        self.instances = [each for each in self.instances if each.name != last.name]

    @property
    def enabled(self) -> int:
        """Number of listed instances that are not disabled."""
        return sum(
            max(len(each.nodes), 1) for each in self.instances
            if "disabled" not in each.flags and "disabled" not in (each.container.flags if each.container else ())
        )  # fmt: skip


def _managed(name: str, every: Sequence[PrintedInstance], members: Mapping[str, Sequence[str]]) -> ManagedResource:
    """Return a resource of all its instances; `members` are the resources of each group, in order."""
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
    return ManagedResource(
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


def _flags(words: str | None) -> frozenset[str]:
    return frozenset(word.strip() for part in re.findall(r"\(([^)]*)\)", words or "") for word in part.split(","))


def _instance(one: re.Match[str], above: ResourceContainer | None, node: str) -> PrintedInstance:
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
    return PrintedInstance(
        re.sub(r":\d{1,9}\Z", "", one["name"]) if above is not None and above.many else one["name"],
        one["agent"].replace("::", ":"),
        role,
        nodes,
        flags,
        failed=state["failed"] is not None,
        orphaned=state["orphan"] is not None,
        container=above,
    )
