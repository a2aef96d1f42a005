"""Block that is being written, frame by frame."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from sdstop.core.block import MICRO, Block, BlockContents, BlockMoment, Head, Marks, Piece, stored_text
from sdstop.core.evidence import Evidence, Frame
from sdstop.core.growing_versions import GrowingVersions

_OWN = 4096
"""Bytes of a piece above which it is a part of its own; smaller ones deflate better together."""
_LEVEL = 6
"""Of zlib: its default."""


class GrowingBlock:
    """Block that is being written."""

    def __init__(self, base: int = 0, texts: Mapping[str, bytes] | None = None) -> None:
        """Start without a frame; `texts` are the first versions of the large texts of the block `base`, by key."""
        self.moments: list[BlockMoment] = []
        self._base = base
        self._texts = texts or {}
        self._ran: dict[str, tuple[list[int], list[int], list[int | None]]] = {}
        self._pieces: dict[str, _GrowingPiece] = {}

    def add(self, frame: Frame) -> None:
        """Append a frame."""
        index = len(self.moments)
        taken, monotonic = _rounded(frame.taken), _rounded(frame.monotonic)
        moment = BlockMoment(frame.number, taken, monotonic, frame.ran is not None)
        self.moments.append(moment)
        for name, mark in (frame.ran or {}).items():
            frames, started, took = self._ran.setdefault(name, ([], [], []))
            frames.append(index)
            started.append(_micro(mark.started - monotonic))
            took.append(None if mark.duration is None else _micro(mark.duration))
        for item in {item.key: item for item in frame.evidence}.values():
            piece = self._pieces.get(item.key)
            if piece is None:
                piece = self._pieces[item.key] = _GrowingPiece(self._texts.get(item.key))
            piece.add(index, moment, item)

    @property
    def keys(self) -> set[str]:
        """Keys of the evidence that it holds."""
        return set(self._pieces)

    @property
    def collectors(self) -> set[str]:
        """Collectors that ran."""
        return set(self._ran)

    def packed(self) -> Block:
        """Return the block of all frames added so far."""
        small, large = {}, {}
        for key, growing in self._pieces.items():
            piece = growing.packed()
            data = msgspec.msgpack.encode(piece) if growing.size > _OWN else b""
            if data:
                large[stored_text(key)] = zlib.compress(data, _LEVEL)
            else:
                small[stored_text(key)] = piece
        ran = {name: Marks(*columns) for name, columns in self._ran.items()}
        contents = msgspec.msgpack.encode(BlockContents(self.moments, ran, small, list(large)))
        return Block(zlib.compress(contents, _LEVEL), list(large.values()), self._base)

    def first_texts(self) -> dict[str, bytes]:
        """Return the first versions of the large texts, by key."""
        return {key: piece.first for key, piece in self._pieces.items() if piece.size > _OWN}


class _GrowingPiece:
    def __init__(self, base: bytes | None = None) -> None:
        self.size = 0
        self.first = b""
        self._times: tuple[list[int], list[int | None], list[int | None], list[int | None]] = ([], [], [], [])
        self._heads: list[Head] = []
        self._versions = GrowingVersions()
        self._continues = base is not None
        if base is not None:
            self._versions.add(base)
        self._digest = blake2b(digest_size=8)

    def add(self, index: int, moment: BlockMoment, item: Evidence) -> None:
        frames, begans, skews, tooks = self._times
        began = None if item.monotonic is None else _micro(item.monotonic - moment.monotonic)
        skew = None if item.taken is None else _micro(item.taken - moment.taken) - (began or 0)
        head = Head(
            len(frames), item.outcome, stored_text(item.detail), item.stderr, item.exit, stored_text(item.fault)
        )
        if not self._heads or replace(head, version=self._heads[-1].version) != self._heads[-1]:
            self._heads.append(head)
        frames.append(index)
        begans.append(began)
        skews.append(skew)
        tooks.append(None if item.duration is None else _micro(item.duration))
        self._digest.update(item.data)
        if len(frames) == 1:
            self.first = item.data
        self._versions.add(item.data)
        self.size += len(item.data)

    def packed(self) -> Piece:
        versions = self._versions.packed()
        continues = self._continues and versions[0].count > 1
        if continues:
            versions[0] = replace(versions[0], first=b"")
        elif self._continues:
            del versions[0]  # more than numbers changed since
        return Piece(*self._times, self._heads, versions, self._digest.digest(), continues)


def _micro(seconds: float) -> int:
    return round(seconds * MICRO)


def _rounded(seconds: float) -> float:
    return round(seconds, 6)
