"""Rates and waits of vdevs from recorded `zpool iostat -l` (cmd/zpool/zpool_main.c, OpenZFS 0.7 to 2.4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from sdstop.collectors.zfs.readings import IOSTAT as SINCE_IMPORT
from sdstop.core.collector import SLOW, Collector, Interval, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.readings import service
from sdstop.readings.service import Service

_GROUPS = frozenset({"logs", "cache", "spares", "special", "dedup"})
_SINGLE = frozenset({"scrub", "trim", "rebuild"})
"""Headings above one column; the others have two, of reads and writes, or of pending and active I/Os."""
_UNKNOWN = "unknown"
_NUMBERED = expression(r"(?:mirror|raidz[123]?|spare|replacing|draid[123]?\S*)-\d{1,6}", re.ASCII)
_RULE = expression(r"[\s-]*-[\s-]*")
_NUMBER = expression(r"(\d{1,18}(?:[.,]\d{1,6})?)([KMGTPEZ]?)", re.ASCII)
_TIME = expression(r"(\d{1,18}(?:[.,]\d{1,6})?)(ns|us|ms|s)?", re.ASCII)
_SIZES = {"": 1, **{unit: 1024 ** (power + 1) for power, unit in enumerate("KMGTPEZ")}}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_PLAIN = ("name", "alloc", "free", "operations", "operations 2", "bandwidth", "bandwidth 2")
_WAITS = ("total_wait", "total_wait 2", "disk_wait", "disk_wait 2")
_OPTION = expression(r"[ _]-([a-zA-Z]*)")


class VdevLine(Struct, frozen=True):
    """A pool, a vdev, or a group (`logs`) without cells: its depth in the tree, cells by column, and text."""

    name: str
    depth: int
    group: str
    cells: Mapping[str, str]
    text: str


class VdevReport(Struct):
    """A report: its lines, and the heading above them."""

    lines: list[VdevLine]
    heading: str


def printed(text: str, *, waits: bool = False) -> list[VdevReport]:
    """Return the reports of `zpool iostat`, oldest first; a report begins where its first pool is repeated.

                      capacity     operations     bandwidth    total_wait     disk_wait    syncq_wait  ...  scrub   trim
        pool        alloc   free   read  write   read  write   read  write   read  write   read  write ...   wait   wait
        ----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  ----- ...  -----  -----
        tank         251M  1.13G      0     48  2.35K  2.98M  290us    2ms  270us    1ms  345us    1us ...      -      -
          raidz1-0   251M  1.13G      0     48  2.35K  2.98M  290us    2ms  270us    1ms  345us    1us ...      -      -
            sda         -      -      0     16    802  1017K  299us    2ms  280us    1ms  345us    1us ...      -      -
        ----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  ----- ...  -----  -----

    Columns are identified by the first line of the heading. `-H` prints neither heading nor indentation, only cells
    separated by tabs: all its lines are taken for vdevs of the first pool, in an unknown group. `waits` is whether it
    was combined with `-l`. Lines that do not match are skipped.
    """
    reports: list[VdevReport] = []
    columns: list[str] = []
    heading: list[str] = []
    first = group = ""
    for line in text.splitlines():
        words = line.split()
        if not words or _RULE.fullmatch(line):
            group = ""
        elif words[0] == "capacity":
            columns, heading = _columns(words), [line]
        elif len(heading) == 1 and words[1:3] == ["alloc", "free"]:
            heading.append(line)
        else:
            cells = _cells(line, columns, waits=waits)
            if cells is None:
                continue
            name, depth = cells["name"], len(line) - len(line.lstrip(" "))
            if not depth and name in _GROUPS and all(cell == "-" for key, cell in cells.items() if key != "name"):
                group, cells = name, {}
            else:
                group = group if depth else ""
            if "\t" in line:
                depth, group = int(bool(reports) and name != first), _UNKNOWN
            if not depth and cells and (not reports or name == first):
                reports.append(VdevReport([], "\n".join(heading)))
                first = name
            if reports:
                reports[-1].lines.append(VdevLine(name, depth, group, cells, line))
    return reports


def _columns(groups: Sequence[str]) -> list[str]:
    """Return the columns below the first line of a heading: `operations` and `operations 2`, but one `scrub`."""
    found = ["name"]
    for each in groups:
        found += [each] if each in _SINGLE else [each, f"{each} 2"]
    return found


def _cells(line: str, columns: Sequence[str], *, waits: bool) -> dict[str, str] | None:
    """Return the cells of a line by column, None if it is not one."""
    if "\t" in line:
        words = line.split("\t")
        known = (*_PLAIN, *_WAITS) if waits else _PLAIN
        return dict(zip(known, words, strict=False)) if len(words) >= len(known) and words[0] else None
    words = line.split()
    if not columns or len(words) != len(columns):
        return None
    cells = dict(zip(columns, words, strict=True))
    return cells if all(_known(cell) for name, cell in cells.items() if name != "name") else None


def _known(cell: str) -> bool:
    return cell == "-" or _NUMBER.fullmatch(cell) is not None or _TIME.fullmatch(cell) is not None


def _rate(cell: str | None) -> float | None:
    found = _NUMBER.fullmatch(cell or "")
    return None if found is None else float(found[1].replace(",", ".")) * _SIZES[found[2]]


def _wait(cell: str | None) -> float | None:
    """Return a time in seconds; `-p` prints nanoseconds without a unit, and 0 where nothing was waited for."""
    found = _TIME.fullmatch(cell or "")
    return None if found is None else float(found[1].replace(",", ".")) * _SECONDS[found[2] or "ns"] or None


def services(lines: Sequence[VdevLine], origin: str, seconds: float | None) -> Iterator[Service]:
    """Yield a Service for each pool and vdev of a report; vdevs are POOL/VDEV, within the pool or vdev above them.

    Waits are total waits, in the queue and on the disk. Vdevs of logs, caches and other groups are within nothing:
    their load is not that of the vdevs that hold data.
    """
    above: list[tuple[int, str]] = []
    pool = ""
    following = [*(after.depth for _, after in pairwise(lines)), 0]
    for line, after in zip(lines, following, strict=True):
        if not line.cells:
            continue
        pool = line.name if not line.depth else pool
        while above and above[-1][0] >= line.depth:
            above.pop()
        short = line.name.rpartition("/")[2] if line.name.startswith("/dev/") else line.name
        name = f"{pool}/{short}" if line.depth else pool
        reads, writes = _rate(line.cells.get("operations")), _rate(line.cells.get("operations 2"))
        yield Service(
            device=name,
            tool=service.ZPOOL,
            kind="pool"
            if not line.depth
            else "group"
            if after > line.depth or _NUMBERED.fullmatch(short)
            else "device",
            within=above[-1][1] if above and not line.group else None,
            reads_per_second=reads,
            writes_per_second=writes,
            requests_per_second=None if reads is None or writes is None else reads + writes,
            read_wait=_wait(line.cells.get("total_wait")),
            write_wait=_wait(line.cells.get("total_wait 2")),
            seconds=seconds,
            origin=origin,
            needle=line.name,
        )
        above.append((line.depth, name))


def _options(command: str) -> str:
    return "".join(_OPTION.findall(command))


def _interval(command: str) -> float | None:
    """Return the interval of a recorded command or its slug: `zpool iostat -vly tank 1 5`."""
    found = re.search(r"[ _](\d{1,6}(?:\.\d{1,3})?)(?:[ _](\d{1,9}))?$", command, re.ASCII)
    return float(found[1]) or None if found is not None else None


def _of_intervals(text: str, command: str) -> list[VdevReport]:
    """Return the reports that are not means since the import: all but the first, all of them with `-y`."""
    options = _options(command)
    found = printed(text, waits="l" in options)
    return found if "y" in options else found[1:]


def intervals(command: str, data: bytes) -> list[Interval]:
    """Return each report of `zpool iostat` that is not the mean since the import as an output of its own.

    A pool without numbers precedes it where the reader would take it for that mean.
    """
    if not re.match(r"zpool[ _]iostat\b", command):
        return []
    found = _of_intervals(data.decode("utf-8", "replace"), command)
    seconds = _interval(command)
    return [
        Interval(_alone(each, since="y" not in _options(command)).encode(), seconds) for each in found if each.lines
    ]


def _alone(report: VdevReport, *, since: bool) -> str:
    first = report.lines[0]
    before = [re.sub(r"(?<=[\s])[^\s]+", "-", first.text)] if since else []
    return "\n".join(filter(None, (report.heading, *before, *(line.text for line in report.lines)))) + "\n"


def read(host: Host) -> Iterable[Reading]:
    """Return the vdevs of the last report of each recorded `zpool iostat`.

    Raises Absent if none is recorded or all are means since the import, Malformed if none has vdevs.
    """
    own = " ".join(SINCE_IMPORT)
    names = [name for name in host.recorded("zpool") if re.match(r"zpool[ _]iostat\b", name) and name != own]
    if not names:
        raise Absent("cmd:zpool iostat", "none recorded with an interval", recorded=False)
    rows: dict[str, Service] = {}
    problem: Absent | Malformed = Malformed(f"{names[0]}: no vdevs of zpool iostat")
    for name in names:
        text = host.recorded_output(name).text
        found = _of_intervals(text, name)
        if not found and printed(text, waits="l" in _options(name)):
            problem = Absent(
                f"cmd:{name}", "only the mean since the import; -y or an interval shows more", recorded=False
            )
        origin = f"cmd:{name}" if " " in name else f"slug:{name}"
        for row in services(found[-1].lines, origin, _interval(name)) if found else ():
            rows.setdefault(row.device, row)
    if not rows:
        raise problem
    return list(rows.values())


ZPOOL_IOSTAT = Collector(
    "zpool-iostat",
    "Recorded zpool iostat",
    read,
    (Service,),
    (Need("cmd:zpool iostat *", "rates and waits of vdevs, as others recorded them; never run so", split=intervals),),
    SLOW,
    forms=(
        Form(
            key="cmd:zpool iostat -v",
            first=r"\s+capacity\s+operations\s+bandwidth\b",
            reads="rates and waits of vdevs",
            versions="ZFS 0.6 and later",
            intervals=True,
        ),
    ),
)
