"""Known evidence: the last version of each piece of evidence at any frame of a recording.

Blocks only have changes: the evidence known before one is in older blocks of its run. Most of it is the same before
another block, so the states asked for last are kept, and only the pieces that changed since are read. Blocks are named
by their place and frames by their number `at`, as in `RecordingClock`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import RLock

from msgspec import Struct

from sdstop.core.evidence import RAN, Evidence, RunMark
from sdstop.core.open_block import OpenBlock
from sdstop.core.versions import Damaged
from sdstop.recordings.blocks import RecordedBlocks
from sdstop.recordings.clock import RecordingClock
from sdstop.recordings.database import NoRecording, Recording
from sdstop.recordings.shift import shifted_evidence, shifted_runs

_STATES = 4
"""Blocks before which the known evidence is kept; they share most of it."""
_MOST_CHANGES = 4000
"""Pieces of evidence that may have changed between two blocks to read only those."""


class KnownState(Struct, frozen=True):
    """Last versions of evidence, and the last run of each collector; None: the frame does not have its runs."""

    evidence: tuple[Evidence, ...]
    ran: Mapping[str, RunMark] | None


class StateChange(Struct, frozen=True):
    """Change between two frames: all evidence known at the second one that may differ, and the frame after it.

    `gone` are the keys of evidence, and with RAN the names of collectors, without a version at the second frame.
    """

    then: KnownState
    gone: list[str]
    coming: KnownState


class _StateBefore(Struct, frozen=True):
    """Evidence by key, and last runs by collector, that are known before a block."""

    evidence: Mapping[str, Evidence]
    ran: Mapping[str, RunMark]


class KnownEvidence:
    """Evidence known at any frame of a recording. Any thread may ask."""

    def __init__(self, recording: Recording, clock: RecordingClock, blocks: RecordedBlocks) -> None:
        """Start without states."""
        self._recording = recording
        self._clock = clock
        self._blocks = blocks
        self._states: OrderedDict[int, _StateBefore] = OrderedDict()
        """States before the blocks asked for last."""
        self._guard = RLock()

    def at(self, at: int) -> KnownState:
        """Return the evidence known at a frame: none that is older than a damaged block or one that was dropped.

        Of a block that is not read yet, only the versions of that moment are.
        """
        place = self._clock.place(at)
        within = at - self._clock.starts[place]
        before = self._before(place)
        known, marks = dict(before.evidence), dict(before.ran)
        opened = self._blocks.unread(place)
        if opened is not None and len(opened.keys) <= _MOST_CHANGES:
            shift = self._shift(place)
            try:
                newer, ran = opened.known(within), opened.last_runs(within)
            except Damaged:
                pass
            else:
                known.update((item.key, item) for item in shifted_evidence(newer, shift))
                marks.update(shifted_runs(ran, shift))
                return KnownState(tuple(known.values()), marks if opened.moments[within].noted else None)
        frames = self._blocks.frames(place)
        for frame in frames[: within + 1]:
            known.update((item.key, item) for item in frame.evidence)
            marks.update(frame.ran or {})
        noted = not frames or frames[within].ran is not None
        return KnownState(tuple(known.values()), marks if noted else None)

    def change(self, base: int, at: int) -> StateChange | None:
        """Return the change from frame `base` to frame `at`, and the evidence of the frame after it.

        All are of one run. None if a block is damaged or was dropped. Of the blocks between them
        nothing is read but which evidence changed.
        """
        begin, then, place = self._clock.place(base), self._clock.place(at), self._clock.place(at + 1)
        opened, coming = self._blocks.opened(then), self._blocks.opened(place)
        if opened is None or coming is None:
            return None
        if not all(map(self._clock.holds, (begin, then, place))):
            return None  # their changes are dropped, too
        within = at - self._clock.starts[then]
        try:
            names = self._changed(base, at, opened)
        except (Damaged, NoRecording):
            return None
        try:
            known, now = opened.around((key for key in names.values() if not key.startswith(RAN)), within)
            marks, ran = opened.last_runs(within), coming.runs(at + 1 - self._clock.starts[place])
            if place != then:
                now = coming.around((), -1)[1]
        except Damaged:
            return None
        older = [name for name, key in names.items() if not _is_known(key, known, marks)]
        earlier, earlier_marks = self._read(then, older)
        known, marks = {**earlier, **known}, {**earlier_marks, **marks}
        gone = [key for key in names.values() if not _is_known(key, known, marks)]
        shift = self._shift(then)
        return StateChange(
            _state(known.values(), marks if opened.moments[within].noted else None, shift), gone,
            _state(now.values(), ran, shift),
        )  # fmt: skip

    def _changed(self, base: int, at: int, opened: OpenBlock) -> dict[int, str]:
        """Return the names, with their keys, of the evidence that may differ between two frames of a run.

        `opened` is the block of the second one. Raises Damaged and NoRecording.
        """
        first, last = sorted((self._clock.place(base), self._clock.place(at)))
        places = self._clock.places
        earliest: OpenBlock | None = opened
        if self._clock.place(at) != first:
            begins = not first or places[first - 1].run != places[first].run  # with every piece there is
            earliest = self._blocks.opened(first) if begins else None
        if earliest is None:
            return self._recording.changed(places[first].id, places[last].id + 1)
        later = earliest.changed_after(min(base, at) - self._clock.starts[first])
        between = self._recording.changed(places[first].id + 1, places[last].id + 1)
        return {**between, **self._recording.names(later)}

    def _before(self, place: int) -> _StateBefore:
        """Return the state before a block, from the nearest state kept of its run; nothing if it was dropped."""
        with self._guard:
            if not self._clock.holds(place):
                return _StateBefore({}, {})
            run = self._clock.places[place].run
            same_run = (each for each in self._states if self._clock.places[each].run == run)
            near = min(filter(self._clock.holds, same_run), key=lambda each: abs(each - place), default=None)
            if near == place:
                state = self._states[place]
            else:
                state = (None if near is None else self._moved(near, place)) or self._shifted(place, None)
            self._states[place] = state
            self._states.move_to_end(place)
            while len(self._states) > _STATES:
                self._states.popitem(last=False)
            return state

    def _moved(self, near: int, place: int) -> _StateBefore | None:
        """Return the state before a block from that before another one of the same run; None if too much changed."""
        first, last = sorted((self._clock.places[near].id, self._clock.places[place].id))
        try:
            names = self._recording.changed(first, last)
        except NoRecording:
            return None
        if len(names) > _MOST_CHANGES:
            return None
        known, marks = dict(self._states[near].evidence), dict(self._states[near].ran)
        for key in names.values():
            known.pop(key, None)
            if key.startswith(RAN):
                marks.pop(key.removeprefix(RAN), None)
        newer = self._shifted(place, tuple(names))
        return _StateBefore({**known, **newer.evidence}, {**marks, **newer.ran})

    def _shifted(self, place: int, names: Sequence[int] | None) -> _StateBefore:
        """Return what `_read` does, in the time of the whole recording."""
        known, marks = self._read(place, names)
        shift = self._shift(place)
        if shift:
            known = {item.key: item for item in shifted_evidence(known.values(), shift)}
        return _StateBefore(known, shifted_runs(marks, shift))

    def _read(self, place: int, names: Sequence[int] | None) -> tuple[dict[str, Evidence], dict[str, RunMark]]:
        """Return evidence and runs with these names, None: all, known before a block, in the time of its run."""
        where = self._clock.places[place]
        return self._recording.known(self._recording.runs[where.run], where.id, names)

    def _shift(self, place: int) -> float:
        return self._clock.shift(self._clock.places[place].run)


def _is_known(key: str, evidence: Collection[str], ran: Collection[str]) -> bool:
    """Return whether there is evidence with a key, or, after RAN, a run of that collector."""
    return key.removeprefix(RAN) in ran if key.startswith(RAN) else key in evidence


def _state(evidence: Iterable[Evidence], ran: Mapping[str, RunMark] | None, shift: float) -> KnownState:
    return KnownState(shifted_evidence(evidence, shift), None if ran is None else shifted_runs(ran, shift))
