"""The stories that are told by a recorded `iostat -x`, alone or with /proc/mdstat."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sdstop.readings.disk import WRAP
from tests.arrays import ArraySpec, Frame, Random, simulate
from tests.arrays.spec import Level, Media
from tests.stories.archive import Archive
from tests.stories.disks import Shelf, mdstat
from tests.stories.rows import Rows, added, past, rows
from tests.stories.scene import Stories

_STARTED = 1_795_359_600.0
_REPORTS = 6
_KINDS = ((0, 1, 2, 3), (4, 5, 6, 7), (11, 12, 13, 14))


_SAS_10K = Media(rotational=True, rate=180e6, seek=(0.0025, 0.0072), turn=0.006)
_LENT = ArraySpec(disks=8, random=Random(rate=80.0, writes=0.6), slow=((3, 4.0),))
_EVEN = ArraySpec(level=Level.RAID6, disks=8, media=_SAS_10K, random=Random(rate=125.0, writes=0.3))
_SLOW = ArraySpec(
    level=Level.RAID6, disks=8, media=_SAS_10K, random=Random(outstanding=10, writes=0.3), slow=((3, 3.2),)
)


def _text(host: str, frames: list[Frame], shelf: Shelf, interval: float) -> str:
    """Return what sysstat 12.6 prints for `iostat -x -d`: the first report is of the time since boot."""
    before = past(list(shelf.devices), host, 2)
    found = [added(shelf.rows(rows(frame)), before) for frame in frames]
    zero = {name: [0] * len(numbers) for name, numbers in found[0].items()}
    lines = [f"Linux 5.14.0-503.el9.x86_64 ({host}) \t11/22/26 \t_x86_64_\t(16 CPU)", ""]
    for number, after in enumerate(found):
        seconds = 2_904_118.0 if not number else interval
        lines += [*report_text(advanced(found[number - 1] if number else zero, after), seconds), "", ""]
    return "\n".join(lines)


def advanced(before: Rows, after: Rows) -> Rows:
    """Return what the counters advanced by; one that wrapped advanced modulo 2^32, as iostat takes it."""
    return {
        name: [b - a if b >= a else (b - a) % WRAP for a, b in zip(before[name], after[name], strict=True)]
        for name in sorted(after)
        if name in before
    }


def report_text(deltas: Rows, seconds: float) -> list[str]:
    """Return heading and rows of a report of sysstat 12.6; rows are steps of the counters over the seconds."""
    return [_HEADING, *(_line(name, delta, seconds) for name, delta in deltas.items())]


_HEADING = "Device       " + "".join(
    f"{k + '/s':>8} {k + 'kB/s':>9} {k + 'rqm/s':>8} {'%' + k + 'rqm':>6} {k + '_await':>7} {k + 'areq-sz':>8}"
    for k in "rwd"
) + f" {'f/s':>7} {'f_await':>7} {'aqu-sz':>7} {'%util':>6}"  # fmt: skip


def _line(name: str, d: list[int], seconds: float) -> str:
    cells = f"{name:<13}"
    for ios, merged, sectors, ticks in _KINDS:
        count = d[ios]
        asked = count + d[merged]
        cells += f"{count / seconds:8.2f} {d[sectors] / 2 / seconds:9.2f} {d[merged] / seconds:8.2f} "
        cells += f"{100 * d[merged] / asked if asked else 0:6.2f} {d[ticks] / count if count else 0:7.2f} "
        cells += f"{d[sectors] / count / 2 if count else 0:8.2f}"
    flushed = d[16] / d[15] if d[15] else 0
    busy = min(100, d[9] / 10 / seconds)
    return f"{cells} {d[15] / seconds:7.2f} {flushed:7.2f} {d[10] / 1000 / seconds:7.2f} {busy:6.2f}"


@dataclass(frozen=True, slots=True)
class _Recorded:
    """The output of `iostat -x -d INTERVAL COUNT`, and /proc/mdstat if somebody thought of it."""

    host: str
    spec: ArraySpec
    interval: int
    count: int
    seed: int
    warmup: float = 5.0
    known: bool = False

    def write(self, path: Path) -> None:
        """Write the capture."""
        shelf = Shelf(self.spec)
        seconds = self.interval * (self.count - 1)
        frames = list(simulate(self.spec, self.seed, seconds, float(self.interval), self.warmup))
        archive = Archive(path, self.host, taken=_STARTED, monotonic=2_904_118.0)
        text = _text(self.host, frames, shelf, float(self.interval))
        files = {f"commands/iostat_-x_-d_{self.interval}_{self.count}/stdout": text}
        if self.known:
            files["/proc/mdstat"] = mdstat([self.spec.level], shelf.mdstat(frames[-1].mdstat))
        archive.add(files, 0)
        archive.finish()


STORIES: Stories = {
    "iostat-only": lambda: _Recorded("lent", _LENT, 1, _REPORTS, 51, warmup=4.0),
    "iostat-slow-member": lambda: _Recorded("san3", _SLOW, 1, 61, 61),
    "iostat-slow-stripe-member": lambda: _Recorded("san3", _SLOW, 1, 61, 61, known=True),
    "iostat-healthy": lambda: _Recorded("san3", _EVEN, 1, 61, 62),
    "iostat-healthy-array": lambda: _Recorded("san3", _EVEN, 1, 61, 62, known=True),
}
