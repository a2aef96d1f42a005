"""Slot locators: socket and channel of memory slots, derived from the slot names.

Vendors follow no common convention, so one pattern must match every slot of the machine, or at least every populated
one; the socket of slots that do not match is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from sdstop.core.expression import expression

_Read = Callable[["Slot"], tuple[str, str | None] | None]


class Slot(Struct, frozen=True):
    """A slot's names, the index of its array among the system memory arrays, and whether it is populated."""

    locator: str
    bank: str
    array: int | None
    filled: bool

    @property
    def both(self) -> str:
        """Locator and bank locator, joined by `|`."""
        return f"{self.locator}|{self.bank}"


class SlotPlace(Struct, frozen=True):
    """Position of a slot: socket number, from 0, and a channel name that is unique within the socket."""

    socket: int | None = None
    channel: str | None = None


_BANKS = (
    r"P(?P<socket>\d{1,2})_Node(?P<imc>\d{1,2})_Channel(?P<channel>\d{1,2})_Dimm\d{1,2}",
    r"SOCKET (?P<socket>\d{1,2}) CHANNEL (?P<channel>\d{1,2})(?: DIMM \d{1,2})?",
    r"P(?P<socket>\d{1,2}) CHANNEL (?P<channel>[A-Z])",
    r"NODE ?(?P<socket>\d{1,2}) CHANNEL (?P<channel>\d{1,2}) DIMM \d{1,2}",
    r"CPU ?(?P<socket>\d{1,2})",
    r"/SYS/MB/P(?P<socket>\d{1,2})",
)
_LOCATORS = (
    r"P(?P<socket>\d{1,2})[-_]DIMM[-_]?(?P<channel>[A-Z])\d{1,2}",
    r"P(?P<socket>\d{1,2})[-_]DIMM(?P<channel>\d)[A-Z]",
    r"PROC +(?P<socket>\d{1,2}) +DIMM +\d{1,2}[A-Z]?",
    r"CPU(?P<socket>\d{1,2})_(?:DIMM_)?(?P<channel>[A-Z])\d{1,2}",
    r"CPU(?P<socket>\d{1,2})_C(?P<channel>\d{1,2})D\d{1,2}",
    r"CPU ?(?P<socket>\d{1,2})[-_ ]DIMM[-_ ]?(?P<channel>[A-Z])\d{1,2}",
    r"CPU ?(?P<socket>\d{1,2})[-_ ]?C[Hh](?:annel|ANNEL)?[-_ ]?(?P<channel>[A-Z]|\d{1,2})[-_ ]?D(?:IMM|imm)?[-_ ]?\d+",
    r"CPU(?P<socket>\d{1,2})[-_]DIMM_?\d{1,2}",
    r"DIMM\d{1,2}_CPU(?P<socket>\d{1,2})",
    r"DIMM_P(?P<socket>\d{1,2})_(?P<channel>[A-Z])\d{1,2}",
    r"P(?P<socket>\d{1,2})-Ch(?P<channel>[A-Z])-DIMM\d{1,2}",
    r"P(?P<socket>\d{1,2})_MC\d{1,2}_DIM_CH_(?P<channel>[A-Z])\d{0,2}",
)
_BOTH = (
    # Three digits alone are ambiguous; the bank name confirms that they are socket, channel and slot.
    r"DIMM(?P<socket>\d)(?P<channel>\d)(?P<slot>\d)(?: J\d+)?\|_Node(?P=socket)_Channel(?P=channel)_Dimm(?P=slot)",
    r"(?:DIMM[ _]?)?(?P<channel>[A-Z])\d{1,2}\|NODE ?(?P<socket>\d{1,2})",
    r"[^|]*\|NODE ?(?P<socket>\d{1,2})",
    r"Node(?P<socket>\d{1,2})_Dimm\d{1,2}\|.*",
)
_CONTROLLER = expression(r"NODE ?(?P<node>\d{1,2})(?: CHANNEL (?P<channel>\d{1,2}) DIMM \d{1,2})?")
"""Bank of a memory controller, of which a processor has several: NODE 1 to NODE 4 on two processors."""
_LETTER = expression(r"(?:DIMM[ _]?)?([A-Z])\d{1,2}")


def places(slots: Sequence[Slot], sockets: int, channels: int | None) -> list[SlotPlace]:
    """Return each slot's position. `sockets` counts all sockets, populated or not; `channels` is per socket."""
    for wanted in (slots, [slot for slot in slots if slot.filled]):
        for read in _readings(slots, sockets, channels):
            found = [read(slot) for slot in slots]
            if not wanted or any(said is None for slot, said in zip(slots, found, strict=True) if slot in wanted):
                continue
            names = sorted({said[0] for said in found if said is not None}, key=lambda name: (len(name), name))
            # Numbering may start at 0 or 1; this is certain only if every socket is present.
            if len(names) == sockets:
                return [SlotPlace() if said is None else SlotPlace(names.index(said[0]), said[1]) for said in found]
    return [SlotPlace(0) for _ in slots] if sockets == 1 else [SlotPlace() for _ in slots]


def _readings(slots: Sequence[Slot], sockets: int, channels: int | None) -> list[_Read]:
    """Return the slot name readers, most reliable first."""
    ways = [_way(pattern, "bank") for pattern in _BANKS] + [_way(pattern, "locator") for pattern in _LOCATORS]
    ways += [_way(pattern, "both") for pattern in _BOTH]
    ways += _controllers(slots, sockets)
    arrays = {slot.array for slot in slots}
    letters = sorted({letter for slot in slots if (letter := _letter(slot)) is not None})
    if sockets > 1 and len(arrays) == sockets and None not in arrays:
        ways.append(lambda slot: (str(slot.array), None))
    if len(letters) == sockets > 1:
        ways.append(lambda slot: None if (letter := _letter(slot)) is None else (letter, None))
    if channels is not None and sockets > 1 and len(letters) == sockets * channels:
        block = {letter: str(place // channels) for place, letter in enumerate(letters)}
        ways.append(lambda slot: None if (letter := _letter(slot)) is None else (block[letter], letter))
    return ways


def _controllers(slots: Sequence[Slot], sockets: int) -> list[_Read]:
    """Return the reader of banks that name memory controllers, numbered from socket to socket."""
    found = {slot: _CONTROLLER.fullmatch(slot.bank) for slot in slots}
    nodes = sorted({int(bank["node"]) for bank in found.values() if bank is not None})
    each = len(nodes) // sockets if sockets > 1 else 0
    if each < 2 or len(nodes) != each * sockets or nodes != list(range(nodes[0], nodes[0] + len(nodes))):
        return []

    def read(slot: Slot) -> tuple[str, str | None] | None:
        bank = found.get(slot)
        if bank is None:
            return None
        place = nodes.index(int(bank["node"]))
        channel = bank["channel"] if bank["channel"] is not None else _letter(slot)
        return str(place // each), None if channel is None else f"{place % each}.{channel}"

    return [read]


def _letter(slot: Slot) -> str | None:
    found = _LETTER.fullmatch(slot.locator)
    return None if found is None else found[1]


def _way(pattern: str, attribute: str) -> _Read:
    compiled = re.compile(pattern)

    def read(slot: Slot) -> tuple[str, str | None] | None:
        found = compiled.fullmatch(getattr(slot, attribute))
        if found is None:
            return None
        parts = found.groupdict()
        channel = parts.get("channel")
        # Each memory controller numbers its channels from 0.
        imc = parts.get("imc") or "0"
        return str(int(parts["socket"])), channel if channel is None or imc == "0" else f"{imc}.{channel}"

    return read
