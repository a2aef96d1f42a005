"""Sockets and name lookups with a deadline for all calls together.

The timeout of a socket applies to each call, so a peer that sends single bytes can block a reader indefinitely. These
sockets set their timeout to the remaining time before each call, and need no watchdog thread.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from typing import Any

Address = tuple[int, int, int, str, Any]
"""Result of getaddrinfo for one address: family, type, protocol, canonical name, address."""


class _DeadlineCalls:
    """Socket mix-in that limits each call to the time left until `end` (monotonic seconds)."""

    end = 0.0

    def _limit(self) -> None:
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.settimeout(left)  # type: ignore[attr-defined]  # of the socket that this is mixed into

    def recv_into(self, *arguments: Any, **keywords: Any) -> int:
        self._limit()
        return super().recv_into(*arguments, **keywords)  # type: ignore[misc,no-any-return]

    def send(self, *arguments: Any, **keywords: Any) -> int:
        self._limit()
        return super().send(*arguments, **keywords)  # type: ignore[misc,no-any-return]

    def sendall(self, *arguments: Any, **keywords: Any) -> None:
        self._limit()
        super().sendall(*arguments, **keywords)  # type: ignore[misc]

    def do_handshake(self, *arguments: Any, **keywords: Any) -> None:
        self._limit()
        super().do_handshake(*arguments, **keywords)  # type: ignore[misc]


class TimedSocket(_DeadlineCalls, socket.socket):
    """Plain TCP socket. The standard library applies the timeout of sendall to all of the data."""


class TimedTlsSocket(_DeadlineCalls, ssl.SSLSocket):
    """TLS socket. The ssl module applies the timeout of a read, write or handshake to all of its system calls."""


class NameLookup:
    """Lookup of one host name, in a thread that ends with it, because the resolver supports no timeout."""

    def __init__(self, host: str, port: int) -> None:
        """Store host and port; `addresses` starts the lookup."""
        self._host, self._port = host, port
        self._found: queue.SimpleQueue[Sequence[Address] | OSError] = queue.SimpleQueue()

    def addresses(self, end: float) -> Sequence[Address]:
        """Return the addresses for TCP by `end` (monotonic seconds). Raises TimeoutError, OSError."""
        with contextlib.suppress(socket.gaierror, UnicodeError):
            return self._resolved(socket.AI_NUMERICHOST)
        threading.Thread(target=self._resolve, name="name-lookup", daemon=True).start()
        try:
            found = self._found.get(timeout=max(end - time.monotonic(), 0.001))
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(found, OSError):
            raise found
        return found

    def cancel(self) -> None:
        """End the wait in another thread with OSError."""
        self._found.put(OSError())

    def _resolve(self) -> None:
        try:
            self._found.put(self._resolved(0))
        except OSError as error:
            self._found.put(error)
        except UnicodeError:  # a label of more than 63 characters
            self._found.put(socket.gaierror())

    def _resolved(self, flags: int) -> Sequence[Address]:
        return socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM, flags=flags)
