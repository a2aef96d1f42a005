"""Member devices: block devices that other things on this node are built on."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.multipath import MAP_UUID
from sdstop.core.history import Window
from sdstop.core.joins import Relation, ThingKind
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology

_BUILT = frozenset({Relation.MEMBER, Relation.STORED, Relation.CACHED, Relation.PATH})
_USERS = frozenset({ThingKind.FILESYSTEM, ThingKind.MOUNT, ThingKind.TARGET, ThingKind.CLIENT})


class Members:
    """Members in the last window; recomputed only when the topology changes.

    Multipath maps replace their paths, which have series of their own (sdstop_multipath_path_...).
    """

    def __init__(self) -> None:
        """Start without members."""
        self.names: frozenset[str] = frozenset()
        self.paths: frozenset[str] = frozenset()
        """Kernel names of the paths of multipath maps."""
        self._topology: Topology | None = None

    def of(self, window: Window) -> frozenset[str]:
        """Return the kernel names of all members and multipath maps, without those of paths."""
        if window.topology is not self._topology:
            uuids = {row.device: row.dm_uuid or "" for row in window.rows(BlockDevice).values()}
            known = {device for device, uuid in uuids.items() if uuid.startswith(MAP_UUID)}
            maps, paths = paths_of(window.topology, known)
            found = members_of(window.topology) - paths | maps
            self._topology = window.topology
            self.paths = self.paths if paths == self.paths else paths
            self.names = self.names if found == self.names else found
        return self.names


def members_of(topology: Topology) -> frozenset[str]:
    """Return the kernel names of all members of arrays, pools, volumes, caches and multipath devices.

    The disk of a member partition is included, because requests queue on the disk.
    """
    found = [thing for thing in topology.things if thing.device is not None and _is_member(topology, thing)]
    return frozenset(name for thing in found for name in (thing.device, *_disk(topology, thing)) if name is not None)


def paths_of(topology: Topology, maps: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the kernel names of multipath maps and of their paths; `maps` are known by name.

    Without a privilege, the paths of a map are only devices that it is built on.
    """
    found: set[str] = set()
    paths: set[str] = set()
    for thing in topology.things:
        if thing.device is not None:
            below = {
                other.device
                for other, how in topology.lower(thing).items()
                if how is Relation.PATH or (how is Relation.STORED and thing.device in maps)
            } - {None, thing.device}
            found.update({thing.device} if below else ())
            paths.update(name for name in below if name is not None)
    return frozenset(found), frozenset(paths)


def _is_member(topology: Topology, thing: Thing) -> bool:
    return any(
        how in _BUILT and (other.kinds - _USERS or not other.kinds) for other, how in topology.upper(thing).items()
    )


def _disk(topology: Topology, thing: Thing) -> Iterator[str | None]:
    return (other.device for other, how in topology.lower(thing).items() if how is Relation.PART)
