"""Waiting: the tasks that have not run, by program and by the kernel function in which they sleep, as bars."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from rich.style import Style

from sdstop.analysis.tasks.stalled import StalledTask, stalled_groups, watched
from sdstop.core.finding import Finding
from sdstop.core.format import duration, number, plural
from sdstop.tui.pictures import Picture
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import FAINT, PLAIN, Line, text, width_of
from sdstop.tui.widgets.roles import role

_LEAST = 5.0
"""Minimum seconds without running of the tasks that are drawn, if the finding does not state any."""
_PROGRAM, _COUNT, _WAIT, _TIME = 16, 6, 26, 8
"""Cells of the program, its number of tasks, the function they sleep in, and their time."""
_MOST = 12
"""Maximum number of programs that are drawn."""


class _Sleepers(Struct, frozen=True):
    """The tasks of a program that sleep in one kernel function, None if it could not be read."""

    program: str
    wait: str | None
    tasks: int
    seconds: float


def waiting_picture(finding: Finding, scene: Scene) -> Picture | None:
    """Return the tasks that a finding is about, all that have not run if it names no place; None without any."""
    least = min(
        next((v.above for v in finding.values if v.name == "seconds" and v.above), _LEAST), watched(scene.window)
    )
    groups = stalled_groups(scene.window, least)
    tasks = [each for group in groups if group.place in finding.subjects for each in group.tasks]
    place = f" for {finding.subject}" if tasks else ""
    tasks = tasks or [each for group in groups for each in group.tasks]
    if not tasks:
        return None
    sleepers = _sleepers(tasks)
    name = ROLES.get(finding.severity)
    style = role(name) if name is not None else PLAIN

    def draw(width: int, height: int) -> list[Line]:
        return _lines(sleepers, scene, width, height, style)

    title = scene.palette.word(f"{plural(len(tasks), 'task')} waiting{place}", 60)
    most = min(len(sleepers), _MOST)
    return Picture(title, draw, tuple(range(min(most, 2), most + 1)), "by program")


def _sleepers(tasks: Sequence[StalledTask]) -> list[_Sleepers]:
    alike: dict[tuple[str, str | None], list[StalledTask]] = {}
    for each in tasks:
        alike.setdefault((each.task.name, each.task.wait), []).append(each)
    found = [
        _Sleepers(program, wait, len(those), max(each.seconds for each in those))
        for (program, wait), those in alike.items()
    ]
    return sorted(found, key=lambda row: (-row.tasks, row.program, row.wait or ""))


def _lines(sleepers: Sequence[_Sleepers], scene: Scene, width: int, height: int, style: Style) -> list[Line]:
    shown = sleepers if len(sleepers) <= height else sleepers[: max(height - 1, 1)]
    lines = [_line(row, sleepers[0].tasks, scene, width, style) for row in shown]
    hidden = sleepers[len(shown) :]
    if hidden and height > 1:
        lines.append(text((f" and {plural(sum(row.tasks for row in hidden), 'more task')}", FAINT)))
    return lines


def _line(row: _Sleepers, most: int, scene: Scene, width: int, style: Style) -> Line:
    palette = scene.palette
    named = text(f" {palette.fit(palette.word(row.program, _PROGRAM), _PROGRAM)} ", f"{number(row.tasks):>{_COUNT}} ")
    wait = palette.fit(palette.word(row.wait or "unknown", _WAIT), _WAIT)
    said = text(("  ", PLAIN), (wait, FAINT), (f"{duration(row.seconds):>{_TIME}}", FAINT))
    room = width - width_of(named) - width_of(said) - 1
    return (*named, *bar(row.tasks / most, room, palette, style), *said)
