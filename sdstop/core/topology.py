"""Topology: the one graph of a snapshot, of things and the things that they need.

It is built from the declared joins alone (sdstop.core.joins; sdstop.core.topologies has those of successive snapshots).
Rules, views and reports ask it instead of following links.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sdstop.core.format import natural
from sdstop.core.joins import CONTAINS, Naming, Relation, ThingKind
from sdstop.core.peer_group import PeerGroup, peer_groups
from sdstop.core.structure import DeclaredTable, LinkGraph
from sdstop.core.thing import Thing, by_name

T = TypeVar("T")

_HOLDS = frozenset({Relation.MEMBER, Relation.STORED, Relation.CACHED})
_WHOLES = frozenset(
    {ThingKind.GROUP, ThingKind.ARRAY, ThingKind.POOL, ThingKind.CACHE, ThingKind.MULTIPATH_MAP, ThingKind.BOND,
     ThingKind.OSD, ThingKind.CLUSTER}
)  # fmt: skip
"""Kinds of things that consist of others."""
_TOPS = frozenset({ThingKind.ARRAY, ThingKind.POOL, ThingKind.CACHE, ThingKind.CLUSTER})
_USED = frozenset({ThingKind.VOLUME, ThingKind.FILESYSTEM, ThingKind.MOUNT, ThingKind.TARGET, ThingKind.CLIENT})
"""Kinds of things that a user of the node knows: they are affected by a fault below them."""


_CHOSEN: dict[frozenset[Relation], frozenset[Relation]] = {}
"""Sets of relations to follow: one object for equal ones, as thousands of keys have them."""


def _set_of(relations: Iterable[Relation]) -> frozenset[Relation]:
    found = frozenset(relations)
    return _CHOSEN.setdefault(found, found)


class Topology:
    """Things of a snapshot and their dependencies. It does not change; answers about one thing are remembered."""

    def __init__(self, structure: LinkGraph, tables: Sequence[DeclaredTable] = ()) -> None:
        """Number the things of a structure; `tables` are those that it was assembled from."""
        self.structure = structure
        self.tables = tables
        self._memo: dict[Hashable, Any] = {}
        self.things: tuple[Thing, ...] = tuple(
            Thing(kinds, name, device, place, structure)
            for place, (name, device, kinds) in enumerate(
                zip(structure.first, structure.devices, structure.kinds, strict=True)
            )
        )
        """All things, in the order of the rows that name them."""
        self._namings = tuple(filter(structure.uses, Naming))

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, called once per topology: for results that depend on the structure alone."""
        found: T | None = self._memo.get(key)
        if found is None:
            found = self._memo[key] = make()
        return found

    def latest(self, key: Hashable, name: str, basis: object, make: Callable[[], T]) -> T:
        """Return the result of `make` for a thing, made again when its `basis` is another: the newest one is kept.

        For advice, of which thousands of findings have the same in each frame.
        """
        kept = self.once(("latest", key), dict[str, tuple[object, Any]])
        known = kept.get(name)
        if known is None or known[0] != basis:
            known = kept[name] = basis, make()
        found: T = known[1]
        return found

    def find(self, name: str, kinds: Iterable[ThingKind] = ()) -> Thing | None:
        """Return the thing with a name, or of a finding's subject; None if it is unknown.

        A name counts in all namespaces, those of block devices first; `kinds` are those that the thing may have. A
        subject may be `md2/sdc` (a member), `vol:NAME`, `vol:NAME@CLIENT`, or a name with something that is not a thing
        behind it.
        """
        return self.once(("find", name, tuple(kinds)), lambda: self._found(name, frozenset(kinds)) or _NONE) or None

    def _found(self, name: str, kinds: frozenset[ThingKind]) -> Thing | None:
        name = name.removeprefix("vol:")
        found = self.exact(name, kinds)
        if found is None and "@" in name:  # the volume as one client sees it
            found = self.exact(name.rpartition("@")[0], kinds)
        if found is not None or "/" not in name:
            return found
        head, _, tail = name.rpartition("/")
        whole, part = self._found(head, frozenset()), self.exact(tail, kinds)
        if whole is not None and part is not None and (part in self.below(whole) or part in self.above(whole)):
            return part
        return whole if whole is not None and (not kinds or kinds & whole.kinds) else None

    def subject(self, name: str) -> tuple[str, Thing] | None:
        """Return the thing that the subject of a finding names, after the part of the subject before it: `md2/`, sdc.

        None if its last part is not the name of a thing.
        """
        thing = self.find(name)
        if thing is None:
            return None
        known, whole = {known for _, known in thing.names}, name.removeprefix("vol:")
        if whole in known:
            return "", thing
        head, slash, tail = whole.rpartition("/")
        return (f"{head}{slash}", thing) if tail in known else None

    def exact(self, name: str, kinds: frozenset[ThingKind] = frozenset()) -> Thing | None:
        """Return the thing with exactly this name in any namespace, those of block devices first."""
        for naming in self._namings:
            place = self.structure.called(naming, name)
            if place is not None and (not kinds or kinds & self.things[place].kinds):
                return self.things[place]
        return None

    def named(self, naming: Naming, name: str) -> Thing | None:
        """Return the thing with a name in one namespace: Naming.DEV for block devices."""
        place = self.structure.called(naming, name)
        return self.things[place] if place is not None else None

    def of(self, kind: ThingKind) -> tuple[Thing, ...]:
        """Return the things of a kind, by name."""
        return self.once(("of", kind), lambda: by_name(thing for thing in self.things if kind in thing.kinds))

    def lower(self, thing: Thing) -> dict[Thing, Relation]:
        """Return the things that a thing directly needs, with their relations."""
        return {self.things[place]: relation for place, relation in self.structure.lower[thing.place].items()}

    def upper(self, thing: Thing) -> dict[Thing, Relation]:
        """Return the things that directly need a thing, with their relations."""
        return {self.things[place]: relation for place, relation in self.structure.upper[thing.place].items()}

    def below(self, thing: Thing, relations: Iterable[Relation] = ()) -> tuple[Thing, ...]:
        """Return everything that a thing needs, the nearest first; `relations` are those to follow, () for all."""
        chosen = _set_of(relations)
        return self.once(("below", thing.place, chosen), lambda: self._reached(self.structure.lower, (thing,), chosen))

    def above(self, thing: Thing, relations: Iterable[Relation] = ()) -> tuple[Thing, ...]:
        """Return everything that needs a thing, the nearest first; `relations` are those to follow, () for all."""
        chosen = _set_of(relations)
        return self.once(("above", thing.place, chosen), lambda: self._reached(self.structure.upper, (thing,), chosen))

    def _reached(
        self, links: Sequence[Mapping[int, Relation]], things: Sequence[Thing], relations: frozenset[Relation]
    ) -> tuple[Thing, ...]:
        order = [thing.place for thing in things]
        seen = set(order)
        for place in order:  # grows while it is read: the nearest first
            for other, relation in links[place].items():
                if other not in seen and (not relations or relation in relations):
                    seen.add(other)
                    order.append(other)
        return tuple([self.things[place] for place in order[len(things) :]])

    def above_by(self, thing: Thing, follows: Callable[[Thing, Thing], bool]) -> tuple[Thing, ...]:
        """Return the things that contain a thing, the nearest first, by the steps `follows(upper, lower)` alone."""
        order, seen = [thing], {thing}
        for each in order:  # grows while it is read
            for upper, relation in self.upper(each).items():
                if upper not in seen and relation in CONTAINS and follows(upper, each):
                    seen.add(upper)
                    order.append(upper)
        return tuple(order[1:])

    def nearest(
        self, thing: Thing, wanted: Callable[[Thing], bool], relations: Iterable[Relation] = ()
    ) -> tuple[Thing, ...]:
        """Return the first things above a thing that are wanted; others are passed through."""
        chosen = frozenset(relations)
        found, passed, seen = [], [thing.place], {thing.place}
        for place in passed:  # grows while it is read
            for other, relation in self.structure.upper[place].items():
                if other in seen or (chosen and relation not in chosen):
                    continue
                seen.add(other)
                if wanted(self.things[other]):
                    found.append(self.things[other])
                else:
                    passed.append(other)
        return tuple(found)

    def holders(self, thing: Thing) -> tuple[Thing, ...]:
        """Return the things below that hold a thing's data, the nearest first, without those that only caches use."""
        return self.once(("holders", thing.place), lambda: self._holders(thing))

    def _holders(self, thing: Thing) -> tuple[Thing, ...]:
        order, seen = [thing], {thing}
        for each in order:  # grows while it is read
            lower = self.lower(each)
            cached = {other for other, how in lower.items() if how is Relation.CACHED}
            inner = {below for other in cached for below in (other, *self.upper(other))} - {each}
            for other, how in lower.items():
                if how in CONTAINS and other not in inner and other not in seen:
                    seen.add(other)
                    order.append(other)
        return tuple(order[1:])

    def nearest_below(
        self, thing: Thing, wanted: Callable[[Thing], bool]
    ) -> tuple[tuple[tuple[Thing, bool], ...], tuple[Thing, ...]]:
        """Return the first wanted things among those that hold a thing's data or cache it, and ends without any.

        Things that are not wanted are passed through. The bool is whether a wanted thing is reached through a cache.
        """
        found: list[tuple[Thing, bool]] = []
        ends: list[Thing] = []
        todo, seen = [(thing, False)], {thing}
        for each, cached in todo:  # grows while it is read: the nearest first
            below = [(other, how) for other, how in self.lower(each).items() if how in CONTAINS]
            if not below and each is not thing:
                ends.append(each)
            for other, how in sorted(below, key=lambda pair: pair[1] is Relation.CACHED):
                if other not in seen:
                    seen.add(other)
                    inner = other, cached or how is Relation.CACHED
                    (found if wanted(other) else todo).append(inner)
        return tuple(found), tuple(ends)

    def part_of(self, thing: Thing) -> tuple[Thing, ...]:
        """Return the arrays, vdevs, pools, caches, maps, bonds and clusters that contain a thing, the nearest first."""

        def make() -> tuple[Thing, ...]:
            owners = [other for other, how in self.lower(thing).items() if how is Relation.PART]
            above = [other for other in self._containing(thing) if not _WHOLES.isdisjoint(other.kinds)]
            return tuple(dict.fromkeys([*owners, *above]))

        return self.once(("part of", thing.place), make)

    def _containing(self, thing: Thing) -> list[Thing]:
        """Return the things that contain a thing's data; of the thing's own parts, only partitions are followed."""
        order, seen = [thing], {thing}
        for each in order:  # grows while it is read: the nearest first
            for other, relation in self.upper(each).items():
                up = relation in CONTAINS and (relation is not Relation.PART or ThingKind.DEVICE in other.kinds)
                if up and other not in seen:
                    seen.add(other)
                    order.append(other)
        return order[1:]

    def affected(self, *things: Thing) -> tuple[Thing, ...]:
        """Return the volumes, filesystems, mounts, targets and clients that need one of these things, nearest first.

        Volumes that are only a part of another, such as a leg of an LVM mirror, are left out, and so are pools, whose
        root is a filesystem. Where none is known, these are the arrays, pools and clusters on top that do not contain
        the thing but need it, such as the pool of an HBA's disks.
        """

        def make() -> tuple[Thing, ...]:
            above = self._reached(self.structure.upper, things, frozenset())
            users = (other for other in above if _USED & other.kinds and ThingKind.POOL not in other.kinds)
            found = tuple(other for other in users if not self._is_inner(other))
            return found or tuple(self._tops(above, {each for thing in things for each in self.part_of(thing)}))

        return self.once(("affected", things[0].place), make) if len(things) == 1 else make()

    def _tops(self, above: Sequence[Thing], contain: Container[Thing]) -> Iterator[Thing]:
        """Yield the arrays, pools and clusters that nothing like them is above."""
        for other in above:
            higher = (each for each in self.above(other) if _TOPS & each.kinds)
            if _TOPS & other.kinds and other not in contain and next(higher, None) is None:
                yield other

    def _is_inner(self, thing: Thing) -> bool:
        """Return whether a thing is a member or the cache of a volume."""
        return any(
            relation in {Relation.MEMBER, Relation.CACHED} and ThingKind.VOLUME in self.things[place].kinds
            for place, relation in self.structure.upper[thing.place].items()
        )

    def devices(self, device: str) -> tuple[str, ...]:
        """Return the kernel names of a block device and of all devices that hold its data, the nearest first."""
        thing = self.named(Naming.DEV, device)
        if thing is None:
            return (device,)
        below = (name for other in self.below(thing, CONTAINS) if (name := other.device) is not None)
        return (device, *below)

    def partitions(self, device: str) -> tuple[str, ...]:
        """Return the kernel names of a disk's partitions."""
        thing = self.named(Naming.DEV, device)
        upper = self.upper(thing).items() if thing is not None else ()
        return tuple(name for other, how in upper if how is Relation.PART and (name := other.device) is not None)

    def attached(self, thing: Thing) -> tuple[str, ...]:
        """Return the kernel names of the disks attached to an HBA, controller or expander, at any depth."""

        def make() -> tuple[str, ...]:
            above = self.above(thing, (Relation.ATTACHED, Relation.PART))
            return tuple(other.device for other in above if other.device and self._is_attached(other))

        return self.once(("attached", thing.place), make)

    def _is_attached(self, thing: Thing) -> bool:
        return Relation.ATTACHED in self.structure.lower[thing.place].values()

    def is_stacked(self, thing: Thing) -> bool:
        """Return whether a block device keeps its data on other block devices."""
        return any(
            relation in _HOLDS and self.things[place].device is not None
            for place, relation in self.structure.lower[thing.place].items()
        )

    def disks(self, thing: Thing) -> tuple[Thing, ...]:
        """Return the whole disks that hold a thing's data: devices below it that no other device is below."""
        return self.once(("disks", thing.place), lambda: self._disks(thing))

    def _disks(self, thing: Thing) -> tuple[Thing, ...]:
        held = [thing, *self.below(thing, CONTAINS)]
        return tuple(
            each
            for each in held
            if ThingKind.DEVICE in each.kinds
            and each.device is not None
            and not any(other.device is not None for other in self.below(each, CONTAINS))
        )

    def common(self, things: Iterable[Thing]) -> Thing | None:
        """Return the lowest thing that all of several things depend on: the one with the least above it.

        For disks of one expander this is the expander, not its HBA. None if they share nothing.
        """
        found = self.shared(things)
        return found[0] if found else None

    def shared(self, things: Iterable[Thing]) -> tuple[Thing, ...]:
        """Return everything that all of several things depend on, those with the least above them first."""
        wanted = {thing.place for thing in things}
        if not wanted:
            return ()
        first = self.things[min(wanted)]
        found = [
            (len(above), -len(self.structure.lower[each.place]), natural(each.name), each)
            for each in self.below(first)
            if wanted <= (above := self._places_above(each))
        ]
        return tuple(each for *_, each in sorted(found, key=lambda item: item[:3]))

    def _places_above(self, thing: Thing) -> frozenset[int]:
        return self.once(("places", thing.place), lambda: frozenset(other.place for other in self.above(thing)))

    def path(self, thing: Thing) -> tuple[tuple[Thing, ...], ...]:
        """Return the way from the clients of a volume to what holds its data, top to bottom, by stage.

        Everything that a thing of one stage needs is in later stages.
        """
        return self.once(("path", thing.place), lambda: self._path(thing))

    def _path(self, thing: Thing) -> tuple[tuple[Thing, ...], ...]:
        stages = _stages(thing.place, self.structure.lower)
        clients = _stages(thing.place, self.structure.upper)[:0:-1]
        return tuple(by_name(self.things[place] for place in stage) for stage in (*clients, *stages))

    def groups(self) -> tuple[PeerGroup, ...]:
        """Return all peer groups of at least two members, by kind and name."""
        return self.once("groups", lambda: peer_groups(self.structure, self.things, self.tables))

    def groups_of(self, thing: Thing) -> tuple[PeerGroup, ...]:
        """Return the peer groups that a thing is a member of, those of a common upper thing first."""
        members = self.once("members", self._members)
        return members.get(thing.place, ())

    def peers(self, thing: Thing) -> tuple[Thing, ...]:
        """Return the other members of the first group of a thing, () if it has none."""
        groups = self.groups_of(thing)
        return tuple(other for other in groups[0].members if other is not thing) if groups else ()

    def _members(self) -> dict[int, tuple[PeerGroup, ...]]:
        found: dict[int, tuple[PeerGroup, ...]] = {}
        for group in sorted(self.groups(), key=lambda group: group.upper is None):
            for member in group.members:
                found[member.place] = (*found.get(member.place, ()), group)
        return found


_NONE: Any = ()


def _stages(place: int, links: Sequence[Mapping[int, Relation]]) -> list[list[int]]:
    """Return the things reached from a thing, by the length of the longest path; the thing itself is first."""
    depth = {place: 0}
    order, open_ = [], [(place, iter(links[place]))]
    seen = {place}
    while open_:  # depth first, so that `order`, read backwards, has everything after the thing that it is reached from
        at, rest = open_[-1]
        other = next((other for other in rest if other not in seen), None)
        if other is None:
            order.append(at)
            open_.pop()
        else:
            seen.add(other)
            open_.append((other, iter(links[other])))
    ranks = {at: rank for rank, at in enumerate(reversed(order))}
    for at in reversed(order):
        for other in links[at]:
            if ranks[other] > ranks[at]:  # otherwise a circle
                depth[other] = max(depth.get(other, 0), depth[at] + 1)
    stages: list[list[int]] = [[] for _ in range(max(depth.values()) + 1)]
    for at, stage in depth.items():
        stages[stage].append(at)
    return stages
