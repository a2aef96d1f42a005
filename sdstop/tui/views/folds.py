"""Columns and rows of devices folded by likeness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from msgspec import Struct
from rich.cells import cell_len

from sdstop.analysis.disks.fold_queues import queue_courses
from sdstop.analysis.disks.likeness import DeviceFigures, DeviceFold
from sdstop.analysis.disks.recent_activity import PAST, moments
from sdstop.core.finding import Severity
from sdstop.core.format import NONE, share_of_time
from sdstop.tui.facts import FactSubject
from sdstop.tui.pictures.drawing import stretched
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import severity_name
from sdstop.tui.views.devices import DeviceRow
from sdstop.tui.views.view import ViewPlace
from sdstop.tui.widgets.graph import step
from sdstop.tui.widgets.palette import FAINT, MARKS, OTHER, Line, text, width_of
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.strip import cells, spark
from sdstop.tui.widgets.table import Cell, LineTable, TableColumn

MIB = float(1 << 20)
_LEAST_QUEUE = 0.5
"""Least top of the scale of queues, so that idle devices look idle."""
_GROUP = 10
"""Minimum cells for the beginning of the name of a group."""


class FoldRow(Struct, frozen=True):
    """A line of devices; `top` is the queue at the top of the scale that all lines share."""

    fold: DeviceFold
    scene: Scene
    top: float
    at: Sequence[int | None] = ()
    """Index of the sample of each of the last PAST seconds."""
    course: Sequence[float | None] | None = None
    """Queue of each sample; None: to be looked up when the line is painted."""

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the devices."""
        return self.fold.severity

    @property
    def opens(self) -> FactSubject | ViewPlace:
        """Target that Enter opens: the page of a single device, or the view of disks at the first of several."""
        first = self.fold.devices[0]
        if len(self.fold.devices) == 1:
            return DeviceRow(first, self.scene).opens
        return ViewPlace("2", (self.fold.group, first.name))


def _name(item: FoldRow, width: int) -> Line:
    """Return the name, its flag if that fits, and the beginning of its group if that leaves enough of it."""
    fold, palette = item.fold, item.scene.palette
    lead = "  " if fold.inner else ""
    line = (*text(lead), *severity_name(fold.label, fold.severity, palette, stale=fold.stale))
    flag = f" {palette.word(fold.flag, 20)}" if fold.flag else ""
    if flag and width_of(line) + len(flag) <= width:
        style = palette.severity(fold.severity) if fold.severity is not None else FAINT
        line = (*line, *text((flag, style)))
    group = palette.word(fold.group, 40) if fold.group and not fold.inner else ""
    room = width - width_of(line) - 2
    if not group or room < min(cell_len(group), _GROUP):
        return line
    return (*line, *text((f"  {palette.fit(group, room).rstrip()}", FAINT)))


def _figure(read: Callable[[DeviceFigures], float | None], shown: Callable[[float], str]) -> dict[str, Any]:
    def value(item: FoldRow) -> float | None:
        return read(item.fold.figures)

    def cell(item: FoldRow, _: int) -> Cell:
        found = value(item)
        said = NONE if found is None else shown(found)
        return text((said, FAINT)) if item.fold.stale or said in {NONE, "0", "0.0", "0%"} else said

    return {"cell": cell, "value": value, "right": True}


def _ms(seconds: float) -> str:
    ms = seconds * 1000
    return f"{ms:.1f}" if ms < 999.95 else f"{ms:.0f}"


def _mib(value: float) -> str:
    shown = value / MIB
    return f"{shown:.1f}" if shown < 9999.95 else f"{shown:.0f}"


def _queue(item: FoldRow, width: int) -> Cell:
    palette = item.scene.palette
    style = palette.severity(item.severity) if item.severity in MARKS else OTHER
    course = queue_courses((item.fold,), item.scene.window)[0] if item.course is None else item.course
    queue = [None if index is None else course[index] for index in item.at]
    return spark(stretched(queue, width, palette), width, item.top, palette, style)


def _ruler(width: int) -> str:
    return f"QUEUE, {PAST} s" if width >= 11 else "QUEUE"


FOLD_COLUMNS = (
    TableColumn("device", "DEVICE", 20, _name, lambda i: (len(i.fold.label), i.fold.label), widest=30, rising=True),
    TableColumn("reads", "r/s", 5, keep=7, **_figure(lambda f: f.reads_per_second, lambda v: f"{v:.0f}")),
    TableColumn("writes", "w/s", 5, keep=7, **_figure(lambda f: f.writes_per_second, lambda v: f"{v:.0f}")),
    TableColumn("read", "rMiB", 6, keep=5, **_figure(lambda f: f.read_bytes_per_second, _mib)),
    TableColumn("write", "wMiB", 6, keep=5, **_figure(lambda f: f.write_bytes_per_second, _mib)),
    TableColumn("rwait", "r ms", 5, keep=8, **_figure(lambda f: f.read_wait, _ms)),
    TableColumn("wwait", "w ms", 5, keep=8, **_figure(lambda f: f.write_wait, _ms)),
    TableColumn("busy", "util", 4, keep=9, **_figure(lambda f: f.busy, share_of_time)),
    TableColumn("queue", _ruler, 8, _queue, lambda i: i.fold.figures.queue, keep=4, widest=140),
)


class FoldTable(LineTable):
    """Table of folded devices; its cursor shows only while the table is focused."""

    @property
    def heads(self) -> int:
        """Number of lines above the rows: rebuilds alone have no columns, so no headings."""
        return super().heads if any(row.line is None for row in self.rows) else 1

    def _pointed(self, line: Line) -> Line:
        return super()._pointed(line) if self.has_focus else line


def fold_rows(folds: Sequence[DeviceFold], scene: Scene, most: int) -> list[Row]:
    """Return a row for each fold; the graphs of their queues share one scale, that of the first `most`."""
    runs = moments(scene.window)
    index = [(m.started, m.seconds or 0.0, float(i)) for i, m in enumerate(runs)]
    at = [None if i is None else int(i) for i in cells(index, runs[-1].started, PAST)] if runs else []
    courses = queue_courses(folds[:most], scene.window)
    top = step(max([_LEAST_QUEUE, *(queue for course in courses for queue in course if queue is not None)]))
    return [
        Row((fold.group, fold.devices[0].name), FoldRow(fold, scene, top, at, course), None, partial(_searchable, fold))
        for fold, course in zip_longest(folds, courses)
    ]


def _searchable(fold: DeviceFold) -> str:
    return " ".join([fold.label, fold.group, *(drive.name for drive in fold.devices)])
