"""Block: successive frames in compact form, for the ring of a live session and for recordings.

A block holds the changes of its frames, and not the state before them. It needs no other block, or only its `base`: a
large text that differs from its first version there in numbers alone is stored by their differences. It is MessagePack,
in deflated parts: one with the times and all small pieces of evidence, and one for each large piece, which can be read
without the others. Times are kept to the microsecond. Hashes prove that every byte of evidence is as it was written.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from math import isfinite
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.evidence import Evidence, Outcome
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
        return decoded(data, Block)


class _Times(Struct, frozen=True):
    """The moments of a block's contents; the rest is not decoded."""

    moments: list[BlockMoment]


def block_moments(data: bytes) -> list[BlockMoment]:
    """Return the times of the frames of a block, as bytes, without reading its evidence. Raises Damaged."""
    moments = decoded(inflated(Block.loaded(data).contents), _Times).moments
    check_order(moments)
    return moments


def check_order(moments: Sequence[BlockMoment]) -> None:
    """Raise Damaged unless frames are in order of number and monotonic time."""
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


def inflated(data: bytes) -> bytes:
    """Return a deflated part. Raises Damaged if it is cut or larger than LARGEST."""
    inflate = zlib.decompressobj()
    try:
        found = inflate.decompress(data, LARGEST)
    except zlib.error as error:
        raise Damaged(f"a block cannot be inflated: {error}") from error
    if not inflate.eof:
        raise Damaged("a block is cut, or larger than allowed")
    return found


def decoded(data: bytes, kind: type[S]) -> S:
    """Return the struct of MessagePack data. Raises Damaged."""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Damaged(f"a block has another form: {error}") from error
