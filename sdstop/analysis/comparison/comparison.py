"""Comparison of two sides, A and B, as one value that reports and screens show."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.comparison.findings import BAD, ChangedFinding, FindingChange, finding_changes
from sdstop.analysis.comparison.loads import ComparedLoads, compared_loads
from sdstop.analysis.comparison.settings import ComparedProperties, compared_properties
from sdstop.analysis.comparison.sides import ComparedSide, renames
from sdstop.collectors.system.readings import Node
from sdstop.core.collector import Collector
from sdstop.core.evidence import Outcome
from sdstop.core.finding import Finding
from sdstop.core.format import duration, safe, timestamp

_POLICY = "policy"
"""Fact of a capture with the policy of its node."""
_SLACK = 5.0
"""Seconds by which the time of one boot differs, because the kernel computes it from a clock that is adjusted."""


class SourceGap(Struct, frozen=True):
    """A source that only one side has, and its outcome on both: `ok`, `recorded in part`, `denied`, ..."""

    collector: Collector
    before: str
    after: str


class Comparison(Struct, frozen=True):
    """Changes from A to B. `remarks` are for the reader to know first, such as that the hosts differ."""

    a: ComparedSide
    b: ComparedSide
    remarks: tuple[str, ...]
    findings: tuple[ChangedFinding, ...]
    same_findings: tuple[Finding, ...]
    properties: ComparedProperties
    loads: ComparedLoads
    gaps: tuple[SourceGap, ...]

    @property
    def same_host(self) -> bool:
        """Whether both sides are of one node."""
        return self.a.host == self.b.host

    @property
    def changed(self) -> bool:
        """Whether anything is different."""
        properties = self.properties
        return bool(self.findings or properties.things or properties.settings or self.loads.changed)

    @property
    def worse(self) -> bool:
        """Whether a finding is new or worse."""
        return any(each.change in BAD for each in self.findings)

    def counts(self) -> dict[FindingChange, int]:
        """Return the number of changed findings by change, without those that are 0, in display order."""
        found = [each.change for each in self.findings]
        return {change: found.count(change) for change in FindingChange if change in found}


def comparison(a: ComparedSide, b: ComparedSide) -> Comparison:
    """Compare two sides; devices with another name are followed on one host only."""
    names = renames(a, b) if a.host == b.host else {}
    findings, same = finding_changes(a, b, names)
    properties = compared_properties(a, b, names)
    return Comparison(
        a, b, tuple(_remarks(a, b)), tuple(findings), tuple(same), properties, compared_loads(a, b, names),
        tuple(_gaps(a, b, properties)),
    )  # fmt: skip


def _remarks(a: ComparedSide, b: ComparedSide) -> Iterator[str]:
    if a.host != b.host and (a.names_host or b.names_host):
        names = f"A is {safe(a.host, 64)}, B is {safe(b.host, 64)}"
        yield f"{names}: these are differences between two nodes, not changes of one."
    if a.started is None or b.started is None:
        unknown = " and ".join(name for name, side in (("A", a), ("B", b)) if side.started is None)
        yield f"Time of {unknown} unknown: A is taken as the earlier one."
    elif a.ended is not None and b.ended is not None and b.ended < a.started:
        yield f"B is older than A by {duration(a.started - b.ended)}: read backwards, gone faults begin later."
    if a.host == b.host and (booted := _booted_between(a, b)) is not None:
        yield f"The node was booted between A and B, at {timestamp(booted)}: counters began again."
    if a.session.origin.facts.get(_POLICY) != b.session.origin.facts.get(_POLICY):
        yield "A and B are judged by the policies that they recorded, which differ."
    for name, side in (("A", a), ("B", b)):
        if doubt := side.session.doubt(side.look):
            yield f"{name} has {doubt}."
        if not side.session.origin.complete:
            yield f"{name} is not complete: {safe(side.session.origin.note or 'it was cut short', 400)}"


def _booted_between(a: ComparedSide, b: ComparedSide) -> float | None:
    """Return the Unix time of a boot after the end of A, None if there was none, or it is unknown."""
    before, after = a.window.get(Node, ()), b.window.get(Node, ())
    if before is None or after is None or not before.boot_time or not after.boot_time:
        return None
    late = after.boot_time > before.boot_time + _SLACK
    return after.boot_time if late and a.ended is not None and after.boot_time > a.ended - _SLACK else None


def _gaps(a: ComparedSide, b: ComparedSide, properties: ComparedProperties) -> Iterator[SourceGap]:
    """Yield the sources that have data on one side only, unless the other node is without them."""
    for collector in b.session.collectors:
        before, after = (
            "recorded in part" if word == "ok" and not in_part.isdisjoint(collector.families) else word
            for word, in_part in zip((_word(a, collector), _word(b, collector)), properties.in_part, strict=True)
        )
        if "ok" in {before, after} and {before, after} - {"ok", "not present"}:
            yield SourceGap(collector, before, after)


def _word(side: ComparedSide, collector: Collector) -> str:
    run = side.look.now.runs.get(collector.name)
    if run is None or (run.outcome is Outcome.ABSENT and not run.recorded):
        return "not recorded"
    if run.ok:
        return "ok"
    return "not present" if run.outcome is Outcome.ABSENT else run.word
