"""Bar chart of volume limits: mean used share in the window, highest first."""

from __future__ import annotations

from sdstop.analysis.limits.limiting import LimitAnalysis, limit_analyses
from sdstop.core.format import percent, quantity, safe
from sdstop.core.history import Window
from sdstop.exporters.report.html import drawing
from sdstop.exporters.report.html.markup import Markup

MOST = 40
"""Rows of the table."""
AT = 0.97
"""Minimum share of an emphasized bar."""


def limits(window: Window) -> tuple[str, Markup] | None:
    """Return a caption and the drawing; None without limits of known use."""
    known = [each for each in limit_analyses(window) if each.share is not None]
    if not known:
        return None
    known.sort(key=lambda each: (-(each.share or 0.0), each.limit.subject))
    rows = [_row(each) for each in known[:MOST]]
    said = "mean use of the limit that is closer, in the last samples; above 100% is a burst"
    if len(known) > MOST:
        said += f"; {len(known) - MOST} less used ones omitted"
    return said, drawing.bars(rows, title="Use of the limits on volumes")


def _row(each: LimitAnalysis) -> tuple[str, float, str, bool]:
    limit, share = each.limit, each.share or 0.0
    bounds = [
        quantity(limit.iops, "per_second") if limit.iops is not None else "",
        quantity(limit.bandwidth, "bytes_per_second") if limit.bandwidth is not None else "",
    ]
    waited = f", at limit {percent(each.at_limit)}% of time" if each.at_limit else ""
    least = "" if each.certain else "up to "
    told = f"{least}{percent(share)}% of {each.binding or 'it'} ({', '.join(filter(None, bounds))}){waited}"
    return safe(limit.subject.removeprefix("vol:"), 31), share, told[:70], share >= AT
