"""Recorder beside an exporter: one sampler for both, and a thread of its own for the disk.

A disk that is full, gone or hangs costs frames of the recording, never a scrape: frames that cannot be written are
counted, and those that wait are joined, so that the next one that is written holds all that changed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from sdstop.core.evidence import Frame, Origin
from sdstop.core.format import safe
from sdstop.core.guard import Guard, Part
from sdstop.core.judging import merged
from sdstop.exporters.critical import CriticalCaptures
from sdstop.exporters.recording import NotRecorded, RecordingLimits, RecordingWriter

_MOST_WAITING = 64
"""Maximum frames that wait for the disk; older ones are joined."""
_AGAIN = 60.0
"""Seconds of frames until a recording that could not be opened is tried again."""
_PARTING = 5.0
"""Seconds that closing waits for the last block; a disk that hangs must not keep the exporter."""


class RecorderState(Struct, frozen=True):
    """State of a recorder: frames written to it and lost so far, bytes of the file, and why it fails, "" if not."""

    frames: int
    lost: int
    size: int
    trouble: str
    captures: int = 0
    """Captures of critical findings that were written so far."""


class Recorder:
    """Recording and captures of an exporter. No method waits for a disk, except `close`, for a moment."""

    def __init__(
        self,
        origin: Origin,
        guard: Guard,
        say: Callable[[str], None],
        path: Path | None = None,
        limits: RecordingLimits | None = None,
        critical: CriticalCaptures | None = None,
    ) -> None:
        """Record to `path`, keep captures of critical findings, or both; `say` gets a line when that begins to fail."""
        self._origin = origin
        self._guard = guard
        self._say = say
        self._path = path
        self._limits = limits or RecordingLimits()
        self._critical = critical
        self._writer: RecordingWriter | None = None
        self._owed: Frame | None = None
        self._tried: float | None = None
        self._refused = ""
        self._frames = self._joined = 0
        self._trouble = self._said = ""
        self._waiting: deque[Frame] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def renew(self, origin: Origin) -> None:
        """Write this policy of the node into new captures; a recording has that of its beginning."""
        self._origin = origin
        if self._critical is not None:
            self._critical.origin = origin

    def put(self, frame: Frame) -> None:
        """Hand over the next frame."""
        with self._changed:
            if len(self._waiting) >= _MOST_WAITING:
                self._waiting.appendleft(merged(self._waiting.popleft(), self._waiting.popleft()))
                self._joined += 1
            self._waiting.append(frame)
            self._changed.notify()

    @property
    def state(self) -> RecorderState:
        """The state by now."""
        writer = self._writer
        lost = writer.lost if writer is not None else 0
        made, wrong = (self._critical.written, self._critical.trouble) if self._critical is not None else (0, "")
        try:
            size = 0 if self._path is None else self._path.stat().st_size
        except OSError:
            size = 0
        return RecorderState(self._frames - lost, lost + self._joined, size, self._trouble or wrong, made)

    def close(self) -> None:
        """Write the last frames, and end."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join(_PARTING)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._ended:
                    self._changed.wait()
                frame = self._waiting.popleft() if self._waiting else None
            if frame is None:
                break
            self._guard.call(Part.RECORD, "frame", partial(self._write, frame), self._failed)
            self._report()
        self._guard.call(Part.RECORD, "end", self._finish, self._failed)

    def _failed(self, said: str) -> None:
        self._trouble = said

    def _write(self, frame: Frame) -> None:
        if self._critical is not None:
            self._critical.add(frame)
        if self._path is None:
            self._trouble = ""
            return
        whole = frame if self._owed is None else merged(self._owed, frame)
        writer = self._writer or self._opened(self._path, frame)
        if writer is None:  # the next frame holds the changes of this one
            self._owed = whole
            self._trouble = self._refused
            self._joined += 1
            return
        self._owed = None
        writer.add(whole)
        self._frames += 1
        self._trouble = writer.trouble

    def _opened(self, path: Path, frame: Frame) -> RecordingWriter | None:
        """Return the writer, None while it cannot be opened."""
        if self._tried is None or frame.monotonic - self._tried >= _AGAIN:
            self._tried = frame.monotonic
            try:
                self._writer = RecordingWriter(path, self._origin, self._limits)
            except NotRecorded as error:
                self._refused = f"{safe(path)} {error}"
        return self._writer

    def _report(self) -> None:
        """Say once that recording fails, and that it works again."""
        trouble = self.state.trouble
        if trouble != self._said:
            self._said = trouble
            self._say(f"sdstop: [record]: {f'failing: {trouble}; the exporter goes on' if trouble else 'works again'}")

    def _finish(self) -> None:
        if self._critical is not None:
            self._critical.close()
        if self._writer is not None:
            self._writer.close()


class LiveSource(Protocol):
    """Source of a live node's frames."""

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when frames are available."""

    def receive(self) -> list[Frame]:
        """Return the available frames without waiting."""

    @property
    def alive(self) -> bool:
        """Return whether more frames can arrive."""


class RecordedFrames:
    """Frames of a live node that are handed to a recorder, too."""

    def __init__(self, feed: LiveSource, recorder: Recorder) -> None:
        """Read from `feed`."""
        self._feed = feed
        self._recorder = recorder

    @property
    def alive(self) -> bool:
        """Whether more frames can arrive."""
        return self._feed.alive

    def fileno(self) -> int:
        """Return the descriptor that is readable when frames are available."""
        return self._feed.fileno()

    def receive(self) -> list[Frame]:
        """Return the available frames without waiting."""
        frames = self._feed.receive()
        for frame in frames:
            self._recorder.put(frame)
        return frames
