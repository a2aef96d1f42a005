"""Playback: the playhead moves through recorded frames at a multiple of the recorded speed."""

from __future__ import annotations

from sdstop.tui.playhead import Playhead

SPEEDS = (1.0, 10.0, 60.0)
"""Multiples of the recorded speed."""


class Playback:
    """Playback of the frames that a session keeps.

    `at` is the position in monotonic seconds of the recording, None while stopped. Between two frames it lies behind
    the playhead's frame. Frames that the speed leaves no time for are skipped.
    """

    def __init__(self, playhead: Playhead) -> None:
        """Start stopped, at the recorded speed."""
        self.playhead = playhead
        self.speed = SPEEDS[0]
        self.at: float | None = None

    @property
    def playing(self) -> bool:
        """Whether the playhead moves by itself."""
        return self.at is not None

    def start(self) -> None:
        """Play from the selected frame, or from the oldest one if the newest is selected."""
        if self.playhead.at_end:
            self.playhead.seek(float("-inf"))
        self.at = self.playhead.selected_at

    def stop(self) -> None:
        """Stop at the selected frame."""
        self.at = None

    def advance(self, seconds: float) -> None:
        """Let `seconds` of real time pass; stop at the newest frame.

        While a frame is being judged, it is not given up for the next one.
        """
        if self.at is None:
            return
        frames = self.playhead.session.timeline.frames
        if not frames:
            self.stop()
            return
        self.at = min(self.at + seconds * self.speed, frames[-1].monotonic)
        if self.playhead.sought is None and self.at >= frames[0].monotonic:
            self.playhead.seek(self.at)
        if self.playhead.at_end:
            self.stop()
