"""systemd notifications of a `Type=notify` service, sent to the socket in NOTIFY_SOCKET (sd_notify(3)).

    READY=1   STATUS=...   RELOADING=1 with MONOTONIC_USEC=...   WATCHDOG=1   STOPPING=1

Without NOTIFY_SOCKET nothing is sent; messages that cannot be sent are dropped, and sending never blocks.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping


class Notifier:
    """Sender of systemd notifications; does nothing without NOTIFY_SOCKET."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Read NOTIFY_SOCKET (a path, or `@` and a name), WATCHDOG_USEC and WATCHDOG_PID."""
        name = environment.get("NOTIFY_SOCKET", "")
        self._address = f"\0{name[1:]}" if name.startswith("@") else name if name.startswith("/") else ""
        self.watchdog: float | None = None
        """Watchdog timeout in seconds, within which systemd expects WATCHDOG=1; None: no watchdog."""
        said, pid = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
        if self._address and said.isdecimal() and int(said) > 0 and pid in {"", str(os.getpid())}:
            self.watchdog = int(said) / 1e6

    def ready(self, status: str) -> None:
        """Report that the service is ready, initially or after a reload; `systemctl status` shows `status`."""
        self._send(f"READY=1\nSTATUS={status}")

    def reloading(self) -> None:
        """Report that the configuration is being reloaded."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def alive(self) -> None:
        """Reset the watchdog."""
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """Report that the service is stopping."""
        self._send("STOPPING=1")

    def _send(self, text: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as line:
                line.sendto(text.encode(), self._address)
        except OSError:  # the receiver is gone
            pass
