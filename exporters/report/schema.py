"""JSON Schema of the report (docs/report.schema.json), from types that mirror sdstop.exporters.report.document.

New keys may be added to a version, so readers have to ignore unknown ones. Removing a key, or changing its type or
meaning, takes a new version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from sdstop.core.account import Use
from sdstop.core.collector import Collector
from sdstop.core.evidence import Outcome
from sdstop.core.finding import Damage, Gap, Severity
from sdstop.core.model import Buckets, Column, Reading, State
from sdstop.core.model import schema as declared
from sdstop.exporters.report.document import SCHEMA

IDENTIFIER = f"urn:{SCHEMA.replace('/', ':')}"

Time = Annotated[float | None, Meta(description="Unix seconds; null if the time is unknown or still open.")]
Subject = Annotated[str, Meta(description="Stable ID of a thing: md2, md2/sdc, eth1, vol:NAME.")]
FindingId = Annotated[
    str,
    Meta(description="ID of a finding: rule:subject; with several hosts host:rule:subject or between:rule:subject."),
]
Host = Annotated[str, Meta(description="Name of the host; empty for a verdict between hosts.")]


class ReportHeadline(Struct):
    """One line and an exit code for the whole report, as `sdstop check` prints them."""

    code: Annotated[int, Meta(ge=0, le=3, description="0 ok, 1 warning, 2 critical, 3 unknown.")]
    result: Annotated[str, Meta(description="ok, warning, critical or unknown.")]
    text: str


class ReportText(Struct):
    """Block of a pasted text, or a recorded output that no source understands."""

    key: Annotated[str, Meta(description="Its evidence; empty for unknown lines.")]
    line: Annotated[int, Meta(ge=0, description="Number of its first line in a pasted text, else 0.")]
    lines: Annotated[int, Meta(ge=0)]
    first: Annotated[str, Meta(description="The first line.")]
    use: Annotated[Use, Meta(description="read; unread (recorded, not understood); unknown.")]
    sources: Annotated[list[str], Meta(description="Collectors that read it.")]
    reason: Annotated[str, Meta(description="Why nothing was read from it.")]


class ReportHost(Struct):
    """A node, how complete its data is, and when it was watched."""

    name: Annotated[str, Meta(description="Name of the node, unique among the hosts.")]
    kernel: str | None
    live: bool
    complete: Annotated[bool, Meta(description="Whether the capture is whole.")]
    note: str
    privileged: bool | None
    facts: dict[str, Any]
    texts: list[ReportText]
    started: Time
    ended: Time
    frames: Annotated[int, Meta(ge=0)]


class ReportEvidence(Struct):
    """Raw evidence of a finding: a path, `cmd:` and a command, or `http:` and a request."""

    key: str
    host: Annotated[str, Meta(description="Name of the host that it is from.")]
    frame: Annotated[int, Meta(ge=0)]
    excerpt: str


class ReportAdvice(Struct):
    """One step: a sentence, or a command."""

    text: Annotated[str, Meta(description="A sentence; empty for a command.")]
    command: Annotated[str, Meta(description="The command, quoted for a POSIX shell; empty for a sentence.")]
    argv: Annotated[list[list[str]], Meta(description="Argument lists of the command, connected by pipes.")]
    note: Annotated[str, Meta(description="Purpose of the command.")]


class ReportView(Struct):
    """Place on the dashboard that shows a finding best."""

    id: Annotated[str, Meta(description="ID of a view; empty if none is better than the list of findings.")]
    subject: Subject


class ReportMember(Struct):
    """A finding that a folded one replaces."""

    subject: Subject
    severity: Severity
    summary: str


class ReportAccepted(Struct):
    """Acceptance of a finding, which is then info: the reason, its end (null: none), the severity without it."""

    reason: str
    until: Time
    severity: Severity


class ReportFinding(Struct):
    """A fault, from `since` to `until`; `until` is null if it is still there at the end."""

    rule: str
    severity: Severity
    host: Annotated[str, Meta(description="Name of the host that has the fault; empty if it lies between hosts.")]
    between: Annotated[list[str], Meta(description="Names of the hosts whose evidence a rule between nodes joined.")]
    subject: Subject
    title: Annotated[str, Meta(description="The fault in at most 40 cells, without the subject.")]
    cause: str
    impact: str
    summary: Annotated[str, Meta(description="Cause and impact.")]
    damage: Annotated[Damage | None, Meta(description="Kind of damage, worst first: " + ", ".join(Damage) + ".")]
    standing: Annotated[bool, Meta(description="Whether it is a lasting condition rather than an incident.")]
    values: Annotated[
        dict[str, float | int | str | None], Meta(description="Numbers and words compared, in base units, by name.")
    ]
    against: Annotated[
        dict[str, dict[str, float]],
        Meta(description="What values were compared with, by name: of (a total), above or below (a threshold)."),
    ]
    evidence: list[ReportEvidence]
    advice: list[ReportAdvice]
    refuted_by: Annotated[str, Meta(description="Observation that would disprove the finding.")]
    harmless_if: Annotated[str, Meta(description="Circumstance under which the fact does no harm.")]
    view: ReportView
    waiting_requests: Annotated[float, Meta(ge=0, description="Mean number of requests that wait; 0 if unknown.")]
    since: Time
    until: Time
    confidence: Annotated[Annotated[float, Meta(ge=0, le=1)] | None, Meta(description="0 to 1; null if it is certain.")]
    accepted: Annotated[ReportAccepted | None, Meta(description="Why it is accepted; null if it is not.")]
    explains: Annotated[list[FindingId], Meta(description="Findings that this one causes.")]
    part_of: Annotated[list[str], Meta(description="Arrays, pools and others that contain the thing.")]
    affected: Annotated[list[str], Meta(description="The nearest volumes, mounts and clients that need it.")]
    affected_count: Annotated[int, Meta(ge=0, description="Number of all that need it.")]
    members: Annotated[list[ReportMember], Meta(description="Of a folded finding, those that it replaces.")]


class ReportRuledOut(Struct):
    """Things that passed a check."""

    rule: str
    host: Host
    subject: Annotated[str, Meta(description="The first of `subjects`; empty for the whole node.")]
    summary: str
    subjects: list[str]
    count: Annotated[int, Meta(ge=0)]
    despite: Annotated[list[FindingId], Meta(description="Critical findings on these things or below them.")]


class ReportUnchecked(Struct):
    """Things that could not be checked, and why; no subjects for the whole node."""

    rule: str
    host: Host
    reason: str
    subjects: list[str]
    count: Annotated[int, Meta(ge=0)]
    gap: Gap


class ReportSource(Struct):
    """A collector's last run."""

    name: str
    host: Host
    outcome: Annotated[Outcome | None, Meta(description="null before its first run.")]
    reason: str
    duration_seconds: float | None


class ReportDifferenceValue(Struct):
    """A value, and the hosts that have it."""

    value: str
    nodes: list[str]


class ReportDifference(Struct):
    """A property in which hosts differ, the most common value first."""

    aspect: str
    item: Annotated[str, Meta(description="Which one of several; empty for the whole node.")]
    values: list[ReportDifferenceValue]


class Report(Struct):
    """Output of `sdstop report --format json`."""

    schema: Annotated[str, Meta(pattern=f"^{SCHEMA}$")]
    headline: ReportHeadline
    hosts: Annotated[list[ReportHost], Meta(min_length=1)]
    started: Time
    ended: Time
    frames: Annotated[int, Meta(ge=0)]
    findings: list[ReportFinding]
    ruled_out: list[ReportRuledOut]
    unchecked: list[ReportUnchecked]
    collectors: list[ReportSource]
    differences: Annotated[
        list[ReportDifference], Meta(description="Differences between several hosts; left out with one host.")
    ] = msgspec.field(default_factory=list)


def json_schema(collectors: Iterable[Collector]) -> dict[str, Any]:
    """Return the schema (JSON Schema 2020-12) of the report that these collectors lead to."""
    made = msgspec.json.schema(Report)
    report = made["$defs"]["Report"]
    families = dict.fromkeys(
        family for each in collectors for family in (*each.families, *(derived.target for derived in each.derives))
    )
    rows = {declared(family).family: _table(family) for family in sorted(families, key=lambda each: each.family)}
    readings = {
        "type": "object",
        "description": "Rows of the last frame by family, in base units; families without data are left out.",
        "properties": rows,
    }
    report["properties"]["readings"] = readings
    made["$defs"]["ReportHost"]["properties"]["readings"] = {
        "$ref": "#/$defs/Report/properties/readings",
        "description": "With several hosts, the readings of this one; with one host they stand in the report.",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": IDENTIFIER,
        "title": "sdstop report",
        **made,
    }


def text(collectors: Iterable[Collector]) -> str:
    """Return the schema as a file, with a line for each family."""
    return _lines(json_schema(collectors)) + "\n"


_DEEP = 6
"""Levels of the schema that have lines of their own."""


def _lines(value: Any, depth: int = 0) -> str:
    if not isinstance(value, dict) or not value or depth == _DEEP:
        return json.dumps(value)
    inner = (f"{' ' * (depth + 1)}{json.dumps(key)}: {_lines(each, depth + 1)}" for key, each in value.items())
    return "{\n" + ",\n".join(inner) + f"\n{' ' * depth}}}"


def _table(family: type[Reading]) -> dict[str, Any]:
    known = declared(family)
    columns = {column.name: _column(column) for column in known.columns}
    return {
        "type": "array",
        "description": known.title,
        "items": {"type": "object", "properties": columns, "required": list(columns)},
    }


def _column(column: Column) -> dict[str, Any]:
    if isinstance(column.mark, Buckets):
        types = ["object"]
    elif column.is_text or isinstance(column.mark, State):
        types = ["string"]
    else:
        types = ["number", "boolean"]
    about = ", ".join(filter(None, (column.mark.help or column.title, column.unit)))
    return {"type": [*types, *(["null"] if column.optional else [])], "description": about}
