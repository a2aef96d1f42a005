"""Comparison as one HTML page, without scripts and without references to other files."""

from __future__ import annotations

from sdstop.analysis.comparison.comparison import Comparison
from sdstop.exporters.report.changes import rows
from sdstop.exporters.report.html.document import document
from sdstop.exporters.report.html.markup import Markup, el, table


def page(found: Comparison) -> str:
    """Return the page."""
    said = rows.title(found)
    parts: list[Markup] = [
        el("h1", said),
        table(("", "compared"), [("A", rows.span(found.a)), ("B", rows.span(found.b))]),
        *(el("p", remark) for remark in found.remarks),
    ]
    if found.findings:
        parts.append(el("section", el("h2", "Findings"), *map(_article, rows.findings(found))))
    for heading, headings, body in (
        ("Topology", ("change", "kind", "what"), list(rows.things(found))),
        ("Settings", ("setting", "of", "A", "B"), list(rows.settings(found))),
        ("Rates and latency", ("of", "what", "A", "B", "change"), list(rows.loads(found))),
        ("Not compared", ("why", "what"), list(rows.gaps(found))),
    ):
        if body:
            parts.append(el("section", el("h2", heading), table(headings, body)))
    parts.append(el("p", rows.same(found)))
    return document(said, el("main", *parts))


def _article(row: rows.ChangeRow) -> Markup:
    word = row.severity.value
    color = word if row.bad else "passed"  # a fault that is gone does not alarm
    heading = el("h3", el("span", f"{row.change}: {word}", class_=f"sev {color}"), f" {row.heading}")
    return el("article", heading, *(el("p", line) for line in row.lines), class_=color)
