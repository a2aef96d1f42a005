"""Memory channels without a module: memory bandwidth that the processors cannot use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.fabric.hba_throughput import loads
from sdstop.analysis.fabric.memory_traffic import measured_traffic
from sdstop.analysis.rebuilds.rebuilding import rebuild_analyses
from sdstop.collectors.memory.readings import Dimm, MemorySocket
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.evidence import Cite
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.core.shell import quoted
from sdstop.core.text import added
from sdstop.rules.fabric.hba_oversubscribed import HBA_OVERSUBSCRIBED, rebuilds_behind

_RATED = "decimal_bytes_per_second"
"""Unit of memory data sheets; in other units the numbers would not match them."""
_SUBJECT = "memory"


class _Demand(Struct, frozen=True):
    """Memory traffic when all disks behind HBAs are read at full rate: bytes per second, and number of disks.

    `left` is the shortest remaining time of the running rebuilds. In a rebuild every byte crosses memory several times:
    the HBA writes it, the checksum and the parity read it. The rate is capped by the HBAs' links.
    """

    disks: float
    needs: float
    moves: float
    rebuilds: tuple[str, ...]
    left: float | None

    def short(self, peak: float | None, limits: Limits) -> bool:
        """Return whether the demand exceeds the usable share of the peak, and the disks are not read that fast now."""
        if peak is None or self.needs <= limits["achievable"] * peak:
            return False
        return self.moves * limits["passes"] < limits["achievable"] * self.needs

    def impact(self) -> str:
        """Demand as a sentence, with the remaining time of a running rebuild."""
        left = f"; {human.duration(self.left)} left as it is" if self.left is not None else ""
        return f"A full-speed rebuild needs {_gb(self.needs)} of memory{left}."


def _demand(window: Window, limits: Limits) -> _Demand | None:
    known = HBA_OVERSUBSCRIBED.limits()
    found = loads(window, known["disk_rate"], known["flash_rate"], known["efficiency"])
    disks = sum(load.disks for load in found)
    if disks < limits["disks"] or any(load.unknown for load in found):
        return None
    bytes_ = added(load.wants if load.carries is None else min(load.wants, load.carries) for load in found)
    moves = added(load.moves for load in found)
    rebuilds = rebuilds_behind(window, {load.hba.hba for load in found})
    paces = [analysis.pace for analysis in rebuild_analyses(window) if analysis.name in rebuilds]
    left = min((pace.eta for pace in paces if pace is not None and pace.eta is not None), default=None)
    return _Demand(disks, bytes_ * limits["passes"], moves, rebuilds, left)


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    sockets = sorted(window.rows(MemorySocket).values(), key=lambda row: int(row.socket))
    slots = window.rows(Dimm).values()
    dimms = [row for row in slots if row.size]
    if not dimms:
        yield Unchecked("firmware lists no module", _SUBJECT, calm=True)
        return
    if any(row.size is None for row in slots):
        yield Unchecked("firmware does not report whether some slots are populated", _SUBJECT)
        return
    if not sockets:  # of modules in a text alone
        yield Unchecked("the processors are unknown", _SUBJECT)
        return
    if any(row.channels is None for row in sockets):
        models = ", ".join(sorted({human.safe(row.cpu or "unknown") for row in sockets}))
        virtual = any(row.virtual for row in sockets)
        yield Unchecked(f"channel count unknown: {models}", _SUBJECT, calm=virtual)
        return
    if all(row.used is not None for row in sockets):
        yield _by_socket(window, limits, sockets, dimms)
    else:
        yield _by_node(window, limits, sockets, dimms)


def _by_socket(window: Window, limits: Limits, sockets: Sequence[MemorySocket], dimms: Sequence[Dimm]) -> Verdict:
    used, channels = sum(row.used or 0 for row in sockets), sum(row.channels or 0 for row in sockets)
    if used >= channels and any(row.at_most for row in sockets):
        return Unchecked(
            f"slot names do not give channels; {len(dimms)} modules may fill all {channels}",
            _SUBJECT,
        )
    if used >= channels:
        return RuledOut(_SUBJECT, f"{used} of {channels} memory channels used{_rate(sockets)}")
    # dimm-unequal-sockets reports differing sockets with the same severity, so only the best socket is judged here.
    best = max((row.used or 0) / (row.channels or 1) for row in sockets)
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
        title=_title(sockets, used, channels),
        cause=_cause(sockets, used, channels),
        impact=demand.impact() if demand is not None and short else _impact(peak, possible),
        values=(
            Value("share", "channels used, best socket", best, "ratio", below=limits["share"]),
            Value("empty", "slots of empty channels", _listed(_empty_slots(window)) or None),
            *(Value(f"used{row.socket}", f"channels used, socket {row.socket}", row.used, "", of=row.channels)
              for row in sockets),
            *(Value(f"peak{row.socket}", f"peak bandwidth, socket {row.socket}", row.peak, _RATED,
                    of=row.possible) for row in sockets),
            *_measured(window),
            Value("peak", "peak bandwidth of the node", peak, _RATED, of=possible),
            *((Value("needs", "full-speed rebuild, through memory", demand.needs, _RATED,
                     above=peak),
               Value("disks", "disks behind HBAs", demand.disks)) if demand is not None else ()),
        ),
        evidence=_cited(window, sockets, dimms),
        advice=_advice(window, sockets),
        refuted_by="modules that the firmware does not list, or measured bandwidth above this peak",
        explains=tuple(f"rebuild-slow:{name}" for name in rebuilds),
    )  # fmt: skip


def _measured(window: Window) -> Iterator[Value]:
    """Yield the basis of the numbers: peaks are always computed, traffic is measured where resctrl is mounted."""
    traffic = measured_traffic(window)
    if traffic:
        yield Value("traffic", "memory traffic now, measured", added(each.rate for each in traffic), _RATED)
    yield Value("basis", "basis", "computed; traffic measured" if traffic else "computed from modules and disks")


def _by_node(window: Window, limits: Limits, sockets: Sequence[MemorySocket], dimms: Sequence[Dimm]) -> Verdict:
    """Judge all sockets together: fewer modules than channels cannot fill them, on whichever socket they are."""
    channels, used = sum(row.channels or 0 for row in sockets), len(dimms)
    if used >= channels:
        return Unchecked(
            f"slot names do not give the socket: {used} modules, {channels} channels",
            _SUBJECT,
        )
    share = used / channels
    speed = None if any(row.possible is None for row in sockets) else _total(sockets, "possible")
    now = None if speed is None else speed * share
    return Finding(
        severity=Severity.WARNING if share < limits["share"] else Severity.INFO,
        subject=_SUBJECT,
        title=f"MEMORY CHANNELS EMPTY: {used} of {channels} used",
        cause=f"{used} modules can fill at most {used} of {channels} channels on {len(sockets)} sockets.",
        impact=_impact(now, speed),
        values=(
            Value("share", "channels used, at most", share, "ratio", below=limits["share"]),
            Value("peak", "peak bandwidth of the node, at most", now, _RATED, of=speed),
        ),
        evidence=_cited(window, sockets, dimms),
        advice=_advice(window, sockets),
        refuted_by="modules that the firmware does not list (dmidecode -t 17)",
    )


def _title(sockets: Sequence[MemorySocket], used: int, channels: int) -> str:
    if all(row.dimms == 1 for row in sockets):
        return "ONE DIMM PER CPU"
    return f"MEMORY CHANNELS EMPTY: {used} of {channels} used"


def _cause(sockets: Sequence[MemorySocket], used: int, channels: int) -> str:
    peak, possible = _total(sockets, "peak"), _total(sockets, "possible")
    most = "at most " if any(row.at_most for row in sockets) else ""
    rate = "" if peak is None or possible is None else f": {_gb(peak).partition(' ')[0]} of {_gb(possible)}"
    first = sockets[0]
    if all((row.used, row.channels) == (first.used, first.channels) for row in sockets):
        each = " on each socket" if len(sockets) > 1 else ""
        return f"{most.capitalize()}{first.used} of {first.channels} memory channels filled{each}{rate}."
    if len(sockets) == _PAIR:
        each = ", ".join(f"{row.used} of {row.channels} on socket {human.safe(row.socket)}" for row in sockets)
        return f"Memory channels filled: {most}{each}."
    return f"{most.capitalize()}{used} of {channels} memory channels of {len(sockets)} sockets filled{rate}."


def _impact(peak: float | None, possible: float | None) -> str:
    if not peak or not possible:
        return "Memory bandwidth is reduced in proportion."
    return f"Peak memory bandwidth is {human.percent(peak / possible)}% of the possible {_gb(possible)}."


_PAIR = 2


def _total(sockets: Sequence[MemorySocket], field: str) -> float | None:
    values = [getattr(row, field) for row in sockets]
    return None if None in values else sum(values)


_gb = human.decimal_rate


def _rate(sockets: Sequence[MemorySocket]) -> str:
    peak = _total(sockets, "peak")
    if peak is None:
        return ""
    each = sorted({row.peak or 0.0 for row in sockets})
    own = f"{_gb(each[0])} per socket, " if len(each) == 1 and len(sockets) > 1 else ""
    return f": peak {own}{_gb(peak)} for the node"


def _cited(window: Window, sockets: Sequence[MemorySocket], dimms: Sequence[Dimm]) -> tuple[Cite, ...]:
    return cites(*(window.cite(row) for row in dimms[:4]), *(window.cite(row) for row in sockets[:2]))


def _advice(window: Window, sockets: Sequence[MemorySocket]) -> tuple[Advice, ...]:
    missing = {
        row.socket: row.channels - row.used
        for row in sockets
        if row.used is not None and row.channels is not None and row.used < row.channels
    }
    first = "Fill the empty channels with modules of the same type."
    if missing and len(missing) == len(sockets) and len(set(missing.values())) == 1:
        count = human.plural(next(iter(missing.values())), "channel")
        first = f"Fill {count} per socket with modules of the same type."
    elif len(missing) == 1:
        first = f"Fill {human.plural(sum(missing.values()), 'channel')} of socket {quoted(next(iter(missing)))}."
    slots = _empty_slots(window)
    plain = all(quoted(slot) == slot for slot in slots)
    return (
        first,
        *((f"Slots of empty channels: {_listed(slots)}.",) if slots and plain else ()),
        run("dmidecode", "-t", "17", note="the slots; population order is in the board manual").pipe(
            "grep", "-E", "Locator|Size|Speed"
        ),
    )


def _empty_slots(window: Window) -> list[str]:
    """Return the first slot of each channel without a module, as far as slots give their channel."""
    filled = {(row.socket, row.channel) for row in window.rows(Dimm).values() if row.size}
    empty: dict[tuple[str | None, str | None], str] = {}
    for row in window.rows(Dimm).values():
        place = (row.socket, row.channel)
        if row.size == 0 and row.channel is not None and place not in filled:
            empty.setdefault(place, row.slot)
    return list(empty.values())


def _listed(slots: Sequence[str]) -> str:
    more = f" and {len(slots) - _SLOTS} more" if len(slots) > _SLOTS else ""
    return f"{', '.join(slots[:_SLOTS])}{more}"


_SLOTS = 12
"""Slots named."""


DIMM_TOO_FEW_CHANNELS = Rule(
    "dimm-too-few-channels",
    "memory channels without a module, and the bandwidth lost",
    Severity.CRITICAL,
    _check,
    (MemorySocket, Dimm),
    (
        Threshold("share", 0.5, "share of used channels below which it is a warning", "ratio"),
        Threshold("disks", 8.0, "minimum number of disks to estimate the rebuild bandwidth"),
        Threshold("passes", 3.0, "times that each byte of a rebuild crosses memory (HBA, checksum, parity)"),
        Threshold("achievable", 0.75, "achievable share of peak bandwidth (STREAM: 0.72-0.80)", "ratio"),
    ),
    covers=(Covers(MemorySocket, _SUBJECT), Covers(Dimm, _SUBJECT)),
    either=2,
    standing=True,
    view="host",
    advice="Fill all channels of each socket with modules of the same type.",
)
