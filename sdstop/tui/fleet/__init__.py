"""The dashboard of a fleet. Textual is imported when it is run, not before."""

from __future__ import annotations

from sdstop.fleet.watcher import Watcher
from sdstop.tui.terminal import Options


def run(watcher: Watcher, url: str, interval: float, options: Options) -> int:
    """Show the fleet until the user quits; return the exit code.

    Raises ConfigError where a file of --http-config can no longer be used, and whatever a bug of ours raised, after
    the terminal was restored.
    """
    from sdstop.tui.fleet.app import FleetDashboard  # noqa: PLC0415  # costs what a table must not pay

    app = FleetDashboard(watcher, url, interval, options)
    app.run(mouse=options.mouse)
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0
