"""Pauses: times of a session without a sample, in which anything may have happened."""

from __future__ import annotations

from sdstop.core.evidence import Frame, dated
from sdstop.core.format import duration, plural, timestamp
from sdstop.core.timeline import NEAR


class Pauses:
    """Pauses between the frames of a session: longer than NEAR seconds, and than three intervals before them."""

    def __init__(self) -> None:
        """Start without a frame."""
        self.count = 0
        self.seconds = 0.0
        """Sum of their lengths."""
        self.longest: tuple[Frame, Frame] | None = None
        """Frames before and after the longest one, without evidence."""
        self._last: Frame | None = None
        self._step = self._long = 0.0
        """Last interval, and length of a pause directly before: a second one as long is another interval."""

    def add(self, frame: Frame) -> None:
        """Note the next frame."""
        before, self._last = self._last, Frame(frame.number, frame.taken, frame.monotonic)
        if before is None or frame.unordered:
            return
        step = frame.monotonic - before.monotonic
        long, self._long = self._long, 0.0
        if not self._step or step <= max(NEAR, 3 * self._step) or abs(step - long) <= long / 2:
            self._step = step
            return
        self._long = step
        self.count += 1
        self.seconds += step
        if self.longest is None or step > self.longest[1].monotonic - self.longest[0].monotonic:
            self.longest = before, self._last

    @property
    def said(self) -> str:
        """The pauses in one line, "" without any."""
        if self.longest is None:
            return ""
        before, after = self.longest
        lasted = duration(after.monotonic - before.monotonic)
        when = f" from {timestamp(before.taken)}" if dated(before.taken) else ""
        if self.count == 1:
            return f"no sample for {lasted}{when}"
        more = f"no sample in {plural(self.count, 'pause')} of {duration(self.seconds)}"
        return f"{more}, the longest of {lasted}{when}"
