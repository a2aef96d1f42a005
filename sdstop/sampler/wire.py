"""Wire: frames on their way from the worker to its parent, over a socket that keeps packets whole.

A packet begins with a letter. `H` (process number): a worker begins, whatever came before is void, even half a
frame of one that was killed. `P` and `B`: a part of a batch of evidence, and its last; `E`: the end of a frame.
`X`, `N` (text): a worker ended, and why; a note. To the worker: `R`, read all now; `I` (a double): the interval.
"""

from __future__ import annotations

import marshal
import socket
import struct
from collections.abc import Iterator

from msgspec import Struct, field

from sdstop.core.evidence import Evidence, Frame, Outcome, RunMark
from sdstop.sampler.scheduler import Sent

PACKET = 32 << 10
"""Bytes of a packet; the smallest socket buffer that a kernel is configured with holds some."""
BATCH = 1000
"""Pieces of evidence that are packed together."""
RESCAN = b"R"
"""The request to read all now."""

_ROOM = PACKET - 1
_OUTCOMES = tuple(Outcome)
_NUMBERS = {outcome: number for number, outcome in enumerate(_OUTCOMES)}


def connected() -> tuple[socket.socket, socket.socket]:
    """Return two ends of a new connection."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def hello(pid: int) -> bytes:
    """Return the packet with which a worker begins."""
    return b"H%d" % pid


def text(kind: bytes, words: str) -> bytes:
    """Return a packet of text, `X` or `N`."""
    return kind + words.encode("utf-8", "backslashreplace")[: PACKET // 2]


def interval(seconds: float) -> bytes:
    """Return the request for an interval."""
    return b"I" + struct.pack("<d", seconds)


def requested_interval(packet: bytes) -> float:
    """Return what `interval` packed."""
    return float(struct.unpack("<d", packet[1:])[0])


def packets(frame: Sent) -> Iterator[bytes]:
    """Yield a frame as packets; its evidence goes in batches, lest a first frame needs its size several times."""
    taken, monotonic, evidence, ran = frame
    for at in range(0, len(evidence), BATCH):
        rows = [
            (e.key, _NUMBERS[e.outcome], e.data, e.detail, e.taken, e.monotonic, e.duration, e.stderr, e.exit)
            for e in evidence[at : at + BATCH]
        ]
        batch = marshal.dumps(rows)
        last = (len(batch) - 1) // _ROOM * _ROOM
        for start in range(0, last, _ROOM):
            yield b"P" + batch[start : start + _ROOM]
        yield b"B" + batch[last:]
    marks = [(name, mark.started, mark.duration) for name, mark in ran.items()]
    yield b"E" + marshal.dumps((taken, monotonic, marks))


class FrameAssembly(Struct):
    """Frames out of packets, on the parent's side. Numbers continue from worker to worker."""

    number: int = 0
    worker: int | None = None
    """Process number of the worker that sends."""
    trouble: str = ""
    """Why the last worker ended, until the next one sends a frame."""
    note: str = ""
    began: bool = False
    """Whether a worker began since this was last set to False."""
    _parts: list[bytes] = field(default_factory=list)
    _evidence: list[Evidence] = field(default_factory=list)

    def add(self, packet: bytes) -> Frame | None:
        """Take a packet; return the frame that it completes."""
        kind, rest = packet[:1], packet[1:]
        if kind == b"P":
            self._parts.append(rest)
        elif kind == b"B":
            batch, self._parts = b"".join((*self._parts, rest)), []
            rows = marshal.loads(batch)  # noqa: S302  # our own child wrote it
            same: dict[bytes, bytes] = {}  # thousands of small files say the same
            self._evidence += [
                Evidence(key, _OUTCOMES[outcome], same.setdefault(data, data), *rest)
                for key, outcome, data, *rest in rows
            ]
        elif kind == b"E":
            return self._complete(rest)
        elif kind == b"H":
            self._parts, self._evidence = [], []
            self.worker = int(rest)
            self.began = True
        elif kind == b"X":
            self.worker = None
            self.trouble = rest.decode("utf-8", "replace")
        elif kind == b"N":
            self.note = rest.decode("utf-8", "replace")
        return None

    def _complete(self, end: bytes) -> Frame:
        taken, monotonic, marks = marshal.loads(end)  # noqa: S302
        evidence, self._evidence = tuple(self._evidence), []
        self.trouble = ""
        self.number += 1
        return Frame(self.number, taken, monotonic, evidence, {name: RunMark(*mark) for name, *mark in marks})
