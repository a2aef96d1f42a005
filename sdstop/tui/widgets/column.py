"""TableColumn: a column of a table on the screen, and which columns fit into a width."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from msgspec import Struct
from rich.style import Style

from sdstop.tui.widgets.palette import FAINT, Line

Cell = str | Line
MS, PERCENT, MIB = 0.001, 0.01, float(1 << 20)
"""Scales of columns that show milliseconds, percent or MiB."""

LOW_PRIORITY_KEEP = 2
"""Highest `keep` priority that is dropped to give other columns their `comfort` width."""


class TableColumn(Struct, frozen=True):
    """A column of a table on the screen.

    `cell` paints an item for a width; `value`, if given, returns the sort key (None last) in base units, of which the
    unit of the heading is `scale`: 0.001 if it shows milliseconds. On a narrow screen, columns with a low `keep` are
    dropped first, and those with 0 never. A column with `widest` grows into spare room up to that width; to reach
    `comfort`, columns with a `keep` up to LOW_PRIORITY_KEEP are dropped. A column that is not `chosen` is searched and
    sorted by, but shown only if the user chooses it. `seconds` is the time of a graph's cell; the last cell is now.
    `style` is that of the heading, such as the hue of reads.
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
    scale: float = 1.0
    chosen: bool = True
    seconds: float = 0.0
    style: Style = FAINT

    @property
    def heading(self) -> str:
        """Heading of the column at its usual width: the name by which it is sorted and searched."""
        return self.title if isinstance(self.title, str) else self.title(self.width)

    def called(self, name: str) -> bool:
        """Return whether a typed name is the heading or the field name, ignoring case."""
        return bool(name) and name.lower() in {self.heading.lower(), self.name.lower()}


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


def columns_by_name(columns: Collection[TableColumn]) -> dict[str, TableColumn]:
    """Return columns by field name and by heading, in lower case; of two with one name, a heading wins."""
    found = {column.name.lower(): column for column in columns}
    return found | {column.heading.lower(): column for column in columns if column.heading}
