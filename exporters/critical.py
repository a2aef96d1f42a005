"""Captures of critical findings: the minutes before and after each new one, bounded in number and size.

One thread adds frames; another one reports findings.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from sdstop.core.evidence import Frame, Origin, dated, slug
from sdstop.core.finding import Severity
from sdstop.core.format import moment, safe
from sdstop.core.session import Look
from sdstop.core.timeline import Timeline
from sdstop.exporters.capture import CaptureWriter, Unwritable

PREFIX, SUFFIX = "sdstop-critical-", ".tar.gz"
"""Beginning and end of the names of these captures; other files of the directory are not touched."""
_SETTLED = 75.0
"""Seconds after the first frame in which findings are those that the exporter found when it started, not new ones."""
_RESTED = 3600.0
"""Seconds that a finding has to be absent until it counts as new again, so that a flapping one fills no directory."""


class CriticalLimits(Struct, frozen=True):
    """Seconds kept before and after a finding, and the most captures and bytes that are kept of all of them."""

    before: float = 300.0
    after: float = 300.0
    captures: int = 10
    bytes: int = 1 << 30


class CriticalCaptures:
    """Captures in one directory. Failures set `trouble`."""

    def __init__(self, folder: Path, origin: Origin, limits: CriticalLimits, settled: float = _SETTLED) -> None:
        """Start with the first frame; `settled` are the seconds in which findings are not new."""
        self.written = 0
        """Captures written so far."""
        self.trouble = ""
        """Why the newest capture could not be written, "" if it was."""
        self.origin = origin
        """Node and policy of the next captures."""
        self._folder = folder
        self._limits = limits
        self._settled = settled
        self._timeline = Timeline(limits.before + limits.after)
        self._began: float | None = None
        self._seen: dict[str, float] = {}
        self._pending: tuple[float, float, str] | None = None
        self._lock = threading.Lock()

    def look(self, look: Look) -> None:
        """Take note of the critical findings of a judged frame."""
        if look.held is not None:
            return
        now = look.now.monotonic
        with self._lock:
            self._began = now if self._began is None else self._began
            for finding in look.judgement.findings:
                if finding.severity is not Severity.CRITICAL or finding.standing:
                    continue
                last = self._seen.get(finding.id)
                self._seen[finding.id] = now
                new = last is None or now - last > _RESTED
                if new and now - self._began >= self._settled and self._pending is None:
                    self._pending = (now, look.now.taken, finding.rule)
            self._seen = {key: at for key, at in self._seen.items() if now - at <= _RESTED}

    def add(self, frame: Frame) -> None:
        """Keep a frame, and write the capture whose last minute it ends."""
        self._timeline.append(frame)
        with self._lock:
            pending = self._pending
        if pending is not None and frame.monotonic - pending[0] >= self._limits.after:
            self._write(pending)

    def close(self) -> None:
        """Write the capture that is not complete yet: the exporter ends."""
        with self._lock:
            pending = self._pending
        if pending is not None:
            self._write(pending)

    def _write(self, pending: tuple[float, float, str]) -> None:
        with self._lock:
            self._pending = None
        at, taken, rule = pending
        frames = self._timeline.frames
        start = next((place for place, each in enumerate(frames) if each.monotonic >= at - self._limits.before), 0)
        when = f"{moment(taken):%Y%m%dT%H%M%SZ}" if dated(taken) else f"{at:.0f}"
        origin = self.origin
        host = slug(origin.name.encode("utf-8", "replace").decode())[:60]
        path = self._folder / f"{PREFIX}{host}-{when}-{rule}{SUFFIX}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._drop(keep=self._limits.captures - 1)
            with CaptureWriter(
                path, origin.name, privileged=origin.privileged, facts=origin.facts, collectors=origin.collectors
            ) as writer:
                for frame in self._timeline.recall(start, len(frames)):
                    writer.add(frame)
                writer.finish()
            self._drop(keep=self._limits.captures)
        except Unwritable as error:
            self.trouble = str(error)
            self._partial(path).unlink(missing_ok=True)  # a full disk needs the room
            return
        except OSError as error:
            self.trouble = f"{safe(self._folder)} cannot be written: {error.strerror}"
            return
        self.written += 1
        self.trouble = "" if path.exists() else f"a capture exceeds {self._limits.bytes} bytes and was removed"

    @staticmethod
    def _partial(path: Path) -> Path:
        return path.with_name(f"{path.name}.part")

    def _drop(self, keep: int) -> None:
        """Remove the oldest captures beyond the limits, and those that a crash left. Raises OSError."""
        for left in self._folder.glob(f"{PREFIX}*{SUFFIX}.part"):
            left.unlink(missing_ok=True)
        known = sorted(_files(self._folder), key=lambda each: (each[1].st_mtime, each[0].name))
        size = sum(stat.st_size for _, stat in known)
        while known and (len(known) > max(keep, 0) or size > self._limits.bytes):
            path, stat = known.pop(0)
            path.unlink(missing_ok=True)
            size -= stat.st_size


def _files(folder: Path) -> Iterable[tuple[Path, os.stat_result]]:
    """Yield the captures of a directory."""
    for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
        if path.is_file() and not path.is_symlink():
            yield path, path.stat()
