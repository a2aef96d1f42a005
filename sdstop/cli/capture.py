"""`sdstop capture`: raw evidence and what was found, written while it is taken."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from sdstop.cli import output
from sdstop.cli.problem import Problem
from sdstop.cli.watch import Watch, begin
from sdstop.exporters.capture import CaptureWriter, Unwritable, conclusions
from sdstop.exporters.course import Course
from sdstop.exporters.text import plural
from sdstop.format import safe
from sdstop.session import Session


def run(options: argparse.Namespace) -> int:
    """Write a capture; a signal ends it early, and what was taken is kept. Raises Problem."""
    with begin(options) as watch, _signals() as ended:
        session, origin, course = watch.session(watch.frames_kept), watch.origin, Course()
        try:
            with CaptureWriter(
                options.output, origin.name, privileged=origin.privileged, facts=origin.facts,
                collectors=origin.collectors,
            ) as writer:  # fmt: skip
                _record(watch, session, course, writer, ended, options.duration)
                if not session.frames_seen:
                    raise Problem("ended before the first frame", ended.code)
                writer.finish(conclusions(session, course))
        except Unwritable as error:
            raise Problem(str(error)) from error
    output.say(
        f"sdstop: {safe(options.output)}: {plural(session.frames_seen, 'frame')}{', ended early' * bool(ended.code)}"
    )
    return ended.code


class _Ended(Exception):  # noqa: N818
    """A signal came while nothing was being written."""


class _End:
    """Whether a signal asked for the end: while a frame is awaited it comes at once, else after the frame."""

    def __init__(self) -> None:
        self.code = 0
        self.waiting = False

    def signalled(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.code = 128 + number
        if self.waiting:
            self.waiting = False
            raise _Ended


@contextmanager
def _signals() -> Iterator[_End]:
    end = _End()
    before = {number: signal.signal(number, end.signalled) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _record(watch: Watch, session: Session, course: Course, writer: CaptureWriter, ended: _End, seconds: float) -> None:
    told = output.progress(seconds) if watch.sampler is not None else lambda _: None
    frames = iter(watch.frames(seconds))
    start: float | None = None
    try:
        while not ended.code:
            ended.waiting = True
            frame = next(frames, None)
            ended.waiting = False
            if frame is None:
                break
            start = frame.monotonic if start is None else start
            writer.add(frame)
            course.add(session.feed(frame).now)
            told(frame.monotonic - start)
    except _Ended:
        pass
    finally:
        ended.waiting = False
        output.clear_progress()
