"""The dashboard of a fleet. Textual is imported only when the dashboard runs."""

from __future__ import annotations

from sdstop.fleet.watcher import FleetWatcher
from sdstop.tui.terminal import Options


def run(watcher: FleetWatcher, url: str, interval: float, options: Options) -> int:
    """Show the fleet until the user quits; return the exit code.

    Raises ConfigError if a file of --http-config can no longer be used, and any unexpected exception, after restoring
    the terminal.
    """
    from sdstop.tui.fleet.app import FleetDashboard  # noqa: PLC0415  # a plain table must not pay for the import

    app = FleetDashboard(watcher, url, interval, options)
    app.run(mouse=options.mouse)
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0
