"""Diagnosis: the findings of successive windows of one node, with the start and end of each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core.finding import Finding, Value
from sdstop.core.finding_order import by_cause, in_order, urgency
from sdstop.core.folding import Folds, folds_of
from sdstop.core.guard import Guard
from sdstop.core.history import Window
from sdstop.core.inapplicable import Inapplicable
from sdstop.core.judgement import Judge, Judgement, RuleResult
from sdstop.core.policy import NO_POLICY, Policy
from sdstop.core.rule import Rule
from sdstop.core.snapshot import Snapshot

BRIDGE = 10.0
"""Longest gap, in seconds, after which a recurring finding still belongs to the same episode."""
PAST = 1000
"""Maximum number of ended episodes kept for findings that recurred."""


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
    _kept: tuple[Policy, Inapplicable[RuleResult]] | None = None

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
        judge = Judge(self.rules, self.configured, self.policy, self.guard, kept)
        if until is None:
            pause = self.pause

            def unwanted() -> bool:
                if pause is not None:
                    pause()
                return False

            return judge.judge(window, held, unwanted)
        judgement, following = judge.judge_until(until, window, held, self.now, self._first)
        self.is_behind, self._first = following is not None, following or 0
        return judgement

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
