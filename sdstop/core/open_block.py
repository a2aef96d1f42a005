"""Open block: frames and evidence of a block, each read when it is asked for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property

import msgspec
from msgspec import Struct

from sdstop.core.block import (
    MICRO,
    BaseTexts,
    Block,
    BlockMoment,
    Marks,
    Piece,
    check_order,
    decoded,
    inflated,
    original_text,
)
from sdstop.core.evidence import RAN, Evidence, Frame, RunMark
from sdstop.core.versions import LARGEST, Damaged


class OpenBlock:
    """Block whose times are known, and whose evidence is read when asked for."""

    def __init__(self, block: Block, base: BaseTexts | None = None) -> None:
        """Inflate the first part. Raises Damaged."""
        self._block = block
        self._base = base
        self._contents = decoded(inflated(block.contents), _Parts)
        self.moments = self._contents.moments
        pieces = self._contents.pieces.items()
        self._pieces = {original_text(key) if key[:1] == "\0" else key: piece for key, piece in pieces}
        self._firsts: dict[str, bytes | None] = {}
        self._inflated: dict[str, Piece] = {}
        """Large pieces that were asked for by moment: the next moment is often beside it."""
        self._places = {original_text(key): place for place, key in enumerate(self._contents.large)}
        if len(self._places) != len(block.large) or not self.moments:
            raise Damaged("parts of a block are missing")
        check_order(self.moments)

    @property
    def keys(self) -> set[str]:
        """Keys of the evidence that it holds."""
        return {*self._pieces, *self._places}

    def versions(self, key: str) -> list[tuple[int, Evidence]]:
        """Return the versions of a piece of evidence with the indexes of their frames. Raises Damaged."""
        piece = self._piece(key)
        if piece is None:
            return []
        try:
            return list(piece.evidence(key, self.moments, self._base))
        except Damaged as error:
            raise Damaged(f"{key}: {error}") from error

    def _piece(self, key: str) -> Piece | None:
        raw = self._pieces.get(key)
        return self._large(key) if raw is None else decoded(raw, Piece)

    def _large(self, key: str) -> Piece | None:
        if key not in self._places:
            return None
        return decoded(inflated(self._block.large[self._places[key]]), Piece)

    def first_text(self, key: str) -> bytes | None:
        """Return the first version of a large text, for blocks whose base this is. Raises Damaged."""
        if key not in self._firsts:
            piece = self._large(key)
            usable = piece is not None and not piece.continues and piece.versions
            self._firsts[key] = piece.versions[0].first if piece is not None and usable else None
        return self._firsts[key]

    def latest(self, key: str, index: int | None = None) -> Evidence | None:
        """Return the last version up to a frame, None for one without. Raises Damaged."""
        return self._near(key, len(self.moments) - 1 if index is None else index, before=True, after=False)[0]

    def around(self, keys: Iterable[str], index: int) -> tuple[dict[str, Evidence], dict[str, Evidence]]:
        """Return the last versions of some pieces up to a frame, and all versions of the next one. Raises Damaged.

        Other versions are not read, so that a moment takes a fraction of the block's time.
        """
        wanted, is_last = set(keys), index == len(self.moments) - 1
        known, coming = dict[str, Evidence](), dict[str, Evidence]()
        for key in wanted if is_last else wanted | self._at(index + 1):
            before, after = self._near(key, index, before=key in wanted, after=not is_last)
            known.update({} if before is None else {key: before})
            coming.update({} if after is None else {key: after})
        return known, coming

    def evidence(self, index: int) -> list[Evidence]:
        """Return the evidence of one frame, in the order of `frames`; other versions are not read. Raises Damaged."""
        moving = (key for key, frames in self._moving.items() if index in frames) if index else self._pieces
        found = (self._near(key, index - 1, before=False, after=True)[1] for key in (*moving, *self._places))
        return [item for item in found if item is not None]

    def known(self, index: int) -> list[Evidence]:
        """Return the last versions of all evidence up to a frame; other versions are not read. Raises Damaged."""
        found = (self.latest(key, index) for key in (*self._pieces, *self._places))
        return [item for item in found if item is not None]

    def changed_after(self, index: int) -> set[str]:
        """Return the keys of all evidence that may have a version after a frame, and RAN with those of later runs.

        Raises Damaged.
        """
        runs = {RAN + name for name, marks in self._runs_by_name() if any(at > index for at in marks.frames)}
        pieces = (key for key, frames in self._moving.items() if any(at > index for at in frames))
        return {*pieces, *self._places, *runs}

    def _at(self, index: int) -> set[str]:
        """Return the keys of all evidence that may have a version at a frame. Raises Damaged."""
        if not index:
            return self.keys
        return {*(key for key, frames in self._moving.items() if index in frames), *self._places}

    @cached_property
    def _moving(self) -> dict[str, list[int]]:
        """Frames of the small pieces with a version after the first frame; a first block has thousands of others."""
        every = ((key, decoded(raw, _Places).frames) for key, raw in self._pieces.items())
        return {key: frames for key, frames in every if frames != [0]}

    def _near(self, key: str, index: int, *, before: bool, after: bool) -> tuple[Evidence | None, Evidence | None]:
        """Return the last version of a piece up to a frame, and that of the next frame, if they are wanted."""
        piece = self._inflated.get(key) or self._piece(key)
        if piece is None:
            return None, None
        if key in self._places:
            self._inflated[key] = piece
        old = [place for place, at in enumerate(piece.frames) if at <= index][-1:] if before else []
        new = [place for place, at in enumerate(piece.frames) if at == index + 1][:1] if after else []
        if not old and not new:
            return None, None
        try:
            found = piece.some(key, self.moments, [*old, *new], self._base)
        except Damaged as error:
            raise Damaged(f"{key}: {error}") from error
        return found[0] if old else None, found[-1] if new else None

    def runs(self, index: int) -> dict[str, RunMark] | None:
        """Return the collector runs of a frame, None if they are not recorded. Raises Damaged."""
        if not self.moments[index].noted:
            return None
        return {name: mark for name, (at, mark) in self._last_ran(index).items() if at == index}

    def frames(self) -> list[Frame]:
        """Return all frames. Raises Damaged."""
        evidence: list[list[Evidence]] = [[] for _ in self.moments]
        size = 0
        for key in (*self._pieces, *self._places):
            for index, item in self.versions(key):
                evidence[index].append(item)
                size += len(item.data)
            if size > LARGEST:
                raise Damaged("a block is larger than allowed")
        ran = self._ran()
        return [
            Frame(m.number, m.taken, m.monotonic, tuple(items), marks if m.noted else None)
            for m, items, marks in zip(self.moments, evidence, ran, strict=True)
        ]

    def last_runs(self, index: int | None = None) -> dict[str, RunMark]:
        """Return the last run of each collector, up to a frame. Raises Damaged."""
        found = self._last_ran(len(self.moments) - 1 if index is None else index)
        return {name: mark for name, (_, mark) in found.items()}

    def _last_ran(self, index: int) -> dict[str, tuple[int, RunMark]]:
        """Return the last run of each collector up to a frame, with the index of its frame. Raises Damaged."""
        found: dict[str, tuple[int, RunMark]] = {}
        for name, marks in self._runs_by_name():
            place = bisect_right(marks.frames, index) - 1
            if place >= 0:
                found[name] = marks.frames[place], self._mark(name, marks, place)
        return found

    def _runs_by_name(self) -> Iterator[tuple[str, Marks]]:
        for name, marks in self._contents.ran.items():
            if not len(marks.frames) == len(marks.started) == len(marks.took):
                raise Damaged(f"runs of {name} and frames do not fit")
            yield name, marks

    def _mark(self, name: str, marks: Marks, place: int) -> RunMark:
        try:
            began = self.moments[marks.frames[place]].monotonic + marks.started[place] / MICRO
            took = marks.took[place]
        except IndexError as error:
            raise Damaged(f"runs of {name} and frames do not fit: {error}") from error
        return RunMark(began, None if took is None else took / MICRO)

    def _ran(self) -> list[dict[str, RunMark]]:
        ran: list[dict[str, RunMark]] = [{} for _ in self.moments]
        for name, marks in self._runs_by_name():
            for place, index in enumerate(marks.frames):
                ran[index][name] = self._mark(name, marks, place)
        return ran


class _Parts(Struct, frozen=True):
    """A block's contents, whose pieces are decoded when they are asked for: a first block has tens of thousands."""

    moments: list[BlockMoment]
    ran: dict[str, Marks]
    pieces: dict[str, msgspec.Raw]
    large: list[str]


class _Places(Struct, frozen=True, array_like=True):
    """The frames of a piece; the rest is not decoded."""

    frames: list[int]
