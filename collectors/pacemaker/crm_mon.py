"""Parser for the XML output of `crm_mon`: state of Pacemaker nodes and resources.

Formats: xml/api/crm_mon-*.rng, nodes-*.rng, resources-*.rng and failure-*.rng of Pacemaker. The root element is
`<pacemaker-result>` since 2.0.3; before, with `-X`, it is `<crm_mon>` with the same elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from sdstop.collectors.pacemaker.crm_mon_actions import add_failures
from sdstop.collectors.pacemaker.status import (
    BY_HAND,
    UNPROMOTED,
    Ban,
    FailCount,
    Failure,
    Fencing,
    ManagedResource,
    PacemakerNode,
    PacemakerStatus,
    Ticket,
    moment,
)
from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.wording import own_words

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

MON = ("crm_mon", "--output-as=xml", "-1")
MON_OLD = ("crm_mon", "--as-xml", "-1")
"""The same before 2.0.3, which does not know `--output-as`."""
_STOPPED = frozenset({"Stopped", "stopped"})


def parse_status(text: str) -> PacemakerStatus:
    """Parse the XML output of crm_mon.

        <pacemaker-result api-version="2.25" request="crm_mon --output-as=xml -1">
          <summary>
            <current_dc present="true" version="2.1.5-a3f44794f94" name="san1" id="1" with_quorum="true"/>
            <cluster_options stonith-enabled="true" no-quorum-policy="stop" maintenance-mode="false"/>
          </summary>
          <nodes><node name="san1" id="1" online="true" standby="false" maintenance="false" pending="false"
                       unclean="false" is_dc="true" type="member"/></nodes>
          <resources>
            <clone id="r0-clone" multi_state="true" disabled="false" failed="false">
              <resource id="r0" resource_agent="ocf:linbit:drbd" role="Promoted" active="true" blocked="false"
                        managed="true" failed="false" nodes_running_on="1"><node name="san1" id="1"/></resource>
            </clone>
          </resources>
          <failures><failure op_key="r0_monitor_10000" node="san2" exitstatus="error" exitreason="timed out"
                             last-rc-change="2026-11-21 03:12:07Z" task="monitor"/></failures>
        </pacemaker-result>

    Raises Malformed.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:  # crm_mon never prints them; entities could expand without bound
        raise Malformed("crm_mon: a document type")
    import xml.etree.ElementTree as ET  # noqa: PLC0415  # few nodes have any, and it takes time to import

    try:
        root = ET.fromstring(text)  # noqa: S314  # without entities it can only be as large as it is
    except (ET.ParseError, ValueError) as error:
        raise Malformed(f"crm_mon: {error}") from error
    if root.tag not in {"pacemaker-result", "crm_mon"}:
        raise Malformed(f"crm_mon: begins with {root.tag[:40]!r}")
    if root.find("summary") is None and root.find("nodes") is None:
        raise Malformed("crm_mon: neither a summary nor nodes")
    leader, options = root.find("summary/current_dc"), root.find("summary/cluster_options")
    nodes, count = root.findall("nodes/node"), root.find("summary/nodes_configured")
    if count is not None and count.get("number", "").isdecimal() and len(nodes) < int(count.get("number", "0")):
        raise Malformed(f"crm_mon: {count.get('number')} nodes configured, {len(nodes)} listed")
    daemon, updated = root.find("pacemakerd"), root.find("summary/last_update")
    present = leader is not None and leader.get("present") == "true"
    if present and root.find("nodes/node") is None:
        raise Malformed("crm_mon: a designated controller, and no nodes")
    return PacemakerStatus(
        version=leader.get("version") or None if leader is not None else None,
        leader=leader.get("name") if leader is not None and present else None,
        quorum=_boolean(leader, "with_quorum") if present else None,
        maintenance=_boolean(options, "maintenance-mode") is True,
        fencing=_first(_boolean(options, "fencing-enabled"), _boolean(options, "stonith-enabled")),
        policy=options.get("no-quorum-policy") if options is not None else None,
        members=tuple(_member(node) for node in root.findall("nodes/node") if node.get("name")),
        resources=tuple(_managed(root.find("resources"), _recovered(root.find("node_history")))),
        failures=tuple(_failure(item) for item in root.findall("failures/failure")),
        bans=tuple(_bans(root)),
        tickets=tuple(
            Ticket(name, "standby" if _boolean(item, "standby") else item.get("status", "unknown"))
            for item in root.findall("tickets/ticket") if (name := item.get("id"))
        ),
        fencings=tuple(
            Fencing(target, item.get("action", ""), item.get("status", "unknown"), moment(item.get("completed", "")))
            for item in root.findall("fence_history/fence_event") if (target := item.get("target"))
        ),
        daemon=daemon.get("state") or None if daemon is not None else None,
        stopped=_boolean(options, "stop-all-resources") is True,
        counts=_counts(root.find("node_history")),
        now=moment(updated.get("time", "") if updated is not None else ""),
    )  # fmt: skip


_READ = frozenset({
    "action", "active", "blocked", "completed", "disabled", "exitreason", "exitstatus", "expected_up", "fail-count",
    "failed", "last-failure", "failure_ignored", "fencing-enabled", "health", "interval", "is_dc", "last-rc-change",
    "maintenance",
    "maintenance-mode", "managed", "multi_state", "name", "no-quorum-policy", "node", "online", "op_key",
    "orphaned", "pending", "present", "rc", "resource", "resource_agent", "role", "standby", "standby_onfail",
    "state", "status", "stonith-enabled", "stop-all-resources", "target", "target_role", "task", "time", "type",
    "unclean", "version", "weight", "with_quorum",
})  # fmt: skip
"""Attributes that are read, apart from `id` of the elements in `_NAMED`."""
_NAMED = frozenset({"ban", "failure", "group", "resource", "resource_history", "ticket"})
_SECTIONS = frozenset({
    "bans", "failures", "fence_history", "node_history", "nodes", "pacemakerd", "resources", "summary", "tickets",
})  # fmt: skip
"""Parts of a status that are read."""


def without_reasons(data: bytes) -> bytes:
    """Return the parts of a status that `parse_status` reads, without reasons of failures; b"" if malformed."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        parse_status(text)
    except Malformed:
        return b""
    import xml.etree.ElementTree as ET  # noqa: PLC0415

    root = ET.fromstring(text)  # noqa: S314  # as `parse_status` read it
    for section in [section for section in root if section.tag not in _SECTIONS]:
        root.remove(section)
    for item in root.iter():
        own = _READ | {"id"} if item.tag in _NAMED else _READ
        for name in [name for name in item.attrib if name not in own]:
            del item.attrib[name]
        if item.tag == "ban" and not item.get("id", "").startswith(BY_HAND):
            item.set("id", f"location-{item.get('resource', '')}-{item.get('node', '')}")
        if "exitreason" in item.attrib:
            item.set("exitreason", own_words(item.attrib["exitreason"]))
    kept: bytes = ET.tostring(root, encoding="utf-8")
    return kept


def _boolean(item: ET.Element | None, name: str) -> bool | None:
    """Return a yes or no, None if missing. Raises Malformed for any other word, which must not count as no."""
    word = item.get(name) if item is not None else None
    if not word:
        return None
    known = {"true": True, "1": True, "false": False, "0": False}.get(word)
    if known is None:
        raise Malformed(f"crm_mon: {name} is neither true nor false: {word[:40]!r}")
    return known


def _first(*told: bool | None) -> bool | None:
    return next((value for value in told if value is not None), None)


def _member(node: ET.Element) -> PacemakerNode:
    failed_over = _boolean(node, "standby_onfail") is True
    return PacemakerNode(
        node.get("name", ""),
        node.get("type", "member"),
        _boolean(node, "online") is True,
        _boolean(node, "unclean") is True,
        _boolean(node, "standby") is True or failed_over,
        _boolean(node, "maintenance") is True,
        _boolean(node, "pending") is True,
        _boolean(node, "is_dc") is True,
        failed_over,
        _boolean(node, "expected_up"),
        node.get("health") or None,
        node.get("id_as_resource") or None,
    )


class _Instance(Struct, frozen=True):
    """An instance of a resource with the properties of its containers (clone, group, bundle)."""

    item: ET.Element
    name: str
    disabled: bool
    promoted: bool
    many: bool
    group: str
    after: tuple[str, ...]
    bundle: str


class _ContainerState(Struct, frozen=True):
    """What holds for the instances in a container."""

    disabled: bool = False
    promoted: bool = False
    many: bool = False
    group: str = ""
    earlier: tuple[str, ...] = ()
    bundle: str = ""


def _instances(resources: ET.Element) -> Iterator[_Instance]:
    todo = [(child, _ContainerState()) for child in reversed(resources)]
    while todo:  # clones contain groups and bundles replicas; a hostile capture may nest them to any depth
        item, inside = todo.pop()
        role = item.get("target_role", "")
        inside = _ContainerState(
            inside.disabled or _boolean(item, "disabled") is True or role in _STOPPED,
            (inside.promoted or _boolean(item, "multi_state") is True) and role not in UNPROMOTED,
            inside.many or item.tag in {"clone", "bundle"},
            item.get("id", "") if item.tag == "group" else inside.group,
            inside.earlier,
            item.get("id", "") if item.tag == "bundle" else inside.bundle,
        )
        if item.tag == "resource":
            name = item.get("id", "")
            if inside.many:  # instances of a globally unique clone have numbers: db:0
                name = re.sub(r":\d{1,9}\Z", "", name)
            if inside.bundle and _is_of_bundle(name, inside.bundle):
                name = inside.bundle
            yield _Instance(
                item, name, inside.disabled, inside.promoted, inside.many, inside.group, inside.earlier, inside.bundle
            )  # fmt: skip
        elif item.tag == "group":
            members = [child.get("id", "") for child in item[:_MOST_MEMBERS]]
            todo.extend(
                (child, structs.replace(inside, earlier=tuple(members[:place])))
                for place, child in reversed(list(enumerate(item)))
            )
        elif item.tag in {"clone", "bundle", "replica"}:
            todo.extend((child, inside) for child in reversed(item))


_CONTAINER = expression(r"-(?:docker|podman|rkt)-\d{1,9}\Z")


def _is_of_bundle(name: str, bundle: str) -> bool:
    """Return whether Pacemaker made a resource for a replica: its container, its address, its connection.

    web-docker-0, web-podman-1, web-rkt-2, web-ip-192.168.1.7, web-0 (lib/pengine/bundle.c).
    """
    rest = name.removeprefix(f"{bundle}-")
    return rest != name and re.fullmatch(r"(?:(?:docker|podman|rkt)-)?\d{1,9}|ip-[\da-fA-F.:]{2,45}", rest) is not None


_MOST_MEMBERS = 100
"""Members of a group whose order is kept."""


_RUNS = frozenset({"0", "8"})
"""Return codes of a monitor that found the resource: running, and running as promoted."""


def _recovered(history: ET.Element | None) -> frozenset[tuple[str, str]]:
    """Return resource and node where the last recurring monitor found the resource.

        <node name="san1"><resource_history id="vip">
          <operation_history task="monitor" rc="7" interval="2000ms" last-rc-change="2026-11-23 19:13:53Z"/>
          <operation_history task="monitor" rc="0" interval="2000ms" last-rc-change="2026-11-23 19:14:01Z"/>

    The order of the lines has no meaning; at the same time the failure counts.
    """
    found = set()
    for node in history if history is not None else ():
        for resource in node:
            last = max(
                (
                    (moment(each.get("last-rc-change", "")), each.get("rc") not in _RUNS)
                    for each in resource if each.get("task") == "monitor" and each.get("interval")
                ),
                default=(0.0, True),
            )  # fmt: skip
            if not last[1]:
                found.add((resource.get("id", ""), node.get("name", "")))
    return frozenset(found)


def _counts(history: ET.Element | None) -> dict[str, FailCount]:
    """Return how often each resource failed since its last cleanup, on all nodes; without those that never may again.

    <node name="san1"><resource_history id="vip" migration-threshold="1000000" fail-count="20"
      last-failure="Tue Nov 24 02:08:52 2026"/></node>
    """
    found: dict[str, FailCount] = {}
    for node in history if history is not None else ():
        for resource in node:
            add_failures(
                found, resource.get("id", ""), resource.get("fail-count", ""), resource.get("last-failure", "")
            )
    return found


def _managed(resources: ET.Element | None, recovered: frozenset[tuple[str, str]]) -> Iterator[ManagedResource]:
    by_name: dict[str, list[_Instance]] = {}
    for instance in _instances(resources) if resources is not None else ():
        if instance.name:
            by_name.setdefault(instance.name, []).append(instance)
    for name, every in by_name.items():
        # A clone lists a stopped instance beyond its clone-max as orphaned.
        instances = [each for each in every if not _is_left_over(each.item)] or every
        items = [instance.item for instance in instances]
        counted = (
            [item for item in items if _CONTAINER.search(item.get("id", ""))] if name == instances[0].bundle else items
        )
        active = [item for item in counted or items if _boolean(item, "active")]
        broken = [item for item in items if _boolean(item, "failed") and not _boolean(item, "failure_ignored")]
        ignored = (
            node for item in items if _boolean(item, "failure_ignored") for node in _names(item)
            if (item.get("id", ""), node) not in recovered
        )  # fmt: skip
        first = instances[0]
        # The primitive of a bundle is promotable if an instance has such a role; a bundle has no such attribute.
        promotable = first.promoted or any(
            each.bundle and each.item.get("role") in UNPROMOTED and each.item.get("target_role") not in UNPROMOTED
            for each in instances
        )
        yield ManagedResource(
            name,
            (counted or items)[0].get("resource_agent", ""),
            len(counted or items),
            tuple((node, item.get("role", "Started")) for item in active for node in _names(item)),
            tuple(dict.fromkeys(node for item in broken for node in (_names(item) or ["?"]))),
            any(_boolean(item, "blocked") is True for item in items),
            all(_boolean(item, "managed") is not False for item in items),
            not all(instance.disabled for instance in instances),
            promotable,
            first.many,
            first.group,
            first.after,
            all(_boolean(item, "orphaned") is True for item in items),
            next((word for item in items if (word := item.get("pending"))), ""),
            tuple(dict.fromkeys(item.get("id", "") for item in items if item.get("id", "") != name)),
            tuple(dict.fromkeys(ignored)),
        )


def _is_left_over(item: ET.Element) -> bool:
    return _boolean(item, "orphaned") is True and _boolean(item, "active") is not True


def _bans(root: ET.Element) -> Iterator[Ban]:
    for item in root.findall("bans/ban"):
        ident, resource, node = item.get("id", ""), item.get("resource"), item.get("node")
        if resource and node:
            yield Ban(ident, resource, node, ident.startswith(BY_HAND))


def _names(item: ET.Element) -> list[str]:
    return [name for node in item.findall("node") if (name := node.get("name"))]


def _failure(item: ET.Element) -> Failure:
    key = item.get("op_key") or item.get("id") or ""
    resource, _, task = key.rpartition("_")[0].rpartition("_")
    return Failure(
        resource or key,
        item.get("task") or task,
        item.get("node", ""),
        item.get("exitstatus", ""),
        item.get("exitreason", ""),
        item.get("last-rc-change", ""),
    )
