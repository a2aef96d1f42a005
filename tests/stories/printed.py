"""A story's disk counters as tools print them: the same node, of which only the output of a tool was recorded."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from sdstop.collectors import BUILTIN
from sdstop.collectors.zfs.readings import Vdev
from sdstop.core.evidence import Evidence, Frame, Origin, command_key
from sdstop.core.history import Window
from sdstop.core.interval import unrolled
from sdstop.readings.disk import DISKSTATS
from tests.stories.iostat import advanced, report_text
from tests.stories.rows import Rows

_STARTED = 1_795_359_600.0


class Step(Struct, frozen=True):
    """What the counters of disks advanced by between two frames, `at` (Unix seconds) the end of `seconds`."""

    at: float
    seconds: float
    rows: Rows


def steps(frames: Sequence[Frame]) -> list[Step]:
    """Return the steps between the frames of a story that hold disk counters."""
    read = []
    for frame in frames:
        for item in frame.evidence:
            if item.key == DISKSTATS and item.data:
                lines = [line.split() for line in bytes(item.data).decode().splitlines()]
                rows = {words[2]: [*map(int, words[3:]), *[0] * 6][:17] for words in lines}
                read.append((frame.monotonic, rows))
    found = []
    for (start, before), (end, after) in pairwise(read):
        found.append(Step(_STARTED + end, end - start, advanced(before, after)))
    return found


def _clock(at: float, form: str = "%m/%d/%y %H:%M:%S") -> str:
    return time.strftime(form, time.gmtime(at))


def iostat(found: Sequence[Step], window: Window) -> tuple[str, str]:
    """Return the command and output of `iostat -xty` of sysstat 12.6."""
    del window
    lines = ["Linux 6.1.0 (n) \t11/22/26 \t_x86_64_\t(16 CPU)", ""]
    for step in found:
        lines += [_clock(step.at), *report_text(step.rows, step.seconds), "", ""]
    return f"iostat -xty {found[0].seconds:.0f} {len(found)}", "\n".join(lines)


def iostat_old(found: Sequence[Step], window: Window) -> tuple[str, str]:
    """Return the command and output of `iostat -x` of sysstat 9.0, which prints one wait for reads and writes."""
    del window
    lines = ["Linux 2.6.32 (n) \t11/22/26 \t_x86_64_\t(16 CPU)"]
    heading = "Device:  rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util"
    # The first report is the mean since boot.
    for step in (found[0], *found):
        lines += ["", heading]
        for name, d in step.rows.items():
            count, ticks, sectors = d[0] + d[4], d[3] + d[7], d[2] + d[6]
            rates = [value / step.seconds for value in (d[1], d[5], d[0], d[4], d[2], d[6])]
            means = [value / count if count else 0.0 for value in (sectors, ticks, d[9])]
            busy = min(100, d[9] / 10 / step.seconds)
            cells = (*rates, means[0], d[10] / 1000 / step.seconds, *means[1:], busy)
            lines.append(" ".join([name, *(f"{cell:.2f}" for cell in cells)]))
    return f"iostat -x {found[0].seconds:.0f} {len(found) + 1}", "\n".join([*lines, ""])


def iostat_json(found: Sequence[Step], window: Window) -> tuple[str, str]:
    """Return the command and output of `iostat -xty -o JSON`."""
    del window
    reports = []
    for step in found:
        heading, *rows = (line.split() for line in report_text(step.rows, step.seconds))
        names = [word.removeprefix("%") for word in heading]
        disks = [{"disk_device": row[0], **dict(zip(names[1:], map(float, row[1:]), strict=True))} for row in rows]
        reports.append({"timestamp": _clock(step.at), "disk": disks})
    text = json.dumps({"sysstat": {"hosts": [{"nodename": "n", "statistics": reports}]}})
    return f"iostat -xty -o JSON {found[0].seconds:.0f} {len(found)}", text


def sar(found: Sequence[Step], window: Window) -> tuple[str, str]:
    """Return the command and output of `sar -dp` of sysstat 12.6."""
    del window
    lines = ["Linux 6.1.0 (n) \t11/22/26 \t_x86_64_\t(16 CPU)"]
    for step in found:
        before = _clock(step.at - step.seconds, "%H:%M:%S")
        lines += ["", f"{before}  tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util DEV"]
        for name, d in step.rows.items():
            count, ticks = d[0] + d[4] + d[11], d[3] + d[7] + d[14]
            sizes = [d[sectors] / 2 for sectors in (2, 6, 13)]
            lines.append(
                f"{_clock(step.at, '%H:%M:%S')} {count / step.seconds:.2f} "
                + " ".join(f"{size / step.seconds:.2f}" for size in sizes)
                + f" {sum(sizes) / count if count else 0:.2f} {d[10] / 1000 / step.seconds:.2f} "
                f"{ticks / count if count else 0:.2f} {min(100, d[9] / 10 / step.seconds):.2f} {name}"
            )
    return f"sar -dp {found[0].seconds:.0f} {len(found)}", "\n".join([*lines, ""])


_ZPOOL = """\
              capacity     operations     bandwidth    total_wait     disk_wait    syncq_wait    asyncq_wait  scrub   trim
pool        alloc   free   read  write   read  write   read  write   read  write   read  write   read  write   wait   wait
----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
"""  # noqa: E501  # as wide as zpool prints it


def zpool(found: Sequence[Step], window: Window) -> tuple[str, str] | None:
    """Return the command and output of `zpool iostat -vly`, None without a pool."""
    vdevs = sorted(window.rows(Vdev).values(), key=lambda row: (row.pool, row.place))
    if not vdevs:
        return None
    text = ""
    for step in found:
        text += _ZPOOL
        for place, vdev in enumerate(vdevs):
            if not place or vdevs[place - 1].pool != vdev.pool:
                text += f"{vdev.pool} 1G 1G" + " -" * 14 + "\n"
            indent = "  " * (vdev.depth + 1)
            row = step.rows.get(vdev.device or "")
            cells = " -" * 16 if row is None else _zpool_cells(row, step.seconds)
            text += f"{indent}{vdev.short}{cells}\n"
    return f"zpool iostat -vly {found[0].seconds:.0f} {len(found)}", text


def _zpool_cells(row: Sequence[int], seconds: float) -> str:
    waits = [f"{row[ticks] / row[ios]:.0f}ms" if row[ios] else "-" for ios, ticks in ((0, 3), (4, 7))]
    rates = f"{row[0] / seconds:.0f} {row[4] / seconds:.0f}"
    return f" - - {rates} {row[2] * 512 / seconds:.0f} {row[6] * 512 / seconds:.0f} {' '.join(waits * 2)}" + " -" * 6


TOOLS: Mapping[str, Callable[[Sequence[Step], Window], tuple[str, str] | None]] = {
    "iostat": iostat, "iostat 9.0": iostat_old, "iostat JSON": iostat_json, "sar": sar, "zpool iostat": zpool,
}  # fmt: skip
"""Functions that return the command and output of a tool; None: the story has nothing that it prints."""


def recorded(state: Mapping[str, Evidence], frame: Frame, command: str, text: str) -> list[Frame]:
    """Return the frames of a capture that holds a story's last evidence and a tool's output, but no disk counters."""
    items = [item for key, item in state.items() if key != DISKSTATS]
    one = Frame(1, frame.taken, frame.monotonic, (*items, Evidence(command_key(command.split()), data=text.encode())))
    return unrolled(Origin("n"), [one], BUILTIN)[1]
