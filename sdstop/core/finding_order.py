"""Order of findings: what matters most first, consequences below their cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush

from msgspec import Struct

from sdstop.core.finding import Damage, Finding, Severity

Urgency = tuple[int, int, bool, bool, float, float, str, str]


def urgency(finding: Finding, ids: AbstractSet[str] = frozenset()) -> Urgency:
    """Return the sort key of a finding, smallest first.

    Severity, kind of damage, incidents before standing conditions, findings that explain others (`ids`), cost,
    confidence; then the names, so that the order is stable.
    """
    return (
        -finding.severity.rank,
        (finding.damage or Damage.HYGIENE).rank,
        bool(finding.standing),
        ids.isdisjoint(finding.explains),
        -finding.cost,
        -1.0 if finding.confidence is None else -finding.confidence,
        finding.rule,
        finding.subject,
    )


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings worst first, each cause followed by the findings it explains."""
    ids = {finding.id for finding in findings}
    ordered = sorted(findings, key=lambda finding: urgency(finding, ids))
    return tuple(ordered[led.place] for led in by_cause(ordered))


class OrderedFinding(Struct, frozen=True):
    """Position of a finding in a cause-ordered list, as an index into the original list.

    `follows` is true if the finding is listed below its cause; `severity` is its own, or for a cause the worst of its
    group.
    """

    place: int
    follows: bool
    severity: Severity


def by_cause(findings: Sequence[Finding]) -> list[OrderedFinding]:
    """Return findings in display order: each cause is followed by the findings it explains.

    Otherwise the order is kept. A cause moves to the position of the first finding of its group, so that groups are
    ordered by their worst finding.
    """
    if not any(finding.explains for finding in findings):  # each is a group of its own
        return [OrderedFinding(place, follows=False, severity=each.severity) for place, each in enumerate(findings)]
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
        if len(story) == 1:
            found.append(OrderedFinding(first, follows=False, severity=findings[first].severity))
            continue
        worst = max((findings[place].severity for place in story), key=lambda severity: severity.rank)
        found.append(OrderedFinding(first, follows=False, severity=worst))
        rest = [place for place in story if place != first]
        found += [
            OrderedFinding(place, follows=True, severity=findings[place].severity)
            for place in _explained_last(rest, findings)
        ]
    return found


def _explained_last(places: Sequence[int], findings: Sequence[Finding]) -> Iterator[int]:
    """Yield places in order, but a finding that another one explains after it; circles are broken at the first."""
    causes = Counter(key for place in places for key in set(findings[place].explains))
    held: dict[str, list[int]] = {}
    for place in places:
        held.setdefault(findings[place].id, []).append(place)
    ready = [place for place in places if not causes[findings[place].id]]
    heapify(ready)
    left, done = iter(places), set[int]()
    while len(done) < len(places):
        place = heappop(ready) if ready else next(place for place in left if place not in done)
        if place in done:
            continue
        done.add(place)
        yield place
        for key in set(findings[place].explains):
            causes[key] -= 1
            if not causes[key]:
                for freed in held.get(key, ()):
                    heappush(ready, freed)


def _first_cause(place: int, cause: Mapping[int, int]) -> int:
    seen = [place]
    while seen[-1] in cause:
        if cause[seen[-1]] in seen:  # they explain each other
            return min(seen[seen.index(cause[seen[-1]]) :])
        seen.append(cause[seen[-1]])
    return seen[-1]
