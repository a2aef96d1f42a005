"""SAS phy errors over time: for each kind the phys with errors, worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.core.format import number, safe
from sdstop.exporters.report.html import drawing
from sdstop.exporters.report.html.markup import Markup
from sdstop.exporters.report.series import ReportSeries

MOST = 24
"""Phys in the picture, those with most errors."""

_KINDS = {
    "invalid_dwords": "invalid dwords",
    "disparity_errors": "running disparity errors",
    "sync_losses": "losses of dword sync",
    "reset_problems": "link reset problems",
}


def phy_errors(series: ReportSeries, axis: drawing.DiagramAxis) -> Iterator[tuple[str, str, Markup]]:
    """Yield (title, caption, drawing) for each kind of error that occurred."""
    for kind, what in _KINDS.items():
        phys = series.of(kind).get("", {})
        held = {phy: _held(values) for phy, values in phys.items()}
        most = {phy: max((v for v in values if v is not None), default=0.0) for phy, values in held.items()}
        counted = sorted((phy for phy in most if most[phy]), key=lambda phy: (-most[phy], phy))
        if not counted:
            continue
        top = most[counted[0]]
        rows = [(f"{safe(phy, 12)} {_hourly(most[phy])}", held[phy]) for phy in counted[:MOST]]
        said = f"increase per hour between two samples, with the maximum of each phy; darkest is {_hourly(top)}"
        if len(counted) > MOST:
            said += f"; {len(counted) - MOST} phys with fewer omitted"
        quiet = len(phys) - len(counted)
        said += f"; {quiet} phys without errors" if quiet else ""
        title = f"SAS links: {what}"
        yield title, said, drawing.heat(rows, top, axis, title=title, shown=_hourly)


def _hourly(per_second: float) -> str:
    return f"{number(per_second * 3600, 0)}/h"


def _held(values: Sequence[float | None]) -> list[float | None]:
    """Fill gaps with the next measured value, which covers the time since the previous one; the tail stays None."""
    found: list[float | None] = []
    value = None
    for each in reversed(values):
        value = each if each is not None else value
        found.append(value)
    return found[::-1]
