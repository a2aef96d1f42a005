"""State of device mapper's targets, all from one command: raid, thin pools, snapshots, checksums, multipath."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sdstop.collectors.devicemapper import (
    checksums,
    dmtable,
    multipath,
    other_targets,
    raid_volumes,
    snapshots,
    thin_pools,
)
from sdstop.collectors.devicemapper.dmsetup import (
    BLOCK,
    PARTITIONS,
    ROOT,
    STATUS,
    DmsetupOutput,
    MappingNames,
    of_others,
    of_targets,
    output,
)
from sdstop.collectors.devicemapper.dmtable import Segment
from sdstop.collectors.devicemapper.readings import (
    INFO,
    TABLE,
    ChecksummedDevice,
    MappedTarget,
    MultipathPath,
    MultipathState,
)
from sdstop.collectors.devicemapper.volume_readings import LAYERS, MappedRaidState, ThinPool, ThinVolume, VolumeSnapshot
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Denied, Host
from sdstop.core.model import Reading
from sdstop.readings.mismatch import Mismatch
from sdstop.readings.rebuild import Rebuild

PACE = 5.0
"""Seconds between runs on a node with multipath maps; dmsetup takes 3 ms of CPU."""
_SLOWER = 9.0
"""Seconds in which other targets are not queried again: they fill and fail more slowly than paths."""
_IDLE = 60.0
"""Seconds until the next run on a node without any of these targets, unless its devices change."""
_NAMED = 600.0
"""Seconds until the names of unchanged devices are read again."""
_TARGETS = frozenset({
    *raid_volumes.TARGETS, *thin_pools.POOLS, thin_pools.VOLUME, *snapshots.TARGETS, *checksums.TARGETS,
    multipath.TARGET,
})  # fmt: skip


def read(host: Host) -> Iterable[Reading]:
    """Return the rows of each target with a state; on a live node this call only runs the commands.

    Where a cache is active, its source has just run the same command, and it is not run again. Raises Denied without
    root, Absent without dmsetup, Malformed for invalid output.
    """
    devices = fingerprint(host)
    recorded = host.recorded("dmsetup")
    if not devices and not recorded:
        return ()
    idle = f"{command_key(STATUS)} of {' '.join(devices)}"
    if host.rests(command_key(STATUS)) or host.rests(idle):
        return ()
    try:
        said = _status(host)
    except Denied:
        host.rest(idle, _IDLE)
        if devices and _is_plain(host, devices):
            return ()
        raise
    found = {segment.target for each in said for segment in _segments(each)}
    if not any(map(_has_state, found)):
        host.rest(idle, _IDLE)
    elif not host.rests(made := f"names of {' '.join(devices)}"):
        # Rows have the right names and pools from the start, whenever the slower source of these gets its turn.
        host.rest(made, _NAMED)
        for name in devices:
            for file in ("name", "uuid"):
                host.maybe(f"{BLOCK}/{name}/dm/{file}")
        of_others(host, TABLE, "table")
    if multipath.TARGET not in found:
        host.rest(idle, _SLOWER)
    if any(multipath.is_impaired(segment) for each in said for segment in _segments(each)):
        of_others(host, multipath.TABLE, "table")  # whether requests wait may have changed since the last whole table
    return _rows(host, said)


_PARTS = expression(
    r".*(?:_(?:[rm]image|rmeta)_\d+|_(?:mlog|[tcv]data|[tc]meta|imeta|w?c?i?orig|vorigin)|-missing_\d+_\d+)"
    r"|.*-(?:tpool|cow|real|vpool)|.*-pvmove\d+"
)
"""Names of the parts of volumes that have a state (lib/misc/lvm-string.c, lib/activate/dev_manager.c)."""
_PLAIN = expression(r"LVM-.*|CRYPT-(?!INTEGRITY|SUBDEV|VERITY).*|part\d+-.*", re.DOTALL)


def _is_plain(host: Host, devices: Iterable[str]) -> bool:
    """Return whether the names and UUIDs of all devices are those of targets without a state: linear, crypt."""
    return all(
        _PLAIN.fullmatch(host.maybe(f"{BLOCK}/{name}/dm/uuid") or "") is not None
        and _PARTS.fullmatch(host.maybe(f"{BLOCK}/{name}/dm/name") or "") is None
        for name in devices
    )


def _status(host: Host) -> list[DmsetupOutput]:
    """Return the whole status, or recorded ones of single targets."""
    try:
        return output(host, STATUS, "status")
    except Absent as error:
        parts = [] if error.recorded else of_targets(host, "status")
        if not parts:
            raise
        return parts


def _segments(said: DmsetupOutput) -> Sequence[Segment]:
    """Return the segments whose targets have a state, usually a few among hundreds of volumes."""
    return dmtable.with_state(said.text, said.name)


def _rows(host: Host, said: Sequence[DmsetupOutput]) -> Iterator[Reading]:
    known = [(each.key, segment) for each in said for segment in _segments(each) if _has_state(segment.target)]
    if not known:
        return
    names = MappingNames(host)
    whole = _tables(of_others(host, TABLE, "table"))
    parts = _tables(of_targets(host, "table"))
    seen: set[tuple[str, int]] = set()
    for key, segment in known:
        place = segment.name, segment.start
        if place not in seen:
            seen.add(place)
            newest = parts if segment.target == multipath.TARGET and place in parts else whole
            yield from _target(segment, key, names, newest.get(place, ""))


def _has_state(target: str) -> bool:
    return target in _TARGETS or other_targets.has_state(target)


def _tables(said: Iterable[DmsetupOutput]) -> Mapping[tuple[str, int], str]:
    return {(s.name, s.start): s.text for each in said for s in dmtable.segments(each.text, each.name)}


def _target(segment: Segment, key: str, names: MappingNames, table: str) -> Iterator[Reading]:
    if segment.target == multipath.TARGET:
        yield from multipath.rows(segment, key, names, queues=multipath.parse_queues(table) if table else None)
        return
    name, device = names.named(segment.name)
    if segment.start:
        name = f"{name}@{segment.start}"  # rare: a mapping of several such segments
    words = table.split()
    if segment.target in raid_volumes.TARGETS:
        made = raid_volumes.parse_table(segment.target, table)
        images = [names.device(number) for number in made.images]
        row = raid_volumes.volume(segment, name, device, made, images, key)
        yield row
        yield from raid_volumes.beside(row)
    elif segment.target in thin_pools.POOLS:
        layer = next(filter(name.endswith, LAYERS.values()), "")
        yield thin_pools.pool(segment, name.removesuffix(layer), device, table, key)
    elif segment.target == thin_pools.VOLUME:
        pool = names.device(words[0]) if words else None
        yield thin_pools.thin_volume(segment, name, device, pool, key)
    elif segment.target in snapshots.TARGETS:
        below = (names.device(words[0]), names.device(words[1])) if len(words) > 1 else (None, None)
        yield snapshots.snapshot(segment, name, device, below, key)
    elif segment.target in checksums.TARGETS:
        yield checksums.checksummed(segment, name, device, key)
    elif (other := other_targets.mapped_target(segment, device, key)) is not None:
        yield other


def fingerprint(host: Host) -> tuple[str, ...]:
    """Return the kernel names of all device mapper devices."""
    return tuple(name for name in host.names(BLOCK) if name.startswith("dm-"))


DM_STATUS = Collector(
    "dm-status",
    "State of LVM RAID, thin pools, snapshots, checksums and multipath maps",
    read,
    (
        MappedRaidState,
        Rebuild,
        Mismatch,
        ThinPool,
        ThinVolume,
        VolumeSnapshot,
        ChecksummedDevice,
        MappedTarget,
        MultipathState,
        MultipathPath,
    ),
    (
        Need(f"list:{BLOCK}", "whether there are device mapper devices", everyone=True),
        Command(STATUS, "health, fill level and paths of the targets; nothing is flushed for it", ROOT, filled=True),
        Command(multipath.TABLE, "whether requests wait, where a path has failed", ROOT, filled=True),
        Command(INFO, "kernel names of the mappings", ROOT),
        Command(TABLE, "devices and block sizes of the targets", ROOT, filled=True),
        Need("cmd:dmsetup *", "fallback in another format, from captures only; never run on a live node"),
        Need("link:/dev/*", "kernel names of devices given by path"),
        Need(PARTITIONS, "kernel names by major and minor number, as tables have them"),
        Need(f"{BLOCK}/*/dev", "kernel names by number, if a capture lacks the list"),
        Need(f"{BLOCK}/*/device/access_state", "access that an array gives through a path (ALUA)"),
        Need(f"{BLOCK}/dm-*/dm/*", "kernel names of the mappings, if a capture lacks the list"),
    ),
    PACE,
    deadline=10.0,
    fingerprint=fingerprint,
    eager=True,
)
