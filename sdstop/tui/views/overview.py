"""Overview: state of the node, findings, worst devices and top I/O processes."""

from __future__ import annotations

from msgspec import Struct
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from sdstop.analysis.drives import queue_extent, shown
from sdstop.collectors.system.processes import ProcessActivity, ProcessIo, ProcessSummary
from sdstop.core.format import plural, rate
from sdstop.core.headline import UNKNOWN
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.detail import busy_processes, hidden_processes
from sdstop.tui.views.devices import (
    ARRAY,
    BAR,
    BUSY,
    DEVICE,
    FLAG,
    QUEUE,
    READ,
    READ_WAIT,
    READS,
    SPARK,
    WRITE,
    WRITE_WAIT,
    WRITES,
    DeviceRow,
    row,
)
from sdstop.tui.views.finding_rows import COLUMNS, FindingRow, cut, entry_rows, full_text_rows, note_row
from sdstop.tui.views.rebuilds import all_rebuilds, rebuild_row
from sdstop.tui.views.view import View
from sdstop.tui.views.vitals import CHART, brief_rows, wide_rows
from sdstop.tui.why import why_rows
from sdstop.tui.widgets.palette import FAINT, text
from sdstop.tui.widgets.pane import Pane, Row
from sdstop.tui.widgets.strip import heat_scale_max
from sdstop.tui.widgets.table import Cell, LineTable, TableColumn

_DEVICES = (
    DEVICE, ARRAY, READS, WRITES, READ, WRITE, QUEUE, READ_WAIT, WRITE_WAIT, BUSY, BAR,
    SPARK, FLAG,
)  # fmt: skip


class ProcessRow(Struct, frozen=True):
    """A process at a moment."""

    process: ProcessActivity
    scene: Scene

    @property
    def opens(self) -> FactSubject:
        """Target that Enter opens for this row."""
        key = (self.process.pid, self.process.started)
        return FactSubject(self.process.name, ((ProcessActivity, key), (ProcessIo, key)))


def _name(item: ProcessRow, _: int) -> Cell:
    return item.scene.palette.word(item.process.name, 40)


def _user(item: ProcessRow, _: int) -> Cell:
    return text((item.scene.palette.word(item.process.user or "-", 20), FAINT))


def _command(item: ProcessRow, _: int) -> Cell:
    return text((item.scene.palette.word(item.process.cmdline or "", 300), FAINT))


PROCESSES = (
    TableColumn("process", "PROCESS", 16, _name, lambda i: i.process.name, widest=20, rising=True),
    TableColumn("pid", "PID", 7, lambda i, _: str(i.process.pid), lambda i: i.process.pid, right=True, keep=4),
    TableColumn("user", "USER", 8, _user, lambda i: i.process.user or "", keep=3, rising=True),
    TableColumn("read", "READ/s", 7, lambda i, _: rate(i.process.read_bytes_per_second),
                lambda i: i.process.read_bytes_per_second, right=True),
    TableColumn("write", "WRITE/s", 7, lambda i, _: rate(i.process.write_bytes_per_second),
                lambda i: i.process.write_bytes_per_second, right=True),
    TableColumn("command", "COMMAND", 16, _command, keep=2, widest=120),
)  # fmt: skip


def hidden_to(scene: Scene) -> str:
    """Return from whom processes are hidden: only root sees all, and in a container not even root does."""
    return "even from root" if scene.session.origin.privileged else "only root sees them"


def process_rows(scene: Scene) -> tuple[list[Row], str]:
    """Return the rows of the top I/O processes, and a note about hidden processes."""
    listed = [
        Row(("process", p.pid, p.started), ProcessRow(p, scene), None, f"{p.name} {p.pid} {p.user} {p.cmdline}")
        for p in busy_processes(scene)
    ]
    summary = next(iter(scene.rows(ProcessSummary)[0].values()), None)
    hidden = hidden_processes(summary) if summary is not None else ""
    note = f"{hidden}: {hidden_to(scene)}" if hidden else ""
    if not listed:
        seen = "no process that may be seen does any I/O now" if hidden else "no process does any I/O now"
        known = scene.now.run_of(ProcessActivity) is not None
        run = scene.now.runs.get("processes")
        unseen = scene.unseen(("processes",)) if run is not None and not run.ok else "not known yet: needs two looks"
        listed = [note_row(seen if known else unseen, scene)]
    return listed, note


_MOST = 3
"""Maximum lines for the full text of a finding below the list."""


class Overview(View):
    """View shown at the start."""

    families = (ProcessActivity, ProcessIo, ProcessSummary)
    tables = (COLUMNS, _DEVICES, PROCESSES)
    main: LineTable

    def compose(self) -> ComposeResult:
        """Lay out the panes; the style sheet selects those shown on a small screen."""
        self.vitals = Pane(id="vitals", cursor=False)
        self.main = LineTable("Findings", COLUMNS, id="findings", whole=True)
        self.told = Pane(id="told", cursor=False)
        self.why = Pane("Why", id="why", cursor=False)
        self.devices = LineTable("Worst devices", _DEVICES, id="devices", sort="flag")
        self.processes = LineTable("Who does the I/O", PROCESSES, id="processes", cursor=False, steady=True)
        yield self.vitals
        with Horizontal(id="halves"):
            with Vertical(id="left"):
                yield self.main
                yield self.told
                yield self.why
            with Vertical(id="right"):
                yield self.devices
                yield self.processes

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        wide = self.app.size.width >= 160 and self.app.size.height >= 40
        running = [rebuild_row(r, scene, named=True) for r in all_rebuilds(scene)][: 6 if wide else 2]
        self.vitals.styles.height = (CHART + 2 if wide else 2) + len(running)
        vitals = wide_rows(scene, self.app.size.width) if wide else brief_rows(scene)
        self.vitals.put([*vitals, *running], scene.palette)
        self._show_findings(scene)
        listed = [d for d in scene.drives().values() if shown(d)]
        top = heat_scale_max(*queue_extent(scene.window, " all", [d.name for d in listed]))
        rows_ = [row(d.name, DeviceRow(d, scene, top=top, abroad=True)) for d in listed]
        self.devices.put(rows_ or [note_row("no block device is known yet", scene)], scene.palette)
        if self.processes.display:
            doers, note = process_rows(scene)
            self.processes.put(doers, scene.palette, note)
        self._show_why()

    def _show_findings(self, scene: Scene) -> None:
        unknown = scene.unknown()
        rows_ = entry_rows([*scene.findings(), *(c for c in unknown if not c.calm)], scene)
        if not scene.findings():
            said = scene.headline
            good = sum(len(verdict.subjects) for verdict in scene.look.judgement.ruled_out)
            passed = f"; {plural(good, 'thing')} looked at and found good (!)" if good else ""
            unknown_ = "unknown: " if said.code == UNKNOWN else ""
            rows_.insert(0, note_row(f"{unknown_}{said.found or said.rest[0]}{passed or ' (!)'}", scene))
        if scene.headline.unjudged:
            rows_.append(note_row(f"state not recorded: {scene.headline.unjudged}", scene))
        unrecorded = {u.rule for u in scene.look.judgement.unchecked if u.calm}
        if unrecorded and not scene.session.origin.live:
            rules = f"{len(unrecorded)} rule{'s' * (len(unrecorded) != 1)}"
            rows_.append(note_row(f"{rules} found nothing to look at in this capture (!)", scene))
        self.main.put(rows_, scene.palette)
        height = self.app.size.height
        # Reserve the height of the longest text, so that the layout does not shift with the cursor; a shorter text
        # may wrap into more lines.
        long = [row.item for row in rows_ if isinstance(row.item, FindingRow) and cut(row.item, self.main)]
        longest = max(long, key=lambda item: len(item.entry.subject) + len(item.entry.summary), default=None)
        needed = len(full_text_rows(longest, self.app.size.width, _MOST))
        needed = min(needed + 1, _MOST + 1) if len(long) > 1 else needed
        self.told.display = needed > 0 and height >= 20 and not self.why.display
        told = needed if self.told.display else 0
        self.told.styles.height = told
        self.main.styles.height = (
            "1fr" if height < 14 else min(len(rows_), (self.room - 6 - told) // 2) + 2 + (not told)
        )

    def moved(self, pane: Pane) -> None:
        """Show the details of the finding under the cursor."""
        if pane is self.main:
            self._show_why()

    def _show_why(self) -> None:
        row = self.main.chosen
        item = row.item if row is not None else None
        self.why.title = "Why" if isinstance(item, FindingRow) else ""
        if not self.why.display:
            self.told.put(
                full_text_rows(item if isinstance(item, FindingRow) else None, self.app.size.width, _MOST),
                self.scene.palette,
            )
        elif isinstance(item, FindingRow):
            self.why.put(why_rows(item.entry, self.scene, self.why.size.width), self.scene.palette, "Enter opens")
        else:
            self.why.put((), self.scene.palette)
