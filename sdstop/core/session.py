"""Session: diagnosis of successive frames, with access to every sample that is still kept."""

from __future__ import annotations

import copy
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core.account import not_understood
from sdstop.core.collector import Collector, commands_of
from sdstop.core.diagnosis import Diagnosis, Episode, Judgement, Superseded, judge, providers_of
from sdstop.core.evidence import Evidence, Frame, Origin, RunMark, slug
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Rule
from sdstop.core.guard import Guard
from sdstop.core.headline import Headline, headline
from sdstop.core.history import KEEP, History, Window
from sdstop.core.memory import Memory, with_vanished
from sdstop.core.policy import NO_POLICY, Policy
from sdstop.core.replay import Replay
from sdstop.core.snapshot import Snapshot

RING_SECONDS = 900.0
"""Seconds that a live session can be stepped back."""
RING_BYTES = 48 << 20
"""Maximum size of the (compressed) evidence kept by a live session, in bytes."""
RING_LOOSE = 4 << 20
"""Size in bytes above which evidence is compressed; short sessions avoid the cost."""

_WORTH_PACKING = 4096


class Timeline(Struct):
    """Frames in order; a live timeline drops the oldest ones but keeps their latest evidence as its base.

    One thread appends while others read.
    """

    seconds: float | None = None
    frames: deque[Frame] = field(default_factory=deque)
    base: dict[str, Evidence] = field(default_factory=dict)
    ran: dict[str, RunMark] = field(default_factory=dict)
    _bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def append(self, frame: Frame) -> None:
        """Add the newest frame."""
        packs = self.seconds is not None and self._bytes > RING_LOOSE
        packed = replace(frame, evidence=tuple(_pack(e) for e in frame.evidence)) if packs else frame
        with self._lock:
            self._append(frame, packed)

    def copy(self) -> Timeline:
        """Return a copy that is unaffected by new frames."""
        with self._lock:
            return Timeline(self.seconds, deque(self.frames), dict(self.base), dict(self.ran))

    def _append(self, frame: Frame, packed: Frame) -> None:
        self.frames.append(packed)
        if self.seconds is None:
            return
        self._bytes += sum(len(e.data) for e in packed.evidence)
        while len(self.frames) > 2 and (
            frame.monotonic - self.frames[0].monotonic > self.seconds or self._bytes > RING_BYTES
        ):
            oldest = self.frames.popleft()
            self._bytes -= sum(len(e.data) for e in oldest.evidence)
            self.base.update((e.key, e) for e in oldest.evidence)
            self.ran.update(oldest.ran or {})

    def recall(self, start: int, stop: int) -> list[Frame]:
        """Return frames start..stop-1; the first one contains all evidence known at that time."""
        still = self.copy()
        known, ran = still.base, still.ran
        chosen: list[Frame] = []
        for index, frame in enumerate(still.frames):
            if index >= stop:
                break
            if index <= start:
                known.update((e.key, e) for e in frame.evidence)
                ran.update(frame.ran or {})
            if index == start:
                marks = None if frame.ran is None else ran
                chosen.append(replace(frame, evidence=tuple(_unpack(e) for e in known.values()), ran=marks))
            elif index > start:
                chosen.append(still.frame(index))
        return chosen

    def frame(self, index: int) -> Frame:
        """Return a frame as it was appended."""
        kept = self.frames[index]
        return replace(kept, evidence=tuple(_unpack(e) for e in kept.evidence))


class Look(Struct, frozen=True):
    """State of the node at one frame.

    Consists of the index in the timeline, the window that ends there, its judgement by the rules, and the host.
    """

    index: int
    window: Window
    judgement: Judgement
    host: EvidenceHost

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
    ) -> None:
        """Start before the first frame; `remember` is the number of seconds of frames to keep (None: all).

        `budget` limits the seconds that a frame may take, for live views; None: every rule is checked in every frame.

        `started` and `began` are the Unix and monotonic time of the first frame; `ran_back` is the total number of
        seconds that the wall clock was set back since then.
        """
        self.origin = origin
        self.collectors = tuple(collectors)
        self.rules = tuple(rules)
        self.timeline = Timeline(remember)
        self.budget = budget
        self.guard = Guard()
        self.diagnosis = Diagnosis(rules, dict(thresholds or {}), policy, guard=self.guard)
        self.memory = Memory()
        self.started: float | None = None
        self.began = 0.0
        self.ran_back = 0.0
        self.frames_seen = 0
        self.took = 0.0
        """Seconds that the newest frame took."""
        self.listeners: list[Callable[[Look], None]] = []
        """Called with each newest state, in the thread that feeds the session."""
        self._providers = providers_of(collectors)
        self._commands = _by_slug(collectors)
        self._replay = Replay(collectors, known=origin.collectors, guard=self.guard)
        self._history = History(self._providers)
        self._head: Look | None = None
        self._back: tuple[int, Replay, History] | None = None

    def feed(self, frame: Frame) -> Look:
        """Add the next frame and evaluate the window that ends with it."""
        start = time.monotonic()
        until = None if self.budget is None else start + self.budget
        frame = self._named(frame)
        if self.started is None:
            self.started, self.began = frame.taken, frame.monotonic
        else:
            self.ran_back += max(self.timeline.frames[-1].taken - frame.taken, 0.0)
        self.frames_seen += 1
        self.timeline.append(frame)
        shot = self.memory.recalled(self._replay.feed(frame), self.rules, self._providers)
        self._history.add(shot)
        window = self._history.window(self._replay.host.evidence)
        assert window is not None  # noqa: S101  # a snapshot was added above
        judgement = self.diagnosis.add(window, until)
        self.memory.learn(shot, self.rules, self._providers, judgement.singles)
        self._head = Look(len(self.timeline.frames) - 1, window, judgement, self._replay.host)
        for listener in self.listeners:
            listener(self._head)
        self.took = time.monotonic() - start
        return self._head

    def _named(self, frame: Frame) -> Frame:
        """Replace slugs of hand-made captures by the full commands, so that users can run the cited commands."""
        if self.origin.live or not any(item.key in self._commands for item in frame.evidence):
            return frame
        evidence = (replace(item, key=self._commands.get(item.key, item.key)) for item in frame.evidence)
        return replace(frame, evidence=tuple(evidence))

    def feed_all(self, frames: Iterable[Frame]) -> None:
        """Add several frames."""
        for frame in frames:
            self.feed(frame)

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

        Raises Superseded between two frames or rules as soon as the result is `unwanted`. One thread may ask.
        """
        frames = self.timeline.frames
        last = len(frames) - 1
        index = max(0, min(index, last))
        if index == last:
            return self.head()
        replay, history = self._replayed(index, unwanted)
        self._back = frames[index].number, replay, history
        window = history.window(replay.host.evidence)
        assert window is not None  # noqa: S101  # at least one frame was recalled
        held = self.diagnosis.folded_before(frames[index].number)
        judged = self.diagnosis
        judgement = judge(window, self.rules, judged.configured, self.guard, held, unwanted, judged.policy)
        return Look(index, window, judgement, replay.host)

    def _replayed(self, index: int, unwanted: Callable[[], bool]) -> tuple[Replay, History]:
        """Replay the frames up to `index`; go on with the last replay if it ended at one of the frames needed."""
        frames = self.timeline.frames
        start = index
        while start > 0 and frames[index].monotonic - frames[start - 1].monotonic <= KEEP:
            start -= 1
        if self._back is not None:
            number, replay, history = self._back
            reached = next((at for at in range(index, start - 1, -1) if frames[at].number <= number), None)
            if reached is not None and frames[reached].number == number:
                for at in range(reached + 1, index + 1):
                    if unwanted():
                        raise Superseded
                    self._add(history, replay, self.timeline.frame(at))
                    self._back = frames[at].number, replay, history
                return replay, history
        replay = Replay(self.collectors, known=self.origin.collectors, guard=self.guard)
        history = History(self._providers, past=self._history.past)
        for frame in self.timeline.recall(start, index + 1):
            if unwanted():
                raise Superseded
            self._add(history, replay, frame)
        return replay, history

    def _add(self, history: History, replay: Replay, frame: Frame) -> None:
        history.add(with_vanished(replay.feed(frame), self.memory.at(frame.number)))

    def headline(
        self, judgement: Judgement | None = None, look: Look | None = None, *, strict: bool = False
    ) -> Headline:
        """Return the headline of a judgement, by default of that of the newest frame."""
        look = look or self.head()
        unread = not_understood(self.origin, look.now)
        return headline(
            judgement or look.judgement, look.now.runs, self.collectors, self.origin, strict=strict, unread=unread
        )

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
        return [e for e in self.diagnosis.ordered() if until is None or e.found <= until]


def _by_slug(collectors: Sequence[Collector]) -> dict[str, str]:
    """Return the keys of the commands run by collectors, by their slug keys."""
    commands = (command for command in commands_of(collectors) if "*" not in command.argv)
    return {f"slug:{slug(' '.join(command.argv))}": command.what for command in commands}


class _PackedEvidence(Evidence, frozen=True):
    """Evidence with compressed data, because old frames of a live session are rarely accessed."""


def _pack(item: Evidence) -> Evidence:
    return item if len(item.data) < _WORTH_PACKING else _copy(_PackedEvidence, item, zlib.compress(item.data, 1))


def _unpack(item: Evidence) -> Evidence:
    return _copy(Evidence, item, zlib.decompress(item.data)) if isinstance(item, _PackedEvidence) else item


def _copy(kind: type[Evidence], e: Evidence, data: bytes) -> Evidence:
    return kind(e.key, e.outcome, data, e.detail, e.taken, e.monotonic, e.duration, e.stderr, e.exit, e.fault)
