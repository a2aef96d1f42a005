"""Judgement: evaluation of all rules on one window. Findings over time: sdstop.core.diagnosis."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core.coverage import not_recorded, settled, without_source
from sdstop.core.evidence import Outcome
from sdstop.core.families import family_named, in_use, is_imported, names_of
from sdstop.core.finding import Finding, Gap, RuledOut, Unchecked, Verdict, with_members
from sdstop.core.finding_order import in_order
from sdstop.core.folding import Folds, folded
from sdstop.core.guard import Guard, Part, check_wanted, given_up_if
from sdstop.core.history import Window
from sdstop.core.inapplicable import Inapplicable
from sdstop.core.memory import gone_findings
from sdstop.core.placement import placed, qualified
from sdstop.core.policy import NO_POLICY, OFF, Policy, names_in
from sdstop.core.remarks import with_remarks
from sdstop.core.rule import Rule, of_rule

T = TypeVar("T")

_BADNESS = (Outcome.TIMEOUT, Outcome.FAILED, Outcome.UNREAD, Outcome.DENIED)
"""Outcomes of a source without which a rule cannot run, the worst first."""
_UNCONCERNED = Unchecked("not applicable", calm=True)
_UNSEEN = frozenset({_UNCONCERNED.gap, Gap.UNRECORDED})
"""Gaps of rules about things that the node lacks, or of which it has no record."""
_NO_TIME = Unchecked("no time in this frame", gap=Gap.EARLY)


class Judgement(Struct, frozen=True):
    """Results of all rules for one window: findings worst first, each cause followed by the findings it explains.

    Findings about most of the things that share another one are folded (see sdstop.core.folding). `ran` lists the IDs
    of the rules that had data to check.
    """

    findings: tuple[Finding, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    ran: tuple[str, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether anything was judged, good or bad."""
        return bool(self.findings or self.ruled_out)

    @property
    def every(self) -> tuple[Finding, ...]:
        """The findings, and the members of the folded ones."""
        return tuple(with_members(self.findings))

    @property
    def singles(self) -> tuple[Finding, ...]:
        """The findings as the rules made them."""
        return tuple(finding for finding in self.every if not finding.members)


class RuleResult(Struct, frozen=True):
    """Verdicts of one rule, its critical things that are gone, and its ID if it had data to check."""

    verdicts: Sequence[Verdict] = ()
    gone: Sequence[Finding] = ()
    ran: str | None = None

    @property
    def findings(self) -> list[Finding]:
        """The findings: things that are gone first."""
        return [*self.gone, *(verdict for verdict in self.verdicts if isinstance(verdict, Finding))]


class Judge(Struct, frozen=True):
    """Rules with all that their evaluation depends on beside the window: thresholds, policy, and errors so far.

    Rules without data yield Unchecked with the reason. A thing that a rule found critical and that is gone is a finding
    of that rule, even if it cannot run. A rule that raises an exception is unchecked; `guard` counts it. The `policy`
    changes thresholds and severities.
    """

    rules: Sequence[Rule]
    configured: Mapping[str, Mapping[str, float]]
    """Thresholds that differ from their default, by the ID of the rule and by name."""
    policy: Policy = NO_POLICY
    guard: Guard = field(default_factory=Guard)
    kept: Inapplicable[RuleResult] | None = None
    """Results that hold as long as their sources do not change. They have followed the windows of one session up to
    the one that is judged."""

    def judge(self, window: Window, held: Folds = frozenset(), unwanted: Callable[[], bool] = bool) -> Judgement:
        """Evaluate every applicable rule. `held` are the folded findings of the frame before.

        Raises Superseded as soon as the judgement is `unwanted` and a rule ends, or a long one has judged one of its
        groups.
        """
        ordered, checked, findings = self._in_order(), list[RuleResult](), list[Finding]()
        with given_up_if(unwanted):
            for rule in ordered:
                check_wanted()
                one = self.kept.of(rule) if self.kept is not None else None
                if one is None:  # a result that is kept has no findings
                    one = self._checked(window, rule, findings)
                    findings += one.findings
                checked.append(one)
        return self._combined(window, ordered, checked, held)

    def judge_until(
        self, until: float, window: Window, held: Folds, before: Judgement, first: int
    ) -> tuple[Judgement, int | None]:
        """Evaluate rules in turn, from the place `first` on; start none after `until`, except the first.

        `until` is in seconds of time.monotonic. Rules not reached are unchecked and have their findings of the
        judgement `before`. Returns the place of the first of them as well, None if all were evaluated.
        """
        rules, found, following = self._in_order(), dict[int, RuleResult](), None
        for at in (*range(first, len(rules)), *range(first)):
            if found and time.monotonic() >= until:
                following = at
                break
            rule, findings = rules[at], list[Finding]()
            if rule.after:
                done = {rules[each].id for each in found}
                findings = [f for each in found.values() for f in each.findings]
                findings += [f for f in before.singles if f.rule not in done]
            found[at] = self._checked(window, rule, findings)
        for at, rule in enumerate(rules):
            if at not in found:
                found[at] = self._unreached(window, rule, before)
        return self._combined(window, rules, [found[at] for at in range(len(rules))], held), following

    def _in_order(self) -> list[Rule]:
        """Return the rules, those that need the findings of others last."""
        return sorted(self.rules, key=lambda rule: bool(rule.after))

    def _checked(self, window: Window, rule: Rule, findings: Sequence[Finding]) -> RuleResult:
        """Return the verdicts of a rule, none if it does not apply here; `findings` are those of other rules."""
        known = self.kept.of(rule) if self.kept is not None else None
        if known is not None:
            return known
        return self._guarded(window, rule, lambda: self._verdicts(window, rule, findings))

    def _verdicts(self, window: Window, rule: Rule, findings: Sequence[Finding]) -> RuleResult:
        """Return the verdicts of a rule if it has data or a substitute for it, otherwise why it was not checked."""
        missing = _missing(window, rule)
        replaced = missing is not None and any(window.rows(family) for family in in_use(rule.instead))
        verdicts: Sequence[Verdict] = ()
        if self.policy.is_off(rule) and (missing is None or missing.gap not in _UNSEEN):
            return RuleResult((Unchecked(OFF, rule=rule.id, calm=True),))
        if missing is None or replaced:
            found = self.policy.verdicts(rule, window, self.configured.get(rule.id), findings)
            verdicts = settled(window, rule, found)
        judged = any(not isinstance(verdict, Unchecked) for verdict in verdicts)
        if missing is None or judged:
            return RuleResult(verdicts, ran=rule.id if judged or not verdicts else None)
        bare = missing.gap in _UNSEEN and tuple(of_rule(each, rule) for each in without_source(window, rule))
        # What other readings show and do not prove is still a reason not to call the node good.
        doubted = [each for each in verdicts if isinstance(each, Unchecked) and each.gap is Gap.FAULTY]
        doubted = doubted if missing.gap is not Gap.FAULTY else []
        result = RuleResult(bare or (verdicts if missing is _UNCONCERNED else (of_rule(missing, rule), *doubted)))
        if self.kept is not None and not (bare or replaced or rule.remembers or missing.gap is Gap.EARLY):
            self.kept.keep(window, rule, result)
        return result

    def _unreached(self, window: Window, rule: Rule, before: Judgement) -> RuleResult:
        """Return the verdict of a rule that the time limit of this frame excluded, and its findings of the last."""

        def check() -> RuleResult:
            missing = _missing(window, rule)
            if missing is _UNCONCERNED:
                return RuleResult()
            gone = {finding.subject for finding in gone_findings(window.now, rule)}
            kept = [f for f in before.singles if f.rule == rule.id and missing is None and f.subject not in gone]
            return RuleResult((*kept, of_rule(missing or _NO_TIME, rule)))

        return self._guarded(window, rule, check)

    def _guarded(self, window: Window, rule: Rule, check: Callable[[], RuleResult]) -> RuleResult:
        """Return the result of a rule, unchecked if it raises an exception, with its things that are gone."""

        def helpless(said: str) -> RuleResult:
            return RuleResult((Unchecked(f"error in this rule: {said}", rule=rule.id, gap=Gap.FAULTY),))

        gone = tuple(of_rule(finding, rule) for finding in gone_findings(window.now, rule)) if rule.remembers else ()
        checked = self.guard.call(Part.RULE, rule.id, check, helpless)
        return _with_gone(checked, gone) if gone else checked

    def _combined(self, window: Window, rules: Sequence[Rule], checked: Sequence[RuleResult], held: Folds) -> Judgement:
        """Return the results of all rules as one judgement."""
        verdicts = [verdict for each in checked for verdict in each.verdicts]
        ruled_out = [verdict for verdict in verdicts if isinstance(verdict, RuledOut)]
        unchecked = tuple(verdict for verdict in verdicts if isinstance(verdict, Unchecked))
        findings = in_order(self._presented([f for each in checked for f in each.findings], window, rules, held))
        if findings and ruled_out:
            topology = window.topology
            ruled_out = self._step("placement", ruled_out, lambda good: qualified(good, findings, topology, rules))
        ran = tuple(each.ran for each in checked if each.ran is not None)
        return Judgement(findings, tuple(ruled_out), unchecked, ran)

    def _presented(self, findings: list[Finding], window: Window, rules: Sequence[Rule], held: Folds) -> list[Finding]:
        """Return findings with their places, folded, with remarks, and as the policy has them."""
        if not findings:
            return findings
        topology = window.topology
        findings = self._step("placement", findings, lambda found: placed(found, topology, rules))
        findings = self._step("folding", findings, lambda found: folded(found, topology, rules, held))
        findings = self._step("remarks", findings, lambda found: with_remarks(found, window, rules))
        return self.policy.applied(findings, window.now.taken, names_in(topology))

    def _step(self, name: str, verdicts: T, step: Callable[[T], T]) -> T:
        """Return changed verdicts, unchanged ones if the step raises an exception."""
        return self.guard.call(Part.RULE, name, lambda: step(verdicts), lambda _: verdicts)


def judge(
    window: Window,
    rules: Sequence[Rule],
    configured: Mapping[str, Mapping[str, float]],
    guard: Guard | None = None,
    held: Folds = frozenset(),
    unwanted: Callable[[], bool] = bool,
    policy: Policy = NO_POLICY,
) -> Judgement:
    """Evaluate every applicable rule on a window by itself, see Judge. Raises Superseded."""
    return Judge(rules, configured, policy, guard or Guard()).judge(window, held, unwanted)


def _with_gone(checked: RuleResult, gone: Sequence[Finding]) -> RuleResult:
    """Return a result with the things that are gone; of two findings about one thing the worse one counts."""
    told = {v.subject: v.severity.rank for v in checked.verdicts if isinstance(v, Finding)}
    left = {each.subject: each for each in gone if each.severity.rank > told.get(each.subject, -1)}
    rest = [v for v in checked.verdicts if not (isinstance(v, Finding) and v.subject in left)]
    return replace(checked, verdicts=rest, gone=tuple(left.values()))


def _missing(window: Window, rule: Rule) -> Unchecked | None:
    """Return None if the rule can run, `_UNCONCERNED` if it does not apply here, otherwise the reason it cannot run."""
    by_family, known_runs = window.now.by_family, window.now.runs
    for needed in names_of(rule.needs):
        family = family_named(needed) if is_imported(needed) else None
        known = family in by_family
        if known and family is not None and (not family.joined or window.rows(family)):
            continue
        names = tuple(window.providers.of((needed,)))
        runs = [known_runs[name] for name in names if name in known_runs]
        bad = [run for run in runs if run.outcome in _BADNESS]
        if known and not bad:
            continue  # no rows of a joined family is a valid result unless one of its sources failed
        if len(runs) < len(names):
            return Unchecked(f"waiting for {' and '.join(names)}", gap=Gap.EARLY)
        if bad:
            run = min(bad, key=lambda run: _BADNESS.index(run.outcome))
            gap = Gap.DENIED if run.outcome is Outcome.DENIED else Gap.FAULTY
            return Unchecked(f"{run.collector}: {run.outcome.value}, {run.reason}", gap=gap)
        if any(run.ok for run in runs):
            return Unchecked("collecting data: needs two samples", gap=Gap.EARLY)
        lacking = [run for run in runs if not run.recorded]
        asked = [run for run in runs if run.is_live]
        if not lacking or (asked and all(run.recorded for run in asked)):
            return _UNCONCERNED  # a text about something that the node lacks is not expected
        why = not_recorded(lacking[0]) if asked else "needs recorded output, and there is none"
        return Unchecked(f"{lacking[0].collector}: {why}", calm=True, gap=Gap.UNRECORDED)
    if rule.needs and not any(window.rows(family) for family in in_use(rule.needs, rule.either)):
        return _UNCONCERNED
    if rule.seconds and window.seconds + 0.5 < rule.seconds:
        return Unchecked(f"collecting data: {max(window.seconds, 0.0):.0f} of {rule.seconds:g} s", gap=Gap.EARLY)
    return None
