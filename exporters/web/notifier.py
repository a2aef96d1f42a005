"""Notifier: what systemd is told of a service of `Type=notify`, over the socket that it names (sd_notify(3)).

    READY=1   STATUS=...   RELOADING=1 with MONOTONIC_USEC=...   WATCHDOG=1   STOPPING=1

Nobody listens where NOTIFY_SOCKET is not set; what cannot be sent is lost, and never waited for.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping


class Notifier:
    """The line to systemd, if there is one."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Read NOTIFY_SOCKET (a path, or `@` and a name), WATCHDOG_USEC and WATCHDOG_PID."""
        name = environment.get("NOTIFY_SOCKET", "")
        self._address = f"\0{name[1:]}" if name.startswith("@") else name if name.startswith("/") else ""
        self.watchdog: float | None = None
        """Seconds within which it wants to hear WATCHDOG=1, None: it does not watch."""
        said, pid = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
        if self._address and said.isdecimal() and int(said) > 0 and pid in {"", str(os.getpid())}:
            self.watchdog = int(said) / 1e6

    def ready(self, status: str) -> None:
        """Say that it serves, again after a reload; `status` is what `systemctl status` shows."""
        self._send(f"READY=1\nSTATUS={status}")

    def reloading(self) -> None:
        """Say that it reads its configuration again."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def alive(self) -> None:
        """Say that it is not stuck."""
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """Say that it ends."""
        self._send("STOPPING=1")

    def _send(self, text: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as line:
                line.sendto(text.encode(), self._address)
        except OSError:  # nobody is there any more
            pass
