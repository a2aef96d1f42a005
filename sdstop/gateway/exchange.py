"""Exchange: one HTTP request over one connection. Whatever the other side does, it ends by its deadline.

A timeout of the socket is for each piece, so a gateway that sends a byte now and then would keep us for ever: a
watchdog shuts the connection down when the time is up, in the handshake, in the headers or in the body. Redirects are
not followed, proxies not asked.
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
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sdstop.core.host import LARGEST_REPLY
from sdstop.gateway.allowed import may_send
from sdstop.gateway.settings import Address, Settings

CONNECT = 3.0
"""Seconds for the connection itself."""
_CHUNK = 1 << 16


class Unreachable(Exception):  # noqa: N818  # it is what happens, not a fault of ours
    """No usable answer came; the text goes on from the gateway's name. `late`: time was up."""

    def __init__(self, text: str, *, late: bool = False) -> None:
        """Keep why."""
        super().__init__(text)
        self.late = late


@dataclass(frozen=True, slots=True)
class Answer:
    """What came: `kind` is the body's type as claimed, `retry_after` the seconds that the other side asks for."""

    status: int
    body: bytes
    kind: str = ""
    retry_after: float | None = None


def trust(settings: Settings) -> ssl.SSLContext:
    """Return what certificates are held against. Raises Unreachable if the CA's file cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if settings.insecure or settings.fingerprint:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif settings.ca:
        try:
            context.load_verify_locations(cafile=settings.ca)
        except (OSError, ssl.SSLError) as error:
            raise Unreachable(
                f"cannot be verified: {settings.ca}: {error.strerror or 'no certificate in it'}"
            ) from None
    else:
        context.load_default_certs()
    if settings.old_tls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = ssl.TLSVersion.TLSv1
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
    return context


def exchange(
    address: Address,
    settings: Settings,
    context: ssl.SSLContext | None,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes | None,
    end: float,
) -> Answer:
    """Send a request and return what came by `end` (monotonic seconds). Raises Unreachable.

    Raises ValueError for what is not on the allow-list: that is a bug, and is not sent.
    """
    if not may_send(method, path):
        raise ValueError(f"{method} {path} is none of the requests that sdstop sends")
    try:
        with _connected(address, settings, context, end) as connection:
            connection.request(method, path, body, dict(headers))
            return _answer(connection.getresponse(), end)
    except Unreachable:
        raise
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(_unverified(address, error, end)) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if time.monotonic() >= end or isinstance(error, TimeoutError):
            raise Unreachable("did not answer in time", late=True) from None
        raise Unreachable(_fault(error)) from None


def _answer(response: http.client.HTTPResponse, end: float) -> Answer:
    pieces, size = [], 0
    while piece := response.read(_CHUNK):
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST_REPLY:
            raise Unreachable(f"sent more than {LARGEST_REPLY >> 20} MiB")
    if time.monotonic() >= end:  # the watchdog may have cut it off
        raise Unreachable("did not answer in time", late=True)
    if response.length:
        raise Unreachable("closed the connection in the middle of an answer")
    after = response.headers.get("Retry-After", "")
    kind = response.headers.get("Content-Type", "")[:100]
    return Answer(
        response.status, b"".join(pieces), kind, float(after) if after.isdecimal() and len(after) < 6 else None
    )


@contextlib.contextmanager
def _connected(
    address: Address, settings: Settings, context: ssl.SSLContext | None, end: float
) -> Iterator[http.client.HTTPConnection]:
    left = end - time.monotonic()
    if left <= 0:
        raise Unreachable("was not asked: no time is left", late=True)
    plain = socket.create_connection((address.host, address.port), min(CONNECT, left))
    guard = plain.dup()  # the handshake takes the socket over, and this is the same connection
    watchdog = threading.Timer(max(end - time.monotonic(), 0.0), _shut, (guard,))
    watchdog.daemon = True
    watchdog.start()
    stream: socket.socket = plain
    try:
        plain.settimeout(max(end - time.monotonic(), 0.01))
        if address.tls and context is not None:
            stream = context.wrap_socket(plain, server_hostname=address.host)
            _compare(settings, stream.getpeercert(binary_form=True))
        connection = http.client.HTTPConnection(address.host, address.port)
        connection.sock = stream
        yield connection
    finally:
        watchdog.cancel()
        stream.close()
        guard.close()


def _shut(guard: socket.socket) -> None:
    with contextlib.suppress(OSError):
        guard.shutdown(socket.SHUT_RDWR)


def _compare(settings: Settings, certificate: bytes | None) -> None:
    """Hold a certificate against the one that is pinned, before anything is sent."""
    if settings.fingerprint is None:
        return
    found = hashlib.sha256(certificate or b"").hexdigest()
    if not hmac.compare_digest(found, settings.fingerprint):
        raise Unreachable(f"has another certificate than the one that is pinned: its fingerprint is sha256:{found}")


def _unverified(address: Address, error: ssl.SSLCertVerificationError, end: float) -> str:
    """Say why a certificate is not trusted, and its fingerprint, for who wants to pin it."""
    said = f"is not to be trusted: {error.verify_message or 'certificate not verified'}"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent over this one
    anyone = Settings((address,), "")
    try:
        with _connected(address, anyone, context, end) as connection:
            stream = connection.sock
            der = stream.getpeercert(binary_form=True) if isinstance(stream, ssl.SSLSocket) else None
    except (OSError, Unreachable, ValueError):
        der = None
    if der is None:
        return said
    return f'{said}; if it is the right one: fingerprint = "sha256:{hashlib.sha256(der).hexdigest()}"'


def _fault(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "refuses connections"
    if isinstance(error, socket.gaierror):
        return "has no address"
    if isinstance(error, http.client.IncompleteRead | http.client.RemoteDisconnected | ConnectionError):
        return "closed the connection in the middle of an answer"
    if isinstance(error, ssl.SSLError):
        return f"speaks no TLS that is safe enough: {error.reason or 'handshake failed'}"
    if isinstance(error, http.client.HTTPException | ValueError):
        return "does not speak HTTP"
    said = error.strerror if isinstance(error, OSError) else None
    return f"cannot be reached: {said or type(error).__name__}"
