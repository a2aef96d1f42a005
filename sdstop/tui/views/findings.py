"""Findings: active, unknown, ended and ruled out."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import ComposeResult

from sdstop.core.finding import RuledOut
from sdstop.core.headline import named
from sdstop.tui.scene import Scene
from sdstop.tui.views.finding_rows import COLUMNS, FindingRow, entry_rows, full_text_rows, heading, note_row
from sdstop.tui.views.view import Listing, View
from sdstop.tui.widgets.palette import FAINT, PLAIN, Line, text
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.table import LineTable


class Findings(View):
    """All findings in one list."""

    tables = (COLUMNS,)

    @classmethod
    def listed(cls, scene: Scene) -> Iterator[Listing]:
        """Yield the tables with the rows that a search finds here."""
        entries = [*scene.findings(), *scene.unknown(), *scene.ended()]
        yield Listing(COLUMNS, entry_rows(entries, scene))

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        self.main = LineTable("Findings", COLUMNS, id="all-findings", whole=True)
        self.told = Pane(id="all-told", cursor=False)
        yield self.main
        yield self.told

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        rows: list[Row] = []
        in_force = scene.findings()
        rows.append(heading("Active", len(in_force)))
        rows.extend(entry_rows(in_force, scene) or [note_row("  none", scene)])
        unknown = scene.unknown()
        bad, calm = [c for c in unknown if not c.calm], [c for c in unknown if c.calm]
        for title, entries in (("Not checked", bad), ("Resolved", scene.ended())):
            if entries:
                rows.append(heading(title, len(entries)))
                rows.extend(entry_rows(entries, scene))
        ruled_out = scene.look.judgement.ruled_out
        if ruled_out:
            rows.append(heading("Passed", sum(len(r.subjects) for r in ruled_out)))
            rows.extend(words(_good(r, scene)) for r in ruled_out)
        if calm:
            rows.append(heading("Not applicable or not recorded", len(calm)))
            rows.extend(entry_rows(calm, scene))
        self.main.put(rows, scene.palette, f"{len(scene.session.rules)} checks")
        self._tell()

    def moved(self, pane: Pane) -> None:
        """Show the full text of the row under the cursor."""
        del pane
        self._tell()

    def _tell(self) -> None:
        row = self.main.chosen
        item = row.item if row is not None and isinstance(row.item, FindingRow) else None
        self.told.display = self.app.size.height >= 20
        self.told.put(full_text_rows(item, self.app.size.width, _MOST), self.scene.palette)


_MOST = 3
"""Maximum lines for the full text of the row under the cursor; must match the style sheet."""


def _good(ruled_out: RuledOut, scene: Scene) -> Line:
    palette = scene.palette
    said = palette.word(f"{ruled_out.rule}: {ruled_out.summary}", 300)
    return text((f"      {palette.fit(palette.word(named(ruled_out.subjects), 100), 18)} ", PLAIN), (said, FAINT))
