"""Path: where the time of a request goes, one line a stage from client to medium."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from textual.app import ComposeResult

from sdstop.analysis.path import DataPath, data_path
from sdstop.analysis.path.load import Load, implied_wait, load_of, mean_seconds
from sdstop.analysis.path.ranking import RankedPath, ranked_paths
from sdstop.analysis.path.sentences import accusation, accused_names, limit_sentence, second_sentence, serious
from sdstop.analysis.path.stage import Stage
from sdstop.analysis.path.subjects import PathSubject
from sdstop.analysis.thing_parts import parts_of
from sdstop.core.finding import Severity
from sdstop.core.format import NONE, duration, mebibytes, wait, whole
from sdstop.core.model import Reading
from sdstop.readings.cluster import ClusterVolume
from sdstop.readings.disk import DiskActivity
from sdstop.tui.device.graphs import courses, graph_lines, shown_seconds
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import counted, severity_name
from sdstop.tui.views.stage_lines import StageRow, heading, note_line, stage_line
from sdstop.tui.views.stage_waits import HIGHEST, LEAST, wait_graphs
from sdstop.tui.views.view import Listing, View
from sdstop.tui.widgets.palette import FAINT, PLAIN, STRONG, WORDS, Line, Palette, text
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.table import MIB, MS, Cell, LineTable, TableColumn

_TWO_LINES = 72
"""Minimum width for sentences of two lines."""
_NOTED = 36
"""Minimum height of the screen for a note below each stage."""


class PathRow(Struct, frozen=True):
    """A path in the list."""

    scene: Scene
    path: RankedPath

    @property
    def subject(self) -> PathSubject:
        """Subject of the path."""
        return self.path.subject

    @property
    def opens(self) -> FactSubject:
        """Target that Enter opens for this row."""
        scene, thing = self.scene, self.subject.thing
        return FactSubject(thing.label, parts_of(scene.window, thing, scene.session.collectors))

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the findings about its things."""
        return self.path.severity

    @property
    def load(self) -> DiskActivity | None:
        """Load in the last sample."""
        return self.path.load


def path_rows(scene: Scene) -> list[PathRow]:
    """Return the paths of the node."""
    return [PathRow(scene, path) for path in ranked_paths(scene.window, scene.in_force)]


def _name(item: PathRow, _: int) -> Line:
    return severity_name(item.subject.name, item.severity, item.scene.palette)


def _finding(item: PathRow, _: int) -> Cell:
    if item.severity is None:
        return ""
    palette = item.scene.palette
    by_rule = [f for f in item.scene.in_force if f.rule == item.path.rule]
    names = set(item.path.subject.subjects)
    found = next((f for f in by_rule if not names.isdisjoint(f.subjects)), by_rule[0] if by_rule else None)
    fault = found.title.partition(":")[0] if found is not None else item.path.rule
    return text((f"{WORDS[item.severity]} {palette.word(fault, 60)}", palette.severity(item.severity)))


def _kind(item: PathRow, _: int) -> Cell:
    return text((item.scene.palette.word(", ".join(sorted(item.subject.thing.kinds)), 40), FAINT))


def _other(item: PathRow) -> Load | None:
    """Return the load of something that is not a block device, such as a volume of a cluster."""
    return load_of(item.scene.window, item.subject.thing) if item.load is None else None


def _requests(item: PathRow) -> float | None:
    other = _other(item)
    return item.load.completed_per_second if item.load is not None else other.requests if other is not None else None


def _bytes(item: PathRow) -> float | None:
    load, other = item.load, _other(item)
    if load is None:
        return None if other is None else other.bytes
    return load.read_bytes_per_second + load.write_bytes_per_second


def _number(read: Callable[[PathRow], float | None], shown: Callable[[float | None], str]) -> dict[str, Any]:
    """Return column arguments for a number; `?` marks an unknown one."""

    def cell(item: PathRow, _: int) -> Cell:
        value = read(item)
        return "?" if value is None else shown(value)

    return {"cell": cell, "value": read, "right": True}


def _wait(item: PathRow) -> float | None:
    load, other = item.load, _other(item)
    if load is None or load.wait is not None:
        return load.wait if load is not None else other.wait if other is not None else None
    return implied_wait(load.in_flight if load.queue is None else load.queue, load.completed_per_second)


def _await(item: PathRow, _: int) -> Cell:
    """Return the wait: `~` marks a derived one, `-` no requests, `?` unknown."""
    load, other, seconds = item.load, _other(item), _wait(item)
    if seconds is None:
        return "?" if _requests(item) != 0 else NONE
    derived = load.wait is None if load is not None else other is not None and other.derived
    return f"~{wait(seconds)}" if derived else wait(seconds)


_COLUMNS = (
    TableColumn("path", "PATH", 16, _name, lambda i: i.subject.name, widest=44, rising=True),
    TableColumn("kind", "KIND", 14, _kind, lambda i: sorted(i.subject.thing.kinds), keep=2, rising=True, widest=14),
    TableColumn("io", "io/s", 7, **_number(_requests, whole)),
    TableColumn("bytes", "MiB/s", 7, keep=3, scale=MIB, **_number(_bytes, mebibytes)),
    TableColumn("await", "await", 7, _await, _wait, right=True, scale=MS),
    TableColumn("finding", "FINDING", 24, _finding, lambda i: i.path.urgency, widest=44),
)


class PathView(View):
    """The path under the cursor above, the list of paths below; between them its waits over time, if there is room."""

    tables = (_COLUMNS,)

    @classmethod
    def listed(cls, scene: Scene) -> Iterator[Listing]:
        """Yield the tables with the rows that a search finds here."""
        yield Listing(_COLUMNS, _rows(scene))

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        self.scene: Scene | None = None
        self.stages = Pane("Path", id="path-stages")
        self.waits = Pane("Wait of a request at each stage", id="path-waits", cursor=False)
        self.main = LineTable("Paths", _COLUMNS, id="paths", sort="finding")
        yield self.stages
        yield self.waits
        yield self.main

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        found = _rows(scene)
        rows = found or self.absent(_nothing(scene), scene, ("diskstats", "blockdev", "mdraid", "mounts"))
        self.main.put(rows, scene.palette, counted(len(found), "path") if found else "")
        self._show_chosen()

    def moved(self, pane: Pane) -> None:
        """Show the path under the cursor."""
        if pane is self.main:
            self._show_chosen()

    def _show_chosen(self) -> None:
        row, scene = self.main.chosen, self.scene
        item = row.item if row is not None else None
        self.stages.display = isinstance(item, PathRow)
        self.waits.display = False
        if not isinstance(item, PathRow) or scene is None:
            return
        path = data_path(scene.window, item.subject, serious(scene.worst()))
        height: int = self.app.size.height
        total = self.room
        listed = min(len(self.main.rows) + 2, max(total // 3, 3)) if total >= 14 else min(3, total // 4)
        width: int = self.app.size.width
        rows = stage_rows(path, scene, width, total - listed - 1, noted=height >= _NOTED)
        self.stages.title = f"Path of {scene.palette.word(item.subject.name, 60)}: client to medium"
        self.stages.styles.height = min(len(rows) + 1, total - listed)
        self.stages.put(rows, scene.palette, _averaged(scene))
        self._show_waits(item, path, scene, total - min(len(rows) + 1, total - listed) - len(self.main.rows) - 2)

    def _show_waits(self, item: PathRow, path: DataPath, scene: Scene, room: int) -> None:
        """Show the waits over time in the lines that stages and list leave; the traffic if no waits are known."""
        if room <= LEAST:
            return
        width: int = self.app.size.width
        graphs = wait_graphs(scene, path.stages)
        if graphs is not None:
            self.waits.title, note = "Wait of a request at each stage", graphs.note
            lines = graphs.lines(width, room - 1)
        else:
            thing = item.subject.thing
            course = next(iter(courses(scene.window, item.opens.parts, thing)), None)
            if course is None or room - 1 < LEAST:
                return
            past = shown_seconds(scene.window)
            self.waits.title = f"{scene.palette.word(item.subject.name, 60)}: {course.pair.title}"
            note = f"last {past:.0f} s"
            lines = graph_lines(course, scene.now.monotonic, past, width - 1, min(room - 1, HIGHEST), scene.palette)
        self.waits.display = True
        self.waits.styles.height = len(lines) + 1
        self.waits.put([words(line) for line in lines], scene.palette, note)


def _averaged(scene: Scene) -> str:
    """Return the note of the stages: over what time their figures are means."""
    seconds = mean_seconds(scene.window)
    means = f"means of {duration(seconds)}   " if seconds else ""
    return f"{means}own = await minus the stage below"


def _rows(scene: Scene) -> list[Row]:
    return [Row(item.subject.key, item, None, f"{item.subject.name} {item.path.rule}") for item in path_rows(scene)]


def stage_rows(path: DataPath, scene: Scene, width: int, room: int, *, noted: bool) -> list[Row]:
    """Return the rows of a path: heading, a line for each stage, and two sentences; at most `room` if possible.

    Where not all stages fit, those without any figure are named in one line.
    """
    palette, accused = scene.palette, scene.worst()
    items = [StageRow(scene, path, stage, accusation(stage, accused), _fault(scene, stage)) for stage in path.stages]
    said = [limit_sentence(path.stages, accused), second_sentence(path.stages, path.mismatches, accused)]
    ends = [words(line) for at, each in enumerate(said) if each for line in _sentence(each, items, width, at)]
    unknown: list[StageRow] = []
    least = 1 + len(ends)
    if len(items) + least > room:
        unknown = [item for item in items if not item.stage.known and item.severity is None]
        items = [item for item in items if item not in unknown]
    notes = noted and 2 * len(items) + least + bool(unknown) <= room
    rows = [Row(None, None, lambda width: heading(path, width))]
    for at, item in enumerate(items):
        rows.append(Row(("stage", at), _StageItem(item, _facts(item)), _painter(item), item.stage.name))
        if notes and (line := note_line(item)) is not None:
            rows.append(words(line))
    if unknown and len(rows) + 1 + len(ends) <= room:
        names = ", ".join(palette.word(item.stage.name, 40) for item in unknown)
        rows.append(words(text((f"   not measured: {names}", FAINT))))
    return rows + ends[: max(room - len(rows), 1)]


def _painter(item: StageRow) -> Callable[[int], Line]:
    return lambda width: stage_line(item, width)


class _StageItem(Struct, frozen=True):
    """Item of a stage's row: Enter opens the facts of its things."""

    row: StageRow
    opens: FactSubject


def _facts(item: StageRow) -> FactSubject:
    parts: list[tuple[type[Reading], Hashable]] = []
    for thing in item.stage.things[:_FACTS]:
        if thing.device is not None:
            parts.append((DiskActivity, thing.device))
        else:
            cluster, _, name = thing.name.partition("/")
            parts.append((ClusterVolume, (cluster, name)))
    return FactSubject(item.stage.name, tuple(parts))


_FACTS = 8
"""Maximum number of things of a stage whose facts are shown."""


def _fault(scene: Scene, stage: Stage) -> str:
    """Return the fault that the first finding about a stage names, "" without one."""
    names = set(accused_names(stage))
    found = next((f for f in scene.in_force if not names.isdisjoint(f.subjects)), None)
    return "" if found is None else found.title.partition(":")[0] or found.rule


def _sentence(said: str, items: Sequence[StageRow], width: int, at: int) -> list[Line]:
    """Return the lines of the first or the second sentence, broken at spaces."""
    palette = items[0].scene.palette if items else Palette()
    style = STRONG if not at else PLAIN
    accused = [item.severity for item in items if item.severity is not None]
    if not at and accused and said.startswith(_ACCUSES):
        style = palette.severity(max(accused, key=lambda severity: severity.rank))
    elif at and not said.startswith("Does not"):
        style = FAINT
    most = 2 if width >= _TWO_LINES else 1
    room = max(width - 4, 20)
    lines = textwrap.wrap(
        palette.word(f"{said}.", 400), room, subsequent_indent="  ", max_lines=most, placeholder=" ..."
    )
    return [text((f"  {line}", style)) for line in lines]


_ACCUSES = ("At its limit", "Closest", "Suspect", "Accused", "Slowest", "Stuck")


def _nothing(scene: Scene) -> str:
    said = scene.unseen(("diskstats",))
    return f"no volume, array or disk; {said}" if said else "no volume, array or disk"
