"""Devices of a cluster as blocks in their fault sets, the accused by name; its capacity and its spare to scale."""

from __future__ import annotations

from sdstop.analysis.clusters.osd import is_osd, words_of
from sdstop.core.finding import Finding
from sdstop.core.format import bytes_, natural, wait
from sdstop.readings.cluster import ClusterDevice, ClusterNode, ClusterPool
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.drawing import GROUNDS, block
from sdstop.tui.pictures.limits import limit_lines, limited
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.palette import Line, text, width_of
from sdstop.tui.widgets.roles import role

_FEW = 3
"""Minimum devices for a picture of them."""
_NODE, _POOL = 8, 10
"""Maximum cells of a node's name, and cells of a pool's."""


def cluster_picture(finding: Finding, scene: Scene) -> Picture | None:
    """Return the devices by fault set, the capacity of pools and the limits of volumes; None without a cluster."""
    devices = list(scene.rows(ClusterDevice)[0].values())
    pools = [pool for pool in scene.rows(ClusterPool)[0].values() if pool.capacity and pool.used is not None]
    if len(devices) < _FEW and not pools:
        return None
    rows = limited(scene)
    sets = len({_set(row, scene) for row in devices})

    def draw(width: int, height: int) -> list[Line]:
        grid = device_lines(devices, finding, scene, width) if devices else []
        capacity = [line for pool in pools[:3] for line in capacity_lines(pool, scene, width)]
        limits = limit_lines(rows, scene.palette, width, len(rows) + 1) if rows else []
        parts = [part for part in (grid, capacity, limits) if part]
        lines: list[Line] = []
        spare = height - sum(map(len, parts))
        for part in parts:
            if lines and spare > 0 and len(parts) > 1:
                lines.append(())
                spare -= 1
            lines += part
        if len(lines) > height and limits:  # the heading of the limits, then the capacity give way
            lines = [*grid, *capacity, *limits[1:]]
            lines = [*grid, *limits[1:]] if len(lines) > height else lines
        return lines[:height]

    title = _title(devices, scene) if devices else "Capacity"
    title += "; limits of volumes" if rows else ""
    best = sets + min(len(pools), 3) + (len(rows) + 1 if rows else 0) + 2
    whole = sets + (len(rows) if rows else min(len(pools), 3))
    return Picture(title, draw, tuple(range(min(max(sets, 1), 4), best + 1)), whole=whole)


def _title(devices: list[ClusterDevice], scene: Scene) -> str:
    """Return `15 OSDs by node`, or `48 devices by fault set` where sets have several nodes."""
    sets = {_set(row, scene) for row in devices}
    what = f"{len(devices)} {'OSDs' if all(map(is_osd, devices)) else 'devices'}"
    by = "node" if sets == {row.node for row in devices} else "fault set"
    return f"{what} by {by}" if len(sets) > 1 else what


def _set(device: ClusterDevice, scene: Scene) -> str:
    node = _nodes(scene).get((device.cluster, device.node))
    return (node.domain if node is not None else None) or device.node


def _nodes(scene: Scene) -> dict[tuple[str, str], ClusterNode]:
    known: dict[tuple[str, str], ClusterNode] = {}
    for row in scene.rows(ClusterNode)[0].values():
        if row.devices or (row.cluster, row.node) not in known:
            known[row.cluster, row.node] = row
    return known


def device_lines(devices: list[ClusterDevice], finding: Finding, scene: Scene, width: int) -> list[Line]:
    """Return a line for each fault set with its nodes, one block a device; more than fits is counted at the end."""
    palette = scene.palette
    nodes = _nodes(scene)
    sets: dict[str, dict[str, list[ClusterDevice]]] = {}
    for row in sorted(devices, key=lambda d: (natural(d.node), natural(_place(d)))):
        node = nodes.get((row.cluster, row.node))
        name = (node.domain if node is not None else None) or row.node
        sets.setdefault(name, {}).setdefault(row.node, []).append(row)
    label = min(max(len(name) for name in sets) + 1, 14)
    across = max(len(members) for members in sets.values())
    most = max(len(own) for members in sets.values() for own in members.values())
    alone = all(len(members) == 1 and name in members for name, members in sets.items())
    head = 0 if alone else min(max(len(row.node) for row in devices), _NODE) + 1
    room = (width - label - 1) // max(across, 1) - head - 1
    facts = {
        row.device + row.node: f"{_moved(row) if _accused(row, finding) else _short(row)} {fact}"
        for row in devices
        if (fact := _fact(row, finding))
    }
    longest = max(len(facts.get(row.device + row.node, _short(row))) for row in devices) + 3
    if longest * most > room:
        facts, longest = {}, max(len(_short(row)) for row in devices) + 1
    size = max(min(room, most * max(longest, 6)) // max(most, 1), 2)
    fore, ground = GROUNDS.get(ROLES.get(finding.severity, ""), ("playfg", "playbg"))
    lines: list[Line] = []
    for name in sorted(sets, key=natural):
        line = list(text((f" {palette.fit(palette.word(name, 40), label)}", role("dim"))))
        for member in sorted(sets[name], key=natural):
            own = sets[name][member]
            bad = any(_accused(row, finding) for row in own)
            if head:
                shown = palette.fit(palette.word(member, 20), head - 1)
                line += text((f"{shown} ", role(ROLES.get(finding.severity, "text") if bad else "dim", bold=bad)))
            if width_of(line) + len(own) * size > width + 1:
                line += text((f"+{len(own)}", role("dim")))
                break
            for row in own:
                accused = _accused(row, finding)
                now = _moved(row)
                said = facts.get(row.device + row.node) or (now if accused and len(now) < size else _short(row))
                said = palette.word(said, 24)
                kind = (fore, ground) if accused else ("playfg", "h2")
                line += text(block(size - 1, *kind, said, palette), " ")
            line += text(" ")
        lines.append(tuple(line))
    return lines


def _place(device: ClusterDevice) -> str:
    """Return the name that orders a device on its node: its path, an OSD's number."""
    return device.device if is_osd(device) else device.path or device.device


def _short(device: ClusterDevice) -> str:
    """Return an OSD's name, or a device's name on its node without the common prefix: `c` of /dev/sdc."""
    if is_osd(device):
        return device.device
    name = (device.path or device.device).rpartition("/")[2]
    return name.removeprefix("sd") or name


def _moved(device: ClusterDevice) -> str:
    """Return the whole name at which a device was found last, an OSD's name."""
    return _short(device) if is_osd(device) else (device.path or device.device).rpartition("/")[2]


def _fact(device: ClusterDevice, finding: Finding) -> str:
    """Return the latency of an OSD whose latency a finding compares, else how much of a device is used; "" unknown."""
    if finding.rule in _LATENCY:
        return f"{wait(device.write_wait)} ms" if device.write_wait is not None else ""
    if device.healthy == 0 and is_osd(device):
        return "down" if "down" in words_of(device) else ""
    full = device.used / device.capacity if device.used is not None and device.capacity else None
    return f"{full:.0%}" if full is not None else ""


_LATENCY = frozenset({"osd-slow", "slow-device"})


def _accused(device: ClusterDevice, finding: Finding) -> bool:
    """Return whether a device is the reason for a finding: moved, not healthy, or named by the finding."""
    if finding.rule == "unstable-device-path":
        return bool(device.original and device.path and device.original != device.path)
    names = {device.device, device.name, f"{device.cluster}/{device.node}/{device.device}", device.local}
    named = not names.isdisjoint(finding.subjects)
    return named or device.healthy == 0


def capacity_lines(pool: ClusterPool, scene: Scene, width: int) -> list[Line]:
    """Return a pool's capacity to scale: used, free and spare."""
    palette = scene.palette
    capacity, used, spare = pool.capacity or 1, pool.used or 0, pool.spare or 0
    tail = f"  of {bytes_(capacity)}iB raw"
    room = width - _POOL - len(tail) - 3
    taken = min(round(used / capacity * room), room)
    kept = min(round(spare / capacity * room), room - taken)
    name = palette.fit(palette.word(pool.pool, 30), _POOL)
    free = max(capacity - used - spare, 0)
    parts = [(f" {name} ", role("dim"))]
    for cells, said, fore, back in (
        (taken, f" used {bytes_(used)}iB", "playfg", "h2"),
        (room - taken - kept, f" free {bytes_(free)}iB", "text", "track"),
        (kept, f" spare {bytes_(spare)}iB", "playfg", "playbg"),
    ):  # fmt: skip
        parts.append(block(cells, fore, back, said if len(said) <= cells else "", palette))
    return [text(*parts, (tail, role("dim")))]
