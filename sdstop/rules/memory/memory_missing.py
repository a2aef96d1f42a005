"""The kernel has far less memory than the modules that the firmware lists."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.memory.readings import Dimm, MemorySocket
from sdstop.collectors.system.readings import MEMINFO, Node
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_SUBJECT = "memory"
_VOLATILE = "DDR"
"""Beginning of the types of modules that are main memory."""
_RANK = 0.45
"""Share of the smallest module that must be missing at least, nearly one of two ranks: less can be reserved."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    node = next(iter(window.rows(Node).values()), None)
    dimms = [row for row in window.rows(Dimm).values() if row.size]
    listed = sum(row.size or 0 for row in dimms)
    if any(row.virtual for row in window.rows(MemorySocket).values()):
        yield Unchecked("virtual machine: no real modules", _SUBJECT, calm=True)
    elif not dimms:
        yield Unchecked("firmware lists no module", _SUBJECT, calm=True)
    elif any(not (row.type or "").startswith(_VOLATILE) for row in dimms):
        yield Unchecked("some modules may not be main memory", _SUBJECT, calm=True)
    elif node is None or node.memory_total is None:
        yield Unchecked("memory of the kernel unknown", _SUBJECT, calm=True, gap=Gap.UNRECORDED)
    elif _is_short(node.memory_total, listed, min(row.size or 0 for row in dimms), limits):
        yield _finding(window, node.memory_total, listed, dimms, limits)
    else:
        share = human.percent(node.memory_total / listed)
        yield RuledOut(_SUBJECT, f"{share}% of {_size(listed)} in {human.plural(len(dimms), 'module')} in use")


def _is_short(total: int, listed: int, smallest: int, limits: Limits) -> bool:
    return total < limits["share"] * listed and listed - total >= _RANK * smallest


def _size(size: int) -> str:
    return human.quantity(size, "bytes")


def _finding(window: Window, total: int, listed: int, dimms: list[Dimm], limits: Limits) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=_SUBJECT,
        title=f"MEMORY MISSING: {_size(listed - total)}",
        cause=f"The kernel has {_size(total)} of {_size(listed)} in {human.plural(len(dimms), 'module')}.",
        impact="Cache is smaller; a memory channel may carry nothing.",
        values=(
            Value("share", "part that the kernel has", total / listed, "ratio", below=limits["share"]),
            Value("total", "memory of the kernel", total, "bytes", of=listed),
            Value("modules", "modules", len(dimms)),
        ),
        evidence=cites(window.quote(MEMINFO, "MemTotal:"), window.cite(dimms[0])),
        advice=(
            "Look for a module that the firmware left out after errors.",
            run("dmidecode", "-t", "17", note="modules that the firmware lists").pipe("grep", "-E", "Locator|Size"),
            run("journalctl", "-k", note="mem= or memmap=").pipe("grep", "-i", "command line"),
            run("ipmitool", "sel", "list", note="memory events").pipe("grep", "-i", "mem"),
        ),
        refuted_by="MemTotal near the sum of the modules in /proc/meminfo",
        harmless_if="memory is mirrored or spared, or limited by mem= at boot",
        damage=Damage.CAPACITY,
        standing=True,
    )


MEMORY_MISSING = Rule(
    "memory-missing",
    "less memory than the modules have, as of a module that the firmware left out",
    Severity.WARNING,
    _check,
    (MemorySocket, Dimm, Node),
    (Threshold("share", 0.94, "share of the modules' memory below which some is missing", "ratio"),),
    covers=(Covers(MemorySocket, _SUBJECT),),
    damage=Damage.CAPACITY,
    standing=True,
    view="host",
    advice="Look for a memory module that the firmware left out after errors.",
)
