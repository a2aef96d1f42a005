"""A gateway of ScaleIO/PowerFlex on 127.0.0.1, faithful in what it asks for and refuses, and with faults at will.

`Gateway(version).serve()` is a context manager; what it answers and how it fails are plain attributes that a test sets.
Dialects: 1.32, 2.6 and 3.6 log in by GET /api/login, 4.5 by POST /rest/auth/login; each knows other statistics.
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USER, PASSWORD = "monitor", "S3cret/Pass word+%~"
JSON = "application/json"

LATENCY = frozenset({"userDataSdcReadLatency", "userDataSdcWriteLatency"})
UNKNOWN: Mapping[str, frozenset[str]] = {
    "1.32": LATENCY | {"avgReadLatencyInMicrosec", "avgWriteLatencyInMicrosec"} | {
        f"{a}{b}" for a in ("pendingNorm", "activeNorm") for b in ("RebuildCapacityInKb",)
    } | {"normRebuildWriteBwc", "activeMovingInNormRebuildJobs"},
    "2.6": LATENCY,
    "3.6": frozenset(),
    "4.5": frozenset({"degradedFailedCapacityInKb"}),
}  # fmt: skip
"""Statistics that a version does not know. What 4.5 lacks here is made up, to have one that the message names."""


@dataclass
class Fault:
    """How the next requests for a path fail: `times` of them, or all."""

    status: int = 500
    body: bytes = b'{"message":"Internal error","httpStatusCode":500,"errorCode":0}'
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int = 1 << 30
    drip: float = 0.0
    """Seconds between two bytes."""
    cut: bool = False
    """Whether the connection ends in the middle."""
    silent: float = 0.0
    """Seconds without a word."""


class Gateway:
    """State of the fake gateway: who is logged in, what it tells, how it fails, and what it was asked."""

    def __init__(self, version: str = "3.6", *, clock: Callable[[], float] = time.monotonic) -> None:
        self.version = version
        self.clock = clock
        self.user, self.password = USER, PASSWORD
        self.objects: dict[str, Any] = {}
        self.numbers: dict[str, Any] = {}
        self.faults: dict[str, Fault] = {}
        self.asked: list[tuple[str, str, str]] = []
        """Method, path and Authorization header of each request."""
        self.lifetime, self.idle, self.access, self.refresh = 8 * 3600.0, 600.0, 300.0, 1800.0
        self.tokens: dict[str, tuple[float, float]] = {}
        """When each token was made and used."""
        self.refreshes: dict[str, float] = {}
        self.logins = 0
        self.names_unknown = True
        self.chunked = False
        self.port = 0
        self._made = 0
        self._lock = threading.Lock()

    @property
    def bearer(self) -> bool:
        return self.version.startswith("4")

    def data_requests(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path, _ in self.asked if "instances" in path]

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes, str]:
        """Return status, body and type."""
        if path == "/rest/auth/login":
            return self._bearer_login(method, body)
        if path == "/rest/auth/update-token":
            return self._renew(body)
        if (method, path) == ("GET", "/api/login"):
            return self._login(headers)
        if not self._in(headers):
            return error(401, "Unauthorized")
        if path == "/api/version":
            return 200, (f'"{self.version}"' if self.version != "2.6" else self.version).encode(), JSON
        if (method, path) == ("GET", "/api/instances"):
            return 200, json.dumps(self.objects).encode(), JSON
        if (method, path) == ("POST", "/api/instances/querySelectedStatistics"):
            return self._statistics(headers, body)
        return error(404, "Not found")

    def _login(self, headers: Mapping[str, str]) -> tuple[int, bytes, str]:
        self.logins += 1
        wanted = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        if headers.get("Authorization") != f"Basic {wanted}":
            return error(401, "Unauthorized")
        self._made += 1
        expires = int((time.time() + self.lifetime) * 1000)
        token = base64.b64encode(f"{self.user}:{expires}:{self._made:032x}".encode()).decode()
        self.tokens[token] = (self.clock(), self.clock())
        return 200, json.dumps(token).encode(), JSON

    def _bearer_login(self, method: str, body: bytes) -> tuple[int, bytes, str]:
        if not self.bearer:
            return error(404, "Not found")
        if method != "POST":
            return error(405, "Method not allowed")
        self.logins += 1
        said = json.loads(body)
        if said != {"username": self.user, "password": self.password}:
            return error(401, "Invalid login")
        return self._tokens()

    def _tokens(self) -> tuple[int, bytes, str]:
        self._made += 1
        access, refresh = f"eyJhbGciOi.access.{self._made:020d}", f"eyJhbGciOi.refresh.{self._made:020d}"
        self.tokens[access] = (self.clock(), self.clock())
        self.refreshes[refresh] = self.clock()
        body = {"access_token": access, "refresh_token": refresh, "expires_in": self.access, "scope": "openid"}
        return 200, json.dumps(body).encode(), JSON

    def _renew(self, body: bytes) -> tuple[int, bytes, str]:
        token = json.loads(body).get("refresh_token")
        made = self.refreshes.pop(token, None)
        if made is None or self.clock() - made > self.refresh:
            return error(400, "Invalid refresh token")
        return self._tokens()

    def _in(self, headers: Mapping[str, str]) -> bool:
        kind, _, rest = headers.get("Authorization", "").partition(" ")
        if kind == "Bearer" and self.bearer:
            token = rest
        elif kind == "Basic" and not self.bearer:
            token = base64.b64decode(rest).decode().partition(":")[2]
        else:
            return False
        made, used = self.tokens.get(token, (-1e9, -1e9))
        now = self.clock()
        alive = now - made <= (self.access if self.bearer else self.lifetime)
        if not alive or (not self.bearer and now - used > self.idle):
            self.tokens.pop(token, None)
            return False
        self.tokens[token] = (made, now)
        return True

    def _statistics(self, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes, str]:
        if not headers.get("Content-Type", "").startswith(JSON):
            return error(400, "Content type is missing")
        found: dict[str, Any] = {}
        for entry in json.loads(body)["selectedStatisticsList"]:
            for name in entry["properties"]:
                if name in UNKNOWN[self.version]:
                    told = f"Invalid property {name}" if self.names_unknown else "Illegal syntax"
                    return error(400, told)
            known = self.numbers.get(entry["type"], {})
            rows = {"": known} if entry["type"] == "System" else known
            if entry["type"] != "System" and "allIds" not in entry:
                return error(400, "ids or allIds")
            picked = {
                ident: {name: row[name] for name in entry["properties"] if name in row} for ident, row in rows.items()
            }
            found[entry["type"]] = picked[""] if entry["type"] == "System" else picked
        return 200, json.dumps(found).encode(), JSON

    def fault(self, path: str) -> Fault | None:
        with self._lock:
            fault = self.faults.get(path) or self.faults.get("*")
            if fault is None or fault.times <= 0:
                return None
            fault.times -= 1
            return fault

    @contextmanager
    def serve(self, context: ssl.SSLContext | None = None) -> Iterator[str]:
        """Serve on 127.0.0.1; yield the address as a config file has it."""
        gateway = self

        class Handler(_Handler):
            its = gateway

        server = _Server(("127.0.0.1", 0), Handler)
        if context is not None:
            server.context = context
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http{'' if context is None else 's'}://127.0.0.1:{self.port}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def error(status: int, message: str) -> tuple[int, bytes, str]:
    return status, json.dumps({"message": message, "httpStatusCode": status, "errorCode": 0}).encode(), JSON


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    context: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.context is not None:
            try:
                request = self.context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
                request.do_handshake()
            except OSError:
                request.close()
                return  # who does not trust it goes away
        with suppress(OSError), request:
            super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are no news."""


class _Handler(BaseHTTPRequestHandler):
    its: Gateway
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._do("GET")

    def do_POST(self) -> None:
        self._do("POST")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def _do(self, method: str) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.its.asked.append((method, self.path, self.headers.get("Authorization", "")))
        self.close_connection = True
        fault = self.its.fault(self.path)
        if fault is not None:
            self._fail(fault)
            return
        status, said, kind = self.its.answer(method, self.path, self.headers, body)  # type: ignore[arg-type]
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Set-Cookie", "JSESSIONID=do-not-keep-this-session")
        if self.its.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for at in range(0, len(said), 1000):
                piece = said[at : at + 1000]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
            return
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def _fail(self, fault: Fault) -> None:
        if fault.silent:
            time.sleep(fault.silent)
            return
        self.send_response(fault.status)
        for name, value in fault.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", fault.kind)
        self.send_header("Content-Length", str(len(fault.body)))
        self.end_headers()
        said = fault.body[: len(fault.body) // 2] if fault.cut else fault.body
        if not fault.drip:
            self.wfile.write(said)
            return
        for at in range(len(said)):
            self.wfile.write(said[at : at + 1])
            self.wfile.flush()
            time.sleep(fault.drip)


def closed_port() -> int:
    """Return a port of 127.0.0.1 on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port
