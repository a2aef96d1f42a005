"""Sample lines of a family; only lines whose value changed are formatted again.

In a page of ten thousand samples, names and labels rarely change: they are formatted once per set of rows, and a
value that is the same object as in the previous frame keeps its line. A family without changed lines is neither
formatted nor compressed again.
"""

from __future__ import annotations

import enum
import functools
import math
import operator
import re
import typing
import zlib
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from sdstop.core.collector import Collector
from sdstop.core.columns import Columns
from sdstop.core.model import Buckets, Column, Fact, Label, Metric, Reading, State, schema
from sdstop.exporters.prometheus.choice import MOST_ROWS
from sdstop.exporters.prometheus.exposition import (
    Heading,
    Sample,
    all_thousandths,
    bound,
    integers,
    label,
    labeled,
    number,
    thousandths,
)
from sdstop.exporters.prometheus.headings import headings


class _Block(Protocol):
    """Sample lines of one metric."""

    heading: Heading

    def arrange(self, labels: Sequence[dict[str, str]], shown: Sequence[str]) -> None:
        """Reset to a new set of rows, given by their labels and by the formatted label sets."""

    def update(self, rows: Sequence[Reading], changed: Sequence[int]) -> bytes:
        """Return the lines of the arranged rows; only rows at the `changed` indexes can differ from the last call."""

    def samples(self, rows: Sequence[Reading], labels: Sequence[dict[str, str]]) -> Iterator[Sample]:
        """Yield the samples unformatted, for prometheus_client: reference for tests and fallback."""


class _Numbers:
    """Metric with one number per row."""

    def __init__(self, heading: Heading, column: Column) -> None:
        assert isinstance(column.mark, Metric)  # noqa: S101  # checked by the caller
        self.heading = heading
        self._column = column
        self._get = operator.attrgetter(column.name)
        self._text = _printer(column.mark.scale)
        self._texts = _bulk_printer(column.mark.scale)
        self._name = f"\n{heading.name}"
        self._shown: Sequence[str] = ()
        self._values: list[Any] = []
        self._parts: list[str] = []
        self._lines = b""

    def arrange(self, labels: Sequence[dict[str, str]], shown: Sequence[str]) -> None:
        del labels
        self._shown = shown
        self._values = [None] * len(shown)
        self._parts = [""] * (3 * len(shown))  # name, labels, value: mostly shared strings, which keeps memory use low
        self._lines = b""

    def update(self, rows: Sequence[Reading], changed: Sequence[int]) -> bytes:
        if len(changed) > len(rows) // 2 and (lines := self._all(rows)) is not None:
            return lines
        get, known, parts, text = self._get, self._values, self._parts, self._text
        stale = False
        for index in changed:
            value = get(rows[index])
            before = known[index]
            if value is before:
                continue
            stale = True
            known[index] = value
            place = 3 * index
            if value is None:
                parts[place : place + 3] = ("", "", "")
            else:
                if before is None:
                    parts[place] = self._name
                    parts[place + 1] = self._shown[index]
                parts[place + 2] = text(value)
        if stale:
            joined = "".join(parts)
            self._lines = f"{joined[1:]}\n".encode() if joined else b""
        return self._lines

    def _all(self, rows: Sequence[Reading]) -> bytes | None:
        """Return all lines if every row has an integer, None otherwise. Faster if most rows changed."""
        values = list(map(self._get, rows))
        if values == self._values:
            return self._lines
        if self._texts is None or set(map(type, values)) != {int}:
            return None
        self._values, parts = values, self._parts
        parts[0::3] = [self._name] * len(values)
        parts[1::3] = self._shown
        parts[2::3] = self._texts(values)
        self._lines = f"{''.join(parts)[1:]}\n".encode()
        return self._lines

    def samples(self, rows: Sequence[Reading], labels: Sequence[dict[str, str]]) -> Iterator[Sample]:
        for row, each in zip(rows, labels, strict=True):
            value = self._column.base(self._get(row))
            if value is not None:
                yield each, float(value)


def _printer(scale: float) -> Callable[[Any], str]:
    """Return a formatter that prints stored numbers in base units, as converted by Column.base."""
    if scale == 1:
        return number
    if scale > 1:
        return lambda value: number(value * scale)
    divisor = round(1 / scale)
    if divisor == 1000:
        return lambda value: thousandths(value) if isinstance(value, int) else number(value / 1000)
    return lambda value: number(value / divisor)


def _bulk_printer(scale: float) -> Callable[[list[int]], list[str]] | None:
    """Return a formatter for many stored integers in base units, None if the scale needs floats."""
    if scale == 1:
        return integers
    if scale > 1 and scale == int(scale):
        factor = int(scale)
        return lambda values: integers([value * factor for value in values])
    return all_thousandths if scale == 0.001 else None


class _Words:
    """Metric with any number of lines per row: state words, facts or histogram buckets."""

    def __init__(self, heading: Heading, get: Callable[[Reading], Any], told: Callable[[Any], list[Sample]]) -> None:
        self.heading = heading
        self._get = get
        self._told = told
        self._name = f"{heading.name}_bucket" if heading.type == "histogram" else heading.name
        self._labels: Sequence[dict[str, str]] = ()
        self._values: list[Any] = []
        self._lines: list[str] = []
        self._joined = b""

    def arrange(self, labels: Sequence[dict[str, str]], shown: Sequence[str]) -> None:
        del shown
        self._joined = b""
        self._labels = labels
        self._values = [self] * len(labels)  # a value that no row can have
        self._lines = [""] * len(labels)

    def update(self, rows: Sequence[Reading], changed: Sequence[int]) -> bytes:
        stale = False
        for index in changed:
            value = self._get(rows[index])
            if value is not self._values[index] and value != self._values[index]:
                stale = True
                self._values[index] = value
                self._lines[index] = "".join(
                    f"{self._name}{labeled(self._labels[index] | dict(more))} {number(count)}\n"
                    for more, count in self._told(value)
                )
        if stale:
            self._joined = "".join(self._lines).encode()
        return self._joined

    def samples(self, rows: Sequence[Reading], labels: Sequence[dict[str, str]]) -> Iterator[Sample]:
        for row, each in zip(rows, labels, strict=True):
            for more, count in self._told(self._get(row)):
                yield each | dict(more), float(count)


@functools.cache
def _hints(family: type[Reading]) -> dict[str, Any]:
    """Return the types of a family's fields; evaluating them takes milliseconds."""
    return typing.get_type_hints(family)


def _state(family: type[Reading], column: Column, heading: Heading) -> _Words:
    """Return a state metric: one series per declared word, or only the current word if none are declared."""
    hint = _hints(family)[column.name]
    enums: list[Any] = [part for part in (hint, *typing.get_args(hint)) if isinstance(part, enum.EnumMeta)]
    known = [member.value for words in enums for member in words]
    get = operator.attrgetter(column.name)

    def told(word: Any) -> list[Sample]:
        word = column.base(word)
        words = known or [word]
        return [] if word is None else [({"state": label(w)}, int(w == word)) for w in words]

    return _Words(heading, get, told)


def _facts(columns: Sequence[Column], heading: Heading) -> _Words:
    """Return an info metric: one series of value 1 per row; unknown facts have no label."""
    get = operator.attrgetter(*(c.name for c in columns)) if columns else lambda _: ()

    def told(values: Any) -> list[Sample]:
        if len(columns) == 1:
            values = (values,)
        pairs = zip(columns, values, strict=True)
        return [({c.name: label(c.base(v)) for c, v in pairs if v is not None}, 1)]

    return _Words(heading, get, told)


def _buckets(column: Column, heading: Heading) -> _Words:
    """Return a histogram without sum and count, because the source does not report them."""

    def told(counts: Mapping[float, float] | None) -> list[Sample]:
        if not counts:
            return []
        bounds = sorted(counts)
        ends = [] if math.isinf(bounds[-1]) else [math.inf]
        return [({"le": bound(b)}, counts[b if b in counts else bounds[-1]]) for b in map(float, bounds + ends)]

    mark = column.mark
    name = mark.shown if isinstance(mark, Buckets) and mark.shown else column.name
    return _Words(heading, operator.attrgetter(name), told)


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


_ERRORS = re.compile(
    r"error|fail|bad|lost|drop|timeout|missing|degraded|unfound|inconsistent|invalid|corrupt|mismatch|stuck|blocked"
)
"""Names of fields that count errors."""


class Text:
    """Headings and lines of one family; replaced when a line changes."""

    __slots__ = ("_blocks", "_packed")

    def __init__(self, blocks: Sequence[tuple[Heading, bytes]]) -> None:
        """Store the lines of each metric that has samples."""
        self._blocks = tuple(blocks)
        self._packed: dict[bool, bytes] = {}

    def pieces(self, *, openmetrics: bool) -> Iterator[bytes]:
        """Yield headings and lines in page order."""
        for heading, text in self._blocks:
            yield heading.head(openmetrics=openmetrics)
            yield text

    def packed(self, *, openmetrics: bool) -> bytes:
        """Return the text as self-contained deflate blocks, valid at any position in a stream.

        Compressed at level 1: higher levels cost five times the CPU time for a third less size.
        """
        found = self._packed.get(openmetrics)
        if found is None:
            packer = zlib.compressobj(1, zlib.DEFLATED, -15)
            parts = [packer.compress(piece) for piece in self.pieces(openmetrics=openmetrics)]
            found = b"".join(parts) + packer.flush(zlib.Z_FULL_FLUSH)
            self._packed[openmetrics] = found
        return found

    def like(self, blocks: Sequence[tuple[Heading, bytes]]) -> bool:
        """Return whether these are the identical line objects."""
        return len(blocks) == len(self._blocks) and all(a[1] is b[1] for a, b in zip(blocks, self._blocks, strict=True))


class FamilyLines:
    """Exported lines of one family."""

    def __init__(
        self,
        family: type[Reading],
        collector: Collector,
        most: int = MOST_ROWS,
        exclude: re.Pattern[str] | None = None,
        include: re.Pattern[str] | None = None,
        without: Container[str] = (),
    ) -> None:
        """Export at most `most` rows whose first label fully matches `include` and does not match `exclude`.

        Metrics in `without` are left out.
        """
        self.family = family
        self.dropped = 0
        """Number of series left out by the limit or because labels are equal after sanitizing."""
        self._label_columns = [c for c in schema(family).columns if isinstance(c.mark, Label)]
        self._number_columns = [c for c in schema(family).columns if isinstance(c.mark, Metric)]
        named = headings(family, collector).items()
        self._blocks = [_block(family, name, heading) for name, heading in named if heading.name not in without]
        self._most = most
        self._exclude = exclude
        self._include = include
        self._only: Container[str] | None = None
        self._hidden: frozenset[str] = frozenset()
        self._preferred: frozenset[str] = frozenset()
        self._left: frozenset[str] = frozenset()
        self._rows: Mapping[Hashable, Reading] | None = None
        self._keys: list[Hashable] = []
        self._kept: list[Hashable] = []
        self._labels: list[dict[str, str]] = []
        self._written: list[Reading] | None = None
        self._text = Text(())

    def restrict(self, only: Container[str] | None) -> None:
        """Export only rows whose first label is in `only`; None: all."""
        if only is not self._only:
            self._only = only
            self._rows = None
            self._keys = []

    def hide(self, names: frozenset[str]) -> None:
        """Leave out the rows whose labels have one of these names."""
        if names is not self._hidden:
            self._hidden = names
            self._rows = None
            self._keys = []

    def prefer(self, named: frozenset[str]) -> None:
        """Export the rows whose labels are these names first, if there are more than the maximum."""
        if named != self._preferred:
            self._preferred = named
            if not named.isdisjoint(self._left):
                self._rows, self._keys = None, []

    def text(self, rows: Mapping[Hashable, Reading]) -> Text:
        """Return the lines of these rows."""
        if rows is not self._rows:
            chosen, before = self._choose(rows), self._written
            changed = [i for i, row in enumerate(chosen) if before is None or row is not before[i]]
            blocks = [(block.heading, text) for block in self._blocks if (text := block.update(chosen, changed))]
            if not self._text.like(blocks):
                self._text = Text(blocks)
            self._rows, self._written = rows, chosen
        return self._text

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
        before, written = self._rows, self._written
        if written is not None and isinstance(rows, Columns) and isinstance(before, Columns):
            alike = rows.alike(before)
            if alike is not None:  # rows that did not change stay the same objects
                places = [rows.index[key] for key in self._kept]
                return [row if alike[at] else rows.row(at) for at, row in zip(places, written, strict=True)]
        return [rows[key] for key in self._kept]

    def _wanted(self, first: str) -> bool:
        """Return whether a row with this first label is selected for export."""
        if self._only is not None and first not in self._only:
            return False
        if self._include is not None and not self._include.fullmatch(first):
            return False
        return self._exclude is None or not self._exclude.fullmatch(first)

    def _worst(self, found: Mapping[tuple[str, ...], tuple[Hashable, Reading, object]]) -> Container[tuple[str, ...]]:
        """Return the labels of the worst rows: those in findings, then those with most errors, then the largest."""

        def rank(shown: tuple[str, ...]) -> tuple[bool, float, float]:
            row = found[shown][1]
            numbers = [(c, getattr(row, c.name)) for c in self._number_columns]
            errors = sum(value for c, value in numbers if value and _ERRORS.search(c.name))
            size = next((value for _, value in numbers if value is not None), 0)
            return not self._preferred.isdisjoint(shown), errors, size

        return frozenset(sorted(found, key=rank, reverse=True)[: self._most])

    def _arrange(self, rows: Mapping[Hashable, Reading]) -> None:
        self._keys, self._kept, self._labels, left_out = list(rows), [], [], []
        found: dict[tuple[str, ...], tuple[Hashable, Reading, dict[str, str]]] = {}
        for key, row in rows.items():
            names = {c.name: label(c.base(getattr(row, c.name))) for c in self._label_columns}
            shown = tuple(names.values())
            if shown and not (self._wanted(shown[0]) and self._hidden.isdisjoint(shown)):
                continue
            if shown in found:
                left_out.append(row)
                continue
            found[shown] = key, row, names
        chosen = self._worst(found) if len(found) > self._most else found
        for shown, (key, row, names) in found.items():
            if shown not in chosen:
                left_out.append(row)
                continue
            self._kept.append(key)
            self._labels.append(names)
        self._left = frozenset(name for shown in found if shown not in chosen for name in shown)
        self._written = None
        texts = [f"{labeled(each)} " for each in self._labels]
        for block in self._blocks:
            block.arrange(self._labels, texts)
        nobody: list[dict[str, str]] = [{}] * len(left_out)
        self.dropped = sum(len(list(block.samples(left_out, nobody))) for block in self._blocks)
