"""Access control before the pages: TLS, passwords, headers and rate limit, as set in web-config.yml.

The file and the certificates are checked on every connection and request, as in Prometheus' own exporters: changes
apply at once. An invalid change is reported once, and the previous state stays active.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from sdstop.core.config_error import ConfigError
from sdstop.exporters.web import passwords
from sdstop.exporters.web.http import PageResponse, Reply, Request
from sdstop.exporters.web.passwords import Login, LoginCache, login_of
from sdstop.exporters.web.webconfig import WebConfig, exposed, load

if TYPE_CHECKING:
    import ssl

    from sdstop.exporters.web.tls import Tls

MOST_WAITING = 16
"""Maximum different passwords waiting to be checked; checks run one at a time."""

_WHO = PageResponse(401, b"a name and a password, please\n", headers=(("WWW-Authenticate", 'Basic realm="sdstop"'),))
_BUSY = PageResponse(503, b"too many passwords to check\n", headers=(("Retry-After", "1"),))
_OFTEN = PageResponse(429, b"too many requests\n", headers=(("Retry-After", "1"),))


class RateLimit:
    """Token bucket: `burst` requests at once, `rate` requests per second on average."""

    def __init__(self, rate: float, burst: int, now: float) -> None:
        """Start with a full bucket."""
        self._rate, self._burst = rate, burst
        self._level, self._at = float(burst), now

    def take(self, now: float) -> bool:
        """Take one request from the bucket; return whether one was left."""
        self._level = min(self._burst, self._level + (now - self._at) * self._rate)
        self._at = now
        if self._level < 1:
            return False
        self._level -= 1
        return True


class RequestGuard:
    """Access control of a server."""

    def __init__(self, path: Path | None, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        """Read the file; None: no authentication and no encryption. Raises ConfigError."""
        self.good = True
        """Whether the last configuration read was valid."""
        self._path = path
        self._say = say
        self._clock = clock
        self._config = WebConfig()
        self._context: ssl.SSLContext | None = None
        self._bucket: RateLimit | None = None
        self._verdicts = LoginCache()
        self._checks: dict[bytes, asyncio.Future[bool]] = {}
        self._checker: ThreadPoolExecutor | None = None
        self._state: Hashable = None
        self._told: tuple[str, ...] = ()
        if path is not None:
            self._state = self._look()
            self._read(path)

    @property
    def configured(self) -> bool:
        """Whether a web-config file is used."""
        return self._path is not None

    @property
    def secure(self) -> bool:
        """Whether connections use TLS."""
        return self._context is not None

    def tls(self) -> Tls | None:
        """Return the TLS state for a new connection, None without TLS."""
        self.refresh()
        if self._context is None or self._config.tls is None:
            return None
        from sdstop.exporters.web.tls import Tls  # noqa: PLC0415  # takes 4 MB, and most exporters have no certificate

        return Tls(self._context, self._config.tls.client_sans)

    def guarded(self, request: Request, answer: Callable[[Request], PageResponse]) -> Reply:
        """Answer a request if the rate limit and the authentication allow it."""
        self.refresh()
        if self._bucket is not None and not self._bucket.take(self._clock()):
            return self._dressed(_OFTEN)
        if not self._config.users:
            return self._dressed(answer(request))
        login = login_of(request.headers.get("authorization", ""))
        if login is None:
            return self._dressed(_WHO)
        key = self._verdicts.key(self._config.users, login)
        known = self._verdicts.known(key)
        if known is not None:
            return self._dressed(answer(request) if known else _WHO)
        check = self._check(key, login)
        if check is None:
            return self._dressed(_BUSY)
        reply: asyncio.Future[PageResponse] = asyncio.get_running_loop().create_future()

        def judged(done: asyncio.Future[bool]) -> None:
            if not reply.done():
                right = not done.cancelled() and done.exception() is None and done.result()
                reply.set_result(self._dressed(answer(request) if right else _WHO))

        check.add_done_callback(judged)
        return reply

    def refresh(self) -> None:
        """Reload the file if it, or a file that it names, has changed."""
        if self._path is None:
            return
        state = self._look()
        if state != self._state:
            self._state = state
            self.reload()

    def reload(self) -> None:
        """Reload the file; report an invalid one and keep the previous configuration."""
        if self._path is None:
            return
        try:
            self._read(self._path)
        except ConfigError as error:
            self.good = False
            self._say(f"sdstop: {error}; keeping the previous configuration")

    def close(self) -> None:
        """Cancel waiting password checks."""
        if self._checker is not None:
            self._checker.shutdown(wait=False, cancel_futures=True)

    def _read(self, path: Path) -> None:
        config = load(path)
        context = None
        if config.tls is not None:
            from sdstop.exporters.web.tls import context_of  # noqa: PLC0415  # as in `tls`

            context = context_of(config.tls)
        before, self._config, self._context = self._config, config, context
        if config.rate is None:
            self._bucket = None
        elif (config.rate, config.burst) != (before.rate, before.burst):
            self._bucket = RateLimit(config.rate, config.burst, self._clock())
        self._state = self._look()  # the new configuration may name other files
        self.good = True
        told = (*config.notes, *exposed(path, config))
        for line in told:
            if line not in self._told:
                self._say(f"sdstop: {line}")
        self._told = told

    def _look(self) -> Hashable:
        """Return a state that changes when any of the files is replaced or written."""
        tls = self._config.tls
        paths = (*(() if self._path is None else (self._path,)), *(() if tls is None else tls.paths))
        return tuple((path, *_stamp(path)) for path in paths)

    def _check(self, key: bytes, login: Login) -> asyncio.Future[bool] | None:
        """Return the running or a new check of a password; None if too many are waiting."""
        if key in self._checks:
            return self._checks[key]
        if len(self._checks) >= MOST_WAITING:
            return None
        if self._checker is None:
            self._checker = ThreadPoolExecutor(1, "sdstop-passwords")
        users = self._config.users
        check = asyncio.get_running_loop().run_in_executor(self._checker, passwords.right, users, login)
        self._checks[key] = check

        def done(check: asyncio.Future[bool]) -> None:
            self._checks.pop(key, None)
            if not check.cancelled() and check.exception() is None:
                self._verdicts.keep(key, right=check.result())

        check.add_done_callback(done)
        return check

    def _dressed(self, answer: PageResponse) -> PageResponse:
        """Add the headers set in the file."""
        if not self._config.headers:
            return answer
        headers = (*self._config.headers.items(), *answer.headers)
        return PageResponse(answer.status, answer.body, answer.type, headers)


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = os.stat(path)  # noqa: PTH116  # called on every request
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino
