"""Frames of the running exporter, for a dashboard that does not sample itself."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator

from msgspec.structs import replace

from sdstop.core.evidence import Frame
from sdstop.exporters.local.client import LocalError, connected, reason, request
from sdstop.exporters.local.frames import FrameHeader, frame_of, header_of

OPENING = 5.0
"""Maximum seconds until the exporter has sent its first line."""
_LARGEST = 256 << 20
"""Maximum bytes of a line."""
_MOST = 4 << 20
"""Bytes read at once, so that keys are not delayed by a first frame of a large node."""


class AttachedFrames:
    """Source of the frames that an exporter judges. No method but the constructor and `frames` waits.

    Frames are numbered from 1. The exporter chooses the interval and the sources.
    """

    fixed = True
    """The interval and the sources are not those of the dashboard."""

    def __init__(self, path: str) -> None:
        """Connect to the socket. Raises LocalError within OPENING seconds."""
        self.trouble = ""
        """Why no more frames arrive; "" while they can."""
        self.note = ""
        self._held = bytearray()
        self._number = 0
        self.began = time.monotonic()
        """Time before which frames are those that the exporter had already."""
        end = self.began + OPENING
        try:
            self._socket = connected(path, OPENING)
        except OSError as error:
            raise LocalError(reason(error)) from None
        try:
            self._socket.sendall(request("frames"))
            self.header: FrameHeader = header_of(self._first(end))
        except OSError as error:
            self.close()
            raise LocalError("no answer" if isinstance(error, TimeoutError) else reason(error)) from None
        except LocalError:
            self.close()
            raise
        self._socket.setblocking(False)  # noqa: FBT003  # takes no keyword
        self.interval = self.header.interval
        """Seconds between frames."""

    @property
    def alive(self) -> bool:
        """Whether more frames can arrive."""
        return not self.trouble

    def fileno(self) -> int:
        """Return the descriptor that is readable if `receive` has data, -1 if no more can arrive."""
        return self._socket.fileno()

    def receive(self) -> list[Frame]:
        """Return the frames received since the last call, possibly none. Never waits."""
        if self.alive and not self._held.count(b"\n"):
            self._read()
        frames = []
        while self.alive and (end := self._held.find(b"\n")) >= 0:
            line = bytes(self._held[:end])
            del self._held[: end + 1]
            try:
                self._number += 1
                frames.append(replace(frame_of(line), number=self._number))
            except LocalError as error:
                self._lose(str(error))
        return frames

    def frames(self, seconds: float | None = None) -> Iterator[Frame]:
        """Yield frames as they arrive until the first and the last are `seconds` apart, or none arrive any more."""
        first: float | None = None
        while self.alive:
            for frame in self.receive():
                first = frame.monotonic if first is None else first
                yield frame
                if seconds is not None and frame.monotonic - first >= seconds - self.interval / 2:
                    return
            if not self.trouble and not select.select([self._socket], [], [], max(3 * self.interval, OPENING))[0]:
                return

    def rescan(self) -> None:
        """Do nothing: the exporter chooses the sources."""

    def set_interval(self, seconds: float) -> None:
        """Do nothing: the exporter decides on the interval."""

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _first(self, end: float) -> bytes:
        while (at := self._held.find(b"\n")) < 0:
            self._socket.settimeout(max(end - time.monotonic(), 0.001))
            part = self._socket.recv(1 << 16)
            if not part or len(self._held) > _LARGEST:
                raise LocalError("the exporter closed the connection")
            self._held += part
        line = bytes(self._held[:at])
        del self._held[: at + 1]
        return line

    def _read(self) -> None:
        """Take over what has arrived."""
        taken = 0
        while taken < _MOST:
            try:
                part = self._socket.recv(1 << 18)
            except BlockingIOError:
                return
            except OSError as error:
                self._lose(reason(error))
                return
            if not part:
                self._lose("the exporter has ended")
                return
            self._held += part
            taken += len(part)
            if len(self._held) > _LARGEST:
                self._lose("a frame is too large")
                return

    def _lose(self, why: str) -> None:
        self.trouble = why
        self._socket.close()
