"""Memory channels without a module: memory bandwidth that the processors cannot use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.fabric import loads
from sdstop.collectors.memory.dimms import Dimm, MemorySocket
from sdstop.core import format as human
from sdstop.core.evidence import Cite
from sdstop.core.finding import (
    Covers,
    Finding,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.history import Window
from sdstop.core.shell import phrase
from sdstop.core.text import added
from sdstop.rules.hba_oversubscribed import HBA_OVERSUBSCRIBED, rebuilds_behind

_RATED = "decimal_bytes_per_second"
"""Unit of memory data sheets; in other units the numbers would not match them."""
_SUBJECT = "memory"


class _Demand(Struct, frozen=True):
    """Memory traffic when all disks behind HBAs are read at full rate: bytes per second, and number of disks.

    In a rebuild every byte crosses memory several times: the HBA writes it, the checksum and the parity read it. The
    rate is capped by the HBAs' links.
    """

    disks: float
    needs: float
    moves: float
    rebuilds: tuple[str, ...]

    def short(self, peak: float | None, limits: Limits) -> bool:
        """Return whether the demand exceeds the usable share of the peak, and the disks are not read that fast now."""
        if peak is None or self.needs <= limits["achievable"] * peak:
            return False
        return self.moves * limits["passes"] < limits["achievable"] * self.needs

    def said(self) -> str:
        """Demand in words."""
        whose = f"as the rebuild of {human.safe(self.rebuilds[0])} would" if self.rebuilds else "as a rebuild would"
        return f"to read {self.disks:g} disks at full rate, {whose}, takes {_gb(self.needs)} of it"


def _demand(window: Window, limits: Limits) -> _Demand | None:
    known = HBA_OVERSUBSCRIBED.limits()
    found = loads(window, known["disk_rate"], known["flash_rate"], known["efficiency"])
    disks = sum(load.disks for load in found)
    if disks < limits["disks"] or any(load.unknown for load in found):
        return None
    bytes_ = added(load.wants if load.carries is None else min(load.wants, load.carries) for load in found)
    moves = added(load.moves for load in found)
    return _Demand(disks, bytes_ * limits["passes"], moves, rebuilds_behind(window, {load.hba.hba for load in found}))


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    sockets = sorted(window.rows(MemorySocket).values(), key=lambda row: int(row.socket))
    slots = window.rows(Dimm).values()
    dimms = [row for row in slots if row.size]
    if not dimms:
        yield Unchecked("firmware lists no module", _SUBJECT, calm=True)
        return
    if any(row.size is None for row in slots):
        yield Unchecked("of some slots the firmware does not tell whether a module is in them", _SUBJECT)
        return
    if any(row.channels is None for row in sockets):
        models = ", ".join(sorted({human.safe(row.cpu or "unknown") for row in sockets}))
        virtual = any(row.virtual for row in sockets)
        yield Unchecked(f"how many memory channels the processor has is not known ({models})", _SUBJECT, calm=virtual)
        return
    if all(row.used is not None for row in sockets):
        yield _by_socket(window, limits, sockets, dimms)
    else:
        yield _by_node(window, limits, sockets, dimms)


def _by_socket(window: Window, limits: Limits, sockets: Sequence[MemorySocket], dimms: Sequence[Dimm]) -> Verdict:
    used, channels = sum(row.used or 0 for row in sockets), sum(row.channels or 0 for row in sockets)
    if used >= channels and any(row.at_most for row in sockets):
        return Unchecked(
            f"{len(dimms)} modules may fill all {channels} memory channels, or not: slots do not tell theirs",
            _SUBJECT,
        )
    if used >= channels:
        return RuledOut(_SUBJECT, f"{used} of {channels} memory channels have a module{_rate(sockets)}")
    # dimm-unequal-sockets reports differing sockets with the same severity, so only the best socket is judged here.
    best = max((row.used or 0) / (row.channels or 1) for row in sockets)
    few = ", ".join(f"{_bound(row)}{row.used} of {row.channels} at socket {phrase(row.socket)}" for row in sockets)
    few = few.replace(" at socket", " memory channels have a module at socket", 1)
    peak, possible = _total(sockets, "peak"), _total(sockets, "possible")
    demand = _demand(window, limits)
    short = demand is not None and demand.short(peak, limits)
    severity = Severity.WARNING if best < limits["share"] else Severity.INFO
    rebuilds = demand.rebuilds if demand is not None and short else ()
    if rebuilds:
        severity = Severity.CRITICAL if severity is Severity.WARNING else Severity.WARNING
    return Finding(
        severity=severity,
        subject=_SUBJECT,
        cause=f"{few}{_rate(sockets)}{f'; {demand.said()}' if demand and short else ''}",
        values=(
            Value("share", "channels in use of the best socket", best, "ratio", above=limits["share"]),
            *(Value(f"used{row.socket}", f"channels in use, socket {row.socket}", row.used, "", above=row.channels)
              for row in sockets),
            *(Value(f"peak{row.socket}", f"peak bandwidth, socket {row.socket}", row.peak, _RATED,
                    above=row.possible) for row in sockets),
            Value("peak", "peak bandwidth of the node", peak, _RATED, above=possible),
            *((Value("needs", "to read all disks at their rate, through memory", demand.needs, _RATED,
                     above=peak),) if demand is not None else ()),
        ),
        evidence=_cited(window, sockets, dimms),
        advice=_advice(sockets),
        refuted_by=("modules that the firmware does not list: dmidecode -t 17 against what is in the slots; or a "
        "bandwidth above "
        "this peak, measured"),
        explains=tuple(f"rebuild-slow:{name}" for name in rebuilds),
    )  # fmt: skip


def _by_node(window: Window, limits: Limits, sockets: Sequence[MemorySocket], dimms: Sequence[Dimm]) -> Verdict:
    """Judge all sockets together: fewer modules than channels cannot fill them, on whichever socket they are."""
    channels, used = sum(row.channels or 0 for row in sockets), len(dimms)
    if used >= channels:
        return Unchecked(
            f"{used} modules for {channels} memory channels, but the slots' names do not tell their socket",
            _SUBJECT,
        )
    share = used / channels
    speed = None if any(row.possible is None for row in sockets) else _total(sockets, "possible")
    now = None if speed is None else speed * share
    rate = "" if now is None or speed is None else f": peak at most {_gb(now)} of {_gb(speed)}"
    return Finding(
        severity=Severity.WARNING if share < limits["share"] else Severity.INFO,
        subject=_SUBJECT,
        cause=(
            f"{used} modules for {channels} memory channels of {len(sockets)} processors, so at most {used} can be in "
            f"use{rate}; which socket a slot is at, its name does not tell"
        ),
        values=(
            Value("share", "channels in use, at most", share, "ratio", above=limits["share"]),
            Value("peak", "peak bandwidth of the node, at most", now, _RATED, above=speed),
        ),
        evidence=_cited(window, sockets, dimms),
        advice=_advice(sockets),
        refuted_by="modules that the firmware does not list: dmidecode -t 17 against what is in the slots",
    )


def _bound(row: MemorySocket) -> str:
    return "at most " if row.at_most else ""


def _total(sockets: Sequence[MemorySocket], field: str) -> float | None:
    values = [getattr(row, field) for row in sockets]
    return None if None in values else sum(values)


_gb = human.decimal_rate


def _rate(sockets: Sequence[MemorySocket]) -> str:
    peak, possible = _total(sockets, "peak"), _total(sockets, "possible")
    if peak is None or possible is None:
        return ""
    each = sorted({row.peak or 0.0 for row in sockets})
    own = f"{_gb(each[0])} a socket, " if len(each) == 1 and len(sockets) > 1 else ""
    if peak == possible:
        return f": peak {own}{_gb(peak)} for the node"
    most = "at most " if any(row.at_most for row in sockets) else ""
    share = human.percent(peak / possible)
    return f": peak {most}{own}{_gb(peak)} for the node, {share} % of the {_gb(possible)} with all of them"


def _cited(window: Window, sockets: Sequence[MemorySocket], dimms: Sequence[Dimm]) -> tuple[Cite, ...]:
    return cites(*(window.cite(row) for row in dimms[:4]), *(window.cite(row) for row in sockets[:2]))


def _advice(sockets: Sequence[MemorySocket]) -> tuple[str, ...]:
    missing = [
        f"{row.channels - row.used} at socket {phrase(row.socket)}"
        for row in sockets
        if row.used is not None and row.channels is not None and row.used < row.channels
    ]
    return (
        f"fill empty channels{': ' + ', '.join(missing) if missing else ''}, with modules like those that are there",
        "dmidecode -t 17 | grep -E 'Locator|Size|Speed'   # the slots; the board's manual says which come first",
    )


DIMM_TOO_FEW_CHANNELS = Rule(
    "dimm-too-few-channels",
    "processors have memory channels without a module, and so only a part of their memory bandwidth",
    Severity.CRITICAL,
    _check,
    (MemorySocket, Dimm),
    (
        Threshold("share", 0.5, "share of the channels in use, below which it is a warning", "ratio"),
        Threshold("disks", 8.0, "fewest disks behind HBAs whose need is reckoned; critical while they are rebuilt"),
        Threshold("passes", 3.0, "times that each byte of a rebuild crosses memory: from the HBA, checksum, parity"),
        Threshold("achievable", 0.75, "share of the peak that programs reach (STREAM measures 0.72 to 0.80)", "ratio"),
    ),
    covers=(Covers(MemorySocket, _SUBJECT),),
)
