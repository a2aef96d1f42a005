"""A day of the flight recorder: bytes from simulated hours, and CPU and bytes beside atop and sadc.

    python bench/days.py NODE [--seconds 3600] [--independent | --idle 0.9]   one node, simulated
    python bench/run.py --only recording [--disks 10,100,1000]                all of it

A simulated hour has the frames of a synthetic node at 1 Hz, written as `sdstop record` writes them; the day is 24 times
the growth after the first minute, which has what is stored once. Nothing waits, so an hour takes a minute or two.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import peers
import tree as nodes
from claims import Claim
from seconds import frames
from subjects import Subject, below, environment, python, sdstop, window_of

from sdstop.core.evidence import Origin
from sdstop.exporters.recording import RecordingLimits, RecordingWriter

DAY = 86400.0
FIRST = 60
"""Seconds until what is stored once is stored."""


def simulated(root: Path, target: Path, seconds: int, *, independent: bool = False, idle: float = 0.0) -> float:
    """Return the megabytes of a day, from so many simulated seconds at 1 Hz."""
    target.unlink(missing_ok=True)
    first = 0
    with RecordingWriter(target, Origin("node"), RecordingLimits(bytes=1 << 40)) as writer:
        for number, frame in enumerate(frames(root, seconds, independent=independent, idle=idle), 1):
            writer.add(frame)
            if number == FIRST:
                writer.flush()
                first = stored(target)
    last = stored(target)
    target.unlink()
    return (first + (last - first) * (DAY - FIRST) / (seconds - FIRST)) / 1e6


def stored(path: Path) -> int:
    """Return the bytes that a recording stores, whichever part of them is still in its log."""
    with contextlib.closing(sqlite3.connect(path)) as store:
        (pages,) = store.execute("PRAGMA page_count").fetchone()
        (free,) = store.execute("PRAGMA freelist_count").fetchone()
        (size,) = store.execute("PRAGMA page_size").fetchone()
    return int(pages - free) * int(size)


def size_of(path: Path) -> int:
    """Return the bytes that a recorder has stored."""
    return stored(path) if path.suffix == ".sdstop" else path.stat().st_size


def recorders(root: Path, scratch: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """Yield those that are here: name, file, and what runs it at 1 Hz over a tree."""
    own = scratch / "day.sdstop"
    yield "sdstop record", own, sdstop("record", "-o", own, "--root", root)
    if (path := peers.ATOP.path) is not None:
        file = scratch / "day.atop"
        yield "atop", file, below(root, [path, "-w", str(file), "1"])
    if (path := peers.SADC.path) is not None:
        file = scratch / "day.sa"
        yield "sadc", file, below(root, [path, "-S", "DISK", "1", str(file)])


@contextlib.contextmanager
def moving(root: Path, *words: str) -> Iterator[None]:
    """Let a tree's counters move."""
    with Subject("counters", python(Path(nodes.__file__), "advance", root, *words)):
        yield


def beside(root: Path, scratch: Path, seconds: float, words: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the milliseconds of CPU a second, and the megabytes of a day, of each recorder in the same seconds."""
    for old in scratch.glob("day.*"):
        old.unlink()
    chosen = list(recorders(root, scratch))
    with contextlib.ExitStack() as stack:
        stack.enter_context(moving(root, *words))
        running = [stack.enter_context(Subject(name, argv)) for name, _, argv in chosen]
        time.sleep(FIRST + 5)  # the first blocks have what is stored once
        before = [size_of(file) for _, file, _ in chosen]
        spent = window_of(running, seconds)
        after = [size_of(file) for _, file, _ in chosen]
    return {
        name: (cost, (grown - start) * DAY / seconds / 1e6)
        for (name, _, _), cost, start, grown in zip(chosen, spent, before, after, strict=True)
    }


def claims(trees: dict[int, Path], scratch: Path, *, covers: bool, quick: bool) -> Iterator[Claim]:
    """Yield a day of 100 disks, simulated, and the recorders beside each other, of each size."""
    for size, root in trees.items():
        for what, words, target in (
            ("nine in ten idle", ("--idle", "0.9"), 30.0), ("all fields independent", ("--independent",), 200.0),
        ):  # fmt: skip
            hour = 3600 if size <= 100 and not quick else 180
            argv = python(Path(__file__), root, "--seconds", str(hour), "--scratch", scratch, *words)
            done = subprocess.run(argv, check=True, capture_output=True, env=environment())
            known = target if size == 100 else None
            yield Claim(
                f"a day of {size} disks at 1 Hz, {what}, from {hour} simulated seconds", "MB", json.loads(done.stdout),
                target=known,
            )  # fmt: skip
        if not covers:
            yield Claim(f"recording {size} disks beside atop and sadc", "ms CPU/s", missing="wants root and unshare")
            continue
        window = 30.0 if quick else 120.0
        found = beside(root, scratch, window, ("--idle", "0.9"))
        ours = found.pop("sdstop record")
        for name in ("atop", "sadc"):
            what = f"recording {size} disks at 1 Hz, nine in ten idle"
            if name not in found:
                yield Claim(what, "ms CPU/s", peer=name, missing="none here")
                continue
            yield Claim(f"{what}: CPU", "ms CPU/s", ours[0], name, found[name][0])
            yield Claim(f"{what}: a day", "MB", ours[1], name, found[name][1])


def main() -> None:
    """Simulate one node, and print the megabytes of a day."""
    parser = argparse.ArgumentParser(description="A simulated day of a recording.")
    parser.add_argument("root", type=Path)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--scratch", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--independent", action="store_true")
    parser.add_argument("--idle", type=float, default=0.0)
    options = parser.parse_args()
    copied = options.scratch / "day-node"  # the counters of a tree go on from where they are
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(options.root, copied, symlinks=True)
    target = options.scratch / "day-simulated.sdstop"
    found = simulated(copied, target, options.seconds, independent=options.independent, idle=options.idle)
    shutil.rmtree(copied)
    print(json.dumps(round(found, 3)))


if __name__ == "__main__":
    main()
