"""Storage diagram: attachments from HBAs through disks and arrays to exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from sdstop.collectors.aoe.readings import AoeExport
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.dmtable import volume
from sdstop.collectors.fabric.readings import DiskPath, Hba
from sdstop.collectors.md.readings import Array
from sdstop.collectors.zfs.readings import Pool, PoolState
from sdstop.core.finding import Finding, Severity, worst_by_subject
from sdstop.core.history import Window
from sdstop.core.joins import Naming, Relation, ThingKind
from sdstop.core.thing import Thing

MOST = 36
"""Maximum boxes per column; further ones are only counted."""
_BUILT_ON = frozenset({Relation.MEMBER, Relation.PART, Relation.STORED, Relation.CACHED, Relation.PATH})
_USERS = frozenset({ThingKind.MOUNT, ThingKind.TARGET, ThingKind.CLIENT})
_SKIPPED = frozenset({"partition", "loop", "ram", "zram", "rom", "floppy", "nvme_path"})


class DiagramBox(Struct, frozen=True):
    """A box: `column` 0 for HBAs, 1 for disks, then the things built on them; `count` identical things."""

    id: str
    column: int
    name: str
    what: str
    count: int = 1
    severity: Severity | None = None


class StorageDiagram(Struct, frozen=True):
    """Boxes, and (below, above) pairs of their ids. `hidden` counts the omitted boxes by column."""

    things: tuple[DiagramBox, ...] = ()
    joins: tuple[tuple[str, str], ...] = ()
    hidden: Mapping[int, int] = field(default_factory=dict)

    @property
    def columns(self) -> list[list[DiagramBox]]:
        """The boxes from left to right."""
        last = max((thing.column for thing in self.things), default=-1)
        return [[thing for thing in self.things if thing.column == at] for at in range(last + 1)]


def storage_diagram(window: Window, findings: Iterable[Finding] = ()) -> StorageDiagram:
    """Return the diagram of the node's storage in a window's newest snapshot."""
    devices = {row.device: row for row in window.rows(BlockDevice).values()}
    worst = worst_by_subject(findings)
    above = _above(window, devices)
    used = set(above) | {name for names in above.values() for name in names}
    heights = _heights(above)
    ways = {row.device: row for row in window.rows(DiskPath).values()}
    arrays = {row.array: row for row in window.rows(Array).values()}
    things: dict[str, DiagramBox] = {}
    ids: dict[str, str] = {}
    groups = _alike(devices, used, heights, ways, above, worst)
    for members in groups:
        first = members[0]
        row = devices[first]
        name = first if len(members) == 1 else f"{len(members)} x {row.model or row.kind}"
        what = " ".join(filter(None, (row.vendor, row.model))) if len(members) == 1 else _range(members)
        things[first] = DiagramBox(first, 1, name, what, len(members), worst.get(first))
        ids.update(dict.fromkeys(members, first))
    for name in sorted(
        (name for name in used - set(ids) if not name.startswith("pool ")), key=lambda n: (heights.get(n, 0), len(n), n)
    ):
        known = devices.get(name)
        shown = volume(known.dm_name, known.dm_uuid) if known is not None and known.dm_name else name
        array = arrays.get(name)
        what = known.kind if known is not None else ""
        if array is not None:
            what = " ".join(filter(None, (array.level, f"{array.raid_disks} disks" if array.raid_disks else "")))
        accused = worst.get(name) or worst.get(shown)
        things[name] = DiagramBox(name, 1 + heights.get(name, 1), shown, what, 1, accused)
        ids[name] = name
    for pool in window.rows(Pool).values():
        key = f"pool {pool.pool}"
        state = window.get(PoolState, pool.pool)
        things[key] = DiagramBox(
            key, 2, pool.pool, " ".join(filter(None, ("zpool", state.state if state else ""))), 1, worst.get(pool.pool)
        )
        ids[key] = key
    joins = {(ids[low], ids[high]) for low, highs in above.items() for high in highs if low in ids and high in ids}
    for device, first in ids.items():
        way = ways.get(device)
        if way is not None and things[first].column == 1:
            hba = window.get(Hba, way.hba)
            things.setdefault(way.hba, DiagramBox(way.hba, 0, way.hba, _hba(hba), 1, worst.get(way.hba)))
            joins.add((way.hba, first))
    last = max((thing.column for thing in things.values()), default=0)
    for export in window.rows(AoeExport).values():
        served = ids.get(export.kernel or "")
        if served is not None:
            key = f"e{export.shelf}.{export.slot}"
            things[key] = DiagramBox(key, last + 1, key, f"AoE on {export.interface}", 1, worst.get(export.interface))
            joins.add((served, key))
    return _bounded(list(things.values()), sorted(joins))


def _above(window: Window, devices: Mapping[str, BlockDevice]) -> dict[str, set[str]]:
    """Return the devices and pools built on each device; partitions count as their disk, leaves as their pool."""
    topology = window.topology

    def box(thing: Thing) -> str | None:
        if ThingKind.POOL in thing.kinds and (pool := thing.named(Naming.ZFS)) is not None:
            return f"pool {pool}"
        row = devices.get(thing.device or "")
        return None if row is not None and row.kind in _SKIPPED else thing.device

    def stops(thing: Thing) -> bool:
        return box(thing) is not None or bool(_USERS & thing.kinds)

    found: dict[str, set[str]] = {}
    for thing in topology.things:
        low = box(thing)
        if low is not None:
            highs = {high for other in topology.nearest(thing, stops, _BUILT_ON) if (high := box(other)) is not None}
            found |= {low: highs - {low}} if highs - {low} else {}
    return found


def _heights(above: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the height of each device in the stack, 0 for a disk; bounded in case of cyclic links."""
    heights: dict[str, int] = {}
    below: dict[str, set[str]] = {}
    for low, highs in above.items():
        for high in highs:
            below.setdefault(high, set()).add(low)
    for _ in range(12):
        moved = False
        for high, lows in below.items():
            height = min(1 + max(heights.get(low, 0) for low in lows), 12)
            if heights.get(high) != height:
                heights[high], moved = height, True
        if not moved:
            break
    return heights


def _alike(
    devices: Mapping[str, BlockDevice],
    used: set[str],
    heights: Mapping[str, int],
    ways: Mapping[str, DiskPath],
    above: Mapping[str, set[str]],
    worst: Mapping[str, Severity],
) -> list[list[str]]:
    """Return groups of identical disks: same HBA, model, size and devices above, and no finding."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for name in sorted(devices, key=lambda n: (len(n), n)):
        row = devices[name]
        if heights.get(name) or row.kind in _SKIPPED or (name not in used and name not in ways):
            continue
        way = ways.get(name)
        alone = name if name in worst else ""
        key = (way.hba if way else "", frozenset(above.get(name, ())), row.model, row.size, alone)
        groups.setdefault(key, []).append(name)
    return [part for members in groups.values() for part in ([members] if len(members) > 2 else [[m] for m in members])]


def _range(members: list[str]) -> str:
    return ", ".join(members) if len(members) <= 4 else f"{members[0]}, {members[1]} ... {members[-1]}"


def _hba(hba: Hba | None) -> str:
    return " ".join(filter(None, (hba.kind, hba.driver))) if hba is not None else ""


def _bounded(things: list[DiagramBox], joins: list[tuple[str, str]]) -> StorageDiagram:
    """Limit each column to MOST boxes, keeping those with the worst findings."""
    counted = Counter(thing.column for thing in things)
    kept: list[DiagramBox] = []
    for column in sorted(counted):
        own = [thing for thing in things if thing.column == column]
        own.sort(key=lambda t: -1 if t.severity is None else t.severity.rank, reverse=True)
        chosen = {thing.id for thing in own[:MOST]}
        kept += [thing for thing in things if thing.column == column and thing.id in chosen]
    ids = {thing.id for thing in kept}
    hidden = {column: count - MOST for column, count in counted.items() if count > MOST}
    return StorageDiagram(tuple(kept), tuple(j for j in joins if ids.issuperset(j)), hidden)
