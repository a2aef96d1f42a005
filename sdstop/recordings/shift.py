"""Shift: frames of a run in the time of the whole recording, whose clock is that of its first run.

A shift is in seconds of the monotonic clock; `RecordingClock.shift` has that of each run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from sdstop.core.evidence import Evidence, Frame, RunMark


def shifted_evidence(items: Iterable[Evidence], shift: float) -> tuple[Evidence, ...]:
    """Return evidence that was read `shift` seconds later."""
    if not shift:
        return tuple(items)
    return tuple(item if item.monotonic is None else replace(item, monotonic=item.monotonic + shift) for item in items)


def shifted_runs(runs: Mapping[str, RunMark], shift: float) -> Mapping[str, RunMark]:
    """Return runs of collectors, by name, that began `shift` seconds later."""
    return {name: RunMark(run.started + shift, run.duration) for name, run in runs.items()} if shift else runs


def shifted_frame(frame: Frame, shift: float) -> Frame:
    """Return a frame that was taken `shift` seconds later; its wall-clock time is kept."""
    if not shift:
        return frame
    ran = None if frame.ran is None else shifted_runs(frame.ran, shift)
    return replace(frame, monotonic=frame.monotonic + shift, evidence=shifted_evidence(frame.evidence, shift), ran=ran)
