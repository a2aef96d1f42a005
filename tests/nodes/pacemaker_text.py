"""Text of `crm_mon -1r -c` made from its XML, as lib/pengine/*.c of Pacemaker 2.1 prints it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator


def _yes(item: ET.Element | None, name: str) -> bool:
    return item is not None and item.get(name) == "true"


def status(text: str) -> str:
    root = ET.fromstring(text)  # noqa: S314  # recorded in the project's lab
    dc, options = root.find("summary/current_dc"), root.find("summary/cluster_options")
    count = root.find("summary/resources_configured")
    lines = ["Cluster Summary:", "  * Stack: corosync"]
    if dc is not None and _yes(dc, "present"):
        quorum = "with" if _yes(dc, "with_quorum") else "WITHOUT"
        lines.append(f"  * Current DC: {dc.get('name')} (version {dc.get('version')}) - partition {quorum} quorum")
    else:
        lines.append("  * Current DC: NONE")
    updated = root.find("summary/last_update")
    lines += [f"  * Last updated: {updated.get('time')}"] if updated is not None else []
    lines.append(f"  * {len(root.findall('nodes/node'))} nodes configured")
    if count is not None:
        words = {"disabled": "DISABLED", "blocked": "BLOCKED from further action due to failure"}
        more = [f"{count.get(key)} {word}" for key, word in words.items() if count.get(key, "0") != "0"]
        tail = f" ({', '.join(more)})" if more else ""
        lines.append(f"  * {count.get('number')} resource instances configured{tail}")
    if _yes(options, "maintenance-mode"):
        lines += ["", "              *** Resource management is DISABLED ***",
                  "  The cluster will not attempt to start, stop or recover services"]  # fmt: skip
    if _yes(options, "stop-all-resources"):
        lines += ["", "    *** Resource management is DISABLED ***", "  The cluster will keep all resources stopped"]
    lines += ["", "Node List:", *_nodes(root), "", "Full List of Resources:"]
    for item in root.find("resources") or ():
        lines += _resource(item, 1, root)
    lines += _counts(root)
    lines += _failures(root)
    bans = root.findall("bans/ban")
    if bans:
        lines += ["", "Negative Location Constraints:"]
        lines += [f"  * {b.get('id')}\tprevents {b.get('resource')} from running on {b.get('node')}" for b in bans]
    return "\n".join(lines) + "\n"


def _nodes(root: ET.Element) -> Iterator[str]:
    plain: dict[str, list[str]] = {"Online": [], "OFFLINE": []}
    for node in root.findall("nodes/node"):
        name, online = node.get("name", ""), _yes(node, "online")
        if _yes(node, "unclean"):
            yield f"  * Node {name}: UNCLEAN ({'online' if online else 'offline'})"
        elif _yes(node, "pending"):
            yield f"  * Node {name}: pending"
        elif online and (_yes(node, "standby") or _yes(node, "standby_onfail")):
            yield f"  * Node {name}: standby{' (on-fail)' if _yes(node, 'standby_onfail') else ''}"
        elif online and _yes(node, "maintenance"):
            yield f"  * Node {name}: maintenance"
        else:
            plain["Online" if online else "OFFLINE"].append(name)
    yield from (f"  * {word}: [ {' '.join(names)} ]" for word, names in plain.items() if names)


def _flags(item: ET.Element) -> list[str]:
    found = ["disabled"] if _yes(item, "disabled") or item.get("target_role") == "Stopped" else []
    found += ["blocked"] if _yes(item, "blocked") else []
    found += ["failure ignored"] if _yes(item, "failure_ignored") else []
    found += [item.get("pending", "")] if item.get("pending") else []
    return found + (["unmanaged"] if item.get("managed") == "false" else [])


def _resource(item: ET.Element, depth: int, root: ET.Element) -> Iterator[str]:
    margin = "  " * depth
    if item.tag == "resource":
        yield f"{margin}* {item.get('id')}\t({item.get('resource_agent')}):\t {_state(item, root)}"
    elif item.tag == "group":
        flags = _flags(item)
        yield f"{margin}* Resource Group: {item.get('id')}{f' ({chr(44).join(flags)})' if flags else ''}:"
        for child in item:
            yield from _resource(child, depth + 1, root)
    elif item.tag == "clone":
        inner = next((child.get("id", "").partition(":")[0] for child in item if child.get("id")), "")
        flags = (["promotable"] if _yes(item, "multi_state") else []) + _flags(item)
        yield f"{margin}* Clone Set: {item.get('id')} [{inner}]{f' ({chr(44).join(flags)})' if flags else ''}:"
        for child in item:
            yield from _resource(child, depth + 1, root)


def _state(item: ET.Element, root: ET.Element) -> str:
    nodes = [node.get("name", "") for node in item.findall("node")]
    failed = "FAILED" if _yes(item, "failed") else ""
    orphan = "ORPHANED" if _yes(item, "orphaned") else ""
    role = "" if failed and item.get("role") in {"Started", "Stopped"} else item.get("role", "")
    shown = nodes[0] if len(nodes) == 1 else ""
    away = {
        n.get("name") for n in root.findall("nodes/node") if n.get("unclean") == "true" and n.get("online") != "true"
    }
    unclean = "(UNCLEAN)" if shown in away else ""
    flags = _flags(item)
    listed = f"[ {' '.join(nodes)} ]" if len(nodes) > 1 else ""
    return " ".join(
        filter(None, (orphan, failed, role, shown, unclean, f"({', '.join(flags)})" if flags else "", listed))
    )


def _counts(root: ET.Element) -> Iterator[str]:
    for node in root.findall("node_history/node"):
        counted = [item for item in node if item.get("fail-count")]
        if counted:
            yield from ("", "Migration Summary:", f"  * Node: {node.get('name')}:")
        for item in counted:
            yield (
                f"    * {item.get('id')}: migration-threshold={item.get('migration-threshold')}"
                f" fail-count={item.get('fail-count')} last-failure='{item.get('last-failure')}'"
            )


def _failures(root: ET.Element) -> Iterator[str]:
    found = root.findall("failures/failure")
    if found:
        yield from ("", "Failed Resource Actions:")
    for item in found:
        resource, _, task = (item.get("op_key") or "").rpartition("_")[0].rpartition("_")
        interval = int(item.get("interval", "0") or 0)
        every = f"{interval // 1000}s-interval " if interval else ""
        why = f" because '{item.get('exitreason')}'" if item.get("exitreason") else ""
        how = (
            f"returned '{item.get('exitstatus')}'"
            if item.get("status") in {None, "complete"}
            else f"could not be executed ({item.get('exitstatus')})"
        )
        yield f"  * {resource} {every}{task} on {item.get('node')} {how}{why} at {item.get('last-rc-change')} after 5ms"
    fenced = [event for event in root.findall("fence_history/fence_event") if event.get("status") == "failed"]
    if fenced:
        yield from ("", "Failed Fencing Actions:")
    for event in fenced:
        yield (
            f"  * {event.get('action')} of {event.get('target')} failed: delegate=, client=, origin=,"
            f" completed='{event.get('completed')}'"
        )
