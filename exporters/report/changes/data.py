"""Comparison as data (`sdstop.diff/1`) and its JSON Schema (docs/diff.schema.json).

New keys may be added to a version, so readers have to ignore unknown ones. Removing a key, or changing its type or
meaning, takes a new version.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from sdstop.analysis.comparison.comparison import Comparison
from sdstop.analysis.comparison.findings import ChangedFinding, FindingChange
from sdstop.analysis.comparison.settings import ThingChange
from sdstop.analysis.comparison.sides import ComparedSide
from sdstop.core.finding import Finding, Severity
from sdstop.core.model import schema as declared
from sdstop.exporters.report.changes.rows import title
from sdstop.exporters.report.document import to_json

SCHEMA = "sdstop.diff/1"

Scalar = float | int | str | bool | None
UnixTime = Annotated[float | None, Meta(description="Unix seconds; null if the time is unknown.")]


class DiffSide(Struct):
    """A capture, or one of its moments."""

    host: str
    source: Annotated[str, Meta(description="How it was named on the command line.")]
    moment: Annotated[bool, Meta(description="Whether findings are those of its last moment, not of all its frames.")]
    started: UnixTime
    ended: UnixTime
    frames: Annotated[int, Meta(ge=0)]
    complete: Annotated[bool, Meta(description="Whether the capture is whole.")]


class DiffValue(Struct):
    """A number of a finding that differs, in base units."""

    title: str
    unit: str
    before: Scalar
    after: Scalar


class DiffState(Struct):
    """A finding on one side."""

    severity: Severity
    subject: Annotated[str, Meta(description="Stable ID of a thing: md2, md2/sdc, eth1, vol:NAME.")]
    title: str
    cause: str
    impact: str


class DiffFinding(Struct):
    """A finding that changed."""

    change: Annotated[
        FindingChange,
        Meta(
            description="new: A passed the check; first seen: A did not check; gone: B passed the check; unknown: B"
            " did not check; removed: its thing is not in B; over: before the end of B; worse, better: severity;"
            " changed: numbers."
        ),
    ]
    rule: str
    before: Annotated[DiffState | None, Meta(description="In A; null if A does not have it.")]
    after: Annotated[DiffState | None, Meta(description="In B; null if B does not have it.")]
    why: Annotated[str, Meta(description="Verdict of the side that does not have it.")]
    values: list[DiffValue]


class DiffThing(Struct):
    """A device, volume, port or other thing that one side does not have."""

    change: ThingChange
    kind: str
    name: str
    other: Annotated[str, Meta(description="Of a renamed one, its name in B; otherwise empty.")]


class DiffSetting(Struct):
    """A setting that differs in the same way for all `items`; values are in base units."""

    family: Annotated[str, Meta(description="Family of readings, as in the report.")]
    field: str
    unit: str
    items: Annotated[list[str], Meta(description="Rows of the family; an empty text for the node itself.")]
    before: Scalar
    after: Scalar


class DiffLoad(Struct):
    """A rate, latency or share that differs by more than noise, in base units."""

    group: str
    title: str
    unit: str
    before: float
    after: float


class DiffGap(Struct):
    """A source that only one side has; things known from it alone are not compared."""

    collector: str
    before: str
    after: str


class DiffUnchanged(Struct):
    """Numbers of compared and unchanged findings, things, settings and rates."""

    findings: int
    things: int
    settings: int
    rates: int


class Diff(Struct):
    """Output of `sdstop diff --format json`."""

    schema: Annotated[str, Meta(pattern=f"^{SCHEMA}$")]
    summary: str
    changed: Annotated[bool, Meta(description="Whether anything differs.")]
    worse: Annotated[bool, Meta(description="Whether a finding is new, first seen, or worse.")]
    same_host: bool
    a: DiffSide
    b: DiffSide
    remarks: list[str]
    findings: list[DiffFinding]
    things: list[DiffThing]
    settings: list[DiffSetting]
    rates: list[DiffLoad]
    not_compared: list[DiffGap]
    no_rates: Annotated[list[str], Meta(description="Sides without two samples, a or b; rates are then left out.")]
    unchanged: DiffUnchanged


def diff(found: Comparison) -> Diff:
    """Return a comparison as data."""
    properties = found.properties
    return Diff(
        SCHEMA, title(found), found.changed, found.worse, found.same_host, _side(found.a), _side(found.b),
        list(found.remarks), [_finding(each) for each in found.findings],
        [DiffThing(each.change, each.kind, each.name, each.other) for each in properties.things],
        [
            DiffSetting(
                declared(each.family).family, each.column.name, each.column.unit, list(each.items),
                _scalar(each.before), _scalar(each.after),
            )
            for each in properties.settings
        ],
        [DiffLoad(each.group, each.title, each.unit, each.before or 0.0, each.after or 0.0)
         for each in found.loads.changed],
        [DiffGap(each.collector.name, each.before, each.after) for each in found.gaps],
        found.loads.missing.lower().split(" and ") if found.loads.missing else [],
        DiffUnchanged(
            len(found.same_findings), properties.same_things, properties.same_settings, found.loads.same
        ),
    )  # fmt: skip


def _scalar(value: object) -> Scalar:
    return value if value is None or isinstance(value, float | int | str) else str(value)


def _side(side: ComparedSide) -> DiffSide:
    complete = side.session.origin.complete
    return DiffSide(side.host, side.source, side.moment, side.started, side.ended, side.frames, complete)


def _finding(each: ChangedFinding) -> DiffFinding:
    values = [DiffValue(value.title, value.unit, value.before, value.after) for value in each.values]
    return DiffFinding(each.change, each.finding.rule, _state(each.before), _state(each.after), each.why, values)


def _state(finding: Finding | None) -> DiffState | None:
    if finding is None:
        return None
    return DiffState(finding.severity, finding.subject, finding.title, finding.cause, finding.impact)


def text(found: Comparison) -> str:
    """Return a comparison as JSON."""
    return to_json(msgspec.to_builtins(diff(found)))


def json_schema() -> dict[str, Any]:
    """Return the schema (JSON Schema 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        "title": "sdstop diff",
        **msgspec.json.schema(Diff),
    }


def schema_text() -> str:
    """Return the schema as a file."""
    return json.dumps(json_schema(), indent=1) + "\n"
