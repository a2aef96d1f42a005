"""Columns and rows of the processes that do the I/O."""

from __future__ import annotations

from msgspec import Struct

from sdstop.collectors.system.readings import ProcessActivity, ProcessIo, ProcessSummary
from sdstop.core.format import rate
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.detail import busy_processes, hidden_processes
from sdstop.tui.views.finding_rows import note_row
from sdstop.tui.widgets.palette import FAINT, text
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.table import Cell, TableColumn


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
    return "even from root" if scene.session.origin.privileged else "root only"


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
        seen = "no visible process is doing I/O" if hidden else "no process is doing I/O"
        known = scene.now.run_of(ProcessActivity) is not None
        run = scene.now.runs.get("processes")
        unseen = scene.unseen(("processes",)) if run is not None and not run.ok else "needs two samples"
        listed = [note_row(seen if known else unseen, scene)]
    return listed, note
