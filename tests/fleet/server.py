"""A server of the API, made up: it answers what it is told to, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    fields: Fields


@dataclass(slots=True)
class Reply:
    """What is answered: an object as JSON, or bytes as they are; `wait` is told when it may be sent."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    packed: bool = False
    drip: bool = False


def vector(*rows: tuple[Mapping[str, str], float], **more: Any) -> dict[str, Any]:
    """Return the answer to an instant query."""
    result = [{"metric": dict(labels), "value": [1000.0, f"{value:g}"]} for labels, value in rows]
    return {"status": "success", "data": {"resultType": "vector", "result": result}, **more}


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        self._answer(path, query)

    def do_POST(self) -> None:
        self._answer(self.path, self.rfile.read(int(self.headers["Content-Length"])).decode())

    def _answer(self, path: str, query: str) -> None:
        fields = {name: values[0] for name, values in parse_qs(query).items()}
        asked = Asked(self.command, path, dict(self.headers), fields)
        self.server.asked.append(asked)
        reply = self.server.reply(asked)
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        headers = dict(reply.headers)
        if reply.packed:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        self.send_response(reply.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            if reply.drip:
                while not self.server.over.wait(0.05):
                    self.wfile.write(b" ")
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    reply: Callable[[Asked], Reply]
    asked: list[Asked]
    over: threading.Event

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextlib.contextmanager
def serving(
    reply: Callable[[Asked], Reply], certificate: Path | None = None, clients: Path | None = None
) -> Iterator[tuple[str, list[Asked]]]:
    """Serve on loopback, with TLS where a certificate (with its key) is given; yield the address and the questions."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.reply, server.asked, server.over = reply, [], threading.Event()
    scheme = "http"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        if clients is not None:
            context.load_verify_locations(clients)
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"{scheme}://127.0.0.1:{server.server_port}", server.asked
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
