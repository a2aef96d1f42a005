"""Memory: things that were critical, or lacked redundancy, and vanished without having been repaired.

Otherwise an array that udev stops after its third loss would be forgotten one second later. The session remembers over
all frames that it judged: of a capture from its first frame, of a live node since the start.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.coverage import covered, names_in
from sdstop.core.evidence import Cite, Outcome
from sdstop.core.finding import Damage, Finding, Rule, Severity, Value
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Rows
from sdstop.core.snapshot import Run, Snapshot

Providers = Mapping[type[Reading], tuple[str, ...]]
"""Names of the collectors that produce each family."""

SOURCE = "memory"
"""Name of the run that holds the rows; no collector has it."""


class VanishedThing(Reading, frozen=True):
    """Thing that a rule found faulty and that is gone: one row per rule and subject, kept by the session."""

    family: ClassVar[str] = "vanished"
    title: ClassVar[str] = "Vanished things"
    exported: ClassVar[bool] = False

    rule: Annotated[str, Label("Rule", "Rule that found it faulty", plain=True)]
    subject: Annotated[str, Label("Subject", "Subject of that finding", names=Name.EVIDENCE)]
    thing: Annotated[str, Fact("Thing", "Name of the thing that is gone", names=Name.EVIDENCE)]
    fault: Annotated[str, Fact("Fault", "Title of the last finding", names=Name.EVIDENCE)]
    summary: Annotated[str, Fact("Summary", "Text of the last finding", names=Name.EVIDENCE)]
    gone: Annotated[float, Metric("Gone", "When it was missed first, monotonic", "seconds")]
    frame: Annotated[int, Metric("Frame", "Frame that has the evidence")]
    severity: Annotated[str, Fact("Severity", "Severity of the last finding", plain=True)] = Severity.CRITICAL
    key: Annotated[str, Fact("Key", "Key of the evidence", names=Name.EVIDENCE)] = ""
    excerpt: Annotated[str, Fact("Excerpt", "Quote of the evidence", names=Name.EVIDENCE)] = ""
    mark: Annotated[str, Fact("Mark", "Marked part of the quote", names=Name.EVIDENCE)] = ""


class _FaultyThing(Struct, frozen=True):
    """Faulty thing: its names and its role, the last finding, and the row since it is gone."""

    names: frozenset[str]
    finding: Finding
    row: VanishedThing | None = None


class Memory(Struct):
    """Faulty things of the rules that remember, by rule and subject."""

    known: dict[tuple[str, str], _FaultyThing] = field(default_factory=dict)
    changes: list[tuple[int, tuple[VanishedThing, ...]]] = field(default_factory=list)
    """Rows from a frame on, by its number."""

    def recalled(self, shot: Snapshot, rules: Sequence[Rule], providers: Providers) -> Snapshot:
        """Return a new snapshot that includes the things gone by now; call it before the snapshot is judged."""
        if not self.known:
            return shot
        for rule in rules:
            keys = [key for key in self.known if key[0] == rule.id]
            if not keys or not _is_seen(shot, rule, providers):
                continue
            there = {name for _, names in covered(shot, rule.covered) for name in names()}
            there.update(_roles(shot, rule).values())
            for key in keys:
                known = self.known[key]
                if not known.names.isdisjoint(there):
                    self.known[key] = replace(known, row=None)
                elif known.row is None:
                    self.known[key] = replace(known, row=_row(known, shot))
        rows = tuple(known.row for known in self.known.values() if known.row is not None)
        if rows != (self.changes[-1][1] if self.changes else ()):
            self.changes.append((shot.number, rows))
        return with_vanished(shot, rows)

    def at(self, number: int) -> tuple[VanishedThing, ...]:
        """Return the rows as of the frame with this number."""
        return next((rows for since, rows in reversed(self.changes) if since <= number), ())

    def learn(self, shot: Snapshot, rules: Sequence[Rule], providers: Providers, findings: Sequence[Finding]) -> None:
        """Remember the faulty things of a judged snapshot; forget those that are there and no longer faulty."""
        for rule in rules:
            if not rule.remembers:
                continue
            faulty = [f for f in findings if f.rule == rule.id and _counts(f, rule)]
            keys = {key for key, known in self.known.items() if key[0] == rule.id and known.row is None}
            if not faulty and not keys:
                continue
            if _is_seen(shot, rule, providers):
                for key in keys:
                    del self.known[key]
            things = [frozenset(names()) for _, names in covered(shot, rule.covered)] if faulty else []
            for finding in faulty:
                inside = set(names_in(finding.subject))
                names = next((names for names in things if not inside.isdisjoint(names)), None)
                if names is not None:
                    roles = _roles(shot, rule)
                    own = frozenset(roles[name] for name in names if name in roles)
                    self.known[rule.id, finding.subject] = _FaultyThing(names | own, finding)


def _counts(finding: Finding, rule: Rule) -> bool:
    """Return whether a thing with this finding is remembered: a warning only if another thing can replace this one."""
    if finding.severity is Severity.CRITICAL:
        return True
    return rule.roles is not None and finding.severity is Severity.WARNING and finding.damage is Damage.REDUNDANCY


def _roles(shot: Snapshot, rule: Rule) -> Mapping[str, str]:
    return rule.roles(shot) if rule.roles is not None else {}


class Presence:
    """Things of the rules that remember, over successive snapshots: as long as none vanishes, nothing is recalled.

    Then these rules need not judge each frame of a capture.
    """

    def __init__(self, rules: Iterable[Rule], providers: Providers) -> None:
        """Start before the first snapshot."""
        self.lost = False
        """Whether a thing was missing in a snapshot in which it could be seen."""
        self._rules = [rule for rule in rules if rule.remembers]
        self._providers = providers
        self._names: dict[str, tuple[tuple[Rows, ...], frozenset[str]]] = {}

    def note(self, shot: Snapshot) -> None:
        """Compare a snapshot with those before."""
        for rule in self._rules:
            tables: tuple[Rows, ...] = tuple(shot.rows(each.family) for each in rule.covered)
            before, known = self._names.get(rule.id, ((), _NONE))
            if len(before) == len(tables) and all(map(operator.is_, before, tables)):
                continue
            names = frozenset([name for name, _ in covered(shot, rule.covered)])
            whole = known <= names
            if not whole and _is_seen(shot, rule, self._providers):
                self.lost = True
            self._names[rule.id] = (tables, names) if whole else ((), known | names)


_NONE: frozenset[str] = frozenset()


def with_vanished(shot: Snapshot, rows: Sequence[VanishedThing]) -> Snapshot:
    """Return a snapshot with rows of vanished things."""
    if not rows:
        return shot
    table: Rows = {(row.rule, row.subject): row for row in rows}
    run = Run(SOURCE, Outcome.OK, "", shot.monotonic, shot.taken, shot.taken, tables={VanishedThing: table})
    return replace(shot, by_family={**shot.by_family, VanishedThing: run})


def gone_findings(shot: Snapshot, rule: Rule) -> list[Finding]:
    """Return the findings of a rule about things that were critical and are gone."""
    rows = (row for row in shot.rows(VanishedThing).values() if row.rule == rule.id) if rule.remembers else ()
    return [
        Finding(
            severity=Severity(row.severity),
            subject=row.subject,
            title="GONE, not repaired",
            cause=f"{human.safe(row.thing, 40)} {_FAULTS[Severity(row.severity)]}, and is gone.",
            impact=f"Before: {row.fault or 'critical'}.",
            values=(
                Value("gone", "gone for", shot.monotonic - row.gone, "seconds"),
                Value("before", "last finding", row.summary),
            ),
            evidence=(Cite(row.key, row.frame, row.excerpt, row.mark),) if row.key else (),
            advice=("Find the devices that failed at that time.", run("journalctl", "-k")),
            refuted_by=f"the return of {row.thing}",
            harmless_if="it was taken down on purpose",
            damage=Damage.AVAILABILITY if row.severity == Severity.CRITICAL else Damage.REDUNDANCY,
        )
        for row in rows
    ]


_FAULTS = {Severity.CRITICAL: "was critical", Severity.WARNING: "had a fault"}


def _row(known: _FaultyThing, shot: Snapshot) -> VanishedThing:
    finding = known.finding
    cite = finding.evidence[0] if finding.evidence else None
    thing = next((name for name in names_in(finding.subject) if name in known.names), finding.subject)
    return VanishedThing(
        finding.rule, finding.subject, thing, finding.title, finding.summary, shot.monotonic,
        cite.frame if cite is not None else shot.number, finding.severity,
        *((cite.key, cite.excerpt, cite.mark) if cite is not None else ()),
    )  # fmt: skip


def _is_seen(shot: Snapshot, rule: Rule, providers: Providers) -> bool:
    """Return whether the things of a rule can be seen in a snapshot, so that a missing one is gone."""
    names = {name for each in rule.covered for name in providers.get(each.family, ())}
    runs = [shot.runs[name] for name in names if name in shot.runs]
    return bool(runs) and all(run.outcome in {Outcome.OK, Outcome.ABSENT} for run in runs)
