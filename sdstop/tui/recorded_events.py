"""Events of a recording beside its findings: boots, pauses of the recorder, added and removed devices, rebuilds."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from msgspec import Struct
from rich.segment import Segment

from sdstop.core.format import duration, listed, plural
from sdstop.core.timeline import Timeline
from sdstop.tui.spans import TimeAxis
from sdstop.tui.widgets.graph import joined
from sdstop.tui.widgets.palette import FAINT, STRONG, Line, Palette


class EventKind(enum.StrEnum):
    """Kind of an event, and its mark on the time bar; those first win a cell."""

    BOOT = "B"
    REMOVED = "-"
    STARTED = "R"
    ENDED = "r"
    ADDED = "+"
    PAUSE = "|"


class RecordedEvent(Struct, frozen=True):
    """Event at monotonic seconds, in words: `boot, 8h without a frame`."""

    at: float
    kind: EventKind
    said: str

    @property
    def order(self) -> tuple[int, bool]:
        """Place among events of one moment."""
        return 0, True


def recorded_events(timeline: Timeline) -> list[RecordedEvent]:
    """Return the events of a recording, oldest first; those of minutes are at their start."""
    return sorted((*_runs(timeline), *_minutes(timeline)), key=lambda event: event.at)


def _runs(timeline: Timeline) -> Iterator[RecordedEvent]:
    for start in timeline.starts:
        at, gap = timeline.frames[start.index].monotonic, f"{duration(start.gap)} without a frame"
        kind, word = (EventKind.BOOT, "boot") if start.booted else (EventKind.PAUSE, "recorder restarted")
        yield RecordedEvent(at, kind, f"{word}, {gap}")


def _minutes(timeline: Timeline) -> Iterator[RecordedEvent]:
    for minute in timeline.minutes:
        for kind, names, words in (
            (EventKind.REMOVED, minute.removed, "removed"),
            (EventKind.ADDED, minute.added, "added"),
        ):
            if names:
                yield RecordedEvent(minute.monotonic, kind, f"{plural(len(names), 'device')} {words}: {listed(names)}")
        for kind, names, words in (
            (EventKind.STARTED, minute.started, "started"),
            (EventKind.ENDED, minute.ended, "ended"),
        ):
            if names:
                yield RecordedEvent(minute.monotonic, kind, f"rebuild {words}: {listed(names)}")


def event_line(events: list[RecordedEvent], axis: TimeAxis, before: int, palette: Palette) -> Line | None:
    """Return a line with the mark of the first kind in each cell, None without any event on the axis."""
    ranks = {kind: rank for rank, kind in enumerate(EventKind)}
    cells: dict[int, EventKind] = {}
    for event in events:
        if axis.first - axis.step <= event.at <= axis.last + axis.step:
            cell = axis.cell(event.at)
            cells[cell] = min(cells.get(cell, event.kind), event.kind, key=ranks.__getitem__)
    if not cells:
        return None
    shown = ((cells[at].value, STRONG) if at in cells else (" ", FAINT) for at in range(axis.width))
    return (Segment(palette.fit("  events", before), FAINT), *joined(shown))
