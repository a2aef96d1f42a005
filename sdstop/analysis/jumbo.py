"""MTUs at which AoE frames carry whole blocks, with texts and commands for setting them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.collectors.aoe.readings import HEADERS, SECTOR, good_mtus, whole_share
from sdstop.collectors.aoe.targets import AoePort
from sdstop.collectors.network.interfaces import Interface
from sdstop.core import format as human
from sdstop.core.history import Window
from sdstop.core.shell import quoted

BLOCK = 4096
JUMBO = 9216
"""Largest MTU to propose: many network cards support more, few switches do."""
SIZES = (4096, 8192, 16384, 65536, 131072)
"""Request sizes whose splitting is reported."""
_FEW = 3


class MtuProposal(Struct, frozen=True):
    """MTUs at which frames carry whole blocks; `mtu` is the suggested one. `certain`: the interfaces support it.

    `smaller` is the next range below, for network cards and switches with a lower maximum.
    """

    low: int
    high: int
    mtu: int
    certain: bool
    smaller: tuple[int, int] | None = None


def proposal(window: Window, interfaces: Sequence[str], block: int = BLOCK) -> MtuProposal | None:
    """Return the highest range of MTUs at which the interfaces' frames carry whole blocks; None if there is none."""
    known, certain = [], bool(interfaces)
    for name in interfaces:
        row, port = window.get(Interface, name), window.get(AoePort, name)
        now = row.mtu if row is not None and row.mtu is not None else 0
        if port is not None and port.max_mtu is not None:
            known.append(max(now, min(port.max_mtu, JUMBO)))
        else:
            known.append(now)
            certain = False
    best = good_mtus(min(known), block) if known else None
    if best is None and not certain:
        best = good_mtus(JUMBO, block)
    elif best is not None:
        certain = True
    if best is None:
        return None
    return MtuProposal(*best, _plain(*best), certain, good_mtus(best[0] - 1, block))


def aligned_mtus(block: int) -> list[tuple[int, int]]:
    """Return the highest range of MTUs at which frames carry whole blocks, and the next one below it.

    4096 -> [(8228, 8739), (4132, 4643)]; empty if no usual MTU is large enough for one.
    """
    found: list[tuple[int, int]] = []
    while len(found) < _RANGES and (best := good_mtus(found[-1][0] - 1 if found else JUMBO, block)) is not None:
        found.append(best)
    return found


_RANGES = 2


def _plain(low: int, high: int) -> int:
    """Return the largest multiple of 100 in a range of MTUs, or its upper end."""
    return high // 100 * 100 if high // 100 * 100 >= low else high


def mtus_of(payload: int) -> tuple[int, int]:
    """Return the range of MTUs whose frames carry `payload` bytes."""
    return payload + HEADERS, payload + HEADERS + SECTOR - 1


def split_effect(carried: int, block: int = BLOCK) -> str:
    """Return a text on which whole-block requests get split by frames of `carried` bytes, by size."""
    if carried < block:
        return "No request arrives in whole blocks"
    shares = {size: 1 - whole_share(carried, size, block) for size in SIZES if size > carried}
    parts = ", ".join(f"{human.quantity(size, 'bytes')} {human.percent(share)}%" for size, share in shares.items())
    return f"Requests up to {carried} bytes arrive whole; of larger ones a part comes in pieces: {parts}"


def mtu_advice(better: MtuProposal | None) -> str:
    """Return a text with the suitable MTUs."""
    if better is None:
        return "the interface takes no MTU at which they could be one"
    only = ""
    if not better.certain:
        only = ", if cards and switch take that"
        only += f", else within {better.smaller[0]}-{better.smaller[1]}" if better.smaller is not None else ""
    return f"set MTU within {better.low}-{better.high} at both ends{only}"


def commands(
    nics: Sequence[Interface], names: Sequence[str], better: MtuProposal | None, block: int = BLOCK
) -> Iterator[str]:
    """Yield the commands for this node."""
    if better is None:
        least = HEADERS + block
        yield f"a card that takes jumbo frames: {least} is the smallest MTU at which frames carry whole blocks"
        return
    right = {nic.interface for nic in nics if nic.mtu is not None and better.low <= nic.mtu <= better.high}
    for name in names:
        if name not in right:
            yield f"ip link set dev {quoted(name)} mtu {better.mtu}   # {better.low} to {better.high} are right"
    if set(names) - right:
        yield "set it where the network is configured, too, or it is gone after a reboot"


def other_end(better: MtuProposal | None, end: str) -> Iterator[str]:
    """Yield the commands for the other end."""
    if better is not None:
        yield f"ip link set dev INTERFACE mtu {better.mtu}   # on the {end}, too: the smallest of all ends counts"


def named(names: Sequence[str]) -> str:
    """Return the first few names as text."""
    shown = ", ".join(map(human.safe, names[:_FEW]))
    return f"{shown} and {len(names) - _FEW} more" if len(names) > _FEW else shown
