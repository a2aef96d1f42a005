"""`sdstop record`: the flight recorder, which runs for weeks; `sdstop unpack`: a part of its file as a capture."""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

from sdstop.cli import output
from sdstop.cli.opening import begin
from sdstop.cli.problem import Problem
from sdstop.core.ending import end_soon
from sdstop.core.format import plural, safe

if TYPE_CHECKING:
    from sdstop.exporters.recording import RecordingWriter
    from sdstop.sampler import Sampler


def run(options: argparse.Namespace) -> int:
    """Record until a signal ends it. Raises Problem."""
    with begin(options) as watch:
        from sdstop.exporters.recording import NotRecorded, RecordingLimits, RecordingWriter

        limits = RecordingLimits(options.keep, options.max_size)
        try:
            with _signals() as ending, RecordingWriter(options.output, watch.origin, limits) as writer:
                count = _record(watch.live, writer, ending, safe(options.output))
        except NotRecorded as error:
            raise Problem(f"{safe(options.output)} {error}") from error
    if not ending.asked:
        raise Problem(f"the sampler process died: {watch.live.trouble}")
    why = f": {writer.trouble}" if writer.trouble else ""
    lost = f", lost {plural(writer.lost, 'frame')}{why}" if writer.lost else ""
    output.say(f"sdstop: {safe(options.output)}: recorded {plural(count, 'frame')}{lost}")
    return 1 if writer.trouble else 0


def unpack(options: argparse.Namespace) -> int:
    """Write a period of a recording as a capture. Raises Problem."""
    from sdstop.cli.capture import run as capture

    options.sources = [options.source]
    options.duration, options.collectors = 0.0, None
    return capture(options)


class _Ending:
    """End of the recorder by a signal; `descriptor` is readable then, so that a block is never interrupted."""

    def __init__(self) -> None:
        self.asked = False
        self.descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def signalled(self, number: int, frame: FrameType | None) -> None:
        del frame
        if not self.asked:
            self.asked = True
            end_soon(128 + number)
        os.eventfd_write(self.descriptor, 1)


def _record(sampler: Sampler, writer: RecordingWriter, ending: _Ending, path: str) -> int:
    """Write frames until the end, and return how many arrived; say when writing begins or ceases to fail."""
    poll = select.poll()
    poll.register(sampler.fileno(), select.POLLIN)
    poll.register(ending.descriptor, select.POLLIN)
    count, trouble = 0, ""
    while sampler.alive and not ending.asked:
        poll.poll()
        for frame in sampler.receive():
            writer.add(frame)
            count += 1
        if writer.trouble != trouble:
            trouble = writer.trouble
            failed = f"cannot be written: {trouble}; going on" if trouble else "is written again"
            output.say(f"sdstop: {path}: {failed} ({plural(writer.lost, 'frame')} lost)")
    return count


@contextlib.contextmanager
def _signals() -> Iterator[_Ending]:
    ending = _Ending()
    before = {number: signal.signal(number, ending.signalled) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(ending.descriptor)
