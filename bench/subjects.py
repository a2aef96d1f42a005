"""Subjects: programs under measurement, with what they and their children cost.

CPU is that of the processes' own clocks, in nanoseconds, with threads that ended and children that were waited for;
memory is the proportional share (PSS), so that pages which a child shares with its parent count once.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Self

COLUMNS, LINES = 200, 60
"""Size of the terminal that dashboards are given."""

_TICKS = os.sysconf("SC_CLK_TCK")
_SHOWN = (("proc/diskstats", "/proc/diskstats"), ("proc/mdstat", "/proc/mdstat"), ("sys", "/sys"))


def below(root: Path, argv: Sequence[str]) -> list[str]:
    """Return what runs a program where the tree's files cover those of this machine, in a mount namespace of its own.

    For peers, which cannot all be told where to read. Wants root.
    """
    binds = [f'mount --bind "$0/{name}" {place}' for name, place in _SHOWN if Path(place).exists()]
    return ["unshare", "--mount", "sh", "-c", " && ".join([*binds, 'exec "$@"']), str(root), *argv]


def at_rest(scratch: Path, argv: Sequence[str]) -> list[str]:
    """Return what runs a program that sees disks without work, whatever else this machine does. Wants root."""
    counters = scratch / "diskstats"
    if not counters.exists():
        counters.write_bytes(Path("/proc/diskstats").read_bytes())
    return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /proc/diskstats && exec "$@"', str(counters), *argv]


@contextlib.contextmanager
def as_node(root: Path, argv: Sequence[str]) -> Iterator[list[str]]:
    """Give what runs a program where /proc and /sys are the tree and nothing else, as on the node. Wants root.

    A program finds itself in /proc, too: there the tree gets links to the kernel's own, which is at /mnt meanwhile.
    """
    selves = [root / "proc" / name for name in ("self", "thread-self")]
    for link in selves:
        link.symlink_to(Path("/mnt", link.name))
    binds = ["mount --rbind /proc /mnt", 'mount --bind "$0/sys" /sys', 'mount --bind "$0/proc" /proc']
    if Path("/run/udev").exists():
        binds.append('mount --bind "$0/run/udev" /run/udev')
    try:
        yield ["unshare", "--mount", "sh", "-c", " && ".join([*binds, 'exec "$@"']), str(root), *argv]
    finally:
        for link in selves:
            link.unlink()


def can_cover() -> bool:
    """Return whether `below` and `as_node` work here."""
    tried = subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True)
    return tried.returncode == 0


class Subject:
    """A running program: its output goes nowhere, or to a terminal of our own that takes all it writes."""

    def __init__(self, name: str, argv: Sequence[str], *, terminal: bool = False) -> None:
        """Start it."""
        self.name = name
        self.written = b""
        self._arrived = threading.Condition()
        self._master: int | None = None
        surroundings = {**environment(), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "S_COLORS": "never"}
        self.began = time.perf_counter()
        if terminal:
            surroundings |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            self._master, slave = os.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
            self.process = _start(argv, slave, slave, surroundings)
            os.close(slave)
            self._reader = threading.Thread(target=self._drain, daemon=True)
            self._reader.start()
        else:
            self.process = _start(argv, subprocess.DEVNULL, subprocess.DEVNULL, surroundings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it, and whoever it started."""
        group = tree_of(self.process.pid)
        self.process.terminate()
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pid in group[1:]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if self._master is not None:
            # The next terminal has the same number: a thread that still waits for this one would read what is meant
            # for the next, which then looks as if the program had not written it.
            self._reader.join(5.0)
            if not self._reader.is_alive():
                os.close(self._master)

    def check(self) -> None:
        """Raise RuntimeError if it ended by itself."""
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}: {self.written[-300:]!r}")

    def cpu(self) -> float:
        """Return the milliseconds of CPU that it took so far."""
        self.check()
        return cpu_of(self.process.pid)

    def memory(self) -> float:
        """Return its share of memory in MB."""
        self.check()
        return sum(map(_memory_of, tree_of(self.process.pid)))

    def type(self, keys: bytes) -> None:
        """Press keys."""
        assert self._master is not None
        os.write(self._master, keys)

    def first(self, text: bytes, seconds: float = 20.0) -> float:
        """Return the milliseconds from its start until it has written a text. Raises RuntimeError."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: text in self.written, seconds):
                raise RuntimeError(f"{self.name} did not write {text!r}: {self.written[:2000]!r}")
            return (self._seen - self.began) * 1000

    def _drain(self) -> None:
        assert self._master is not None
        poll = select.poll()
        poll.register(self._master, select.POLLIN)
        while True:
            try:
                poll.poll()
                data = os.read(self._master, 1 << 16)
            except OSError:  # the last process that held the other side is gone
                return
            with self._arrived:
                self._seen = time.perf_counter()
                self.written = (self.written + data)[-(1 << 22) :]
                self._arrived.notify_all()


def _start(argv: Sequence[str], stdin: int, out: int, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, stdin=stdin, stdout=out, stderr=out, env=environment, start_new_session=True)


def environment() -> dict[str, str]:
    """Return the environment, without what keeps Python from keeping compiled modules, as installed ones are."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def python(*words: str | Path) -> list[str]:
    """Return what runs a Python program with this interpreter."""
    return [sys.executable, *map(str, words)]


def sdstop(*words: str | Path) -> list[str]:
    """Return what runs sdstop."""
    return python("-m", "sdstop", *words)


def tree_of(root: int) -> list[int]:
    """Return a process and all below it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(folder.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def cpu_of(root: int) -> float:
    """Return the milliseconds of CPU of a process and all below it."""
    total = 0.0
    for pid in tree_of(root):
        with contextlib.suppress(OSError):
            total += time.clock_gettime_ns(~pid << 3 | 2) / 1e6  # CPUCLOCK_SCHED of the whole process
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[13]) + int(fields[14])) * 1000 / _TICKS  # children that were waited for
    return total


def _memory_of(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def window_of(running: Sequence[Subject], seconds: float) -> list[float]:
    """Return the CPU that each takes in the same seconds, in milliseconds a second."""
    before, began = [subject.cpu() for subject in running], time.monotonic()
    time.sleep(seconds)
    after, passed = [subject.cpu() for subject in running], time.monotonic() - began
    return [(end - start) / passed for start, end in zip(before, after, strict=True)]


def interleaved(measures: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Return the median of each measure, taken in turn: what disturbs the machine disturbs them all."""
    found: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            found[name].append(measure())
    return {name: median(values) for name, values in found.items()}


def wall(argv: Sequence[str]) -> float:
    """Return the milliseconds that a program takes from its start to its end."""
    began = time.perf_counter()
    nothing = subprocess.DEVNULL
    subprocess.run(argv, check=False, env=environment(), stdin=nothing, stdout=nothing, stderr=nothing)
    return (time.perf_counter() - began) * 1000
