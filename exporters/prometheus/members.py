"""Member devices: block devices that other things on this node are built on."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.core.history import Window
from sdstop.core.joins import Relation, ThingKind
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology

_BUILT = frozenset({Relation.MEMBER, Relation.STORED, Relation.CACHED, Relation.PATH})
_USERS = frozenset({ThingKind.FILESYSTEM, ThingKind.MOUNT, ThingKind.TARGET, ThingKind.CLIENT})


class Members:
    """Members in the last window; recomputed only when the topology changes."""

    def __init__(self) -> None:
        """Start without members."""
        self.names: frozenset[str] = frozenset()
        self._topology: Topology | None = None

    def of(self, window: Window) -> frozenset[str]:
        """Return the kernel names of all members."""
        if window.topology is not self._topology:
            found = members_of(window.topology)
            self._topology = window.topology
            self.names = self.names if found == self.names else found
        return self.names


def members_of(topology: Topology) -> frozenset[str]:
    """Return the kernel names of all members of arrays, pools, volumes, caches and multipath devices.

    The disk of a member partition is included, because requests queue on the disk.
    """
    found = [thing for thing in topology.things if thing.device is not None and _is_member(topology, thing)]
    return frozenset(name for thing in found for name in (thing.device, *_disk(topology, thing)) if name is not None)


def _is_member(topology: Topology, thing: Thing) -> bool:
    return any(
        how in _BUILT and (other.kinds - _USERS or not other.kinds) for other, how in topology.upper(thing).items()
    )


def _disk(topology: Topology, thing: Thing) -> Iterator[str | None]:
    return (other.device for other, how in topology.lower(thing).items() if how is Relation.PART)
