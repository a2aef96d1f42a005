"""Texts of Ceph's tool made from its JSON, as src/mon/Monitor.cc, HealthMonitor.cc and src/osd/OSDMap.cc print them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


def size(number: float) -> str:
    """`1.6 GiB`: three digits, as byte_u_t prints them."""
    power = 0
    while number >= 1024 and power < len(_UNITS) - 1:
        number, power = number / 1024, power + 1
    digits = 0 if not power or number >= 100 else 1 if number >= 10 else 2
    return f"{number:.{digits}f} {_UNITS[power]}B"


def _count(number: float) -> str:
    return f"{number:.0f}" if number < 1000 else f"{number / 1000:.2f}k"


def _summary(health: Mapping[str, Any]) -> list[str]:
    checks = health.get("checks", {})
    lines = [check["summary"]["message"] for check in checks.values() if not check.get("muted")]
    mutes = [mute["code"] for mute in health.get("mutes", [])] or [c for c, k in checks.items() if k.get("muted")]
    return [*lines, f"(muted: {' '.join(mutes)})"] if mutes else lines


def status(text: str) -> str:
    said = json.loads(text)
    osds, groups, monitors = said["osdmap"], said["pgmap"], said["monmap"]
    quorum = said["quorum_names"]
    margin = "\n            "
    rest = (
        f", out of quorum: {'z' * (monitors['num_mons'] - len(quorum))}" if len(quorum) < monitors["num_mons"] else ""
    )
    manager = "x(active, since 2m)" if said["mgrmap"]["available"] else "no daemons active (since 3s)"
    shares = [
        f"{groups[f'{what}_objects']}/{groups[f'{what}_total']} objects {what} (1.000%)"
        for what in ("degraded", "misplaced", "unfound")
        if groups.get(f"{what}_objects")
    ]
    states = [f"{row['count']:<4} {row['state_name']}" for row in groups["pgs_by_state"]]
    rates = [f"{size(groups[name])}/s {kind}" for name, kind in (("read_bytes_sec", "rd"), ("write_bytes_sec", "wr"))
             if groups.get(name)]  # fmt: skip
    rates += [
        f"{groups.get(name, 0)} op/s {kind}" for name, kind in (("read_op_per_sec", "rd"), ("write_op_per_sec", "wr"))
    ]
    recovery = groups.get("recovering_bytes_per_sec")
    used, free, whole = (size(groups[f"bytes_{name}"]) for name in ("used", "avail", "total"))
    lines = [
        "  cluster:",
        f"    id:     {said['fsid']}",
        f"    health: {margin.join([said['health']['status'], *_summary(said['health'])])}",
        " ",
        "  services:",
        f"    mon: {monitors['num_mons']} daemons, quorum {','.join(quorum)} (age 2m){rest}",
        f"    mgr: {manager}",
        f"    osd: {osds['num_osds']} osds: {osds['num_up_osds']} up (since 2m), {osds['num_in_osds']} in (since 2m)",
        " ",
        "  data:",
        f"    pools:   2 pools, {groups['num_pgs']} pgs",
        f"    objects: {_count(groups.get('num_objects', 0))} objects, {size(groups['data_bytes'])}",
        f"    usage:   {used} used, {free} / {whole} avail",
        "    pgs:     " + "\n             ".join([*shares, *states]),
        " ",
    ]
    more = ["  io:"] if any(groups.get(name) for name in ("read_bytes_sec", "write_bytes_sec")) or recovery else []
    more += [f"    client:   {', '.join(rates)}"] if more else []
    more += [f"    recovery: {size(recovery)}/s, 1 objects/s"] if recovery else []
    return "\n".join([*lines, *more, " ", ""])


def health(text: str) -> str:
    said = json.loads(text)
    summary = "; ".join(_summary(said))
    lines = [f"{said['status']} {summary}".strip()]
    for code, check in said["checks"].items():
        short = {"HEALTH_WARN": "WRN", "HEALTH_ERR": "ERR"}[check["severity"]]
        mark = "(MUTED ttl 57m, STICKY) " if check.get("muted") else ""
        lines.append(f"{mark}[{short}] {code}: {check['summary']['message']}")
        lines += [f"    {row['message']}" for row in check.get("detail", [])]
    return "\n".join(lines) + "\n"


def tree(text: str) -> str:
    """`ceph osd df tree`, or `ceph osd tree` if the JSON has no usage."""
    said = json.loads(text)
    nodes = {node["id"]: node for node in said["nodes"]}
    below = {child for node in said["nodes"] for child in node.get("children", [])}
    usage = any("kb" in node for node in said["nodes"])
    for node in nodes.values():
        inside = [each for each, _ in _walk(node["id"], nodes, 0) if each["type"] == "osd"]
        node["crush_weight"] = sum(each.get("crush_weight", 1.0) for each in inside)
    rows = [_row(node, depth, usage=usage) for root in said["nodes"] if root["id"] not in below
            for node, depth in _walk(root["id"], nodes, 0)]  # fmt: skip
    if not usage:
        return "\n".join(["ID  CLASS  WEIGHT   TYPE NAME       STATUS  REWEIGHT  PRI-AFF", *rows]) + "\n"
    head = "ID  CLASS  WEIGHT   REWEIGHT  SIZE     RAW USE  AVAIL    %USE   VAR   PGS  STATUS  TYPE NAME     "
    total = sum(node["kb"] for node in said["nodes"] if node["type"] == "osd") * 1024
    used = sum(node["kb_used"] for node in said["nodes"] if node["type"] == "osd") * 1024
    end = f"                       TOTAL  {size(total)}  {size(used)}  {size(total - used)}  1.00"
    return "\n".join([head, *rows, end, "MIN/MAX VAR: 0.79/1.11  STDDEV: 6.28"]) + "\n"


def _walk(number: int, nodes: Mapping[int, Any], depth: int) -> Iterable[tuple[Any, int]]:
    yield nodes[number], depth
    for child in sorted(nodes[number].get("children", []), reverse=True):
        yield from _walk(child, nodes, depth + 1)


def _row(node: Mapping[str, Any], depth: int, *, usage: bool) -> str:
    osd = node["type"] == "osd"
    name = "    " * depth + (node["name"] if osd else f"{node['type']} {node['name']}")
    media = node.get("device_class", "") if osd else ""
    weight = f"{node.get('crush_weight', 1.0):.5f}"
    reweight = f"{node['reweight']:.5f}" if osd else "-"
    if not usage:
        end = f"{name}  {node['status']:>6}  {reweight:>8}  1.00000" if osd else name
        return f"{node['id']:>2}  {media:>5}  {weight:>7}  {end}"
    cells = [size(node[key] * 1024) for key in ("kb", "kb_used", "kb_avail")]
    share = f"{node['utilization']:.2f}"
    state = f"{node.get('pgs', 0):>3}  {node['status']:>6}" if osd else "  -        "
    columns = [f"{node['id']:>2}", f"{media:>5}", f"{weight:>7}", f"{reweight:>8}", *(f"{cell:>7}" for cell in cells),
               f"{share:>5}", "1.00", state, name]  # fmt: skip
    return "  ".join(columns)
