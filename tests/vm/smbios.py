"""SMBIOS tables of memory (System Management BIOS 3.x, types 16 and 17), for a machine with the DIMMs of a story."""

from __future__ import annotations

import struct
from pathlib import Path

BOARDS = {
    # sockets, channels a socket, slots a channel, then of each socket: filled slots and MB of each of their modules
    "one-dimm-per-socket": (2, 8, 1, (((0,), 32768), ((0,), 32768))),
    "unequal": (2, 6, 1, (((0, 1, 2, 3, 4, 5), 16384), ((0, 1), 16384))),
    "full": (2, 6, 2, (((*range(12),), 16384), ((*range(12),), 16384))),
}
_ANY_HANDLE = 0x1000


def write(board: str, folder: Path) -> list[Path]:
    """Write a board's structures, one file each, and return them. KeyError if there is no such board."""
    sockets, channels, per_channel, filled = BOARDS[board]
    files = []
    for socket in range(sockets):
        slots = channels * per_channel
        handle = _ANY_HANDLE + socket
        files.append(_put(folder / f"array-{socket}.bin", array(handle, slots), []))
        places, megabytes = filled[socket]
        for slot in range(slots):
            channel, place = divmod(slot, per_channel)
            names = [
                f"P{socket + 1}-DIMM{chr(65 + channel)}{place + 1}",
                f"P{socket}_Node0_Channel{channel}_Dimm{place}",
            ]
            size = megabytes if slot in places else 0
            more = ["Example", f"S{socket}{slot:02}", "", f"EX-{megabytes}-2933"] if size else ["NO DIMM"] * 4
            device = _device(0x1100 + socket * 64 + slot, handle, size)
            files.append(
                _put(folder / f"device-{socket}-{slot:02}.bin", device, [*names, *(text or "-" for text in more)])
            )
    return files


def array(handle: int, slots: int) -> bytes:
    """Return a type 16 structure: a system memory array on the board, with multi-bit ECC, of at most 2 TiB."""
    return struct.pack("<BBHBBBIHHQ", 16, 23, handle, 3, 3, 6, 0x80000000, 0xFFFE, slots, 2 << 40)


def _device(handle: int, belongs_to: int, megabytes: int) -> bytes:
    """Return a type 17 structure of a DDR4 slot, 0 MB: an empty one. Rated 2933 MT/s, running at 2666."""
    full = megabytes > 0
    extended = megabytes if megabytes >= 0x7FFF else 0
    return struct.pack(
        "<BBHHHHHHBBBBBHHBBBBBIHHHH", 17, 40, handle, belongs_to, 0xFFFE,
        72 if full else 0xFFFF, 64 if full else 0xFFFF,  # total and data width: ECC
        (0x7FFF if extended else megabytes), 9, 0, 1, 2,  # a DIMM; locator and bank are strings 1 and 2
        0x1A if full else 2, 0x2080 if full else 2, 2933 if full else 0,
        3, 4, 5, 6, 2 if full else 0,  # maker, serial number, asset tag, part number: strings; ranks
        extended, 2666 if full else 0, 1200, 1200, 1200,
    )  # fmt: skip


def _put(path: Path, fixed: bytes, strings: list[str]) -> Path:
    path.write_bytes(fixed + (b"".join(text.encode() + b"\0" for text in strings) or b"\0") + b"\0")
    return path
