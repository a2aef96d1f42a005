"""Playhead: the selected frame of a session, and navigation between frames."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.core.duration import seconds_of
from sdstop.core.evidence import Frame
from sdstop.core.finding import Finding
from sdstop.core.format import clock, zone_shown
from sdstop.core.lookback import Lookback
from sdstop.core.period import FORMS, typed_time
from sdstop.core.session import Look
from sdstop.core.timeline import NEAR
from sdstop.tui.lookup import Lookup
from sdstop.tui.recorded_events import RecordedEvent, recorded_events


class Event(Struct, frozen=True):
    """Start (`begins`) or end of a finding, at monotonic seconds."""

    at: float
    finding: Finding
    begins: bool

    @property
    def order(self) -> tuple[int, bool]:
        """Place among events of one moment: worst first, beginnings first."""
        return -self.finding.severity.rank, not self.begins

    @property
    def said(self) -> str:
        """The event in words: `stripe-convoy md0 began`."""
        return f"{self.finding.rule} {self.finding.subject} {'began' if self.begins else 'ended'}"


class Playhead:
    """Position in a session: either following the newest frame or fixed at a selected one.

    A selected frame is shown when it is judged: at once, or by `lookup` in its thread. Until then the moment before is
    shown, and further steps count from the selected frame.
    """

    def __init__(self, lookback: Lookback, lookup: Lookup | None = None, *, following: bool) -> None:
        """Start at the newest frame; `following` also selects each new frame."""
        self.session = lookback.session
        self._lookback = lookback
        self.following = following
        self.lookup = lookup
        self.sought: Frame | None = None
        """The selected frame while it is being judged."""
        self._look: Look | None = None
        self._recorded: list[RecordedEvent] | None = None

    @property
    def look(self) -> Look | None:
        """The moment to show, None before the first frame."""
        if self._look is None and self.session.is_judged:
            self._look = self.session.latest
        return self._look

    def newest(self, look: Look) -> None:
        """Select the newest moment if the playhead is following."""
        if self.following or self._look is None:
            self._look = look

    def hold(self) -> None:
        """Stop following new frames."""
        self.following = False

    def arrive(self) -> None:
        """Show the selected frame if it is judged by now, or give up if that failed."""
        if self.lookup is None:
            return
        look, is_last = self.lookup.take()
        if look is not None:
            self._look = look
        if is_last:
            self.sought = None

    def refresh(self) -> bool:
        """Judge the shown frame again if the frames before it have been judged since; return whether it is shown."""
        look = self._look
        if look is None or not look.provisional or self.sought is not None or look.index >= self.session.frames_seen:
            return False
        latest = self.session.latest
        if latest is not None and latest.index == look.index:
            self._look = latest
            return True
        if self.lookup is not None and not self.lookup.busy:
            self.lookup.ask(look.now.number)
        return False

    def follow(self) -> None:
        """Move to the newest frame and follow new ones."""
        self.following = True
        self._look, self.sought = None, None
        if self.lookup is not None:
            self.lookup.leave()

    def _seek(self, frame: Frame | None) -> None:
        self.sought = frame
        if self.lookup is not None:
            self._look = self.lookup.ask(frame.number if frame is not None else None) or self._look

    @property
    def arrived(self) -> bool:
        """Whether the selected frame is shown, judged or at a glance."""
        look = self._look
        return self.sought is None or (look is not None and look.now.number == self.sought.number)

    def expect(self, taken: float) -> None:
        """Look up ahead the frame that `go` would select."""
        if self.session.timeline.frames:
            self._expect(self.session.timeline.taken_by(taken + 0.0005) or 0)

    def expect_at(self, at: float | None) -> None:
        """Look up ahead the frame that `seek` would select; None: none is expected any more."""
        if at is not None and self.session.timeline.frames:
            self._expect(self.session.timeline.at(at + 0.0005))
        elif self.lookup is not None:
            self.lookup.expect(None)

    def _expect(self, index: int) -> None:
        if self.lookup is not None:
            self.lookup.expect(self.session.timeline.frames[index].number)

    @property
    def _selected(self) -> int | None:
        """Number of the selected frame, None before the first one."""
        look = self.look
        return self.sought.number if self.sought is not None else look.now.number if look is not None else None

    @property
    def selected_at(self) -> float | None:
        """Monotonic seconds of the selected frame, None before the first one."""
        look = self.look
        return self.sought.monotonic if self.sought is not None else look.now.monotonic if look is not None else None

    @property
    def behind(self) -> float:
        """Seconds from the selected moment to the newest one."""
        frames = self.session.timeline.frames
        look = self.look
        return frames[-1].monotonic - look.now.monotonic if look is not None and frames else 0.0

    @property
    def at_end(self) -> bool:
        """Whether the newest frame is selected."""
        frames, selected = self.session.timeline.frames, self._selected
        return not frames or selected is None or selected >= frames[-1].number

    def step(self, by: int) -> bool:
        """Move by `by` frames; return False at either end of the retained frames."""
        selected = self._selected
        if selected is None:
            return False
        frames = self.session.timeline.frames
        now, count = self.session.timeline.place(selected), len(frames)
        if by < 0 and (now >= count or frames[now].number != selected):
            return self._go(0)  # the selected frame was discarded: the oldest is next
        there = max(0, min(now + by, count - 1))
        return there != now and self._go(there)

    def go(self, taken: float) -> str:
        """Move to the last frame taken at or before `taken` (Unix seconds), or to the oldest frame.

        Return why another frame than the one asked for is selected, "" if none is.
        """
        frames = self.session.timeline.frames
        if not frames:
            return "no sample yet"
        found = self.session.timeline.taken_by(taken + 0.0005)
        self._go(found or 0)
        if found is None:
            return f"nothing before {clock(frames[0].taken)}, the oldest frame"
        if found == len(frames) - 1:
            beyond = taken > frames[-1].taken + 1.0
            return f"nothing after {clock(frames[-1].taken)}, the newest frame" if beyond else ""
        usual = frames[found].taken - frames[max(found - 1, 0)].taken
        if taken - frames[found].taken <= max(NEAR, 3 * usual):
            return ""
        return f"nothing between {clock(frames[found].taken)} and {clock(frames[found + 1].taken)}"

    def seek(self, at: float) -> bool:
        """Move to the last frame at or before monotonic seconds, or to the oldest; return False if it is selected."""
        frames = self.session.timeline.frames
        index = self.session.timeline.at(at + 0.0005) if frames else 0
        if not frames or (self._selected == frames[index].number and not self.following):
            return False
        return self._go(index)

    def event(self, direction: int) -> tuple[Event | RecordedEvent, ...]:
        """Move to the next (1) or previous (-1) event; return the events there, () if none.

        The one after it is looked up ahead.
        """
        now = self.selected_at
        if now is None or not self.session.timeline.frames:
            return ()
        reached = self._next_events(direction, now)
        if reached:
            self._go(self.session.timeline.at(reached[0].at))
            following = self._next_events(direction, reached[0].at)
            if following:
                self._expect(self.session.timeline.at(following[0].at))
        return tuple(sorted(reached, key=lambda event: event.order))

    def _next_events(self, direction: int, now: float) -> list[Event | RecordedEvent]:
        """Return the events of the moment nearest to another one, as far as it is known to be the nearest."""
        oldest = self.session.timeline.frames[0].monotonic
        ahead = [e for e in self._events() if (e.at > now if direction > 0 else oldest <= e.at < now)]
        end = float("inf") if direction > 0 else oldest
        at = (min if direction > 0 else max)((event.at for event in ahead), default=end)
        if not ahead or not self.session.knows(min(at, now), max(at, now)):
            return []
        return [event for event in ahead if event.at == at]

    def _events(self) -> Iterator[Event | RecordedEvent]:
        if self.session.timeline.complete:
            if self._recorded is None:
                self._recorded = recorded_events(self.session.timeline)
            yield from self._recorded
        for episode in self.session.episodes():
            yield Event(episode.found, episode.finding, begins=True)
            if episode.ended is not None and episode.until is not None:
                yield Event(episode.ended, episode.finding, begins=False)

    def _go(self, index: int) -> bool:
        self.following = False
        latest, frames = self.session.latest, self.session.timeline.frames
        if self.lookup is None:
            self._look = self._lookback.at(index)
        elif latest is not None and frames[index].number == latest.now.number:
            self._look = latest
            self._seek(None)
        elif (ready := self._lookback.ready(index)) is not None:
            self._look, self.sought = ready, None
            self.lookup.near(ready.now.number)
        else:
            self._seek(frames[index])
        return True

    def parse(self, text: str) -> float:
        """Return the Unix time for typed text.

        `-5m` and `-1h30m` are relative to the newest frame, `+30s` to the selected one; a time of day, in the zone in
        which times are shown or UTC if it ends in Z, means its last occurrence. Raises ValueError with a one-line
        description of the accepted formats.
        """
        text = text.strip()
        newest = self.session.timeline.frames[-1].taken
        look = self.look
        ahead = seconds_of(text[1:]) if text.startswith("+") else None
        if ahead is not None and look is not None:
            return look.now.taken + ahead
        try:
            return typed_time(text, newest, zone_shown())
        except ValueError as error:
            raise ValueError(f"{error}; use {FORMS} or +30s (from here)") from error
