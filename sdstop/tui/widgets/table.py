"""LineTable: a pane with columns that can be sorted and filtered and that adapt to the width."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar

from msgspec import Struct
from rich.segment import Segment
from textual.binding import BindingType
from textual.message import Message

from sdstop.tui.widgets.keys import Section, bind, explained
from sdstop.tui.widgets.palette import FAINT, MARKS, PLAIN, STRONG, Line, Palette, width_of
from sdstop.tui.widgets.pane import Pane, Row, words

Cell = str | Line

LOW_PRIORITY_KEEP = 2
"""Highest `keep` priority that is dropped to give other columns their `comfort` width."""


class TableColumn(Struct, frozen=True):
    """A column of a table on the screen.

    `cell` paints an item for a width; `value`, if given, returns the sort key (None last). On a narrow screen, columns
    with a low `keep` are dropped first, and those with 0 never. A column with `widest` grows into spare room up to that
    width; to reach `comfort`, columns with a `keep` up to LOW_PRIORITY_KEEP are dropped.
    """

    name: str
    title: str | Callable[[int], str]
    width: int
    cell: Callable[[Any, int], Cell]
    value: Callable[[Any], Any] | None = None
    right: bool = False
    keep: int = 0
    widest: int = 0
    comfort: int = 0
    rising: bool = False


def fitted(columns: Sequence[TableColumn], width: int) -> list[tuple[TableColumn, int]]:
    """Return the columns that fit into `width` cells, with a blank between them, and distribute spare cells."""
    chosen = list(columns)

    def taken(*, comfortably: bool = False) -> int:
        return sum(max(c.width, c.comfort) if comfortably else c.width for c in chosen) + len(chosen) - 1

    for most, comfortably in ((LOW_PRIORITY_KEEP, True), (math.inf, False)):
        while len(chosen) > 1 and taken(comfortably=comfortably) > width:
            droppable = [c for c in chosen if 0 < c.keep <= most]
            if not droppable:
                break
            chosen.remove(min(reversed(droppable), key=lambda c: c.keep))
    spare = max(0, width - taken())
    wants = [max(c.widest - c.width, 0) for c in chosen]
    share = min(1.0, spare / sum(wants)) if sum(wants) else 0.0
    sizes = [(c, c.width + int(want * share)) for c, want in zip(chosen, wants, strict=True)]
    left = spare - sum(size - c.width for c, size in sizes)
    for at, (column, size) in enumerate(sizes):
        extra = min(left, wants[at] - (size - column.width)) if share < 1 else 0
        sizes[at] = (column, size + extra)
        left -= extra
    return sizes


class LineTable(Pane):
    """Table of rows. A row with its own `Row.line` is the heading of the following rows and is not sorted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *explained(Section.ROWS, "sort by the next column", bind("s", "sort"), hint="sort", rank=3),
        *explained(Section.ROWS, "sort the other way round", bind("S,I", "reverse")),
    ]

    class Sorted(Message):
        """Message that the sort order changed."""

    def __init__(
        self,
        title: str,
        columns: Sequence[TableColumn],
        *,
        id: str | None = None,  # noqa: A002
        sort: str | None = None,
        cursor: bool = True,
    ) -> None:
        """Create an empty table; `sort` names the sort column, None keeps the original order."""
        super().__init__(title, id=id, cursor=cursor)
        self.columns = tuple(columns)
        self.sort = sort
        self.down = not self._column(sort).rising if sort else True
        self.needle = ""
        self._given: Sequence[Row] = ()
        self._order: dict[Hashable, int] = {}
        self._fitted: tuple[int, list[tuple[TableColumn, int]]] = (-1, [])

    def set_columns(self, columns: Sequence[TableColumn], *, reset: bool) -> None:
        """Replace the columns; `reset` also resets sorting, filter and cursor, for different rows.

        Sorting ends if the sort column is removed.
        """
        if [(c.name, c.width) for c in columns] != [(c.name, c.width) for c in self.columns]:
            self.columns, self._fitted = tuple(columns), (-1, [])
            if self.sort not in self.sortable:
                self.sort = None
        if reset:
            self.sort, self.needle, self.held, self.top, self.settling = None, "", False, 0, 0
            self._order = {}

    def _column(self, name: str) -> TableColumn:
        return next(c for c in self.columns if c.name == name)

    @property
    def sortable(self) -> list[str]:
        """Names of the sortable columns."""
        return [c.name for c in self.columns if c.value is not None]

    # -- rows -------------------------------------------------------------------------------------------------

    def put(self, rows: Sequence[Row], palette: Palette, note: str = "") -> None:
        """Show these rows, sorted and filtered."""
        self._given = rows
        if palette != self.palette:
            self.palette, self._fitted = palette, (-1, [])
        arranged = self.guarded(lambda: self._arranged(rows), lambda said: [words(self.failed_line(said))])
        super().put(arranged, palette, note)

    def search(self, needle: str) -> None:
        """Show only rows that contain `needle`, ignoring case; "" shows all."""
        self.needle = needle.lower()
        self._rearrange()

    def sort_by(self, name: str | None, *, down: bool | None = None) -> None:
        """Sort by a column; None keeps the original order. Raises ValueError for an unknown column."""
        if name is not None and name not in self.sortable:
            raise ValueError(f"no column {name}; there are {', '.join(self.sortable)}")
        self.sort = name
        if down is not None:
            self.down = down
        elif name is not None:
            self.down = not self._column(name).rising
        self.settling = 0
        self._order = {}
        self._rearrange()

    def _rearrange(self) -> None:
        before = self.cursor
        self.put(self._given, self.palette, self._note)
        if before != self.cursor:
            self.post_message(self.Moved(self))

    def _arranged(self, rows: Sequence[Row]) -> list[Row]:
        groups: list[tuple[Row | None, list[Row]]] = [(None, [])]
        for row in rows:
            if row.line is not None:
                groups.append((row, []))
            else:
                groups[-1][1].append(row)
        shown: list[Row] = []
        for heading, members in groups:
            kept = members
            if self.needle and not (heading is not None and heading.holds(self.needle)):
                kept = [row for row in members if row.holds(self.needle)]
            if heading is not None and (kept or not self.needle or heading.holds(self.needle)):
                shown.append(heading)
            shown.extend(self._ordered(kept))
        if not self.settling:
            self._order = {row.key: at for at, row in enumerate(shown)}
        return shown

    def _ordered(self, rows: list[Row]) -> list[Row]:
        if self.sort is None:
            return rows
        if self.settling and self._order:
            last = len(self._order)
            return sorted(rows, key=lambda row: self._order.get(row.key, last))
        value = self._column(self.sort).value
        if value is None:
            return rows
        known = [(v, row) for row in rows if (v := value(row.item)) is not None]
        known.sort(key=lambda pair: pair[0], reverse=self.down)
        if len(known) == len(rows):
            return [row for _, row in known]
        return [row for _, row in known] + [row for row in rows if value(row.item) is None]

    # -- painting ---------------------------------------------------------------------------------------------

    @property
    def heads(self) -> int:
        """Number of lines above the rows: the title and the column headings."""
        return 2

    def fitted(self, width: int) -> list[tuple[TableColumn, int]]:
        """Return the columns shown at this width, and their widths."""
        if self._fitted[0] != width:
            self._fitted = (width, fitted(self.columns, width - 1))
        return self._fitted[1]

    def head(self, y: int, width: int) -> Line:
        """Paint the title or the headings."""
        if y == 0:
            return super().head(y, width)
        parts: list[Segment] = [Segment(" ")]
        for column, size in self.fitted(width):
            if len(parts) > 1:
                parts.append(Segment(" "))
            sorted_by = column.name == self.sort
            room = size - 1 if sorted_by else size
            title = column.title if isinstance(column.title, str) else column.title(room)
            if sorted_by:
                arrow = self.palette.arrow(down=self.down)
                title = title[:room]
                title = arrow + title if column.right else title + arrow
            style = STRONG if sorted_by else FAINT
            parts.append(Segment(self.palette.fit(title, size, right=column.right), style))
        return tuple(parts)

    def note(self) -> str:
        """Return the note, preceded by the active filter."""
        said = super().note()
        if not self.needle:
            return said
        hidden = f"filter {self.palette.word(self.needle, 24)!r}"
        return f"{hidden} {self.palette.dot} {said}" if said else hidden

    def row_line(self, row: Row, width: int) -> Line:
        """Paint a row's cells side by side."""
        severity = getattr(row.item, "severity", None)
        lead = Segment(" ", PLAIN)
        if severity in MARKS:
            lead = Segment(MARKS[severity], self.palette.severity(severity))
        if row.line is not None:
            return (lead, *row.line(width - 1))
        parts: list[Segment] = [lead]
        for column, size in self.fitted(width):
            if len(parts) > 1:
                parts.append(Segment(" ", PLAIN))
            cell = column.cell(row.item, size)
            if isinstance(cell, str):
                parts.append(Segment(self.palette.fit(cell, size, right=column.right), PLAIN))
                continue
            blank = size - width_of(cell)
            if blank < 0:
                cell = self._cut(cell, size)
                blank = size - width_of(cell)
            if blank > 0 and column.right:
                parts.append(Segment(" " * blank, PLAIN))
            parts.extend(cell)
            if blank > 0 and not column.right:
                parts.append(Segment(" " * blank, PLAIN))
        return tuple(parts)

    def _cut(self, line: Line, width: int) -> Line:
        kept: list[Segment] = []
        for segment in line:
            room = width - width_of(kept)
            if room <= 0:
                break
            whole = width_of((segment,)) <= room
            kept.append(segment if whole else Segment(self.palette.fit(segment.text, room), segment.style))
        return tuple(kept)

    # -- keys -------------------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Sort by the next visible column; after the last one, restore the original order."""
        names: list[str | None] = [c.name for c, _ in self.fitted(self.size.width) if c.value is not None]
        names.append(None)
        at = names.index(self.sort) if self.sort in names else -1
        self.sort_by(names[(at + 1) % len(names)])

    def action_reverse(self) -> None:
        """Reverse the sort order."""
        self.sort_by(self.sort, down=not self.down)
