"""Policy: rules switched off, thresholds of single things, other severities, and accepted findings.

    [rules.numa-remote-hba]
    enabled = false

    [rules.link-saturated]
    severity = "info"
    subjects = {"backup*" = {share = 0.99}}

    [[accept]]
    rule = "dimm-too-few-channels"
    subject = "memory"
    reason = "modules ordered, ticket 4711"
    until = 2026-12-31
    severity = "critical"

Patterns of subjects are also compared with the other names of the thing: `wwn-0x5000c500f140395c` is the disk that is
called sda until the next boot, and `md0/wwn-*` is about the members of md0 whatever they are called.

An accepted finding stays visible as one that is accepted; it is information until the date, unless it gets worse than
the severity, and raises no alarm. So are the findings that follow from it, unless the harm that they report is worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.evidence import dated
from sdstop.core.finding import Accepted, Damage, Finding, RuledOut, Severity, Unchecked, Verdict
from sdstop.core.finding_order import by_cause
from sdstop.core.joins import Naming

if TYPE_CHECKING:  # a sampler, which never judges, is forked with the policy
    from sdstop.core.history import Window
    from sdstop.core.rule import NodeRule, Rule
    from sdstop.core.topology import Topology

OFF = "switched off by the configuration"
"""Reason why a rule was not checked."""
Numbers = Mapping[str, float]
Names = Callable[[str], Sequence[str]]
"""Returns all names of a subject, itself first."""


def alone(subject: str) -> tuple[str, ...]:
    """Return a subject as the only one of its names, without a topology."""
    return (subject,)


def names_in(topology: Topology) -> Names:
    """Return the names of subjects in a topology: of `md0/sdc` also `md0/wwn-0x5000c500f140395c`.

    Numbers (MAJOR:MINOR) are not names; they mean another device after the next boot.
    """

    @cache
    def names(subject: str) -> Sequence[str]:
        named = topology.subject(subject)
        if named is None:
            return (subject,)
        before, thing = named
        known = [name for naming, name in thing.names if naming is not Naming.NUMBER]
        short = [name.rpartition("/")[2] for name in known if name.startswith("disk/by-")]
        return (subject, *dict.fromkeys(f"{before}{name}" for name in (*known, *short)))

    return names


def matches(pattern: str, names: Iterable[str]) -> bool:
    """Return whether a pattern is one of these names, or matches one."""
    return any(name == pattern or fnmatchcase(name, pattern) for name in names)


class RulePolicy(Struct, frozen=True):
    """Settings of one rule: whether it is checked, the severity of its warnings and critical findings if not its own.

    `subjects` are thresholds by pattern of subjects; the first pattern that matches counts.
    """

    enabled: bool = True
    severity: Severity | None = None
    subjects: Mapping[str, Numbers] = {}

    def group(self, names: Sequence[str]) -> str | None:
        """Return the pattern whose thresholds hold for a subject with these names, None for those of the rule."""
        return next((pattern for pattern in self.subjects if matches(pattern, names)), None)


class Acceptance(Struct, frozen=True):
    """Findings to accept: patterns of rule and subject, the reason, and its end (Unix seconds).

    One that gets worse than `severity` is no longer accepted; None: however bad it is.
    """

    reason: str
    rule: str = "*"
    subject: str = "*"
    until: float | None = None
    severity: Severity | None = None

    def covers(self, finding: Finding, taken: float, names: Names = alone) -> bool:
        """Return whether it holds for a finding at a time; one that ends holds for no undated capture."""
        if self.until is not None and not (dated(taken) and taken < self.until):
            return False
        if self.severity is not None and finding.severity.rank > self.severity.rank:
            return False
        if not fnmatchcase(finding.rule, self.rule):
            return False
        members = [member.subject for member in finding.members]
        return matches(self.subject, names(finding.subject)) or (
            bool(members) and all(matches(self.subject, names(each)) for each in members)
        )


class Policy(Struct, frozen=True):
    """Settings by rule, and the accepted findings; an empty one changes nothing."""

    rules: Mapping[str, RulePolicy] = {}
    accepted: tuple[Acceptance, ...] = ()

    def is_off(self, rule: Rule | NodeRule) -> bool:
        """Return whether a rule is switched off."""
        return rule.id in self.rules and not self.rules[rule.id].enabled

    def verdicts(
        self, rule: Rule, window: Window, configured: Numbers | None, findings: Sequence[Finding]
    ) -> Iterable[Verdict]:
        """Evaluate a rule, once for each group of subjects with thresholds of its own."""
        own = self.rules.get(rule.id)
        names = names_in(window.topology) if own is not None and own.subjects else alone
        return self.grouped(
            rule.id, configured, lambda given: rule.verdicts(window, rule.limits(given), findings), names
        )

    def grouped(
        self,
        rule: str,
        configured: Numbers | None,
        judged: Callable[[Numbers | None], Iterable[Verdict]],
        names: Names = alone,
    ) -> Iterable[Verdict]:
        """Evaluate a rule as configured, once for each group of subjects with thresholds of its own."""
        own = self.rules.get(rule)
        return judged(configured) if own is None or not own.subjects else _grouped(own, configured, judged, names)

    def applied(self, findings: Sequence[Finding], taken: float, names: Names = alone) -> list[Finding]:
        """Return the findings with the severities of the policy, at a time (Unix seconds); accepted ones as such."""
        if not self.rules and not self.accepted:
            return list(findings)
        return with_consequences([self.of(finding, taken, names) for finding in findings])

    def of(self, finding: Finding, taken: float, names: Names = alone) -> Finding:
        """Return a finding with the severity of the policy at a time (Unix seconds), and whether it is accepted."""
        severed = self._severed(finding)
        by = self._acceptance(severed, taken, names)
        return severed if by is None else _accepted(severed, by)

    def _severed(self, finding: Finding) -> Finding:
        own = self.rules.get(finding.rule)
        if own is None or own.severity is None or finding.severity is Severity.INFO:
            return finding
        return replace(finding, severity=own.severity, members=tuple(map(self._severed, finding.members)))

    def _acceptance(self, finding: Finding, taken: float, names: Names) -> Acceptance | None:
        """Return the acceptance of a finding that lasts longest, None without one."""
        if finding.severity is Severity.INFO:
            return None
        found = [each for each in self.accepted if each.covers(finding, taken, names)]
        return max(found, key=lambda each: inf if each.until is None else each.until, default=None)


NO_POLICY = Policy()


def agreed(policies: Sequence[Policy]) -> Policy:
    """Return the settings of rules and the acceptances that the policies of all nodes share."""
    first, *others = policies or [NO_POLICY]
    rules = {rule: own for rule, own in first.rules.items() if all(each.rules.get(rule) == own for each in others)}
    return Policy(rules, tuple(one for one in first.accepted if all(one in each.accepted for each in others)))


def with_consequences(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings, of which those that follow from an accepted one are accepted, unless the harm is worse."""
    found = list(findings)
    if all(finding.accepted is None for finding in found):
        return found
    cause: Finding | None = None
    for led in by_cause(findings):
        finding = findings[led.place]
        if not led.follows:
            cause = finding
        elif cause is not None and cause.accepted is not None and _is_consequence(finding, cause):
            reason = f"follows from {cause.rule} {cause.subject}"
            found[led.place] = _accepted(finding, Acceptance(reason, until=cause.accepted.until))
    return found


def _grouped(
    own: RulePolicy, configured: Numbers | None, judged: Callable[[Numbers | None], Iterable[Verdict]], names: Names
) -> Iterator[Verdict]:
    for pattern in (None, *own.subjects):
        numbers = {**(configured or {}), **(own.subjects[pattern] if pattern is not None else {})}
        for verdict in judged(numbers):
            yield from _of_group(verdict, own, pattern, names)


def _of_group(verdict: Verdict, own: RulePolicy, pattern: str | None, names: Names) -> Iterator[Verdict]:
    """Yield the part of a verdict about the subjects of a group; one about the whole node belongs to the rule's own."""
    if isinstance(verdict, Finding) or not verdict.subjects:
        if own.group(names(verdict.subject)) == pattern or (not verdict.subject and pattern is None):
            yield verdict
        return
    first, *others = [subject for subject in verdict.subjects if own.group(names(subject)) == pattern] or [""]
    if first and isinstance(verdict, RuledOut | Unchecked):
        yield replace(verdict, subject=first, others=tuple(others))


def _is_consequence(finding: Finding, cause: Finding) -> bool:
    """Return whether a finding is an alarm that does no more harm than its accepted cause, in kind and severity."""
    if finding.severity is Severity.INFO or cause.accepted is None:
        return False
    ranks = [(each.damage or Damage.HYGIENE).rank for each in (finding, cause)]
    return ranks[0] >= ranks[1] and finding.severity.rank <= cause.accepted.severity.rank


def _accepted(finding: Finding, by: Acceptance) -> Finding:
    members = tuple(_accepted(member, by) for member in finding.members)
    note = Accepted(by.reason, by.until, finding.severity)
    return replace(finding, severity=Severity.INFO, accepted=note, members=members)
