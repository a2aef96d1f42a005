"""Clients of a server's API: sequential queries with a deadline each, over one keep-alive connection."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar, Self

import sdstop
from sdstop.core.format import safe
from sdstop.fleet.answer import BuildInfo, QueryAnswer, error_text, parse_answer, parse_build_info
from sdstop.fleet.http_config import HttpConfig
from sdstop.fleet.problem import ServerError
from sdstop.fleet.url import Url
from sdstop.node.http import (
    Endpoint,
    HttpClient,
    HttpError,
    HttpTimeout,
    Response,
    ResponseTooLarge,
    UntrustedCertificate,
    form,
)

SECONDS = 15.0
"""Default deadline in seconds for a complete response."""

_BUILD_INFO = "/api/v1/status/buildinfo"
_QUERY, _QUERY_RANGE = _QUERY_PATHS = ("/api/v1/query", "/api/v1/query_range")
_NO_POST = frozenset({404, 405, 411, 415, 501})
"""Status codes of servers, or gateways in front of them, that do not accept POST."""

Fields = Sequence[tuple[str, str]]


class ServerClient:
    """Client of the API of one server, below the prefix of its URL; not thread-safe. Context manager.

    `reads` are the paths that are read with GET, `asks` those that are queried with POST as well. No other request
    leaves.
    """

    reads: ClassVar[frozenset[str]] = frozenset()
    asks: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, url: Url, config: HttpConfig, seconds: float | None = None) -> None:
        """Prepare without connecting; a query takes at most `seconds`. Raises ConfigError for unusable TLS files."""
        self.url = url
        self.seconds = SECONDS if seconds is None else seconds
        self._config = config
        context = config.context() if url.scheme == "https" else None
        self._http = HttpClient(Endpoint(url.host, url.port, context, config.server_name), self._allowed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a running query in another thread fails at once."""
        self._http.close()

    def _sent(self, method: str, path: str, fields: Fields, end: float) -> Response:
        target, body = f"{self.url.prefix}{path}", form(fields)
        headers = [("User-Agent", f"sdstop/{sdstop.__version__}"), ("Accept", "application/json"), *self._config.sent()]
        data = None
        if method == "POST":
            headers.append(("Content-Type", "application/x-www-form-urlencoded"))
            data = body.encode("ascii")
        elif body:
            target = f"{target}?{body}"
        try:
            return self._http.request(method, target, headers, data, end - time.monotonic())
        except HttpTimeout:
            raise ServerError(f"no complete response within {self.seconds:g} s") from None
        except ResponseTooLarge as error:
            raise ServerError(f"{error}; narrow it with --match") from None
        except HttpError as error:
            raise ServerError(safe(error, 200), lasting=isinstance(error, UntrustedCertificate)) from None

    def _allowed(self, method: str, target: str) -> bool:
        path = target.partition("?")[0].removeprefix(self.url.prefix)
        return (method == "POST" and path in self.asks) or (method == "GET" and path in self.reads)


class PrometheusClient(ServerClient):
    """Client of the query API of one server."""

    reads = frozenset({*_QUERY_PATHS, _BUILD_INFO})
    asks = frozenset(_QUERY_PATHS)

    def __init__(self, url: Url, config: HttpConfig, seconds: float | None = None) -> None:
        """Prepare without connecting, as every client of a server."""
        super().__init__(url, config, seconds)
        self._post = True

    def query(self, expression: str, taken: float | None = None) -> QueryAnswer:
        """Evaluate at a point in time (Unix seconds; None: now). Raises ServerError, ConfigError."""
        fields = [("query", expression), ("timeout", f"{self.seconds:g}s")]
        if taken is not None:
            fields.append(("time", f"{taken:.3f}"))
        return parse_answer(self._asked(_QUERY, fields))

    def query_range(self, expression: str, start: float, end: float, step: float) -> QueryAnswer:
        """Evaluate from `start` to `end` every `step` seconds. Raises ServerError, ConfigError."""
        fields = [
            ("query", expression), ("start", f"{start:.3f}"), ("end", f"{end:.3f}"), ("step", f"{step:g}"),
            ("timeout", f"{self.seconds:g}s"),
        ]  # fmt: skip
        return parse_answer(self._asked(_QUERY_RANGE, fields))

    def server(self) -> str:
        """Return the server's name and version, `Prometheus 2.42.0`; "" if unknown. Raises ServerError, ConfigError.

        Source: /api/v1/status/buildinfo, which old servers and gateways lack and VictoriaMetrics leaves empty.
        """
        try:
            return named(parse_build_info(self._asked(_BUILD_INFO, [], post=False)))
        except ServerError as error:
            if error.lasting or error.status is None:
                raise
            return ""

    def _asked(self, path: str, fields: Fields, *, post: bool = True) -> bytes:
        end = time.monotonic() + self.seconds
        if post and self._post:
            response = self._sent("POST", path, fields, end)
            if response.status not in _NO_POST:
                return judged(response)
        response = self._sent("GET", path, fields, end)
        if post and response.status < 400:
            self._post = False  # the server does not accept POST
        return judged(response)


def judged(response: Response) -> bytes:
    """Return the body of a successful response. Raises ServerError for any other status."""
    status = response.status
    if status == 200:
        return response.body
    said = _error_message(response.body)
    match status:
        case 401 | 403:
            raise ServerError(
                f"authentication failed ({status}{said}); set credentials with --http-config", status, lasting=True
            )
        case 301 | 302 | 303 | 307 | 308:
            raise ServerError(
                f"redirects to {safe(response.header('Location').partition('?')[0], 120)}; use that URL",
                status,
                lasting=True,
            )
        case 404:
            raise ServerError(f"API not found (404{said}); missing path prefix?", status)
        case 429 | 502 | 503 | 504:
            raise ServerError(f"server unavailable ({status}{said})", status)
    raise ServerError(f"HTTP {status}{said}", status)


def _error_message(body: bytes) -> str:
    """Return the text of an error body: API JSON or the first line of text, but not HTML."""
    text = error_text(body)
    if text is None:
        line = body[:200].decode("utf-8", "replace").strip().partition("\n")[0]
        text = "" if line.startswith("<") else safe(line, 120)
    return text and f": {text}"


def named(build: BuildInfo) -> str:
    """Return a server's name from its build information: Mimir names itself, Prometheus has a revision."""
    version = safe(build.version, 40)
    if build.application:
        return f"{safe(build.application, 40)} {version}".strip()
    return f"Prometheus {version}" if version and build.revision else ""
