"""Time bar: the load, the findings as spans and the playhead on one axis, below every view."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from rich.segment import Segment
from textual import events
from textual.message import Message

from sdstop.analysis.load_course import LoadOf, LoadSample
from sdstop.core.averages import median
from sdstop.core.finding import Severity
from sdstop.core.format import clock, day_clock, duration
from sdstop.core.session import Session
from sdstop.core.timeline import Timeline
from sdstop.tui.bar_load import BarLoad, minute_text
from sdstop.tui.kernel_messages import message_line
from sdstop.tui.load_graph import HELD, LoadScale, highest, load_lines, scale_of
from sdstop.tui.recorded_events import RecordedEvent, event_line, recorded_events
from sdstop.tui.scene import Scene
from sdstop.tui.spans import LoadCells, Span, TimeAxis, spans, time_axis
from sdstop.tui.widgets.graph import joined
from sdstop.tui.widgets.palette import FAINT, FRAME, MARKS, OTHER, STRONG, Line, Palette, text, width_of
from sdstop.tui.widgets.pane import Pane, words

_HEIGHTS = ((56, 12), (48, 9), (40, 7), (20, 3), (14, 1))
"""Lowest height of a screen, and the lines of its time bar, if there is a load to draw."""
_TITLES = {LoadOf.CLUSTER: "Time, load of the cluster", LoadOf.NETWORK: "Time, network traffic"}
"""Titles with a load that is not that of the node's disks."""
_FEWEST_GRAPH = 2
"""Lines."""
_FEWEST_MESSAGES = 7
"""Lines of a bar that has one for messages of the kernel."""
_GLYPHS = (("─", "├", "━", "▲", "·"), ("-", "+", "=", "^", "."))
"""Cells of a span that is not active, that begins and that is active, the playhead, and a cell that is not judged."""
_WIDE = 110
"""Cells from which quantiles have room."""
_DAYS = 36 * 3600.0
"""Seconds of an axis above which its times have a date."""
_LABEL = 22
"""Mean number of cells for a time of the axis."""


def bar_height(screen: int) -> int:
    """Return the maximum number of lines of the bar on a screen of this height."""
    return next((lines for lowest, lines in _HEIGHTS if screen >= lowest), 0)


def margin(width: int) -> int:
    """Return the number of cells before the axis."""
    return 25 if width >= 110 else 21 if width >= 76 else 15


class TimeBar(Pane):
    """Pane with the time bar. A click or a drag on it moves the playhead."""

    DEFAULT_CSS = "TimeBar { height: 0; width: 1fr; }"

    class Sought(Message):
        """Message that the user chose a time, in monotonic seconds."""

        def __init__(self, at: float) -> None:
            """Create the message for a time."""
            super().__init__()
            self.at = at

    class Pointed(Message):
        """Message that the mouse points to a time, in monotonic seconds, or None: to none any more."""

        def __init__(self, at: float | None) -> None:
            """Create the message for a time."""
            super().__init__()
            self.at = at

    def __init__(self) -> None:
        """Start without lines."""
        super().__init__(id="time", cursor=False)
        self.lines = 0
        self._cells = LoadCells()
        self._load = BarLoad()
        self._events: tuple[Timeline, list[RecordedEvent]] | None = None
        self._axis: TimeAxis | None = None
        self._scene: Scene | None = None
        self._dragged: float | None = None

    def show(self, scene: Scene, width: int, height: int) -> None:
        """Paint the scene for a screen of this size."""
        if self._scene is not None and scene.now is not self._scene.now and not self._captures:
            self._dragged = None
        self._scene = scene
        self._fill(scene, width, height)

    def _fill(self, scene: Scene, width: int, height: int) -> None:
        most = bar_height(height)
        before = margin(width)
        several = len(scene.session.timeline.frames) > 1 or scene.session.origin.live
        at_ = scene.position if self._dragged is None else self._dragged
        axis = time_axis(scene.session, width - before - 2, scene.zoom, at_) if most and several else None
        self._axis = axis
        if axis is None:
            self._resize(0)
            return
        logged = message_line(scene, axis, before) if most >= _FEWEST_MESSAGES else None
        happened = event_line(self._events_of(scene), axis, before, scene.palette) if most >= _FEWEST_MESSAGES else None
        lines = [line for line in (happened, logged) if line is not None]
        most -= len(lines)
        known = spans(scene.session.episodes(), axis)
        load = self._load.shown(scene, axis)
        samples = load.samples
        if most < _FEWEST_GRAPH + 3:
            shown, graph = known[:1], 0
        elif samples:
            shown = known[: max((most - 2) // 2, 1)]
            graph = most - 2 - max(len(shown), 1)
        else:
            shown, graph = known[: most - 2], 0
        at = axis.cell(at_)
        of = load.of
        scale = scale_of(scene.metric, of)
        if self._cells.metric is not scale.metric or not load.grows:
            self._cells = LoadCells(scale.metric)
        rows = self._graph(samples, scale, axis, at, graph, before, scene.palette) if graph else []
        rows += lines
        rows += span_lines(shown, axis, at, before, scene.palette, unjudged(scene.session, axis))
        if most > 1:
            rows.append(axis_line(axis, scene.session, before))
        self.title = _TITLES.get(of if graph else LoadOf.DISKS, "Time") if most > 1 else ""
        self._resize(len(rows) + self.heads)
        quantiles = minute_text(scene.session.timeline, at_, scale, of) if graph and load.by_minute else ""
        said = self._said(scene, len(known) - len(shown), width, quantiles)
        self.put([words(row) for row in rows], scene.palette, said)

    def _events_of(self, scene: Scene) -> list[RecordedEvent]:
        timeline = scene.session.timeline
        if not timeline.complete:
            return []
        if self._events is None or self._events[0] is not timeline:
            self._events = timeline, recorded_events(timeline)
        return self._events[1]

    def _graph(
        self, samples: Sequence[LoadSample], scale: LoadScale, axis: TimeAxis, at: int, lines: int, before: int,
        palette: Palette,
    ) -> list[Line]:  # fmt: skip
        usual = median(sample.seconds for sample in samples[-5:])
        scale = replace(scale, held=highest(samples, scale, axis.last - HELD))
        return load_lines(self._cells.of(samples, axis), scale, axis, at, lines, before, usual, palette)

    def _resize(self, lines: int) -> None:
        if self.lines != lines:
            self.lines = lines
            self.styles.height = lines

    def _said(self, scene: Scene, more: int, width: int, quantiles: str) -> str:
        frames, axis = scene.session.timeline.frames, self._axis
        held = f"{duration(frames[-1].monotonic - frames[0].monotonic)} held"
        is_part = scene.zoom is not None and axis is not None and axis.end - axis.start < scene.zoom * 1.01
        facts = [f"{duration(scene.zoom)} of {held}" if is_part else held]
        if quantiles and width >= _WIDE:
            facts.insert(0, quantiles)
        if more:
            facts.insert(0, f"+{more} more spans" if more > 1 else "+1 more span")
        facts.append(f"playing {scene.speed:g}x" if scene.speed else "e next event")
        if width >= _WIDE:
            facts += ["z Z zoom", "b go to time"]
        return "   ".join(facts)

    # -- mouse ------------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Move the playhead, and follow the mouse until the button is released."""
        event.stop()
        if event.button == 1:
            self.capture_mouse()
            self._point(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Move the playhead with the mouse; without its button, announce where a click would move it."""
        if self._captures:
            event.stop()
            self._point(event.x)
        elif self._axis is not None:
            self.post_message(self.Pointed(self._time(event.x, self._axis)))

    def on_leave(self) -> None:
        """Announce that no click is expected."""
        self.post_message(self.Pointed(None))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let the mouse go."""
        event.stop()
        self.release_mouse()

    @property
    def _captures(self) -> bool:
        """Whether the mouse is dragged from here."""
        return self.app.mouse_captured is self

    def on_click(self, event: events.Click) -> None:
        """Ignore clicks, which the button's press has handled."""
        event.stop()

    def _time(self, x: int, axis: TimeAxis) -> float:
        return axis.time(max(0, min(x - margin(self.size.width), axis.width - 1)))

    def _point(self, x: int) -> None:
        scene, axis = self._scene, self._axis
        if scene is None or axis is None:
            return
        self._dragged = self._time(x, axis)
        size = self.screen.size
        self._fill(scene, size.width, size.height)
        self.post_message(self.Sought(self._dragged))


def unjudged(session: Session, axis: TimeAxis) -> frozenset[int]:
    """Return the cells with frames of which not all were judged: findings in them may be unknown."""
    if session.is_judged:
        return frozenset()
    ends = [(axis.start + cell * axis.step, axis.start + (cell + 1) * axis.step) for cell in range(axis.width)]
    return frozenset(n for n, (since, until) in enumerate(ends) if not session.knows(since, min(until, axis.last)))


def span_lines(
    shown: Sequence[Span], axis: TimeAxis, at: int, before: int, palette: Palette, unknown: frozenset[int] = frozenset()
) -> list[Line]:
    """Return a line for each span, or one without findings; the playhead is in cell `at` of the last one.

    The cells `unknown` are dotted where no finding is known.
    """
    lines = [_span_line(span, axis, before, palette, unknown) for span in shown]
    if not lines:
        said = "not judged" if len(unknown) == axis.width else "none so far" if unknown else "no finding"
        idle = palette.fit(f"  {said}", before)
        cells = (_outside(cell, palette, unknown) for cell in range(axis.width))
        lines = [(*text((idle, FAINT)), *joined((cell, FRAME) for cell in cells))]
    lines[-1] = _with_mark(lines[-1], before + at, _GLYPHS[palette.ascii][3])
    return lines


def _outside(cell: int, palette: Palette, unknown: frozenset[int]) -> str:
    out, *_, dots = _GLYPHS[palette.ascii]
    return dots if cell in unknown else out


def _span_line(
    span: Span, axis: TimeAxis, before: int, palette: Palette, unknown: frozenset[int] = frozenset()
) -> Line:
    severity = span.finding.severity
    style = OTHER if severity is Severity.INFO else palette.severity(severity, bold=False)
    _, begins, within, *_ = _GLYPHS[palette.ascii]
    cells = [_outside(cell, palette, unknown) for cell in range(axis.width)]
    outside = set(cells)
    for began, ended in span.times:
        first = axis.cell(began)
        last = axis.cell(axis.last if ended is None else ended)
        cells[first : last + 1] = [within] * (last - first + 1)
        if began > axis.first + axis.step / 2:
            cells[first] = begins
    label = palette.fit(f"{MARKS.get(severity, ' ')}{span_label(span, palette, before - 2)}", before)
    return (Segment(label, style), *joined((cell, FRAME if cell in outside else style) for cell in cells))


def span_label(span: Span, palette: Palette, room: int) -> str:
    """Return a short name of a finding: the first words of its title, and its subject if that leaves room for two."""
    finding = span.finding
    title = (finding.title or finding.rule).partition(":")[0].split()
    subject = palette.word(finding.subject, 60)
    while len(title) > 2 and len(" ".join(title)) + 1 + len(subject) > room:
        title.pop()
    first = palette.word(" ".join(title).rstrip(","), 60)
    if len(first) + 1 + len(subject) > room and len(first) + 5 > room:
        subject = ""
    return palette.fit(f"{first} {subject}".strip(), room).rstrip()


def _with_mark(line: Line, at: int, mark: str) -> Line:
    """Return a line with the playhead in one cell; its cells are one character each."""
    found: list[Segment] = []
    place = 0
    for segment in line:
        size = width_of((segment,))
        if place <= at < place + size and len(segment.text) == size:
            cut = at - place
            found += [Segment(segment.text[:cut], segment.style), Segment(mark, STRONG),
                      Segment(segment.text[cut + 1 :], segment.style)]  # fmt: skip
        else:
            found.append(segment)
        place += size
    return tuple(segment for segment in found if segment.text)


def axis_line(axis: TimeAxis, session: Session, before: int) -> Line:
    """Return the times of the axis, the first and the last at its ends."""
    count = max(round(axis.width / _LABEL), 1)
    shown, before_it = [" "] * axis.width, ""
    for index in range(count + 1):
        at = axis.start + (axis.end - axis.start) * index / count
        if at < axis.first - axis.step:
            continue
        label = _time(session, at, days=axis.end - axis.start > _DAYS)
        if label == before_it:
            continue
        before_it = label
        place = max(0, min(round(axis.width * index / count) - (len(label) // 2), axis.width - len(label)))
        shown[place : place + len(label)] = label
    return text((" " * before + "".join(shown), FAINT))


def _time(session: Session, at: float, *, days: bool) -> str:
    """Return the time of day at monotonic seconds, by the clock of the nearest frame after it."""
    frames = session.timeline.frames
    index = session.timeline.at(at - 1e-6)
    if frames[index].monotonic < at - 1e-6 and index < len(frames) - 1:
        index += 1
    taken = frames[index].taken - (frames[index].monotonic - at)
    return day_clock(taken) if days else clock(taken)
