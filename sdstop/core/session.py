"""Session: diagnosis of the successive frames of one node. Its states at earlier frames: sdstop.core.lookback."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil
from threading import RLock

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.account import not_understood
from sdstop.core.change import is_due
from sdstop.core.collector import Collector, providers_of
from sdstop.core.diagnosis import Diagnosis, Episode
from sdstop.core.evidence import Frame, Origin
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.guard import Guard
from sdstop.core.headline import Headline, headline
from sdstop.core.history import KEEP, YOUNG, History, Window
from sdstop.core.judgement import Judgement
from sdstop.core.known import Known
from sdstop.core.memory import Memory
from sdstop.core.pauses import Pauses
from sdstop.core.policy import NO_POLICY, Policy
from sdstop.core.replay import Replay
from sdstop.core.rule import Rule
from sdstop.core.settling import Settling
from sdstop.core.slugs import Slugs
from sdstop.core.snapshot import LARGE, REPLAYED, Snapshot
from sdstop.core.timeline import Timeline

AT_HAND = 15.0
"""Seconds of windows kept by a session that can be stepped back: the first steps are answered at once."""


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
        policy: Policy = NO_POLICY,
        timeline: Timeline | None = None,
    ) -> None:
        """Start before the first frame; `remember` is the number of seconds of frames to keep (None: all).

        `timeline` holds all frames of an opened capture or recording, which are then fed in order; any of them can be
        shown before.

        `started` and `began` are the Unix and monotonic time of the first frame; `ran_back` is the total number of
        seconds that the wall clock was set back since then.
        """
        self.origin = origin
        self.collectors = tuple(collectors)
        self.rules = tuple(rules)
        self.timeline = timeline or Timeline(remember)
        self.budget: float | None = None
        """Seconds that a frame may take, for live views; None: every rule is checked in every frame."""
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
        self.at_hand = 0.0 if remember == 0 else AT_HAND
        """Seconds that `history` keeps before the newest window."""
        self._lock = RLock()
        """Held while a frame changes the evidence and the timeline."""
        self._settling = Settling()
        self._replay, self.history = self._begun()
        self.scouted: Sequence[Episode] = ()
        """Episodes near frames that were shown before the frames up to them were judged; active ones have no `until`,
        and `ended` is the time of the last frame judged."""
        self.scouted_times: Sequence[tuple[float, float]] = ()
        """First and last time (monotonic) between which these episodes are complete."""
        self._head: Look | None = None
        self._taken = 0.0

    def _begun(self) -> tuple[Replay, History]:
        """Return the state before the first frame, also of a further run: counters restart with a node."""
        young = YOUNG + ceil(self.pace)  # rules read all rows of the samples since they judged last
        replay = self.new_replay()
        if self.timeline.seconds is not None:
            replay.host.state = Known(places=self.timeline.base.places)
        return replay, History(self._providers, KEEP + self.at_hand, large=self._large, young=young)

    def new_replay(self) -> Replay:
        """Return a replay of frames of this node, before its first one."""
        return Replay(self.collectors, known=self.origin.collectors, guard=self.guard)

    def newest_replay(self) -> tuple[int, Replay] | None:
        """Return the number of a live node's newest frame, and a copy of the replay after it; None without one.

        Any thread may ask.
        """
        with self._lock:
            if self.timeline.seconds is None or not self.timeline.frames:
                return None
            return self.timeline.frames[-1].number, self._replay.copy()

    def judge_every(self, seconds: float) -> None:
        """Judge a live node at this pace, and at once what changes but numbers. Call it before the first frame."""
        self.pace = seconds
        self._replay, self.history = self._begun()

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
            self._replay, self.history = self._begun()
        self._taken = frame.taken
        self.pauses.add(frame)
        self.frames_seen += 1
        with self._lock:
            fed = self._replay.feed(frame)
            self.timeline.append(frame, self._replay.reprints)
            self._settle(frame)
        shot = self.memory.recalled(fed, self.rules, self._providers)
        self.history.add(shot)
        if frame.quiet and self._head is not None:
            self.took = time.monotonic() - start
            return self._head
        window = self.history.window_at(frame.number, KEEP, self._replay.host.evidence)
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

    def _settle(self, frame: Frame) -> None:
        """Move evidence of a live node to buffers."""
        known = self._replay.host.state
        if isinstance(known, Known):
            self._settling.add(frame)
            self._settling.settle(frame.monotonic, known, self.timeline)

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
        copied.history = self.history.still()
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
