"""Exporter service: one event loop receives frames from the sampler and answers scrapes from the last one.

The service never reads the node itself, so that a source that hangs can delay neither a scrape nor the shutdown.
"""

from __future__ import annotations

import asyncio
import errno
import math
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import sdstop
from sdstop.core.config_error import ConfigError
from sdstop.core.ending import end_soon
from sdstop.core.evidence import Frame
from sdstop.core.format import duration, safe
from sdstop.core.judging import Judging
from sdstop.core.output_file import READABLE, OutputFile
from sdstop.exporters.local.service import LocalService
from sdstop.exporters.prometheus.exposition import OPENMETRICS, TEXT
from sdstop.exporters.prometheus.metrics import STALE, Exposition
from sdstop.exporters.prometheus.page import WHOLE, PageSelection
from sdstop.exporters.web.guard import RequestGuard
from sdstop.exporters.web.http import Connections, HttpConnection, PageResponse, Reply, Request, preferences
from sdstop.exporters.web.notifier import Notifier

TEXTFILE_SECONDS = 15.0
"""Interval in seconds at which the textfile is written."""
INTERRUPTED = 130
"""Exit code of a program that Ctrl-C ended (128 + SIGINT)."""
_SOON, _SELDOM = 1.0, 5.0
"""Seconds between ticks. Connections time out after 10 s and more."""
_BACKLOG = 512
"""Listen backlog: connections that the kernel queues while the loop is busy."""

_LANDING = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>sdstop</title></head>
<body><h1>sdstop {sdstop.__version__}</h1>
<p><a href="/metrics">Metrics</a> for Prometheus. <a href="/-/healthy">Healthy</a>, <a href="/-/ready">ready</a>.</p>
</body></html>
""".encode()


class FrameFeed(Protocol):
    """Source of a live node's frames."""

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when frames are available."""

    def receive(self) -> list[Frame]:
        """Return the available frames without waiting."""

    @property
    def alive(self) -> bool:
        """Return whether more frames can arrive."""


Reload = Callable[[], None]
"""Function that reloads the configuration; raises ConfigError with a one-line text."""


def answer(exposition: Exposition, request: Request) -> PageResponse:
    """Answer a request from the last frame."""
    paths: dict[str, Callable[[], PageResponse]] = {
        "/metrics": lambda: _metrics(exposition, request),
        "/-/healthy": lambda: PageResponse(body=b"sdstop is up\n"),
        "/-/ready": lambda: _ready(exposition),
        "/": lambda: PageResponse(body=_LANDING, type="text/html; charset=utf-8"),
    }
    found = paths.get(request.path)
    if found is None:
        return PageResponse(404, b"there is /metrics, /-/healthy and /-/ready\n")
    if request.method not in {"GET", "HEAD"}:
        return PageResponse(405, b"GET and HEAD only\n", headers=(("Allow", "GET, HEAD"),))
    return found()


def _ready(exposition: Exposition) -> PageResponse:
    return PageResponse(body=b"ready\n") if exposition.ready else _unready(exposition)


def _unready(exposition: Exposition) -> PageResponse:
    """Return why there is nothing to show; an old page would look like a healthy node."""
    said = "no sample yet"
    if math.isfinite(exposition.age):
        said = f"the newest sample is {duration(exposition.age)} old, the limit is {duration(exposition.oldest)}"
    return PageResponse(503, f"{said}\n".encode(), headers=(("Retry-After", "1"),))


def _metrics(exposition: Exposition, request: Request) -> PageResponse:
    if not exposition.ready:
        return _unready(exposition)
    openmetrics = wants_openmetrics(request.headers.get("accept", ""))
    packed = wants_gzip(request.headers.get("accept-encoding", ""))
    try:
        part = part_of(request.query, exposition.parts)
    except ValueError as error:
        return PageResponse(400, f"{error}\n".encode())
    page = exposition.page(openmetrics=openmetrics, packed=packed, part=part)
    encoding = (("Content-Encoding", "gzip"),) if packed else ()
    headers = (*encoding, ("Vary", "Accept, Accept-Encoding"))
    return PageResponse(200, page, OPENMETRICS if openmetrics else TEXT, headers)


def part_of(query: Sequence[tuple[str, str]], known: frozenset[str]) -> PageSelection:
    """Return the requested parts of the page: `collect[]=NAME` only these, `exclude[]=NAME` all but these.

    Raises ValueError for unknown names, and for both parameters together, like node_exporter.
    """
    only, without = ({value for name, value in query if name == word} for word in ("collect[]", "exclude[]"))
    for name in sorted(only | without):
        if name not in known:
            raise ValueError(f"unknown collector {safe(name, 100)}; valid: {', '.join(sorted(known))}")
    if only and without:
        raise ValueError("cannot combine collect[] and exclude[]")
    return PageSelection(frozenset(only)) if only else PageSelection(known - without) if without else WHOLE


def wants_openmetrics(accept: str) -> bool:
    """Return whether OpenMetrics has at least the preference of plain text."""
    wanted, other = 0.0, 0.0
    for name, parameters, weight in preferences(accept):
        if name == "application/openmetrics-text" and parameters.get("version", "1.0.0") in {"0.0.1", "1.0.0"}:
            wanted = max(wanted, weight)
        elif name in {"text/plain", "text/*", "*/*"}:
            other = max(other, weight)
    return wanted > 0 and wanted >= other


def wants_gzip(accept_encoding: str) -> bool:
    """Return whether the client accepts gzip."""
    weights = {name: weight for name, _, weight in preferences(accept_encoding)}
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def write_textfile(path: Path, page: bytes) -> None:
    """Replace node_exporter's textfile; readable by other users, as node_exporter may be one. Raises OSError."""
    with OutputFile(path, mode=READABLE, streams=False, durable=False) as file:
        file.write(page)


class Server:
    """Server of an exposition, which runs until a signal arrives."""

    def __init__(
        self,
        exposition: Exposition,
        feed: FrameFeed | None,
        say: Callable[[str], None],
        web: RequestGuard | None = None,
        reload: Reload | None = None,
        local: LocalService | None = None,
        *,
        good: bool = True,
    ) -> None:
        """Receive frames from `feed` (None: no new frames); `say` prints one line for the operator.

        `web` is the access control; `reload` is called on SIGHUP, None: SIGHUP ends the server. `local` is the socket
        for programs on the same node; `good` whether all settings of the configuration are in effect.
        """
        self._exposition = exposition
        self._feed = feed
        self._say = say
        self._web = web or RequestGuard(None, say, time.monotonic)
        self._reload = reload
        self._local = local
        self._good = good
        self._notifier = Notifier(os.environ)
        self._url = ""
        self._connections: Connections | None = None
        self._textfile: Path | None = None
        self._wrong = ""
        self._judging: Judging[None] | None = None
        self._began = self._due = 0.0
        """Start of the service, and of the next textfile (seconds of the loop)."""
        self._told = False
        """Whether systemd knows that the service is ready."""

    def run(self, address: tuple[str, int] | None, textfile: Path | None = None) -> int:
        """Serve on (host, port), write to `textfile`, or both. Raises OSError.

        Return the signal that ended the server; 0 if no more frames can arrive.
        """
        self._textfile = textfile
        try:
            return asyncio.run(self._run(address))
        finally:
            self._withdraw()

    async def _run(self, address: tuple[str, int] | None) -> int:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[int] = loop.create_future()
        loop.set_exception_handler(self._unexpected)
        self._connections = connections = Connections(self._answer, loop.time, self._web.tls)
        server = None
        if address is not None:
            host, port = address
            server = await loop.create_server(lambda: HttpConnection(connections), host or None, port, backlog=_BACKLOG)
            self._url = f"{_url(server.sockets[0].getsockname(), secure=self._web.secure)}/metrics"
            self._say(f"sdstop: serving {self._url}")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                loop.add_signal_handler(number, _end, ended, number)
                if number != signal.SIGHUP or self._reload is None:
                    signal.signal(number, lambda number, _: end_soon(ended_code(number), self._withdraw))
                    signal.siginterrupt(number, False)  # noqa: FBT003  # takes no keyword
        if self._reload is not None:
            loop.add_signal_handler(signal.SIGHUP, self._reread, self._reload)
        if self._local is not None:
            await self._open(self._local)
        if self._feed is not None:
            self._judging = judging = Judging(
                self._exposition.feed, self._exposition.session.guard, self._exposition.interval
            )
            loop.add_reader(judging.fileno(), self._judged, judging)
            loop.add_reader(self._feed.fileno(), self._take, self._feed, judging, ended)
        try:
            return await self._beat(ended)
        finally:
            if self._judging is not None:
                loop.remove_reader(self._judging.fileno())
                self._judging.close()
            if self._feed is not None:
                loop.remove_reader(self._feed.fileno())
            if server is not None:
                server.close()
            connections.drop_all()
            if self._local is not None:
                self._local.close()
            self._web.close()
            self._notifier.stopping()

    async def _open(self, local: LocalService) -> None:
        """Open the local socket; without it the exporter works, and checks sample for themselves."""
        try:
            await local.open()
        except OSError as error:
            self._local = None
            if local.wanted or error.errno not in {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS}:
                self._say(f"sdstop: no local socket at {safe(local.path)}: {error.strerror or error}")

    async def _beat(self, ended: asyncio.Future[int]) -> int:
        """Wait for the end, and call `_tick` now and then until then."""
        loop = asyncio.get_running_loop()
        ticks: list[asyncio.TimerHandle] = []

        def tick() -> None:
            ticks[:] = [loop.call_later(self._pause, tick)]
            self._tick(loop.time())

        ticks.append(loop.call_later(1.0, tick))
        self._began = self._due = loop.time()
        try:
            return await ended
        finally:
            ticks[0].cancel()

    @property
    def _pause(self) -> float:
        """Seconds between ticks: few until systemd is notified, and while it expects signs of life."""
        watchdog = self._notifier.watchdog
        return _SOON if not self._told or (watchdog is not None and watchdog < 4 * _SELDOM) else _SELDOM

    def _tick(self, now: float) -> None:
        """Close timed-out connections, notify systemd, write the textfile."""
        if self._connections is not None:
            self._connections.sweep()
        ready = self._exposition.ready
        if ready and not self._told:
            self._told = True
            self._notifier.ready(self._status)
        # Without recent frames the watchdog expires, so that systemd restarts the service as for a stuck loop.
        if self._notifier.watchdog is not None and min(self._exposition.age, now - self._began) < STALE:
            self._notifier.alive()
        if not ready:
            self._withdraw()
        elif self._textfile is not None and now >= self._due:
            self._due = now + TEXTFILE_SECONDS
            self._write(self._textfile)

    def _take(self, feed: FrameFeed, judging: Judging[None], ended: asyncio.Future[int]) -> None:
        """Hand the frames that have arrived to the thread that judges them."""
        if self._reload is not None or self._web.configured:
            self._exposition.reloaded = self._good and self._web.good
        judging.put(feed.receive())
        if not feed.alive:
            _end(ended, 0)

    def _judged(self, judging: Judging[None]) -> None:
        judging.take()
        self._exposition.late = judging.late
        if self._local is not None:
            self._local.judged()

    @property
    def _status(self) -> str:
        return f"serving {self._url}" if self._url else f"writing {safe(self._textfile)}"

    def _answer(self, request: Request) -> Reply:
        return self._web.guarded(request, lambda asked: answer(self._exposition, asked))

    def _reread(self, reload: Reload) -> None:
        """Reload the configuration; report an invalid one and keep the previous configuration."""
        self._notifier.reloading()
        try:
            reload()
            self._good = True
        except ConfigError as error:
            self._good = False
            self._say(f"sdstop: {safe(error, 500)}; keeping the previous configuration")
        self._web.reload()
        self._notifier.ready(self._status)

    def _withdraw(self) -> None:
        """Remove the textfile, of which node_exporter would show old values."""
        if self._textfile is not None:
            self._textfile.resolve().unlink(missing_ok=True)

    def _write(self, path: Path) -> None:
        try:
            write_textfile(path, self._exposition.page(process=False))
            self._wrong = ""
        except OSError as error:
            self._complain(f"sdstop: cannot write {safe(path)}: {error.strerror}")

    def _unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report an unexpected exception; it affects only the frame or client that caused it."""
        del loop
        what = context.get("exception")
        self._complain(f"sdstop: internal error: {context.get('message', '')} {type(what).__name__}: {safe(what)}")

    def _complain(self, line: str) -> None:
        if line != self._wrong:  # once, not every second
            self._wrong = line
            self._say(line)


def ended_code(number: int) -> int:
    """Return the exit code of an exporter that a signal ended; SIGTERM is the usual way."""
    return INTERRUPTED if number == signal.SIGINT else 0


def _end(ended: asyncio.Future[int], number: int) -> None:
    if not ended.done():
        ended.set_result(number)


def _url(name: tuple[Any, ...], *, secure: bool) -> str:
    host = f"[{name[0]}]" if ":" in name[0] else name[0]
    return f"http{'s' * secure}://{host}:{name[1]}"
