"""A peer: a table of 50 rows and eight sparklines of Textual's own, filled anew every second with made-up numbers."""

from __future__ import annotations

from random import Random

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import DataTable, Sparkline, Static

ROWS, COLUMNS, SPARKLINES = 50, 10, 8


class Plain(App[None]):
    """What one would write at first."""

    CSS = "#strips { height: 3; } #strips Sparkline { width: 1fr; height: 3; }"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self) -> None:
        """Start with numbers."""
        super().__init__()
        self.random = Random(1)
        self.table: DataTable[str] = DataTable()
        self.strips = [Sparkline([self.random.random() for _ in range(60)]) for _ in range(SPARKLINES)]
        self.line = Static("load 1.0")

    def compose(self) -> ComposeResult:
        """Lay out."""
        with Horizontal(id="strips"):
            yield from self.strips
        yield self.line
        yield self.table

    def on_mount(self) -> None:
        """Fill the table, and do so every second."""
        self.table.add_columns(*(f"column{index}" for index in range(COLUMNS)))
        self.table.add_rows(self._rows())
        self.set_interval(1.0, self._fill)

    def _rows(self) -> list[list[str]]:
        return [
            [f"sd{index}", *(f"{self.random.random() * 1000:8.1f}" for _ in range(COLUMNS - 1))]
            for index in range(ROWS)
        ]

    def _fill(self) -> None:
        for strip in self.strips:
            strip.data = [*list(strip.data or ())[1:], self.random.random()]
        self.line.update(f"load {self.random.random():.2f}")
        self.table.clear()
        self.table.add_rows(self._rows())


if __name__ == "__main__":
    Plain().run()
