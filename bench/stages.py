"""What a frame costs, stage by stage: CPU milliseconds as JSON.

python bench/stages.py TREE --frames 15
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import seconds
from tree import Counters

from sdstop.cli.command import collect_seldom
from sdstop.collectors import BUILTIN
from sdstop.core.collector import providers_of
from sdstop.core.diagnosis import Diagnosis
from sdstop.core.evidence import Frame, Origin
from sdstop.core.history import History
from sdstop.core.replay import Replay
from sdstop.core.session import Look, Session
from sdstop.core.timeline import RING_SECONDS, Timeline
from sdstop.exporters.capture import CaptureWriter
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.node.live import LiveHost
from sdstop.rules import RULES
from sdstop.sampler.scheduler import ChangeFilter
from sdstop.sampler.wire import FrameAssembly

SETTLED = 75
"""Frames that are not counted, unless told otherwise: the windows of rules fill."""


class Stages:
    """The steps of a frame, each timed on its own."""

    def __init__(self, root: Path, capture: Path, settled: int) -> None:
        """Start before the first frame; so many frames are not counted."""
        self.settled = settled
        self.times: dict[str, list[float]] = {}
        self.first_bytes = 0
        self._capture = capture
        self._number = 0
        self._counters = Counters(root)
        self._host = LiveHost(str(root), BUILTIN, clock=lambda: float(self._number))
        self._node = LiveHost(collectors=BUILTIN)
        self._delta, self._assembly = ChangeFilter(), FrameAssembly()
        self._replay = Replay(BUILTIN)
        self._history = History(providers_of(BUILTIN))
        self._diagnosis = Diagnosis(RULES)
        self._ring = Timeline(RING_SECONDS)
        self._exposition = Exposition(Session(Origin("bench"), BUILTIN, RULES), BUILTIN)
        self._writer = CaptureWriter(capture, "bench")

    @contextmanager
    def clock(self, stage: str) -> Iterator[None]:
        """Add the CPU of a block to a stage."""
        began = time.process_time()
        yield
        self.times.setdefault(stage, []).append((time.process_time() - began) * 1000)

    def second(self, number: int) -> None:
        """Let one second pass."""
        self._number = number
        self._counters.advance()
        ran = seconds.LIVELY
        with self.clock("collect"):
            evidence = seconds.read(self._host, seconds.LIVELY)
            seconds.look(self._host)
        if number == 1:
            evidence += seconds.read(self._host, seconds.SLOW)
            ran = BUILTIN
        with self.clock("send"):
            frame = seconds.carried(seconds.sent(number, self._delta.news(evidence), ran), self._assembly)
        self._judge(frame)

    def _judge(self, frame: Frame) -> None:
        with self.clock("replay"):
            shot = self._replay.feed(frame)
        with self.clock("rates"):
            for collector in BUILTIN:
                for derivation in collector.derives:
                    list(shot.rows(derivation.target).values())
        with self.clock("rules"):
            self._history.add(shot)
            window = self._history.window(self._replay.host.evidence)
            assert window is not None
            self._diagnosis.add(window)
        with self.clock("remember"):
            self._ring.append(frame)
        self._exposition.observe(Look(frame.number, window, self._diagnosis.now, lambda: self._replay.host))
        with self.clock("page"):
            self._exposition.page()
        with self.clock("gzip"):
            self._exposition.page(packed=True)
        with self.clock("capture"):
            self._writer.add(frame)
        if frame.number == self.settled:
            self.first_bytes = self.written()

    def slow(self) -> None:
        """Read every slow source again, and note what that takes for each second of its pace.

        Sources that the kernel's events of block devices concern are read by them, and otherwise at their longest pace.
        """
        total = 0.0
        for collector in seconds.SLOW:
            host = self._node if collector.name == "processes" else self._host
            recorded = seconds.read(host, (collector,)) if host is self._node else []  # fills its caches
            began = time.process_time()
            recorded = seconds.read(host, (collector,))
            self._delta.news(recorded)
            total += (time.process_time() - began) * 1000 / collector.longest
        self.times["slow"] = [total] * (self.settled + 1)

    def written(self) -> int:
        """Return the bytes of the capture so far."""
        return sum(part.stat().st_size for part in self._capture.parent.iterdir())

    def close(self) -> None:
        """Let go of the files."""
        self._counters.close()
        self._writer.close()


def main() -> None:
    """Print the median of each stage."""
    parser = argparse.ArgumentParser(description="What a frame costs, stage by stage.")
    parser.add_argument("tree", type=Path)
    parser.add_argument("--frames", type=int, default=15)
    parser.add_argument("--settled", type=int, default=SETTLED)
    options = parser.parse_args()
    collect_seldom()
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder, "capture.tar.gz")
        stages = Stages(options.tree, capture, options.settled)
        for number in range(1, options.frames + options.settled + 1):
            stages.second(number)
        size = (stages.written() - stages.first_bytes) / options.frames
        stages.slow()
        stages.close()
    found = {stage: median(values[options.settled :]) for stage, values in stages.times.items()}
    print(json.dumps({**found, "capture_bytes": size}))


if __name__ == "__main__":
    main()
