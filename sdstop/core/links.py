"""Links of things in one direction: three arrays for all things, because a dict for each takes 232 bytes."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import overload

from sdstop.core.joins import Relation

_RELATIONS = tuple(Relation)
_NUMBERS = {relation: number for number, relation in enumerate(_RELATIONS)}


class Links(Sequence[Mapping[int, Relation]]):
    """Direct neighbors of numbered things with their relations, in order; a dict is made when it is asked for."""

    __slots__ = ("_ends", "_neighbors", "_relations")

    def __init__(self, neighbors: Sequence[Mapping[int, Relation]]) -> None:
        """Keep the neighbors of each thing."""
        self._ends = array("i", accumulate(map(len, neighbors), initial=0))
        self._neighbors = array("i", (place for each in neighbors for place in each))
        self._relations = bytes(_NUMBERS[relation] for each in neighbors for relation in each.values())

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> dict[int, Relation]: ...
    @overload
    def __getitem__(self, place: slice) -> list[dict[int, Relation]]: ...
    def __getitem__(self, place: int | slice) -> dict[int, Relation] | list[dict[int, Relation]]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        own = slice(self._ends[place], self._ends[place + 1])
        return dict(zip(self._neighbors[own], map(_RELATIONS.__getitem__, self._relations[own]), strict=True))
