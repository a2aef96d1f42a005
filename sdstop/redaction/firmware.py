"""Firmware: names inside the binary SMBIOS table, replaced in place: no structure moves (DMTF DSP0134 6.1.3, 7.2)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

from sdstop.collectors.memory import smbios
from sdstop.core.host import Malformed
from sdstop.redaction.pseudonym import Kind, Pseudonyms

FIELDS = {
    1: (0x07, 0x19), 2: (0x07, 0x08), 3: (0x07, 0x08), 4: (0x20, 0x21), 17: (0x18, 0x19), 22: (0x07,), 39: (0x08, 0x09),
}  # fmt: skip
"""Where the numbers of serial and asset tag stand, by the structure's type (DSP0134 7.2-7.5, 7.18, 7.23, 7.40)."""
_UUID = 0x08
"""Where the system's UUID stands in a structure of type 1."""
_ANYTHING = frozenset({11, 12, *range(128, 256)})
"""Structures whose strings may be anything: the vendor's own; nobody here reads them."""
_LAST = 127
_END = b"\0\0"


def said(data: bytes) -> Iterator[tuple[Kind, str]]:
    """Yield the serial numbers, asset tags and the UUID of a table."""
    try:
        found = list(smbios.structures(data))
    except Malformed:
        return
    for structure in found:
        for offset in FIELDS.get(structure.type, ()):
            value = structure.string(offset)
            if value is not None:
                yield Kind.SERIAL, value


def replaced(data: bytes, known: Pseudonyms, text: Callable[[str], str]) -> bytes:
    """Return a table of the same length with its names replaced by `text`, the UUID, and all strings of vendors."""
    made = bytearray(data)
    at = 0
    while at + 4 <= len(data):
        kind, length = data[at], data[at + 1]
        strings = at + length
        end = data.find(_END, strings)
        if length < 4 or end < 0:
            break
        if kind == 1 and length >= _UUID + 16:
            _uuid(made, at + _UUID, known)
        whole = known_alike(known) if kind in _ANYTHING else text
        _string(made, strings, end, whole)
        at = max(end, strings) + 2
        if kind == _LAST:
            break
    _string(made, at, len(data), text)  # what stands behind the table
    return bytes(made)


def known_alike(known: Pseudonyms) -> Callable[[str], str]:
    """Return what replaces a whole string, whatever it says."""
    return lambda value: known.alike(Kind.SERIAL, value)


def _string(table: bytearray, start: int, end: int, text: Callable[[str], str]) -> None:
    while start < end:
        stop = table.find(b"\0", start, end)
        stop = end if stop < 0 else stop
        if stop > start:
            made = text(table[start:stop].decode("latin-1")).encode("latin-1", "replace")
            table[start:stop] = (made + b" " * (stop - start))[: stop - start]
        start = stop + 1


def _uuid(table: bytearray, at: int, known: Pseudonyms) -> None:
    """Replace a UUID, whose first three numbers are little-endian (since SMBIOS 2.6), as it is in text."""
    plain = bytes(table[at : at + 16])
    if len(set(plain)) > 1:  # all 00 and all FF are none
        table[at : at + 16] = uuid.UUID(hex=known.of(Kind.UUID, uuid.UUID(bytes_le=plain).hex)).bytes_le
