"""Fleet as text, for use without a terminal, and as JSON. Pure functions, no I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sdstop.core.finding import Severity
from sdstop.core.finding_text import accepted_text
from sdstop.core.format import duration, number, percent, plural, rate, safe, timestamp
from sdstop.fleet.silences import SilencedAlert
from sdstop.fleet.state import FleetFinding, FleetNode, FleetState

SCHEMA = "sdstop.fleet/1"
MARKS = {Severity.CRITICAL: "!CRIT", Severity.WARNING: "*WARN", Severity.INFO: " INFO", None: "     "}
UNKNOWN = "?UNKN"
_LISTED = frozenset({Severity.CRITICAL, Severity.WARNING})


def heading(picture: FleetState, url: str) -> str:
    """Return the server and the time of the query."""
    server = f" ({picture.server})" if picture.server else ""
    return f"{url}{server}, {timestamp(picture.asked)}"


def summary(picture: FleetState) -> str:
    """Return the number of nodes by state: `298 nodes: 1 critical, 6 with warnings, 2 silent`."""
    if picture.failed:
        return "no data"
    if picture.total is None:
        return "number of nodes unknown"
    parts = [
        f"{count} {word}"
        for severity, word in ((Severity.CRITICAL, "critical"), (Severity.WARNING, "with warnings"))
        if (count := picture.counts.get(severity, 0))
    ]
    if picture.silent:
        parts.append(f"{len(picture.silent)} silent")
    nodes = f"{picture.total} node{'' if picture.total == 1 else 's'}"
    return f"{nodes}: {', '.join(parts) or 'nothing that matters'}"


def remarks(picture: FleetState) -> list[str]:
    """Return failed queries, then the server's warnings and infos."""
    return [
        *(f"query failed: {line}" for line in picture.troubles),
        *(f"server warning: {line}" for line in picture.warnings),
        *(f"server notice: {line}" for line in picture.infos),
    ]


def said(claim: FleetFinding | None) -> str:
    """Return rule and subject of a finding: `hot-stripe-member md0/sd3`."""
    return "" if claim is None else safe(f"{claim.rule} {claim.subject}".strip())


def counts(node: FleetNode) -> str:
    """Return a node's number of findings: `1 critical, 2 warnings`."""
    parts = [f"{node.critical} critical"] if node.critical else []
    if node.warning:
        parts.append(f"{node.warning} warning{'' if node.warning == 1 else 's'}")
    return ", ".join(parts)


def fleet_text(picture: FleetState, url: str) -> str:
    """Return the fleet as text, one section per kind; empty sections are left out."""
    lines = [f"sdstop fleet: {summary(picture)}", heading(picture, url), *remarks(picture)]
    for title, rows in _sections(picture):
        if rows:
            lines += ["", title, *_aligned(rows)]
    if not picture.failed and picture.total is not None:
        calm = sum(1 for node in picture.nodes if not node.severity and not node.silence)
        more = picture.total - sum(1 for node in picture.nodes if node.age is not None)
        if calm or more > 0:
            lines += ["", f"{plural(calm + max(more, 0), 'more node')} without problems"]
    return "\n".join([*lines, ""])


def _sections(picture: FleetState) -> Iterator[tuple[str, list[Sequence[str]]]]:
    def name(key: tuple[str, str]) -> str:
        return safe(picture.name(key), 60)

    yield "Nodes, worst first", [
        (UNKNOWN if n.silence and not n.severity else MARKS[n.severity], safe(n.name, 60), counts(n) or n.silence,
         said(n.worst), _silent(picture, n.worst))
        for n in picture.nodes if n.severity or n.silence
    ]  # fmt: skip
    yield (
        "Findings by number of nodes",
        [
            (MARKS[r.severity], plural(r.nodes, "node"), safe(r.rule, 60), r.advice)
            for r in picture.rules
            if r.severity in _LISTED
        ],
    )
    yield (
        "Accepted findings by number of nodes",
        [(plural(r.nodes, "node"), safe(r.rule, 60), f"otherwise {r.severity.value}") for r in picture.accepted],
    )
    yield (
        "Silent nodes",
        [
            (
                UNKNOWN,
                safe(n.name, 60),
                f"for {duration(n.age)}" if n.age is not None else "not seen lately",
                n.silence,
            )
            for n in picture.silent
        ],
    )
    yield "Arrays", [
        (MARKS[a.severity], name(a.node), safe(a.array, 60), "" if a.skew is None else f"skew {number(a.skew)}",
         ", ".join(said(c) for c in a.claims))
        for a in picture.arrays
    ]  # fmt: skip
    yield "Rebuilds, longest first", [
        ("     ", name(r.node), safe(r.array, 60), safe(r.operation, 40), safe(r.state, 40), f"{percent(r.done)}%",
         f"{rate(r.speed)}/s", f"{duration(r.remaining)} left")
        for r in picture.rebuilds
    ]  # fmt: skip
    yield "Volumes at their limit", [
        (MARKS[v.severity], name(v.node), safe(v.volume, 60), safe(v.owner, 60),
         "" if v.used is None else f"{percent(v.used)}% of {safe(v.binds, 40)}", ", ".join(said(c) for c in v.claims))
        for v in picture.volumes
    ]  # fmt: skip
    yield (
        "Nodes that differ from their peers",
        [
            (MARKS[f.severity], safe(f.subject, 80), safe(f.rule), safe(f.summary, 200), safe(accepted_text(f), 200))
            for f in picture.differing
        ],
    )

    yield "Silenced in the Alertmanager", [
        (name(s.node), safe(s.alert, 60), safe(f"{s.rule} {s.subject}".strip(), 100), until(s),
         safe(f"{s.by}: {s.comment}" if s.comment else s.by, 200))
        for s in picture.silenced or ()
    ]  # fmt: skip


def until(alert: SilencedAlert) -> str:
    """Return the end of an alert's silence."""
    return "until ?" if alert.until is None else f"until {timestamp(alert.until)}"


def _silent(picture: FleetState, claim: FleetFinding | None) -> str:
    return "silenced" if claim is not None and picture.silence(claim) is not None else ""


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width).rstrip()


def fleet_json(picture: FleetState, url: str) -> str:
    """Return the picture as JSON (`sdstop.fleet/1`). Numbers are in base units, unknown values null."""
    told: dict[str, Any] = {
        "schema": SCHEMA,
        "server": {"url": url, "is": picture.server or None},
        "asked": picture.asked,
        "answered": not picture.failed,
        "total": picture.total,
        "nodes_by_severity": {severity.value: picture.counts.get(severity, 0) for severity in Severity},
        "troubles": list(picture.troubles),
        "warnings": list(picture.warnings),
        "infos": list(picture.infos),
        "nodes": [
            {
                **_node(n.key), "critical": n.critical, "warning": n.warning, "info": n.info, "age_seconds": n.age,
                "silent": n.silence or None, "worst": None if n.worst is None else _claim(n.worst),
            }
            for n in picture.nodes
        ],
        "findings": [{**_node(c.node), **_claim(c)} for c in picture.findings],
        "rules": [
            {"rule": r.rule, "severity": r.severity.value, "nodes": r.nodes, "advice": r.advice or None}
            for r in picture.rules
        ],
        "accepted": [{"rule": r.rule, "severity": r.severity.value, "nodes": r.nodes} for r in picture.accepted],
        "arrays": [
            {**_node(a.node), "array": a.array, "skew": a.skew, "findings": [_claim(c) for c in a.claims]}
            for a in picture.arrays
        ],
        "rebuilds": [
            {
                **_node(r.node), "array": r.array, "operation": r.operation, "state": r.state or None, "done": r.done,
                "remaining_seconds": r.remaining, "bytes_per_second": r.speed,
            }
            for r in picture.rebuilds
        ],
        "volumes": [
            {
                **_node(v.node), "volume": v.volume, "owner": v.owner or None, "binds": v.binds or None,
                "used": v.used, "findings": [_claim(c) for c in v.claims],
            }
            for v in picture.volumes
        ],
        "differing": [
            {
                "rule": f.rule, "severity": f.severity.value, "subject": f.subject, "summary": f.summary,
                "accepted": None if f.accepted is None else f.accepted.reason,
                "values": {value.name: value.value for value in f.values}, "advice": list(f.steps),
            }
            for f in picture.differing
        ],
        "silenced": None if picture.silenced is None else [
            {
                **_node(s.node), "alert": s.alert, "rule": s.rule or None, "subject": s.subject or None,
                "until": s.until, "by": s.by or None, "comment": s.comment or None,
            }
            for s in picture.silenced
        ],
    }  # fmt: skip
    return json.dumps(told, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _node(key: tuple[str, str]) -> dict[str, str]:
    return {"job": key[0], "instance": key[1]}


def _claim(claim: FleetFinding) -> dict[str, str]:
    return {"rule": claim.rule, "severity": claim.severity.value, "subject": claim.subject}
