"""A story with altered evidence: only the collectors that read it run again.

A collector is a function of the evidence that it asks its host for (`Run.keys`). The runs of all other collectors are
therefore those of the unaltered story, which is replayed once (`test_damage` compares both ways).
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector, commands_of, providers_of
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, RunMark, slug
from sdstop.core.evidence_host import TREE
from sdstop.core.headline import Headline, headline
from sdstop.core.history import History, Window
from sdstop.core.judgement import Judgement, judge
from sdstop.core.replay import Replay
from sdstop.core.retention import Retention
from sdstop.core.snapshot import Run, Snapshot
from sdstop.rules import RULES
from tests.fixtures import opened

Change = Callable[[Evidence], Evidence | None]
"""Function of a piece of evidence; None: it was not recorded."""

_COMMANDS = {
    f"slug:{slug(' '.join(command.argv))}": command.what for command in commands_of(BUILTIN) if "*" not in command.argv
}
_PROVIDERS = providers_of(BUILTIN)


def changed(frames: Sequence[Frame], key: str, change: Change) -> list[Frame]:
    """Return frames in which each state of a piece of evidence is changed, or left out."""
    return [
        replace(frame, evidence=tuple(
            made for item in frame.evidence if (made := change(item) if item.key == key else item) is not None
        )) if any(item.key == key for item in frame.evidence) else frame
        for frame in frames
    ]  # fmt: skip


class Unaltered:
    """A story as it was recorded: its frames with commands under their full names, and their snapshots."""

    def __init__(self, origin: Origin, frames: Sequence[Frame]) -> None:
        """Replay the frames."""
        self.origin = origin
        self.frames = tuple(replace(frame, evidence=tuple(map(_named, frame.evidence))) for frame in frames)
        replay = Replay(BUILTIN, known=origin.collectors)
        self.shots = [replay.feed(frame) for frame in self.frames]
        self.state = dict(replay.host.state)
        self.keys: dict[str, AbstractSet[str]] = {}
        """Evidence that each collector asked for in any frame."""
        for collector in BUILTIN:
            runs = (shot.runs.get(collector.name) for shot in self.shots)
            self.keys[collector.name] = frozenset[str]().union(*(run.keys for run in runs if run is not None))

    def readable(self) -> list[str]:
        """Return the keys of the evidence that could be read."""
        every = (item for frame in self.frames for item in frame.evidence if item.outcome is Outcome.OK)
        return sorted({item.key for item in every})

    def readers(self, key: str) -> list[Collector]:
        """Return the collectors that read a piece of evidence; of a link, all that depend on which paths there are."""
        asked = {key, TREE} if key.startswith("link:") else {key}
        return [collector for collector in BUILTIN if not asked.isdisjoint(self.keys[collector.name])]

    def snapshots(self, frames: Sequence[Frame], again: Sequence[Collector]) -> Iterator[tuple[Snapshot, Replay]]:
        """Yield the snapshots of altered frames, in which only some collectors run again."""
        replay = _Partial(self, again)
        for frame, shot in zip(frames, self.shots, strict=True):
            replay.unaltered = shot.runs
            yield replay.feed(frame), replay

    def windows(self, frames: Sequence[Frame], again: Sequence[Collector]) -> Iterator[Window]:
        """Yield the windows that end at each of some altered frames."""
        history = History(_PROVIDERS)
        for shot, replay in self.snapshots(frames, again):
            history.add(shot)
            window = history.window(replay.host.evidence)
            assert window is not None
            yield window

    def unseen(self, key: str, change: Change) -> bool:
        """Return whether a source has no usable data at the end if a piece of evidence is changed.

        No headline is OK then, so that nothing need be judged.
        """
        again = self.readers(key)
        if not again:
            return False
        last, _ = deque(self.snapshots(changed(self.frames, key, change), again), maxlen=1).pop()
        return bool(headline(Judgement(), last.runs, BUILTIN, self.origin).unseen)

    def headline(self, key: str, change: Change) -> Headline:
        """Return the headline at the end if a piece of evidence is changed."""
        window = deque(self.windows(changed(self.frames, key, change), self.readers(key)), maxlen=1).pop()
        return headline(judge(window, RULES, {}), window.now.runs, BUILTIN, self.origin)


class _Partial(Replay):
    """Replay that takes the runs of most collectors from a replay of the unaltered frames."""

    def __init__(self, story: Unaltered, again: Sequence[Collector]) -> None:
        super().__init__(BUILTIN, known=story.origin.collectors)
        self.unaltered = story.shots[0].runs
        self._again = {collector.name for collector in again}

    def _run(
        self, collector: Collector, frame: Frame, mark: RunMark, before: Run | None, *, concerned: bool,
        first: bool = False,
    ) -> Run:  # fmt: skip
        if collector.name in self._again:
            return super()._run(collector, frame, mark, before, concerned=concerned, first=first)
        return self.unaltered[collector.name]


@functools.cache
def unaltered(story: str) -> Unaltered:
    """Return a story of fixtures/."""
    origin, frames = opened(story)
    return Unaltered(origin, Retention(BUILTIN).frames(frames))


def _named(item: Evidence) -> Evidence:
    return replace(item, key=_COMMANDS[item.key]) if item.key in _COMMANDS else item
