"""The dashboard. Textual is imported when it is run, not before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sdstop.core.evidence import Frame
from sdstop.tui.terminal import Options, usable_terminal

if TYPE_CHECKING:
    from sdstop.core.session import Session

__all__ = ["FrameFeed", "Options", "run", "usable_terminal"]


class LiveFrames(Protocol):
    """Whoever brings a live node's frames."""

    def fileno(self) -> int:
        """Return the descriptor that is readable when there are frames."""

    def receive(self) -> list[Frame]:
        """Return the frames that are there, without waiting."""

    def rescan(self) -> None:
        """Run every collector at once: a device came or went."""

    def set_interval(self, seconds: float) -> None:
        """Sample at another pace."""

    def close(self) -> None:
        """End it, without waiting for what hangs."""


def run(session: Session, frames: LiveFrames | None, options: Options) -> int:
    """Show the dashboard until the user quits; return the exit code.

    `frames` feeds a live session; None for a capture, whose frames the session has been fed already.
    Raises whatever a bug of ours raised, after the terminal was restored.
    """
    from sdstop.tui.app import Dashboard  # noqa: PLC0415  # costs what a report must not pay

    app = Dashboard(session, frames, options)
    app.run(mouse=options.mouse)
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0
