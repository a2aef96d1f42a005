"""Peer groups: things that should behave alike, as declared by the families that name them (Peers, Traits)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.format import natural
from sdstop.core.joins import CONTAINS, GroupKind, Peers, Relation, ThingKind, Traits
from sdstop.core.structure import DeclaredTable, LinkGraph, Places
from sdstop.core.thing import Thing

_PARTS = 256
"""Maximum number of partitions of a disk that are considered."""


class PeerGroup(Struct, frozen=True, eq=False):
    """Things that should behave alike.

    `upper` is the thing that they belong to, if any. `members` are in the order declared (slots of an array), otherwise
    by name. `weights` are the shares of the load that each should get, in the same order, () if equal or unknown.
    `by` are the values that distinguish groups of one upper thing: a device class, a model.
    """

    kind: GroupKind
    upper: Thing | None
    members: tuple[Thing, ...]
    traits: Traits
    weights: tuple[float, ...] = ()
    slots: tuple[int, ...] = ()
    """Value of the order field by member, () if none is declared: slots of an array, without those that are empty."""
    by: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name that is stable while the group exists: `md2`, `tank/raidz2`, `cluster/pool/SSD`."""
        return "/".join([*([self.upper.name] if self.upper is not None else []), *filter(None, self.by)])


_GroupKey = tuple[GroupKind, int | None, tuple[str, ...]]
_Rows = list[tuple[Any, float | None, int]]


def peer_groups(graph: LinkGraph, things: Sequence[Thing], tables: Sequence[DeclaredTable]) -> tuple[PeerGroup, ...]:
    """Return all groups of at least two members, by kind and name."""
    return _Grouping(graph, things, tables).groups()


class _Grouping:
    """Builder of the groups of one topology."""

    def __init__(self, graph: LinkGraph, things: Sequence[Thing], tables: Sequence[DeclaredTable]) -> None:
        self._graph, self._things, self._tables = graph, things, tables

    def groups(self) -> tuple[PeerGroup, ...]:
        traits = self._traits()
        found: dict[_GroupKey, PeerGroup] = {}
        for each in self._tables:
            for declared in each.family.peers:
                for key, rows in self._grouped(each, declared).items():
                    kind, upper, by = key
                    group = self._group(kind, upper, by, rows, traits)
                    if len(group.members) > 1 and group.traits.comparable is not False:
                        found[key] = group if declared.member else found.get(key, group)
        order = list(GroupKind)
        groups = sorted(found.values(), key=lambda group: (order.index(group.kind), natural(group.name)))
        first: dict[tuple[Thing | None, frozenset[Thing]], PeerGroup] = {}
        for group in groups:  # two families may name the same members; one may not know the raid level
            first.setdefault((group.upper, frozenset(group.members)), group)
        return tuple(first.values())

    def _grouped(self, each: DeclaredTable, declared: Peers) -> dict[_GroupKey, _Rows]:
        """Return the members by group, each with its order and weight."""
        named, count = self._graph.named, each.count
        none: list[Places] = [()] * count
        uppers = named(each.family, declared.upper) if declared.upper else none
        members = (
            named(each.family, declared.member) if declared.member else [self._directly_below(row) for row in uppers]
        )
        kinds = each.stated(declared.kind)
        only = each.stated(declared.only) if declared.only is not None else (True,) * count
        orders = each.columns[declared.order] if declared.order else (0,) * count
        weights = each.columns[declared.weight] if declared.weight else (None,) * count
        bys = list(zip(*(each.columns[name] for name in declared.by), strict=True)) if declared.by else [()] * count
        found: dict[_GroupKey, _Rows] = {}
        rows = zip(uppers, members, kinds, only, orders, weights, bys, strict=True)
        for upper, places, kind, counts, order, weight, by in rows:
            if kind is None or not counts or order is None or None in by or (declared.upper and not upper):
                continue
            for place in places:
                words = tuple(str(word) for word in by)
                if declared.alike:
                    words = (*words, *self._use(place))
                key = (kind, upper[0] if upper else None, words)
                found.setdefault(key, []).append((order, weight, place))
        return found

    def _directly_below(self, places: Places) -> Places:
        return tuple(
            other
            for place in places
            for other, relation in self._graph.lower[place].items()
            if relation in {Relation.MEMBER, Relation.STORED, Relation.PATH}
        )

    def _use(self, place: int) -> tuple[str, ...]:
        """Return the kinds of the things built on a disk or its partitions."""
        uses: set[str] = set()
        todo = [place]
        for each in todo:
            for other, relation in self._graph.upper[each].items():
                if relation is Relation.PART and ThingKind.DEVICE in self._things[other].kinds and len(todo) < _PARTS:
                    todo.append(other)
                elif relation in CONTAINS:
                    uses.update(self._things[other].kinds)
        return tuple(sorted(uses))

    def _group(
        self,
        kind: GroupKind,
        upper: int | None,
        by: tuple[str, ...],
        rows: Sequence[tuple[Any, float | None, int]],
        traits: Mapping[int, Traits],
    ) -> PeerGroup:
        chosen = {place: (order, weight) for order, weight, place in rows}
        order = sorted(chosen, key=lambda place: (chosen[place][0], natural(self._things[place].name)))
        weights = tuple(weight for place in order if (weight := chosen[place][1]))
        slots = tuple(chosen[place][0] for place in order)
        about = traits.get(upper, Traits()) if upper is not None else Traits()
        if about == Traits():
            about = next((traits[place] for place in self._owners(order) if place in traits), about)
        return PeerGroup(
            GroupKind.LEGS if kind is GroupKind.COLUMNS and about.mirrored else kind,
            self._things[upper] if upper is not None else None,
            tuple(self._things[place] for place in order),
            about,
            weights if len(weights) == len(order) else (),
            slots if any(slots) else (),
            by,
        )

    def _owners(self, places: Sequence[int]) -> Iterable[int]:
        for place in places:
            yield place
            yield from self._graph.upper[place]

    def _traits(self) -> dict[int, Traits]:
        """Return the traits by thing, as declared by the families whose subject it is; the first that knows counts."""
        found: dict[int, Traits] = {}
        for each in self._tables:
            declared = each.family.traits
            if not declared:
                continue
            subjects = self._graph.named(each.family, next(iter(each.family.things)))
            columns = [each.columns[name] for name in declared.values()]
            for places, values in zip(subjects, zip(*columns, strict=True), strict=True):
                for place in places:
                    known = found.get(place, Traits())
                    new = {name: value for name, value in zip(declared, values, strict=True) if value is not None}
                    found[place] = replace(
                        known, **{name: value for name, value in new.items() if getattr(known, name) is None}
                    )
        return found
