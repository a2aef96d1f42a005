"""Time travel: pause, steps, events, a moment by name, sampling interval and speed of playback."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from sdstop.core.format import duration, zone_word
from sdstop.core.session import Session
from sdstop.tui import LiveFrames
from sdstop.tui.playback import SPEEDS, Playback
from sdstop.tui.playhead import Event, Playhead
from sdstop.tui.recorded_events import RecordedEvent
from sdstop.tui.shell import Shell, stepped
from sdstop.tui.spans import zoomed
from sdstop.tui.widgets.foot import Prompt
from sdstop.tui.widgets.keys import Section, bind, explained
from sdstop.tui.widgets.pane import Pane

INTERVALS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Sampling intervals in seconds that + and - step through."""


class TimeTravel(Shell):
    """Actions that choose the moment that is shown, of a live session or of a capture."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *explained(
            Section.TIME, "pause/resume; in a capture: play", bind("space", "pause", "pause"), hint="pause", rank=7
        ),
        *explained(
            Section.TIME,
            "next/previous frame",
            bind("t", "step(1)"),
            bind("T", "step(-1)"),
            hint="step",
            rank=8,
        ),
        *explained(
            Section.TIME,
            "next/previous event: finding, boot, device, rebuild",
            bind("e", "event(1)"),
            bind("E", "event(-1)"),
            hint="event",
            rank=9,
        ),
        *explained(
            Section.TIME,
            "go to a time: 13:58, -5m (before now), +30s (from here)",
            bind("b", "branch", "time"),
            hint="go to time",
            rank=13,
        ),
        *explained(
            Section.TIME,
            "zoom the time bar in/out: a minute to all that is held",
            bind("z", "zoom(1)"),
            bind("Z", "zoom(-1)"),
            hint="zoom",
            rank=12,
        ),
        *explained(
            Section.TIME,
            "mark this moment, then show the changes to another; D marks again",
            bind("d", "difference", "difference"),
            bind("D", "mark", "mark"),
        ),
        *explained(Section.TIME, "go to the newest frame", bind("L", "newest", "newest", "live")),
        *explained(
            Section.TIME,
            "longer/shorter interval; in a capture: play at 1x, 10x, 60x",
            bind("plus,equals_sign", "pace(1)"),
            bind("minus", "pace(-1)"),
        ),
    ]

    session: Session
    feed: LiveFrames | None
    playhead: Playhead
    playback: Playback
    interval: float
    zoom: float | None
    awaited: int
    """Direction of the event that is moved to as soon as it is judged, 0 if none is."""

    def pace(self, interval: float) -> None:
        """Sample at this interval in seconds."""
        raise NotImplementedError

    def moved(self) -> None:
        """Show the selected frame, or which one is being judged."""
        raise NotImplementedError

    def action_pause(self) -> None:
        """Pause or resume a live session; play or stop a capture, restarting from its beginning if it is at its end."""
        if self.feed is not None:
            if self.playhead.following:
                self.playhead.hold()
            else:
                self.playhead.follow()
        elif self.playback.playing:
            self.playback.stop()
        else:
            self.playback.start()
        self.paint()

    def action_step(self, by: int) -> None:
        """Move by `by` frames."""
        self.playback.stop()
        self.awaited = 0
        if not self.playhead.step(by):
            self.foot.say("newest frame" if by > 0 else "oldest frame")
        self.moved()

    def action_event(self, direction: int) -> None:
        """Move to the next (1) or previous (-1) start or end of a finding, and name it."""
        self.playback.stop()
        self.awaited = 0
        reached = self.playhead.event(direction)
        if not reached and not self.session.is_judged:
            self.awaited = direction
        self._name_event(direction, reached)
        self.moved()

    def retry_event(self) -> None:
        """Move to the event that was unknown when its key was pressed, if it is known by now."""
        direction = self.awaited
        reached = self.playhead.event(direction) if direction else ()
        if reached or self.session.is_judged:
            self.awaited = 0
        if direction and (reached or not self.awaited):
            self._name_event(direction, reached)

    def _name_event(self, direction: int, reached: Sequence[Event | RecordedEvent]) -> None:
        if reached:
            more = f", and {len(reached) - 1} more" if len(reached) > 1 else ""
            self.foot.say(f"{reached[0].said}{more}")
        else:
            which = "later" if direction > 0 else "earlier"
            self.foot.say(f"seeking an event: {which} frames are being judged" if self.awaited else f"no {which} event")

    def action_zoom(self, direction: int) -> None:
        """Show a shorter (1) or longer (-1) part of the held time on the time bar, around the shown moment."""
        frames = self.session.timeline.frames
        if frames:
            held = frames[-1].monotonic - frames[0].monotonic
            before, self.zoom = self.zoom, zoomed(held, self.zoom, direction)
            shown = f"all {duration(held)}" if self.zoom is None else duration(self.zoom)
            end = "" if before != self.zoom else ", the shortest" if direction > 0 else ", the longest"
            self.foot.say(f"time bar: {shown}{end}")
            self.paint()

    def action_newest(self) -> None:
        """Move to the newest frame; follow new frames in a live session."""
        self.playback.stop()
        if self.feed is not None:
            self.playhead.follow()
        else:
            self.playhead.seek(float("inf"))
        self.moved()

    def action_branch(self) -> None:
        """Prompt for a time and move to it."""

        def done(answer: str | None) -> None:
            if answer:
                try:
                    self.seek(self.playhead.parse(answer))
                except ValueError as error:
                    self.foot.say(str(error), bad=True)
            else:
                self.playhead.expect_at(None)

        def typed(text: str) -> None:
            with contextlib.suppress(ValueError):
                self.playhead.expect(self.playhead.parse(text))

        if self.session.timeline.frames:
            self.playback.stop()
            zone = zone_word(self.session.timeline.frames[-1].taken)
            self.foot.ask(Prompt(f"time, {zone} (13:58  -5m  +30s)", "", done, typed))

    def seek(self, taken: float) -> None:
        """Move to the last frame taken by `taken` (Unix seconds); show a message if no frame is that old."""
        self.playback.stop()
        self.awaited = 0
        said = self.playhead.go(taken)
        if said:
            self.foot.say(said)
        self.moved()

    def action_pace(self, direction: int) -> None:
        """Select the next longer (1) or shorter (-1) sampling interval; in a capture, the speed of playback."""
        if self.feed is None:
            self.playback.speed = stepped(SPEEDS, self.playback.speed, direction)
            self.foot.say(f"playback at {self.playback.speed:g}x{'' if self.playback.playing else '; Space plays'}")
            self.paint()
            return
        if getattr(self.feed, "fixed", False):
            self.foot.say(f"interval {self.interval:g} s, set by the exporter")
            return
        self.pace(stepped(INTERVALS, self.interval, direction))
        self.feed.set_interval(self.interval)
        self.foot.say(f"interval {self.interval:g} s")
        self.paint()

    def on_pane_time_chosen(self, message: Pane.TimeChosen) -> None:
        """Move to a moment clicked on a graph or on the time bar."""
        look = self.playhead.look
        if look is not None:
            self.seek(look.now.taken - message.ago)
