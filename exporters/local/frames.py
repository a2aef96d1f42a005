"""Frames as lines of JSON, as they cross the local socket: evidence in base64, times in seconds.

{"number": 71, "taken": 1767225600.0, "monotonic": 3600.5, "evidence": [{"key": "/proc/loadavg", ...}], "ran": {}}
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sdstop.core.evidence import Frame, Origin
from sdstop.exporters.local.client import VERSION, LocalError


class FrameOrigin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Node of the frames that follow: `facts` have its policy and zone, `collectors` the names of its sources."""

    name: str
    privileged: bool | None = None
    facts: Mapping[str, str] = {}
    collectors: tuple[str, ...] = ()


class FrameHeader(msgspec.Struct, frozen=True):
    """First line of a stream of frames; `interval` is in seconds."""

    sdstop: int
    origin: FrameOrigin
    interval: float


_HEADER = msgspec.json.Decoder(FrameHeader)
_FRAME = msgspec.json.Decoder(Frame)
_ENCODER = msgspec.json.Encoder()


def header_line(origin: Origin, interval: float) -> bytes:
    """Return the first line of a stream."""
    names = tuple(sorted(origin.collectors or ()))
    sent = FrameOrigin(origin.name, origin.privileged, dict(origin.facts), names)
    return _ENCODER.encode(FrameHeader(VERSION, sent, interval)) + b"\n"


def frame_line(frame: Frame) -> bytes:
    """Return a frame as a line."""
    return _ENCODER.encode(frame) + b"\n"


def header_of(line: bytes) -> FrameHeader:
    """Return the header in a line. Raises LocalError."""
    try:
        found = _HEADER.decode(line)
    except msgspec.MsgspecError:
        raise LocalError("not frames of sdstop") from None
    if found.sdstop != VERSION:
        raise LocalError("another version of sdstop")
    return found


def frame_of(line: bytes) -> Frame:
    """Return the frame in a line. Raises LocalError."""
    try:
        return _FRAME.decode(line)
    except msgspec.MsgspecError:
        raise LocalError("not a frame of sdstop") from None
