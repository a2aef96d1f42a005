"""Exchange: one request to one gateway over a separate connection, and the TLS context that verifies it."""

from __future__ import annotations

import ssl
import time
import warnings
from collections.abc import Mapping

from sdstop.core.host import LARGEST_REPLY
from sdstop.node.gateway.allowed import may_send
from sdstop.node.gateway.session import UnusableResponse
from sdstop.node.gateway.settings import Settings
from sdstop.node.http import (
    Endpoint,
    HttpClient,
    HttpTimeout,
    Response,
    UntrustedCertificate,
    fingerprint,
    tls_context,
)

CONNECT = 3.0
"""Connect timeout in seconds; short, because another gateway may respond faster."""


def verified_tls(settings: Settings) -> ssl.SSLContext:
    """Return the TLS context that verifies certificates. Raises UnusableResponse if the CA file cannot be used."""
    verify = not (settings.insecure or settings.fingerprint)
    try:
        context = tls_context(ca_file=settings.ca, verify=verify)
    except OSError as error:
        raise UnusableResponse(
            f"cannot be verified: {settings.ca}: {error.strerror or 'no certificate in it'}"
        ) from None
    if settings.old_tls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = ssl.TLSVersion.TLSv1
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
    return context


def exchange(
    endpoint: Endpoint, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
) -> Response:
    """Send a request and return the response within `seconds`. Raises HttpError, HttpTimeout after them.

    Raises ValueError, without sending anything, for a request that is not on the allow-list, which is a bug. If the
    certificate is not trusted, the error contains its fingerprint, which can be pinned.
    """
    end = time.monotonic() + seconds
    if seconds <= 0:
        raise HttpTimeout("no request sent: deadline exceeded")
    try:
        with HttpClient(endpoint, may_send, largest=LARGEST_REPLY, connect=CONNECT) as client:
            return client.request(method, path, headers, body, seconds)
    except UntrustedCertificate as error:
        found = None if endpoint.fingerprint else fingerprint(endpoint, end - time.monotonic())
        hint = f'; if it is the right one, set fingerprint = "sha256:{found}"' if found else ""
        raise UntrustedCertificate(f"{error}{hint}") from None
