"""Series: a family's rows as sample lines, of which only those whose value changed are written anew.

A page of ten thousand samples is mostly the same names and labels every second: they are put together once for each
set of rows, and a value that is the very object it was a frame ago keeps its line.
"""

from __future__ import annotations

import enum
import math
import operator
import re
import typing
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from sdstop.collector import Collector
from sdstop.exporters.exposition import Heading, Sample, label, labelled, number
from sdstop.model import Buckets, Column, Fact, Kind, Label, Metric, Reading, Schema, State, metric_name, schema

MOST_ROWS = 20_000
"""Rows of a family that are exported, unless config says otherwise."""


def source_of(family: type[Reading], column: Column, collector: Collector) -> str:
    """Return where a field is read: a pattern (`/sys/block/*/size`), or what its collector reads at all."""
    declared = schema(family)
    make: Any = family
    row = make(**{c.name: "*" if isinstance(c.mark, Label) else None for c in declared.columns})
    try:
        found = row.source(column.name)
    except (AttributeError, TypeError, ValueError):  # it depends on more than the labels
        found = None
    if found is not None:
        return str(found.key)
    needs = [need.what for need in collector.needs]
    return ", ".join([*needs[:_MOST_SOURCES], *(["..."] if len(needs) > _MOST_SOURCES else [])])


_MOST_SOURCES = 3


def headings(family: type[Reading], collector: Collector) -> dict[str, Heading]:
    """Return a family's metrics by field; "" stands for the one that holds the facts. Empty if none is exported."""
    declared = schema(family)
    if not family.exported:
        return {}
    found: dict[str, Heading] = {}
    facts = [c for c in declared.columns if isinstance(c.mark, Fact) and c.exported]
    others = [c for c in declared.columns if c.exported and not isinstance(c.mark, Fact | Label)]
    if facts or not others:
        names = (*declared.labels, *(c.name for c in facts))
        found[""] = Heading(f"sdstop_{declared.family}_info", "info", f"{declared.title}: facts, always 1", names)
    for column in others:
        found[column.name] = _heading(declared, column, source_of(family, column, collector))
    return found


def _heading(declared: Schema, column: Column, source: str) -> Heading:
    name, mark = metric_name(declared.family, column), column.mark
    said = f"{declared.title}: {mark.help} ({source})"
    match mark:
        case State():
            return Heading(name, "gauge", said, (*declared.labels, "state"))
        case Buckets():
            return Heading(name, "histogram", said, (*declared.labels, "le"), mark.unit)
        case Metric(kind=Kind.COUNTER):
            return Heading(name, "counter", said, declared.labels, mark.unit)
        case _:
            return Heading(name, "gauge", said, declared.labels, column.unit)


class _Block(Protocol):
    """The lines of one metric."""

    heading: Heading

    def arrange(self, labels: Sequence[dict[str, str]]) -> None:
        """Start over with these rows, of which the labels are given."""

    def update(self, rows: Sequence[Reading]) -> str:
        """Return the lines of these rows, which are those that were arranged."""

    def samples(self, rows: Sequence[Reading], labels: Sequence[dict[str, str]]) -> Iterator[Sample]:
        """Yield the same, unwritten. For prometheus_client, the oracle and the way out."""


class _Numbers:
    """One number a row."""

    def __init__(self, heading: Heading, column: Column) -> None:
        assert isinstance(column.mark, Metric)  # noqa: S101  # whoever calls asked
        self.heading = heading
        self._column = column
        self._get = operator.attrgetter(column.name)
        scale = column.mark.scale  # as in Column.base
        self._factor: float = max(scale, 1)
        self._divisor = round(1 / scale) if scale < 1 else 1
        self._prefixes: list[str] = []
        self._values: list[Any] = []
        self._lines: list[str] = []

    def arrange(self, labels: Sequence[dict[str, str]]) -> None:
        name = self.heading.name
        self._prefixes = [f"{name}{labelled(each)} " for each in labels]
        self._values = [None] * len(labels)
        self._lines = [""] * len(labels)

    def update(self, rows: Sequence[Reading]) -> str:
        values = list(map(self._get, rows))
        known, written, factor, divisor = self._values, self._lines, self._factor, self._divisor
        for index, value in enumerate(values):
            if value is not known[index]:
                if value is None:
                    written[index] = ""
                else:
                    scaled = value * factor if divisor == 1 else value / divisor
                    written[index] = f"{self._prefixes[index]}{number(scaled)}\n"
        self._values = values
        return "".join(written)

    def samples(self, rows: Sequence[Reading], labels: Sequence[dict[str, str]]) -> Iterator[Sample]:
        for row, each in zip(rows, labels, strict=True):
            value = self._column.base(self._get(row))
            if value is not None:
                yield each, float(value)


class _Words:
    """Any number of lines a row: the words of a state, the facts, the buckets of a histogram."""

    def __init__(self, heading: Heading, get: Callable[[Reading], Any], told: Callable[[Any], list[Sample]]) -> None:
        self.heading = heading
        self._get = get
        self._told = told
        self._name = f"{heading.name}_bucket" if heading.type == "histogram" else heading.name
        self._labels: Sequence[dict[str, str]] = ()
        self._values: list[Any] = []
        self._lines: list[str] = []

    def arrange(self, labels: Sequence[dict[str, str]]) -> None:
        self._labels = labels
        self._values = [self] * len(labels)  # no row says that
        self._lines = [""] * len(labels)

    def update(self, rows: Sequence[Reading]) -> str:
        values = list(map(self._get, rows))
        for index, value in enumerate(values):
            if value is not self._values[index] and value != self._values[index]:
                self._lines[index] = "".join(
                    f"{self._name}{labelled(self._labels[index] | dict(more))} {number(count)}\n"
                    for more, count in self._told(value)
                )
        self._values = values
        return "".join(self._lines)

    def samples(self, rows: Sequence[Reading], labels: Sequence[dict[str, str]]) -> Iterator[Sample]:
        for row, each in zip(rows, labels, strict=True):
            for more, count in self._told(self._get(row)):
                yield each | dict(more), float(count)


def _state(family: type[Reading], column: Column, heading: Heading) -> _Words:
    """A state whose words are declared has a series for each of them, any other one for the word it is in."""
    hint = typing.get_type_hints(family)[column.name]
    enums: list[Any] = [part for part in (hint, *typing.get_args(hint)) if isinstance(part, enum.EnumMeta)]
    known = [member.value for words in enums for member in words]
    get = operator.attrgetter(column.name)

    def told(word: Any) -> list[Sample]:
        word = column.base(word)
        words = known or [word]
        return [] if word is None else [({"state": label(w)}, int(w == word)) for w in words]

    return _Words(heading, get, told)


def _facts(columns: Sequence[Column], heading: Heading) -> _Words:
    """One series a row, which is 1; what the node does not say is no label."""
    get = operator.attrgetter(*(c.name for c in columns)) if columns else lambda _: ()

    def told(values: Any) -> list[Sample]:
        if len(columns) == 1:
            values = (values,)
        pairs = zip(columns, values, strict=True)
        return [({c.name: label(c.base(v)) for c, v in pairs if v is not None}, 1)]

    return _Words(heading, get, told)


def _buckets(column: Column, heading: Heading) -> _Words:
    """A histogram without sum and count: what the source does not count is not known to be nothing."""

    def told(counts: Mapping[float, float] | None) -> list[Sample]:
        if not counts:
            return []
        bounds = sorted(counts)
        ends = [] if math.isinf(bounds[-1]) else [math.inf]
        return [({"le": number(b)}, counts[b if b in counts else bounds[-1]]) for b in map(float, bounds + ends)]

    return _Words(heading, operator.attrgetter(column.name), told)


def _block(family: type[Reading], name: str, heading: Heading) -> _Block:
    declared = schema(family)
    if not name:
        return _facts([c for c in declared.columns if isinstance(c.mark, Fact) and c.exported], heading)
    column = declared.column(name)
    match column.mark:
        case State():
            return _state(family, column, heading)
        case Buckets():
            return _buckets(column, heading)
        case _:
            return _Numbers(heading, column)


class Series:
    """The exported lines of one family."""

    def __init__(
        self,
        family: type[Reading],
        collector: Collector,
        most: int = MOST_ROWS,
        exclude: re.Pattern[str] | None = None,
    ) -> None:
        """Export at most `most` rows, and none of which the first label matches `exclude` as a whole."""
        self.family = family
        self.dropped = 0
        """Series that the limit, or labels that look the same when made safe, left out."""
        self._label_columns = [c for c in schema(family).columns if isinstance(c.mark, Label)]
        self._blocks = [_block(family, name, heading) for name, heading in headings(family, collector).items()]
        self._most = most
        self._exclude = exclude
        self._rows: Mapping[Hashable, Reading] | None = None
        self._keys: list[Hashable] = []
        self._kept: list[Hashable] = []
        self._labels: list[dict[str, str]] = []
        self._texts: list[tuple[Heading, str]] = []

    def texts(self, rows: Mapping[Hashable, Reading]) -> list[tuple[Heading, str]]:
        """Return the lines of each metric that has any."""
        if rows is not self._rows:
            chosen = self._choose(rows)
            self._texts = [(block.heading, text) for block in self._blocks if (text := block.update(chosen))]
            self._rows = rows
        return self._texts

    def samples(self, rows: Mapping[Hashable, Reading]) -> Iterator[tuple[Heading, list[Sample]]]:
        """Yield the samples of each metric that has any."""
        chosen = self._choose(rows)
        for block in self._blocks:
            found = list(block.samples(chosen, self._labels))
            if found:
                yield block.heading, found

    def _choose(self, rows: Mapping[Hashable, Reading]) -> list[Reading]:
        if len(rows) != len(self._keys) or list(rows) != self._keys:
            self._arrange(rows)
        return [rows[key] for key in self._kept]

    def _arrange(self, rows: Mapping[Hashable, Reading]) -> None:
        self._keys, self._kept, self._labels, left_out = list(rows), [], [], []
        seen = set()
        for key, row in rows.items():
            names = {c.name: label(c.base(getattr(row, c.name))) for c in self._label_columns}
            shown = tuple(names.values())
            if self._exclude is not None and shown and self._exclude.fullmatch(shown[0]):
                continue
            if shown in seen or len(self._kept) >= self._most:
                left_out.append(row)
                continue
            seen.add(shown)
            self._kept.append(key)
            self._labels.append(names)
        for block in self._blocks:
            block.arrange(self._labels)
        nobody: list[dict[str, str]] = [{}] * len(left_out)
        self.dropped = sum(len(list(block.samples(left_out, nobody))) for block in self._blocks)
