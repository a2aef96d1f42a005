"""Minimal HTTP/1.1 server for scrapes: GET and HEAD of a few paths, keep-alive, bounded resources."""

from __future__ import annotations

import asyncio
import functools
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from msgspec import Struct, field

if TYPE_CHECKING:
    from sdstop.exporters.web.tls import HandshakeRefused, Tls

MOST_CONNECTIONS = 400
"""Maximum open connections; beyond that, the longest silent one without any request yet is closed first."""
REQUEST_SECONDS = 10.0
"""Timeout in seconds for a complete request, after any TLS handshake, and for a client that does not fetch
the next piece of its answer."""
ANSWER_SECONDS = 60.0
"""Timeout in seconds for a client to fetch a complete answer."""
IDLE_SECONDS = 150.0
"""Timeout in seconds of an idle connection."""

_LARGEST_REQUEST = 16 << 10
"""Bytes of a request: line and headers."""
_PIECE = 64 << 10
"""Bytes of an answer buffered per client; all clients share one copy of the page."""
_REASONS = {
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
    429: "Too Many Requests", 431: "Request Header Fields Too Large", 503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}  # fmt: skip


class Request(Struct, frozen=True):
    """Parsed request: path without the query, headers by lower-case name, and the query."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    query: tuple[tuple[str, str], ...] = ()


class PageResponse(Struct, frozen=True):
    """Response: status, body, content type and further headers."""

    status: int = 200
    body: bytes = b""
    type: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


class BadRequest(Exception):  # noqa: N818
    """Raised for a malformed or unsupported HTTP request; the answer gives the reason."""

    def __init__(self, status: int, why: str) -> None:
        """Store the answer with this status."""
        super().__init__(why)
        self.answer = PageResponse(status, f"{why}\n".encode())


def parse_request(head: bytes) -> tuple[Request, bool]:
    r"""Parse a request head (without its empty line); also return whether the connection may be kept.

        GET /metrics?x=1 HTTP/1.1\r\nHost: node:10042\r\nAccept-Encoding: gzip

    Raises BadRequest. A request with a body is answered, and its connection closed.
    """
    first, *rest = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[0].isalpha() or not words[1] or not words[2].startswith("HTTP/"):
        raise BadRequest(400, "not an HTTP request")
    if words[2] not in {"HTTP/1.0", "HTTP/1.1"}:
        raise BadRequest(505, "only HTTP/1.1 is supported")
    headers: dict[str, str] = {}
    for line in rest:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadRequest(400, "malformed header")
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value.strip()}" if lower in headers else value.strip()
    options = {word.strip().lower() for word in headers.get("connection", "").split(",")}
    keep = "close" not in options if words[2] == "HTTP/1.1" else "keep-alive" in options
    if headers.get("content-length", "0").strip("0") or "transfer-encoding" in headers:
        keep = False
    path, _, query = words[1].partition("?")
    return Request(words[0], path, headers, parse_query(query)), keep


def parse_query(query: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a query, `collect[]=mdraid&collect%5B%5D=sas`."""
    pairs = (part.partition("=") for part in query.split("&") if part)
    return tuple((_plain(name), _plain(value)) for name, _, value in pairs)


def _plain(text: str) -> str:
    """Decode `%5B` and `+` in a query."""
    data = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), text.replace("+", " ").encode())
    return data.decode("utf-8", "replace")


def preferences(header: str) -> list[tuple[str, dict[str, str], float]]:
    """Parse Accept or Accept-Encoding into (name, parameters, weight); an invalid weight counts as 0."""
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


Reply = PageResponse | asyncio.Future[PageResponse]
"""An answer, or a pending one while a password is checked."""


class Connections:
    """Open connections in order of last activity, oldest first; those without a request yet are kept separately."""

    def __init__(
        self,
        answer: Callable[[Request], Reply],
        clock: Callable[[], float],
        secure: Callable[[], Tls | None] | None = None,
    ) -> None:
        """Use `answer`, which must not raise, for requests, and `secure` for the TLS state of new connections."""
        self.answer = answer
        self.clock = clock
        self.secure = secure or (lambda: None)
        self._open: dict[HttpConnection, None] = {}
        self._mute: dict[HttpConnection, None] = {}

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._open) + len(self._mute)

    def touch(self, connection: HttpConnection) -> None:
        """Record activity of a connection; above the maximum, close the oldest one."""
        self.forget(connection)
        (self._open if connection.asked else self._mute)[connection] = None
        while len(self) > MOST_CONNECTIONS:
            oldest = next((c for c in (*self._mute, *self._open) if c is not connection), connection)
            self.drop(oldest)

    def forget(self, connection: HttpConnection) -> None:
        """Remove a closed connection."""
        self._open.pop(connection, None)
        self._mute.pop(connection, None)

    def drop(self, connection: HttpConnection) -> None:
        """Close a connection immediately."""
        self.forget(connection)
        connection.abort()

    def sweep(self) -> None:
        """Close connections that have timed out."""
        now = self.clock()
        for connection in [c for c in (*self._open, *self._mute) if now > c.until]:
            self.drop(connection)

    def drop_all(self) -> None:
        """Close all connections immediately."""
        for connection in (*self._open, *self._mute):
            self.drop(connection)


class HttpConnection(asyncio.Protocol):
    """Connection of one client; its requests are answered in order."""

    def __init__(self, connections: Connections) -> None:
        """Start the request timeout; `connections` tracks this connection."""
        self.until = connections.clock() + REQUEST_SECONDS
        self.asked = False
        """Whether at least one complete request was received."""
        self._connections = connections
        self._tls = connections.secure()
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._rest = memoryview(b"")
        self._latest = 0.0
        self._keep = True
        self._full = self._waits = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the new connection."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_PIECE)
        self._connections.touch(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the closed connection."""
        del exc
        self._connections.forget(self)

    def data_received(self, data: bytes) -> None:
        """Buffer received data and answer each complete request."""
        if self._tls is not None:
            from sdstop.exporters.web.tls import HandshakeRefused  # noqa: PLC0415  # imported by its maker

            try:
                data = self._tls.received(data)
            except HandshakeRefused as refused:
                self._refuse(self._tls, refused)
                return
            self._write(b"")
            if not data:
                return
        if self.asked and not self._buffer and not self._busy:
            self.until = self._connections.clock() + REQUEST_SECONDS
        self._buffer += data
        self._connections.touch(self)
        if self._busy and len(self._buffer) > _LARGEST_REQUEST:
            self._connections.drop(self)
        else:
            self._answer()

    def pause_writing(self) -> None:
        """Hold further requests and shorten the timeout while the client does not fetch its answer."""
        self._full = True
        self.until = min(self._latest, self._connections.clock() + REQUEST_SECONDS)

    def resume_writing(self) -> None:
        """Continue after the client fetched a piece of its answer."""
        self._full = False
        self._pump()
        self._answer()

    def abort(self) -> None:
        """Close the connection without an answer."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def _busy(self) -> bool:
        """Whether an answer is pending or being sent."""
        return self._full or self._waits or bool(self._rest)

    def _refuse(self, tls: Tls, refused: HandshakeRefused) -> None:
        """Close a connection after a failed handshake; a plain HTTP client gets an error response."""
        assert self._transport is not None  # noqa: S101  # data was received
        self._tls = None
        if refused.plain:
            self._send(PageResponse(400, b"this is a HTTPS server\n"), keep=False)
        else:
            self._transport.write(tls.sent(b""))
            self._transport.close()

    def _answer(self) -> None:
        while not self._busy and self._transport is not None and not self._transport.is_closing():
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _LARGEST_REQUEST:
                    self._send(BadRequest(431, "request too long").answer, keep=False)
                return
            head = bytes(self._buffer[:end])
            del self._buffer[: end + 4]
            try:
                request, keep = parse_request(head)
            except BadRequest as bad:
                self._send(bad.answer, keep=False)
                return
            self.asked = True
            self._connections.touch(self)
            body = request.method != "HEAD"
            reply = self._connections.answer(request)
            if isinstance(reply, PageResponse):
                self._send(reply, keep=keep, body=body)
            else:
                self._waits = True
                reply.add_done_callback(functools.partial(self._came, keep=keep, body=body))

    def _came(self, reply: asyncio.Future[PageResponse], *, keep: bool, body: bool) -> None:
        """Send a pending answer if the connection is still open."""
        self._waits = False
        if reply.cancelled() or self._transport is None or self._transport.is_closing():
            return
        self._send(reply.result(), keep=keep, body=body)
        self._answer()

    def _send(self, answer: PageResponse, *, keep: bool, body: bool = True) -> None:
        assert self._transport is not None  # noqa: S101  # checked by the caller
        headers = {
            "Date": http_date(time.time()), "Content-Type": answer.type, "Content-Length": str(len(answer.body)),
            "X-Content-Type-Options": "nosniff",
            **dict(answer.headers), "Connection": "keep-alive" if keep else "close",
        }  # fmt: skip
        shown = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        head = f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}\r\n{shown}\r\n".encode()
        self._keep = keep
        self._latest = self._connections.clock() + ANSWER_SECONDS
        self.until = self._latest
        page = memoryview(answer.body if body else b"")
        self._rest = page[_PIECE:]
        self._write(head + page[:_PIECE])
        self._pump()

    def _pump(self) -> None:
        """Write the next pieces of the answer until the write buffer is full."""
        while self._rest and not self._full:
            piece, self._rest = self._rest[:_PIECE], self._rest[_PIECE:]
            self._write(piece)
        if self._busy or self._transport is None:
            return
        self._rest = memoryview(b"")  # releases the page
        if self._keep:
            self.until = self._connections.clock() + (REQUEST_SECONDS if self._buffer else IDLE_SECONDS)
        else:
            if self._tls is not None:
                self._transport.write(self._tls.farewell())
            self._transport.close()

    def _write(self, data: bytes | memoryview) -> None:
        assert self._transport is not None  # noqa: S101  # checked by the caller
        if self._tls is not None:
            try:
                data = self._tls.sent(data)
            except HandshakeRefused:
                self._transport.abort()
                return
        if data:
            self._transport.write(data)


_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def http_date(taken: float) -> str:
    """Return a Unix time as in HTTP headers (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`."""
    t = time.gmtime(taken)
    day = f"{_DAYS[t.tm_wday]}, {t.tm_mday:02d} {_MONTHS[t.tm_mon - 1]} {t.tm_year}"
    return f"{day} {t.tm_hour:02d}:{t.tm_min:02d}:{t.tm_sec:02d} GMT"
