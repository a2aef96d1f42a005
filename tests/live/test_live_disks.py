"""Our figures beside those of a real iostat, and a loop device of this machine as sdstop sees it."""

from __future__ import annotations

import contextlib
import mmap
import os
import pty
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sdstop.collectors.block.devices import BLOCKDEV, fingerprint
from sdstop.collectors.block.diskstats import parse
from sdstop.collectors.block.iostat import activity_of
from sdstop.collectors.block.iostat_report import printed_json, printed_text
from sdstop.collectors.block.readings import BlockDevice, BlockLink
from sdstop.node.live import LiveHost
from sdstop.readings.disk import WRAP, Disk, DiskActivity, activity

pytestmark = pytest.mark.live

PLAIN = {**os.environ, "LC_ALL": "C", "S_COLORS": "never", "S_TIME_FORMAT": "ISO"}
MIB = 1 << 20


# --- the same counters, given to both -------------------------------------------------------------------------

CLOCK = 10**9
"""Reads that the device named clock does: its r/s tells to nine digits how long iostat's interval was."""


def scenario() -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Return counters of devices before and after: random loads, times about to wrap, idle ones, and oddities."""
    rng = random.Random(20_261_121)
    before: dict[str, list[int]] = {}
    after: dict[str, list[int]] = {}
    for number in range(120):
        start = [rng.randrange(10**9) for _ in range(17)]
        step = [rng.randrange(100, 10**6) for _ in range(17)]
        for kind in (slice(0, 4), slice(4, 8), slice(11, 15), slice(15, 17)):
            if rng.random() < 0.2:
                step[kind] = [0] * len(step[kind])
        for wrapping in (3, 7, 14, 16):
            start[wrapping] = rng.choice([start[wrapping], WRAP - rng.randrange(1, 10**6)])
        end = [a + b for a, b in zip(start, step, strict=True)]
        for wrapping in (3, 7, 14, 16):
            end[wrapping] %= WRAP
        end[8] = rng.randrange(100)
        before[f"t{number}"], after[f"t{number}"] = start, end
    base = [1000] * 17
    more = [1500] * 8 + [3] + [1500] * 8
    before["clock"], after["clock"] = [1] * 17, [1 + CLOCK] + [1] * 16
    before["idle"], after["idle"] = base, base
    before["wrapped"], after["wrapped"] = (
        [*base[:9], WRAP - 100, WRAP - 100, *base[11:]],
        [*more[:9], 200, 400, *more[11:]],
    )
    before["replaced"], after["replaced"] = more, [5, 0, 40, 5, 5, 0, 40, 5, 0, 5, 5, 0, 0, 0, 0, 0, 0]
    return before, after


def diskstats(devices: dict[str, list[int]]) -> str:
    rows = enumerate(devices.items())
    return "".join(f"{240:4d} {minor:7d} {name} {' '.join(map(str, values))}\n" for minor, (name, values) in rows)


def asked_of_iostat(folder: Path, texts: list[str]) -> str:
    """Return what iostat says of these contents of diskstats, one a second.

    Each is given through a pipe of its own, put in place while iostat opens the one before: whenever it comes to
    read, it reads the next one.
    """
    pipe = folder / "diskstats"
    os.mkfifo(pipe)

    def give() -> None:
        for text in texts:
            with pipe.open("w") as stream:  # waits for iostat to open it
                following = folder / "following"
                os.mkfifo(following)
                following.rename(pipe)
                stream.write(text)

    threading.Thread(target=give, daemon=True).start()
    argv = ["iostat", "-f", str(folder), "-xdy", "-p", "ALL", "-o", "JSON", "1", str(len(texts) - 1)]
    return subprocess.run(argv, capture_output=True, text=True, env=PLAIN, check=True, timeout=120).stdout


@pytest.mark.needs("iostat")
def test_figures_are_those_of_iostat(tmp_path: Path) -> None:
    before, after = scenario()
    for name in before:
        (tmp_path / "block" / name).mkdir(parents=True)
    (report,) = printed_json(asked_of_iostat(tmp_path, [diskstats(before), diskstats(after)]))
    seconds = CLOCK / report.rows["clock"]["r/s"]
    old = {disk.device: disk for disk in parse(diskstats(before).encode())}
    new = {disk.device: disk for disk in parse(diskstats(after).encode())}
    compared = 0
    for name in [name for name in before if name not in {"wrapped", "replaced", "clock"}]:
        ours, theirs = activity(old[name], new[name], seconds), activity_of(name, report.rows[name], "cmd:x")
        assert ours is not None
        assert theirs is not None
        for column in schema_of_figures():
            figure, shown = getattr(ours, column), getattr(theirs, column)
            if figure is None or shown is None:
                assert figure is shown is None, (name, column)
            else:
                assert shown == pytest.approx(figure, rel=1e-6, abs=rounding(column)), (name, column)
            compared += figure is not None
    assert compared > 1500

    # A time that wrapped: sysstat does as we do until 12.7.2, and prints 0.00 later.
    wrapped = activity(old["wrapped"], new["wrapped"], seconds)
    assert wrapped is not None
    assert wrapped.busy == pytest.approx(0.3 / seconds)
    assert wrapped.queue == pytest.approx(0.5 / seconds)
    assert report.rows["wrapped"]["%util"] in [0.0, pytest.approx(30 / seconds, abs=0.005)]
    assert report.rows["wrapped"]["aqu-sz"] in [0.0, pytest.approx(0.5 / seconds, abs=0.005)]

    # Another device of that name: sysstat shows all it ever did as if it were done in this interval.
    assert activity(old["replaced"], new["replaced"], seconds) is None
    assert report.rows["replaced"]["r/s"] == pytest.approx(5 / seconds, abs=0.005)


def schema_of_figures() -> list[str]:
    """Return the columns that iostat prints itself; what it leaves to be computed from rounded ones is not compared."""
    return [
        name for name in DiskActivity.__struct_fields__ if name not in {"device", "in_flight", "origin", "wait", "size"}
    ]


def rounding(column: str) -> float:
    """Return half of the last digit that iostat prints of a column, in base units."""
    if column.endswith(("_wait", "wait")):
        return 0.005 / 1000
    if "bytes" in column or column.endswith("size"):
        return 0.005 * 1024
    return 0.005 / 100 if column.endswith(("ratio", "busy")) else 0.005


# --- the same device, watched by both ---------------------------------------------------------------------------


@dataclass
class Load:
    """Reads, writes and flushes of a device, all the time, past the page cache."""

    path: str
    done: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        rng = random.Random(7)
        buffer = mmap.mmap(-1, 8192)
        fd = os.open(self.path, os.O_RDWR | os.O_DIRECT)
        try:
            while not self._stop.wait(0.002):
                offset = rng.randrange(8 * MIB // 8192) * 8192
                os.preadv(fd, [memoryview(buffer)[:4096]], offset)
                if self.done % 2:
                    os.pwritev(fd, [buffer], offset)
                if self.done % 16 == 0:
                    os.fsync(fd)
                self.done += 1
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self.run, daemon=True)
        thread.start()
        try:
            until(lambda: self.done > 20)
            yield
        finally:
            self._stop.set()
            thread.join(30)


def until(true: Callable[[], bool]) -> None:
    """Wait for something that will happen; how long it takes proves nothing."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


@contextlib.contextmanager
def loop_device(file: Path, *options: str) -> Iterator[str]:
    argv = ["losetup", "--find", "--show", *options, str(file)]
    path = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
    try:
        yield path
    finally:
        subprocess.run(["losetup", "--detach", path], check=True)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    with path.open("wb") as stream:
        stream.truncate(8 * MIB)
    return path


@dataclass(frozen=True)
class Sample:
    """A device's counters, and between which two moments they were read."""

    began: float
    disk: Disk
    ended: float


def sample(name: str) -> Sample:
    began = time.monotonic()
    data = LiveHost().read("/proc/diskstats")
    return Sample(began, next(disk for disk in parse(data) if disk.device == name), time.monotonic())


class Terminal:
    """An iostat that prints to a terminal, hence line by line as it goes."""

    def __init__(self, argv: list[str]) -> None:
        self._fd, inside = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(argv, stdout=inside, env=PLAIN)
        os.close(inside)

    def read_until(self, rows: int, name: str) -> None:
        """Read on until so many whole rows of the device have come."""
        while (
            sum(line.startswith(f"{name} ") for line in self.text.splitlines(keepends=True) if line.endswith("\n"))
            < rows
        ):
            try:
                piece = os.read(self._fd, 65536)
            except OSError:  # the other side is closed
                piece = b""
            assert piece, self.text
            self.text += piece.decode()

    def close(self) -> None:
        os.close(self._fd)
        self.process.wait(60)


@pytest.mark.needs("iostat", "losetup", "loop devices")
def test_beside_a_real_iostat_over_the_same_interval(image: Path) -> None:
    """What iostat shows lies between what our counters say for the interval inside its own and the one around it.

    It reads the counters first between its start and its first line, then at least two seconds after its start (an
    alarm set before the first reading) and before its second line. We read them before and after these moments.
    """
    with loop_device(image) as path, (load := Load(path)).running():
        name = path.removeprefix("/dev/")
        outer_start = sample(name)
        begun = load.done
        iostat = Terminal(["iostat", "-xd", name, "2", "2"])
        iostat.read_until(1, name)
        inner_start = inner_end = sample(name)
        while (latest := sample(name)).ended <= outer_start.ended + 2.0:
            inner_end = latest
            time.sleep(0.01)
        iostat.read_until(2, name)
        until(lambda: load.done > begun + 20)
        outer_end = sample(name)
        iostat.close()

    theirs = activity_of(name, printed_text(iostat.text)[-1].rows[name], "cmd:x")
    assert theirs is not None
    longest = outer_end.ended - outer_start.ended + 0.02  # iostat reads its clock in hundredths
    shortest = 2.0 - (inner_start.ended - outer_start.ended) - 0.02

    def steps(start: Sample, end: Sample) -> DiskActivity:
        """Return what was counted between two samples: rates of an interval of one second."""
        found = activity(start.disk, end.disk, 1.0)
        assert found is not None
        return found

    inner, outer = steps(inner_start, inner_end), steps(outer_start, outer_end)
    rates = [name for name in schema_of_figures() if name.endswith("per_second")] + ["queue", "busy"]
    assert outer.reads_per_second >= 20
    for column in rates:
        shown, low, high = (getattr(row, column) for row in (theirs, inner, outer))
        assert low / longest - rounding(column) <= shown, column
        assert shortest <= 0 or shown <= high / shortest + rounding(column), column
    for kind, plural in (("read", "reads"), ("write", "writes"), ("flush", "flushes")):
        for column in (f"{kind}_wait", f"{kind}_size"):
            if column == "flush_size":
                continue
            least = (getattr(inner, column) or 0.0) * getattr(inner, f"{plural}_per_second")
            most = (getattr(outer, column) or 0.0) * getattr(outer, f"{plural}_per_second")
            shown = getattr(theirs, column)
            if shown is not None:
                assert least / getattr(outer, f"{plural}_per_second") - rounding(column) <= shown, column
                few = getattr(inner, f"{plural}_per_second")
                assert not few or shown <= most / few + rounding(column), column


# --- what is there ----------------------------------------------------------------------------------------------


@pytest.mark.needs("addpart", "losetup", "loop devices")
def test_a_loop_device_with_a_partition(image: Path) -> None:
    with loop_device(image, "--partscan") as path:
        name = path.removeprefix("/dev/")
        subprocess.run(
            ["addpart", path, "1", "2048", "8192"], check=True
        )  # a kernel need not know tables of partitions
        rows = list(BLOCKDEV.read(LiveHost()))
        assert name in fingerprint(LiveHost())[0]  # type: ignore[index]  # it is a tuple
    devices = {row.device: row for row in rows if isinstance(row, BlockDevice)}
    loop, part = devices[name], devices[f"{name}p1"]
    assert (loop.kind, loop.size, loop.backing_file) == ("loop", 8 * MIB, str(image))
    assert (loop.read_only, loop.iostats_enabled, loop.logical_block_size) == (0, 1, 512)
    assert loop.path == f"/sys/devices/virtual/block/{name}"
    assert (part.kind, part.parent, part.size, part.start) == ("partition", name, 4 * MIB, MIB)
    assert BlockLink(f"{name}p1", name, "partition") in rows


def test_every_device_of_diskstats_is_one_of_sysfs() -> None:
    counted = {disk.device for disk in parse(LiveHost().read("/proc/diskstats"))}
    described = {row.device for row in BLOCKDEV.read(LiveHost()) if isinstance(row, BlockDevice)}
    assert counted <= described


@pytest.mark.needs("losetup", "loop devices")
def test_accounting_that_is_switched_off_is_seen(image: Path) -> None:
    with loop_device(image) as path:
        name = path.removeprefix("/dev/")
        switch = Path(f"/sys/block/{name}/queue/iostats")
        switch.write_text("0")
        try:
            rows = {row.device: row for row in BLOCKDEV.read(LiveHost()) if isinstance(row, BlockDevice)}
        finally:
            switch.write_text("1")
    assert rows[name].iostats_enabled == 0
