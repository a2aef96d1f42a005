"""Findings: in force, what could not be seen, what has ended, and what was looked at and found good."""

from __future__ import annotations

from textual.app import ComposeResult

from sdstop.finding import RuledOut
from sdstop.tui.palette import FAINT, PLAIN, Line, text
from sdstop.tui.pane import Row, words
from sdstop.tui.scene import Scene
from sdstop.tui.table import LineTable
from sdstop.tui.views.claims import COLUMNS, claim_rows, heading, note_row
from sdstop.tui.views.view import View


class Findings(View):
    """One long list."""

    key = "!"

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        self.main = LineTable("Findings", COLUMNS, id="all-findings")
        yield self.main

    def show(self, scene: Scene) -> None:
        """Paint a moment."""
        rows: list[Row] = []
        in_force = scene.findings()
        rows.append(heading("In force", len(in_force)))
        rows.extend(claim_rows(in_force, scene) or [note_row("  none", scene)])
        unknown = scene.unknown()
        bad, calm = [c for c in unknown if not c.calm], [c for c in unknown if c.calm]
        for title, claims in (("Could not be seen", bad), ("Ended", scene.ended())):
            if claims:
                rows.append(heading(title, len(claims)))
                rows.extend(claim_rows(claims, scene))
        ruled_out = scene.look.judgement.ruled_out
        if ruled_out:
            rows.append(heading("Looked at and found good", len(ruled_out)))
            rows.extend(words(_good(r, scene)) for r in ruled_out)
        if calm:
            rows.append(heading("Not to be seen here, and nothing is at fault", len(calm)))
            rows.extend(claim_rows(calm, scene))
        self.main.put(rows, scene.palette, f"{len(scene.session.rules)} rules")


def _good(ruled_out: RuledOut, scene: Scene) -> Line:
    word = scene.palette.word
    said = word(f"{ruled_out.rule}: {ruled_out.summary}", 300)
    return text((f"      {word(ruled_out.subject, 18):<18} ", PLAIN), (said, FAINT))
