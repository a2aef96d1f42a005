"""Processors with unequal memory: the one with less uses the memory of the other across their link."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.memory.dimms import Dimm, MemorySocket
from sdstop.core import format as human
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

_SUBJECT = "memory"


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    sockets = sorted(window.rows(MemorySocket).values(), key=lambda row: int(row.socket))
    dimms = [row for row in window.rows(Dimm).values() if row.size]
    if not dimms:
        yield Unchecked("firmware lists no module", _SUBJECT, calm=True)
        return
    if len(sockets) < 2:
        yield Unchecked("not applicable: 1 socket", _SUBJECT, calm=True)
        return
    if any(row.dimms is None or row.capacity is None for row in sockets):
        yield Unchecked(
            "the slots do not tell which processor they belong to, or whether a module is in them",
            _SUBJECT,
            calm=any(row.virtual for row in sockets),
        )
        return
    sizes = [row.capacity or 0 for row in sockets]
    counts = [row.dimms or 0 for row in sockets]
    used = [row.used if row.used is not None else row.dimms or 0 for row in sockets]
    listed = "; ".join(
        f"socket {row.socket}: {_modules(row.dimms)}, {human.quantity(row.capacity, 'bytes')}" for row in sockets
    )
    if len(set(sizes)) == len(set(counts)) == len(set(used)) == 1:
        yield RuledOut(_SUBJECT, f"all {len(sockets)} sockets have the same memory: {listed}")
        return
    lack = 1 - min(sizes) / max(sizes)
    least = sockets[min(range(len(sockets)), key=lambda n: (used[n], counts[n], sizes[n]))]
    odd = f"; socket {least.socket} has no memory of its own" if not least.dimms else ""
    full = all(row.slots is not None and row.dimms == row.slots for row in sockets)
    by_design = full and len({row.slots for row in sockets}) > 1
    unequal = not by_design and (len(set(used)) > 1 or len(set(counts)) > 1 or lack > limits["lack"])
    odd = "; all slots are filled: the board is so" if by_design else odd
    yield Finding(
        severity=Severity.WARNING if unequal else Severity.INFO,
        subject=_SUBJECT,
        cause=f"sockets differ in memory: {listed}{odd}",
        values=(
            Value("lack", "memory that the smallest socket lacks", lack, "ratio", above=limits["lack"]),
            *(Value(f"dimms{row.socket}", f"modules, socket {row.socket}", row.dimms, "", above=max(counts))
              for row in sockets),
            *(Value(f"peak{row.socket}", f"peak bandwidth, socket {row.socket}", row.peak, "decimal_bytes_per_second",
                    above=max(other.peak or 0.0 for other in sockets)) for row in sockets if row.peak is not None),
        ),
        evidence=cites(*(window.cite(row) for row in dimms[:4]), *(window.cite(row) for row in sockets[:2])),
        advice=(
            f"the same modules in the same slots of each socket; socket {phrase(least.socket)} has the least",
            "numactl -H   # the nodes' memory as the kernel has it",
            "dmidecode -t 17 | grep -E 'Locator|Size|Error'   # a module that is there and not listed may have failed",
        ),
        refuted_by="nodes of equal size in numactl -H",
    )  # fmt: skip


def _modules(count: int | None) -> str:
    return "no module" if not count else "1 module" if count == 1 else f"{count} modules"


DIMM_UNEQUAL_SOCKETS = Rule(
    "dimm-unequal-sockets",
    "the processors of a node do not have the same memory",
    Severity.WARNING,
    _check,
    (MemorySocket, Dimm),
    (Threshold("lack", 0.1, "share of the largest socket's memory that another lacks, with as many modules", "ratio"),),
    covers=(Covers(MemorySocket, _SUBJECT),),
)
