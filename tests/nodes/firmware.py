"""A machine's memory as its firmware would have it: raw SMBIOS structures, and the same as dmidecode prints it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

E5_2620_V4 = "Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz"


@dataclass
class Module:
    """A slot; `size` in MB, 0 of an empty one, -1 unknown; speeds in MT/s, `configured` 0 where it is not told."""

    locator: str
    size: int = 0
    bank: str = ""
    speed: int = 2400
    configured: int = 2133
    array: int = 0
    kind: int = 0x1A
    technology: int = 3


@dataclass
class Board:
    """Processors, each populated or not, and slots."""

    modules: list[Module]
    cpus: tuple[str | None, ...] = (E5_2620_V4, E5_2620_V4)
    arrays: int = 1
    system: tuple[str, str] = ("Example", "Node 1")
    more: bytes = field(default=b"")

    def table(self) -> bytes:
        """Return /sys/firmware/dmi/tables/DMI."""
        parts = [structure(1, 0x100, struct.pack("<BB", 1, 2) + bytes(21), *self.system)]
        for n, cpu in enumerate(self.cpus):
            area = bytearray(0x2A - 4)
            area[0], area[1], area[0x18 - 4] = 1, 3, 0x41 if cpu else 0
            area[0x10 - 4] = 2 if cpu else 0
            parts.append(structure(4, 0x400 + n, bytes(area), f"CPU{n + 1}", *([cpu] if cpu else [])))
        for n in range(self.arrays):
            count = sum(module.array == n for module in self.modules)
            parts.append(structure(16, 0x1000 + n, struct.pack("<BBBIHH", 3, 3, 6, 0x1000000, 0xFFFE, count)))
        parts += [device(0x1100 + n, module) for n, module in enumerate(self.modules)]
        return b"".join(parts) + self.more + structure(127, 0x7F00, b"")


def structure(kind: int, handle: int, area: bytes, *strings: str) -> bytes:
    """Return a structure with its header and strings."""
    ends = b"".join(text.encode() + b"\0" for text in strings) or b"\0"
    return struct.pack("<BBH", kind, len(area) + 4, handle) + area + ends + b"\0"


def device(handle: int, module: Module, length: int = 0x5C) -> bytes:
    """Return a slot as structure 17, cut to a length that some firmware gives it."""
    area = bytearray(0x5C)
    small = min(module.size, 0x7FFF) if module.size >= 0 else 0xFFFF
    struct.pack_into("<HHHHHBBBBBHH", area, 4, 0x1000 + module.array, 0xFFFE, 72, 64, small, 9, 0, 1, 2,
                     module.kind, 0x80, module.speed)  # fmt: skip
    struct.pack_into("<BBBBB", area, 0x17, 3, 0, 0, 4, 2)
    struct.pack_into("<IH", area, 0x1C, module.size if small == 0x7FFF else 0, module.configured)
    area[0x28] = module.technology
    return structure(17, handle, bytes(area[4:length]), module.locator or " ", module.bank or " ", "Maker", "PART-1 ")


def board(
    per_cpu: tuple[int, ...] = (1, 1), slots: int = 4, names: str = "P{cpu}-DIMM{letter}1", **settings: object
) -> Board:
    """Return a board of so many slots a processor, of which so many hold modules of 16 GB, the first ones."""
    given = {name: settings.pop(name) for name in ("speed", "configured", "size") if name in settings}
    modules = []
    for cpu, filled in enumerate(per_cpu):
        for n in range(slots):
            made = {"size": 16384} | given if n < filled else {}
            name = names.format(cpu=cpu + 1, letter="ABCDEFGHIJKLMNOPQRSTUVWX"[n], n=n + 1, all=cpu * slots + n + 1)
            modules.append(Module(name, **made))  # type: ignore[arg-type]  # numbers
    return Board(modules, **settings)  # type: ignore[arg-type]  # as Board has them


DMIDECODE = """\
# dmidecode 3.0
Handle 0x0400, DMI type 4, 48 bytes
Processor Information
\tSocket Designation: Proc 1
\tType: Central Processor
\tVersion: Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz
\tStatus: Populated, Enabled

Handle 0x1000, DMI type 16, 23 bytes
Physical Memory Array
\tUse: System Memory
\tError Correction Type: Multi-bit ECC
\tMaximum Capacity: 768 GB
\tNumber Of Devices: 2

Handle 0x1100, DMI type 17, 40 bytes
Memory Device
\tArray Handle: 0x1000
\tSize: 16384 MB
\tLocator: PROC  1 DIMM  1
\tBank Locator: Not Specified
\tType: DDR4
\tSpeed: 2400 MHz
\tManufacturer: HP
\tPart Number: 809082-091
\tRank: 2
\tConfigured Clock Speed: 2133 MHz

Handle 0x1101, DMI type 17, 40 bytes
Memory Device
\tArray Handle: 0x1000
\tSize: No Module Installed
\tLocator: PROC  1 DIMM  2
\tType: Unknown
"""
