"""Diagnosis: evaluation of all rules on a window, and the start and end of each finding."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core.collector import Collector
from sdstop.core.coverage import not_recorded, settled, without_source
from sdstop.core.evidence import Outcome
from sdstop.core.families import Providers, family_named, in_use, is_imported, names_of
from sdstop.core.finding import Finding, Gap, RuledOut, Unchecked, Value, Verdict, with_members
from sdstop.core.finding_order import by_cause, in_order, urgency
from sdstop.core.folding import Folds, folded, folds_of
from sdstop.core.guard import Guard, Part, check_wanted, given_up_if
from sdstop.core.history import Window
from sdstop.core.inapplicable import Inapplicable
from sdstop.core.memory import gone_findings
from sdstop.core.placement import placed, qualified
from sdstop.core.policy import NO_POLICY, OFF, Policy, names_in
from sdstop.core.remarks import with_remarks
from sdstop.core.rule import Rule, of_rule
from sdstop.core.snapshot import Snapshot

BRIDGE = 10.0
"""Longest gap, in seconds, after which a recurring finding still belongs to the same episode."""
PAST = 1000
"""Maximum number of ended episodes kept for findings that recurred."""


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


class Episode(Struct, frozen=True, gc=False):
    """A finding with its time span; `until` and `ended` are None while it is active.

    `since` and `until` are Unix seconds, for display; `began`, `ended`, `found` (when it was reported first) and `seen`
    (when it was last active) are monotonic seconds, used to measure spans because the wall clock can be set back. It
    began when the samples showed the fault first, which some rules report later (`Finding.lasting`). `finding` is the
    state at its worst, in frame `frame`; of an active folded one it is the newest of those as severe, and `largest` the
    one with the most members.
    """

    finding: Finding
    since: float
    until: float | None = None
    began: float = 0.0
    ended: float | None = None
    seen: float = 0.0
    frame: int = 0
    found: float = 0.0
    largest: tuple[Finding, int] | None = None
    """The finding, and its frame."""

    def lasted(self, now: float) -> float:
        """Return how many seconds the finding has been active at a given time (monotonic seconds)."""
        return max((now if self.ended is None else self.ended) - self.began, 0.0)


def judge(
    window: Window,
    rules: Sequence[Rule],
    configured: Mapping[str, Mapping[str, float]],
    guard: Guard | None = None,
    held: Folds = frozenset(),
    unwanted: Callable[[], bool] = bool,
    policy: Policy = NO_POLICY,
    kept: Inapplicable[_RuleResult] | None = None,
) -> Judgement:
    """Evaluate every applicable rule; rules without data yield Unchecked with the reason.

    A thing that a rule found critical and that is gone is a finding of that rule, even if it cannot run. A rule that
    raises an exception is unchecked; `guard` counts it. `held` are the folded findings of the frame before. Raises
    Superseded as soon as the judgement is `unwanted` and a rule ends, or a long one has judged one of its groups. The
    `policy` changes thresholds and severities.
    `kept` has followed the windows of one session up to this one.
    """
    guard = guard or Guard()
    ordered, checked, findings = _in_order(rules), list[_RuleResult](), list[Finding]()
    with given_up_if(unwanted):
        for rule in ordered:
            check_wanted()
            one = kept.of(rule) if kept is not None else None
            if one is None:  # a result that is kept has no findings
                one = _checked(window, rule, configured, guard, findings, policy, kept)
                findings += _findings((one,))
            checked.append(one)
    return _judgement(window, ordered, checked, guard, held, policy)


def _in_order(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules, those that need the findings of others last."""
    return sorted(rules, key=lambda rule: bool(rule.after))


class _RuleResult(Struct, frozen=True):
    """Verdicts of one rule, its critical things that are gone, and its ID if it had data to check."""

    verdicts: Sequence[Verdict] = ()
    gone: Sequence[Finding] = ()
    ran: str | None = None


def _findings(checked: Iterable[_RuleResult]) -> list[Finding]:
    return [v for each in checked for v in (*each.gone, *each.verdicts) if isinstance(v, Finding)]


def _checked(
    window: Window,
    rule: Rule,
    configured: Mapping[str, Mapping[str, float]],
    guard: Guard,
    findings: Sequence[Finding],
    policy: Policy,
    kept: Inapplicable[_RuleResult] | None,
) -> _RuleResult:
    """Return the verdicts of a rule, none if it does not apply here; `findings` are those of other rules."""
    known = kept.of(rule) if kept is not None else None
    if known is not None:
        return known

    def check() -> _RuleResult:
        missing = _missing(window, rule)
        replaced = missing is not None and any(window.rows(family) for family in in_use(rule.instead))
        verdicts: Sequence[Verdict] = ()
        if policy.is_off(rule) and (missing is None or missing.gap not in _UNSEEN):
            return _RuleResult((Unchecked(OFF, rule=rule.id, calm=True),))
        if missing is None or replaced:
            found = policy.verdicts(rule, window, configured.get(rule.id), findings)
            verdicts = settled(window, rule, found)
        judged = any(not isinstance(verdict, Unchecked) for verdict in verdicts)
        if missing is not None and not judged:
            bare = missing.gap in _UNSEEN and tuple(of_rule(each, rule) for each in without_source(window, rule))
            # What other readings show and do not prove is still a reason not to call the node good.
            doubted = [each for each in verdicts if isinstance(each, Unchecked) and each.gap is Gap.FAULTY]
            doubted = doubted if missing.gap is not Gap.FAULTY else []
            result = _RuleResult(bare or (verdicts if missing is _UNCONCERNED else (of_rule(missing, rule), *doubted)))
            if kept is not None and not (bare or replaced or rule.remembers or missing.gap is Gap.EARLY):
                kept.keep(window, rule, result)
            return result
        return _RuleResult(verdicts, ran=rule.id if judged or not verdicts else None)

    return _guarded(window, rule, check, guard)


def _unreached(window: Window, rule: Rule, before: Judgement, guard: Guard) -> _RuleResult:
    """Return the verdict of a rule that the time limit of this frame excluded, and its findings of the last frame."""

    def check() -> _RuleResult:
        missing = _missing(window, rule)
        if missing is _UNCONCERNED:
            return _RuleResult()
        gone = {finding.subject for finding in gone_findings(window.now, rule)}
        kept = [f for f in before.singles if f.rule == rule.id and missing is None and f.subject not in gone]
        return _RuleResult((*kept, of_rule(missing or _NO_TIME, rule)))

    return _guarded(window, rule, check, guard)


def _guarded(window: Window, rule: Rule, check: Callable[[], _RuleResult], guard: Guard) -> _RuleResult:
    def helpless(said: str) -> _RuleResult:
        return _RuleResult((Unchecked(f"error in this rule: {said}", rule=rule.id, gap=Gap.FAULTY),))

    gone = tuple(of_rule(finding, rule) for finding in gone_findings(window.now, rule)) if rule.remembers else ()
    checked = guard.call(Part.RULE, rule.id, check, helpless)
    return _with_gone(checked, gone) if gone else checked


def _with_gone(checked: _RuleResult, gone: Sequence[Finding]) -> _RuleResult:
    """Return a result with the things that are gone; of two findings about one thing the worse one counts."""
    told = {v.subject: v.severity.rank for v in checked.verdicts if isinstance(v, Finding)}
    left = {each.subject: each for each in gone if each.severity.rank > told.get(each.subject, -1)}
    rest = [v for v in checked.verdicts if not (isinstance(v, Finding) and v.subject in left)]
    return replace(checked, verdicts=rest, gone=tuple(left.values()))


def _judgement(
    window: Window, rules: Sequence[Rule], checked: Sequence[_RuleResult], guard: Guard, held: Folds, policy: Policy
) -> Judgement:
    """Return the verdicts of all rules as one judgement."""
    findings = _findings(checked)
    ruled_out: list[RuledOut] = []
    unchecked: list[Unchecked] = []
    ran: list[str] = []
    for of_one in checked:
        ran += [of_one.ran] if of_one.ran is not None else []
        for verdict in of_one.verdicts:
            if isinstance(verdict, RuledOut):
                ruled_out.append(verdict)
            elif isinstance(verdict, Unchecked):
                unchecked.append(verdict)
    if findings:
        found, topology = findings, window.topology
        placed_ = guard.call(Part.RULE, "placement", lambda: placed(found, topology, rules), lambda _: found)
        found_ = guard.call(Part.RULE, "folding", lambda: folded(placed_, topology, rules, held), lambda _: placed_)
        findings = guard.call(Part.RULE, "remarks", lambda: with_remarks(found_, window, rules), lambda _: found_)
        findings = policy.applied(findings, window.now.taken, names_in(window.topology))
    told = in_order(findings)
    if told and ruled_out:
        good, topology = ruled_out, window.topology
        ruled_out = guard.call(
            Part.RULE, "placement", lambda: qualified(good, told, topology, rules), lambda _: good
        )  # fmt: skip
    return Judgement(told, tuple(ruled_out), tuple(unchecked), tuple(ran))


_BADNESS = (Outcome.TIMEOUT, Outcome.FAILED, Outcome.UNREAD, Outcome.DENIED)
_UNCONCERNED = Unchecked("not applicable", calm=True)
_UNSEEN = frozenset({_UNCONCERNED.gap, Gap.UNRECORDED})
_NO_TIME = Unchecked("no time in this frame", gap=Gap.EARLY)


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


class Diagnosis(Struct):
    """Findings over time: the active ones and all episodes so far.

    With a time limit, rules take turns: those not reached in a frame are
    evaluated first in the next one. Until then they are unchecked and keep their last findings. `members` are the
    episodes of findings that are folded now; `folds` are the folded findings from a frame on.
    """

    rules: Sequence[Rule]
    configured: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    policy: Policy = NO_POLICY
    now: Judgement = field(default_factory=Judgement)
    episodes: dict[str, Episode] = field(default_factory=dict)
    past: deque[Episode] = field(default_factory=lambda: deque(maxlen=PAST))
    members: dict[str, Episode] = field(default_factory=dict)
    folds: deque[tuple[int, Folds]] = field(default_factory=lambda: deque(maxlen=PAST))
    guard: Guard = field(default_factory=Guard)
    is_behind: bool = False
    """Whether the last judgement lacks rules that its time limit excluded."""
    pause: Callable[[], object] | None = None
    """Called before each rule; it may wait for something more urgent."""
    _first: int = 0
    _kept: tuple[Policy, Inapplicable[_RuleResult]] | None = None

    def add(self, window: Window, until: float | None = None, *, unordered: bool = False) -> Judgement:
        """Evaluate a window that ends one frame later than the previous one.

        No rule is started after `until` (seconds of time.monotonic), except the first. An `unordered` frame ends no
        finding: it may be the older one.
        """
        before = self.now.findings if unordered else ()
        self.now = self._judge(window, until)
        taken, now = window.now.taken, window.now.monotonic
        folds = folds_of(self.now.findings)
        if folds != self.folded_before(window.now.number):
            self.folds.append((window.now.number, folds))
        inside = {member.id: member for finding in self.now.findings for member in finding.members}
        current = {finding.id for finding in self.now.findings}
        stay = tuple(finding for finding in before if finding.id not in current | inside.keys())
        self.episodes |= {key: episode for key, episode in self.members.items() if key in current}
        self.members = {
            key: self._continued(member, self.members.get(key) or self.episodes.pop(key, None), window)
            for key, member in inside.items()
        }
        for finding in self.now.findings:
            episode = self._continued(finding, self.episodes.get(finding.id), window)
            if finding.members:
                first = min((self.members[member.id] for member in finding.members), key=lambda e: e.began)
                if first.began < episode.began:
                    episode = replace(episode, since=first.since, began=first.began, found=first.found)
            self.episodes[finding.id] = episode
        if stay:
            kept = {(finding.rule, finding.subject) for finding in stay}
            good = [v for v in self.now.ruled_out if not any((v.rule, subject) in kept for subject in v.subjects)]
            self.now = replace(self.now, findings=in_order([*self.now.findings, *stay]), ruled_out=tuple(good))
        current |= {finding.id for finding in stay}
        active = current | inside.keys()
        for key, episode in list(self.episodes.items()):
            if episode.until is not None or key in current:
                continue
            finding = episode.finding
            moved = finding.members and all(member.id in active for member in finding.members)
            # Based on totals from before sampling started, not confirmed since; or its members are in other findings.
            if finding.totals or moved:
                del self.episodes[key]
            else:
                finding, frame = episode.largest or (finding, episode.frame)
                self.episodes[key] = replace(episode, finding=finding, frame=frame, until=taken, ended=now)
        return self.now

    def interrupted(self, last: Snapshot) -> None:
        """End the active episodes at the last snapshot before a gap; those that recur soon go on."""
        for known in (self.episodes, self.members):
            for key, episode in list(known.items()):
                if episode.until is None and episode.finding.totals:
                    del known[key]
                elif episode.until is None:
                    finding, frame = episode.largest or (episode.finding, episode.frame)
                    known[key] = replace(episode, finding=finding, frame=frame, until=last.taken, ended=last.monotonic)

    def _continued(self, finding: Finding, known: Episode | None, window: Window) -> Episode:
        """Return the episode of an active finding: the known one, or another if that ended too long ago."""
        taken, now = window.now.taken, window.now.monotonic
        # Active in two successive frames: the same episode, regardless of the time between them.
        if known is None or (known.until is not None and now - known.seen > BRIDGE):
            if known is not None:
                self.past.append(known)
            ago = finding.lasting
            return Episode(finding, taken - ago, None, now - ago, None, now, window.now.number, now)
        kept = replace(known, until=None, ended=None, seen=now)
        if finding.severity.rank >= known.finding.severity.rank or known.finding.totals:
            kept = replace(kept, finding=finding, frame=window.now.number)
        return _with_largest(kept, known) if finding.members else kept

    def folded_before(self, number: int) -> Folds:
        """Return the folds of the frame before the one with this number."""
        return next((folds for since, folds in reversed(tuple(self.folds)) if since < number), frozenset())

    def _judge(self, window: Window, until: float | None) -> Judgement:
        if not self.rules:  # a check judges its last window alone
            return Judgement()
        held = self.folded_before(window.now.number)
        if self._kept is None or self._kept[0] is not self.policy:
            self._kept = self.policy, Inapplicable()
        kept = self._kept[1]
        kept.follow(window)
        if until is None:
            pause = self.pause

            def unwanted() -> bool:
                if pause is not None:
                    pause()
                return False

            return judge(window, self.rules, self.configured, self.guard, held, unwanted, self.policy, kept)
        rules, found = _in_order(self.rules), dict[int, _RuleResult]()
        start, self._first = self._first, 0
        for at in (*range(start, len(rules)), *range(start)):
            if found and time.monotonic() >= until:
                self._first = at
                break
            rule, findings = rules[at], list[Finding]()
            if rule.after:
                done = {rules[each].id for each in found}
                findings = [*_findings(found.values()), *(f for f in self.now.singles if f.rule not in done)]
            found[at] = _checked(window, rule, self.configured, self.guard, findings, self.policy, kept)
        late = [at for at in range(len(rules)) if at not in found]
        self.is_behind = bool(late)
        found |= {at: _unreached(window, rules[at], self.now, self.guard) for at in late}
        return _judgement(window, rules, [found[at] for at in range(len(rules))], self.guard, held, self.policy)

    def ordered(self) -> list[Episode]:
        """Return all episodes, active ones first, each part ordered as in a judgement: worst first, causes first."""
        every = [*self.episodes.values(), *self.past]
        found: list[Episode] = []
        for part in ([e for e in every if e.until is None], [e for e in every if e.until is not None]):
            ids = {e.finding.id for e in part}
            part.sort(key=lambda e: (*urgency(e.finding, ids), e.began))
            found += [part[led.place] for led in by_cause([e.finding for e in part])]
        return found


def _with_largest(episode: Episode, before: Episode) -> Episode:
    """Return the episode of a folded finding with its largest one so far, which the newest one names if it differs."""
    finding, frame = episode.finding, episode.frame
    largest = before.largest or (before.finding, before.frame)
    if largest[0].severity.rank < finding.severity.rank or len(finding.members) >= len(largest[0].members):
        return replace(episode, largest=(finding, frame))
    most = Value("most", "most affected at the same time", len(largest[0].members))
    values = (*(value for value in finding.values if value.name != most.name), most)
    return replace(episode, finding=replace(finding, values=values), largest=largest)


def providers_of(collectors: Sequence[Collector]) -> Providers:
    """Return the names of the collectors that produce each family."""
    found: dict[str, tuple[str, ...]] = {}
    for collector in collectors:
        for family in collector.family_names:
            found[family] = (*found.get(family, ()), collector.name)
    return Providers(found)
