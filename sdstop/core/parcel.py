"""Parcel: pieces of evidence as bytes, half the size of the objects, from the read until they are sent.

The first round of 1000 disks reads 42 000 pieces. As objects they take memory that Python seldom returns: other objects
among them stay.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, overload

from sdstop.core.evidence import Evidence, Outcome

TOGETHER = 3000
"""Maximum number of pieces in a parcel: 300 KB, which go back to the system when they are freed."""
_OUTCOMES = tuple(Outcome)
_NUMBERS = {outcome: number for number, outcome in enumerate(_OUTCOMES)}
Row = tuple[Any, ...]
"""A piece as marshal can store it."""


def rows_of(pieces: Iterable[Evidence]) -> list[Row]:
    """Return pieces as rows."""
    return [
        (e.key, _NUMBERS[e.outcome], e.data, e.detail, e.taken, e.monotonic, e.duration, e.stderr, e.exit)
        for e in pieces
    ]


def pieces_of(rows: Iterable[Row]) -> Iterator[Evidence]:
    """Yield the pieces of rows."""
    same: dict[bytes, bytes] = {}  # thousands of small files are identical
    for key, outcome, data, *rest in rows:
        yield Evidence(key, _OUTCOMES[outcome], same.setdefault(data, data), *rest)


class Parcel:
    """Up to TOGETHER pieces of evidence, in order."""

    __slots__ = ("_length", "packed")

    def __init__(self, pieces: Sequence[Evidence]) -> None:
        """Pack pieces."""
        self._length = len(pieces)
        self.packed = marshal.dumps(rows_of(pieces))
        """Their rows."""

    def __len__(self) -> int:
        return self._length

    def pieces(self) -> Iterator[Evidence]:
        """Yield the pieces."""
        return pieces_of(marshal.loads(self.packed))  # noqa: S302  # packed here


class Parcels(Sequence[Evidence]):
    """Evidence in parcels, and after them loose pieces."""

    __slots__ = ("_loose", "_parcels")

    def __init__(self, parcels: Sequence[Parcel], loose: Sequence[Evidence]) -> None:
        """Take parcels, and pieces in order."""
        self._parcels = tuple(parcels)
        self._loose = loose

    def __len__(self) -> int:
        return sum(map(len, self._parcels)) + len(self._loose)

    def __iter__(self) -> Iterator[Evidence]:
        return chain(chain.from_iterable(parcel.pieces() for parcel in self._parcels), self._loose)

    @overload
    def __getitem__(self, place: int) -> Evidence: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Evidence]: ...
    def __getitem__(self, place: int | slice) -> Evidence | Sequence[Evidence]:
        return list(self)[place]

    def parcels(self) -> Iterator[Parcel]:
        """Yield all of it as parcels."""
        yield from self._parcels
        yield from parcels_of(self._loose)


def parcels_of(pieces: Iterable[Evidence]) -> Iterator[Parcel]:
    """Yield pieces as parcels."""
    left = iter(pieces)
    while some := list(islice(left, TOGETHER)):
        yield Parcel(some)
