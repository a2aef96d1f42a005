"""The dashboard. Textual is imported only when the dashboard runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sdstop.core.evidence import Frame
from sdstop.core.heap import return_large_blocks
from sdstop.tui.terminal import Options, usable_terminal

if TYPE_CHECKING:
    from sdstop.analysis.comparison.comparison import Comparison
    from sdstop.analysis.load_course import LoadCourse
    from sdstop.core.session import Session

__all__ = ["FrameFeed", "Options", "run", "usable_terminal"]

_LARGE = 1 << 17
"""Bytes from which memory is returned as soon as it is freed: between blocks of 128 to 256 KiB 3 MB stay free."""


class LiveFrames(Protocol):
    """Source of a live node's frames."""

    def fileno(self) -> int:
        """Return the file descriptor that becomes readable when frames arrive."""

    def receive(self) -> list[Frame]:
        """Return the available frames without waiting."""

    def rescan(self) -> None:
        """Run every collector immediately, for example after a device was added or removed."""

    def set_interval(self, seconds: float) -> None:
        """Set the sampling interval in seconds."""

    def close(self) -> None:
        """Stop the source without waiting for hung collectors."""


def run(
    session: Session,
    frames: LiveFrames | None,
    options: Options,
    course: LoadCourse | None = None,
    found: Comparison | None = None,
    at: float | None = None,
) -> int:
    """Show the dashboard until the user quits; return the exit code.

    `frames` feeds a live session; it is None for a capture, whose frames are already in the session's timeline: those
    that are not judged yet are, in the background. `course` has followed the session since its first frame; None: the
    load is known from the newest window on. `found` is a comparison to show first, `at` the Unix time (None: the end).
    Raises any unexpected exception of the dashboard after restoring the terminal.
    """
    return_large_blocks(_LARGE)  # before the thread that judges, which would get an arena
    from sdstop.tui.app import Dashboard  # noqa: PLC0415  # a report must not pay for the import

    app = Dashboard(session, frames, options, course, at)
    app.compared = found
    app.run(mouse=options.mouse)
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0
