"""Members of an array: the queue of each stripe column over a minute as heat, in slot order, and its figures now."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from sdstop.analysis.disks.recent_activity import PAST, moments
from sdstop.analysis.members.group_columns import layout_of
from sdstop.analysis.members.peer_samples import GroupColumns
from sdstop.core.averages import median
from sdstop.core.finding import Finding
from sdstop.core.format import number, share_of_time, wait
from sdstop.core.history import Moment
from sdstop.core.joins import GroupKind
from sdstop.core.peer_group import PeerGroup
from sdstop.readings.disk import DiskActivity
from sdstop.tui.pictures import Picture
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.views.cells import fold
from sdstop.tui.widgets.palette import Line, text
from sdstop.tui.widgets.roles import role
from sdstop.tui.widgets.strip import cells, heat, heat_pair, heat_scale_max

_LABEL = 11
"""Cells."""
_FAR = 3.0
"""Multiple of the median queue from which a column of a moving crowd is accused."""
_SHORT = 0.35
"""Queue below which a cell stays blank, because short queues are not a crowd."""
_BROADEST = 3
"""Maximum cells of a second."""
_FEWEST = 4
"""Minimum columns for a picture that compares them."""


class ColumnFigures(Struct, frozen=True):
    """Figures of a stripe column now: requests per second, queue, wait in seconds and busy time of its worst device."""

    writes: float | None
    queue: float | None
    wait: float | None
    busy: float | None


def member_heat(finding: Finding, scene: Scene) -> Picture | None:
    """Return the heat of the array that a finding is about, None if it has too few members."""
    group = _group(finding.view_subject or finding.subject, scene) or _group(finding.subject, scene)
    if group is None:
        return None
    layout = layout_of(scene.window, group)
    count = len(layout.columns)
    if count < _FEWEST or not moments(scene.window):
        return None
    pairs = any(len(column) > 1 for column in layout.columns)
    what = "mirror pair" if pairs else "member"
    name = scene.palette.word(group.name, 40)
    accused = finding.subject.rpartition("/")[2]

    past = _span(scene)

    def draw(width: int, height: int) -> list[Line]:
        return _lines(layout, finding, accused, scene, width, height, past)

    steps = {math.ceil(count / per) for per in (2, 3, 4, 6, 8, 12, 16, 24)} | {math.ceil(count / 2) + 1}
    steps |= {count, count + 1} if count <= _SINGLE else set()
    known = tuple(sorted(step for step in steps if step >= min(count, _FEWEST)))
    return Picture(f"{name}: queue per {what}, {past} s", draw, known, "bright = long queue", math.ceil(count / 2) + 1,
                   head="w ms util")  # fmt: skip


_SPANS = (20, 30, 60)
"""Seconds that a recording shows: the least that holds it, so that a short one has wide cells."""
_SINGLE = 30
"""Maximum number of columns that are given a line each if there is room."""


def _span(scene: Scene) -> int:
    """Return the seconds shown: a minute of a live node, whose axis never moves, or a round number for a recording."""
    frames = scene.session.timeline.frames
    if scene.session.origin.live or not frames:
        return PAST
    held = frames[-1].monotonic - frames[0].monotonic
    return next((span for span in _SPANS if held <= span), PAST)


def _group(subject: str, scene: Scene) -> PeerGroup | None:
    groups = [
        g for g in scene.window.topology.groups() if g.kind in {GroupKind.COLUMNS, GroupKind.LEAVES, GroupKind.LEGS}
    ]
    whole, _, device = subject.rpartition("/")
    named = next((group for group in groups if group.name in {subject, whole}), None)
    if named is not None:
        return named
    return next((g for g in groups if any(device in {m.device, m.name} for m in g.members)), None)


def _queues(layout: GroupColumns, moment: Moment[DiskActivity]) -> list[float | None]:
    """Return the longest queue of each column in a sample, cached with it."""
    key = ("column queues", layout.key)
    known: tuple[object, list[float | None]] | None = moment.memo.get(key)
    if known is None or known[0] != layout.columns:
        get = moment.rows.get
        found: list[float | None] = []
        for names in layout.columns:
            rows = [row for name in names if (row := get(name)) is not None]
            found.append(max((row.queue for row in rows if row.queue is not None), default=None))
        known = moment.memo[key] = layout.columns, found
    return known[1]


def _now(layout: GroupColumns, moment: Moment[DiskActivity]) -> list[ColumnFigures]:
    found = []
    for names in layout.columns:
        rows = [row for name in names if (row := moment.rows.get(name)) is not None]
        worst = max(rows, key=lambda row: row.queue or 0.0, default=None)
        found.append(
            ColumnFigures(None, None, None, None) if worst is None
            else ColumnFigures(worst.writes_per_second, worst.queue, worst.write_wait or worst.wait, worst.busy)
        )  # fmt: skip
    return found


def _lines(
    layout: GroupColumns, finding: Finding, accused: str, scene: Scene, width: int, height: int, past: int
) -> list[Line]:
    runs = moments(scene.window)
    count = len(layout.columns)
    figures = _now(layout, runs[-1])
    columns = _COLUMNS if width >= 190 else _COLUMNS[1:] if width >= 110 else _COLUMNS[2:4]
    taken = _LABEL + 1 + sum(size + 1 for _, size, _ in columns)
    room = max(width - taken - 1, 1)
    seconds = min(past, room)
    drawn_cells = min(room, _BROADEST * seconds)
    at = cells([(m.started, m.seconds or 0.0, float(i)) for i, m in enumerate(runs)], runs[-1].started, seconds)
    queues = [_queues(layout, moment) for moment in runs]
    known = [value for row in queues for value in row if value is not None]
    top = heat_scale_max(max(known, default=0.0), sum(known) / len(known) if known else 0.0)
    middle = median([f.queue for f in figures if f.queue is not None] or [0.0])
    hot = _accused(layout, accused, figures, middle)
    headed = height > 3 and (height > math.ceil(count / 2) or width >= 110)
    room = height - headed
    per = max(math.ceil(count / room), 1) if room < count else 1  # columns a line
    halves = max(math.ceil(per / 2), 1)

    def row(low: int, high: int) -> list[float | None]:
        """Return the longest queue of some columns, one value a cell."""
        found = []
        for cell in range(drawn_cells):
            index = at[cell * seconds // drawn_cells]
            known = [] if index is None else [v for v in queues[int(index)][low:high] if v is not None]
            longest = max(known, default=None)
            found.append(0.0 if longest is not None and longest < _SHORT else longest)
        return found

    lines: list[Line] = []
    if headed:
        lines.append(_head(columns, seconds, drawn_cells))
    for low in range(0, count, per):
        high = min(low + per, count)
        split = min(low + halves, high)
        drawn = (
            heat(row(low, high), top, scene.palette)
            if per == 1
            else heat_pair(row(low, split), row(split, high), top, scene.palette)
        )
        worst = max(range(low, high), key=lambda i: figures[i].queue or 0.0)
        marked = hot is not None and low <= hot < high
        color = ROLES.get(finding.severity, "text") if marked else ""
        name = _label([layout.columns[i] for i in range(low, high)])
        shown = scene.palette.fit(scene.palette.word(name, 40), _LABEL)
        shades = figures[hot] if marked and hot is not None else figures[worst]
        tail = []
        for _, size, read in columns:
            said = read(shades, middle)
            tail.append((f" {said:>{size}}", role(color or ("dim" if size == 4 else "text"))))
        lines.append((*text((f" {shown}", role(color or "dim", bold=bool(color)))), *drawn, *text(*tail)))
    return lines[:height]


def _accused(layout: GroupColumns, device: str, figures: Sequence[ColumnFigures], middle: float) -> int | None:
    """Return the column that a finding names, or of a finding on the array the one with by far the longest queue."""
    for at, names in enumerate(layout.columns):
        if device in names:
            return at
    worst = max(range(len(figures)), key=lambda at: figures[at].queue or 0.0)
    queue = figures[worst].queue or 0.0
    return worst if queue >= 1 and queue >= _FAR * middle else None


def _label(columns: Sequence[Sequence[str]]) -> str:
    if len(columns) == 1:
        return " ".join(columns[0][:2])
    return f"{columns[0][0]}-{columns[-1][-1]}"


_COLUMNS: tuple[tuple[str, int, Callable[[ColumnFigures, float], str]], ...] = (
    ("w/s", 6, lambda f, _: number(f.writes)),
    ("queue", 6, lambda f, _: "-" if f.queue is None else f"{f.queue:.1f}"),
    ("w ms", 6, lambda f, _: wait(f.wait)),
    ("util", 4, lambda f, _: share_of_time(f.busy)),
    ("peers", 5, lambda f, middle: fold(f.queue, middle)),
)
"""Heading, width and text of the figures beside the heat, given a column's figures and the median queue."""


def _head(columns: Sequence[tuple[str, int, object]], seconds: int, drawn: int) -> Line:
    """Return the axis in seconds before now, and the headings of the figures."""
    axis = [" "] * drawn
    for back in range(10, seconds + 1, 10):
        at = (seconds - back) * drawn // seconds
        mark = f"-{back}s"
        if at + len(mark) < len(axis) - 4:
            axis[at : at + len(mark)] = mark
    axis[-3:] = "now"
    heads = "".join(f" {title:>{size}}" for title, size, _ in columns)
    return text((" " * (_LABEL + 1) + "".join(axis) + heads, role("dim")))
