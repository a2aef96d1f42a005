"""Sheaf: many pieces of evidence in few buffers; a piece becomes an object when it is asked for.

Of 1000 disks there are 42 000 pieces, most of them attributes of sysfs that never change. As objects with their keys
they take 10 MB, in buffers a tenth: keys differ in a name or a number, and contents are often equal.
"""

from __future__ import annotations

import marshal
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import overload

from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.hash_places import LAST

TOGETHER = LAST + 1
"""Most pieces in a buffer: asking for one makes all of them, in a millisecond."""
_LEVEL = 1
"""Of zlib: the fastest."""
_OUTCOMES = tuple(Outcome)
_NUMBERS = {outcome: number for number, outcome in enumerate(_OUTCOMES)}
_FIELDS = ("key", "data", "detail", "taken", "monotonic", "duration", "stderr", "exit", "fault")


class Buffer:
    """Up to TOGETHER pieces of evidence. Every field is kept exactly, times to the last bit."""

    __slots__ = ("_packed", "hashes")

    def __init__(self, pieces: Sequence[Evidence]) -> None:
        """Pack pieces."""
        columns = [[getattr(piece, name) for piece in pieces] for name in _FIELDS]
        outcomes = bytes([_NUMBERS[piece.outcome] for piece in pieces])
        self.hashes = array("q", [hash(piece.key) for piece in pieces])
        """Hashes of the keys in order."""
        self._packed = zlib.compress(marshal.dumps((outcomes, *columns)), _LEVEL)

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self._packed) + 8 * len(self.hashes)

    def may_have(self, hashes: frozenset[int]) -> bool:
        """Return whether it may have one of the keys with these hashes."""
        return not hashes.isdisjoint(self.hashes)

    def pieces(self) -> Iterator[Evidence]:
        """Yield the pieces in order."""
        outcomes, keys, texts, *rest = marshal.loads(zlib.decompress(self._packed))  # noqa: S302  # packed here
        same: dict[bytes, bytes] = {}
        for key, outcome, data, *fields in zip(keys, outcomes, texts, *rest, strict=True):
            yield Evidence(key, _OUTCOMES[outcome], same.setdefault(data, data), *fields)


class Sheaf(Sequence[Evidence]):
    """Evidence of a frame in its order: most is in buffers, some pieces are `loose` at their places."""

    __slots__ = ("buffers", "loose")

    def __init__(self, buffers: Sequence[Buffer], loose: Sequence[tuple[int, Evidence]] = ()) -> None:
        """Take buffers, and the other pieces with their places in ascending order."""
        self.buffers = tuple(buffers)
        self.loose = tuple(loose)

    def __len__(self) -> int:
        return sum(map(len, self.buffers)) + len(self.loose)

    def __iter__(self) -> Iterator[Evidence]:
        packed = chain.from_iterable(buffer.pieces() for buffer in self.buffers)
        done = 0
        for place, piece in self.loose:
            for _ in range(place - done):
                yield next(packed)
            yield piece
            done = place + 1
        yield from packed

    @overload
    def __getitem__(self, place: int) -> Evidence: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Evidence]: ...
    def __getitem__(self, place: int | slice) -> Evidence | Sequence[Evidence]:
        return list(self)[place]

    @property
    def size(self) -> int:
        """Number of bytes of the buffers and of the data of loose pieces."""
        return sum([buffer.size for buffer in self.buffers]) + sum([len(piece.data) for _, piece in self.loose])

    def some(self, keys: Iterable[str]) -> dict[str, Evidence]:
        """Return the pieces with some of these keys; other buffers are not read."""
        wanted = frozenset(keys)
        hashes = frozenset(map(hash, wanted))
        found = {piece.key: piece for _, piece in self.loose if piece.key in wanted}
        for buffer in self.buffers:
            if buffer.may_have(hashes):
                found.update((piece.key, piece) for piece in buffer.pieces() if piece.key in wanted)
        return found


def bound(pieces: Sequence[Evidence]) -> Iterator[tuple[Buffer, Sequence[Evidence]]]:
    """Yield buffers of pieces, each with those in it."""
    for start in range(0, len(pieces), TOGETHER):
        some = pieces[start : start + TOGETHER]
        yield Buffer(some), some
