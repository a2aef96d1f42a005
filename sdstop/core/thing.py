"""Thing: a node of the topology, with its kinds and names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from sdstop.core.format import natural
from sdstop.core.joins import Naming, ThingKind

_PLAIN = ("mapper/", "disk/", "zvol/")
_NAMED_BY_OWNER = (Naming.ZFS, Naming.LINK)
_OWNED = frozenset({ThingKind.VOLUME, ThingKind.CACHE, ThingKind.MULTIPATH_MAP, ThingKind.POOL, ThingKind.FILESYSTEM})


class Thing(Struct, frozen=True, eq=False, gc=False):
    """A thing of one topology: its kinds, its canonical name and all names with their namespaces.

    A block device is called by its kernel name, anything else by the name that its first family gives it. Without kinds
    it was only referenced. `place` is its number in this topology; things of two topologies are compared by name.
    """

    kinds: frozenset[ThingKind]
    name: str
    names: tuple[tuple[Naming, str], ...]
    place: int

    def named(self, naming: Naming) -> str | None:
        """Return its first name in a namespace, None if it has none."""
        return next((name for known, name in self.names if known is naming), None)

    @property
    def device(self) -> str | None:
        """Kernel name, of block devices."""
        return self.named(Naming.DEV)

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


def canonical_name(names: Sequence[tuple[Naming, str]]) -> str:
    """Return the kernel name if there is one, otherwise the first name."""
    first = names[0]
    if first[0] is Naming.DEV or len(names) == 1:
        return first[1]
    return next((name for naming, name in names if naming is Naming.DEV), first[1])
