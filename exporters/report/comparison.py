"""Comparison of captures: findings between nodes, all differences, and the findings of each node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from sdstop.analysis.outlier import Configured
from sdstop.analysis.peers import Difference, PeerNode, differences, judged
from sdstop.core.diagnosis import Episode
from sdstop.core.finding import Finding, RuledOut, Severity, Verdict
from sdstop.core.finding_order import by_cause
from sdstop.core.format import plural, safe, timestamp
from sdstop.core.session import Session
from sdstop.exporters.report import table
from sdstop.exporters.report.document import finding_of, good_of, host_of, unix
from sdstop.exporters.report.html.document import document as html_document
from sdstop.exporters.report.html.markup import Markup, block, el, fold
from sdstop.exporters.report.html.markup import table as html_table
from sdstop.exporters.report.postmortem import escaped
from sdstop.exporters.report.text import counted, outlook

SCHEMA = "sdstop.comparison/2"


class Comparison(Struct, frozen=True):
    """Sessions with unique names, verdicts of the rules between nodes, and all differences."""

    sessions: tuple[tuple[str, Session], ...]
    verdicts: tuple[Verdict, ...]
    differences: tuple[Difference, ...]

    @property
    def findings(self) -> list[Finding]:
        """Findings between nodes, worst first."""
        return [verdict for verdict in self.verdicts if isinstance(verdict, Finding)]

    @property
    def alike(self) -> list[RuledOut]:
        """Aspects in which the nodes agree."""
        return [verdict for verdict in self.verdicts if isinstance(verdict, RuledOut)]

    @property
    def title(self) -> str:
        """Summary of the comparison: `3 captures: 1 finding: 1 warning between them`."""
        said = counted(self.findings)
        return f"{plural(len(self.sessions), 'capture')}: {said} between them"


def compared(sessions: Sequence[Session], configured: Configured = MappingProxyType({})) -> Comparison:
    """Compare sessions, using the configured thresholds.

    Sessions of the same name are distinguished by the time of their last frame.
    """
    named = tuple(zip(_names(sessions), sessions, strict=True))
    peers = [PeerNode(name, session.head().window) for name, session in named]
    return Comparison(named, tuple(judged(peers, configured)), tuple(differences(peers)))


def _names(sessions: Sequence[Session]) -> list[str]:
    plain = [str(host_of(session, session.head().now)["name"]) for session in sessions]
    found: list[str] = []
    for name, session in zip(plain, sessions, strict=True):
        shown = name if plain.count(name) == 1 else f"{name}, {timestamp(session.head().now.taken)}"
        found.append(shown if shown not in found else f"{shown} ({found.count(shown) + len(found)})")
    return found


def to_data(said: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON data, with the findings of each node."""
    return {
        "schema": SCHEMA,
        "nodes": [
            {
                "name": name,
                "host": host_of(session, session.head().now),
                "started": unix(session.started),
                "ended": unix(session.head().now.taken),
                "findings": [finding_of(episode, name) for episode in session.episodes()],
            }
            for name, session in said.sessions
        ],
        "findings": [_finding_record(finding) for finding in said.findings],
        "ruled_out": [good_of(verdict) for verdict in said.alike],
        "differences": [
            {"aspect": each.aspect.name, "item": each.item,
             "values": [{"value": value, "nodes": list(nodes)} for value, nodes in each.values]}
            for each in said.differences
        ],
    }  # fmt: skip


def _finding_record(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule, "severity": finding.severity.value, "subject": finding.subject,
        "summary": finding.summary, "values": {value.name: value.value for value in finding.values},
        "evidence": [{"key": c.key, "frame": c.frame, "excerpt": c.excerpt} for c in finding.evidence],
        "advice": list(finding.steps),
    }  # fmt: skip


def text(said: Comparison, width: int = 100) -> str:
    """Return the comparison as text."""
    width = max(width, 40)
    sections = [[said.title]]
    if said.findings:
        lines = ["BETWEEN NODES"]
        for finding in said.findings:
            lines.append(f"  {finding.severity.upper():<8}  {safe(finding.rule)}  {safe(finding.subject)}")
            lines += table.wrapped(safe(finding.summary, 2000), width, "    ")
            for advice in finding.advice:
                lines += table.wrapped(f"Action: {safe(str(advice))}", width, "    ", pasted=True)
        sections.append(lines)
    rows = [(safe(each.what, 60), safe(value, 60), safe(", ".join(nodes), 400)) for each in said.differences
            for value, nodes in each.values]  # fmt: skip
    if rows:
        sections.append(["DIFFERENCES", *table.listing(_once(rows), width, ("what", "value", "on"), "  ")])
    if said.alike:
        agreed = [(safe(verdict.subject, 60), safe(verdict.summary, 400)) for verdict in said.alike]
        sections.append(["COMMON", *table.listing(agreed, width, indent="  ")])
    each = [row for name, count, first in _nodes(said) for row in ((name, count), ("", first)) if row[1]]
    sections.append(["EACH NODE", *table.listing(each, width, indent="  ")])
    return "\n".join("\n".join([*lines, ""]) for lines in sections)


def _once(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Blank the first cell of a row if it repeats the row above."""
    return [(what if at == 0 or rows[at - 1][0] != what else "", *rest) for at, (what, *rest) in enumerate(rows)]  # type: ignore[misc]


def _nodes(said: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield each node with its number of findings and the first finding."""
    for name, session in said.sessions:
        episodes = session.episodes()
        yield safe(name, 80), outlook(session), _first(episodes)


def _first(episodes: Sequence[Episode]) -> str:
    order = by_cause([episode.finding for episode in episodes])
    if not order:
        return ""
    finding = episodes[order[0].place].finding
    return f"{finding.rule} {safe(finding.subject)}: {safe(finding.summary, 300)}"


def markdown(said: Comparison) -> str:
    """Return the comparison as Markdown."""
    lines = [f"# {escaped(said.title)}", "", "## Between nodes", ""]
    lines += [
        f"- **{f.severity.value}** {f.rule} {escaped(f.subject)}: {escaped(f.summary, 2000)}" for f in said.findings
    ]
    lines += ["None."] * (not said.findings)
    lines += ["", "## Differences", "", "| what | value | on |", "|---|---|---|"]
    lines += [f"| {escaped(each.what)} | {escaped(value)} | {escaped(', '.join(nodes))} |" for each in said.differences
              for value, nodes in each.values]  # fmt: skip
    lines += ["", "## Common", ""]
    lines += [f"- {escaped(verdict.subject)}: {escaped(verdict.summary)}" for verdict in said.alike] or ["None."]
    lines += ["", "## Each node", "", "| node | findings | first |", "|---|---|---|"]
    lines += [f"| {escaped(name)} | {escaped(count)} | {escaped(first)} |" for name, count, first in _nodes(said)]
    return "\n".join(lines) + "\n"


def page(said: Comparison) -> str:
    """Return the comparison as one HTML page."""
    shape = {Severity.CRITICAL: "\u25b2", Severity.WARNING: "\u25c6", Severity.INFO: "\u25cf"}
    between = [
        el("article",
           el("h3", el("span", f"{shape[f.severity]} {f.severity.value}", class_=f"sev {f.severity.value}"),
              f" {f.rule}  {f.subject}"),
           el("p", f.summary),
           *(fold([f"Evidence: {cite.key}, frame {cite.frame}"], el("pre", block(cite.excerpt), class_="one"))
             for cite in f.evidence),
           el("ol", *(el("li", el("code", str(advice))) for advice in f.advice), class_="do"),
           class_=f"finding {f.severity.value}")
        for f in said.findings
    ]  # fmt: skip
    rows = [(each.what, value, ", ".join(nodes)) for each in said.differences for value, nodes in each.values]
    parts: list[Markup] = [
        el("h1", said.title),
        el("section", el("h2", "Between nodes"), *(between or [el("p", "None.")])),
        el("section", el("h2", "Differences"), html_table(("what", "value", "on"), _once(rows))),
        el("section", el("h2", "Common"),
           html_table(("what", "value"), [(v.subject, v.summary) for v in said.alike])),
        el("section", el("h2", "Each node"), html_table(("node", "findings", "first"), _nodes(said))),
    ]  # fmt: skip
    return html_document(said.title, el("main", *parts))
