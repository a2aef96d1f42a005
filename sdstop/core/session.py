"""Session: diagnosis of successive frames, with access to every sample that is still kept."""

from __future__ import annotations

import copy
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.account import not_understood
from sdstop.core.change import is_due
from sdstop.core.collector import Collector
from sdstop.core.diagnosis import Diagnosis, Episode, Judgement, judge, providers_of
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, Gap, Unchecked
from sdstop.core.finding_order import in_order
from sdstop.core.guard import Guard, Superseded
from sdstop.core.headline import Headline, headline
from sdstop.core.history import KEEP, YOUNG, History, Window
from sdstop.core.memory import Memory, with_vanished
from sdstop.core.pauses import Pauses
from sdstop.core.policy import NO_POLICY, Policy
from sdstop.core.replay import Replay
from sdstop.core.rule import Rule
from sdstop.core.slugs import Slugs
from sdstop.core.snapshot import LARGE, REPLAYED, Snapshot
from sdstop.core.timeline import Timeline

SPARE = 60.0
"""Seconds that are replayed before the window after a step back: further ones are answered at once."""
AT_HAND = 15.0
"""Seconds of windows kept by a session that can be stepped back: the first steps are answered at once."""
_QUICK = 0.03
"""Seconds up to which a state is awaited; one that takes longer is preceded by a glance."""
_NEAR = 2
"""Frames that a glance may replay."""
_LOOKS = 4
"""States made ahead that are kept."""
NOT_JUDGED = "not judged yet"


class Look(Struct, frozen=True):
    """State of the node at one frame.

    Consists of the index in the timeline, the window that ends there, its judgement by the rules, and the host.
    """

    index: int
    window: Window
    judgement: Judgement
    made: Callable[[], EvidenceHost]
    """Returns the host."""
    provisional: bool = False
    """Whether the frames before the window have not been judged yet: findings may still have begun earlier."""
    is_glance: bool = False
    """Whether the rules have not judged this window yet, which may lack its older frames: its findings are those that
    are known to be active then, at their worst."""
    held: float | None = None
    """When the sample was taken that the rules judged last (monotonic seconds); None: this one."""

    @property
    def judged(self) -> float:
        """When the sample was taken that the judgement is of (monotonic seconds)."""
        return self.now.monotonic if self.held is None else self.held

    @property
    def host(self) -> EvidenceHost:
        """The evidence known at this frame."""
        return self.made()

    @property
    def now(self) -> Snapshot:
        """The snapshot at this frame."""
        return self.window.now


class Session:
    """Frames of one node, replayed as they arrive.

    One thread feeds it; others may read everything but `rules` and `diagnosis` at the same time.
    """

    def __init__(
        self,
        origin: Origin,
        collectors: Sequence[Collector],
        rules: Sequence[Rule],
        thresholds: Mapping[str, Mapping[str, float]] | None = None,
        *,
        remember: float | None = None,
        budget: float | None = None,
        policy: Policy = NO_POLICY,
        timeline: Timeline | None = None,
    ) -> None:
        """Start before the first frame; `remember` is the number of seconds of frames to keep (None: all).

        `timeline` holds all frames of an opened capture or recording, which are then fed in order; any of them can be
        shown before. `budget` limits the seconds that a frame may take, for live views; None: every rule is checked
        in every frame.

        `started` and `began` are the Unix and monotonic time of the first frame; `ran_back` is the total number of
        seconds that the wall clock was set back since then.
        """
        self.origin = origin
        self.collectors = tuple(collectors)
        self.rules = tuple(rules)
        self.timeline = timeline or Timeline(remember)
        self.budget = budget
        self.pace = 0.0
        """Seconds between two judgements, 0: every frame is judged."""
        self.guard = Guard()
        self.diagnosis = Diagnosis(rules, dict(thresholds or {}), policy, guard=self.guard)
        self.memory = Memory()
        self.started: float | None = None
        self.began = 0.0
        self.ran_back = 0.0
        self.pauses = Pauses()
        self.frames_seen = 0
        self.took = 0.0
        """Seconds that the newest frame took that did not wait for its judgement."""
        self.listeners: list[Callable[[Look], None]] = []
        """Called with each newest state, in the thread that feeds the session."""
        self._providers = providers_of(collectors)
        self._slugs = Slugs(() if origin.live else self.collectors)
        self.timeline.name(self._slugs.named)
        self._large = LARGE if origin.live else REPLAYED
        self._at_hand = 0.0 if remember == 0 else AT_HAND
        self._replay, self._history = self._begun()
        self.scouted: Sequence[Episode] = ()
        """Episodes near frames that were shown before the frames up to them were judged; active ones have no `until`,
        and `ended` is the time of the last frame judged."""
        self.scouted_times: Sequence[tuple[float, float]] = ()
        """First and last time (monotonic) between which these episodes are complete."""
        self._head: Look | None = None
        self._taken = 0.0
        self._back: tuple[Replay, History] | None = None
        self._looks: deque[Look] = deque(maxlen=_LOOKS)
        self._foreseen: Look | None = None
        self._lasted = 0.0
        """Seconds that the last state took."""

    def _begun(self) -> tuple[Replay, History]:
        """Return the state before the first frame, also of a further run: counters restart with a node."""
        replay = Replay(self.collectors, known=self.origin.collectors, guard=self.guard)
        young = YOUNG + ceil(self.pace)  # rules read all rows of the samples since they judged last
        return replay, History(self._providers, KEEP + self._at_hand, large=self._large, young=young)

    def judge_every(self, seconds: float) -> None:
        """Judge a live node at this pace, and at once what changes but numbers. Call it before the first frame."""
        self.pace = seconds
        self._replay, self._history = self._begun()

    def feed(self, frame: Frame) -> Look:
        """Add the next frame and evaluate the window that ends with it.

        A quiet frame is not evaluated: the result is that of the last one that was. The first frame always is. Between
        two judgements (`pace`) the result has the new window and the last judgement (`held`).
        """
        start = time.monotonic()
        until = None if self.budget is None else start + self.budget
        frame = self._slugs.named(frame)
        if self.started is None:
            self.started, self.began = frame.taken, frame.monotonic
        else:
            self.ran_back += max(self._taken - frame.taken, 0.0)
        if frame.fresh and self._head is not None:
            self.diagnosis.interrupted(self._head.now)
            self._replay, self._history = self._begun()
        self._taken = frame.taken
        self.pauses.add(frame)
        self.frames_seen += 1
        fed = self._replay.feed(frame)
        self.timeline.append(frame, self._replay.reprints)
        shot = self.memory.recalled(fed, self.rules, self._providers)
        self._history.add(shot)
        if frame.quiet and self._head is not None:
            self.took = time.monotonic() - start
            return self._head
        window = self._history.window_at(frame.number, KEEP, self._replay.host.evidence)
        assert window is not None  # noqa: S101  # a snapshot was added above
        head = self._head
        if head is not None and not (self.diagnosis.is_behind or is_due(head.now, head.judged, shot, self.pace)):
            return self._announced(replace(head, index=self._index, window=window, held=head.judged))
        judgement = self.diagnosis.add(window, until, unordered=frame.unordered)
        self.memory.learn(shot, self.rules, self._providers, judgement.singles)
        host = self._replay.host
        look = self._announced(Look(self._index, window, judgement, lambda: host))
        self.took = time.monotonic() - start
        return look

    def _announced(self, look: Look) -> Look:
        """Make a state the newest one."""
        self._head = look
        for listener in self.listeners:
            listener(look)
        return look

    @property
    def _index(self) -> int:
        """Index of the newest frame in the timeline."""
        return self.frames_seen - 1 if self.timeline.complete else len(self.timeline.frames) - 1

    def feed_all(self, frames: Iterable[Frame]) -> None:
        """Add several frames."""
        for frame in frames:
            self.feed(frame)

    @property
    def is_judged(self) -> bool:
        """Whether every frame held so far has been judged."""
        return not self.timeline.complete or self.frames_seen >= len(self.timeline.frames)

    @property
    def is_complete(self) -> bool:
        """Whether all of a capture or recording could be read so far."""
        return self.origin.complete and not self.timeline.faults

    def knows(self, since: float, until: float) -> bool:
        """Return whether every start and end of a finding between two times (monotonic seconds) is known."""
        judged = self._head.now.monotonic if self._head is not None else float("-inf")
        ranges = ((float("-inf"), judged), *self.scouted_times)
        return self.is_judged or any(first <= since and until <= last for first, last in ranges)

    @property
    def latest(self) -> Look | None:
        """State at the newest frame that was judged, None before the first one."""
        return self._head

    def head(self) -> Look:
        """Return the state at the newest frame that was judged. Raises LookupError before the first one."""
        if self._head is None:
            raise LookupError("no frame yet")
        return self._head

    def look(self, index: int, unwanted: Callable[[], bool] = bool) -> Look:
        """Return the state of the node at frame `index` of the timeline (0 is the oldest one kept).

        Raises Superseded between two frames, rules or groups of devices as soon as the result is `unwanted`. One thread
        may ask.
        """
        frames = self.timeline.frames
        index = max(0, min(index, len(frames) - 1))
        head = self._head
        if head is not None and self._is_newest(index, head):
            return head
        ready = self.ready(index)
        if ready is not None:
            return ready
        began = time.monotonic()
        host = cache(lambda: EvidenceHost(self.timeline.recall(index, index + 1)[0].evidence))
        window = self._window(index, lambda key: host().evidence(key), unwanted)
        held = self.diagnosis.folded_before(frames[index].number)
        judged = self.diagnosis
        judgement = judge(window, self.rules, judged.configured, self.guard, held, unwanted, judged.policy)
        self._lasted = time.monotonic() - began
        return Look(index, window, judgement, host, self._is_provisional(index))

    def prepare(self, index: int, unwanted: Callable[[], bool]) -> Look | None:
        """Return the state at a frame that is likely to be asked for next, None if it was made ahead or is beyond.

        Raises Superseded. One thread may ask.
        """
        if not 0 <= index < len(self.timeline.frames) or self.ready(index) is not None:
            return None
        look = self.look(index, unwanted)
        self._looks.append(look)
        return look

    def glance(self, index: int) -> Look | None:
        """Return a quick view of frame `index`, None if its full state is available at once.

        Readings and rates are those of the frame. Findings are those that were found before; no rule has judged it.
        """
        frames = self.timeline.frames
        index = max(0, min(index, len(frames) - 1))
        head = self._head
        is_newest = head is not None and self._is_newest(index, head)
        if is_newest or self._lasted < _QUICK or self.ready(index) is not None:
            return None
        host = cache(lambda: EvidenceHost(self.timeline.recall(index, index + 1)[0].evidence))

        def evidence(key: str) -> Evidence | None:
            return host().evidence(key)

        window = self._held(index, evidence, bool, _NEAR) or self._beginning(index, evidence)
        if window is None:
            return None
        return Look(index, window, self._expected(window), host, self._is_provisional(index), is_glance=True)

    def foresee(self, index: int) -> Look | None:
        """Make and keep the quick view of a frame that may be asked for next, None if it has none.

        The thread that asks for states calls it.
        """
        self._foreseen = self.glance(index)
        return self._foreseen

    def forget(self) -> None:
        """Drop the quick view made ahead, which may hold the samples of a minute. Any thread may ask."""
        self._foreseen = None

    def foreseen(self, index: int) -> Look | None:
        """Return the quick view of a frame if it was made ahead and no finding is new. Any thread may ask."""
        look = self._foreseen
        if look is None or look.now.number != self.timeline.frames[index].number:
            return None
        known = self._is_provisional(index), self._expected(look.window)
        return replace(look, index=index) if known == (look.provisional, look.judgement) else None

    def _is_newest(self, index: int, head: Look) -> bool:
        """Return whether the newest state is that of a frame; those of a live session that follow it are quiet."""
        return head.index == index if self.timeline.complete else index == len(self.timeline.frames) - 1

    def ready(self, index: int) -> Look | None:
        """Return the state at a frame if it was made ahead, None if not. Any thread may ask."""
        number, provisional = self.timeline.frames[index].number, self._is_provisional(index)
        found = (look for look in tuple(self._looks) if look.now.number == number and look.provisional is provisional)
        look = next(found, None)
        return None if look is None else replace(look, index=index)

    def _is_provisional(self, index: int) -> bool:
        return self.timeline.complete and index >= self.frames_seen

    def _expected(self, window: Window) -> Judgement:
        """Return the findings that are known to be active at a window's end; every rule is unchecked."""
        now, found = window.now.monotonic, list[Finding]()
        if self.knows(now, now):
            active = (e for e in self.episodes(now) if e.until is None or e.ended is None or now < e.ended)
            found = list({e.finding.id: e.finding for e in active}.values())
        unchecked = tuple(Unchecked(NOT_JUDGED, rule=rule.id, gap=Gap.EARLY) for rule in self.rules)
        return Judgement(in_order(found), (), unchecked)

    def _beginning(self, index: int, evidence: Callable[[str], Evidence | None]) -> Window | None:
        """Return a window of a frame and the one before it, from the state known last."""
        if index < 1 or self.timeline.frames[index].fresh:
            return None
        history = self._looking_back(KEEP)
        replay = self._moved(history, index)
        if replay is None:
            replay = Replay(self.collectors, known=self.origin.collectors, guard=self.guard)
            first, second = self.timeline.recall(index - 1, index + 1)
            if second.fresh:
                return None
            self._add(history, replay, first)
            self._add(history, replay, second)
        return history.window_at(self.timeline.frames[index].number, KEEP, evidence)

    def _looking_back(self, seconds: float) -> History:
        """Return an empty history of other frames of the node, which probably has the same topology there."""
        near = self._back[1] if self._back is not None else self._history
        return History(self._providers, seconds, self._history.past, self._large, near.topologies)

    def _moved(self, history: History, index: int) -> Replay | None:
        """Add the states at a frame and the one before it to an empty history, from the state known last."""
        if self._back is None:
            return None
        before, known = self._back
        moved = self.timeline.moved(known.numbers.stop - 1, index)
        if moved is None:
            return None
        replay, shot = before.moved(moved.then, moved.gone)
        history.add(with_vanished(shot, self.memory.at(moved.then.number)))
        self._add(history, replay, moved.frame)
        return replay

    def _window(self, index: int, evidence: Callable[[str], Evidence | None], unwanted: Callable[[], bool]) -> Window:
        """Return the window that ends with a frame, from the frames replayed last if they include those needed.

        More frames are replayed than one window needs: steps back are then answered at once.
        """
        window = self._held(index, evidence, unwanted)
        if window is not None:
            return window
        frames = self.timeline.frames
        number, held = frames[index].number, self._back[1].numbers if self._back is not None else range(0)
        spare = SPARE if held and held.start <= number < held.stop else self._at_hand
        history = self._looking_back(KEEP + spare)
        start = self._before(self._before(index, KEEP), spare)
        replay = self._moved(history, start + 1) if start < index else None
        if replay is None:
            replay = Replay(self.collectors, known=self.origin.collectors, guard=self.guard)
            coming = iter(self.timeline.recall(start, index + 1))
        else:
            coming = (self.timeline.single(at) for at in range(start + 2, index + 1))
        for frame in coming:
            if unwanted():
                raise Superseded
            if frame.fresh:  # after a damaged part of a recording: anything known before it may have changed
                history = self._looking_back(KEEP + spare)
                replay = Replay(self.collectors, known=self.origin.collectors, guard=self.guard)
            self._add(history, replay, frame)
        self._back = replay, history
        for look in tuple(self._looks):  # those of another place hold the samples of a minute each
            if look.now.number not in history.numbers:
                self._looks.remove(look)
        window = history.window_at(number, KEEP, evidence)
        assert window is not None  # noqa: S101  # at least one frame was recalled
        return window

    def _held(
        self, index: int, evidence: Callable[[str], Evidence | None], unwanted: Callable[[], bool], most: int = 1 << 30
    ) -> Window | None:
        """Return the window that ends with a frame from the frames replayed last, and at most `most` further ones."""
        frames = self.timeline.frames
        number = frames[index].number
        start = self._before(index, KEEP)
        if self._history.numbers.start <= frames[start].number:
            window = self._history.window_at(number, KEEP, evidence)
            if window is not None:
                return window
        if self._back is None:
            return None
        replay, history = self._back
        held = history.numbers
        if not held or held.start > frames[start].number:
            return None
        ahead = [at for at in range(start, index + 1) if frames[at].number >= held.stop]
        at = ahead[0] if ahead else 0
        if len(ahead) > most or (at and (frames[at - 1].number != held.stop - 1 or frames[at].fresh)):
            return None
        read = self.timeline.single if len(ahead) <= _NEAR else self.timeline.frame
        for at in ahead:
            if unwanted():
                raise Superseded
            frame = read(at)
            if frame.fresh:
                return None
            self._add(history, replay, frame)
        return history.window_at(number, KEEP, evidence)

    def _before(self, index: int, seconds: float) -> int:
        """Return the index of the oldest frame at most `seconds` before one."""
        frames, start = self.timeline.frames, index
        frame = newest = frames[index]
        while start > 0 and not frame.fresh:
            frame = frames[start - 1]
            if newest.monotonic - frame.monotonic > seconds:
                break
            start -= 1
        return start

    def _add(self, history: History, replay: Replay, frame: Frame) -> None:
        history.add(with_vanished(replay.feed(frame), self.memory.at(frame.number)))

    def headline(
        self, judgement: Judgement | None = None, look: Look | None = None, *, strict: bool = False
    ) -> Headline:
        """Return the headline of a judgement, by default of that of the newest frame."""
        look = look or self.head()
        unread = not_understood(self.origin, look.now)
        return headline(
            judgement or look.judgement, look.now.runs, self.collectors, self.origin, strict=strict, unread=unread,
            doubt=self.doubt(look),
        )  # fmt: skip

    def doubt(self, look: Look | None = None) -> str:
        """Return why a state, by default the newest, may be older than its moment, "" if it is not."""
        look, frames = look or self.head(), self.timeline.frames
        is_last = not frames or look.now.number == frames[-1].number
        return self.timeline.doubt(look.now.number) or (self.origin.late if is_last else "")

    def still(self) -> Session:
        """Return a copy of the current state that is unaffected by new frames, for long operations."""
        copied = copy.copy(self)
        judged = self.diagnosis
        copied.timeline = self.timeline.copy()
        copied.memory = Memory(dict(self.memory.known), list(self.memory.changes))
        copied.diagnosis = replace(
            judged, episodes=dict(judged.episodes), past=judged.past.copy(), members=dict(judged.members),
            folds=judged.folds.copy(),
        )  # fmt: skip
        copied._history, copied._back = self._history.still(), None  # noqa: SLF001  # same class
        return copied

    def remembered(self) -> Iterator[Frame]:
        """Yield the frames kept, oldest first; the first one includes all evidence known before it."""
        for index in range(len(self.timeline.frames)):
            yield from self.timeline.recall(0, 1) if index == 0 else [self.timeline.frame(index)]

    def episodes(self, until: float | None = None) -> list[Episode]:
        """Return all episodes that were found by a given time (monotonic seconds), active ones first."""
        every = self.diagnosis.ordered()
        if self.scouted and not self.is_judged:
            judged = self._head.now.monotonic if self._head is not None else float("-inf")
            every += [episode for episode in self.scouted if episode.found > judged]
        return [e for e in every if until is None or e.found <= until]
