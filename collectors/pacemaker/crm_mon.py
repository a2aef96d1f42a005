"""Parser for the XML output of `crm_mon`: state of Pacemaker nodes and resources.

Formats: xml/api/crm_mon-*.rng, nodes-*.rng, resources-*.rng and failure-*.rng of Pacemaker. The root element is
`<pacemaker-result>` since 2.0.3; before, with `-X`, it is `<crm_mon>` with the same elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from sdstop.core.host import Malformed
from sdstop.core.wording import own_words

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

MON = ("crm_mon", "--output-as=xml", "-1")
_STOPPED = frozenset({"Stopped", "stopped"})


class PacemakerNode(Struct, frozen=True):
    """A cluster node; `kind` is member, or remote for a node that runs resources without a vote."""

    name: str
    kind: str
    online: bool
    unclean: bool
    standby: bool
    maintenance: bool
    pending: bool
    leads: bool


class ManagedResource(Struct, frozen=True):
    """A resource with all its instances: `running` lists the nodes and roles of the active ones.

    `expected` is set if it should run: neither the resource nor its container (clone, group, bundle) is disabled.
    """

    name: str
    agent: str
    instances: int
    running: tuple[tuple[str, str], ...]
    failed: tuple[str, ...]
    blocked: bool
    managed: bool
    expected: bool


class Failure(Struct, frozen=True):
    """A failed action that was not cleaned up: `monitor of r0 on san1: error (timed out)`, with its time if known."""

    resource: str
    task: str
    node: str
    status: str
    reason: str
    when: str


class PacemakerStatus(Struct, frozen=True, kw_only=True):
    """A cluster; unknown fields are None. `fencing` is set if lost nodes can be fenced."""

    version: str | None
    leader: str | None
    quorum: bool | None
    maintenance: bool
    fencing: bool | None
    policy: str | None
    members: tuple[PacemakerNode, ...]
    resources: tuple[ManagedResource, ...]
    failures: tuple[Failure, ...]


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
    present = leader is not None and leader.get("present") == "true"
    return PacemakerStatus(
        version=leader.get("version") or None if leader is not None else None,
        leader=leader.get("name") if leader is not None and present else None,
        quorum=_boolean(leader, "with_quorum") if present else None,
        maintenance=_boolean(options, "maintenance-mode") is True,
        fencing=_first(_boolean(options, "fencing-enabled"), _boolean(options, "stonith-enabled")),
        policy=options.get("no-quorum-policy") if options is not None else None,
        members=tuple(_member(node) for node in root.findall("nodes/node") if node.get("name")),
        resources=tuple(_managed(root.find("resources"))),
        failures=tuple(_failure(item) for item in root.findall("failures/failure")),
    )


_READ = frozenset({
    "active", "blocked", "disabled", "exitreason", "exitstatus", "failed", "failure_ignored", "fencing-enabled",
    "is_dc", "last-rc-change", "maintenance", "maintenance-mode", "managed", "name", "no-quorum-policy", "node",
    "online", "op_key", "pending", "present", "resource_agent", "role", "standby", "standby_onfail", "stonith-enabled",
    "target_role", "task", "type", "unclean", "version", "with_quorum",
})  # fmt: skip
"""Attributes that are read, apart from `id` of resources and failures."""


def without_reasons(data: bytes) -> bytes:
    """Return the parts of a status that `parse_status` reads, without reasons of failures; b"" if malformed."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        parse_status(text)
    except Malformed:
        return b""
    import xml.etree.ElementTree as ET  # noqa: PLC0415

    root = ET.fromstring(text)  # noqa: S314  # as `parse_status` read it
    for section in [section for section in root if section.tag not in {"summary", "nodes", "resources", "failures"}]:
        root.remove(section)
    for item in root.iter():
        own = _READ | {"id"} if item.tag in {"resource", "failure"} else _READ
        for name in [name for name in item.attrib if name not in own]:
            del item.attrib[name]
        if "exitreason" in item.attrib:
            item.set("exitreason", own_words(item.attrib["exitreason"]))
    kept: bytes = ET.tostring(root, encoding="utf-8")
    return kept


def parse_name(text: str) -> str | None:
    """Return the cluster's name from corosync.conf(5): `cluster_name: san`."""
    found = re.search(r"^\s*cluster_name\s*:\s*(\S+)", text, re.MULTILINE)
    return found[1] if found else None


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
    return PacemakerNode(
        node.get("name", ""),
        node.get("type", "member"),
        _boolean(node, "online") is True,
        _boolean(node, "unclean") is True,
        _boolean(node, "standby") is True or _boolean(node, "standby_onfail") is True,
        _boolean(node, "maintenance") is True,
        _boolean(node, "pending") is True,
        _boolean(node, "is_dc") is True,
    )


class _Instance(Struct, frozen=True):
    """An instance of a resource, and whether its container (clone, group, bundle) is disabled."""

    item: ET.Element
    disabled: bool


def _instances(parent: ET.Element, *, disabled: bool) -> Iterator[_Instance]:
    todo = [(child, disabled) for child in reversed(parent)]
    while todo:  # clones contain groups and bundles replicas; a hostile capture may nest them to any depth
        item, off = todo.pop()
        off = off or _boolean(item, "disabled") is True or item.get("target_role", "") in _STOPPED
        if item.tag == "resource":
            yield _Instance(item, off)
        elif item.tag in {"clone", "group", "bundle", "replica"}:
            todo.extend((child, off) for child in reversed(item))


def _managed(resources: ET.Element | None) -> Iterator[ManagedResource]:
    by_name: dict[str, list[_Instance]] = {}
    for instance in _instances(resources, disabled=False) if resources is not None else ():
        name = instance.item.get("id")
        if name:
            by_name.setdefault(name, []).append(instance)
    for name, instances in by_name.items():
        items = [instance.item for instance in instances]
        active = [item for item in items if _boolean(item, "active")]
        broken = [item for item in items if _boolean(item, "failed") and not _boolean(item, "failure_ignored")]
        yield ManagedResource(
            name,
            items[0].get("resource_agent", ""),
            len(items),
            tuple((node, item.get("role", "Started")) for item in active for node in _names(item)),
            tuple(dict.fromkeys(node for item in broken for node in (_names(item) or ["?"]))),
            any(_boolean(item, "blocked") is True for item in items),
            all(_boolean(item, "managed") is not False for item in items),
            not all(instance.disabled for instance in instances),
        )


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


def nodes_of(running: Iterable[tuple[str, str]]) -> str:
    """Return the nodes of a resource: `san1 (Promoted), san2 (Unpromoted)`; the role Started is omitted."""
    return ", ".join(node if role == "Started" else f"{node} ({role})" for node, role in running)
