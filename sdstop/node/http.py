"""HTTP client whose requests end by a total deadline, regardless of the server's behavior.

Name lookup, connect, TLS handshake, send and receive share one deadline (sdstop.node.timed_socket), and the body size
is limited. Redirects are not followed, proxies and cookies are not used, and only requests on the caller's allow-list
are sent.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.client
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from email.message import Message
from typing import Self
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace

from sdstop.node.timed_socket import NameLookup, TimedSocket, TimedTlsSocket

LARGEST = 32 << 20
"""Maximum size of a decompressed response body in bytes."""
_CHUNK = 1 << 16
"""Bytes read at once."""
_CLOCK = 0.01
"""Seconds by which a kernel timeout may expire before the deadline."""

Allowed = Callable[[str, str], bool]
"""Returns whether a method and a target (path and query) may be sent."""


class HttpError(Exception):
    """The server returned no usable response; the text continues "SERVER: "."""


class HttpTimeout(HttpError):  # noqa: N818  # named like TimeoutError
    """The deadline passed before the response was complete."""


class ResponseTooLarge(HttpError):  # noqa: N818
    """The response body exceeds the limit."""


class UntrustedCertificate(HttpError):  # noqa: N818
    """The server's certificate is not trusted."""


class Endpoint(Struct, frozen=True):
    """Host and port of a server.

    `tls` is None for plain HTTP. `name` is the expected name in the certificate ("": the host), `fingerprint` the 64
    hex digits of its SHA-256, which is compared before anything is sent.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    name: str = ""
    fingerprint: str | None = None


class Response(Struct, frozen=True):
    """Response of a server: status, headers (case-insensitive), decompressed body."""

    status: int
    headers: Message
    body: bytes

    def header(self, name: str) -> str:
        """Return a header, "" if it is missing."""
        return str(self.headers.get(name, ""))


def form(fields: Sequence[tuple[str, str]]) -> str:
    """Return fields as an ASCII query string, or as a body of type application/x-www-form-urlencoded."""
    return urlencode(fields, errors="replace")


def tls_context(
    *,
    ca_file: str | None = None,
    ca_text: str | None = None,
    verify: bool = True,
    oldest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2,
) -> ssl.SSLContext:
    """Return a client context that trusts only this CA (PEM), or the system's CAs. Raises OSError, also SSLError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = oldest
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif ca_file is not None or ca_text is not None:
        context.load_verify_locations(cafile=ca_file, cadata=ca_text)
    else:
        context.load_default_certs()
    return context


def fingerprint(endpoint: Endpoint, seconds: float) -> str | None:
    """Return the SHA-256 (64 hex digits) of the certificate a server presents, trusted or not; sends no request."""
    stranger = replace(endpoint, tls=tls_context(verify=False), fingerprint=None)
    with HttpClient(stranger, lambda _method, _target: False) as client, contextlib.suppress(HttpError):
        return client.fingerprint(seconds)
    return None


class HttpClient:
    """Client of one server: serial requests over a persistent connection. A context manager."""

    def __init__(
        self, endpoint: Endpoint, allowed: Allowed, *, largest: int = LARGEST, connect: float | None = None
    ) -> None:
        """Store the settings without connecting; `connect` also limits each connection attempt, in seconds."""
        self._endpoint = endpoint
        self._allowed = allowed
        self._largest = largest
        self._connect = connect
        self._lock = threading.Lock()
        self._running = threading.Lock()
        self._closed = False
        self._lookup: NameLookup | None = None
        self._socket: TimedSocket | TimedTlsSocket | None = None
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection for good. A request under way in another thread fails with HttpError at once."""
        with self._lock:
            self._closed = True
            if self._lookup is not None:
                self._lookup.cancel()
            if self._socket is not None:
                _shut(self._socket)
        with self._running:
            self._drop()

    def request(
        self, method: str, target: str, headers: Mapping[str, str] | list[tuple[str, str]], body: bytes | None,
        seconds: float,
    ) -> Response:  # fmt: skip
        """Send a request and return the whole response; reconnect if the server closed the persistent connection.

        Raises HttpTimeout after `seconds`, UntrustedCertificate, ResponseTooLarge and HttpError; ValueError, without
        sending anything, for a request that is not on the allow-list, which is a bug.
        """
        if not self._allowed(method, target):
            raise ValueError(f"{method} {target.partition('?')[0]} is not in the allow-list of requests")
        listed = list(headers.items() if isinstance(headers, Mapping) else headers)
        end = time.monotonic() + seconds
        with self._running:
            kept = self._connection is not None
            try:
                try:
                    return self._exchange(method, target, listed, body, end)
                except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
                    self._drop()
                    if not kept:
                        raise
                    return self._exchange(method, target, listed, body, end)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._drop()
                raise self._failure(error, end, seconds) from None
            except BaseException:
                self._drop()
                raise

    def fingerprint(self, seconds: float) -> str | None:
        """Connect and return the SHA-256 of the server's certificate, None for plain HTTP. Raises HttpError."""
        end = time.monotonic() + seconds
        with self._running:
            try:
                self._open(end)
                return None if not isinstance(self._socket, ssl.SSLSocket) else _fingerprint(self._socket)
            except OSError as error:
                raise self._failure(error, end, seconds) from None
            finally:
                self._drop()

    # -- one request ------------------------------------------------------------------------------------------

    def _exchange(
        self, method: str, target: str, headers: list[tuple[str, str]], body: bytes | None, end: float
    ) -> Response:
        if self._connection is None or self._socket is None:
            self._connection = self._open(end)
        connection = self._connection
        if self._socket is not None:
            self._socket.end = end
        connection.putrequest(method, target, skip_accept_encoding=True)
        connection.putheader("Accept-Encoding", "gzip")
        for name, value in headers:
            connection.putheader(name, value.encode())
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        with contextlib.closing(connection.getresponse()) as response:
            data = self._body(response)
        if response.will_close:
            self._drop()
        return Response(response.status, response.headers, data)

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        """Read a body, decompressed, up to the limit."""
        coding = response.getheader("Content-Encoding", "identity").strip().lower()
        if coding not in {"identity", "gzip", "x-gzip", ""}:
            raise HttpError(f'unsupported content encoding "{coding[:20]}"')
        unpack = zlib.decompressobj(wbits=31) if coding.endswith("gzip") else None
        pieces, size = [], 0
        while chunk := response.read(_CHUNK):
            try:
                data = chunk if unpack is None else unpack.decompress(chunk, self._largest + 1 - size)
            except zlib.error:
                raise HttpError("malformed gzip data") from None
            size += len(data)
            if size > self._largest:
                raise ResponseTooLarge(f"response exceeds {self._largest >> 20} MiB")
            pieces.append(data)
        if response.length or (unpack is not None and pieces and not unpack.eof):
            raise http.client.IncompleteRead(b"")
        return b"".join(pieces)

    def _failure(self, error: Exception, end: float, seconds: float) -> HttpError:
        """Return the error for a failed request, with a message of one line."""
        if self._closed:
            return HttpError("request canceled")
        if time.monotonic() >= end - _CLOCK:
            return HttpTimeout(f"no complete response within {round(seconds, 1):g} s")
        return _fault(error)

    # -- the connection ---------------------------------------------------------------------------------------

    def _open(self, end: float) -> http.client.HTTPConnection:
        """Connect, with TLS if configured, and check the pinned fingerprint. Raises OSError and HttpError."""
        endpoint = self._endpoint
        stream = self._connected(end)
        if endpoint.tls is not None:
            endpoint.tls.sslsocket_class = TimedTlsSocket
            name = endpoint.name or endpoint.host
            secured = endpoint.tls.wrap_socket(stream, server_hostname=name, do_handshake_on_connect=False)
            assert isinstance(secured, TimedTlsSocket)  # noqa: S101  # the line before
            secured.end = end
            self._keep(secured)
            secured.do_handshake()
            found = _fingerprint(secured)
            if endpoint.fingerprint is not None and not hmac.compare_digest(found, endpoint.fingerprint):
                raise UntrustedCertificate(f"certificate does not match the pinned fingerprint (got sha256:{found})")
        connection = http.client.HTTPConnection(endpoint.host, endpoint.port)
        connection.default_port = 80 if endpoint.tls is None else 443  # omitted from the Host header
        connection.auto_open = 0  # a reconnect by http.client would have no deadline
        connection.sock = self._socket
        return connection

    def _connected(self, end: float) -> TimedSocket:
        with self._lock:
            if self._closed:
                raise OSError
            lookup = self._lookup = NameLookup(self._endpoint.host, self._endpoint.port)
        addresses = lookup.addresses(end)
        problem: OSError = socket.gaierror()
        for number, (family, kind, protocol, _, address) in enumerate(addresses):
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            stream = TimedSocket(family, kind, protocol)
            stream.end = end
            self._keep(stream)
            share = left / (len(addresses) - number)
            stream.settimeout(share if self._connect is None else min(share, self._connect))
            try:
                stream.connect(address)
            except OSError as error:
                problem = error
            else:
                return stream
            self._drop()
        raise problem

    def _keep(self, stream: TimedSocket | TimedTlsSocket) -> None:
        """Register a socket for `close`. Raises OSError if the client was closed."""
        with self._lock:
            self._socket = stream
            if self._closed:
                raise OSError

    def _drop(self) -> None:
        """Close the connection; the next request opens a new one."""
        with self._lock:
            connection, self._connection = self._connection, None
            stream, self._socket = self._socket, None
        if connection is not None:
            connection.close()
        if stream is not None:
            stream.close()


def _shut(stream: socket.socket) -> None:
    """Interrupt another thread's wait on a socket; SSLSocket.shutdown would drop the TLS state in use."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(stream, socket.SHUT_RDWR)


def _fingerprint(stream: ssl.SSLSocket) -> str:
    return hashlib.sha256(stream.getpeercert(binary_form=True) or b"").hexdigest()


def _fault(error: Exception) -> HttpError:
    """Return the error for a request that failed before its deadline, with a message of one line."""
    match error:
        case ssl.SSLCertVerificationError():
            return UntrustedCertificate(f"certificate not trusted: {error.verify_message or 'not verified'}")
        case TimeoutError():  # of one connection attempt, before the deadline
            return HttpTimeout("connection timed out")
        case ssl.SSLError():
            return HttpError(f"TLS failed: {(error.reason or 'unknown reason').replace('_', ' ').lower()}")
        case socket.gaierror():
            return HttpError("cannot resolve host name")
        case ConnectionRefusedError():
            return HttpError("connection refused")
        case http.client.IncompleteRead() | ConnectionError():  # includes RemoteDisconnected
            return HttpError("connection closed before the response was complete")
        case OSError():
            return HttpError(f"cannot connect: {error.strerror or type(error).__name__}")
    return HttpError("malformed HTTP response")
