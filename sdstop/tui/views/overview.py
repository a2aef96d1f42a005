"""Overview: the first finding in full with the picture that proves it, then path, devices and top processes.

The panes depend on the node: one without content gives its rows to the next. The picture belongs to the
finding under the cursor; selecting another swaps picture and numbers, and nothing else moves.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from textual.app import ComposeResult
from textual.containers import Horizontal

from sdstop.analysis.disks.likeness import DeviceFold, device_folds, unfolded
from sdstop.collectors.system.processes import ProcessActivity, ProcessIo, ProcessSummary
from sdstop.core.finding import Finding
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.choice import picture_of
from sdstop.tui.pictures.passed import remaining_picture
from sdstop.tui.pictures.traffic import load_picture, network_picture, wait_picture
from sdstop.tui.scene import Scene
from sdstop.tui.views import VIEWS
from sdstop.tui.views.cause import Cause, CausePane, body_lines, causes
from sdstop.tui.views.folds import FOLD_COLUMNS, FoldTable, fold_rows
from sdstop.tui.views.health import health_line
from sdstop.tui.views.measured import Measure, measure_lines, measures, node_measures
from sdstop.tui.views.path_strip import LINES as STRIP
from sdstop.tui.views.path_strip import path_strip, strip_lines
from sdstop.tui.views.processes import PROCESSES, process_rows
from sdstop.tui.views.rebuilds import all_rebuilds, rebuild_row
from sdstop.tui.views.verdict import unnamed_checks, verdict_rows
from sdstop.tui.views.view import View
from sdstop.tui.widgets.palette import Line, plain
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.table import LineTable

WIDE, VERY_WIDE = 110, 190
"""Minimum widths for panes side by side, and for panes with more figures."""
_LEFT, _LEFT_VERY, _RIGHT = 84, 112, 60
"""Cells of the left of two panes, and of the right one at least, so that names fit."""
_LEADS = 72
"""Minimum width for the key that leads to a view beside the headings of a picture."""
_HEALTH = 13
"""Minimum lines of the view for a line of health on a narrow screen."""


class Plan(Struct, frozen=True):
    """Lines of each pane, 0 if it is not shown; `actions` are the steps shown of a finding."""

    health: int
    cause: int
    actions: int
    picture: int
    second: int
    strip: int
    devices: int
    who: int


class Needs(Struct, frozen=True):
    """Lines that the panes of one moment can use, without their rules; `health`: whether anything is known of it."""

    body: Sequence[int]
    """Lines of the tallest finding with one step, two, and so on up to `_STEPS`."""
    others: int
    measured: int
    picture: Picture | None
    second: Picture | None
    strip: bool
    devices: int
    who: int
    health: bool = True
    unchecked: bool = False
    """Whether the last of the others is the line of unchecked rules, which the header counts, too."""
    filling: bool = False
    """Whether the second picture only fills lines, so that further steps of the finding go first."""


class _LineBudget:
    """Lines that are left to share out."""

    def __init__(self, lines: int) -> None:
        self.left = max(lines, 0)

    def take(self, lines: int, least: int = 0) -> int:
        """Take lines, at most the rest; none if these are fewer than `least`."""
        taken = max(min(lines, self.left), 0)
        if taken < least:
            return 0
        self.left -= taken
        return taken

    def grow(self, picture: Picture | None, lines: int, kept: int = 0, *, whole: bool = False) -> int:
        """Return the lines of a picture that has `lines`, with those of the rest beyond `kept` that it can use."""
        if picture is None or not lines:
            return lines
        most = picture.whole or picture.steps[-1] if whole else picture.steps[-1]
        fitting = picture.fit(min(lines + max(self.left - kept, 0), max(most, lines)))
        return lines + self.take(fitting - lines)


def arrange(width: int, height: int, needs: Needs) -> Plan:
    """Share out the lines of the view.

    What gives way first: who, devices, path, numbers, other findings, further steps, and the picture only then. Title,
    why, hurt and the first step never do.
    """
    wide = width >= WIDE
    health = 1 if needs.health and not wide and height >= _HEALTH else 0
    room = _LineBudget(height - health - wide - needs.body[0])
    picture = -1
    if needs.picture is not None:
        picture = room.take(needs.picture.steps[0] + 1, min(needs.picture.steps[0], 2) + 1) - 1
    others = min(needs.others - needs.unchecked, 1, room.left)
    picture = room.grow(needs.picture, max(picture, 0), others, whole=True)
    actions, steps = _steps(width, needs, room, others)
    others = room.take(min(needs.others, 7 if width >= VERY_WIDE else 4 if wide else 3))
    cause = needs.body[0] + steps + others
    if wide:
        cause += room.take(min(needs.measured - cause, room.left // 4, 4))
    strip = room.take(STRIP + 1, STRIP + 1) if needs.strip and (wide or room.left >= _TALL) else 0
    devices = room.take(needs.devices + 2, _TABLE) if needs.devices else 0
    beside = wide and devices
    who = 0 if not needs.who else devices if beside else room.take(needs.who + 2, 3)
    picture = room.grow(needs.picture, picture)
    if needs.filling and not devices:
        grown, actions = _further(needs, room, actions)
        cause += grown
    second = 0
    if needs.second is not None and room.left > needs.second.steps[0]:
        second = room.take(needs.second.fit(room.left - 1) + 1)
    if not devices and not second:
        cause += room.take(needs.others - others)
    if not wide or not devices:  # lines that would stay empty show further steps
        grown, actions = _further(needs, room, actions)
        cause += grown
    if devices:
        devices += room.take(room.left)
        who = devices if beside and who else who
    elif second:
        second += room.take(room.left)
    elif picture:
        picture += room.take(room.left)
    return Plan(
        health, cause + wide + room.left, actions, picture + 1 if picture else 0, second, strip, devices, who
    )  # fmt: skip


def _steps(width: int, needs: Needs, room: _LineBudget, kept: int) -> tuple[int, int]:
    """Return how many steps of a finding are shown, and the lines that those after the first take."""
    actions, taken = 1, 0
    for more in range(2, 2 + (2 if width >= VERY_WIDE else 1 if width >= WIDE else 0)):
        grown = needs.body[more - 1] - needs.body[actions - 1]
        if grown <= room.left - kept:
            taken += room.take(grown)
            actions = more
    return actions, taken


def _further(needs: Needs, room: _LineBudget, actions: int) -> tuple[int, int]:
    """Return the lines that further steps take of the rest, and how many steps are shown then."""
    taken = 0
    for more in range(actions + 1, len(needs.body) + 1):
        grown = needs.body[more - 1] - needs.body[actions - 1]
        if 0 < grown <= room.left:
            taken += room.take(grown)
            actions = more
    return taken, actions


_STEPS = 6
"""Maximum number of steps of a finding that are shown."""
_REBUILDS = 4
"""Maximum number of rebuilds that are listed above the devices."""
_STRIP_FROM = 24
"""Minimum lines of the view for the path."""
_SPARE = 4
"""Empty lines of a pane beyond which another picture is shown, too."""
_TABLE, _TALL = 3, 16
"""Minimum lines of a table, and minimum lines left for the path on a narrow screen."""


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
        roomy = titled or height >= _TALL + _STRIP_FROM
        second = _second(finding, picture, folds, scene, passed=bool(known)) if roomy else None
        doers, note = process_rows(scene) if roomy else ([], "")
        who = sum(row.key is not None for row in doers)
        running = [rebuild_row(rebuild, scene, named=True) for rebuild in all_rebuilds(scene)[:_REBUILDS]]
        listed = len(folds) if any(fold.figures.busy is not None for fold in folds) else 0
        verdict = [] if known else verdict_rows(scene, left)
        tallest = [
            max((1 + len(body_lines(each, left, actions)) + bool(each.follows) for each in known), default=len(verdict))
            for actions in range(1, _STEPS + 1)
        ]
        unchecked = not titled and any(each.finding is None for each in known[1:])
        needs = Needs(
            tallest, _others(known, scene, left, listed, folded=not titled), len(numbers), picture, second,
            strip is not None, len(running) + listed, who, bool(plain(health).strip()), unchecked,
        )  # fmt: skip
        plan = arrange(width, height, needs)
        if second is None:
            second = _filling(plan, needs, finding, scene, passed=bool(known))
            plan = arrange(width, height, replace(needs, second=second, filling=True)) if second is not None else plan
        self._lay(plan, half, numbered=wide, beside=titled and plan.devices > 0)
        palette = scene.palette
        if plan.health:
            self.health.put([words(health)], palette)
        self.main.title = "Cause" if titled and known else "State" if titled else ""
        if known:
            self.main.show(known, plan.cause - titled, left, plan.actions, "Enter evidence")
        else:
            self.main.show((), plan.cause - titled, left, plan.actions)
            self.main.put(verdict_rows(scene, left, max(plan.cause - titled - len(verdict), 0)), palette)
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
            name = palette.word(strip.name, 60)
            self.strip.title = f"Path of {name}: load, use and own wait" if width >= WIDE else f"Path of {name}"
            self.strip.put(_rows(strip_lines(strip, scene, width)), palette, "9 Path")
        if plan.devices:
            shown = unfolded(folds, plan.devices - 2 - len(running)) if listed else []
            self.devices.title = "Disks, folded by likeness" if shown else "Rebuilds"
            self.devices.put([*running, *fold_rows(shown, scene, plan.devices)], palette, _note(doers, note, scene))
        if plan.who:
            self.processes.put(doers, palette, note)

    def _chosen(self, known: Sequence[Cause]) -> Cause | None:
        held = self.main.cursor if self.main.held else None
        return next((each for each in known if each.entry.key == held), known[0] if known else None)

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


def _second(
    finding: Finding | None, picture: Picture | None, folds: Sequence[DeviceFold], scene: Scene, *, passed: bool
) -> Picture | None:
    """Return the second picture of a roomy screen: the traffic of a network, or the latency of devices in use.

    Where a finding is about something else than idle devices, its evidence and disproof are shown instead.
    """
    found = None
    if finding is not None and finding.view == "network":
        found = network_picture(finding, scene)
        found = found if found is not None and (picture is None or found.title != picture.title) else None
    named = set(finding.subjects) if finding is not None else set()
    used = any((fold.figures.busy or 0.0) >= _IDLE or fold.devices[0].name in named for fold in folds)
    if found is None and finding is not None and picture is not None and folds and not used:
        return remaining_picture(finding, picture, scene, passed=passed)
    found = found or wait_picture(scene, finding) or load_picture(finding, scene)
    return found if picture is None or found is None or found.title != picture.title else None


_IDLE = 0.05
"""Share of time below which devices are idle: their latency explains nothing."""


def _filling(plan: Plan, needs: Needs, finding: Finding | None, scene: Scene, *, passed: bool) -> Picture | None:
    """Return a second picture if much of a pane would stay empty; None if it would not."""
    picture = needs.picture
    if plan.devices - 2 - needs.devices > _SPARE and finding is not None:
        load = load_picture(finding, scene)
        return load if load is not None and (picture is None or load.title != picture.title) else None
    if picture is None or plan.devices or plan.picture - 1 - picture.steps[-1] <= _SPARE:
        return None
    return remaining_picture(finding, picture, scene, passed=passed)


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
