"""One of several paths to the same disk is used itself, beside the multipath map or without one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.multipath import MAP_UUID
from sdstop.collectors.devicemapper.readings import MultipathPath
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, Verdict, cites, passed
from sdstop.core.history import Window
from sdstop.core.joins import Naming, Relation, ThingKind
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.core.thing import Thing

_USES = frozenset({Relation.STORED, Relation.MEMBER, Relation.CACHED})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    maps = {row.path: row.mapping for row in window.rows(MultipathPath).values() if row.path is not None}
    good: dict[str, list[str]] = {}
    for paths in _disks(window, maps):
        used = {path: users for path in paths if (users := users_of(window, path))}
        for path, users in used.items():
            yield _finding(window, path, paths, users, maps)
        if not used:
            mapped = sum(path in maps for path in paths)
            said = f"{mapped} of {human.plural(len(paths), 'path')} in the map, none used directly"
            good.setdefault(said, []).extend(paths)
    for said, devices in good.items():
        yield from passed(devices, said)


def _disks(window: Window, maps: dict[str, str]) -> list[list[str]]:
    """Return the paths of each disk that has several, or a map."""
    grouped: dict[tuple[str, ...], list[str]] = {}
    for row in window.rows(BlockDevice).values():
        if row.kind == "disk" and row.device not in maps and row.own_wwn and row.size and row.hctl:
            grouped.setdefault((row.own_wwn, str(row.size), row.model or "", row.serial or ""), []).append(row.device)
    of_map = {path: window.get(BlockDevice, path) for path in maps}
    named: dict[str, list[str]] = {}
    for path, mapping in maps.items():
        named.setdefault(mapping, []).append(path)
    for mapping, paths in named.items():
        keys = {
            (known.own_wwn, str(known.size), known.model or "", known.serial or "")
            for path in paths
            if (known := of_map[path]) is not None and known.own_wwn
        }
        named[mapping] = [*paths, *(path for key in sorted(keys) for path in grouped.pop(key, []))]
    return [*named.values(), *(paths for paths in grouped.values() if len(paths) > 1)]


def users_of(window: Window, path: str) -> list[Thing]:
    """Return the file systems, volumes and arrays on a path or its partitions, without multipath maps."""
    topology = window.topology
    thing = topology.named(Naming.DEV, path)
    if thing is None:
        return []
    parts = [other for other, how in topology.upper(thing).items() if how is Relation.PART and other.device]
    found = [
        other
        for each in (thing, *parts)
        for other, how in topology.upper(each).items()
        if how in _USES and ThingKind.MULTIPATH_MAP not in other.kinds and not _is_map(window, other)
    ]
    return list(dict.fromkeys(found))


def _is_map(window: Window, thing: Thing) -> bool:
    row = window.get(BlockDevice, thing.device) if thing.device is not None else None
    return row is not None and MAP_UUID in (row.dm_uuid or "")


def _finding(window: Window, path: str, paths: Sequence[str], users: Sequence[Thing], maps: dict[str, str]) -> Finding:
    mapping = next((maps[each] for each in paths if each in maps), None)
    device = window.get(BlockDevice, path)
    row = next(iter(window.where(MultipathPath, "path", path)), None)
    beside = next((row for each in paths for row in window.where(MultipathPath, "path", each)), None)
    by = human.safe(users[0].label, 20)
    more = f" and {len(users) - 1} more" if len(users) > 1 else ""
    return Finding(
        severity=Severity.WARNING,
        subject=path,
        title="PATH USED DIRECTLY" if mapping is not None else "SEVERAL PATHS, NO MULTIPATH MAP",
        cause=f"{by}{more} uses this path, 1 of {len(paths)} to the same disk.",
        impact="I/O of its users fails with this path although others work.",
        values=(
            Value("paths", "paths to the disk", len(paths)),
            Value("others", "other paths", ", ".join(each for each in paths if each != path) or None),
            Value("users", "used by", ", ".join(user.label for user in users[:4])),
            Value("mapping", "multipath map", mapping),
        ),
        evidence=cites(
            window.cite(device, "wwn") if device is not None and device.wwn else None,
            window.cite(row) if row is not None else window.cite(beside) if beside is not None else None,
            window.cite(device) if device is not None else None,
        ),
        advice=tuple(_advice(path, mapping)),
        refuted_by="a different serial number of each of these disks",
        others=tuple(each for each in paths if each != path),
    )


def _advice(path: str, mapping: str | None) -> Iterator[Advice]:
    yield "Use the map: mount by its name or UUID; let LVM ignore the paths."
    yield run("lsblk", "-o", "NAME,TYPE,WWN,SERIAL,MOUNTPOINTS", note="paths, map and users")
    if mapping is not None:
        yield run("multipath", "-ll", *operands(mapping), note="paths of the map")
    else:
        yield run("multipath", "-v3", "-d", f"/dev/{path}", note="why multipath does not use it; changes nothing")


PATH_USED_DIRECTLY = Rule(
    "path-used-directly",
    "path of a disk that has several, used itself instead of the multipath map",
    Severity.WARNING,
    _check,
    (MultipathPath,),
    instead=(BlockDevice,),
    covers=(Covers(MultipathPath, "{path}", lambda row: row.path is not None),),
    damage=Damage.REDUNDANCY,
    standing=True,
    many="are used directly",
    view="disks",
    advice="Mount the map by its name or UUID, and let LVM ignore its paths.",
)
