"""MTUs at which AoE frames carry whole blocks, with texts and commands for setting them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.collectors.aoe.readings import HEADERS, SECTOR, AoePort, good_mtus, whole_share
from sdstop.collectors.network.readings import Interface
from sdstop.core import format as human
from sdstop.core.advice import Advice, ShellCommand, run
from sdstop.core.history import Window

BLOCK = 4096
"""Bytes of a block of most file systems."""
JUMBO = 9216
"""Largest MTU to propose: many network cards support more, few switches do."""
SIZES = (4096, 8192, 16384, 65536, 131072)
"""Request sizes whose splitting is reported."""
_FEW = 3
"""Maximum names of interfaces."""


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
"""Maximum ranges of MTUs that are proposed."""


def _plain(low: int, high: int) -> int:
    """Return the largest multiple of 100 in a range of MTUs, or its upper end."""
    return high // 100 * 100 if high // 100 * 100 >= low else high


def mtus_of(payload: int) -> tuple[int, int]:
    """Return the range of MTUs whose frames carry `payload` bytes."""
    return payload + HEADERS, payload + HEADERS + SECTOR - 1


def split_effect(carried: int, block: int = BLOCK) -> str:
    """Return a sentence on which requests of whole blocks are split by frames of `carried` bytes."""
    if carried < block:
        return "No request arrives as whole blocks."
    size = SIZES[-1]
    share = human.percent(1 - whole_share(carried, size, block))
    return f"Requests above {carried} bytes arrive split: {share}% of one of {human.quantity(size, 'bytes')}."


def mtu_advice(
    nics: Sequence[Interface], names: Sequence[str], better: MtuProposal | None, end: str, block: int = BLOCK
) -> Iterator[Advice]:
    """Yield the commands that set a suitable MTU here and at the other end, which `end` names."""
    if better is None:
        yield f"Use a card that supports jumbo frames: an MTU of at least {HEADERS + block}."
        return
    right = {nic.interface for nic in nics if nic.mtu is not None and better.low <= nic.mtu <= better.high}
    here = [name for name in names if name not in right]
    fits = f"{better.low}-{better.high} fit"
    for name in here:
        yield _set_mtu(name, better, fits)
    yield _set_mtu("INTERFACE", better, f"on the {end}: the smallest MTU counts" if here else f"on the {end}: {fits}")
    if not better.certain:
        yield "Check that the cards and the switch support this MTU."
        if better.smaller is not None:
            yield f"If they do not, use {better.smaller[0]}-{better.smaller[1]}."
    yield "Set it in the network configuration, too; a reboot undoes ip link."


def _set_mtu(name: str, better: MtuProposal, note: str) -> ShellCommand:
    return run("ip", "link", "set", "dev", name, "mtu", str(better.mtu), note=note)


def named(names: Sequence[str]) -> str:
    """Return the first few names as text."""
    shown = ", ".join(map(human.safe, names[:_FEW]))
    return f"{shown} and {len(names) - _FEW} more" if len(names) > _FEW else shown
