"""Tar header: what a block of 512 bytes says of the member that follows it.

POSIX.1-1988 ustar with pax headers (POSIX.1-2001) and GNU long names. The standard library's reader is not used: it
follows pax headers without bound, and Debian 12's Python 3.11.2 has no extraction filters.
"""

from __future__ import annotations

import re

from sdstop.capture.bounds import Refused

BLOCK = 512
"""Bytes of a header; a member's content is filled up to as many."""
LONGEST = 1 << 16
"""Bytes of a header that says more of the member after it."""
MORE = frozenset({b"x", b"g", b"L", b"K"})
"""Kinds of those: pax headers, GNU long names and targets of links."""


def parse_header(block: bytes) -> tuple[str, int, bytes, str] | None:
    """Return name, size, kind and what a link leads to; None if this is no header."""
    stored = _octal(block[148:156])
    if stored is None or stored != sum(block) - sum(block[148:156]) + 8 * 0x20:
        return None
    large = block[124] == 0x80  # GNU writes sizes from 8 GiB as a binary number
    size = int.from_bytes(block[125:136], "big") if large else _octal(block[124:136])
    if size is None:
        return None
    name = block[:100].partition(b"\0")[0]
    prefix = block[345:500].partition(b"\0")[0] if block[257:263] == b"ustar\0" else b""
    target = _text(block[157:257].partition(b"\0")[0])
    return _text(prefix + b"/" + name if prefix else name), size, block[156:157], target


def _octal(field: bytes) -> int | None:
    digits = field.strip(b" \0")
    return int(digits or b"0", 8) if re.fullmatch(rb"[0-7]*", digits) else None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def parse_size(digits: str) -> int:
    """Return the size that a pax header says. Raises Refused."""
    if not re.fullmatch(r"[0-9]{1,18}", digits):
        raise Refused("has a pax header with a size that is no number")
    return int(digits)


def extend(extended: dict[str, str], kind: bytes, body: bytes) -> None:
    """Take over what a pax header or a GNU long name says of the next member."""
    if kind in {b"L", b"K"}:
        extended["path" if kind == b"L" else "linkpath"] = _text(body.partition(b"\0")[0])
        return
    while body:
        length, _, _ = body.partition(b" ")
        if not re.fullmatch(rb"[0-9]{1,5}", length) or not len(length) + 2 < int(length) <= len(body):
            raise Refused("has a malformed pax header")
        record, body = body[len(length) + 1 : int(length)], body[int(length) :]
        key, equals, value = record.removesuffix(b"\n").partition(b"=")
        if not equals or not record.endswith(b"\n"):
            raise Refused("has a malformed pax header")
        if key.startswith(b"GNU.sparse"):
            raise Refused("holds a sparse file")
        if key in {b"path", b"size", b"linkpath"}:
            if kind == b"g":
                raise Refused("gives all its members one name or size")
            extended[key.decode()] = _text(value)
