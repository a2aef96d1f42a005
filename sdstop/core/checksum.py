"""SHA-256 without OpenSSL, which hashlib loads in 3 ms: that pays for megabytes and for thousands of pieces."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

_LARGE = 1 << 20
"""Size in bytes from which OpenSSL is faster, with its start."""
_MANY = 2000
"""Number of small pieces from which it is."""


def sha256(data: bytes) -> str:
    """Return the SHA-256 of data in hexadecimal digits."""
    digest: str = (_hashlib() if len(data) >= _LARGE else _own()).sha256(data).hexdigest()
    return digest


def sha256_of(pieces: int) -> Callable[[bytes], str]:
    """Return the function for a number of pieces."""
    if pieces < _MANY:
        return sha256
    new = _hashlib().sha256
    return lambda data: new(data).hexdigest()


@cache
def _own() -> Any:
    """Return Python's own module (3.12: _sha2), or hashlib where a distribution leaves it out."""
    for name in ("_sha256", "_sha2"):
        with contextlib.suppress(ImportError):
            return import_module(name)
    return _hashlib()


def _hashlib() -> Any:
    return import_module("hashlib")
