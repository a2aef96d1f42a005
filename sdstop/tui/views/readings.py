"""Readings: rows of families that no other view shows, in the columns that each family declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from textual.app import ComposeResult
from textual.containers import Container

from sdstop.core.format import NONE, right_aligned
from sdstop.core.model import Buckets, Fact, Label, Metric, Reading, Schema, schema
from sdstop.core.model import Column as Field
from sdstop.exporters.report.table import heading, notable, shown
from sdstop.tui.facts import AllFields, FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views import VIEWS
from sdstop.tui.views.view import Listing, View
from sdstop.tui.widgets.palette import FAINT, PLAIN, text
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.table import PERCENT, Cell, LineTable, TableColumn

_NUMBER, _LONG, _EXACT, _WORD, _WIDEST = 7, 9, 12, 10, 48
"""Cells of a number, a duration (`1088d 12h`), an exact number and a word; maximum cells of a text."""
_FEWEST = 6
"""Minimum rows of a family below the list of families."""


class FamilyRow(Struct, frozen=True):
    """A family at a moment: the number of its rows, their sources and the state of these."""

    family: type[Reading]
    total: int
    sources: str
    state: str
    scene: Scene


class ReadingRow(Struct, frozen=True):
    """A row of a family at a moment."""

    reading: Reading
    declared: Schema
    scene: Scene

    @property
    def opens(self) -> AllFields:
        """Facts that Enter opens: every field of the row with its evidence."""
        name = " ".join(str(getattr(self.reading, label)) for label in self.declared.labels)
        key = self.declared.key(self.reading)
        return AllFields(FactSubject(name or self.declared.title, ((self.declared.reading, key),)))


FAMILIES = (
    TableColumn("readings", "READINGS", 24, lambda i, _: i.family.title, lambda i: i.family.title, widest=44,
                rising=True),
    TableColumn("rows", "ROWS", 6, lambda i, _: str(i.total), lambda i: i.total, right=True),
    TableColumn("state", "STATE", 12, lambda i, _: text((i.state, FAINT if i.total else PLAIN)),
                lambda i: i.state, keep=2),
    TableColumn("source", "SOURCE", 12, lambda i, _: text((i.scene.palette.word(i.sources, 80), FAINT)),
                lambda i: i.sources, keep=1, widest=40),
)  # fmt: skip


def other_families(scene: Scene) -> dict[type[Reading], list[str]]:
    """Return the families that no view shows, each with the names of its collectors."""
    named = {family for entry in VIEWS for family in entry.made_of.families}
    found: dict[type[Reading], list[str]] = {}
    for collector in scene.session.collectors:
        for family in (*collector.families, *(derived.target for derived in collector.derives)):
            if family not in named:
                found.setdefault(family, []).append(collector.name)
    return found


def family_rows(scene: Scene) -> list[Row]:
    """Return a row for each family that no view shows; families with rows are first."""
    found = []
    for family, sources in other_families(scene).items():
        known, stale = scene.rows(family)
        runs = [run for name in sources if (run := scene.now.runs.get(name)) is not None]
        brought = scene.now.run_of(family) if known else None
        state = next((run.word for run in runs if not run.ok or run.partial), "ok" if runs else "no data yet")
        state = "stale" if stale else state if brought is None else brought.word
        item = FamilyRow(family, len(known), ", ".join(sources), state, scene)
        found.append(Row(family.family, item, None, f"{family.title} {family.family} {item.sources}"))
    return sorted(found, key=lambda row: (not row.item.total, row.item.family.title))


def columns_of(declared: Schema, known: Sequence[Reading]) -> tuple[TableColumn, ...]:
    """Return the columns with a value in any row; the last declared are dropped first on a narrow screen."""
    fields = [field for field in declared.columns if any(getattr(row, field.name) is not None for row in known)]
    return tuple(_column(field, len(fields) - at) for at, field in enumerate(fields or declared.columns))


def _column(field: Field, keep: int) -> TableColumn:
    title, right = heading(field), right_aligned(field)
    exact = isinstance(field.mark, Metric) and field.mark.exact
    least = _EXACT if exact else _LONG if field.unit == "seconds" else _NUMBER if right else _WORD
    label = isinstance(field.mark, Label)
    value = None if isinstance(field.mark, Buckets) else partial(_value, field)
    return TableColumn(field.name, title, max(len(title), least), partial(_cell, field), value, right,
                  keep=0 if label else keep, widest=0 if right else _WIDEST, rising=not right,
                  scale=PERCENT if field.unit == "ratio" else 1.0)  # fmt: skip


def _cell(field: Field, item: ReadingRow, _: int) -> Cell:
    said = item.scene.palette.word(shown(field, getattr(item.reading, field.name)), _WIDEST)
    return text((said, FAINT if said in {NONE, "0"} or isinstance(field.mark, Fact) else PLAIN))


def _value(field: Field, item: ReadingRow) -> Any:
    return field.base(getattr(item.reading, field.name))


class Readings(View):
    """The families, and the rows of the one under the cursor."""

    tables = (FAMILIES,)

    @classmethod
    def listed(cls, scene: Scene) -> Iterator[Listing]:
        """Yield the tables with the rows that a search finds here."""
        families = family_rows(scene)
        yield Listing(FAMILIES, families)
        for row in families:
            known = list(scene.rows(row.item.family)[0].values())
            if known:
                declared = schema(row.item.family)
                yield Listing(columns_of(declared, known), _rows(declared, known, scene))

    def point(self, key: Any) -> None:
        """Put the cursor on a row of a family, or on the family itself."""
        if isinstance(key, tuple) and self.main.point(key[0]):
            self._show_rows()
            self.listed_rows.point(key)
            self.screen.set_focus(self.listed_rows)
        else:
            super().point(key)

    def compose(self) -> ComposeResult:
        """Lay out both tables."""
        self.main = LineTable("Other readings", FAMILIES, id="families", whole=True)
        self.listed_rows = LineTable("Rows", (), id="family-rows")
        self.family = ""
        with Container(id="readings-halves"):
            yield self.main
            yield self.listed_rows

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        families = family_rows(scene)
        width, height = self.app.size.width, self.room
        below = 0 if width >= 160 else max(height // 2, _FEWEST + 2)
        self.main.styles.height = "1fr" if not below else max(min(len(families) + 2, height - below), 3)
        note = f"{sum(row.item.total > 0 for row in families)} of {len(families)} with rows"
        self.main.put(families, scene.palette, note)
        self._show_rows()

    def moved(self, pane: Pane) -> None:
        """Show the rows of the family under the cursor."""
        if pane is self.main:
            self._show_rows()

    def _show_rows(self) -> None:
        chosen = self.main.chosen
        if chosen is None or chosen.key is None:
            self.listed_rows.put((), self.scene.palette)
            return
        scene, declared = self.scene, schema(chosen.item.family)
        known, idle = notable(declared, list(scene.rows(declared.reading)[0].values()))
        self.listed_rows.title = declared.title
        self.listed_rows.set_columns(columns_of(declared, known), reset=declared.family != self.family)
        self.family = declared.family
        listed = _rows(declared, known, scene)
        state = "" if chosen.item.state == "ok" else f" ({chosen.item.state})"
        empty = [] if listed or idle else [words(text((f"no rows{state}", FAINT)))]
        self.listed_rows.put([*listed, *empty], scene.palette, idle)


def _rows(declared: Schema, known: Sequence[Reading], scene: Scene) -> list[Row]:
    searched = [field.name for field in declared.columns if not isinstance(field.mark, Metric | Buckets)]
    return [
        Row((declared.family, declared.key(row)), ReadingRow(row, declared, scene), None,
            partial(_searchable, row, searched))
        for row in known
    ]  # fmt: skip


def _searchable(reading: Reading, fields: Sequence[str]) -> str:
    return " ".join(str(getattr(reading, name)) for name in fields)
