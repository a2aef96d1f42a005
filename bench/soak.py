"""A soak: what a process of an exporter keeps after simulated hours with devices that are added and removed.

    python bench/soak.py [--hours 24] [--disks 20]

Prints a line of JSON for each simulated hour: resident MB, threads, open descriptors. Frames are those of a synthetic
node at 1 Hz, fed without waiting; every MINUTE a disk with a name of its own is added for half of it, and a page is
written every 15 s. Garbage is collected when an exporter collects it. An hour takes about a minute of CPU.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import seconds
import tree
from memory import resident
from msgspec.structs import replace

from sdstop.cli.command import SERVED, collect_seldom
from sdstop.collectors import BUILTIN
from sdstop.collectors.system.readings import PRESSURES
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome
from sdstop.core.history import KEEP
from sdstop.core.session import Session
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.readings.disk import DISKSTATS
from sdstop.rules import RULES

MINUTE, HOUR, SCRAPE = 60, 3600, 15


def pressed(frame: Frame) -> Frame:
    """Return a frame in which tasks wait for I/O, as on every node with work, and whose kernel lacks the last file."""
    stalled = f"some avg10=0.10 avg60=0.10 avg300=0.10 total={frame.number}\n".encode()
    more = Evidence(f"{PRESSURES}/io", data=stalled), Evidence(f"{PRESSURES}/irq", Outcome.ABSENT)
    known = {item.key for item in more}
    return replace(frame, evidence=(*(item for item in frame.evidence if item.key not in known), *more))


def plugged(frame: Frame) -> Frame:
    """Return a frame in which a disk with the number of its minute as a name exists in the first half of the minute."""
    minute, second = divmod(frame.number, MINUTE)
    if second >= MINUTE // 2:
        return frame
    row = f" 259 {minute} nvme{minute}n1 {second} 0 {second * 8} {second} 0 0 0 0 0 {second} {second} 0 0 0 0 0 0\n"
    evidence = (
        replace(item, data=item.data + row.encode()) if item.key == DISKSTATS else item for item in frame.evidence
    )
    return replace(frame, evidence=tuple(evidence))


def hours(root: Path, count: int, steps: int) -> Iterator[dict[str, float]]:
    """Yield what is kept after each of `steps` parts of so many seconds."""
    exposition = Exposition(Session(Origin("bench", live=True), BUILTIN, RULES, remember=KEEP))
    for frame in seconds.frames(root, count):
        exposition.feed(pressed(plugged(frame)))
        if frame.number % SCRAPE == 0:
            exposition.page()
        if frame.number % (count // steps) == 0:
            descriptors = len(list(Path("/proc/self/fd").iterdir()))
            yield {
                "hours": frame.number / HOUR, "resident": resident(), "threads": threading.active_count(),
                "descriptors": descriptors,
            }  # fmt: skip


def main() -> None:
    """Feed the frames."""
    parser = argparse.ArgumentParser(description="What an exporter keeps after simulated hours.")
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--disks", type=int, default=20)
    options = parser.parse_args()
    collect_seldom(SERVED)
    count = round(options.hours * HOUR)
    with tempfile.TemporaryDirectory(prefix="sdstop-soak-") as scratch:
        root = Path(scratch) / "node"
        tree.build(root, options.disks)
        for known in hours(root, count, max(round(options.hours), 6)):
            print(json.dumps(known), flush=True)


if __name__ == "__main__":
    main()
