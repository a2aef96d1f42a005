"""Things added, removed or renamed, and declared settings that differ between two sides."""

from __future__ import annotations

import enum
import math
from collections.abc import Hashable, Iterator, Mapping
from functools import partial

from msgspec import Struct

from sdstop.analysis.comparison.sides import ComparedSide, renamed
from sdstop.collectors.system.readings import Node
from sdstop.core.families import family_named, is_imported
from sdstop.core.format import natural
from sdstop.core.joins import Stated, ThingKind
from sdstop.core.model import Column, Fact, Metric, Name, Reading, Schema, State, schema

_PASSING = frozenset({ThingKind.CLIENT, ThingKind.PEER})
"""Kinds of things that appear and vanish in ordinary use."""
_UNCOMPARED = frozenset({Name.EVIDENCE, Name.TEXT, Name.PATHS})
_SAME = 1e-9
"""Share up to which two settings are equal: numbers of different sources are rounded differently."""


class ThingChange(enum.StrEnum):
    """Change of a thing."""

    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"


class ChangedThing(Struct, frozen=True):
    """A thing, or a part of one such as an array's member, that only one side has; `kind` is in words.

    Of a renamed one, `name` is that in A and `other` that in B.
    """

    change: ThingChange
    kind: str
    name: str
    other: str = ""


class ChangedSetting(Struct, frozen=True):
    """A declared setting that differs. `items` are the rows for which it changed from `before` to `after`.

    Values are in base units; text and states as they are.
    """

    family: type[Reading]
    column: Column
    items: tuple[str, ...]
    before: Hashable
    after: Hashable


class ComparedProperties(Struct, frozen=True):
    """Result: what changed, and how many things and settings did not."""

    things: tuple[ChangedThing, ...]
    settings: tuple[ChangedSetting, ...]
    same_things: int
    same_settings: int
    in_part: tuple[frozenset[type[Reading]], frozenset[type[Reading]]]
    """Families of which A, and of which B, lacks the output of a program that rows of the other side are from."""


def compared_properties(a: ComparedSide, b: ComparedSide, names: Mapping[str, str]) -> ComparedProperties:
    """Compare all families of which both sides have rows, or one has some and the other is known to have none.

    `names` are devices that have another name in B.
    """
    things: dict[tuple[ThingChange, str, str], ChangedThing] = {}
    for device in sorted(names, key=natural):
        things[ThingChange.RENAMED, "device", device] = ChangedThing(
            ThingChange.RENAMED, "device", device, names[device]
        )
    settings: dict[tuple[type[Reading], str, Hashable, Hashable], list[str]] = {}
    in_part: tuple[set[type[Reading]], set[type[Reading]]] = (set(), set())
    same_things, same_settings = set[str](), 0
    for family in _families(a, b):
        declared = schema(family)
        left = {_key(declared, row, names): row for row in a.window.rows(family).values()}
        right = {_key(declared, row, {}): row for row in b.window.rows(family).values()}
        for side, mine, theirs, families in ((a, left, right, in_part[0]), (b, right, left, in_part[1])):
            for key in [key for key in theirs.keys() - mine.keys() if not side.was_recorded(theirs[key])]:
                del theirs[key]
                families.add(family)
        for change in _came_and_went(family, left, right, a, b):
            things.setdefault((change.change, change.kind, change.name), change)
        same_things |= {f"{'/'.join(key)}" for key in left.keys() & right.keys() if _is_thing(family, right[key])}
        for column in filter(partial(_is_setting, family), declared.columns):
            for key in left.keys() & right.keys():
                old, new = _value(column, left[key], names), _value(column, right[key], {})
                if old is None or new is None:
                    continue
                if _equal(old, new):
                    same_settings += 1
                else:
                    settings.setdefault((family, column.name, old, new), []).append("/".join(key))
    return ComparedProperties(
        tuple(things.values()),
        tuple(
            ChangedSetting(family, schema(family).column(name), tuple(sorted(items, key=natural)), old, new)
            for (family, name, old, new), items in settings.items()
        ),
        len(same_things), same_settings, (frozenset(in_part[0]), frozenset(in_part[1])),
    )  # fmt: skip


def _families(a: ComparedSide, b: ComparedSide) -> list[type[Reading]]:
    """Return the families of any source, in the order of the sources."""
    known = dict.fromkeys([*a.window.providers, *b.window.providers])
    return [family for family in map(family_named, filter(is_imported, known)) if family.exported]


_RowKey = tuple[str, ...]


def _key(declared: Schema, row: Reading, names: Mapping[str, str]) -> _RowKey:
    """Return the labels of a row as text, with devices called as they are in B."""
    labels = [column for column in declared.columns if column.name in declared.labels]
    texts = [(column, str(column.base(getattr(row, column.name)))) for column in labels]
    return tuple(renamed(text, names) if column.names is Name.DEVICE else text for column, text in texts)


def _kind(family: type[Reading], row: Reading) -> ThingKind | None:
    """Return the kind of the first thing of a row, None if another family declares it."""
    identity = next(iter(family.things.values()), None)
    if identity is None or identity.kind is None:
        return None
    return identity.kind.of(row) if isinstance(identity.kind, Stated) else identity.kind


def _is_thing(family: type[Reading], row: Reading) -> bool:
    return _kind(family, row) not in {None, *_PASSING}


def _came_and_went(
    family: type[Reading], left: Mapping[_RowKey, Reading], right: Mapping[_RowKey, Reading], a: ComparedSide,
    b: ComparedSide,
) -> Iterator[ChangedThing]:  # fmt: skip
    """Yield rows that one side has and the other is known not to have."""
    single = len(schema(family).labels) == 1
    for change, mine, theirs, other in (
        (ThingChange.REMOVED, left, right, b), (ThingChange.ADDED, right, left, a),
    ):  # fmt: skip
        if other.lacking(family):
            continue
        for key in sorted(mine.keys() - theirs.keys(), key=lambda key: natural("/".join(key))):
            if not _is_thing(family, mine[key]):
                continue
            thing = other.window.topology.exact(key[0]) if single else None
            if thing is None or not thing.kinds:
                kind = _kind(family, mine[key])
                yield ChangedThing(
                    change, kind.value if single and kind else _part(family), "/".join(filter(None, key))
                )


def _part(family: type[Reading]) -> str:
    """Return the kind of a row with several labels: `array member`."""
    return family.family.replace("_", " ")


def _is_setting(family: type[Reading], column: Column) -> bool:
    if family is Node and column.names is Name.HOST:
        return False  # the sides have their names
    match column.mark:
        case Metric(setting=setting):
            return setting
        case Fact(export=export, setting=setting, names=names):
            return (export or setting) and names not in _UNCOMPARED
        case State():
            return True
    return False


def _value(column: Column, row: Reading, names: Mapping[str, str]) -> Hashable:
    value: Hashable = column.base(getattr(row, column.name))
    if column.names is Name.DEVICE and isinstance(value, str):
        value = renamed(value, names)
        value = ",".join(sorted(value.split(",")))
    if isinstance(column.mark, State) and value in column.mark.alike:
        return min(column.mark.alike)
    return value


def _equal(old: Hashable, new: Hashable) -> bool:
    if isinstance(old, int | float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=_SAME)
    return old == new
