"""Path strip: the stages of a data path side by side, client first: name, load, use and own wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from rich.cells import cell_len

from sdstop.analysis.path import DataPath, data_path
from sdstop.analysis.path.ranking import RankedPath, ranked_paths
from sdstop.analysis.path.sentences import accusation, serious
from sdstop.analysis.path.stage import Stage, StageKind
from sdstop.core.finding import Finding, Severity
from sdstop.core.format import decimal_rate, flow, number, wait
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import Line, Palette, text, width_of
from sdstop.tui.widgets.roles import role

LINES = 4
"""Lines of the strip."""
_LEAST, _MOST = 17, 34
"""Minimum and maximum cells of a stage."""
_ARROW = 3
"""Cells of the arrow between two stages."""


class PathStrip(Struct, frozen=True):
    """A path and the severities of its stages."""

    path: DataPath
    stages: tuple[tuple[Stage, Severity | None], ...]

    @property
    def name(self) -> str:
        """Name of the path."""
        return self.path.subject.name


def path_strip(scene: Scene, finding: Finding | None) -> PathStrip | None:
    """Return the path that a finding is about, or the most urgent path of the node; None if nothing is measured."""
    ranked = ranked_paths(scene.window, scene.in_force)
    return _strip(_of(ranked, finding, scene) or ranked[0], scene) if ranked else None


def path_of(scene: Scene, finding: Finding) -> PathStrip | None:
    """Return the path that a finding is about; None if it is about none, or if nothing of it is measured."""
    chosen = _of(ranked_paths(scene.window, scene.in_force), finding, scene)
    return _strip(chosen, scene) if chosen is not None else None


def _strip(chosen: RankedPath, scene: Scene) -> PathStrip | None:
    accused = scene.worst()
    path = data_path(scene.window, chosen.subject, serious(accused))
    if not any(stage.known for stage in path.stages):
        return None
    return PathStrip(path, tuple((stage, accusation(stage, accused)) for stage in path.stages))


def _of(ranked: list[RankedPath], finding: Finding | None, scene: Scene) -> RankedPath | None:
    """Return the first path with a thing that a finding names, or that is built on it."""
    if finding is None:
        return None
    names = {finding.view_subject or finding.subject, *finding.subjects}
    named = next((each for each in ranked if not names.isdisjoint(each.subject.subjects)), None)
    if named is not None:
        return named
    topology = scene.window.topology
    thing = topology.find(finding.subject)
    above = {thing, *topology.above(thing)} if thing is not None else set()
    return next((each for each in ranked if each.subject.thing in above), None)


def strip_lines(strip: PathStrip, scene: Scene, width: int) -> list[Line]:
    """Return the four lines of a strip; unmeasured stages give way first, then branches."""
    palette = scene.palette
    most = max((width - 1) // _LEAST, 1)
    shown = list(strip.stages)
    for droppable in (lambda s: not s.known, lambda s: s.branch, lambda s: s.kind in _LAST):
        for pair in reversed(shown):
            if len(shown) > most and droppable(pair[0]) and pair[1] is None:
                shown.remove(pair)
    shown = shown[:most]
    size = min((width - 1 + _ARROW) // len(shown), _MOST)
    room = size - _ARROW
    lines: list[list[tuple[Line, int]]] = [[] for _ in range(LINES)]
    for at, (stage, severity) in enumerate(shown):
        for row, line in enumerate(_stage(stage, severity, room, palette)):
            arrow = (
                text(((" > " if palette.ascii else "─▶ "), role("frame")))
                if row == 2 and at + 1 < len(shown)
                else text("   ")
            )
            lines[row].append(((*line, *text(" " * max(room - width_of(line), 0)), *arrow), size))
    return [(*text(" "), *(segment for line, _ in row for segment in line)) for row in lines]


_LAST = frozenset({StageKind.CPU, StageKind.MEMORY, StageKind.PCIE})


def _stage(stage: Stage, severity: Severity | None, room: int, palette: Palette) -> list[Line]:
    accused = severity in ROLES
    color = ROLES.get(severity, "text") if severity is not None else "text"
    name = palette.word(stage.name, 60)
    name = _first((name, name.rpartition("/")[2]), room, palette)
    return [
        text((name, role(color if accused else "strong", bold=True))),
        text((_first(_loads(stage), room, palette), role(color if accused else "text"))),
        _use(stage, color if accused else "other", room, palette, accused=accused),
        text((_first(_waits(stage, palette), room, palette), role(color if accused else "dim"))),
    ]


def _first(said: Iterable[str], room: int, palette: Palette) -> str:
    """Return the first text that fits, otherwise the last one, cut."""
    last = ""
    for last in said:
        if cell_len(last) <= room:
            return last
    return palette.fit(last, room).rstrip()


def _loads(stage: Stage) -> Iterator[str]:
    """Yield the load of a stage, with its capacity if known, in ever shorter forms."""
    shown = decimal_rate if stage.kind is StageKind.MEMORY else flow
    about = "~" if stage.derived_use else ""
    rate = f"{number(stage.requests)}/s" if stage.requests is not None else ""
    moved = f"{about}{shown(stage.bytes)}" if stage.bytes is not None else ""
    if stage.carries is not None and stage.unit == "per_second":
        yield f"{number(stage.requests)} of {number(stage.carries)}/s" if rate else f"? of {number(stage.carries)}/s"
    elif stage.carries is not None:
        most = shown(stage.carries)
        lead = moved.removesuffix(f" {most.split(' ')[-1]}") or "?"
        yield f"{lead} of {most}"
        yield moved or f"of {most}"
    yield "  ".join(part for part in (rate, moved) if part) or "?"
    yield moved or rate or "?"
    yield rate or "?"


def _use(stage: Stage, color: str, room: int, palette: Palette, *, accused: bool) -> Line:
    if stage.used is None:
        return bar(None, room - 1, palette)
    about = "~" if stage.derived_use else ""
    said = f" {about}{min(stage.used, 9.99):.0%}"
    label = (said, role(color if accused else "dim", bold=accused))
    return (*bar(stage.used, room - len(said) - 1, palette, role(color)), *text(label))


def _waits(stage: Stage, palette: Palette) -> Iterator[str]:
    """Yield the wait that a stage adds, or why it is unknown, in ever shorter forms."""
    if stage.own is not None or stage.wait is not None:
        mark = ">" if stage.least else "~" if stage.derived_wait else ""
        if stage.own is not None and stage.below:
            yield f"adds {mark}{wait(stage.own)} of {wait(stage.wait)} ms"
            yield f"adds {mark}{wait(stage.own)} ms"
        yield f"wait {mark}{wait(stage.wait)} ms"
    elif stage.queue is not None and stage.queue >= 0.05:
        yield f"queue {number(stage.queue)}"
    elif stage.requests == 0:
        yield "idle"
    else:
        yield palette.word(stage.reason or stage.note, 80)
        yield "" if stage.used is not None else "wait unknown"
