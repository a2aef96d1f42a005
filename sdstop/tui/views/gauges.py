"""Gauges of the node: processors, memory, load and pressure."""

from __future__ import annotations

import math

from rich.segment import Segment
from rich.style import Style

from sdstop.collectors.system.readings import CpuActivity, Pressure
from sdstop.core.format import bytes_, natural, number, percent
from sdstop.tui.scene import Scene
from sdstop.tui.views.vitals import memory_used, node
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import FAINT, PLAIN, Line, pairs, text

_CPU, _BAR = 22, 10
"""Cells per processor, and of its bar."""
_CPU_LINES = 8
"""Lines."""

_WHOLE = 76
"""Minimum width for the seconds that pressures are means of."""


def gauge_lines(scene: Scene, width: int, accused: str = "", style: Style = PLAIN) -> list[Line]:
    """Return the lines of processors, memory, load and pressure; that of the accused resource in its style."""
    lines = _cpu_lines(scene, width)
    n = node(scene)
    used = memory_used(n)
    if n is not None and n.memory_total:
        facts = (
            f"  {bytes_(n.memory_total)}  available {bytes_(n.memory_available)}"
            f"  dirty {bytes_(n.memory_dirty)}  writeback {bytes_(n.memory_writeback)}"
        )
        lines.append((*text((" memory ", FAINT), f"{percent(used):>5} "), *bar(used, 10, scene.palette),
                      *text((facts, PLAIN))))  # fmt: skip
        if n.swap_total:
            swapped = 1 - (n.swap_free or 0) / n.swap_total
            lines.append((*text((" swap   ", FAINT), f"{percent(swapped):>5} "), *bar(swapped, 10, scene.palette),
                          *text(f"  {bytes_(n.swap_total)}")))  # fmt: skip
    if n is not None:
        loads = " ".join(number(v) for v in (n.load1, n.load5, n.load15))
        lines.append(
            text(
                (" load   ", FAINT),
                f"  {loads}",
                ("  running ", FAINT),
                number(n.tasks_running),
                ("  blocked on I/O ", FAINT),
                number(n.tasks_blocked),
            )
        )
    said = "PSI %, 10/60/300 s:  some " if width >= _WHOLE else "PSI % some"
    for row in sorted(scene.rows(Pressure)[0].values(), key=lambda p: p.resource):
        some = " ".join(f"{percent(v):>5}" for v in (row.some_avg10, row.some_avg60, row.some_avg300))
        full = " ".join(f"{percent(v):>5}" for v in (row.full_avg10, row.full_avg60, row.full_avg300))
        name = scene.palette.word(row.resource, 7)
        bad = row.resource == accused
        own, dim = (style, style) if bad else (PLAIN, FAINT)
        lines.append(
            text((f" {name:<7}", dim), (said, FAINT), (some, own), ("   full ", FAINT),
                 (full, own))
        )  # fmt: skip
    return lines or [text((" waiting for node data", FAINT))]


def _cpu_lines(scene: Scene, width: int) -> list[Line]:
    cpus = sorted((c for c in scene.rows(CpuActivity)[0].values() if c.cpu != "all"), key=lambda c: natural(c.cpu))
    most = max(1, (width - 3) // _CPU)
    across = max(1, math.ceil(len(cpus) / math.ceil(len(cpus) / most))) if cpus else most
    lines: list[Line] = []
    for start in range(0, min(len(cpus), across * _CPU_LINES), across):
        parts: list[Segment] = []
        for at, c in enumerate(cpus[start : start + across]):
            name = scene.palette.word(c.cpu, 4)
            label = f" {f'cpu {name}':<7}" if not at else f"  {name:>3} "
            parts.extend(text((label, FAINT), f"{percent(c.busy):>5} ", *pairs(bar(c.busy, _BAR, scene.palette))))
        lines.append(tuple(parts))
    hidden = len(cpus) - across * _CPU_LINES
    if hidden > 0:
        lines.append(text((f" and {hidden} more", FAINT)))
    return lines
