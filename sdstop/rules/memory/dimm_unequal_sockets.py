"""Processors with unequal memory: the one with less uses the memory of the other across their link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.memory.readings import Dimm, MemorySocket
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.core.shell import quoted

_SUBJECT = "memory"


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    sockets = sorted(window.rows(MemorySocket).values(), key=lambda row: int(row.socket))
    dimms = [row for row in window.rows(Dimm).values() if row.size]
    yield _gap(sockets, dimms) or _judge(window, sockets, dimms, limits)


def _gap(sockets: Sequence[MemorySocket], dimms: Sequence[Dimm]) -> Unchecked | None:
    """Return why the sockets cannot be compared, None if they can."""
    if not dimms:
        return Unchecked("firmware lists no module", _SUBJECT, calm=True)
    if not sockets:  # of modules in a text alone
        return Unchecked("the processors are unknown", _SUBJECT)
    if len(sockets) < 2:
        return Unchecked("not applicable: 1 socket", _SUBJECT, calm=True)
    if any(row.dimms is None or row.capacity is None for row in sockets):
        virtual = any(row.virtual for row in sockets)
        return Unchecked("slot names give neither socket nor population", _SUBJECT, calm=virtual)
    return None


def _judge(window: Window, sockets: Sequence[MemorySocket], dimms: Sequence[Dimm], limits: Limits) -> Verdict:
    sizes = [row.capacity or 0 for row in sockets]
    counts = [row.dimms or 0 for row in sockets]
    used = [row.used if row.used is not None else row.dimms or 0 for row in sockets]
    listed = "; ".join(
        f"socket {row.socket}: {_modules(row.dimms)}, {human.quantity(row.capacity, 'bytes')}" for row in sockets
    )
    if len(set(sizes)) == len(set(counts)) == len(set(used)) == 1:
        return RuledOut(_SUBJECT, f"all {len(sockets)} sockets with the same memory: {listed}")
    lack = 1 - min(sizes) / max(sizes)
    least = sockets[min(range(len(sockets)), key=lambda n: (used[n], counts[n], sizes[n]))]
    full = all(row.slots is not None and row.dimms == row.slots for row in sockets)
    by_design = full and len({row.slots for row in sockets}) > 1
    unequal = not by_design and (len(set(used)) > 1 or len(set(counts)) > 1 or lack > limits["lack"])
    most = sockets[max(range(len(sockets)), key=lambda n: (sizes[n], counts[n], used[n]))]
    impact = f"Socket {human.safe(least.socket)} has less local memory and uses that of others when full."
    if by_design:
        impact = "No fault to correct: the board has unequal slots, and all are filled."
    elif not least.dimms:
        impact = f"Socket {human.safe(least.socket)} has no local memory: every access is remote."
    return Finding(
        severity=Severity.WARNING if unequal else Severity.INFO,
        subject=_SUBJECT,
        title="UNEQUAL MEMORY PER SOCKET",
        cause=f"{_own(most)}, {_own(least, short=True)}.",
        impact=impact,
        values=(
            Value("lack", "memory the smallest socket lacks", lack, "ratio", above=limits["lack"]),
            *(Value(f"dimms{row.socket}", f"modules, socket {row.socket}", row.dimms, "", of=max(counts))
              for row in sockets),
            *(Value(f"size{row.socket}", f"memory, socket {row.socket}", row.capacity, "bytes", of=max(sizes))
              for row in sockets),
            *(Value(f"peak{row.socket}", f"peak bandwidth, socket {row.socket}", row.peak, "decimal_bytes_per_second",
                    of=max(other.peak or 0.0 for other in sockets)) for row in sockets if row.peak is not None),
        ),
        evidence=cites(*(window.cite(row) for row in dimms[:4]), *(window.cite(row) for row in sockets[:2])),
        advice=(
            f"Populate every socket alike: socket {quoted(least.socket)} has the least memory.",
            run("numactl", "-H", note="memory of each node in the kernel"),
            run("dmidecode", "-t", "17", note="a fitted module that is not listed may have failed").pipe(
                "grep", "-E", "Locator|Size|Error"
            ),
        ),
        refuted_by="equal node sizes in numactl -H",
    )  # fmt: skip


def _own(row: MemorySocket, *, short: bool = False) -> str:
    """Return the modules and memory of a socket: `Socket 0 has 6 modules (96 GiB)`."""
    place = f"socket {human.safe(row.socket)}" if short else f"Socket {human.safe(row.socket)} has"
    size = f" ({human.quantity(row.capacity, 'bytes')})" if row.capacity else ""
    return f"{place} {_modules(row.dimms)}{size}"


def _modules(count: int | None) -> str:
    return "no module" if not count else "1 module" if count == 1 else f"{count} modules"


DIMM_UNEQUAL_SOCKETS = Rule(
    "dimm-unequal-sockets",
    "processor sockets with different memory",
    Severity.WARNING,
    _check,
    (MemorySocket, Dimm),
    (
        Threshold(
            "lack",
            0.1,
            "share of the largest socket's memory that another lacks, with an equal number of modules",
            "ratio",
        ),
    ),
    covers=(Covers(MemorySocket, _SUBJECT), Covers(Dimm, _SUBJECT)),
    either=2,
    standing=True,
    view="host",
    advice="Populate every socket alike.",
)
