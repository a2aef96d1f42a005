"""HTTP servers on loopback that never complete a response, each in its own way."""

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping

PACE = 0.05
"""Seconds between two bytes; far below every timeout of a single read."""

Behaviour = Callable[[socket.socket, threading.Event], None]
"""Serves one connection until the peer goes away or the event is set."""

OK = b"HTTP/1.1 200 OK\r\n"


def _asked(connection: socket.socket) -> None:
    """Read a request of which everything fits one segment."""
    connection.recv(1 << 16)


def _dripped(after: bytes, *, asked: bool = True, what: bytes = b"x") -> Behaviour:
    """Return a server that sends `after`, then one byte at a time."""

    def serve(connection: socket.socket, over: threading.Event) -> None:
        if asked:
            _asked(connection)
        connection.sendall(after)
        at = 0
        while not over.wait(PACE):
            connection.sendall(what[at % len(what) :][:1])
            at += 1

    return serve


def _endless(after: bytes, piece: bytes) -> Behaviour:
    """Return a server that sends `after`, then the same piece as fast as it is read."""

    def serve(connection: socket.socket, over: threading.Event) -> None:
        _asked(connection)
        connection.sendall(after)
        while not over.is_set():
            connection.sendall(piece)

    return serve


def _silent(connection: socket.socket, over: threading.Event) -> None:
    over.wait()


def _silent_after_request(connection: socket.socket, over: threading.Event) -> None:
    _asked(connection)
    over.wait()


DEADLINE: Mapping[str, Behaviour] = {
    "silent": _silent,
    "silent after the request": _silent_after_request,
    "status line drips": _dripped(b"", what=b"H" * 999),
    "headers drip": _dripped(OK + b"X: "),
    "body drips": _dripped(OK + b"Content-Length: 100000\r\n\r\n"),
    "body without length drips": _dripped(OK + b"\r\n"),
    "body of a closed connection drips": _dripped(OK + b"Connection: close\r\n\r\n"),
    "chunks drip": _dripped(OK + b"Transfer-Encoding: chunked\r\n\r\n", what=b"1\r\nx\r\n"),
    "trailers drip": _dripped(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", what=b"X: y\r\n"),
    "100 Continue without end": _endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}
"""What ends by the deadline alone."""

TOO_LARGE: Mapping[str, Behaviour] = {
    "body without end": _endless(OK + b"\r\n", b"x" * (1 << 16)),
    "chunks without end": _endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * 0x10000 + b"\r\n"),
    "gzip bomb": _endless(OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(40 << 20)), b"x"),
}
"""What ends by the limit of the size."""

HANDSHAKE: Mapping[str, Behaviour] = {
    "handshake without an answer": _silent,
    # A record of 16 KiB of type handshake, of which the content comes one byte at a time.
    "handshake drips": _dripped(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03", asked=False, what=b"\x00"),
}
"""What never ends the TLS handshake, and knows no TLS."""


@contextlib.contextmanager
def serving(behaviour: Behaviour, context: ssl.SSLContext | None = None) -> Iterator[tuple[str, int]]:
    """Serve on 127.0.0.1, after a TLS handshake if there is a context; yield host and port."""
    over = threading.Event()
    open_: list[socket.socket] = []
    threads: list[threading.Thread] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def one(plain: socket.socket) -> None:
        connection = plain
        with contextlib.suppress(OSError):
            if context is not None:
                connection = context.wrap_socket(plain, server_side=True)
                open_.append(connection)
            behaviour(connection, over)
        connection.close()

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            open_.append(connection)
            threads.append(threading.Thread(target=one, args=(connection,)))
            threads[-1].start()

    threads.append(threading.Thread(target=accept))
    threads[-1].start()
    try:
        yield listener.getsockname()
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        threads[0].join()
        for connection in open_:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
        for thread in threads[1:]:
            thread.join()
        for connection in open_:
            connection.close()
        listener.close()
