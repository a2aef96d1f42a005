"""Table of sources of evidence: outcome, duration and sampling interval."""

from __future__ import annotations

import math

from msgspec import Struct

from sdstop.core.evidence import Outcome
from sdstop.core.format import clock, wait
from sdstop.core.snapshot import Run
from sdstop.tui.scene import BAD, FindingEntry, Scene
from sdstop.tui.widgets.palette import FAINT, PLAIN, Line, text
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.table import MS, Cell, TableColumn


class SourceRow(Struct, frozen=True):
    """A collector's latest run at a moment."""

    run: Run
    scene: Scene
    pace: float

    @property
    def opens(self) -> FindingEntry:
        """Target that Enter opens for this row."""
        bad = self.run.outcome in BAD
        said = f"{self.run.word}: {self.run.reason}" if self.run.reason else self.run.word
        return FindingEntry(f"{'run' if bad else 'source'}:{self.run.collector}", None, said, self.run.collector,
                     self.run.since, run=self.run, began=self.run.began)  # fmt: skip


def _outcome(item: SourceRow, _: int) -> Cell:
    return source_state(item.run, item.scene)


def source_state(run: Run, scene: Scene) -> Line:
    """Return the outcome of a collector's latest run as a word; of a capture, whether the source was recorded."""
    if run.outcome in BAD:
        return text((f"?{run.outcome.value}", scene.palette.severity(None)))
    # In a live session, an unrecorded source is simply absent.
    unrecorded = not run.recorded and not scene.session.origin.live
    return text(("not recorded" if unrecorded else run.word, PLAIN if run.outcome is Outcome.OK else FAINT))


def _badness(item: SourceRow) -> int:
    """Return the position of a run in the order from bad to good."""
    return BAD.index(item.run.outcome) if item.run.outcome in BAD else len(BAD) + (not item.run.partial)


def _reason(item: SourceRow, _: int) -> Cell:
    return text((item.scene.palette.word(item.run.reason, 300), FAINT))


def _pace(item: SourceRow, _: int) -> Cell:
    return text(("once" if math.isinf(item.pace) else f"{item.pace:g} s", FAINT))


SOURCES = (
    TableColumn("source", "SOURCE", 11, lambda i, _: i.scene.palette.word(i.run.collector, 30),
                lambda i: i.run.collector, widest=14, rising=True),
    TableColumn("outcome", "STATUS", 12, _outcome, _badness, rising=True),
    TableColumn("since", "SINCE", 8, lambda i, _: text((clock(i.run.since), FAINT)), lambda i: i.run.since, keep=3),
    TableColumn("took", "ms", 6, lambda i, _: wait(i.run.duration), lambda i: i.run.duration, right=True, keep=4,
                scale=MS),
    TableColumn("pace", "EVERY", 5, _pace, lambda i: i.pace, right=True, keep=2),
    TableColumn("reason", "REASON", 16, _reason, widest=120),
)  # fmt: skip


def source_rows(scene: Scene) -> tuple[list[Row], str]:
    """Return a row for each collector, and a note with the number of collectors per state."""
    paces = {c.name: c.pace for c in scene.session.collectors}
    listed = [
        Row(run.collector, SourceRow(run, scene, paces.get(run.collector, 0.0)), None, f"{run.collector} {run.reason}")
        for run in scene.now.runs.values()
        if run.is_live or run.ok or not scene.session.origin.live
    ]
    partly = sum(run.partial for run in scene.now.runs.values())
    good = sum(run.ok for run in scene.now.runs.values()) - partly
    waiting = len(scene.session.collectors) - len(scene.now.runs)
    note = f"{good} ok"
    note += f", {partly} partial" if partly else ""
    return listed, note + (f", {waiting} pending" if waiting else "")
