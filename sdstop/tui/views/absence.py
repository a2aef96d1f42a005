"""Rows of a view without content: the reason, its sources, and the findings, load and latency of the node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.tui.pictures.traffic import load_picture, wait_picture
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import brief_line, causes
from sdstop.tui.views.finding_rows import note_row
from sdstop.tui.views.sources import source_state
from sdstop.tui.widgets.palette import FAINT, STRONG, Line, text, width_of
from sdstop.tui.widgets.pane import Row, words

_FINDINGS = 4
"""Maximum number of findings of the node."""
_SMALLEST = 7
"""Minimum lines for the graph."""
_TALLEST = 14
"""Lines of a picture."""


def absent_rows(note: str, scene: Scene, sources: Iterable[str], width: int, room: int) -> list[Row]:
    """Return at most `room` rows: why there is nothing, then the sources, findings and the load as far as they fit."""
    rows = [note_row(note, scene)]
    for part in (_sources(scene, sources, width), _findings(scene, width)):
        lines = list(part)
        if lines and len(rows) + len(lines) + 1 <= room:
            rows += [words(line) for line in ((), *lines)]
    for is_wait in (False, True):
        left = room - len(rows) - 2
        if left < _SMALLEST:
            break
        picture = wait_picture(scene) if is_wait else load_picture(None, scene)
        if picture is not None:
            drawn = picture.draw(width - 2, picture.fit(min(left, _TALLEST)))
            rows += [words(line) for line in ((), _head(f"{picture.title}, {picture.note}"), *drawn)]
    return rows


def _head(title: str) -> Line:
    return text((title, STRONG))


def _sources(scene: Scene, names: Iterable[str], width: int) -> Iterator[Line]:
    runs = [run for name in names if (run := scene.now.runs.get(name)) is not None]
    if runs:
        yield _head("Sources of this view")
    size = max((len(run.collector) for run in runs), default=0)
    for run in runs:
        state = source_state(run, scene)
        said = run.reason.removesuffix("not recorded").removesuffix(": ") if not run.recorded else run.reason
        reason = scene.palette.word(said, max(width - size - 22, 10))
        gap = " " * max(14 - width_of(state), 1)
        yield (*text(f"  {run.collector:<{size}}  "), *state, *text((f"{gap}{reason}", FAINT)))


def _findings(scene: Scene, width: int) -> Iterator[Line]:
    known = causes(scene)
    if known:
        yield _head("This node")
    for each in known[:_FINDINGS]:
        yield (*text(" "), *brief_line(each, width - 3))
