"""Client: questions to one server, one after the other, each with a deadline, over one connection that is kept."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import urlencode

import sdstop
from sdstop.core.format import safe
from sdstop.fleet.answer import Answer, parse_answer, parse_object
from sdstop.fleet.http_config import HttpConfig
from sdstop.fleet.problem import ServerError
from sdstop.fleet.url import Url

SECONDS = 15.0
"""Seconds in which an answer must have come as a whole."""
LARGEST = 32 << 20
"""Bytes that an answer may have, unpacked."""

_CHUNK = 1 << 16
_NO_POST = frozenset({404, 405, 411, 415, 501})
"""What servers and the gateways before them answer who take no POST."""

Fields = Sequence[tuple[str, str]]


class Client:
    """Not for several threads at once. A context manager."""

    def __init__(self, url: Url, config: HttpConfig, seconds: float = SECONDS) -> None:
        """Speak to a server; nothing is opened yet. Raises SettingsError where TLS cannot be spoken as told."""
        self.url = url
        self._config = config
        self._seconds = seconds
        self._context = config.context() if url.scheme == "https" else None
        self._connection: http.client.HTTPConnection | None = None
        self._post = True

    def query(self, expression: str, taken: float | None = None) -> Answer:
        """Evaluate at one moment (Unix seconds; None: now). Raises ServerError, SettingsError."""
        fields = [("query", expression), ("timeout", f"{self._seconds:g}s")]
        if taken is not None:
            fields.append(("time", f"{taken:.3f}"))
        return parse_answer(self._asked("/api/v1/query", fields))

    def query_range(self, expression: str, start: float, end: float, step: float) -> Answer:
        """Evaluate from `start` to `end` every `step` seconds. Raises ServerError, SettingsError."""
        fields = [
            ("query", expression), ("start", f"{start:.3f}"), ("end", f"{end:.3f}"), ("step", f"{step:g}"),
            ("timeout", f"{self._seconds:g}s"),
        ]  # fmt: skip
        return parse_answer(self._asked("/api/v1/query_range", fields))

    def server(self) -> str:
        """Return what the server says it is: `Prometheus 2.42.0`; "" where it does not say. Raises SettingsError.

        Source: /api/v1/status/buildinfo, which old servers and gateways lack and VictoriaMetrics leaves empty.
        """
        try:
            told = parse_object(self._asked("/api/v1/status/buildinfo", [], post=False)).get("data")
        except ServerError as error:
            if error.lasting or error.status is None:
                raise
            return ""
        return named(told if isinstance(told, dict) else {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the connection."""
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # -- one question -----------------------------------------------------------------------------------------

    def _asked(self, path: str, fields: Fields, *, post: bool = True) -> bytes:
        if post and self._post:
            status, body, why = self._sent("POST", path, fields)
            if status not in _NO_POST:
                return _judged(status, body, why)
        status, body, why = self._sent("GET", path, fields)
        if post and status < 400:
            self._post = False  # it takes none
        return _judged(status, body, why)

    def _sent(self, method: str, path: str, fields: Fields) -> tuple[int, bytes, str]:
        """Send a question; once more where the server had closed the connection that was kept."""
        kept = self._connection is not None
        end = time.monotonic() + self._seconds
        try:
            return self._exchange(method, path, fields, end)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            self.close()
            if not kept:
                raise self._unreachable(error, end) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise self._unreachable(error, end) from error
        try:
            return self._exchange(method, path, fields, end)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise self._unreachable(error, end) from error

    def _exchange(self, method: str, path: str, fields: Fields, end: float) -> tuple[int, bytes, str]:
        target, body = f"{self.url.prefix}{path}", urlencode(fields, errors="replace")
        if method == "GET" and body:
            target = f"{target}?{body}"
        headers = self._config.sent()
        connection = self._connection
        if connection is None:
            connection = self._connection = self._opened()
        # Whoever sends a byte now and then keeps a socket's timeout from ever ending; this clock does not wait.
        clock = threading.Timer(max(end - time.monotonic(), 0.0), _cut, (connection,))
        clock.daemon = True
        clock.start()
        try:
            if connection.sock is None:
                connection.connect()
            if time.monotonic() >= end:
                raise TimeoutError
            connection.putrequest(method, target, skip_accept_encoding=True)
            for name, value in (("User-Agent", f"sdstop/{sdstop.__version__}"), ("Accept", "application/json"),
                                ("Accept-Encoding", "gzip"), *headers):  # fmt: skip
                connection.putheader(name, value.encode("utf-8"))
            if method == "POST":
                connection.putheader("Content-Type", "application/x-www-form-urlencoded")
                connection.putheader("Content-Length", str(len(body)))
                connection.endheaders(body.encode("ascii"))
            else:
                connection.endheaders()
            response = connection.getresponse()
            data = _body(response)
        finally:
            clock.cancel()
        if response.will_close:
            self.close()
        return response.status, data, response.getheader("Location", "")

    def _opened(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self.url.host, self.url.port, timeout=self._seconds)
        connection = _Secured(self.url.host, self.url.port, timeout=self._seconds, context=self._context)
        connection.name = self._config.server_name or self.url.host
        return connection

    def _unreachable(self, error: Exception, end: float) -> ServerError:
        if isinstance(error, _TooLargeError):
            return ServerError(f"the answer is larger than {LARGEST >> 20} MiB; narrow it with --match")
        if isinstance(error, TimeoutError) or time.monotonic() >= end:
            return ServerError(f"no answer within {self._seconds:g} s")
        if isinstance(error, ssl.SSLCertVerificationError):
            return ServerError(f"its certificate is not trusted: {safe(error.verify_message, 120)}", lasting=True)
        if isinstance(error, ssl.SSLError):
            return ServerError(f"TLS: {safe(error.reason or 'failed', 80)}")
        if isinstance(error, socket.gaierror):
            return ServerError(f"no address is known for {safe(self.url.host, 80)}")
        if isinstance(error, OSError):
            return ServerError(f"cannot be reached: {safe(error.strerror or type(error).__name__, 120)}")
        return ServerError(f"speaks no HTTP that sdstop knows ({type(error).__name__})")


class _Secured(http.client.HTTPSConnection):
    """HTTPS to a server that may have another name in its certificate than its address has."""

    name = ""

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._context.wrap_socket(self.sock, server_hostname=self.name)  # type: ignore[attr-defined]


class _TooLargeError(ValueError):
    """An answer that is larger than any should be."""


def _cut(connection: http.client.HTTPConnection) -> None:
    """End an exchange from outside: whoever reads gets an error."""
    sock = connection.sock
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _body(response: http.client.HTTPResponse) -> bytes:
    """Read an answer, unpacked, up to a size. Raises OSError, HTTPException, ValueError."""
    packed = response.getheader("Content-Encoding", "").lower() == "gzip"
    unpack = zlib.decompressobj(wbits=31) if packed else None
    parts, size = [], 0
    while chunk := response.read(_CHUNK):
        try:
            data = chunk if unpack is None else unpack.decompress(chunk, LARGEST + 1 - size)
        except zlib.error as error:
            raise ValueError("bad gzip") from error
        size += len(data)
        if size > LARGEST:
            raise _TooLargeError
        parts.append(data)
    if response.length:
        raise http.client.IncompleteRead(b"")
    return b"".join(parts)


def _judged(status: int, body: bytes, location: str) -> bytes:
    """Return the body of an answer to a question that was understood. Raises ServerError."""
    if status == 200:
        return body
    said = _told(body)
    match status:
        case 401 | 403:
            raise ServerError(
                f"does not let us in ({status}{said}): --http-config says who we are", status, lasting=True
            )
        case 301 | 302 | 303 | 307 | 308:
            raise ServerError(
                f"sends us to {safe(location.partition('?')[0], 120)}: give that address", status, lasting=True
            )
        case 404:
            raise ServerError(f"has no such API there (404{said}): is a prefix missing in the address?", status)
        case 429 | 502 | 503 | 504:
            raise ServerError(f"is overloaded or not ready ({status}{said})", status)
    raise ServerError(f"answers {status}{said}", status)


def _told(body: bytes) -> str:
    """Return what an error's body says: JSON of the API, or a line of text; not a page."""
    try:
        parse_object(body)
    except ServerError as error:
        if error.args[0].startswith("the answer"):
            line = body[:200].decode("utf-8", "replace").strip().partition("\n")[0]
            return "" if not line or line.startswith("<") else f": {safe(line, 120)}"
        return f": {error}"
    return ""


def named(told: Mapping[str, Any]) -> str:
    """Return a server's name of its build information: Mimir names itself, Prometheus has a revision."""
    version = safe(told.get("version") or "", 40)
    application = told.get("application")
    if isinstance(application, str) and application:
        return f"{safe(application, 40)} {version}".strip()
    return f"Prometheus {version}" if version and told.get("revision") else ""
