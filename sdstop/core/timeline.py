"""Timeline: the frames of a session, the older ones of a live session in compact form.

Evidence that changes from frame to frame is kept as a series: a text and the differences of its numbers
(sdstop.core.versions). A quarter of an hour of a node with 1000 disks takes 20 MB instead of 100.
"""

from __future__ import annotations

import zlib
from collections import deque
from threading import Lock
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core.evidence import Evidence, Frame, RunMark
from sdstop.core.versions import GrowingVersions, Versions

RING_SECONDS = 900.0
"""Seconds that a live session can be stepped back."""
RING_BYTES = 20 << 20
"""Maximum size of the evidence kept by a live session, in compact form, in bytes."""
RING_LOOSE = 4 << 20
"""Size in bytes above which evidence is compacted; short sessions avoid the cost."""

_WORTH_PACKING = 512
"""Bytes above which evidence is kept in compact form."""
_LENGTH = 24
"""Versions in a series: reading one of them reads all."""


class Timeline(Struct):
    """Frames in order; a live timeline drops the oldest ones but keeps their latest evidence as its base.

    The evidence of older frames of a live timeline has no data: `frame` and `recall` return it with data. One thread
    appends while others read.
    """

    seconds: float | None = None
    frames: deque[Frame] = field(default_factory=deque)
    base: dict[str, Evidence] = field(default_factory=dict)
    ran: dict[str, RunMark] = field(default_factory=dict)
    _growing: dict[str, _Series] = field(default_factory=dict)
    _read: dict[str, tuple[_Series, list[bytes]]] = field(default_factory=dict)
    """The series that was read last, by key: its versions are usually read one after the other."""
    _bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def append(self, frame: Frame) -> None:
        """Add the newest frame."""
        packs = self.seconds is not None and self._bytes > RING_LOOSE
        packed = replace(frame, evidence=tuple(map(self._packed, frame.evidence))) if packs else frame
        with self._lock:
            self._append(frame, packed)

    def copy(self) -> Timeline:
        """Return a copy that is unaffected by new frames."""
        with self._lock:
            return Timeline(self.seconds, deque(self.frames), dict(self.base), dict(self.ran))

    def _append(self, frame: Frame, packed: Frame) -> None:
        self.frames.append(packed)
        if self.seconds is None:
            return
        self._bytes += sum(map(_size, packed.evidence))
        while len(self.frames) > 2 and (
            frame.monotonic - self.frames[0].monotonic > self.seconds or self._bytes > RING_BYTES
        ):
            oldest = self.frames.popleft()
            self._bytes -= sum(map(_left, oldest.evidence))
            self.base.update((e.key, e) for e in oldest.evidence)
            self.ran.update(oldest.ran or {})

    def recall(self, start: int, stop: int) -> list[Frame]:
        """Return frames start..stop-1; the first one contains all evidence known at that time."""
        still = self.copy()
        known, ran = still.base, still.ran
        chosen: list[Frame] = []
        for index, frame in enumerate(still.frames):
            if index >= stop:
                break
            if index <= start:
                known.update((e.key, e) for e in frame.evidence)
                ran.update(frame.ran or {})
            if index == start:
                marks = None if frame.ran is None else ran
                chosen.append(replace(frame, evidence=tuple(map(self._unpacked, known.values())), ran=marks))
            elif index > start:
                chosen.append(self._whole(frame))
        return chosen

    def frame(self, index: int) -> Frame:
        """Return a frame as it was appended."""
        return self._whole(self.frames[index])

    def _whole(self, kept: Frame) -> Frame:
        return replace(kept, evidence=tuple(map(self._unpacked, kept.evidence)))

    def _packed(self, item: Evidence) -> Evidence:
        if len(item.data) < _WORTH_PACKING:
            return item
        series = self._growing.get(item.key)
        if series is None or series.count == _LENGTH:
            series = self._growing[item.key] = _Series()
        before = series.size
        series.add(item.data)
        with self._lock:
            self._bytes += series.size - before
        return _Stored(**_fields(item, b""), series=series, version=series.count - 1)

    def _unpacked(self, item: Evidence) -> Evidence:
        if not isinstance(item, _Stored):
            return item
        series, texts = self._read.get(item.key, (None, []))
        if series is not item.series or len(texts) <= item.version:
            texts = item.series.texts()
            self._read[item.key] = item.series, texts
        return Evidence(**_fields(item, texts[item.version]))


class _Series:
    """Successive versions of one piece of evidence. One thread appends while others read."""

    def __init__(self) -> None:
        self.count = 0
        self.size = 0
        """Bytes that a timeline counts for it: those of the first version, then those of all."""
        self._first: bytes | None = None
        self._growing: GrowingVersions | None = None
        self._packed = b""
        self._lock = Lock()

    def add(self, text: bytes) -> None:
        """Append a version."""
        with self._lock:
            if self._first is None and self._growing is None:
                self._first = zlib.compress(text, 1)
                self.size = len(self._first)
            else:
                if self._growing is None:
                    self._growing = GrowingVersions()
                    self._growing.add(zlib.decompress(self._first or b""))
                    self._first = None
                self._growing.add(text)
            self.count += 1
            if self.count == _LENGTH and self._growing is not None:
                self._packed = zlib.compress(msgspec.msgpack.encode(self._growing.packed()), 6)
                self._growing = None
                self.size = len(self._packed)

    def texts(self) -> list[bytes]:
        """Return the versions added so far."""
        with self._lock:
            if self._first is not None:
                return [zlib.decompress(self._first)]
            if self._growing is not None:
                versions = self._growing.packed()
            else:
                versions = msgspec.msgpack.decode(zlib.decompress(self._packed), type=list[Versions])
        return [text for run in versions for text in run.texts()]


class _Stored(Evidence, frozen=True):
    """Evidence whose data are one version of a series."""

    series: _Series = field(default_factory=_Series)
    version: int = 0


def _size(item: Evidence) -> int:
    """Return the bytes that a frame's evidence adds to those of the series."""
    return 0 if isinstance(item, _Stored) else len(item.data)


def _left(item: Evidence) -> int:
    """Return the bytes that are dropped with a frame's evidence: those of a series with its last version."""
    if not isinstance(item, _Stored):
        return len(item.data)
    if item.version < item.series.count - 1:
        return 0
    size, item.series.size = item.series.size, 0
    return size


def _fields(item: Evidence, data: bytes) -> dict[str, Any]:
    """Return the fields of evidence with other data."""
    return {name: data if name == "data" else getattr(item, name) for name in Evidence.__struct_fields__}
