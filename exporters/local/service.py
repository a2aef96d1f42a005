"""Local socket of the exporter: answers checks, and sends the frames that it judges to attached dashboards."""

from __future__ import annotations

import asyncio
import contextlib
import grp
import json
import os
import socket
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from sdstop.core.guard import Part
from sdstop.core.policy import names_in
from sdstop.core.session import Session
from sdstop.exporters.local.client import VERSION
from sdstop.exporters.local.frames import frame_line, header_line
from sdstop.exporters.plugin import below, line, narrowed, numbers, verdict
from sdstop.exporters.prometheus.metrics import Exposition

GROUP = "sdstop"
"""Group of the socket if it exists, otherwise that of the process."""
YOUNG = 6.0
"""Seconds that a session must have lasted: rules that need a rate could not judge before."""
MOST = 32
"""Maximum connections; further ones are closed."""
WAITS = 5.0
"""Seconds that a client may take for its request."""

_LONGEST = 1 << 16
"""Maximum bytes of a request."""
_FULL = 8 << 20
"""Bytes that a client has not read above which it gets no further frame until it has."""


class LocalRequest(msgspec.Struct, frozen=True):
    """Request of a client."""

    sdstop: int
    ask: str
    rule: tuple[str, ...] | None = None
    subject: tuple[str, ...] | None = None
    strict: bool = False


class LocalService:
    """Local socket of one exporter. It owns the path from `open` to `close`."""

    def __init__(
        self, exposition: Exposition, path: Path, *, wanted: bool = True, let_rest: Callable[[bool], None] | None = None
    ) -> None:
        """Answer for this exposition at this path; `wanted`: the operator chose it.

        `let_rest` is called with False when a dashboard attaches, which wants every sample, and with True when the last
        one has gone.
        """
        self.path = path
        self.wanted = wanted
        self.config: Sequence[str] = ()
        """Configuration files that the exporter has read."""
        self.changed: Callable[[], Sequence[str]] = tuple
        """Returns the configuration files that are no longer as the exporter has read them."""
        self._exposition = exposition
        self._let_rest = let_rest or (lambda _: None)
        self._connections: set[LocalConnection] = set()
        self._watching: dict[LocalConnection, int] = {}
        """Number of the last frame sent, by connection."""
        self._server: asyncio.Server | None = None
        self._made: os.stat_result | None = None
        self._ended = False

    @property
    def _session(self) -> Session:
        return self._exposition.session

    async def open(self) -> None:
        """Create the socket. Raises OSError, also if another exporter answers there."""
        if os.geteuid() == 0:
            self.path.parent.mkdir(mode=0o755, exist_ok=True)
        _remove_stale(self.path)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            listening.bind(str(self.path))
            self._made = self.path.stat()
            self.path.chmod(0o660)
            with contextlib.suppress(KeyError, PermissionError):
                os.chown(self.path, -1, grp.getgrnam(GROUP).gr_gid)
            loop = asyncio.get_running_loop()
            self._server = await loop.create_unix_server(lambda: LocalConnection(self), sock=listening)
        except BaseException:
            listening.close()
            raise

    def close(self) -> None:
        """Close all connections and remove the socket, unless it is another one by now."""
        self._ended = True
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.close()
        with contextlib.suppress(OSError):
            if self._made is not None and os.path.samestat(self.path.stat(), self._made):
                self.path.unlink()

    def connect(self, connection: LocalConnection) -> bool:
        """Add a connection; return False if there are too many, or if the service is closed."""
        self._connections.add(connection)
        return len(self._connections) <= MOST and not self._ended

    def disconnect(self, connection: LocalConnection) -> None:
        """Forget a connection."""
        self._connections.discard(connection)
        if self._watching.pop(connection, None) is not None and not self._watching:
            self._let_rest(True)  # noqa: FBT003  # takes no keyword

    def answer(self, connection: LocalConnection, data: bytes) -> bool:
        """Answer a request; return whether the connection stays open."""
        try:
            asked = msgspec.json.decode(data, type=LocalRequest)
        except msgspec.MsgspecError:
            connection.send(_error("not a request"))
            return False
        if asked.sdstop != VERSION or asked.ask not in {"check", "frames"}:
            connection.send(_error("another version of sdstop"))
            return False
        if asked.ask == "check":
            guard = self._session.guard
            connection.send(guard.call(Part.PAGE, "check", lambda: self._check(asked), _error))
            return False
        connection.send(header_line(self._session.origin, self._exposition.interval))
        if not self._watching:
            self._let_rest(False)  # noqa: FBT003  # takes no keyword
        self._watching[connection] = -1
        self._send(connection)
        return True

    def judged(self) -> None:
        """Send the newest frames to the attached dashboards."""
        for connection in list(self._watching):
            self._send(connection)

    def _check(self, asked: LocalRequest) -> bytes:
        session, exposition = self._session, self._exposition
        look = session.latest
        if look is None or not exposition.ready:
            return _error("the exporter has no recent sample")
        if look.judged - session.began < YOUNG:
            return _error("the exporter has just started")
        judgement = narrowed(look.judgement, asked.rule, asked.subject, names_in(look.window.topology))
        found = verdict(session, judgement, strict=asked.strict)
        stale = [f"CONFIGURATION: {path} has changed; reload the exporter" for path in self.changed()]
        text = line(found.code, found.said, numbers(judgement)) + below((*stale, *found.details))
        privileged = session.origin.privileged is True
        answer = {
            "sdstop": VERSION, "code": found.code, "text": text, "age": exposition.age, "privileged": privileged,
            "config": list(self.config),
        }  # fmt: skip
        return json.dumps(answer).encode() + b"\n"

    def _send(self, connection: LocalConnection) -> None:
        """Send the frames since the last one sent; after a gap, the state with all evidence known.

        A client that does not read gets nothing until it does, and then the state.
        """
        if connection.waiting > _FULL:
            return
        timeline = self._session.timeline.copy()
        sent = self._watching[connection]
        numbers_kept = [frame.number for frame in timeline.frames]
        new = [index for index, number in enumerate(numbers_kept) if number > sent]
        if not new:
            return
        whole = sent < 0 or new[0] == 0
        frames = timeline.recall(0, len(numbers_kept)) if whole else [timeline.frame(index) for index in new]
        self._watching[connection] = numbers_kept[-1]
        connection.send(b"".join(map(frame_line, frames)))


class LocalConnection(asyncio.Protocol):
    """Connection of a client: one request, then the answer."""

    def __init__(self, service: LocalService) -> None:
        """Start before the connection is made."""
        self._service = service
        self._held = b""
        self._asked = False
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Bytes that the client has not read."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the request, for a limited time."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # a stream socket's
        self._transport = transport
        if not self._service.connect(self):
            transport.abort()
            return
        self._timer = asyncio.get_running_loop().call_later(WAITS, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Collect the request; what follows it is ignored."""
        if self._asked or self._transport is None:
            return
        self._held += data
        if b"\n" in self._held:
            self._asked = True
            if self._service.answer(self, self._held.partition(b"\n")[0]):
                self._stop_timer()  # a check's answer must be read in time, too
            else:
                self._transport.close()
        elif len(self._held) > _LONGEST:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # declared by Protocol
        """Forget this connection."""
        self._stop_timer()
        self._service.disconnect(self)

    def send(self, data: bytes) -> None:
        """Send data without waiting."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Close the connection without sending what waits."""
        if self._transport is not None:
            self._transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _error(reason: str) -> bytes:
    return json.dumps({"sdstop": VERSION, "error": reason}).encode() + b"\n"


def _remove_stale(path: Path) -> None:
    """Remove a socket that nothing listens on. Raises OSError if an exporter answers there."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(17, "not a socket", str(path))
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as line:
        line.setblocking(False)  # noqa: FBT003  # takes no keyword
        try:
            line.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except BlockingIOError:
            pass
    raise FileExistsError(98, "another exporter has it", str(path))
