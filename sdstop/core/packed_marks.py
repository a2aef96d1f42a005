"""Marks of runs in a seventh of the memory, for the frames of a quarter of an hour, which have 30,000."""

from __future__ import annotations

import math
from array import array
from collections.abc import ItemsView, Iterator, Mapping
from itertools import chain

from sdstop.core.evidence import RunMark


class PackedMarks(Mapping[str, RunMark]):
    """Marks of one frame by collector; each use makes them again.

    `names` are the numbers of the collectors' names, which the frames of a timeline share; new ones are added.
    """

    __slots__ = ("_names", "_numbers", "_times")

    def __init__(self, marks: Mapping[str, RunMark], names: dict[str, int]) -> None:
        """Pack marks: two bytes for a name, and sixteen for both times."""
        times = [(m.started, math.nan if m.duration is None else m.duration) for m in marks.values()]
        self._names = names
        self._numbers = array("H", [names.setdefault(name, len(names)) for name in marks]).tobytes()
        self._times = array("d", chain.from_iterable(times)).tobytes()

    def whole(self) -> dict[str, RunMark]:
        """Return the marks."""
        times = array("d", self._times)
        return {
            name: RunMark(started, None if math.isnan(duration) else duration)
            for name, started, duration in zip(self, times[::2], times[1::2], strict=True)
        }

    def __getitem__(self, name: str) -> RunMark:
        return self.whole()[name]

    def __iter__(self) -> Iterator[str]:
        names = tuple(self._names)
        return iter([names[number] for number in array("H", self._numbers)])

    def __len__(self) -> int:
        return len(self._numbers) // 2

    def items(self) -> ItemsView[str, RunMark]:
        """Return the marks by name, made once for all."""
        return self.whole().items()
