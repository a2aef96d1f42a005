"""Seconds of a synthetic node: its counters move, who is due reads it, and a frame says what changed.

What the sampler's processes do, in one process, so that a clock can stand between the steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tree import Counters

from sdstop.collectors import BUILTIN
from sdstop.core.collector import LIVE, Collector
from sdstop.core.evidence import Evidence, Frame, RunMark
from sdstop.core.host import Host
from sdstop.core.recording import RecordingHost
from sdstop.node.live import LiveHost
from sdstop.sampler.runner import run
from sdstop.sampler.scheduler import ChangeFilter, Sent
from sdstop.sampler.wire import FrameAssembly, packets

START = 1_700_000_000.0
LIVELY = tuple(collector for collector in BUILTIN if collector.pace <= LIVE)
"""Who is read every second."""
SLOW = tuple(collector for collector in BUILTIN if collector.pace > LIVE)


def read(host: Host, collectors: tuple[Collector, ...]) -> list[Evidence]:
    """Let collectors read, and return what they read."""
    evidence: dict[str, Evidence] = {}
    for collector in collectors:
        recording = RecordingHost(host)
        run(collector, recording)
        evidence.update(recording.evidence)
    return list(evidence.values())


def look(host: Host) -> None:
    """Ask the fingerprints of who is not due, as every second does."""
    for collector in SLOW:
        if collector.fingerprint is not None:
            collector.fingerprint(RecordingHost(host))


def sent(number: int, evidence: list[Evidence], ran: tuple[Collector, ...]) -> Sent:
    """Return what the worker sends of a second."""
    marks = {collector.name: RunMark(float(number), 0.01) for collector in ran}
    return START + number, float(number), evidence, marks, False


def carried(frame: Sent, assembly: FrameAssembly) -> Frame:
    """Return a frame after it went over the wire. Raises ValueError if it does not come out."""
    for packet in packets(frame):
        for arrived in assembly.add(packet):
            return arrived
    raise ValueError("a frame has no end")


def due(number: int) -> tuple[Collector, ...]:
    """Return who runs in the second of that number, from 1."""
    return tuple(c for c in BUILTIN if c.pace <= LIVE or number == 1 or (number - 1) % c.pace == 0)


def frames(root: Path, count: int, *, independent: bool = False, idle: float = 0.0) -> Iterator[Frame]:
    """Yield the frames of so many seconds, as the sampler would send them; see Counters for how they move."""
    host, delta, assembly = LiveHost(str(root), BUILTIN), ChangeFilter(), FrameAssembly()
    counters = Counters(root, independent=independent, idle=idle)
    try:
        for number in range(1, count + 1):
            ran = due(number)
            yield carried(sent(number, delta.news(read(host, ran)), ran), assembly)
            counters.advance()
    finally:
        counters.close()
