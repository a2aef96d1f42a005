"""Known evidence of a live node: the newest version of each piece, by key; what stays as it is moves to buffers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

from sdstop.core.evidence import Evidence
from sdstop.core.hash_places import NONE, HashPlaces
from sdstop.core.sheaf import Buffer, Sheaf

_OWN = -1
"""Instead of the number of a buffer: the piece has changed since it was in one, and stays an object."""
_FEWEST = 4
"""Pieces of a buffer for each valid one, above which the valid ones become objects."""
LENT = 16
"""Buffers whose pieces are kept at once."""
KEPT = 2
"""Buffers whose pieces are kept from one frame to the next, for those that are asked for in each."""
_MOST_ASKED = 4096
"""Keys asked for between two `settle` from which none becomes an object for good: then sources read all that they have
again, as when a device is added."""
_PASSES = 4
"""How many times all buffers may be unpacked for a frame; then whatever is asked for is kept until it ends."""
_MOST_GONE = 4096
"""Keys that are gone, beyond the number of those that are there, after which the table of places is rebuilt."""


class Known:
    """Newest version of each piece of evidence, by key. One thread changes it while others read.

    Where a piece is asked for that is in a buffer, all pieces of the buffer are made, and kept until the frame has been
    read (`let_go`), or until those of LENT others have been asked for: a source reads one folder after the other, and
    10 000 pieces in all. If few pieces are asked for between two `settle`, those of buffers that were unpacked before
    the first of these, too, become objects.
    """

    __slots__ = (
        "_asked", "_buffers", "_is_loose", "_lent", "_lent_before", "_lent_since", "_live", "_own", "_table",
        "_unpacked",
    )  # fmt: skip

    def __init__(self, pieces: Iterable[Evidence] = ()) -> None:
        """Start with pieces as objects."""
        self._own: dict[str, Evidence] = {piece.key: piece for piece in pieces}
        self._table = HashPlaces(), array("i")
        """Number of the buffer of a piece that is or was in one, by place of its key's hash; or _OWN."""
        self._buffers: list[Buffer | None] = []
        self._live: list[int] = []
        """How many pieces of a buffer are valid."""
        self._is_loose = False
        """Whether the table of objects has room of those that moved."""
        self._lent: dict[int, dict[str, Evidence]] = {}
        self._lent_since: set[int] = set()
        """Buffers unpacked since the last `settle`."""
        self._lent_before: frozenset[int] = frozenset()
        """Buffers unpacked between the two before."""
        self._asked: set[str] = set()
        self._unpacked = 0
        """How many times a buffer was unpacked for a frame."""

    def __len__(self) -> int:
        return len(self._own) + sum(self._live)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> set[str]:
        """Return all keys."""
        return {piece.key for piece in self.values()}

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def __getitem__(self, key: str) -> Evidence:
        piece = self.get(key)
        if piece is None:
            raise KeyError(key)
        return piece

    def get(self, key: str) -> Evidence | None:
        """Return a piece, None without it."""
        piece = self._own.get(key)
        if piece is None and self._buffers:
            number = self._number(hash(key))
            if number != _OWN:
                if len(self._asked) < _MOST_ASKED:
                    self._asked.add(key)
                piece = self._pieces(number).get(key)
            return piece or self._own.get(key)  # another thread may just have taken it out of the buffer
        return piece

    def __setitem__(self, key: str, piece: Evidence) -> None:
        self._own[key] = piece
        if self._buffers:
            self._take_out(hash(key), key)

    def pop(self, key: str) -> Evidence | None:
        """Remove a piece and return it, None without it."""
        piece = self.get(key)
        if piece is not None:
            self[key] = piece
            del self._own[key]
        return piece

    def update(self, pieces: Iterable[Evidence]) -> None:
        """Take further versions; a sheaf is not unpacked."""
        if not isinstance(pieces, Sheaf):
            for piece in pieces:
                self[piece.key] = piece
            return
        for buffer in pieces.buffers:
            some = list(buffer.pieces())
            for piece in some:
                self[piece.key] = piece
            self.adopt(buffer, some)
        self.update(piece for _, piece in pieces.loose)

    def adopt(self, buffer: Buffer, pieces: Sequence[Evidence]) -> None:
        """Hold those pieces in a buffer that are still valid and did not change before when they were in one."""
        number, live = len(self._buffers), 0
        places, where = self._table
        self._buffers.append(buffer)
        self._live.append(0)
        for piece in pieces:
            key = piece.key
            if self._own.get(key) is not piece:
                continue
            hashed = hash(key)
            if places.find(hashed) != NONE:  # it is restless, or has the hash of another key
                continue
            where.append(number)
            places.add(hashed)
            del self._own[key]  # only now: another thread may ask for it
            live += 1
        self._live[number] = live
        if not live:
            self._buffers[number] = None
        self._is_loose = True

    def let_go(self) -> None:
        """Let go of the pieces of all but KEPT buffers. They are many where a source was read again."""
        for number in list(self._lent)[:-KEPT]:
            self._lent.pop(number, None)
        self._unpacked = 0

    def settle(self) -> None:
        """Let go of pieces made of buffers; those that are always in use, or the last valid ones, become objects."""
        asked, self._asked = self._asked, set()
        where = {key: self._number(hash(key)) for key in asked} if len(asked) < _MOST_ASKED else {}
        for key in sorted(where, key=where.__getitem__):
            if where[key] in self._lent_before and (piece := self.get(key)) is not None:
                self[key] = piece
        for number, buffer in enumerate(self._buffers):
            if buffer is not None and self._live[number] * _FEWEST < len(buffer):
                self._give_up(number)
        self._asked.clear()
        self._lent_before, self._lent_since, self._lent, self._unpacked = frozenset(self._lent_since), set(), {}, 0
        if self._is_loose:  # a dict does not become smaller
            self._own, self._is_loose = {**self._own}, False
        if len(self._table[0]) > 2 * len(self) + _MOST_GONE:
            self._table = self._of_present()

    def _of_present(self) -> tuple[HashPlaces, array[int]]:
        """Return the table without keys that are gone, which would grow for years."""
        places, where = HashPlaces(), array("i")
        own = set(map(hash, self._own))
        for hashed, number in zip(self._table[0], self._table[1], strict=True):
            if number != _OWN or hashed in own:
                where.append(number)
                places.add(hashed)
        return places, where

    def values(self) -> Iterator[Evidence]:
        """Yield all pieces; those in buffers are made and not kept."""
        yield from tuple(self._own.values())
        for number, buffer in enumerate(tuple(self._buffers)):
            if buffer is not None:
                yield from (piece for piece in buffer.pieces() if self._holds(number, piece.key))

    def items(self) -> Iterator[tuple[str, Evidence]]:
        """Yield all keys and pieces."""
        return ((piece.key, piece) for piece in self.values())

    def copy(self) -> Known:
        """Return a copy that is unaffected by changes."""
        made = Known()
        made._own, made._table = self._own.copy(), (self._table[0].copy(), self._table[1][:])
        made._buffers, made._live = self._buffers.copy(), self._live.copy()
        return made

    def _number(self, hashed: int) -> int:
        places, where = self._table
        place = places.find(hashed)
        return _OWN if place == NONE else where[place]

    def _holds(self, number: int, key: str) -> bool:
        return key not in self._own and self._number(hash(key)) == number

    def _pieces(self, number: int) -> dict[str, Evidence]:
        """Return the pieces of a buffer."""
        lent = self._lent
        pieces = lent.get(number)
        if pieces is None:
            buffer = self._buffers[number]
            pieces = {} if buffer is None else {piece.key: piece for piece in buffer.pieces()}
            self._lent_since.add(number)
            self._unpacked += 1
            if len(lent) >= LENT and self._unpacked <= _PASSES * len(self._buffers):
                for other in list(lent)[: 1 - LENT]:
                    lent.pop(other, None)
        elif len(lent) >= LENT:
            lent.pop(number, None)  # the one asked for last is the last to go
        else:
            return pieces
        lent[number] = pieces
        return pieces

    def _take_out(self, hashed: int, key: str) -> None:
        """Note that a piece is not in a buffer any more."""
        places, where = self._table
        place = places.find(hashed)
        if place == NONE or (number := where[place]) == _OWN or key not in self._pieces(number):
            return
        where[place] = _OWN
        self._live[number] -= 1
        if not self._live[number]:
            self._buffers[number] = None

    def _give_up(self, number: int) -> None:
        for key, piece in self._pieces(number).items():
            if self._holds(number, key):
                self[key] = piece
        self._buffers[number] = None
