"""The story that is told by a pasted `iostat -x` alone."""

from __future__ import annotations

from pathlib import Path

from tests.arrays import ArraySpec, Random, simulate
from tests.stories.archive import Archive
from tests.stories.disks import Shelf
from tests.stories.rows import Rows, added, past, rows
from tests.stories.scene import Stories

_STARTED = 1_795_359_600.0
_REPORTS = 6
_KINDS = ((0, 1, 2, 3), (4, 5, 6, 7), (11, 12, 13, 14))


def _text() -> str:
    """Return what sysstat 12.6 prints for `iostat -x -d 1 6`: the first report is of the time since boot."""
    spec = ArraySpec(disks=8, random=Random(rate=80.0, writes=0.6), slow=((3, 4.0),))
    shelf = Shelf(spec)
    before = past(list(shelf.devices), "lent", 2)
    found = [added(shelf.rows(rows(frame)), before) for frame in simulate(spec, 51, _REPORTS - 1)]
    zero = {name: [0] * len(numbers) for name, numbers in found[0].items()}
    lines = ["Linux 5.14.0-503.el9.x86_64 (lent) \t11/22/26 \t_x86_64_\t(16 CPU)", ""]
    for number, after in enumerate(found):
        seconds = 2_904_118.0 if not number else 1.0
        lines += [_HEADING, *_report(found[number - 1] if number else zero, after, seconds), "", ""]
    return "\n".join(lines)


def _report(before: Rows, after: Rows, seconds: float) -> list[str]:
    deltas = {name: [b - a for a, b in zip(before[name], after[name], strict=True)] for name in sorted(after)}
    return [_line(name, delta, seconds) for name, delta in deltas.items()]


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


class _Pasted:
    """Nothing but the command."""

    def write(self, path: Path) -> None:
        """Write the capture."""
        archive = Archive(path, "lent", taken=_STARTED, monotonic=2_904_118.0)
        archive.add({"commands/iostat_-x_-d_1_6/stdout": _text()}, 0)
        archive.finish()


STORIES: Stories = {
    "iostat-only": _Pasted,
}
