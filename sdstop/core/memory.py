"""Memory: things that vanished: without having been repaired, or while they were in use.

Otherwise an array that udev stops after its third loss would be forgotten one second later, and a disk that left as
soon as the last sample with it is dropped. The session remembers over all frames that it judged: of a capture from its
first frame, of a live node since the start.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated, ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.coverage import covered, names_in
from sdstop.core.evidence import Cite, Outcome
from sdstop.core.families import Providers, in_use
from sdstop.core.finding import Damage, Finding, Severity, Value
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Rows
from sdstop.core.rule import Rule
from sdstop.core.snapshot import Run, Snapshot

FORGOTTEN = 3600.0
"""Seconds for which the absence of a device is a fault: long enough for an alert, short enough after a replacement."""
SOURCE = "memory"
"""Name of the run that holds the rows; no collector has it."""


class VanishedThing(Reading, frozen=True):
    """Thing that a rule found faulty, or gone, and that is gone: one row per rule and subject, kept by the session."""

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
    left: Annotated[int, Metric("Left", "Whether the fault is that it left (1 = yes)")] = 0


class _FaultyThing(Struct, frozen=True):
    """Finding to remember: the names and roles of each of its things, and the row since one of them is gone."""

    things: tuple[frozenset[str], ...]
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
            there.update(chain.from_iterable(_roles(shot, rule).values()))
            for key in keys:
                known = self.known[key]
                missing = [names for names in known.things if names.isdisjoint(there)]
                if known.row is not None and shot.monotonic - known.row.gone > rule.forgets:
                    del self.known[key]
                elif not missing:
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
            for finding in faulty:
                known = self.known.get((rule.id, finding.subject))
                gone = tuple(map(frozenset, finding.left))
                things = gone or _things(shot, rule, finding)
                held = known is not None and (not known.finding.left or known.things == gone)
                if things and not (gone and held):
                    self.known[rule.id, finding.subject] = _FaultyThing(things, finding)


def _things(shot: Snapshot, rule: Rule, finding: Finding) -> tuple[frozenset[str], ...]:
    """Return the names and roles of the thing that a finding is about, none if it is not there."""
    inside, every = set(names_in(finding.subject)), list(covered(shot, rule.covered))
    found = next((frozenset(names()) for name, names in every if name in inside), None)
    if found is None:  # the subject has another name of the thing
        found = next((known for _, names in every if not inside.isdisjoint(known := frozenset(names()))), None)
    if found is None:
        return ()
    roles = _roles(shot, rule)
    return (found.union(*(roles[name] for name in found if name in roles)),)


def _counts(finding: Finding, rule: Rule) -> bool:
    """Return whether a thing with this finding is remembered.

    A warning counts if the absence of the thing is the fault, or if another thing can replace it.
    """
    if finding.severity is Severity.CRITICAL or finding.left:
        return finding.severity is not Severity.INFO
    return rule.roles is not None and finding.severity is Severity.WARNING and finding.damage is Damage.REDUNDANCY


def _roles(shot: Snapshot, rule: Rule) -> Mapping[str, Iterable[str]]:
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
            tables: tuple[Rows, ...] = tuple(shot.rows(each.family) for each in in_use(rule.covered))
            before, known = self._names.get(rule.id, ((), _NONE))
            if len(before) == len(tables) and all(map(operator.is_, before, tables)):
                continue
            names = frozenset([*(name for name, _ in covered(shot, rule.covered)), *_roles(shot, rule)])
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
    """Return the findings of a rule about things that it found faulty, or gone, and that are gone."""
    rows = (row for row in shot.rows(VanishedThing).values() if row.rule == rule.id) if rule.remembers else ()
    return [_gone(shot, row) for row in rows]


def _gone(shot: Snapshot, row: VanishedThing) -> Finding:
    seconds = shot.monotonic - row.gone
    severity, thing = Severity(row.severity), human.safe(row.thing, 40)
    lost = severity is Severity.CRITICAL or row.left
    return Finding(
        severity=severity,
        subject=row.subject,
        title="GONE, and not back" if row.left else "GONE, not repaired",
        cause=(
            f"{thing} left, and has not returned for {human.duration(seconds)}."
            if row.left
            else f"{thing} {_FAULTS[severity]}, and is gone."
        ),
        impact=f"Last finding: {row.fault or 'critical'}.",
        values=(
            Value("gone", "gone for", seconds, "seconds"),
            Value("before", "last finding", row.summary),
        ),
        evidence=(Cite(row.key, row.frame, row.excerpt, row.mark),) if row.key else (),
        advice=("Find the devices that failed at that time.", run("journalctl", "-k")),
        refuted_by=f"the return of {row.thing}",
        harmless_if="it was taken down on purpose",
        damage=Damage.AVAILABILITY if lost else Damage.REDUNDANCY,
    )


_FAULTS = {Severity.CRITICAL: "was critical", Severity.WARNING: "had a fault"}


def _row(known: _FaultyThing, shot: Snapshot) -> VanishedThing:
    finding = known.finding
    cite = finding.evidence[0] if finding.evidence else None
    names = frozenset[str]().union(*known.things)
    thing = next((name for name in names_in(finding.subject) if name in names), finding.subject)
    more = f" and {len(known.things) - 1} more" if len(known.things) > 1 else ""
    return VanishedThing(
        finding.rule, finding.subject, f"{thing}{more}", finding.title, finding.summary, shot.monotonic,
        cite.frame if cite is not None else shot.number, finding.severity,
        *((cite.key, cite.excerpt, cite.mark) if cite is not None else ("", "", "")), left=int(bool(finding.left)),
    )  # fmt: skip


def _is_seen(shot: Snapshot, rule: Rule, providers: Providers) -> bool:
    """Return whether the things of a rule can be seen in a snapshot, so that a missing one is gone."""
    runs = [shot.runs[name] for name in providers.of(rule.covered_names) if name in shot.runs]
    return bool(runs) and all(run.outcome in {Outcome.OK, Outcome.ABSENT} for run in runs)
