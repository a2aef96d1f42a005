"""Changes of findings: gone, new, worse or better, each with the verdict of the other side."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from sdstop.analysis.comparison.sides import ComparedSide, renamed
from sdstop.core.diagnosis import Episode
from sdstop.core.finding import Finding, RuledOut, Unchecked, Value
from sdstop.core.finding_order import urgency

TELLING = 1.5
"""Multiple from which a number of a finding, a rate or a latency counts as changed."""

_NOISE = {"ratio": 0.05, "seconds": 0.0005}
"""Difference of a number of a finding that does not count, by unit."""


class FindingChange(enum.StrEnum):
    """Change of a finding, in the order in which changes are reported."""

    NEW = "new"
    """Only B has it, and A passed the check."""
    UNSEEN = "first seen"
    """Only B has it, and A did not check."""
    WORSE = "worse"
    GONE = "gone"
    """Only A has it, and B passed the check."""
    LEFT = "removed"
    """Only A has it, and its thing is not in B."""
    UNPROVED = "unknown"
    """Only A has it, and B did not check: it may still be there."""
    OVER = "over"
    """Active at the end of A, and over before the end of B."""
    BETTER = "better"
    """Less severe."""
    CHANGED = "changed"
    """Other numbers."""


BAD = frozenset({FindingChange.NEW, FindingChange.UNSEEN, FindingChange.WORSE})


class ValueChange(Struct, frozen=True):
    """Number of a finding on both sides, in base units; `of` and `limit` are those of side B."""

    title: str
    unit: str
    before: float | int | str | None
    after: float | int | str | None


class ChangedFinding(Struct, frozen=True):
    """A finding that changed; `why` is the verdict of the side that does not have it, or what makes it different.

    `before` and `after` are the findings of A and B.
    """

    change: FindingChange
    before: Finding | None
    after: Finding | None
    why: str = ""
    values: tuple[ValueChange, ...] = ()

    @property
    def finding(self) -> Finding:
        """The finding of B, or else that of A."""
        found = self.after or self.before
        assert found is not None  # noqa: S101  # one of both is always there
        return found


def finding_changes(
    a: ComparedSide, b: ComparedSide, names: Mapping[str, str]
) -> tuple[list[ChangedFinding], list[Finding]]:
    """Return the findings that changed, the most important first, and those of B that did not.

    `names` are devices that have another name in B.
    """
    left, right = _by_id(a.episodes, names), _by_id(b.episodes)
    pairs = {key: key for key in left if key in right}
    for key, episode in left.items():  # a fold on one side may be its members on the other
        if key not in pairs:
            near = (each for each in _ids(episode, names) if each in right and each not in pairs.values())
            found = next(near, None) or next(
                (other for other, each in right.items() if other not in pairs.values() and key in _ids(each)), None
            )
            if found is not None:
                pairs[key] = found
    changes, same = [], []
    for key, other in pairs.items():
        change = _compared(left[key], right[other])
        if change is None:
            same.append(right[other].finding)
        else:
            changes.append(change)
    joined = set(pairs.values())
    changes += [_lost(each.finding, b, names) for key, each in left.items() if key not in pairs]
    back = {new: old for old, new in names.items()}
    changes += [_found(each.finding, a, back) for key, each in right.items() if key not in joined]
    order = list(FindingChange)
    changes.sort(key=lambda each: (order.index(each.change), urgency(each.finding)))
    return changes, same


_Id = tuple[str, str]


def _by_id(episodes: Iterable[Episode], names: Mapping[str, str] | None = None) -> dict[_Id, Episode]:
    """Return the episodes by rule and subject: of several with one, the active or else the newest one."""
    found: dict[_Id, Episode] = {}
    for each in episodes:
        key = (each.finding.rule, renamed(each.finding.subject, names or {}))
        known = found.get(key)
        if known is None or (known.ended is not None and (each.ended is None or each.ended > known.ended)):
            found[key] = each
    return found


def _ids(episode: Episode, names: Mapping[str, str] | None = None) -> Iterator[_Id]:
    """Yield the rule with each subject of a folded finding."""
    finding = episode.finding
    return ((finding.rule, renamed(subject, names or {})) for subject in finding.subjects)


def _compared(before: Episode, after: Episode) -> ChangedFinding | None:
    """Return the change of a finding that both sides have, None for none."""
    one, other = before.finding, after.finding
    values = tuple(value_changes(one.values, other.values))
    steps = other.severity.rank - one.severity.rank
    if steps:
        what = FindingChange.WORSE if steps > 0 else FindingChange.BETTER
        why = f"{one.severity.value} in A, {other.severity.value} in B"
        if other.accepted is not None and one.accepted is None:
            why += ", accepted in B"
        return ChangedFinding(what, one, other, why, values)
    if before.ended is None and after.ended is not None:
        why = "active at the end of A, over before the end of B"
        return ChangedFinding(FindingChange.OVER, one, other, why, values)
    if before.ended is not None and after.ended is None:
        why = "over before the end of A, active at the end of B"
        return ChangedFinding(FindingChange.WORSE, one, other, why, values)
    return ChangedFinding(FindingChange.CHANGED, one, other, "", values) if values else None


def value_changes(before: Sequence[Value], after: Sequence[Value]) -> Iterator[ValueChange]:
    """Yield the values that differ; numbers by at least half of the smaller one."""
    known = {value.stable: value for value in before}
    for value in after:
        old = known.get(value.stable)
        if old is not None and differs(old.value, value.value, value.unit):
            yield ValueChange(value.title, value.unit, old.value, value.value)


def differs(before: object, after: object, unit: str = "") -> bool:
    """Return whether two values differ, numbers by TELLING; nothing differs from an unknown value."""
    if before is None or after is None:
        return False
    if isinstance(before, int | float) and isinstance(after, int | float):
        low, high = sorted((abs(before), abs(after)))
        enough = abs(after - before) > _NOISE.get(unit, 0.0)
        return enough and (before * after < 0 or low * TELLING <= high)
    return before != after


def _lost(finding: Finding, b: ComparedSide, names: Mapping[str, str]) -> ChangedFinding:
    """Return the change of a finding that only A has."""
    known, why, there = _other_verdict(finding, b, names, "B")
    if not known:
        return ChangedFinding(FindingChange.UNPROVED, finding, None, why)
    return ChangedFinding(FindingChange.GONE if there else FindingChange.LEFT, finding, None, why)


def _found(finding: Finding, a: ComparedSide, names: Mapping[str, str]) -> ChangedFinding:
    """Return the change of a finding that only B has."""
    known, why, _ = _other_verdict(finding, a, names, "A")
    return ChangedFinding(FindingChange.NEW if known else FindingChange.UNSEEN, None, finding, why)


class _OtherVerdict(NamedTuple):
    """The verdict of a side that lacks a finding: whether one is known, its reason, and whether the thing is there."""

    known: bool
    why: str
    there: bool = True


def _other_verdict(finding: Finding, side: ComparedSide, names: Mapping[str, str], place: str) -> _OtherVerdict:
    """Return the verdict of a side (`place`: A or B) about the things of a finding of the other one."""
    subjects = [renamed(subject, names) for subject in finding.subjects]
    verdict = _verdict(side, finding.rule, subjects)
    if isinstance(verdict, RuledOut):
        return _OtherVerdict(known=True, why=f"{place}: {verdict.summary}")
    if isinstance(verdict, Unchecked):
        return _OtherVerdict(known=False, why=f"not checked in {place}: {verdict.reason}")
    if finding.rule in side.judgement.ran and not any(_is_there(side, subject) for subject in subjects):
        return _OtherVerdict(known=True, why=f"not in {place}: {subjects[0]}", there=False)
    if _has_none(side, finding.rule):
        return _OtherVerdict(known=True, why=f"{place} has nothing that it could be about", there=False)
    return _OtherVerdict(known=False, why=f"not checked in {place}: {_unjudged(side, finding.rule)}")


def _unjudged(side: ComparedSide, rule: str) -> str:
    return "no verdict on it" if rule in side.judgement.ran else "not recorded"


def _has_none(side: ComparedSide, rule: str) -> bool:
    """Return whether a rule had nothing to judge although all of its sources were recorded."""
    needs = next((each.needs for each in side.session.rules if each.id == rule), ())
    return bool(needs) and rule not in side.judgement.ran and not any(map(side.lacking, needs))


def _verdict(side: ComparedSide, rule: str, subjects: Sequence[str]) -> RuledOut | Unchecked | None:
    """Return the verdict of a rule on things: of several, that it did not check one of them."""
    judged = side.judgement
    every: list[RuledOut | Unchecked] = [*judged.unchecked, *judged.ruled_out]
    verdicts = [each for each in every if each.rule == rule]
    wanted = set(subjects)
    exact = [each for each in verdicts if wanted & set(each.subjects)]
    parts = {part for subject in subjects for part in _parts(subject)}
    near = [each for each in verdicts if any(parts & _parts(subject) for subject in each.subjects)]
    whole = [each for each in verdicts if not each.subjects]
    return next(iter((*exact, *near, *whole)), None)


def _parts(subject: str) -> set[str]:
    return {subject.removeprefix("vol:"), *subject.split("/")}


def _is_there(side: ComparedSide, subject: str) -> bool:
    thing = side.window.topology.find(subject)
    return thing is not None and bool(thing.kinds)
