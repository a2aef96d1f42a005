"""SHA-256 of many small pieces: OpenSSL, which hashlib loads, takes 3 ms to start and pays from a megabyte on."""

from __future__ import annotations

import contextlib
from functools import cache
from importlib import import_module
from typing import Any

_LARGE = 1 << 20
"""Size in bytes from which OpenSSL is faster, with its start."""


def sha256(data: bytes) -> str:
    """Return the SHA-256 of data in hexadecimal digits."""
    digest: str = (_hashlib() if len(data) >= _LARGE else _own()).sha256(data).hexdigest()
    return digest


@cache
def _own() -> Any:
    """Return Python's own module (3.12: _sha2), or hashlib where a distribution leaves it out."""
    for name in ("_sha256", "_sha2"):
        with contextlib.suppress(ImportError):
            return import_module(name)
    return _hashlib()


def _hashlib() -> Any:
    return import_module("hashlib")
