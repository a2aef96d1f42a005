"""Structure of a snapshot: the names, links and groups that its rows declare, without their numbers.

The rules are those of sdstop.core.joins. Only the fields that declarations use are read, as columns: with a thousand
disks the graph has tens of thousands of names.
"""

from __future__ import annotations

import functools
import operator
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, compress
from typing import Any, NamedTuple, cast

from msgspec import Struct

from sdstop.core.joins import Identity, Naming, Relation, Stated, ThingKind
from sdstop.core.links import Links
from sdstop.core.model import Reading
from sdstop.core.snapshot import column_parts
from sdstop.core.template import filled_column

_TRANSIENT = (Naming.PROCESS,)
"""Short-lived things, which nothing is joined with."""


def structural(family: type[Reading]) -> bool:
    """Return whether rows of a family can name things of the graph."""
    return bool(_fields(family))


@functools.cache
def _fields(family: type[Reading]) -> tuple[str, ...]:
    """Return the fields on which the structure depends."""
    if all(identity.naming in _TRANSIENT for identity in family.things.values()):
        return ()
    found = {name for role, identity in family.things.items() for name in identity.fields(role)}
    found |= {join.relation.field for join in family.joins if isinstance(join.relation, Stated)}
    found |= {name for group in family.peers for name in group.fields()} | set(family.traits.values())
    return tuple(sorted(found))


Facts = tuple[tuple[Any, ...], ...]
"""Columns of a table that the structure depends on; tables with equal facts have the same structure."""


def facts(family: type[Reading], rows: Mapping[Hashable, Reading]) -> Facts:
    """Return the facts of a table."""
    parts = column_parts(rows)
    if parts:
        return tuple([tuple(chain.from_iterable(part.column(name) for part in parts)) for name in _fields(family)])
    every = list(rows.values())
    return tuple([tuple(map(operator.attrgetter(name), every)) for name in _fields(family)])


class Role(NamedTuple):
    """A role of a family's things: kind and naming (if they depend on the row, those of each), names and aliases."""

    kind: ThingKind | Sequence[ThingKind | None] | None
    naming: Naming | Sequence[Naming | None] | None
    names: Sequence[str | None]
    aliases: Sequence[tuple[Naming, Sequence[str | None]]]
    many: bool


class DeclaredTable(Struct, eq=False):
    """Declarations of the rows of one family, `count` of them: `columns` are the facts by field."""

    family: type[Reading]
    facts: Facts
    count: int
    columns: Mapping[str, Sequence[Any]]

    def stated(self, value: Any) -> Sequence[Any]:
        """Return a declared value of each row."""
        if isinstance(value, Stated):
            column = self.columns[value.field]
            meaning = {word: value.words.get(str(word), value.otherwise) for word in set(column)}
            return list(map(meaning.__getitem__, column))
        return [value] * self.count


def table(family: type[Reading], known: Facts) -> DeclaredTable:
    """Return what rows with these facts declare."""
    return DeclaredTable(family, known, len(known[0]), dict(zip(_fields(family), known, strict=True)))


def _role(each: DeclaredTable, role: str, identity: Identity) -> Role:
    return Role(
        each.stated(identity.kind) if isinstance(identity.kind, Stated) else identity.kind,
        each.stated(identity.naming) if isinstance(identity.naming, Stated) else identity.naming,
        filled_column(identity.name or f"{{{role}}}", each.columns),
        tuple((naming, filled_column(text, each.columns)) for text, naming in identity.aliases),
        identity.many,
    )


Places = tuple[int, ...]


class _Single(list[int]):
    """Name or thing of each row, -1 for none."""

    def of(self, things: Sequence[int]) -> _Single:
        """Return the things of names."""
        return _Single(map(things.__getitem__, self))


class _Several(list[Places]):
    """Names or things of each row."""

    def of(self, things: Sequence[int]) -> _Several:
        """Return the things of names."""
        return _Several(tuple([things[number] for number in numbers]) for numbers in self)


Firsts = _Single | _Several


class LinkGraph(Struct, eq=False):
    """Numbered things, and the links between them.

    `first` are the first names of the things, `devices` their kernel names, if any. `lower` and `upper` are the direct
    neighbors by thing, in the order of the families and rows.
    """

    first: list[str]
    devices: list[str | None]
    kinds: list[frozenset[ThingKind]]
    lower: Links
    upper: Links
    _spaces: Mapping[Naming, Mapping[str | None, int]]
    _firsts: Mapping[type[Reading], Mapping[str, Firsts]]
    _names: Sequence[str]
    """Names of the first thing, of the second, and so on, the primary ones first."""
    _namings: Sequence[Naming]
    _ends: Sequence[int]
    """End of the names of each thing."""

    def names(self, place: int) -> tuple[tuple[Naming, str], ...]:
        """Return all names of a thing, the primary ones first."""
        own = slice(self._ends[place - 1] if place else 0, self._ends[place])
        return tuple(zip(self._namings[own], self._names[own], strict=True))

    def uses(self, naming: Naming) -> bool:
        """Return whether a namespace has names."""
        return bool(self._spaces.get(naming))

    def called(self, naming: Naming, name: str) -> int | None:
        """Return the thing with a name in a namespace."""
        return self._spaces.get(naming, _NO_NAMES).get(name)

    def named(self, family: type[Reading], roles: str) -> list[Places]:
        """Return for each row of a family the things of the first of several roles (`a|b`) that it names."""
        return list(_several(_column(self._firsts[family], roles)))


_NO_NAMES: Mapping[str | None, int] = {}
_is_none = partial(operator.is_, None)


def assembled(tables: Iterable[DeclaredTable]) -> LinkGraph:
    """Return the structure declared by tables, in their order."""
    return _Assembly(list(tables)).structure()


class _Assembly:
    """Names, numbered in the order of their appearance, and their facts until they are grouped to things."""

    def __init__(self, tables: Sequence[DeclaredTable]) -> None:
        self.tables = tables
        self.spaces: dict[Naming, dict[str | None, int]] = {}
        self.naming: list[Naming] = []
        self.text: list[str] = []
        self.primary: set[int] = set()
        self.aliases: dict[int, int] = {}  # the first name that has an alias
        self.more: dict[int, set[int]] = {}  # the others, if there are several
        self.kinds: dict[ThingKind, set[int]] = {}
        self.firsts = {
            each.family: {role: self._named(_role(each, role, what)) for role, what in each.family.things.items()}
            for each in tables
        }

    def _numbered(self, naming: Naming, texts: Iterable[str | None]) -> _Single:
        """Return the numbers of names, -1 for None."""
        space = self.spaces.setdefault(naming, {None: -1})
        texts = list(texts)
        found = list(map(space.get, texts))
        if None in found:
            new = list(dict.fromkeys(compress(texts, map(_is_none, found))))
            space.update(zip(new, range(len(self.text), len(self.text) + len(new)), strict=True))
            self.text += new  # type: ignore[arg-type]  # None has a number
            self.naming += [naming] * len(new)
            found = list(map(space.get, texts))
        return _Single(found)  # type: ignore[arg-type]  # all have numbers now

    def _named(self, role: Role) -> Firsts:
        """Return the numbers of the first names of each row."""
        if role.many:
            return self._named_many(role)
        if isinstance(role.naming, Naming):
            firsts = self._numbered(role.naming, role.names)
        else:
            pairs = zip(role.names, role.naming or [None] * len(role.names), strict=True)
            firsts = _Single(-1 if naming is None else self._numbered(naming, (text,))[0] for text, naming in pairs)
        for naming, texts in role.aliases:
            self._also(firsts, self._numbered(naming, texts))
        self.primary.update(firsts)
        if isinstance(role.kind, ThingKind):
            self.kinds.setdefault(role.kind, set()).update(firsts)
        elif role.kind is not None:
            for kind in {id(kind): kind for kind in role.kind}.values():  # an enum's own hash takes 0.3 us
                if kind is not None:
                    chosen = compress(firsts, map(partial(operator.is_, kind), role.kind))
                    self.kinds.setdefault(kind, set()).update(chosen)
        return firsts

    def _named_many(self, role: Role) -> _Several:
        found, count = _Several(), len(role.names)
        namings = [role.naming] * count if role.naming is None or isinstance(role.naming, Naming) else role.naming
        kinds = [role.kind] * count if role.kind is None or isinstance(role.kind, ThingKind) else role.kind
        for text, naming, kind in zip(role.names, namings, kinds, strict=True):
            words = dict.fromkeys(word for word in (text or "").split(",") if word)
            numbers = tuple(self._numbered(naming, words)) if naming is not None else ()
            self.primary.update(numbers)
            if kind is not None:
                self.kinds.setdefault(kind, set()).update(numbers)
            found.append(numbers)
        return found

    def _also(self, firsts: _Single, aliases: _Single) -> None:
        """Note aliases of each row; one without another name takes the place of its first."""
        known = self.aliases
        new = dict(zip(aliases, firsts, strict=True))
        new.pop(-1, None)
        fresh = len(new) == len(aliases) - aliases.count(-1) and known.keys().isdisjoint(new)
        if fresh and -1 not in firsts and not any(map(operator.eq, aliases, firsts)):
            known.update(new)
            return
        for row, (first, alias) in enumerate(zip(firsts, aliases, strict=True)):
            if alias < 0 or alias == first:
                continue
            if first < 0:
                firsts[row] = alias
            elif known.setdefault(alias, first) != first:
                self.more.setdefault(alias, {known[alias]}).add(first)

    def structure(self) -> LinkGraph:
        """Return the things of all names, and their links."""
        things, count = self._things()
        self.primary.discard(-1)
        devices = self._devices(things, count)
        first: list[str | None] = [None] * count
        for number in sorted(self.primary):
            place = things[number]
            if first[place] is None:
                first[place] = devices[place] or self.text[number]
        kinds, same = [_NO_KINDS] * count, dict[frozenset[ThingKind], frozenset[ThingKind]]()
        for kind in sorted(self.kinds):
            for place in {things[number] for number in self.kinds[kind] if number >= 0}:
                found = kinds[place] | {kind}
                kinds[place] = same.setdefault(found, found)
        order = sorted(range(len(self.text)), key=lambda each: (things[each], each not in self.primary))
        named = {
            family: {role: each.of(things) for role, each in roles.items()} for family, roles in self.firsts.items()
        }
        lower: Neighbors = [{} for _ in first]
        upper: Neighbors = [{} for _ in first]
        for each in self.tables:
            _link(lower, upper, each, named[each.family])
        return LinkGraph(
            cast("list[str]", first),
            devices,
            kinds,
            Links(lower),
            Links(upper),
            {naming: {text: things[each] for text, each in space.items()} for naming, space in self.spaces.items()},
            named,
            [self.text[each] for each in order],
            [self.naming[each] for each in order],
            array("i", accumulate(map(Counter(things).__getitem__, range(count)))),
        )

    def _devices(self, things: Sequence[int], count: int) -> list[str | None]:
        """Return the kernel name of each thing: the first of its primary ones, otherwise of its aliases."""
        found: list[str | None] = [None] * count
        named = [(number, text) for text, number in self.spaces.get(Naming.DEV, {}).items() if number >= 0]
        for number, text in sorted(named, key=lambda each: each[0] not in self.primary):
            if found[things[number]] is None:
                found[things[number]] = text
        return found

    def _things(self) -> tuple[list[int], int]:
        """Return the thing of each name, with -1 at the end for that of -1, and the number of things."""
        parent = list(range(len(self.text)))

        def root(number: int) -> int:
            while parent[number] != number:
                parent[number] = number = parent[parent[number]]
            return number

        more = self.more
        for alias, first in self.aliases.items():
            if alias not in more:
                if parent[alias] == alias and parent[first] == first:  # as nearly always
                    parent[alias] = first
                else:
                    parent[root(alias)] = root(first)
            elif not self._is_ambiguous(more[alias]):
                for each in sorted(more[alias]):
                    parent[root(alias)] = root(each)
        known: dict[int, int] = {}
        things = []
        for number, above in enumerate(parent):
            top = above if parent[above] == above else root(number)
            place = known.get(top)
            if place is None:
                place = known[top] = len(known)
            things.append(place)
        return [*things, -1], len(known)

    def _is_ambiguous(self, firsts: Iterable[int]) -> bool:
        seen: dict[Naming, int] = {}
        return any(seen.setdefault(self.naming[first], first) != first for first in firsts)


_NO_KINDS: frozenset[ThingKind] = frozenset()


Neighbors = list[dict[int, Relation]]


def _link(below: Neighbors, above: Neighbors, each: DeclaredTable, named: Mapping[str, Firsts]) -> None:
    stored = Relation.STORED
    for join in each.family.joins:
        uppers, lowers = _column(named, join.upper), _column(named, join.lower)
        for upper, lower, relation in _pairs(uppers, lowers, each.stated(join.relation)):
            if upper < 0 or lower < 0 or relation is None:
                continue
            neighbors = below[upper]
            if upper != lower and neighbors.get(lower, stored) is stored:
                neighbors[lower] = above[lower][upper] = relation


def _pairs(
    uppers: Firsts, lowers: Firsts, relations: Sequence[Relation | None]
) -> Iterable[tuple[int, int, Relation | None]]:
    if isinstance(uppers, _Single) and isinstance(lowers, _Single):
        return zip(uppers, lowers, relations, strict=True)
    rows = zip(_several(uppers), _several(lowers), relations, strict=True)
    return ((upper, lower, relation) for above, below, relation in rows for upper in above for lower in below)


def _column(firsts: Mapping[str, Firsts], roles: str) -> Firsts:
    """Return for each row the first of several roles that it names."""
    columns = [firsts[role] for role in roles.split("|")]
    single = [column for column in columns if isinstance(column, _Single)]
    if len(columns) == 1:
        return columns[0]
    if len(single) == len(columns):
        return functools.reduce(_filled_up, single)
    return _Several(next((each for each in row if each), ()) for row in zip(*map(_several, columns), strict=True))


def _filled_up(firsts: _Single, others: _Single) -> _Single:
    return _Single(first if first >= 0 else other for first, other in zip(firsts, others, strict=True))


def _several(firsts: Firsts) -> Sequence[Places]:
    return firsts if isinstance(firsts, _Several) else [(first,) if first >= 0 else () for first in firsts]
