"""LineTable: a pane with columns that can be sorted and filtered and that adapt to the width."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.binding import BindingType

from sdstop.core.format import plural
from sdstop.core.suggestion import unknown_name
from sdstop.tui.widgets.column import MIB, MS, PERCENT, Cell, TableColumn, columns_by_name, fitted
from sdstop.tui.widgets.keys import Section, bind, explained
from sdstop.tui.widgets.palette import MARKS, PLAIN, STRONG, Line, Palette, clickable, width_of
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.query import RowQuery, parse

__all__ = ["MIB", "MS", "PERCENT", "Cell", "LineTable", "TableColumn", "fitted"]

STEADY_SECONDS = 10.0
"""Seconds for which rows keep their places although their values change; a key that does not move ends it earlier."""


class LineTable(Pane):
    """Table of rows. A row with its own `Row.line` is the heading of the following rows and is not sorted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *explained(
            Section.ROWS,
            "sort by next column; or click it",
            bind("s,right", "sort(1)"),
            hint="sort",
            rank=3,
        ),
        *explained(Section.ROWS, "sort by previous column", bind("left", "sort(-1)")),
        *explained(Section.ROWS, "reverse the sort order", bind("S,I", "reverse")),
    ]

    def __init__(
        self,
        title: str,
        columns: Sequence[TableColumn],
        *,
        id: str | None = None,  # noqa: A002
        sort: str | None = None,
        cursor: bool = True,
        steady: bool = False,
        whole: bool = False,
    ) -> None:
        """Create an empty table; `sort` names the sort column, None keeps the original order.

        Rows of a sorted table, and of a `steady` one in any case, keep their places for STEADY_SECONDS. A `whole` table
        shows all rows during a search: nothing may hide a finding.
        """
        super().__init__(title, id=id, cursor=cursor)
        self.columns = tuple(columns)
        self.sort = sort
        self.down = not self._column(sort).rising if sort else True
        self.wanted: RowQuery | None = None
        self.hits = 0
        self.whole = whole
        self.steady = steady
        self.clock: Callable[[], float] = time.monotonic
        self.due = True
        self._given: Sequence[Row] = ()
        self._order: dict[Hashable, int] = {}
        self._ordered_at = 0.0
        self._fitted: tuple[int, list[tuple[TableColumn, int]]] = (-1, [])
        self._names: dict[str, TableColumn] = columns_by_name(self.columns)
        self._choice: tuple[str, ...] | None = None

    def set_columns(self, columns: Sequence[TableColumn], *, reset: bool) -> None:
        """Replace the columns; `reset` also resets sorting, filter and cursor, for different rows.

        Sorting ends if the sort column is removed.
        """
        if [(c.name, c.width) for c in columns] != [(c.name, c.width) for c in self.columns]:
            self.columns, self._fitted = tuple(columns), (-1, [])
            self._names = columns_by_name(self.columns)
            if all(c.name != self.sort or c.value is None for c in self.columns):
                self.sort = None
        if reset:
            self.sort, self.held, self.top, self.settling = None, False, 0, 0
            self.due = True

    def _column(self, name: str) -> TableColumn:
        return next(c for c in self.columns if c.name == name)

    def column_named(self, name: str, *, sortable: bool = False) -> TableColumn:
        """Return the column with a heading or field name, ignoring case. Raises ValueError in one line."""
        known = [c for c in self.columns if c.heading and (c.value is not None or not sortable)]
        found = [column for column in known if column.called(name)]
        if found:
            return next((column for column in found if column.heading.lower() == name.lower()), found[0])
        raise ValueError(unknown_name("column", name, [c.heading for c in known]))

    @property
    def sortable(self) -> list[str]:
        """Headings of the sortable columns."""
        return [c.heading for c in self.columns if c.value is not None]

    @property
    def shown_columns(self) -> list[TableColumn]:
        """Columns that the user has chosen, or the usual ones; the width may leave fewer."""
        if self._choice is None:
            return [column for column in self.columns if column.chosen]
        named = {column.name: column for column in self.columns}
        return [named[name] for name in self._choice if name in named] or list(self.columns[:1])

    def choose(self, names: Sequence[str] | None) -> None:
        """Show the columns with these field names, in this order; None shows the usual ones."""
        self._choice, self._fitted = None if names is None else tuple(names), (-1, [])
        self.repaint()

    # -- rows -------------------------------------------------------------------------------------------------

    def put(self, rows: Sequence[Row], palette: Palette, note: str = "") -> None:
        """Show these rows, sorted and filtered."""
        self._given = rows
        if palette != self.palette:
            self.palette, self._fitted = palette, (-1, [])
        now = self.clock()
        if self.due or (not self.settling and now - self._ordered_at >= STEADY_SECONDS):
            self._order, self._ordered_at, self.due = {}, now, False
        arranged = self.guarded(lambda: self._arranged(rows), lambda said: [words(self.failed_line(said))])
        self._order = {row.key: at for at, row in enumerate(arranged)}
        super().put(arranged, palette, note)

    @property
    def needle(self) -> str:
        """Text of the active search, "" without one."""
        return self.wanted.text if self.wanted is not None else ""

    def search(self, wanted: str | RowQuery | None) -> None:
        """Show only the hits of a search; "" or None shows all rows. Raises QueryError."""
        if isinstance(wanted, str):
            wanted = parse(wanted, self._names) if wanted.strip() else None
        if wanted is not self.wanted:
            self.wanted = wanted
            self._rearrange()

    def hit(self, row: Row) -> bool:
        """Return whether a row is a hit of the active search."""
        return self.wanted is not None and row.key is not None and self.wanted.holds(row, self._names)

    def match(self, needle: str, step: int) -> bool:
        """Move to the next (1) or previous (-1) hit of the active search; without one, to a row with `needle`."""
        if self.wanted is None:
            return super().match(needle, step)
        count = len(self.rows)
        for index in ((self.at + step * i) % count for i in range(1, count + 1)):
            if self.hit(self.rows[index]):
                self.move_to(index)
                return True
        return False

    @property
    def narrowing(self) -> bool:
        """Whether the active search hides rows: not those of findings, nor of a table without the compared columns."""
        return self.wanted is not None and not self.whole and self.wanted.judges(self._names)

    def sort_by(self, name: str | None, *, down: bool | None = None) -> None:
        """Sort by the column with a heading or field name; None keeps the original order.

        Raises ValueError, in one line, for any other name.
        """
        column = self.column_named(name, sortable=True) if name is not None else None
        self.sort = column.name if column is not None else None
        if down is not None:
            self.down = down
        elif column is not None:
            self.down = not column.rising
        self.settling, self.due = 0, True
        self.held, self.top = False, 0  # the first rows are the reason to sort
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
        narrowing = self.narrowing
        self.hits = 0
        for heading, members in groups:
            whole = not narrowing or (
                self.wanted is not None and heading is not None and self.wanted.holds(heading, self._names)
            )
            found = [row for row in members if self.hit(row)] if self.wanted is not None else []
            self.hits += len(found) + (heading is not None and self.hit(heading))
            kept = members if whole else found
            if heading is not None and (kept or whole or (not members and heading.key is None)):  # the last is a note
                shown.append(heading)
            shown.extend(self._ordered(kept))
        return shown

    def _ordered(self, rows: list[Row]) -> list[Row]:
        """Return rows by value; while the order is kept, only new rows are placed by theirs."""
        value = self._column(self.sort).value if self.sort is not None else None
        if value is None:
            return rows if not self.steady else self._kept(rows)
        known = [(v, row) for row in rows if (v := value(row.item)) is not None]
        known.sort(key=lambda pair: pair[0], reverse=self.down)
        ranked = [row for _, row in known]
        if len(known) < len(rows):
            ranked += [row for row in rows if value(row.item) is None]
        return self._kept(ranked)

    def _kept(self, ranked: list[Row]) -> list[Row]:
        """Return the rows in the kept order; a new one follows the row that precedes it in `ranked`."""
        order = self._order
        old = [row for row in ranked if row.key in order]
        if not old:
            return ranked
        old.sort(key=lambda row: order[row.key])
        if len(old) == len(ranked):
            return old
        behind: dict[Hashable, list[Row]] = {}
        anchor: Hashable = None
        for row in ranked:
            if row.key in order:
                anchor = row.key
            else:
                behind.setdefault(anchor, []).append(row)
        placed = behind.get(None, [])
        for row in old:
            placed.append(row)
            placed.extend(behind.get(row.key, ()))
        return placed

    # -- painting ---------------------------------------------------------------------------------------------

    @property
    def heads(self) -> int:
        """Number of lines above the rows: the title and the column headings."""
        return 2

    def fitted(self, width: int) -> list[tuple[TableColumn, int]]:
        """Return the columns shown at this width, and their widths."""
        if self._fitted[0] != width:
            self._fitted = (width, fitted(self.shown_columns, width - 1))
        return self._fitted[1]

    def head(self, y: int, width: int) -> Line:
        """Paint the title or the headings."""
        if y == 0:
            return super().head(y, width)
        parts: list[Segment] = []
        owed = " "  # cell before a heading
        for column, size in self.fitted(width):
            sorted_by = column.name == self.sort
            arrow = self.palette.arrow(down=self.down) if sorted_by else ""
            title = column.title if isinstance(column.title, str) else column.title(size - bool(arrow))
            before, after = owed, " "
            if arrow and cell_len(title) < size:
                title = arrow + title if column.right else title + arrow
            elif arrow and column.right:  # beside a heading that needs all its cells
                before = arrow
            elif arrow:
                after = arrow
            style = STRONG if sorted_by else column.style
            parts.append(Segment(before, style if before != " " else None))
            if column.value is not None:
                style = clickable(style, f"sort_column({column.name!r})")
            parts.append(Segment(self.palette.fit(title, size, right=column.right), style))
            owed = after
        if owed != " " and width_of(parts) < width:
            parts.append(Segment(owed, STRONG))
        return tuple(parts)

    def note(self) -> str:
        """Return the note, preceded by the active filter."""
        said = super().note()
        if self.wanted is None:
            return said
        found = f"{plural(self.hits, 'hit')} of {self.palette.word(self.needle, 30)}"
        return f"{found} {self.palette.dot} {said}" if said else found

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

    def time_at(self, x: int, y: int) -> float | None:
        """Return how many seconds before the shown moment a cell of a graph in a row is; None beside graphs."""
        index = self.top + y - self.heads
        if not 0 <= index < len(self.rows) or self.rows[index].line is not None or y < self.heads:
            return None
        start = 1
        for column, size in self.fitted(self.size.width):
            if start <= x < start + size:
                return (start + size - 1 - x) * column.seconds if column.seconds else None
            start += size + 1
        return None

    # -- keys -------------------------------------------------------------------------------------------------

    def action_sort(self, step: int) -> None:
        """Sort by the next (1) or previous (-1) visible column; beyond either end, in the original order."""
        names: list[str | None] = [c.name for c, _ in self.fitted(self.size.width) if c.value is not None]
        names.append(None)
        at = names.index(self.sort) if self.sort in names else -1
        self.sort_by(names[(at + step) % len(names)])

    def action_sort_column(self, name: str) -> None:
        """Sort by a column; reverse the order if it is the sort column already."""
        self.sort_by(name, down=not self.down if name == self.sort else None)

    def action_reverse(self) -> None:
        """Reverse the sort order."""
        self.sort_by(self.sort, down=not self.down)
