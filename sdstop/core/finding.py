"""Finding: what a rule says is wrong, with the numbers it compared and the raw evidence it rests on."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.evidence import Cite
from sdstop.core.history import Window
from sdstop.core.model import Reading


class Severity(enum.StrEnum):
    """How bad: info is allowed to be quiet."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for info, 2 for critical."""
        return list(Severity).index(self)


class Value(Struct, frozen=True):
    """A number (or word) that a rule compared, in base units.

    `limit` is the threshold it was held against.
    """

    name: str
    title: str
    value: float | int | str | None
    unit: str = ""
    limit: float | None = None


class Finding(Struct, frozen=True, kw_only=True):
    """Something is wrong with `subject`, a stable id such as `md2`, `md2/sdc`, `eth1`.

    A rule yields its verdicts without its id, `rule`; who asks it puts that on (see `of_rule`).
    `confidence` is 0..1, None where the matter is certain. `refuted_by` says what would show the finding to
    be wrong; `explains` names findings (`rule:subject`) of which this one is the cause. `totals` is true of what
    counters said before anybody watched: what the next frames say takes its place.
    """

    severity: Severity
    subject: str
    summary: str
    values: tuple[Value, ...] = ()
    evidence: tuple[Cite, ...] = ()
    advice: tuple[str, ...] = ()
    refuted_by: str = ""
    confidence: float | None = None
    explains: tuple[str, ...] = ()
    totals: bool = False
    rule: str = ""

    @property
    def id(self) -> str:
        """`rule:subject`."""
        return f"{self.rule}:{self.subject}"


class RuledOut(Struct, frozen=True):
    """A rule looked at `subject` and found it good; the summary names the numbers."""

    subject: str
    summary: str
    rule: str = ""


class Unchecked(Struct, frozen=True):
    """A rule that applies here could not look; never shown as good. `subject` is empty for the whole node.

    `calm`: nothing is at fault, and nothing would mend it here: a capture has nothing of what the rule reads, as
    one that is older than it, or no node could see it.
    """

    reason: str
    subject: str = ""
    calm: bool = False
    rule: str = ""


Verdict = Finding | RuledOut | Unchecked
Limits = Mapping[str, float]
V = TypeVar("V", bound=Verdict)


def of_rule(verdict: V, rule: str) -> V:
    """Return a verdict with the id of the rule that it is of."""
    return replace(verdict, rule=rule)


class Threshold(Struct, frozen=True):
    """A number that config can set: `[rules.ID] name = value`."""

    name: str
    default: float
    help: str
    unit: str = ""


class Rule(Struct, frozen=True):
    """One diagnosis: a pure function over a window.

    It is asked only when each family of `needs` has an answer, and one of the first `either` of them has rows;
    `seconds` is how long a window it needs before it can speak at all (0: one frame is enough).
    """

    id: str
    says: str
    worst: Severity
    check: Callable[[Window, Limits], Iterable[Verdict]]
    needs: tuple[type[Reading], ...]
    thresholds: tuple[Threshold, ...] = ()
    seconds: float = 0.0
    either: int = 1

    def limits(self, configured: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return the thresholds by name, with what config sets."""
        return {t.name: t.default for t in self.thresholds} | dict(configured or {})


class NodeRule(Struct, frozen=True):
    """One diagnosis between nodes, which compares what each of them says. It may share its id with a rule of a node."""

    id: str
    says: str
    worst: Severity
    thresholds: tuple[Threshold, ...]

    def limits(self, configured: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return the thresholds by name, with what config sets."""
        known = {t.name: t.default for t in self.thresholds}
        return known | {name: value for name, value in (configured or {}).items() if name in known}


def cites(*found: Cite | None) -> tuple[Cite, ...]:
    """Drop the evidence that could not be quoted, and repetitions."""
    return tuple(dict.fromkeys(c for c in found if c is not None))


def worst_by_subject(findings: Iterable[Finding]) -> dict[str, Severity]:
    """Return the worst severity about each thing, by subject and by each part of it (`md2/sdc`: sdc)."""
    found: dict[str, Severity] = {}
    for finding in findings:
        for name in {finding.subject, finding.subject.rpartition("/")[2]}:
            known = found.get(name)
            if known is None or known.rank < finding.severity.rank:
                found[name] = finding.severity
    return found


def worst_of(severities: Iterable[Severity | None]) -> Severity | None:
    """Return the worst of some severities; None if there is none."""
    return max((one for one in severities if one is not None), key=lambda one: one.rank, default=None)


class OrderedFinding(Struct, frozen=True):
    """A finding in the order of causes, by its place in the given list.

    `follows` if it is listed below its cause; `severity` is that of the finding, of a cause the worst of its story.
    """

    place: int
    follows: bool
    severity: Severity


def by_cause(findings: Sequence[Finding]) -> list[OrderedFinding]:
    """Return the order in which findings are read: below each cause what it explains; else as they stand.

    A cause stands where the first of its story stood, so that a story is as bad as the worst in it.
    """
    places: dict[str, list[int]] = {}
    for place, finding in enumerate(findings):
        places.setdefault(finding.id, []).append(place)
    cause: dict[int, int] = {}
    for parent, finding in enumerate(findings):
        for child in (place for key in finding.explains for place in places.get(key, ())):
            if child != parent:
                cause.setdefault(child, parent)
    stories: dict[int, list[int]] = {}
    for place in range(len(findings)):
        stories.setdefault(_first_cause(place, cause), []).append(place)
    found = []
    for first, story in stories.items():
        worst = max((findings[place].severity for place in story), key=lambda severity: severity.rank)
        found.append(OrderedFinding(first, follows=False, severity=worst))
        rest = [place for place in story if place != first]
        while rest:  # what is explained by one of them comes after it
            ids = {key for place in rest for key in findings[place].explains}
            place = next((place for place in rest if findings[place].id not in ids), rest[0])
            rest.remove(place)
            found.append(OrderedFinding(place, follows=True, severity=findings[place].severity))
    return found


def _first_cause(place: int, cause: Mapping[int, int]) -> int:
    seen = [place]
    while seen[-1] in cause:
        if cause[seen[-1]] in seen:  # they explain each other
            return min(seen[seen.index(cause[seen[-1]]) :])
        seen.append(cause[seen[-1]])
    return seen[-1]
