"""Playhead: the selected frame of a session, and navigation between frames."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from datetime import timedelta

from sdstop.core.format import moment, zoned
from sdstop.core.session import Look, Session

_AGO = re.compile(r"([+-])((?:\d+(?:\.\d+)?[dhms]?)+)$")
_PART = re.compile(r"(\d+(?:\.\d+)?)([dhms]?)")
_CLOCK = re.compile(r"(?:(\d{4})-(\d{2})-(\d{2})[ T])?(\d{1,2}):(\d{2})(?::(\d{2}))?Z?$")
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "": 1.0}


class Playhead:
    """Position in a session: either following the newest frame or fixed at a selected one."""

    def __init__(self, session: Session, *, following: bool) -> None:
        """Start at the newest frame; `following` also selects each new frame."""
        self.session = session
        self.following = following
        self._look: Look | None = None

    @property
    def look(self) -> Look | None:
        """The selected moment, None before the first frame."""
        if self._look is None:
            self._look = self.session.latest
        return self._look

    def newest(self, look: Look) -> None:
        """Select the newest moment if the playhead is following."""
        if self.following or self._look is None:
            self._look = look

    def hold(self) -> None:
        """Stop following new frames."""
        self.following = False

    def follow(self) -> None:
        """Move to the newest frame and follow new ones."""
        self.following = True
        self._look = None

    @property
    def behind(self) -> float:
        """Seconds from the selected moment to the newest one."""
        frames = tuple(self.session.timeline.frames)
        look = self.look
        return frames[-1].monotonic - look.now.monotonic if look is not None and frames else 0.0

    @property
    def at_end(self) -> bool:
        """Whether the newest frame is selected."""
        frames = tuple(self.session.timeline.frames)
        look = self.look
        return not frames or look is None or look.now.number >= frames[-1].number

    def step(self, by: int) -> bool:
        """Move by `by` frames; return False at either end of the retained frames."""
        look = self.look
        if look is None:
            return False
        numbers = [frame.number for frame in tuple(self.session.timeline.frames)]
        now = bisect_left(numbers, look.now.number)
        if by < 0 and (now >= len(numbers) or numbers[now] != look.now.number):
            now = min(now, len(numbers) - 1)  # the selected frame was discarded: the oldest is next
            return self._go(0)
        there = max(0, min(now + by, len(numbers) - 1))
        return there != now and self._go(there)

    def go(self, taken: float) -> bool:
        """Move to the last frame taken at or before `taken` (Unix seconds), or to the oldest frame."""
        frames = tuple(self.session.timeline.frames)
        until = (n for n in reversed(range(len(frames))) if frames[n].taken <= taken + 0.0005)
        return bool(frames) and self._go(next(until, 0))  # a linear search: the clock may have been set back

    @property
    def oldest(self) -> float | None:
        """Unix time of the oldest retained frame, None before the first one."""
        frames = tuple(self.session.timeline.frames)
        return frames[0].taken if frames else None

    def event(self, direction: int) -> bool:
        """Move to the next (1) or previous (-1) start or end of a finding; return False if there is none."""
        look = self.look
        if look is None:
            return False
        times = {e.found for e in self.session.episodes()}
        times |= {e.ended for e in self.session.episodes() if e.ended is not None}
        frames = [frame.monotonic for frame in tuple(self.session.timeline.frames)]
        now = look.now.monotonic
        ahead = sorted(t for t in times if (t > now if direction > 0 else frames[0] <= t < now))
        return bool(ahead) and self._go(max(bisect_right(frames, ahead[0 if direction > 0 else -1]) - 1, 0))

    def _go(self, index: int) -> bool:
        self.following = False
        self._look = self.session.look(index)
        return True

    def parse(self, text: str) -> float:
        """Return the Unix time for typed text.

        `-5m` and `-1h30m` are relative to the newest frame, `+30s` to the selected one; a time of day, in the zone in
        which times are shown or UTC if it ends in Z, means its last occurrence. Raises ValueError with a one-line
        description of the accepted formats.
        """
        text = text.strip()
        newest = self.session.timeline.frames[-1].taken
        ago = _AGO.match(text)
        if ago:
            seconds = sum(float(count) * _SECONDS[unit] for count, unit in _PART.findall(ago[2]))
            look = self.look
            return newest - seconds if ago[1] == "-" or look is None else look.now.taken + seconds
        clock = _CLOCK.match(text)
        if clock is None:
            raise ValueError("a time is 13:58, 13:58:02, 2026-11-21 13:58, -5m (before now) or +30s (from here)")
        year, month, day, hour, minute, second = clock.groups()
        here = moment(newest) if text.endswith("Z") else zoned(newest)
        chosen = here.replace(hour=int(hour), minute=int(minute), second=int(second or 0), microsecond=0)
        if year:
            chosen = chosen.replace(year=int(year), month=int(month), day=int(day))
        elif chosen.timestamp() > newest:
            chosen -= timedelta(days=1)
        return chosen.timestamp()
