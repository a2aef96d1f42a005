"""HTTP/1.1, as much of it as a scrape takes: GET and HEAD of a few paths, kept connections, bounded in all it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

MOST_CONNECTIONS = 40
"""Connections that are open at once; for one more, the one that was silent longest is closed."""
REQUEST_SECONDS = 10.0
"""Seconds in which a request must have come as a whole, and its answer have been fetched."""
IDLE_SECONDS = 150.0
"""Seconds that a connection may wait for its next request."""

_LARGEST_REQUEST = 16 << 10
_REASONS = {
    200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 431: "Request Header Fields Too Large",
    503: "Service Unavailable", 505: "HTTP Version Not Supported",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked: the path without its query, and the headers by lower-case name."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a body and its type."""

    status: int = 200
    body: bytes = b""
    type: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


class BadRequest(Exception):  # noqa: N818
    """What came is no HTTP request; the answer says why."""

    def __init__(self, status: int, why: str) -> None:
        """Keep the status to answer with."""
        super().__init__(why)
        self.answer = Answer(status, f"{why}\n".encode())


def parse_request(head: bytes) -> tuple[Request, bool]:
    r"""Return the request of a head (without its empty line), and whether the connection may be kept.

        GET /metrics?x=1 HTTP/1.1\r\nHost: node:10042\r\nAccept-Encoding: gzip

    Raises BadRequest. A request with a body is answered, and its connection closed.
    """
    first, *rest = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[0].isalpha() or not words[1] or not words[2].startswith("HTTP/"):
        raise BadRequest(400, "not an HTTP request")
    if words[2] not in {"HTTP/1.0", "HTTP/1.1"}:
        raise BadRequest(505, "HTTP/1.1 is spoken here")
    headers: dict[str, str] = {}
    for line in rest:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadRequest(400, "not an HTTP header")
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value.strip()}" if lower in headers else value.strip()
    options = {word.strip().lower() for word in headers.get("connection", "").split(",")}
    keep = "close" not in options if words[2] == "HTTP/1.1" else "keep-alive" in options
    if headers.get("content-length", "0").strip("0") or "transfer-encoding" in headers:
        keep = False
    return Request(words[0], words[1].partition("?")[0], headers), keep


def preferences(header: str) -> list[tuple[str, dict[str, str], float]]:
    """Return what an Accept or Accept-Encoding lists: name, parameters, weight. What cannot be read weighs 0."""
    found = []
    for item in header.split(","):
        name, *rest = (part.strip() for part in item.split(";"))
        pairs = (part.partition("=") for part in rest)
        parameters = {key.strip().lower(): value.strip().strip('"') for key, _, value in pairs}
        try:
            weight = float(parameters.pop("q", "1"))
        except ValueError:
            weight = 0.0
        if name:
            found.append((name.lower(), parameters, weight if 0 <= weight <= 1 else 0.0))
    return found


class Connections:
    """The open connections, the one that was silent longest first."""

    def __init__(self, answer: Callable[[Request], Answer], clock: Callable[[], float]) -> None:
        """Let `answer` answer, which may not raise."""
        self.answer = answer
        self.clock = clock
        self._open: dict[Connection, None] = {}

    def touch(self, connection: Connection) -> None:
        """Note that it said something; if it is one too many, close the one that did not for longest."""
        self._open.pop(connection, None)
        self._open[connection] = None
        while len(self._open) > MOST_CONNECTIONS:
            self.drop(next(iter(self._open)))

    def forget(self, connection: Connection) -> None:
        """Note that it is closed."""
        self._open.pop(connection, None)

    def drop(self, connection: Connection) -> None:
        """Close it at once."""
        self.forget(connection)
        connection.abort()

    def sweep(self) -> None:
        """Close those that took too long."""
        now = self.clock()
        for connection in [c for c in self._open if now > c.until]:
            self.drop(connection)

    def drop_all(self) -> None:
        """Close them all."""
        for connection in list(self._open):
            self.drop(connection)


class Connection(asyncio.Protocol):
    """One client; its requests are answered one after the other."""

    def __init__(self, connections: Connections) -> None:
        """Belong to `connections`."""
        self.until = connections.clock() + REQUEST_SECONDS
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._full = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._connections.touch(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        del exc
        self._connections.forget(self)

    def data_received(self, data: bytes) -> None:
        """Take what came, and answer each request that is whole."""
        if not self._buffer:
            self.until = self._connections.clock() + REQUEST_SECONDS
        self._buffer += data
        self._connections.touch(self)
        if self._full and len(self._buffer) > _LARGEST_REQUEST:
            self._connections.drop(self)
        else:
            self._answer()

    def pause_writing(self) -> None:
        """The client does not fetch its answer: what it asks for next waits, and not for long."""
        self._full = True
        self.until = self._connections.clock() + REQUEST_SECONDS

    def resume_writing(self) -> None:
        """It fetched it."""
        self._full = False
        self._answer()

    def abort(self) -> None:
        """Close without a word."""
        if self._transport is not None:
            self._transport.abort()

    def _answer(self) -> None:
        while not self._full and self._transport is not None and not self._transport.is_closing():
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _LARGEST_REQUEST:
                    self._send(BadRequest(431, "too long a request").answer, keep=False)
                return
            head = bytes(self._buffer[:end])
            del self._buffer[: end + 4]
            try:
                request, keep = parse_request(head)
            except BadRequest as bad:
                self._send(bad.answer, keep=False)
                return
            self._send(self._connections.answer(request), keep=keep, body=request.method != "HEAD")
            self.until = self._connections.clock() + (REQUEST_SECONDS if self._buffer or self._full else IDLE_SECONDS)

    def _send(self, answer: Answer, *, keep: bool, body: bool = True) -> None:
        assert self._transport is not None  # noqa: S101  # whoever calls looked
        headers = (
            ("Content-Type", answer.type), ("Content-Length", str(len(answer.body))),
            ("X-Content-Type-Options", "nosniff"), *answer.headers, ("Connection", "keep-alive" if keep else "close"),
        )  # fmt: skip
        shown = "".join(f"{name}: {value}\r\n" for name, value in headers)
        head = f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}\r\n{shown}\r\n".encode()
        self._transport.write(head + answer.body if body else head)
        if not keep:
            self._transport.close()
