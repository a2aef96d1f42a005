"""Parser for dmidecode text: SMBIOS structures in captures and pasted reports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sdstop.collectors.memory.smbios import MappedAddresses, MemoryArray, MemoryDevice, Processor, Table, said, virtual
from sdstop.core.expression import expression
from sdstop.core.form import NOT_BEGUN, NOT_SHOWN, Form, Several
from sdstop.core.host import Malformed
from sdstop.core.text import is_whole

_HANDLE = expression(r"^\s*Handle 0x([0-9A-Fa-f]{1,4}), DMI type (\d{1,3}),", re.MULTILINE)
_TITLES = {
    "BIOS Information": 0, "System Information": 1, "Processor Information": 4, "Physical Memory Array": 16,
    "Memory Device": 17, "Memory Array Mapped Address": 19, "Memory Device Mapped Address": 20,
}  # fmt: skip
_KINDS = frozenset(_TITLES.values())
_UNITS = {"bytes": 1, "kB": 1 << 10, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_SIZE = expression(r"(\d{1,12})(?: (bytes|kB|KB|MB|GB|TB))")
_SPEED = expression(r"(\d{1,6}) (?:MT/s|MHz)")
_ECC = {
    "None": "none", "Parity": "parity", "Single-bit ECC": "single-bit ECC", "Multi-bit ECC": "multi-bit ECC",
    "CRC": "CRC",
}  # fmt: skip
_FLASH = frozenset({"ROM", "Flash", "EEPROM", "FEPROM", "EPROM", "Logical non-volatile device"})
_UNTOLD = frozenset({"Other", "Unknown", "RAM", "DRAM"})

_NEEDED = {16: ("Use", "Number Of Devices"), 17: ("Size", "Locator")}
"""Lines that structures of these types always have (dmidecode.c); where one is missing, lines were lost."""

_Block = tuple[int, int | None, Mapping[str, str]]


def parse(text: str) -> Table:
    """Parse dmidecode output (2.12 to 3.6; `-q` omits the handles).

        Handle 0x1100, DMI type 17, 40 bytes
        Memory Device
                Array Handle: 0x1000
                Size: 32 GB
                Locator: P1-DIMMA1
                Bank Locator: P0_Node0_Channel0_Dimm0
                Type: DDR4
                Speed: 2933 MT/s
                Rank: 2
                Configured Memory Speed: 2666 MT/s

    Speeds are labeled MHz before 3.1 and MT/s since, with the same meaning; `Configured Clock Speed` became
    `Configured Memory Speed` in 3.2. Raises Malformed for text without any structure, and for text without an end
    marker that lists fewer slots than its arrays declare.
    """
    blocks = list(_blocks(text))
    if not blocks:
        raise Malformed(f"dmidecode: no structure in {text[:60]!r}")
    arrays = tuple(_array(handle, f) for kind, handle, f in blocks if kind == 16)
    devices = tuple(_device(handle, f) for kind, handle, f in blocks if kind == 17)
    for kind, handle, fields in blocks:
        lacking = next((name for name in _NEEDED.get(kind, ()) if name not in fields), None)
        if lacking is not None:
            raise Malformed(f"dmidecode: no {lacking} in structure {handle if handle is None else hex(handle)}")
    declared = sum(array.devices for array in arrays)
    if devices and len(devices) < declared and "End Of Table" not in text:
        raise Malformed(f"dmidecode: {len(devices)} memory devices of {declared}")
    return Table(
        tuple(_processor(f) for kind, _, f in blocks if kind == 4 and f.get("Type") == "Central Processor"),
        arrays,
        devices,
        tuple(m for kind, _, f in blocks if kind in {19, 20} for m in _mapped(f, device=kind == 20)),
        "System is a virtual machine" in text
        or any(virtual(f.get("Manufacturer", ""), f.get("Product Name", "")) for kind, _, f in blocks if kind == 1),
    )


_SERIAL = expression(rb"^([ \t]*(?:Serial Number|Asset Tag|Service Tag|UUID|String \d+):)[^\n]*", re.MULTILINE)


_HEAD = expression(r"^# dmidecode \d|^SMBIOS \d", re.MULTILINE)


def fault(text: str) -> str:
    """Return why a text lacks memory modules, "" if it has all that its arrays declare."""
    try:
        table = parse(text)
    except Malformed as error:
        return str(error)
    declared = sum(array.devices for array in table.arrays if array.system)
    known = sum(bool(device.locator) for device in table.devices)
    if declared and known < declared:
        return f"{known} of {declared} memory devices"
    if declared or "End Of Table" in text:
        return ""
    return NOT_SHOWN if _HEAD.search(text) else NOT_BEGUN


FORM = Form(
    key="cmd:dmidecode",
    first=r"# dmidecode \d|Handle 0x[0-9A-Fa-f]{4}, DMI type",
    reads="memory modules, slots and processors",
    versions="dmidecode 2.9 and later",
    fault=fault,
    several=Several.JOINED,
    about=r"Handle (0x[0-9A-Fa-f]{4})",
)


def without_serials(data: bytes) -> bytes:
    """Return dmidecode output without serial numbers, asset tags, UUIDs and vendor-specific strings."""
    return _SERIAL.sub(rb"\1 Not Specified", data)


def _blocks(text: str) -> Iterator[_Block]:
    """Yield type, handle and fields of each relevant structure."""
    kind: int | None = None
    handle: int | None = None
    fields: dict[str, str] = {}
    if _HANDLE.search(text) is not None:
        yield from _handled(text)
        return
    for line in text.splitlines():
        if line[:1] in {"\t", " "}:
            name, colon, value = line.strip().partition(":")
            if colon and kind is not None:
                fields.setdefault(name, value.strip())
            continue
        if kind is not None:
            yield kind, handle, fields
            kind, fields = None, {}
        header = _HANDLE.match(line)
        if header is not None:
            handle = int(header[1], 16)
        elif line.strip() in _TITLES:
            kind = _TITLES[line.strip()]
        elif not line.strip():
            handle = None
    if kind is not None:
        yield kind, handle, fields


def _handled(text: str) -> Iterator[_Block]:
    """Yield the structures of a text with handles, which separate them even where indentation was lost."""
    heads = list(_HANDLE.finditer(text))
    for head, end in zip(heads, [*(other.start() for other in heads[1:]), len(text)], strict=True):
        fields: dict[str, str] = {}
        for line in text[head.end() : end].splitlines()[1:]:
            name, colon, value = line.strip().partition(":")
            if colon:
                fields.setdefault(name, value.strip())
        if int(head[2]) in _KINDS:
            yield int(head[2]), int(head[1], 16), fields


def _handle(word: str | None) -> int | None:
    return int(word, 16) if word is not None and re.fullmatch(r"0x[0-9A-Fa-f]{1,4}", word) else None


def _processor(fields: Mapping[str, str]) -> Processor:
    status = fields.get("Status", "")
    populated = True if status.startswith("Populated") else False if status.startswith("Unpopulated") else None
    return Processor(said(fields.get("Socket Designation", "")), said(fields.get("Version", "")), populated)


def _array(handle: int | None, fields: Mapping[str, str]) -> MemoryArray:
    devices = fields.get("Number Of Devices", "")
    return MemoryArray(
        -1 if handle is None else handle,
        fields.get("Use") == "System Memory",
        _ECC.get(fields.get("Error Correction Type", "")),
        _size(fields.get("Maximum Capacity", "")),
        int(devices) if is_whole(devices, 5) else 0,
    )


def _size(text: str) -> int | None:
    if text.startswith("No Module"):
        return 0
    found = _SIZE.fullmatch(text)
    return int(found[1]) * _UNITS[found[2]] if found else None


def _speed(text: str) -> int | None:
    found = _SPEED.fullmatch(text)
    return int(found[1]) or None if found else None


def _device(handle: int | None, fields: Mapping[str, str]) -> MemoryDevice:
    kind = said(fields.get("Type", ""))
    rank = fields.get("Rank", "")
    technology = fields.get("Memory Technology", "")
    return MemoryDevice(
        handle=handle,
        array=_handle(fields.get("Array Handle")),
        size=_size(fields.get("Size", "")),
        locator=said(fields.get("Locator", "")),
        bank=said(fields.get("Bank Locator", "")),
        type=None if kind in _UNTOLD | _FLASH - {"Logical non-volatile device"} else kind,
        speed=_speed(fields.get("Speed", "")),
        configured=_speed(fields.get("Configured Memory Speed") or fields.get("Configured Clock Speed", "")),
        rank=int(rank) or None if is_whole(rank, 2) else None,
        manufacturer=said(fields.get("Manufacturer", "")),
        part=said(fields.get("Part Number", "")),
        dram=kind not in _FLASH
        and not technology.startswith(("NVDIMM-F", "NVDIMM-P", "Intel Optane", "Intel persist")),
    )


def _mapped(fields: Mapping[str, str], *, device: bool) -> Iterator[MappedAddresses]:
    owner = _handle(fields.get("Physical Device Handle" if device else "Physical Array Handle"))
    ends = [fields.get(name, "") for name in ("Starting Address", "Ending Address")]
    if owner is None or not all(re.fullmatch(r"0x[0-9A-Fa-f]{1,16}", end) for end in ends):
        return
    start, last = (int(end, 16) for end in ends)
    if last >= start:
        yield MappedAddresses(owner, start, last + 1, device)
