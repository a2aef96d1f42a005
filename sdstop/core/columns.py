"""Columns: the rows of a numerous family as one sequence of values for each field, from the parser to the rule.

A family declares that it is `numerous` (sdstop.core.model). Its tables are then columns, whatever its parsers yield:
rows, or a whole Batch, which saves making them. Rules that judge all rows read columns; a row is made on access.
Columns equal to those of the run before are the same objects, so that results that follow from them are kept (`once`):
of thousands of rows only the counters move.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cache
from types import FunctionType, MethodType
from typing import Any, TypeVar

from msgspec import NODEFAULT

from sdstop.core.column_series import Reprint
from sdstop.core.model import Reading, Rows, schema
from sdstop.core.stepped import ColumnSteps, SteppedColumn

V = TypeVar("V")


class Batch(Reading, frozen=True):
    """All rows of the family `of` that a parser yields at once: values by field; a field left out has its default.

    `reprint` is of the evidence that they are from, if it has nothing but these columns.
    """

    of: type[Reading]
    values: Mapping[str, Sequence[Any]]
    reprint: Reprint | None = None


class Columns(Mapping[Hashable, Reading]):
    """Rows of one family by key; see the module."""

    __slots__ = ("_ageing", "_columns", "_in_order", "_memo", "_ordered", "derived", "family", "index")

    def __init__(
        self,
        family: type[Reading],
        values: Mapping[str, Sequence[Any]],
        like: Columns | None = None,
        keys: Sequence[Hashable] | None = None,
        *,
        derived: bool = False,
    ) -> None:
        """Keep the values by field; of rows with the same key the last one counts.

        Columns equal to those of the same name in `like`, which may be of another family, are shared with it. `keys`
        are those of the rows, by default their labels. Rows `derived` from two runs state nothing that those do not.
        """
        self.family = family
        self.derived = derived
        known: Mapping[str, Sequence[Any]] = {}
        self._memo: dict[Hashable, tuple[Mapping[str, object], Any]] = {}
        self._ageing: dict[str, ColumnSteps] = {}
        if like is not None:
            known, self._memo = like._columns, like._memo  # noqa: SLF001  # same class
            self._ageing = like._ageing  # noqa: SLF001  # same class
        count = len(next(iter(values.values()), ()))
        given = {name: values[name] if name in values else [default] * count for name, default in _fields(family)}
        self._columns: dict[str, Sequence[Any]] = {
            name: packed(column, known.get(name)) for name, column in given.items()
        }
        self.index = self._places(count, like, keys)
        if len(self.index) < count:
            places = list(self.index.values())
            self._columns = {
                name: packed([column[at] for at in places], known.get(name)) for name, column in given.items()
            }
            self.index = self._places(len(places), like, list(self.index))
        self._ordered = list(self._columns.values())
        self._in_order = family.__match_args__ == family.__struct_fields__

    def _places(self, count: int, like: Columns | None, keys: Sequence[Hashable] | None) -> Mapping[Hashable, int]:
        """Return the places of the rows by key, those of `like` if they are equal."""
        if keys is None:
            labels = schema(self.family).labels
            named = [self._columns[name] for name in labels]
            shares = like is not None and labels == schema(like.family).labels
            if shares and like is not None and all(map(operator.is_, named, map(like.column, labels))):
                return like.index
            keys = named[0] if len(named) == 1 else list(zip(*named, strict=True)) if named else [()] * count
        index = Places(zip(keys, range(count), strict=True))
        same = like is not None and len(index) == count and list(like.index) == list(index)
        return like.index if same and like is not None else index

    @classmethod
    def of(cls, family: type[Reading], rows: Rows, like: Columns | None = None) -> Columns:
        """Return rows as columns."""
        every = list(rows.values())
        values = {name: list(map(operator.attrgetter(name), every)) for name, _ in _fields(family)}
        return cls(family, values, like, list(rows))

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of a field, in the order of the rows. Raises KeyError."""
        cells = self._columns[name]
        return cells.whole() if isinstance(cells, SteppedColumn) else cells

    def _cells(self, name: str) -> Sequence[Any]:
        """Return the same values as they are kept, for callers that read few of them. Raises KeyError."""
        return self._columns[name]

    def once(self, key: Hashable, make: Callable[[Iterator[Any]], V]) -> V:
        """Return the result of `make`, which gets the rows, each to be read before the next one.

        The fields that it reads are noted: its result is kept, for tables of later runs too, until one of them changes.
        """
        known = self._memo.get((self.family, key))
        if known is None or any(held is not self._held(name) for name, held in known[0].items()):
            view = _View(self)
            made = make(view.every())
            known = self._memo[self.family, key] = {name: self._held(name) for name in ("", *view.noted)}, made
        found: V = known[1]
        return found

    def _held(self, name: str) -> object:
        """Return a column as it is kept, or the index."""
        return self._cells(name) if name else self.index

    def pick(self, keys: tuple[Hashable, ...]) -> Callable[[Sequence[Any]], tuple[Any, ...]] | None:
        """Return what takes the values of these rows from a column, None if there is not a row for each key."""
        index = self.index
        known = index.picks if isinstance(index, Places) else {}
        if keys not in known:
            places = [index.get(key) for key in keys]
            whole = None if None in places else _picker([place for place in places if place is not None])
            known[keys] = whole
        return known[keys]

    def picked(self, keys: tuple[Hashable, ...], names: Sequence[str]) -> Sequence[Sequence[Any]] | None:
        """Return fields of these rows, field by field; None if there is not a row for each key."""
        pick = self.pick(keys)
        return None if pick is None else [pick(self.column(name)) for name in names]

    def beside(self, other: Columns) -> Sequence[int | None]:
        """Return the place here of each row of another table, None for rows that are not here."""
        if other.index is self.index:
            return range(len(self.index))
        return list(map(self.index.get, other.index))

    def __getitem__(self, key: Hashable) -> Reading:
        return self.row(self.index[key])

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return a row, or `default` without one."""
        try:
            place = self.index[key]
        except KeyError:
            return default
        return self.row(place)

    def value(self, key: Hashable, name: str) -> Any:
        """Return a field of a row without making it, None without such a row."""
        place = self.index.get(key)
        return None if place is None else self._cells(name)[place]

    def alike(self, other: Columns) -> Sequence[bool] | None:
        """Return whether each row equals the one at its place in another table, None if it may have other rows."""
        if other.index is not self.index or other.family is not self.family:
            return None
        found: Sequence[bool] = [True] * len(self.index)
        for name in self._columns:
            if other._cells(name) is self._cells(name):  # same class
                continue
            column, before = self.column(name), other.column(name)
            if isinstance(column, array) and _form(column) == _form(before):
                same: Iterable[bool] = map(operator.eq, column, before)
            else:
                same = (new is old or (new == old and type(new) is type(old))
                        for new, old in zip(column, before, strict=True))  # fmt: skip
            found = list(map(operator.and_, found, same))
        return found

    def at(self, keys: Sequence[Hashable], names: Sequence[str]) -> list[list[Any]]:
        """Return fields of the rows with these keys, field by field; None without such a row."""
        places = list(map(self.index.get, keys))
        columns = map(self._cells, names)
        return [[None if place is None else column[place] for place in places] for column in columns]

    def row(self, place: int) -> Reading:
        """Return the row at a place."""
        make: Any = self.family
        row: Reading
        if self._in_order:  # half the time of names
            row = make(*[column[place] for column in self._ordered])
        else:
            row = make(**{name: column[place] for name, column in self._columns.items()})
        return row

    def every(self) -> Iterable[Reading]:
        """Return the rows in order."""
        return map(self.row, range(len(self.index)))

    def values(self) -> ValuesView[Reading]:
        """Return the rows, each made when it is reached."""
        return _Values(self)

    @property
    def most(self) -> int:
        """Maximum number of rows, known without working them out."""
        return len(self.index)

    def settle(self) -> None:
        """Keep results in less memory: there is a newer table, but this one is still read."""

    def age(self) -> None:
        """Drop what can be worked out again, and keep counters in less memory: the table will seldom be read."""
        ageing = self._ageing
        for name, column in self._columns.items():
            steps = ageing.get(name) or ageing.setdefault(name, ColumnSteps())
            self._columns[name] = steps.stepped(column)
        self._ordered = list(self._columns.values())

    def young(self) -> Columns:
        """Return the same rows in a table that keeps its results, for callers that read many rows of an old one."""
        return self

    def __contains__(self, key: object) -> bool:
        """Return whether there is a row, without making it."""
        return key in self.index

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.index)

    def __len__(self) -> int:
        return len(self.index)


def value_of(rows: Rows, key: Hashable, name: str) -> Any:
    """Return a field of a row, None without such a row; a row of columns is not made for it."""
    if isinstance(rows, Columns):
        return rows.value(key, name)
    row = rows.get(key)
    return None if row is None else getattr(row, name)


def values_of(rows: Rows, name: str) -> Sequence[Any]:
    """Return a field of all rows, in their order."""
    return rows.column(name) if isinstance(rows, Columns) else [getattr(row, name) for row in rows.values()]


def values_beside(rows: Rows, other: Rows, name: str) -> Sequence[Any]:
    """Return a field of the row with the key of each row of another table, None where there is none."""
    if not isinstance(rows, Columns):
        return [None if row is None else getattr(row, name) for row in map(rows.get, other)]
    if isinstance(other, Columns) and other.index is rows.index:
        return rows.column(name)
    column = rows.column(name)
    return [None if place is None else column[place] for place in map(rows.index.get, other)]


def values_at(rows: Rows, keys: Sequence[Hashable], *names: str) -> list[list[Any]]:
    """Return fields of the rows with these keys, field by field; None without such a row."""
    if isinstance(rows, Columns):
        return rows.at(keys, names)
    return fields_of([rows.get(key) for key in keys], names)


def fields_of(rows: Sequence[Reading | None], names: Sequence[str]) -> list[list[Any]]:
    """Return fields of rows, field by field; None of a row that is None."""
    return [[None if row is None else getattr(row, name) for row in rows] for name in names]


class Places(dict[Hashable, int]):
    """Places of rows by key; successive tables share it, and what takes the same rows from each of them."""

    __slots__ = ("picks",)

    def __init__(self, places: Iterable[tuple[Hashable, int]]) -> None:
        super().__init__(places)
        self.picks: dict[tuple[Hashable, ...], Callable[[Sequence[Any]], tuple[Any, ...]] | None] = {}


def _picker(places: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    if len(places) > 1:
        return operator.itemgetter(*places)
    return lambda column: tuple([column[place] for place in places])


class _View:
    """A row of a table, then the next one; the fields that are read are noted."""

    def __init__(self, rows: Columns) -> None:
        self.noted: set[str] = set()
        self._rows = rows
        self._fields = frozenset(rows.family.__struct_fields__)
        self._place = 0

    def every(self) -> Iterator[_View]:
        """Yield this object as each of the rows."""
        for place in range(len(self._rows)):
            self._place = place
            yield self

    def __getattr__(self, name: str) -> Any:
        if name in self._fields:
            self.noted.add(name)
            return self._rows._cells(name)[self._place]  # noqa: SLF001  # same module
        found = getattr(self._rows.family, name)
        if isinstance(found, property) and found.fget is not None:
            return found.fget(self)
        return MethodType(found, self) if isinstance(found, FunctionType) else found


class _Values(ValuesView[Reading]):
    """Rows of a table in order."""

    def __init__(self, rows: Columns) -> None:
        super().__init__(rows)
        self._rows = rows

    def __iter__(self) -> Iterator[Reading]:
        return iter(self._rows.every())


@cache
def _fields(family: type[Reading]) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a family with their defaults, None for those without."""
    names = family.__struct_fields__
    defaults = family.__struct_defaults__
    missing = (None,) * (len(names) - len(defaults))
    return tuple(
        (name, None if value is NODEFAULT else value) for name, value in zip(names, (*missing, *defaults), strict=True)
    )


_WIDTHS = {int: ("I", "q"), float: ("d",)}
"""Forms of numbers; 32 bits hold most counts and all times."""


def packed(values: Sequence[Any], known: Sequence[Any] | None) -> Sequence[Any]:
    """Return a column in its smallest form, or `known` if it is equal."""
    if values is known:
        return values
    column = values
    kind = type(values[0]) if values else None
    if not isinstance(values, array) and kind in _WIDTHS and (kind is int or set(map(type, values)) == {float}):
        for width in _WIDTHS[kind]:
            try:
                column = array(width, values)
                break
            except OverflowError:
                continue
            except TypeError:  # None among the numbers
                break
    return known if known is not None and _form(known) == _form(column) and known == column else column


def _form(column: Sequence[Any]) -> object:
    """Return how values are kept: 1 and 1.0 are equal, but not shown alike."""
    return column.typecode if isinstance(column, array) else list
