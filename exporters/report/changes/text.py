"""Comparison as text."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.comparison.comparison import Comparison
from sdstop.exporters.report import table
from sdstop.exporters.report.changes import rows
from sdstop.exporters.report.text import Paint, plain

_CHANGE = 11
"""Width of the word of a finding's change."""


def text(found: Comparison, width: int = 100, paint: Paint = plain) -> str:
    """Return the comparison as text: findings first, then things, settings, and rates."""
    return "\n".join("\n".join([*lines, ""]) for lines in sections(found, max(width, 40), paint))


def sections(found: Comparison, width: int, paint: Paint = plain) -> Iterator[list[str]]:
    """Yield the parts of the text as lines."""
    head = [*table.wrapped(rows.title(found), width)]
    head += table.listing([("A", rows.span(found.a)), ("B", rows.span(found.b))], width, indent="  ")
    head += [line for remark in found.remarks for line in table.wrapped(remark, width, "  ")]
    yield head
    if found.findings:
        yield ["FINDINGS", *_findings(found, width, paint)]
    things = list(rows.things(found))
    if things:
        yield ["TOPOLOGY", *table.listing(things, width, indent="  ")]
    settings = [(what, items, f"{a} -> {b}") for what, items, a, b in rows.settings(found)]
    if settings:
        yield ["SETTINGS", *table.listing(settings, width, indent="  ")]
    loads = list(rows.loads(found))
    if loads:
        shown = [(groups, what, before, after, step) for groups, what, before, after, step in loads[: rows.MOST]]
        more = [f"  and {len(loads) - rows.MOST} more; --format json lists them all"] if len(loads) > rows.MOST else []
        yield ["RATES AND LATENCY", *table.listing(shown, width, ("", "", "A", "B", ""), "  "), *more]
    gaps = list(rows.gaps(found))
    if gaps:
        yield ["NOT COMPARED", *table.listing(gaps, width, indent="  ")]
    yield table.wrapped(rows.same(found), width)


def _findings(found: Comparison, width: int, paint: Paint) -> Iterator[str]:
    for row in rows.findings(found):
        word = table.padded(row.change, _CHANGE)
        first, *rest = table.wrapped(
            f"{row.severity.value} {row.heading}", width, " " * (_CHANGE + 2), " " * (_CHANGE + 4)
        )
        yield f"  {paint(word, row.severity) if row.bad else word}{first[_CHANGE + 2 :]}"
        yield from rest
        for line in row.lines:
            yield from table.wrapped(line, width, " " * (_CHANGE + 4), " " * (_CHANGE + 6))
