"""Wire format: frames sent from the worker to its parent, over a socket that preserves packet boundaries.

A packet starts with a letter. `H` (process number): a worker starts, and all data before are void, even a partial
frame of a killed worker. `F`: one or several small frames. `P` and `B`: a part of a batch of evidence of a larger one,
and its last part; `E`: the end of such a frame. `N` (text): a note. To the worker: `R`: read all now; `I` (a double):
the interval; `W` (a byte): whether the node may rest.
"""

from __future__ import annotations

import marshal
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from sdstop.core.evidence import Evidence, Frame, RunMark
from sdstop.core.parcel import Parcels, Row, parcels_of, pieces_of, rows_of
from sdstop.sampler.scheduler import Sent

PACKET = 32 << 10
"""Maximum size of a packet in bytes; even the smallest configured socket buffer holds several."""
RESCAN = b"R"
"""Request to read all now."""

_MANY = 250
"""Pieces of evidence above which a frame is never in one packet: each takes a hundred bytes beside its data."""
_OVERHEAD = 16
"""Bytes around a frame in a packet of several, at most."""
_ROOM = PACKET - 1 - _OVERHEAD


def connected() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a new connection."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def hello(pid: int) -> bytes:
    """Return the first packet of a worker."""
    return b"H%d" % pid


def note(words: str) -> bytes:
    """Return a packet with a note."""
    return b"N" + words.encode("utf-8", "backslashreplace")[: PACKET // 2]


def interval(seconds: float) -> bytes:
    """Return the request to change the interval."""
    return b"I" + struct.pack("<d", seconds)


def requested_interval(packet: bytes) -> float:
    """Return the seconds in a packet that `interval` returned."""
    return float(struct.unpack("<d", packet[1:])[0])


def rest(*, allowed: bool) -> bytes:
    """Return the request to let the node rest, or not to."""
    return b"W" + bytes((allowed,))


def packets(*frames: Sent) -> Iterator[bytes]:
    """Yield frames as packets: small ones together, so that the parent wakes once for all of them.

    Larger frames have batches of evidence, which avoid several copies of a large first frame in memory.
    """
    together: list[bytes] = []
    room = _ROOM
    for frame in frames:
        whole = marshal.dumps((rows_of(frame[2]), _end(frame))) if _may_fit(frame[2]) else b""
        size = len(whole) + _OVERHEAD
        if together and (not whole or size > room):
            yield b"F" + marshal.dumps(together)
            together, room = [], _ROOM
        if whole and size <= room:
            together.append(whole)
            room -= size
        else:
            yield from _parts(frame)
    if together:
        yield b"F" + marshal.dumps(together)


def _may_fit(evidence: Sequence[Evidence]) -> bool:
    return len(evidence) <= _MANY and sum(len(each.data) for each in evidence) <= _ROOM


def _parts(frame: Sent) -> Iterator[bytes]:
    evidence = frame[2]
    for each in evidence.parcels() if isinstance(evidence, Parcels) else parcels_of(evidence):
        batch = each.packed
        last = (len(batch) - 1) // _ROOM * _ROOM
        for start in range(0, last, _ROOM):
            yield b"P" + batch[start : start + _ROOM]
        yield b"B" + batch[last:]
    yield b"E" + marshal.dumps(_end(frame))


def _end(frame: Sent) -> tuple[Any, ...]:
    taken, monotonic, _, ran, quiet = frame
    return taken, monotonic, [(name, mark.started, mark.duration) for name, mark in ran.items()], quiet


class FrameAssembly(Struct):
    """Assembly of frames from packets, in the parent. Numbers continue across workers."""

    number: int = 0
    worker: int | None = None
    """Process number of the sending worker."""
    trouble: str = ""
    """Reason why the last worker ended, until the next one sends a frame."""
    note: str = ""
    began: bool = False
    """Whether a worker has started since this was last set to False."""
    _parts: list[bytes] = field(default_factory=list)
    _evidence: list[Evidence] = field(default_factory=list)

    def add(self, packet: bytes) -> list[Frame]:
        """Add a packet; return the frames that it completes, oldest first."""
        kind, rest = packet[:1], packet[1:]
        if kind == b"F":
            return [self._whole(data) for data in marshal.loads(rest)]  # noqa: S302  # written by sdstop's child process
        if kind == b"P":
            self._parts.append(rest)
        elif kind == b"B":
            batch, self._parts = b"".join((*self._parts, rest)), []
            self._take(marshal.loads(batch))  # noqa: S302
        elif kind == b"E":
            return [self._complete(marshal.loads(rest))]  # noqa: S302
        elif kind == b"H":
            self._parts, self._evidence = [], []
            self.worker = int(rest)
            self.began = True
        elif kind == b"N":
            self.note = rest.decode("utf-8", "replace")
        return []

    def _whole(self, data: bytes) -> Frame:
        rows, end = marshal.loads(data)  # noqa: S302
        self._take(rows)
        return self._complete(end)

    def _take(self, rows: Sequence[Row]) -> None:
        self._evidence += pieces_of(rows)

    def _complete(self, end: tuple[Any, ...]) -> Frame:
        taken, monotonic, marks, quiet = end
        evidence, self._evidence = tuple(self._evidence), []
        self.trouble = ""
        self.number += 1
        ran = {name: RunMark(*mark) for name, *mark in marks}
        return Frame(self.number, taken, monotonic, evidence, ran, quiet=quiet)
