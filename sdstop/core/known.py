"""Known evidence of a live node: the newest version of each piece, by key; what stays as it is moves to buffers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sdstop.core.evidence import Evidence
from sdstop.core.hash_places import BITS, LAST, NONE, HashPlaces
from sdstop.core.sheaf import Buffer, Sheaf

_FEWEST = 4
"""Pieces of a buffer for each valid one, above which the valid ones are objects."""
LENT = 16
"""Buffers whose pieces are kept at once."""
KEPT = 2
"""Buffers whose pieces are kept from one frame to the next, for those that are asked for in each."""
_MOST_ASKED = 4096
"""Keys asked for between two `settle` from which none becomes an object for good: then sources read all that they have
again, as when a device is added."""
_PASSES = 4
"""How many times all buffers may be unpacked for a frame; then whatever is asked for is kept until it ends."""


class Known:
    """Newest version of each piece of evidence, by key. One thread changes it while others read.

    Where a piece is asked for that is in a buffer, all pieces of the buffer are made, and kept until the frame has been
    read (`let_go`), or until those of LENT others have been asked for: a source reads one folder after the other, and
    10 000 pieces in all. If few pieces are asked for between two `settle`, those of buffers that were unpacked before
    the first of these, too, become objects.
    """

    __slots__ = (
        "_asked", "_buffers", "_held", "_is_loose", "_lent", "_lent_before", "_lent_since", "_own", "_unpacked",
        "places",
    )  # fmt: skip

    def __init__(self, pieces: Iterable[Evidence] = (), places: HashPlaces | None = None) -> None:
        """Start with pieces as objects; states of the same node share `places`."""
        self._own: dict[str, Evidence] = {piece.key: piece for piece in pieces}
        self.places = HashPlaces() if places is None else places
        self._buffers: dict[int, Buffer] = {}
        """Buffers with valid pieces, by number."""
        self._held: dict[int, int] = {}
        """Bits of the valid pieces of a buffer."""
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
        return len(self._own) + sum(map(int.bit_count, tuple(self._held.values())))

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
            if number != NONE:
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
        hashes, places, own, held = buffer.hashes, self.places, self._own, 0
        moving = [at for at, piece in enumerate(pieces) if own.get(piece.key) is piece and places.is_free(hashes, at)]
        if not moving or len(moving) * _FEWEST < len(buffer):
            return
        number = places.number(hashes)
        self._buffers[number] = buffer
        for at in moving:
            if places.claim(number, at):  # else it has the hash of a piece before it
                self._held[number] = held = held | 1 << at
                del own[pieces[at].key]  # only now: another thread may ask for it
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
        for number, buffer in tuple(self._buffers.items()):
            if self._held[number].bit_count() * _FEWEST < len(buffer):
                self._give_up(number)
        self._asked.clear()
        self._lent_before, self._lent_since, self._lent, self._unpacked = frozenset(self._lent_since), set(), {}, 0
        if self._is_loose:  # a dict does not become smaller
            self._own, self._is_loose = {**self._own}, False

    def values(self) -> Iterator[Evidence]:
        """Yield all pieces; those in buffers are made and not kept."""
        yield from tuple(self._own.values())
        for number, buffer in tuple(self._buffers.items()):
            yield from (piece for piece in buffer.pieces() if self._holds(number, piece.key))

    def items(self) -> Iterator[tuple[str, Evidence]]:
        """Yield all keys and pieces."""
        return ((piece.key, piece) for piece in self.values())

    def copy(self) -> Known:
        """Return a copy that is unaffected by changes."""
        made = Known(places=self.places)
        made._own, made._buffers, made._held = self._own.copy(), self._buffers.copy(), self._held.copy()
        return made

    def _number(self, hashed: int) -> int:
        """Return the number of the buffer that holds a valid piece, NONE if there is none."""
        place = self.places.find(hashed)
        return place >> BITS if place != NONE and self._held.get(place >> BITS, 0) >> (place & LAST) & 1 else NONE

    def _holds(self, number: int, key: str) -> bool:
        return key not in self._own and self._number(hash(key)) == number

    def _pieces(self, number: int) -> dict[str, Evidence]:
        """Return the pieces of a buffer."""
        lent = self._lent
        pieces = lent.get(number)
        if pieces is None:
            buffer = self._buffers.get(number)
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
        number = self._number(hashed)
        if number == NONE or key not in self._pieces(number):
            return
        self._held[number] ^= 1 << (self.places.find(hashed) & LAST)
        if not self._held[number]:
            del self._held[number], self._buffers[number]

    def _give_up(self, number: int) -> None:
        for key, piece in self._pieces(number).items():
            if self._holds(number, key):
                self[key] = piece
