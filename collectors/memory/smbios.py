"""Parser for the raw SMBIOS table: processors and memory modules reported by the firmware."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.core.host import Malformed

MOST = 4096
"""Maximum number of structures read from a table; the largest machines have several hundred."""

_MB = 1 << 20
"""Bytes of what SMBIOS calls MB."""
_TYPES = {
    0x0F: "SDRAM", 0x12: "DDR", 0x13: "DDR2", 0x14: "DDR2 FB-DIMM", 0x18: "DDR3", 0x1A: "DDR4", 0x1B: "LPDDR",
    0x1C: "LPDDR2", 0x1D: "LPDDR3", 0x1E: "LPDDR4", 0x1F: "Logical non-volatile device", 0x20: "HBM", 0x21: "HBM2",
    0x22: "DDR5", 0x23: "LPDDR5", 0x24: "HBM3",
}  # fmt: skip
_FLASH = frozenset({0x08, 0x09, 0x0A, 0x0B, 0x0C})
"""Firmware memory: ROM, flash, EEPROM, FEPROM, EPROM."""
_PERSISTENT = frozenset({5, 6, 7})
"""NVDIMM-F, NVDIMM-P and Optane: modules in a slot that are not DRAM."""
_ECC = {3: "none", 4: "parity", 5: "single-bit ECC", 6: "multi-bit ECC", 7: "CRC"}
_VIRTUAL = ("QEMU", "VMware", "Xen", "Microsoft Corporation Virtual", "Amazon EC2", "Google Compute", "innotek",
            "Bochs", "KVM", "Parallels", "OpenStack", "Red Hat KVM", "BHYVE")  # fmt: skip
_NOTHING = frozenset({
    "", "unknown", "not specified", "none", "no dimm", "<out of spec>", "not provided", "n/a", "<bad index>",
})  # fmt: skip


class Processor(Struct, frozen=True):
    """A processor socket (type 4). `populated` is None if the firmware does not report it."""

    designation: str | None
    version: str | None
    populated: bool | None


class MemoryArray(Struct, frozen=True):
    """A set of slots (type 16). `capacity` in bytes; `devices` is the declared number of slots."""

    handle: int
    system: bool
    ecc: str | None
    capacity: int | None
    devices: int


class MemoryDevice(Struct, frozen=True, kw_only=True):
    """A memory slot and its module (type 17).

    `size` in bytes, 0 for an empty slot, None if unknown to the firmware; speeds in MT/s; `dram` is false for
    persistent modules and for firmware flash.
    """

    handle: int | None
    array: int | None
    size: int | None
    locator: str | None
    bank: str | None
    type: str | None = None
    speed: int | None = None
    configured: int | None = None
    rank: int | None = None
    manufacturer: str | None = None
    part: str | None = None
    dram: bool = True


class MappedAddresses(Struct, frozen=True):
    """Address range of an array (type 19) or device (type 20): `start` to `end` in bytes, `end` exclusive."""

    owner: int
    start: int
    end: int
    device: bool


class Table(Struct, frozen=True):
    """Processors and memory reported by the firmware. `virtual` is set if it identifies a virtual machine."""

    processors: tuple[Processor, ...] = ()
    arrays: tuple[MemoryArray, ...] = ()
    devices: tuple[MemoryDevice, ...] = ()
    mapped: tuple[MappedAddresses, ...] = ()
    virtual: bool = False


class Structure(Struct, frozen=True):
    """An SMBIOS structure: its formatted area, including the header, and its strings."""

    type: int
    handle: int
    data: bytes
    strings: tuple[str, ...]

    def number(self, offset: int, size: int) -> int | None:
        """Return the little-endian number at an offset; None if the structure is too short."""
        part = self.data[offset : offset + size]
        return int.from_bytes(part, "little") if len(part) == size else None

    def string(self, offset: int) -> str | None:
        """Return the string referenced by the byte at an offset; None if it is missing or a placeholder."""
        index = self.number(offset, 1)
        return said(self.strings[index - 1]) if index and index <= len(self.strings) else None


def said(text: str) -> str | None:
    """Return a firmware string without surrounding whitespace; None for vendors' placeholders."""
    text = text.strip()
    return None if text.lower() in _NOTHING else text


def virtual(maker: str, product: str) -> bool:
    """Return whether manufacturer and product name identify a virtual machine."""
    return f"{maker} {product}".startswith(_VIRTUAL) or product.startswith(("KVM", "HVM domU", "VirtualBox"))


def parse(data: bytes) -> Table:
    r"""Parse /sys/firmware/dmi/tables/DMI (DMTF DSP0134, sections 7.5, 7.17, 7.18, 7.20, 7.21).

    Structures follow each other: type, length of the formatted area, a handle of two bytes, the rest of that area
    (numbers are little-endian), then strings, each ended by NUL, and one NUL more (two without strings):

        10 17 00 10 03 03 06 00 00 00 80 fe ff 08 00 ...  00 00         type 16, 23 bytes, handle 0x1000
        11 28 00 11 00 10 fe ff 48 00 40 00 ff 7f ...  "P1-DIMMA1\0"...  type 17, 40 bytes, handle 0x1100
        7f 04 00 7f 00 00                                               the end

    The available fields depend on the length of a structure, never on a version. Raises Malformed for a table that is
    broken or truncated, because a partial table would describe a different machine.
    """
    return table(list(structures(data)))


def structures(data: bytes) -> Iterator[Structure]:
    """Yield the structures of a raw table up to its end marker; raise Malformed if it is broken or truncated."""
    at, count = 0, 0
    while at < len(data):
        if at + 4 > len(data) or count == MOST:
            break
        kind, length, handle = struct.unpack_from("<BBH", data, at)
        end = data.find(b"\0\0", at + length) if length >= 4 else -1
        if end < 0:
            if kind == 127 and length == 4 and at + 4 <= len(data):
                return
            raise Malformed(f"SMBIOS table: structure {count} at {at} is broken or cut off")
        strings = data[at + length : end].split(b"\0") if end > at + length else []
        yield Structure(
            kind, handle, data[at : at + length], tuple(text.decode("utf-8", "backslashreplace") for text in strings)
        )
        if kind == 127:
            return
        at, count = end + 2, count + 1
    raise Malformed(f"SMBIOS table: no end after {count} structures" if count else "SMBIOS table: empty")


_READ: Mapping[int, frozenset[int]] = {
    0: frozenset({0x04, 0x05}), 1: frozenset({0x04, 0x05}), 4: frozenset({0x04, 0x07, 0x10}), 16: frozenset(),
    17: frozenset({0x10, 0x11, 0x17, 0x1A}), 19: frozenset(), 20: frozenset(),
}  # fmt: skip
"""Offsets of the string indexes that are read, by structure type."""
_UUID = slice(0x08, 0x18)
"""The system's UUID in a structure of type 1 (DSP0134 7.2.1)."""


def without_serials(data: bytes) -> bytes:
    """Return a table of equal length with all unread strings (serial numbers, asset tags, names) replaced by `x`.

    The system UUID and everything after the end of the table are zeroed.
    """
    made = bytearray(data)
    at = 0
    while at + 4 <= len(data):
        kind, length = data[at], data[at + 1]
        end = data.find(b"\0\0", at + length) if length >= 4 else -1
        if end < 0:
            at += length if kind == 127 else 0
            break
        fields = {offset for offset in _READ.get(kind, ()) if offset < length}
        kept = {data[at + offset] for offset in fields}
        if kind == 1:
            there = range(at + _UUID.start, min(at + _UUID.stop, at + length))
            made[there.start : there.stop] = bytes(len(there))
        start = at + length
        for number, text in enumerate(data[start:end].split(b"\0") if end > start else (), 1):
            if number not in kept:
                made[start : start + len(text)] = b"x" * len(text)
            start += len(text) + 1
        at = max(end, at + length) + 2
        if kind == 127:
            break
    made[at:] = bytes(max(0, len(data) - at))
    return bytes(made)


def table(found: Sequence[Structure]) -> Table:
    """Return the processors and memory described by structures."""
    return Table(
        tuple(_processor(s) for s in found if s.type == 4 and s.number(0x05, 1) == 3),
        tuple(_array(s) for s in found if s.type == 16),
        tuple(_device(s) for s in found if s.type == 17),
        tuple(mapped for s in found if s.type in {19, 20} for mapped in _mapped(s)),
        any(_virtual(s) for s in found if s.type in {0, 1}),
    )


def _virtual(s: Structure) -> bool:
    if s.type == 0:  # BIOS characteristics, second extension byte: "the table describes a virtual machine"
        return bool((s.number(0x13, 1) or 0) & 0x10)
    return virtual(s.string(0x04) or "", s.string(0x05) or "")


def _processor(s: Structure) -> Processor:
    status = s.number(0x18, 1)
    return Processor(s.string(0x04), s.string(0x10), None if status is None else bool(status & 0x40))


def _array(s: Structure) -> MemoryArray:
    capacity = s.number(0x07, 4)
    size = s.number(0x0F, 8) if capacity == 0x80000000 else capacity * 1024 if capacity else None
    ecc = _ECC.get(s.number(0x06, 1) or 0)
    return MemoryArray(s.handle, s.number(0x05, 1) == 3, ecc, size, s.number(0x0D, 2) or 0)


def _device(s: Structure) -> MemoryDevice:
    kind = s.number(0x12, 1) or 0
    technology = s.number(0x28, 1)
    return MemoryDevice(
        handle=s.handle,
        array=s.number(0x04, 2),
        size=_size(s),
        locator=s.string(0x10),
        bank=s.string(0x11),
        type=_TYPES.get(kind),
        speed=_speed(s, 0x15, 0x54),
        configured=_speed(s, 0x20, 0x58),
        rank=(s.number(0x1B, 1) or 0) & 0x0F or None,
        manufacturer=s.string(0x17),
        part=s.string(0x1A),
        dram=kind not in _FLASH | {0x1F} and technology not in _PERSISTENT,
    )


def _size(s: Structure) -> int | None:
    size = s.number(0x0C, 2)
    if size is None or size == 0xFFFF:
        return None
    if size == 0x7FFF:
        extended = s.number(0x1C, 4)
        return None if extended is None else (extended & 0x7FFFFFFF) * _MB
    return (size & 0x7FFF) * 1024 if size & 0x8000 else size * _MB


def _speed(s: Structure, offset: int, extended: int) -> int | None:
    speed = s.number(offset, 2)
    return (s.number(extended, 4) if speed == 0xFFFF else speed) or None


def _mapped(s: Structure) -> Iterator[MappedAddresses]:
    device = s.type == 20
    start, last, owner = s.number(0x04, 4), s.number(0x08, 4), s.number(0x0C, 2)
    if start is None or last is None or owner is None:
        return
    if start == 0xFFFFFFFF:
        at = 0x13 if device else 0x0F
        low, high = s.number(at, 8), s.number(at + 8, 8)
        if low is not None and high is not None and high >= low:
            yield MappedAddresses(owner, low, high + 1, device)
    elif last >= start:
        yield MappedAddresses(owner, start * 1024, (last + 1) * 1024, device)
