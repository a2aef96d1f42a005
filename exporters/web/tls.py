"""TLS of a connection: context from web-config.yml, and non-blocking encryption without a socket.

The handshake runs inside the protocol that limits connections and their time: a client that sends nothing, or stops
during the handshake, counts as a silent connection.
"""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sdstop.core.config_error import ConfigError
from sdstop.core.format import safe
from sdstop.exporters.web.webconfig import PemSource, TlsConfig

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_VERIFY = {"no": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_AT_ONCE = 64 << 10
"""Bytes."""


def context_of(config: TlsConfig) -> ssl.SSLContext:
    """Return the TLS context of connections. Raises ConfigError, which names the file to fix."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = _VERSIONS[config.oldest], _VERSIONS[config.newest]
    context.set_alpn_protocols(["http/1.1"])
    if not config.ours_first:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    try:
        if config.ciphers:
            context.set_ciphers(":".join(config.ciphers))
        if config.curve:
            context.set_ecdh_curve(config.curve)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"cipher_suites or curve_preferences: this machine's OpenSSL has none: {error}") from error
    names = f"{_name(config.cert, 'cert')} and {_name(config.key, 'key')}"
    with _file(config.cert) as cert, _file(config.key) as key, _config_errors(names):
        context.load_cert_chain(cert, key, password=lambda: "")  # otherwise OpenSSL prompts on the terminal
    if config.client_ca is not None:
        with _file(config.client_ca) as authorities, _config_errors(_name(config.client_ca, "client_ca")):
            context.load_verify_locations(authorities)
    context.verify_mode = _VERIFY[config.client]
    return context


def _name(secret: PemSource, key: str) -> str:
    return safe(secret.path) if secret.path is not None else key


@contextmanager
def _file(secret: PemSource) -> Iterator[str]:
    """Yield a path of the PEM; inline text gets an in-memory file, because ssl only reads files."""
    if secret.path is not None:
        yield str(secret.path)
        return
    descriptor = os.memfd_create("sdstop")
    try:
        os.write(descriptor, secret.text.encode())
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


@contextmanager
def _config_errors(what: str) -> Iterator[None]:
    try:
        yield
    except ssl.SSLError as error:
        reason = (error.reason or "not in PEM format").replace("_", " ").lower()
        raise ConfigError(f"{what}: cannot be used: {reason}") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{what}: {getattr(error, 'strerror', None) or error}") from error


class HandshakeRefused(Exception):  # noqa: N818
    """Raised when the TLS handshake fails; `plain` if the client used HTTP without TLS."""

    def __init__(self, *, plain: bool = False) -> None:
        """Store whether the client used plain HTTP."""
        super().__init__()
        self.plain = plain


class Tls:
    """TLS state of one connection."""

    def __init__(self, context: ssl.SSLContext, sans: frozenset[str] = frozenset()) -> None:
        """Start a handshake; if `sans` are given, the client's certificate must have one of these names."""
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._in, self._out, server_side=True)
        self._sans = sans
        self._open = False

    def received(self, data: bytes) -> bytes:
        """Return the decrypted data; empty during the handshake. Raises HandshakeRefused."""
        self._in.write(data)
        said = bytearray()
        try:
            if not self._open:
                self._object.do_handshake()
                self._open = True
                if self._sans and not self._sans & _names(self._object):
                    raise HandshakeRefused
            while part := self._object.read(_AT_ONCE):
                said += part
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:  # includes an orderly shutdown by the client
            if not said:
                raise HandshakeRefused(plain=error.reason == "HTTP_REQUEST") from error
        return bytes(said)

    def sent(self, data: bytes | memoryview) -> bytes:
        """Return the encrypted data, preceded by pending TLS records. Raises HandshakeRefused."""
        try:
            if data:
                self._object.write(data)
        except ssl.SSLError as error:
            raise HandshakeRefused from error
        return self._out.read()

    def farewell(self) -> bytes:
        """Return the bytes of an orderly TLS shutdown."""
        with contextlib.suppress(ssl.SSLError):  # the client's close_notify is not awaited
            self._object.unwrap()
        return self._out.read()


def _names(connection: ssl.SSLObject) -> set[str]:
    """Return the subject alternative names of a client's certificate: DNS, IP address, mail, URI."""
    said: Mapping[str, Any] = connection.getpeercert() or {}
    return {value for _, value in said.get("subjectAltName", ())}
