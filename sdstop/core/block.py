"""Block: successive frames in compact form, for the ring of a live session and for recordings.

A block holds the changes of its frames, and not the state before them. It needs no other block, or only its `base`: a
large text that differs from its first version there in numbers alone is stored by their differences. It is MessagePack,
in deflated parts: one with the times and all small pieces of evidence, and one for each large piece, which can be read
without the others. Times are kept to the microsecond. Hashes prove that every byte of evidence is as it was written.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from math import isfinite
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.evidence import RAN, Evidence, Frame, Outcome, RunMark
from sdstop.core.versions import LARGEST, Damaged, Versions

S = TypeVar("S", bound=Struct)

MICRO = 1_000_000
"""Units of stored times in a second."""


BaseTexts = Callable[[str], bytes | None]
"""Function that returns the first version of a large text in the base of a block, None without one."""


class Head(Struct, frozen=True, array_like=True):
    """Properties of a version of evidence without its data and times, stored where they change."""

    version: int
    outcome: Outcome
    detail: str
    stderr: bytes
    exit: int | None
    fault: str


class Piece(Struct, frozen=True, array_like=True):
    """Versions of one piece of evidence in a block.

    `frames` are the indexes of its frames in the block. `began` is the start of each read relative to the frame's
    monotonic time, `skew` the difference of the clocks since the frame, and `took` the duration, in microseconds; None
    if not recorded. `digest` is the BLAKE2b hash of all data. If `continues`, the first of the `versions` is that of
    the base block, and its text is left out.
    """

    frames: list[int]
    began: list[int | None]
    skew: list[int | None]
    took: list[int | None]
    heads: list[Head]
    versions: list[Versions]
    digest: bytes
    continues: bool = False

    def evidence(
        self, key: str, moments: Sequence[BlockMoment], base: BaseTexts | None = None
    ) -> Iterator[tuple[int, Evidence]]:
        """Yield the index of the frame and the evidence of each version. Raises Damaged."""
        if not len(self.frames) == len(self.began) == len(self.skew) == len(self.took):
            raise Damaged("versions and frames do not fit")
        texts = self._texts(key, base)
        head = None
        coming = {head.version: head for head in self.heads}
        digest = blake2b(digest_size=8)
        try:
            for version, (index, data) in enumerate(zip(self.frames, texts, strict=True)):
                head = coming.get(version, head)
                digest.update(data)
                yield index, self._item(key, version, head, data, moments)
        except (ValueError, IndexError) as error:
            raise Damaged(f"versions and frames do not fit: {error}") from error
        if digest.digest() != self.digest:
            raise Damaged("the hash of its data differs")

    def some(
        self, key: str, moments: Sequence[BlockMoment], wanted: Sequence[int], base: BaseTexts | None = None
    ) -> list[Evidence]:
        """Return the versions with these places, in ascending order, without reading the others. Raises Damaged.

        The hash is that of all versions, so only the checksums of the block reveal damage.
        """
        runs, begins, found = self._runs(key, base), -1 if self.continues else 0, list[Evidence]()
        try:
            for run in runs:
                inside = [version for version in wanted if begins <= version < begins + run.count]
                texts = run.some([version - begins for version in inside]) if inside else []
                for version, data in zip(inside, texts, strict=True):
                    head = [each for each in self.heads if each.version <= version][-1]
                    found.append(self._item(key, version, head, data, moments))
                begins += run.count
        except (ValueError, IndexError) as error:
            raise Damaged(f"versions and frames do not fit: {error}") from error
        if len(found) != len(wanted):
            raise Damaged("versions are missing")
        return found

    def _item(self, key: str, version: int, head: Head | None, data: bytes, moments: Sequence[BlockMoment]) -> Evidence:
        """Return a version with the data. Raises IndexError and Damaged."""
        if head is None:
            raise Damaged("its first version has no outcome")
        moment = moments[self.frames[version]]
        began, skew, took = self.began[version], self.skew[version], self.took[version]
        return Evidence(
            key, head.outcome, data, original_text(head.detail),
            None if skew is None else moment.taken + (skew + (began or 0)) / MICRO,
            None if began is None else moment.monotonic + began / MICRO,
            None if took is None else took / MICRO, head.stderr, head.exit, original_text(head.fault),
        )  # fmt: skip

    def _runs(self, key: str, base: BaseTexts | None) -> Sequence[Versions]:
        """Return the runs of versions; if it continues a text of the base, the first version is that one."""
        if not self.continues:
            return self.versions
        before = base(key) if base is not None else None
        if before is None or not self.versions:
            raise Damaged("the text that it continues is missing")
        return [replace(self.versions[0], first=before), *self.versions[1:]]

    def _texts(self, key: str, base: BaseTexts | None) -> Iterator[bytes]:
        texts = (text for run in self._runs(key, base) for text in run.texts())
        if self.continues:
            next(texts, None)
        return texts


class Marks(Struct, frozen=True, array_like=True):
    """Runs of one collector: indexes of frames, start relative to the frame and duration in microseconds."""

    frames: list[int]
    started: list[int]
    took: list[int | None]


class BlockMoment(Struct, frozen=True, array_like=True):
    """A frame without its evidence. `noted` is whether its collector runs are recorded."""

    number: int
    taken: float
    monotonic: float
    noted: bool


class BlockContents(Struct, frozen=True):
    """A block's moments, collector runs and small pieces; of the large ones, the keys."""

    moments: list[BlockMoment]
    ran: dict[str, Marks]
    pieces: dict[str, Piece]
    large: list[str]


class Block(Struct, frozen=True, array_like=True):
    """Successive frames, packed. `large` are the pieces that are parts of their own, by their place in the list.

    `base` is the number of the block that some of them continue, 0 for none.
    """

    contents: bytes
    large: list[bytes]
    base: int = 0

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self.contents) + sum(map(len, self.large))

    def dumped(self) -> bytes:
        """Return the block as bytes."""
        return msgspec.msgpack.encode(self)

    @staticmethod
    def loaded(data: bytes) -> Block:
        """Return the block of these bytes. Raises Damaged."""
        return _decoded(data, Block)

    def opened(self, base: BaseTexts | None = None) -> OpenBlock:
        """Inflate the first part; `base` returns texts of the base. Raises Damaged."""
        return OpenBlock(self, base)


class OpenBlock:
    """Block whose times are known, and whose evidence is read when asked for."""

    def __init__(self, block: Block, base: BaseTexts | None = None) -> None:
        """Inflate the first part. Raises Damaged."""
        self._block = block
        self._base = base
        self._contents = _decoded(_inflated(block.contents), _Parts)
        self.moments = self._contents.moments
        pieces = self._contents.pieces.items()
        self._pieces = {original_text(key) if key[:1] == "\0" else key: piece for key, piece in pieces}
        self._firsts: dict[str, bytes | None] = {}
        self._inflated: dict[str, Piece] = {}
        """Large pieces that were asked for by moment: the next moment is often beside it."""
        self._places = {original_text(key): place for place, key in enumerate(self._contents.large)}
        if len(self._places) != len(block.large) or not self.moments:
            raise Damaged("parts of a block are missing")
        _check(self.moments)

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
        return self._large(key) if raw is None else _decoded(raw, Piece)

    def _large(self, key: str) -> Piece | None:
        if key not in self._places:
            return None
        return _decoded(_inflated(self._block.large[self._places[key]]), Piece)

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
        every = ((key, _decoded(raw, _Places).frames) for key, raw in self._pieces.items())
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


class _Times(Struct, frozen=True):
    """The moments of a block's contents; the rest is not decoded."""

    moments: list[BlockMoment]


def block_moments(data: bytes) -> list[BlockMoment]:
    """Return the times of the frames of a block, as bytes, without reading its evidence. Raises Damaged."""
    moments = _decoded(_inflated(Block.loaded(data).contents), _Times).moments
    _check(moments)
    return moments


def _check(moments: Sequence[BlockMoment]) -> None:
    times = [(moment.number, moment.monotonic) for moment in moments]
    if times != sorted(times) or not all(isfinite(moment.taken + moment.monotonic) for moment in moments):
        raise Damaged("frames of a block are not in order")


def stored_text(text: str) -> str:
    """Return a key or a reason as valid UTF-8: names of files may hold any bytes, which Python keeps as surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "\0" + text.encode("utf-8", "surrogateescape").hex()
    return text


def original_text(text: str) -> str:
    """Return the key or reason of a stored text. Raises Damaged."""
    if not text.startswith("\0"):
        return text
    try:
        return bytes.fromhex(text[1:]).decode("utf-8", "surrogateescape")
    except ValueError as error:
        raise Damaged("a name in a block is not one") from error


def _inflated(data: bytes) -> bytes:
    inflate = zlib.decompressobj()
    try:
        found = inflate.decompress(data, LARGEST)
    except zlib.error as error:
        raise Damaged(f"a block cannot be inflated: {error}") from error
    if not inflate.eof:
        raise Damaged("a block is cut, or larger than allowed")
    return found


def _decoded(data: bytes, kind: type[S]) -> S:
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Damaged(f"a block has another form: {error}") from error
