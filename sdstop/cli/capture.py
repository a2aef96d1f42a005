"""`sdstop capture`: record raw evidence, written as it is taken, and findings."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from sdstop.cli import output
from sdstop.cli.problem import Problem
from sdstop.cli.watch import Watch, begin
from sdstop.collectors.block.devices import BlockDevice
from sdstop.core.evidence import Frame
from sdstop.core.format import plural, safe
from sdstop.core.joins import Naming
from sdstop.core.session import Session
from sdstop.exporters.capture import CaptureWriter, Unwritable, conclusions
from sdstop.exporters.report.series import ReportSeries
from sdstop.readings.cache import Cache

if TYPE_CHECKING:
    from sdstop.redaction.redactor import Redactor


def run(options: argparse.Namespace) -> int:
    """Write a capture; a signal ends it early, and the frames so far are kept. Raises Problem."""
    with begin(options) as watch, _signals() as ended:
        session, origin, series = watch.session(watch.frames_kept), watch.origin, ReportSeries()
        try:
            with CaptureWriter(
                options.output, origin.name, privileged=origin.privileged, facts=origin.facts,
                collectors=origin.collectors,
            ) as writer:  # fmt: skip
                _record(watch, session, series, writer, ended, options.duration)
                if not session.frames_seen:
                    raise Problem("ended before the first frame", ended.code)
                writer.finish(conclusions(session, series))
        except Unwritable as error:
            raise Problem(str(error)) from error
        mapped = _checked(watch.redactor, options.output) if watch.redactor is not None else ""
    early = ", ended early" if ended.code else ""
    output.say(f"sdstop: {safe(options.output)}: {plural(session.frames_seen, 'frame')}{early}{mapped}")
    return ended.code


def _checked(redactor: Redactor, path: str) -> str:
    """Check a redacted capture for leaks and write the map of replacements beside it; return a summary."""
    from sdstop.cli.redacting import scan_for_leaks, write_map

    scan_for_leaks(redactor, path)
    mapped = write_map(redactor, path)
    count = sum(name != made for names in redactor.map().values() for name, made in names.items())
    told = f"; replaced {plural(count, 'name')} from {plural(len(redactor.sources), 'source')}"
    if redactor.kept:
        told += f"; kept {', '.join(map(safe, sorted(redactor.kept)))}: also words of other fields"
    if redactor.changed:
        told += f"; changed readings of {', '.join(sorted(redactor.changed))}"
    return f"{told}; the map is in {safe(mapped)}, which stays here"


_AT_ONCE, _TOGETHER = 3, 30
"""Number of first frames judged immediately, for the warnings, and batch size of later ones."""


class _Interrupted(Exception):  # noqa: N818
    """Raised by a signal while waiting for a frame."""


class _StopRequest:
    """Stop request by a signal: immediate while waiting for a frame, otherwise after the current frame."""

    def __init__(self) -> None:
        self.code = 0
        self.waiting = False

    def signalled(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.code = 128 + number
        if self.waiting:
            self.waiting = False
            raise _Interrupted


@contextmanager
def _signals() -> Iterator[_StopRequest]:
    end = _StopRequest()
    before = {number: signal.signal(number, end.signalled) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _record(
    watch: Watch, session: Session, series: ReportSeries, writer: CaptureWriter, ended: _StopRequest, seconds: float
) -> None:
    told = output.progress(seconds) if watch.sampler is not None else lambda _: None
    frames = iter(watch.frames(seconds))
    start: float | None = None
    where = ""
    judging = _SessionFeeder(session, series)
    try:
        while not ended.code:
            ended.waiting = True
            frame = next(frames, None)
            ended.waiting = False
            if frame is None:
                break
            start = frame.monotonic if start is None else start
            writer.add(frame)
            judging.add(frame)
            told(frame.monotonic - start)
            if watch.sampler is not None and not where and not judging.waiting:
                where = _stands_on(session, writer.path)
                if where:
                    output.clear_progress()
                    output.say(f"sdstop: {where}")
    except _Interrupted:
        for frame in watch.held_back():
            writer.add(frame)
            judging.add(frame)
    finally:
        ended.waiting = False
        output.clear_progress()
    judging.catch_up()


class _SessionFeeder:
    """Feeder of a session and a series: the first frames immediately, later ones in batches.

    Results are not needed before the end, and waking up the processor for each frame doubles the CPU time.
    """

    def __init__(self, session: Session, series: ReportSeries) -> None:
        self._session = session
        self._series = series
        self.waiting: list[Frame] = []

    def add(self, frame: Frame) -> None:
        self.waiting.append(frame)
        if self._session.frames_seen < _AT_ONCE or len(self.waiting) >= _TOGETHER:
            self.catch_up()

    def catch_up(self) -> None:
        for frame in self.waiting:
            self._series.add(self._session.feed(frame).now)
        self.waiting.clear()


_LOOKED_AT = frozenset({"md", "bcache", "zvol", "drbd", "nbd", "aoe"})


def _stands_on(session: Session, path: Path) -> str:
    """Return a warning if the capture is written to a monitored array, cache or network disk, otherwise ""."""
    try:
        device = path.absolute().parent.stat().st_dev
    except OSError:
        return ""
    window = session.head().window
    target = window.topology.named(Naming.NUMBER, f"{os.major(device)}:{os.minor(device)}")
    names = window.topology.devices(target.name) if target is not None else ()
    rows = {row.device: row for row in window.rows(BlockDevice).values()}
    cached = {row.device for row in window.rows(Cache).values()}
    found = [name for name in names if name in cached or (name in rows and rows[name].kind in _LOOKED_AT)]
    if not found:
        return ""
    return f"warning: {safe(path)} is on {safe(found[0])}, which is being measured"
