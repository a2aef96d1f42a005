"""Session: frames in, diagnosis out, and every moment that is still remembered can be looked at again."""

from __future__ import annotations

import copy
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core.collector import Collector, commands_of
from sdstop.core.diagnosis import Diagnosis, Episode, Judgement, judge, providers_of
from sdstop.core.evidence import Evidence, Frame, Origin, RunMark, slug
from sdstop.core.finding import Rule
from sdstop.core.history import KEEP, History, Window
from sdstop.core.replay import EvidenceHost, Replay
from sdstop.core.snapshot import Snapshot

RING_SECONDS = 900.0
"""How far a live session can be stepped back."""
RING_BYTES = 48 << 20
"""Bytes of (compressed) evidence that a live session keeps at most."""
RING_LOOSE = 4 << 20
"""Bytes from which on evidence is compressed: a short look at a node need not pay for that."""

_WORTH_PACKING = 4096


class Timeline(Struct):
    """Frames in order; a live one forgets the oldest, but what they had established stays as its base."""

    seconds: float | None = None
    frames: deque[Frame] = field(default_factory=deque)
    base: dict[str, Evidence] = field(default_factory=dict)
    ran: dict[str, RunMark] = field(default_factory=dict)
    _bytes: int = 0

    def append(self, frame: Frame) -> None:
        """Add the newest frame."""
        packs = self.seconds is not None and self._bytes > RING_LOOSE
        packed = replace(frame, evidence=tuple(_pack(e) for e in frame.evidence)) if packs else frame
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
        """Return frames start..stop-1, the first of them whole: with all evidence that was known by then."""
        known = dict(self.base)
        ran = dict(self.ran)
        chosen: list[Frame] = []
        for index, frame in enumerate(self.frames):
            if index >= stop:
                break
            if index <= start:
                known.update((e.key, e) for e in frame.evidence)
                ran.update(frame.ran or {})
            if index == start:
                marks = None if frame.ran is None else ran
                chosen.append(replace(frame, evidence=tuple(_unpack(e) for e in known.values()), ran=marks))
            elif index > start:
                chosen.append(self.frame(index))
        return chosen

    def frame(self, index: int) -> Frame:
        """Return a frame as it came."""
        kept = self.frames[index]
        return replace(kept, evidence=tuple(_unpack(e) for e in kept.evidence))


class Look(Struct, frozen=True):
    """The node at one frame.

    Its index in the timeline, the window that ends there, and what the rules say of it.
    """

    index: int
    window: Window
    judgement: Judgement
    host: EvidenceHost

    @property
    def now(self) -> Snapshot:
        """The snapshot looked at."""
        return self.window.now


class Session:
    """Frames of one node, replayed as they come."""

    def __init__(
        self,
        origin: Origin,
        collectors: Sequence[Collector],
        rules: Sequence[Rule],
        thresholds: Mapping[str, Mapping[str, float]] | None = None,
        *,
        remember: float | None = None,
    ) -> None:
        """Start before the first frame; `remember` is how many seconds of frames are kept (None: all).

        `started` is Unix time and `began` monotonic of the first frame; by `ran_back` seconds the wall clock ran
        back since, in all.
        """
        self.origin = origin
        self.collectors = tuple(collectors)
        self.rules = tuple(rules)
        self.timeline = Timeline(remember)
        self.diagnosis = Diagnosis(rules, dict(thresholds or {}))
        self.started: float | None = None
        self.began = 0.0
        self.ran_back = 0.0
        self.frames_seen = 0
        self._providers = providers_of(collectors)
        self._commands = _by_slug(collectors)
        self._replay = Replay(collectors, known=origin.collectors)
        self._history = History(self._providers)
        self._back: tuple[int, Replay, History] | None = None

    def feed(self, frame: Frame) -> Look:
        """Take over the next frame and judge the window that ends with it."""
        frame = self._named(frame)
        if self.started is None:
            self.started, self.began = frame.taken, frame.monotonic
        else:
            self.ran_back += max(self.timeline.frames[-1].taken - frame.taken, 0.0)
        self.frames_seen += 1
        self.timeline.append(frame)
        shot = self._replay.feed(frame)
        self._history.add(shot)
        window = self._history.window(self._replay.host.evidence)
        assert window is not None  # noqa: S101  # a snapshot was added the line before
        self.diagnosis.add(window)
        return self.head(window)

    def _named(self, frame: Frame) -> Frame:
        """Give commands their names, of which a hand-made capture has but slugs: a person is to type what is cited."""
        if self.origin.live or not any(item.key in self._commands for item in frame.evidence):
            return frame
        evidence = (replace(item, key=self._commands.get(item.key, item.key)) for item in frame.evidence)
        return replace(frame, evidence=tuple(evidence))

    def feed_all(self, frames: Iterable[Frame]) -> None:
        """Take over many frames."""
        for frame in frames:
            self.feed(frame)

    def head(self, window: Window | None = None) -> Look:
        """Return the newest moment; LookupError before the first frame."""
        window = window or self._history.window(self._replay.host.evidence)
        if window is None:
            raise LookupError("no frame yet")
        return Look(len(self.timeline.frames) - 1, window, self.diagnosis.now, self._replay.host)

    def look(self, index: int) -> Look:
        """Return the node as it was at the timeline's frame `index` (0 is the oldest that is remembered)."""
        frames = self.timeline.frames
        last = len(frames) - 1
        index = max(0, min(index, last))
        if index == last:
            return self.head()
        replay, history = self._replayed(index)
        self._back = frames[index].number, replay, history
        window = history.window(replay.host.evidence)
        assert window is not None  # noqa: S101  # at least one frame was recalled
        return Look(index, window, judge(window, self.rules, self.diagnosis.configured), replay.host)

    def _replayed(self, index: int) -> tuple[Replay, History]:
        """Replay what leads up to a frame; from where the last look back was, this is the frame itself or one more."""
        frames = self.timeline.frames
        if self._back is not None:
            number, replay, history = self._back
            if frames[index].number == number:
                return replay, history
            if index and frames[index - 1].number == number:
                history.add(replay.feed(self.timeline.frame(index)))
                return replay, history
        start = index
        while start > 0 and frames[index].monotonic - frames[start - 1].monotonic <= KEEP:
            start -= 1
        replay = Replay(self.collectors, known=self.origin.collectors)
        history = History(self._providers, past=self._history.past)
        for frame in self.timeline.recall(start, index + 1):
            history.add(replay.feed(frame))
        return replay, history

    def still(self) -> Session:
        """Return the session as it is now, apart from what comes: what takes long can be made of it meanwhile."""
        copied = copy.copy(self)
        known, judged = self.timeline, self.diagnosis
        copied.timeline = Timeline(known.seconds, deque(known.frames), dict(known.base), dict(known.ran))
        copied.diagnosis = replace(judged, episodes=dict(judged.episodes), past=judged.past.copy())
        copied._history, copied._back = self._history.still(), None  # noqa: SLF001  # its own kind
        return copied

    def remembered(self) -> Iterator[Frame]:
        """Yield the frames that are remembered, oldest first; the first one has what was known before it, too."""
        for index in range(len(self.timeline.frames)):
            yield from self.timeline.recall(0, 1) if index == 0 else [self.timeline.frame(index)]

    def episodes(self, until: float | None = None) -> list[Episode]:
        """Return the findings that were ever in force up to a moment (monotonic seconds), those in force first."""
        return [e for e in self.diagnosis.ordered() if until is None or e.began <= until]


def _by_slug(collectors: Sequence[Collector]) -> dict[str, str]:
    """Return the keys of the commands that collectors run, by the keys that they have as slugs."""
    commands = (command for command in commands_of(collectors) if "*" not in command.argv)
    return {f"slug:{slug(' '.join(command.argv))}": command.what for command in commands}


class _Packed(Evidence, frozen=True):
    """Evidence whose data is compressed: a live ring is seldom looked at again."""


def _pack(item: Evidence) -> Evidence:
    return item if len(item.data) < _WORTH_PACKING else _copy(_Packed, item, zlib.compress(item.data, 1))


def _unpack(item: Evidence) -> Evidence:
    return _copy(Evidence, item, zlib.decompress(item.data)) if isinstance(item, _Packed) else item


def _copy(kind: type[Evidence], e: Evidence, data: bytes) -> Evidence:
    return kind(e.key, e.outcome, data, e.detail, e.taken, e.monotonic, e.duration, e.stderr, e.exit)
