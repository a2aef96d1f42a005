"""Sheet with the changes from one moment or capture to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdstop.core.finding import Severity
from sdstop.tui.scene import Scene
from sdstop.tui.sheet import Sheet
from sdstop.tui.widgets.palette import PLAIN, STRONG, Palette, text
from sdstop.tui.widgets.pane import Row, words

if TYPE_CHECKING:
    from sdstop.analysis.comparison.comparison import Comparison

_INDENT = "  "


class ChangesSheet(Sheet):
    """Changes of findings, things, settings and rates; it does not change with the moment shown."""

    def __init__(self, found: Comparison) -> None:
        """Create the sheet for a comparison."""
        super().__init__("Changes")
        self.found = found
        self._shown: tuple[object, ...] = ()

    def fill(self, scene: Scene, width: int) -> None:
        """Fill the pane, once per size and palette."""
        if self._shown == (self.size, scene.palette) or not width:
            return
        self._shown = (self.size, scene.palette)
        self.pane.put(difference_rows(self.found, scene.palette, width - 1), scene.palette)


def difference_rows(found: Comparison, palette: Palette, width: int) -> list[Row]:
    """Return a comparison as rows; headings and the severities of bad changes are highlighted."""
    from sdstop.exporters.report.changes import rows  # noqa: PLC0415  # rarely needed, 0.4 MB with the report's modules
    from sdstop.exporters.report.changes.text import sections  # noqa: PLC0415

    severities: list[Severity | None] = [row.severity if row.bad else None for row in rows.findings(found)]
    made: list[Row] = []
    for number, lines in enumerate(sections(found, width)):
        if number:
            made.append(words(()))
        left = iter(severities if lines and lines[0] == "FINDINGS" else ())
        for place, line in enumerate(lines):
            style = STRONG if not place and number else PLAIN
            if place and line.startswith(_INDENT) and not line.startswith(_INDENT * 2):
                severity = next(left, None)
                style = palette.severity(severity) if severity is not None else style
            made.append(words(text((f" {palette.word(line, 1000)}", style)), ("line", number, place)))
    return made
