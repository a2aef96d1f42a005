"""SHA-256 of small and large pieces."""

from __future__ import annotations

import hashlib
import sys

import pytest

from sdstop.core import checksum


@pytest.mark.parametrize("size", [0, 1, 1000, 1 << 20])
def test_it_is_that_of_hashlib(size: int) -> None:
    assert checksum.sha256(b"x" * size) == hashlib.sha256(b"x" * size).hexdigest()


@pytest.mark.parametrize("pieces", [1, 2000])
def test_so_is_that_of_many_pieces(pieces: int) -> None:
    assert checksum.sha256_of(pieces)(b"x") == hashlib.sha256(b"x").hexdigest()


def test_a_distribution_may_have_openssl_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_sha256", "_sha2"):
        monkeypatch.setitem(sys.modules, name, None)
    checksum._own.cache_clear()
    assert checksum._own() is hashlib
    checksum._own.cache_clear()
