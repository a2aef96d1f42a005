"""Subjects of data paths: volumes, arrays, caches, pools and rebuilds of a node, and limited clients."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.limits.limiting import LimitAnalysis, devices_of, limit_analyses
from sdstop.analysis.path.network import is_remote
from sdstop.core.history import Window
from sdstop.core.joins import CONTAINS, Naming, Relation, ThingKind
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology
from sdstop.readings.limit import Limit
from sdstop.readings.rebuild import Rebuild

_STORED = frozenset({ThingKind.VOLUME, ThingKind.CACHE, ThingKind.ARRAY, ThingKind.POOL, ThingKind.MULTIPATH_MAP})
_INNER = frozenset({ThingKind.CLUSTER, ThingKind.OSD, ThingKind.TARGET, ThingKind.CLIENT, ThingKind.NODE})
"""Kinds above a volume that are users of it, or keep other data on it."""


class PathSubject(Struct, frozen=True, eq=False):
    """The thing whose data path is asked for, and the client or the rebuild that the path begins with, if any."""

    thing: Thing
    limits: tuple[LimitAnalysis, ...] = ()
    rebuild: Rebuild | None = None
    mounts: tuple[str, ...] = ()
    """Its mount points."""

    @property
    def owner(self) -> str:
        """Client that the limits apply to, "" for all or if its source names none (`?`)."""
        return self.limits[0].limit.owner.removeprefix("?") if self.limits else ""

    @property
    def name(self) -> str:
        """Name of the path: `vg0/home on /home`, `vda for blocking`, `recovery of md0`."""
        if self.rebuild is not None:
            return f"{self.rebuild.operation} of {self.thing.label}"
        if self.owner:
            return f"{self.thing.label} for {self.owner}"
        shown = [mount for mount in self.mounts if mount != self.thing.label]
        return f"{self.thing.label} on {shown[0]}" if shown else self.thing.label

    @property
    def key(self) -> tuple[str, str, str]:
        """Key that is stable over frames."""
        return self.thing.name, self.owner, self.rebuild.operation if self.rebuild is not None else ""

    @property
    def subjects(self) -> tuple[str, ...]:
        """Subjects under which findings name it, the closest first."""
        names = (self.thing.name, self.thing.label, f"vol:{self.thing.label}", *self.mounts)
        return tuple(dict.fromkeys((*(known.limit.subject for known in self.limits), *names)))


def path_subjects(window: Window) -> list[PathSubject]:
    """Return the paths of a node: rebuilds, limited volumes by client, all top volumes, arrays, caches, pools, mounts.

    Disks that nothing is built on are included if there is nothing else. The structure is evaluated once per topology.
    """
    topology = window.topology
    found = list(_rebuilds(window))
    limited = _limited(window)
    for thing in topology.once("path.tops", lambda: _tops(topology)):
        owners = limited.pop(thing, None)
        found += (
            [PathSubject(thing, limits) for limits in owners.values()]
            if owners
            else [PathSubject(thing, mounts=mounts_of(topology, thing))]
        )
    found += [PathSubject(thing, limits) for thing, owners in limited.items() for limits in owners.values()]
    return found


def _rebuilds(window: Window) -> Iterator[PathSubject]:
    for row in sorted(window.rows(Rebuild).values(), key=lambda row: (row.array, row.operation)):
        carrier = window.topology.named(Naming.DEV, row.carrier) if row.carrier else None
        thing = carrier or window.topology.find(row.array)
        if thing is not None:
            yield PathSubject(thing, (), row)


def _limited(window: Window) -> dict[Thing, dict[str, tuple[LimitAnalysis, ...]]]:
    """Return the limits that are enforced, by volume and client."""
    found: dict[Thing, dict[str, tuple[LimitAnalysis, ...]]] = {}
    for known in limit_analyses(window):
        row = known.limit
        thing = None if row.limited in {"none", None} or row.unheld else limited_thing(window, row)
        if thing is not None:
            owners = found.setdefault(thing, {})
            owners[row.owner] = (*owners.get(row.owner, ()), known)
    return found


def limited_thing(window: Window, row: Limit) -> Thing | None:
    """Return the volume or device that a limit applies to, None if it is unknown."""
    topology = window.topology
    names = [*devices_of(window, row)[:1], row.volume, row.volume.removeprefix("/dev/")]
    return next((thing for name in names if (thing := topology.exact(name)) is not None), None)


def _tops(topology: Topology) -> tuple[Thing, ...]:
    """Return the things with data on top of all others like them, or plain disks if there are none."""
    found = [thing for thing in topology.things if _is_top(topology, thing) or _is_single(topology, thing)]
    if not found:
        found = [thing for thing in topology.of(ThingKind.DEVICE) if _is_plain(topology, thing)]
    return tuple(found)


def _is_top(topology: Topology, thing: Thing) -> bool:
    if _STORED.isdisjoint(thing.kinds):
        return False
    if thing.device is None and ThingKind.POOL not in thing.kinds and thing.named(Naming.VOLUME) is None:
        return False  # a part of LVM without a device
    return not any(
        how in CONTAINS and not _STORED.isdisjoint(other.kinds) and _INNER.isdisjoint(other.kinds)
        for other, how in topology.upper(thing).items()
    )


def mounts_of(topology: Topology, thing: Thing) -> tuple[str, ...]:
    """Return the mount points of the file systems on a thing, the shortest first."""

    def find() -> tuple[str, ...]:
        above = {thing, *topology.above(thing, (Relation.STORED,))}
        return tuple(sorted({m.label for m in above if ThingKind.MOUNT in m.kinds}, key=lambda name: (len(name), name)))

    return topology.once(("path.mounts", thing.place), find)


def _is_single(topology: Topology, thing: Thing) -> bool:
    """Return whether a disk has a file system of its own or nothing above it, or a mount is on another host."""
    if not _STORED.isdisjoint(thing.kinds):
        return False
    if thing.device is not None:
        above = topology.upper(thing)
        return any(ThingKind.MOUNT in other.kinds for other in above) or (not above and is_remote(topology, thing))
    return ThingKind.MOUNT in thing.kinds and is_remote(topology, thing)


def _is_plain(topology: Topology, thing: Thing) -> bool:
    return thing.device is not None and not any(how in CONTAINS for how in topology.lower(thing).values())
