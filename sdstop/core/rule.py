"""Rule: one diagnosis, with its thresholds, the families that it needs, and the things that it covers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.families import Families, Named, family_named, name_of
from sdstop.core.finding import Damage, Finding, Severity, Verdict
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.snapshot import Snapshot

Limits = Mapping[str, float]
Check = Callable[..., Iterable[Verdict]]
"""Function of a rule over a window and its limits; a rule with `after` also gets the findings so far, a sequence."""
V = TypeVar("V", bound=Verdict)


def of_rule(verdict: V, rule: Rule | NodeRule) -> V:
    """Return a verdict with the ID of its rule set, and a finding with its rule's defaults."""
    if isinstance(verdict, Finding):
        kept = {
            "damage": rule.damage if verdict.damage is None else verdict.damage,
            "standing": rule.standing if verdict.standing is None else verdict.standing,
            "view": verdict.view or rule.view,
            "view_subject": verdict.view_subject or verdict.subject,
        }
        return replace(verdict, rule=rule.id, **kept)
    return replace(verdict, rule=rule.id)


class Threshold(Struct, frozen=True):
    """Number that can be set in the configuration: `[rules.ID] name = value`."""

    name: str
    default: float
    help: str
    unit: str = ""


class Covers(Struct, frozen=True):
    """Things to which a rule owes a verdict: those that the rows of a family describe.

    A thing counts as judged under any of its names, and under subjects that contain it (`md2/sdc` for md2 and sdc).
    `subject` is a template of another subject to be judged, such as `vol:{volume}`, or `memory` for all rows together.
    `where` selects rows.
    """

    family: type[Reading]
    subject: str = ""
    where: Callable[[Any], bool] | None = None


if TYPE_CHECKING:
    CoveredThings = Sequence[Covers]
    """Things of a declaration."""
else:

    class CoveredThings(Named):
        """Things of a declaration in an index, by the families whose rows describe them."""

        __slots__ = ()
        element = Covers
        field = "family"


class Rule(Struct, frozen=True):
    """One diagnosis: a pure function over a window.

    The rule is evaluated only if each family in `needs` has a result and one of the first `either` of them has rows; or
    if a family in `instead` has rows, and they let it judge something. `seconds` is the minimum length of the window
    (0: one frame is enough). It owes a verdict to each thing that it `covers`, by default those of the first `either`
    families in `needs`. With `remembers`, a thing that it found critical stays so when it vanishes (see
    sdstop.core.memory), for `forgets` seconds. `roles` returns the roles of a thing by its name: another thing in one
    of them replaces the one that vanished, so that a warning of lost redundancy is remembered, too. Its findings
    explain those of the rules in `explains` about the same thing and about things that need it. A rule with `after`,
    IDs of other rules, is evaluated after all rules without; `check` then has a third argument, the findings of these
    rules so far.
    A fold of many of its findings has the words `many`; if the fault is `inherent` in each thing, the fold has no steps
    about the thing that they share.
    `damage`, `standing` and `view` hold for those of its findings that do not state their own. `advice` is the first
    thing to do about any of its findings, for those who see only its rule and its subject (`{subject}` in the text).
    """

    id: str
    says: str
    worst: Severity
    check: Check
    needs: Families
    thresholds: tuple[Threshold, ...] = ()
    seconds: float = 0.0
    either: int = 1
    instead: Families = ()
    covers: CoveredThings | None = None
    remembers: bool = False
    forgets: float = math.inf
    roles: Callable[[Snapshot], Mapping[str, Iterable[str]]] | None = None
    explains: tuple[str, ...] = ()
    after: frozenset[str] = frozenset()
    many: str = ""
    inherent: bool = False
    damage: Damage = Damage.SPEED
    standing: bool = False
    view: str = ""
    advice: str = ""

    @property
    def covered(self) -> CoveredThings:
        """The things to which the rule owes a verdict."""
        if self.covers is not None:
            return self.covers
        if isinstance(self.needs, Named):
            return _rows_named(tuple(self.needs.names[: self.either]))
        return _rows_of(tuple(self.needs[: self.either]))

    @property
    def covered_names(self) -> Sequence[str]:
        """The names of the families of these things."""
        covered = self.covered
        return covered.names if isinstance(covered, Named) else [name_of(each.family) for each in covered]

    def verdicts(self, window: Window, limits: Limits, findings: Sequence[Finding]) -> Iterable[Verdict]:
        """Evaluate the rule; `findings` are those of the rules evaluated before it."""
        if self.after:
            earlier = tuple(finding for finding in findings if finding.rule in self.after)
            return self.check(window, limits, earlier)
        return self.check(window, limits)

    def limits(self, configured: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return the thresholds by name, overridden by the configured values."""
        return {t.name: t.default for t in self.thresholds} | dict(configured or {})


@cache
def _rows_of(families: tuple[type[Reading], ...]) -> tuple[Covers, ...]:
    return tuple(map(Covers, families))


@cache
def _rows_named(names: tuple[str, ...]) -> CoveredThings:
    found: CoveredThings = Named(names, names, _rows_of_family)  # type: ignore[assignment]
    return found


def _rows_of_family(name: str) -> Covers:
    return Covers(family_named(name))


SiteCheck = Callable[[Any, Limits], Iterable[Verdict]]
"""Function over a sdstop.core.site.Site, which is made of judgements and thus of findings."""


class NodeRule(Struct, frozen=True):
    """One diagnosis across nodes, which compares or joins their data. It may share its ID with a rule for single nodes.

    `check` is a pure function over a site, and `needs` are the families that it joins: it is evaluated if at least two
    nodes have rows of one of them, for every moment at which captures overlap. A `timeless` rule compares properties
    that captures of different times show alike, once.
    """

    id: str
    says: str
    worst: Severity
    thresholds: tuple[Threshold, ...]
    damage: Damage = Damage.SPEED
    standing: bool = True
    view: str = ""
    check: SiteCheck | None = None
    needs: Families = ()
    timeless: bool = False

    def limits(self, configured: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return the thresholds by name, overridden by the configured values."""
        known = {t.name: t.default for t in self.thresholds}
        return known | {name: value for name, value in (configured or {}).items() if name in known}
