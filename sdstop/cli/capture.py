"""`sdstop capture`: record raw evidence, written as it is taken, and findings."""

from __future__ import annotations

import argparse
import enum
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from sdstop.cli import output
from sdstop.cli.opening import begin
from sdstop.cli.problem import Problem
from sdstop.cli.watch import Watch
from sdstop.collectors.block.readings import BlockDevice
from sdstop.core.ending import end_soon
from sdstop.core.evidence import Frame
from sdstop.core.format import first_of, plural, safe
from sdstop.core.joins import Naming
from sdstop.core.session import Session
from sdstop.exporters.capture import NOTHING, CaptureWriter, Conclusions, Unwritable, conclusions
from sdstop.exporters.report.series import ReportSeries
from sdstop.readings.cache import Cache

if TYPE_CHECKING:
    from sdstop.redaction.redactor import Redactor


def run(options: argparse.Namespace) -> int:
    """Write a capture; a signal ends it early, and the frames so far are kept. Raises Problem."""
    with begin(options) as watch, _signals(lambda: _unfinished(options.output)) as ended:
        session, origin, series = watch.session(watch.frames_kept), watch.origin, ReportSeries()
        judging = _SessionFeeder(session, series)
        try:
            with CaptureWriter(
                options.output, origin.name, privileged=origin.privileged, facts=origin.facts,
                collectors=origin.collectors,
            ) as writer:  # fmt: skip
                frames = _record(watch, judging, writer, ended, options.duration)
                if not frames and not ended.code:
                    raise Problem("no frame of the period can be read")
                if not frames:
                    raise Problem("interrupted before the first frame", ended.code)
                concluded = _concluded(judging, ended)
                writer.finish(concluded)
        except Unwritable as error:
            raise Problem(str(error)) from error
        mapped = _checked(watch.redactor, options.output) if watch.redactor is not None else ""
    early = ", interrupted" if ended.code else ""
    blind = ", without findings; `sdstop --from` computes them" if concluded is NOTHING else ""
    part = f" of one of {len(watch.nodes)} nodes" if watch.nodes else ""
    faults = first_of(watch.recorded.faults) if watch.recorded is not None else ""
    late = "".join(f"; {each}" for each in (origin.late, faults) if each)
    output.say(f"sdstop: {safe(options.output)}: wrote {plural(frames, 'frame')}{part}{late}{early}{blind}{mapped}")
    return ended.code


def _unfinished(path: str) -> None:
    output.say(f"sdstop: {safe(path)}: interrupted; complete frames are kept")


def _concluded(judging: _SessionFeeder, ended: _StopRequest) -> Conclusions:
    """Return the findings, none if a signal leaves no time for them."""
    try:
        with ended.interruptible(Interruptible.WORK):
            judging.catch_up()
            return conclusions(judging.session, judging.series)
    except _Interrupted:
        return NOTHING


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
    return f"{told}; mapping saved in {safe(mapped)} (keep it private)"


_AT_ONCE, _TOGETHER = 3, 30
"""Number of first frames judged immediately, for the warnings, and batch size of later ones."""


class Interruptible(enum.Enum):
    """Work that a signal may interrupt: waiting for a frame at once, judging and concluding once TIME has passed."""

    FRAME = enum.auto()
    WORK = enum.auto()


TIME = 0.8
"""Seconds from a signal until judging is given up, so that the capture can be completed."""


class _Interrupted(BaseException):  # not to be isolated like a failing rule
    """Raised by a signal in interruptible work."""


class _StopRequest:
    """Stop request by a signal."""

    def __init__(self, unfinished: Callable[[], None]) -> None:
        self.code = 0
        self._unfinished = unfinished
        self._doing: Interruptible | None = None
        self._late = False

    def signalled(self, number: int, frame: FrameType | None) -> None:
        del frame
        if not self.code:
            self.code = 128 + number
            signal.setitimer(signal.ITIMER_REAL, TIME)
            if number == signal.SIGTERM:
                end_soon(self.code, self._unfinished)
        self._interrupt(Interruptible.FRAME)

    def late(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._late = True
        self._interrupt(Interruptible.WORK)

    @contextmanager
    def interruptible(self, doing: Interruptible) -> Iterator[None]:
        """Raise _Interrupted in this work when the time for it is over."""
        self._doing = doing
        try:
            if self._late or (self.code and doing is Interruptible.FRAME):
                raise _Interrupted
            yield
        finally:
            self._doing = None

    def _interrupt(self, doing: Interruptible) -> None:
        if self._doing is doing:
            self._doing = None
            raise _Interrupted


@contextmanager
def _signals(unfinished: Callable[[], None]) -> Iterator[_StopRequest]:
    end = _StopRequest(unfinished)
    before = {number: signal.signal(number, end.signalled) for number in (signal.SIGINT, signal.SIGTERM)}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, end.late)
    try:
        yield end
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _record(watch: Watch, judging: _SessionFeeder, writer: CaptureWriter, ended: _StopRequest, seconds: float) -> int:
    """Write frames and judge them, and return how many were written."""
    told = output.progress(seconds) if watch.sampler is not None else lambda _: None
    frames = iter(watch.frames(seconds))
    start: float | None = None
    where = ""
    count = 0
    try:
        while True:
            with ended.interruptible(Interruptible.FRAME):
                frame = next(frames, None)
            if frame is None:
                break
            start = frame.monotonic if start is None else start
            if watch.recorded is not None and watch.recorded.doubt(frame.number):
                continue  # a capture of it would show the state before the damage
            writer.add(frame)
            count += 1
            with ended.interruptible(Interruptible.WORK):
                judging.add(frame)
            told(frame.monotonic - start)
            if watch.sampler is not None and not where and not judging.waiting:
                where = _stands_on(judging.session, writer.path)
                if where:
                    output.clear_progress()
                    output.say(f"sdstop: {where}")
    except _Interrupted:
        for frame in watch.held_back():
            writer.add(frame)
            count += 1
            judging.waiting.append(frame)
    finally:
        output.clear_progress()
    return count


class _SessionFeeder:
    """Feeder of a session and a series: the first frames immediately, later ones in batches.

    Results are not needed before the end, and waking up the processor for each frame doubles the CPU time.
    """

    def __init__(self, session: Session, series: ReportSeries) -> None:
        self.session = session
        self.series = series
        self.waiting: list[Frame] = []

    def add(self, frame: Frame) -> None:
        self.waiting.append(frame)
        if self.session.frames_seen < _AT_ONCE or len(self.waiting) >= _TOGETHER:
            self.catch_up()

    def catch_up(self) -> None:
        for frame in self.waiting:
            self.series.add(self.session.feed(frame).now)
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
