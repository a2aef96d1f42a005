"""Opened timeline: all frames of a capture, which do not change."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec.structs import replace

from sdstop.core.column_series import Reprint
from sdstop.core.evidence import Evidence, Frame, RunMark
from sdstop.core.timeline import Timeline

_STRIDE = 512
"""Frames of a capture after which the known evidence is noted."""


class OpenedTimeline(Timeline):
    """All frames of an opened capture. Known evidence is noted every `_STRIDE` frames: any frame is near."""

    def __init__(self, frames: Iterable[Frame]) -> None:
        """Take frames in order."""
        super().__init__()
        self.complete = True
        self._all = list(frames)
        self.frames.extend(self._all)
        self._noted: list[tuple[dict[str, Evidence], dict[str, RunMark]]] = [({}, {})]

    def name(self, named: Callable[[Frame], Frame]) -> None:
        """Replace the keys of all frames."""
        self._all = list(map(named, self._all))
        self.frames = deque(self._all)

    def append(self, frame: Frame, reprints: Mapping[str, Reprint] | None = None) -> None:
        """Do nothing: the frame is held already."""

    def copy(self) -> Timeline:
        """Return itself: it does not change."""
        return self

    def frame(self, index: int) -> Frame:
        """Return a frame."""
        return self._all[index]

    def recall(self, start: int, stop: int) -> list[Frame]:
        """Return frames start..stop-1; the first one contains all evidence known at that time."""
        chosen = self._all[start:stop]
        if not chosen:
            return []
        known, ran = ({}, {}) if chosen[0].fresh else self._state(start)
        known.update((item.key, item) for item in chosen[0].evidence)
        ran.update(chosen[0].ran or {})
        marks = None if chosen[0].ran is None else ran
        return [replace(chosen[0], evidence=tuple(known.values()), ran=marks), *chosen[1:]]

    def _newest(
        self, keys: Collection[str], runs: Collection[str], index: int
    ) -> tuple[Mapping[str, Evidence], Mapping[str, RunMark]]:
        del keys, runs
        return self._state(index)

    def _state(self, index: int) -> tuple[dict[str, Evidence], dict[str, RunMark]]:
        with self._lock:
            while len(self._noted) <= index // _STRIDE:
                known, ran = self._noted[-1]
                begin = (len(self._noted) - 1) * _STRIDE
                self._noted.append(_after(dict(known), dict(ran), self._all[begin : begin + _STRIDE]))
            known, ran = self._noted[index // _STRIDE]
        return _after(dict(known), dict(ran), self._all[index - index % _STRIDE : index])


def _after(
    known: dict[str, Evidence], ran: dict[str, RunMark], frames: Iterable[Frame]
) -> tuple[dict[str, Evidence], dict[str, RunMark]]:
    """Return the known evidence, and the last runs of collectors, after further frames."""
    for frame in frames:
        if frame.fresh:
            known.clear()
            ran.clear()
        known.update((item.key, item) for item in frame.evidence)
        ran.update(frame.ran or {})
    return known, ran
