"""Thing: a node of the topology, with its kinds and names."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from sdstop.core.format import natural
from sdstop.core.joins import Naming, ThingKind
from sdstop.core.structure import LinkGraph

_PLAIN = ("mapper/", "disk/", "zvol/")
_NAMED_BY_OWNER = (Naming.ZFS, Naming.LINK)
_OWNED = frozenset({ThingKind.VOLUME, ThingKind.CACHE, ThingKind.MULTIPATH_MAP, ThingKind.POOL, ThingKind.FILESYSTEM})


class Thing(Struct, frozen=True, eq=False, gc=False):
    """A thing of one topology: its kinds and names, `name` first of all.

    A block device is called by its kernel name, anything else by the name that its first family gives it. Without kinds
    it was only referenced. `place` is its number in this topology; things of two topologies are compared by name.
    """

    kinds: frozenset[ThingKind]
    name: str
    device: str | None
    """Kernel name, of block devices."""
    place: int
    _graph: LinkGraph

    @property
    def names(self) -> tuple[tuple[Naming, str], ...]:
        """All names with their namespaces, the primary ones first."""
        return self._graph.names(self.place)

    def named(self, naming: Naming) -> str | None:
        """Return its first name in a namespace, None if it has none."""
        return self.device if naming is Naming.DEV else next((n for known, n in self.names if known is naming), None)

    @property
    def label(self) -> str:
        """Name given by its owner, otherwise the canonical one: vg0/home for dm-3, tank/vm1 for zd16."""
        if not _OWNED.isdisjoint(self.kinds):
            volumes = [name for naming, name in self.names if naming is Naming.VOLUME]
            if volumes:
                return min(volumes, key=len)  # without the cluster in front
            for naming in _NAMED_BY_OWNER:
                for known, name in self.names:
                    if known is naming and name != self.name and not name.startswith(_PLAIN):
                        return name
        return self.name

    def __repr__(self) -> str:
        return f"<{'+'.join(sorted(self.kinds)) or 'thing'} {self.name}>"


def by_name(things: Iterable[Thing]) -> tuple[Thing, ...]:
    """Return things in the natural order of their names."""
    return tuple(sorted(things, key=lambda thing: (natural(thing.name), thing.place)))
