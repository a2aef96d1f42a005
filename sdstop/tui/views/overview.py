"""Overview: the first finding in full with the picture that proves it, then path, devices and top processes.

The panes depend on the node: one without content gives its rows to the next. The picture belongs to the
finding under the cursor; selecting another swaps picture and numbers, and nothing else moves.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal

from sdstop.analysis.disks.likeness import device_folds, unfolded
from sdstop.collectors.system.readings import ProcessActivity, ProcessIo, ProcessSummary
from sdstop.core.finding import Finding
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.choice import picture_of
from sdstop.tui.pictures.second import filled, second_picture
from sdstop.tui.scene import Scene
from sdstop.tui.views import VIEWS
from sdstop.tui.views.cause import Cause, CausePane, body_heights, causes
from sdstop.tui.views.folds import FOLD_COLUMNS, FoldTable, fold_rows
from sdstop.tui.views.health import health_line
from sdstop.tui.views.measured import Measure, measure_lines, measures, node_measures
from sdstop.tui.views.path_strip import PathStrip, path_strip, strip_lines
from sdstop.tui.views.plan import TALL, VERY_WIDE, WIDE, Needs, Plan, arrange
from sdstop.tui.views.processes import PROCESSES, process_rows
from sdstop.tui.views.rebuilds import all_rebuilds, rebuild_row
from sdstop.tui.views.verdict import unnamed_checks, verdict_rows
from sdstop.tui.views.view import View
from sdstop.tui.widgets.palette import Line, plain
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.table import LineTable

_LEFT, _LEFT_VERY, _RIGHT = 84, 112, 60
"""Cells of the left of two panes, and of the right one at least, so that names fit."""
_LEADS = 72
"""Minimum width for the key that leads to a view beside the headings of a picture."""
_STEPS = 6
"""Maximum number of steps of a finding that are shown."""
_REBUILDS = 4
"""Maximum number of rebuilds that are listed above the devices."""
_STRIP_FROM = 24
"""Minimum lines of the view for the path."""


class Overview(View):
    """View shown at the start."""

    families = (ProcessActivity, ProcessIo, ProcessSummary)
    tables = (FOLD_COLUMNS, PROCESSES)
    main: CausePane

    def compose(self) -> ComposeResult:
        """Lay out the panes; their lines are shared out for each moment."""
        self.scene: Scene | None = None
        self.health = Pane(id="health", cursor=False)
        self.main = CausePane(id="cause")
        self.measured = Pane("Measured", id="measured", cursor=False)
        self.picture = Pane("Picture", id="picture", cursor=False)
        self.second = Pane("Latency", id="second", cursor=False)
        self.strip = Pane("Path", id="strip", cursor=False)
        self.devices = FoldTable("Disks, folded by likeness", FOLD_COLUMNS, id="devices")
        self.processes = LineTable("Top I/O processes", PROCESSES, id="processes", cursor=False)
        self.top = Horizontal(self.main, self.measured, id="overview-top")
        self.bottom = Horizontal(self.devices, self.processes, id="overview-bottom")
        yield from (self.health, self.top, self.picture, self.second, self.strip, self.bottom)

    @property
    def chosen(self) -> Cause | None:
        """The finding under the cursor."""
        return self.main.selected

    def moved(self, pane: Pane) -> None:
        """Show picture and numbers of the finding under the cursor."""
        if pane is self.main and self.scene is not None:
            self.show(self.scene)

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        width: int = self.app.size.width
        height = self.room
        known = causes(scene)
        chosen = self._chosen(known)
        finding = chosen.finding if chosen is not None else None
        titled = width >= WIDE
        numbers = _numbers(finding, scene) if width >= _LEFT + _RIGHT else []
        wide = titled and bool(numbers)
        half = _LEFT_VERY if width >= VERY_WIDE else _LEFT
        left = half if wide else width
        picture = picture_of(finding, scene)
        drawn = picture is not None and picture.is_path
        folds = device_folds(scene.window, scene.in_force)
        strip = path_strip(scene, finding) if height >= _STRIP_FROM and not drawn else None
        health = () if titled else health_line(scene, width)
        roomy = titled or height >= TALL + _STRIP_FROM
        second = second_picture(finding, picture, folds, scene, passed=bool(known)) if roomy else None
        doers, note = process_rows(scene) if roomy else ([], "")
        who = sum(row.key is not None for row in doers)
        running = [rebuild_row(rebuild, scene, named=True) for rebuild in all_rebuilds(scene)[:_REBUILDS]]
        listed = len(folds) if any(fold.figures.busy is not None for fold in folds) else 0
        verdict = [] if known else verdict_rows(scene, left)
        heights = [[1 + lines + bool(each.follows) for lines in body_heights(each, left, _STEPS)] for each in known]
        tallest = [max(each) for each in zip(*heights, strict=True)] or [len(verdict)] * _STEPS
        unchecked = not titled and any(each.finding is None for each in known[1:])
        needs = Needs(
            tallest, _others(known, scene, left, listed, folded=not titled), len(numbers), picture, second,
            strip is not None, len(running) + listed, who, bool(plain(health).strip()), unchecked,
        )  # fmt: skip
        plan = arrange(width, height, needs)
        more = filled(needs, plan, finding, scene, passed=bool(known))
        if more is not needs:
            plan, second = arrange(width, height, more), more.second
        self._lay(plan, half, numbered=wide, beside=titled and plan.devices > 0)
        palette = scene.palette
        if plan.health:
            self.health.put([words(health)], palette)
        self.main.title = "Cause" if titled and known else "State" if titled else ""
        self._put_causes(known, plan.cause - titled, left, plan.actions, len(verdict), scene)
        if wide:
            lines = measure_lines(numbers, chosen, palette, width - left - 1, plan.cause - 1)
            self.measured.put(_rows(lines), palette, "value, against")
        if plan.picture and picture is not None:
            self._put(
                self.picture, picture, _leads(finding, picture, plan.picture - 1, width), width, plan.picture, scene
            )
        if plan.second and second is not None:
            self._put(self.second, second, second.note, width, plan.second, scene)
        if plan.strip and strip is not None:
            self._put_strip(strip, width, scene)
        if plan.devices:
            shown = unfolded(folds, plan.devices - 2 - len(running)) if listed else []
            self.devices.title = "Disks, folded by likeness" if shown else "Rebuilds"
            self.devices.put([*running, *fold_rows(shown, scene, plan.devices)], palette, _note(doers, note, scene))
        if plan.who:
            self.processes.put(doers, palette, note)

    def _chosen(self, known: Sequence[Cause]) -> Cause | None:
        held = self.main.cursor if self.main.held else None
        return next((each for each in known if each.entry.key == held), known[0] if known else None)

    def _put_causes(
        self, known: Sequence[Cause], lines: int, width: int, actions: int, passed: int, scene: Scene
    ) -> None:
        """Show the findings in `lines` lines; without any, what passed, which needs `passed` lines at least."""
        if known:
            self.main.show(known, lines, width, actions, "Enter evidence")
        else:
            self.main.show((), lines, width, actions)
            self.main.put(verdict_rows(scene, width, max(lines - passed, 0)), scene.palette)

    def _put_strip(self, strip: PathStrip, width: int, scene: Scene) -> None:
        name = scene.palette.word(strip.name, 60)
        self.strip.title = f"Path of {name}: load, use and own wait" if width >= WIDE else f"Path of {name}"
        self.strip.put(_rows(strip_lines(strip, scene, width)), scene.palette, "9 Path")

    def _put(self, pane: Pane, picture: Picture, note: str, width: int, lines: int, scene: Scene) -> None:
        pane.title = picture.title
        drawn = pane.guarded(lambda: picture.draw(width - 1, lines - 1), lambda said: [pane.failed_line(said)])
        pane.put(_rows(drawn), scene.palette, note)

    def _lay(self, plan: Plan, half: int, *, numbered: bool, beside: bool) -> None:
        """Give each pane its lines; panes without any are hidden."""
        panes = (
            (self.health, plan.health), (self.top, plan.cause), (self.picture, plan.picture),
            (self.second, plan.second), (self.strip, plan.strip),
        )  # fmt: skip
        for pane, lines in panes:
            pane.styles.height = lines
            pane.display = lines > 0
        self.main.styles.width = half if numbered else "1fr"
        self.measured.display = numbered
        self.devices.display, self.processes.display = plan.devices > 0, plan.who > 0
        self.bottom.styles.layout = "horizontal" if beside else "vertical"
        self.bottom.styles.height = max(plan.devices, plan.who) if beside else plan.devices + plan.who
        self.bottom.display = plan.devices + plan.who > 0
        self.devices.styles.width = half + 1 if beside and plan.who else "1fr"
        self.devices.styles.height = plan.devices or 1
        self.processes.styles.height = plan.who or 1


def _others(known: Sequence[Cause], scene: Scene, width: int, devices: int, *, folded: bool) -> int:
    """Return the lines for the findings beside the first one; folded, unchecked rules take one line in all.

    A node without findings has lines for more of what passed if it has no devices to show.
    """
    if not known:
        return 0 if devices else unnamed_checks(scene, width)
    if not folded:
        return len(known) - 1
    return max(sum(each.finding is not None for each in known) + any(each.finding is None for each in known) - 1, 0)


def _numbers(finding: Finding | None, scene: Scene) -> list[Measure]:
    """Return the numbers that a finding compared; without any, those of the node."""
    return (measures(finding) if finding is not None else []) or list(node_measures(scene))


def _note(doers: Sequence[Row], hidden: str, scene: Scene) -> str:
    """Return the note of the devices, with why the processes that do the I/O are not listed, if they are not."""
    facts = ["2 Disks shows all"]
    if doers and all(row.key is None for row in doers):
        reasons = [plain(row.line(0)) for row in doers if row.line is not None]
        facts.insert(0, f"top I/O processes: {'; '.join(filter(None, (*reasons, hidden)))}")
    return f" {scene.palette.dot} ".join(facts)


def _rows(lines: Sequence[Line]) -> list[Row]:
    return [words(line) for line in lines]


def _leads(finding: Finding | None, picture: Picture, lines: int, width: int) -> str:
    """Return the note of a picture, with the key that leads to its view; or its headings, if they lack a line."""
    entry = next((each for each in VIEWS if finding is not None and each.name == finding.view), None)
    leads = f"v opens {entry.key} {entry.title}" if entry is not None else ""
    headless = picture.head and lines < picture.whole
    parts = (leads if width >= _LEADS else "", picture.head) if headless else (picture.note, leads)
    return "   ".join(part for part in parts if part)
