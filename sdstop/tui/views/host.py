"""Host: processors, memory and pressure, who does the I/O, and how every source of evidence fares."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Horizontal

from sdstop.collectors.node import CpuActivity, Pressure
from sdstop.evidence import Outcome
from sdstop.format import bytes_, clock, number, percent, wait
from sdstop.snapshot import Run
from sdstop.tui.drives import natural, rows
from sdstop.tui.palette import FAINT, PLAIN, Line, pairs, text
from sdstop.tui.pane import Pane, Row, words
from sdstop.tui.scene import BAD, Claim, Scene
from sdstop.tui.table import Cell, Column, LineTable
from sdstop.tui.views.cells import gauge
from sdstop.tui.views.overview import PROCESSES, process_rows
from sdstop.tui.views.view import View
from sdstop.tui.views.vitals import memory_used, node

_CPU = 22
"""Cells of one processor."""
_CPU_LINES = 8


@dataclass(frozen=True, slots=True)
class Source:
    """A collector's latest run at a moment."""

    run: Run
    scene: Scene
    pace: float

    @property
    def opens(self) -> Claim:
        """What a choice of the row leads to."""
        bad = self.run.outcome in BAD
        said = f"{self.run.word}: {self.run.reason}" if self.run.reason else self.run.word
        return Claim(f"{'run' if bad else 'source'}:{self.run.collector}", None, said, self.run.collector,
                     self.run.since, run=self.run, began=self.run.began)  # fmt: skip


def _outcome(item: Source, width: int) -> Cell:
    del width
    run, palette = item.run, item.scene.palette
    if run.outcome in BAD:
        return text((f"?{run.outcome.value}", palette.severity(None)))
    unrecorded = not run.recorded and not item.scene.session.origin.live  # live, what nobody recorded is simply absent
    return text(("not recorded" if unrecorded else run.word, PLAIN if run.outcome is Outcome.OK else FAINT))


def _badness(item: Source) -> int:
    """Return the place in the order from bad to good."""
    return BAD.index(item.run.outcome) if item.run.outcome in BAD else len(BAD) + (not item.run.partial)


def _reason(item: Source, width: int) -> Cell:
    del width
    return text((item.scene.palette.word(item.run.reason, 300), FAINT))


def _pace(item: Source, width: int) -> Cell:
    del width
    return text(("once" if math.isinf(item.pace) else f"{item.pace:g} s", FAINT))


_SOURCES = (
    Column("source", "SOURCE", 11, lambda i, _: i.scene.palette.word(i.run.collector, 30), lambda i: i.run.collector,
           widest=14, rising=True),
    Column("outcome", "OUTCOME", 12, _outcome, _badness, rising=True),
    Column("since", "SINCE", 8, lambda i, _: text((clock(i.run.since), FAINT)), lambda i: i.run.since, keep=3),
    Column("took", "ms", 6, lambda i, _: wait(i.run.duration), lambda i: i.run.duration, right=True, keep=4),
    Column("pace", "PACE", 5, _pace, lambda i: i.pace, right=True, keep=2),
    Column("reason", "REASON", 16, _reason, widest=120),
)  # fmt: skip


class Host(View):
    """Gauges above, processes and sources below."""

    key = "6"

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        self.gauges = Pane("Processors and memory", id="gauges", cursor=False)
        self.processes = LineTable("Who does the I/O", PROCESSES, id="host-processes")
        self.main = LineTable("Sources of evidence", _SOURCES, id="sources", sort="outcome")
        yield self.gauges
        with Horizontal(id="host-halves"):
            yield self.processes
            yield self.main

    def show(self, scene: Scene) -> None:
        """Paint a moment."""
        width = self.app.size.width
        lines = _gauge_lines(scene, width)
        self.gauges.styles.height = len(lines) + 1
        self.gauges.put([words(line) for line in lines], scene.palette)
        listed, note = process_rows(scene)
        self.processes.put(listed, scene.palette, note)
        paces = {c.name: c.pace for c in scene.session.collectors}
        sources = [
            Row(run.collector, Source(run, scene, paces.get(run.collector, 0.0)), None, f"{run.collector} {run.reason}")
            for run in scene.now.runs.values()
        ]
        partly = sum(run.partial for run in scene.now.runs.values())
        good = sum(run.ok for run in scene.now.runs.values()) - partly
        waiting = len(scene.session.collectors) - len(scene.now.runs)
        note = (
            f"{good} ok"
            + (f", {partly} partly" if partly else "")
            + (f", {waiting} not answered yet" if waiting else "")
        )
        self.main.put(sources, scene.palette, note)


def _gauge_lines(scene: Scene, width: int) -> list[Line]:
    lines = _cpu_lines(scene, width)
    n = node(scene)
    used = memory_used(n)
    if n is not None and n.memory_total:
        facts = (
            f"  {bytes_(n.memory_total)}  available {bytes_(n.memory_available)}"
            f"  dirty {bytes_(n.memory_dirty)}  writeback {bytes_(n.memory_writeback)}"
        )
        lines.append((*text((" memory ", FAINT), f"{percent(used):>5} "), *gauge(used, 10, scene.palette),
                      *text((facts, PLAIN))))  # fmt: skip
        if n.swap_total:
            swapped = 1 - (n.swap_free or 0) / n.swap_total
            lines.append((*text((" swap   ", FAINT), f"{percent(swapped):>5} "), *gauge(swapped, 10, scene.palette),
                          *text(f"  {bytes_(n.swap_total)}")))  # fmt: skip
    if n is not None:
        loads = " ".join(number(v) for v in (n.load1, n.load5, n.load15))
        lines.append(
            text(
                (" load   ", FAINT),
                f"  {loads}",
                ("  running ", FAINT),
                number(n.tasks_running),
                ("  waiting for I/O ", FAINT),
                number(n.tasks_blocked),
            )
        )
    for row in sorted(rows(scene, Pressure)[0].values(), key=lambda p: p.resource):
        some = " ".join(f"{percent(v):>5}" for v in (row.some_avg10, row.some_avg60, row.some_avg300))
        full = " ".join(f"{percent(v):>5}" for v in (row.full_avg10, row.full_avg60, row.full_avg300))
        name = scene.palette.word(row.resource, 7)
        lines.append(
            text((f" {name:<7}", FAINT), ("stalled %, 10 60 300 s:  some ", FAINT), some, ("   all ", FAINT), full)
        )
    return lines or [text((" nothing is known of the node yet", FAINT))]


def _cpu_lines(scene: Scene, width: int) -> list[Line]:
    cpus = sorted((c for c in rows(scene, CpuActivity)[0].values() if c.cpu != "all"), key=lambda c: natural(c.cpu))
    most = max(1, (width - 1) // _CPU)
    across = max(1, math.ceil(len(cpus) / math.ceil(len(cpus) / most))) if cpus else most
    lines: list[Line] = []
    for start in range(0, min(len(cpus), across * _CPU_LINES), across):
        parts: list[Segment] = [Segment(" ")]
        for c in cpus[start : start + across]:
            drawn = pairs(gauge(c.busy, _CPU - 11, scene.palette))
            parts.extend(text((f"{scene.palette.word(c.cpu, 4):>3} ", FAINT), *drawn, f"{percent(c.busy):>5}  "))
        lines.append(tuple(parts))
    hidden = len(cpus) - across * _CPU_LINES
    if hidden > 0:
        lines.append(text((f" and {hidden} more", FAINT)))
    return lines
