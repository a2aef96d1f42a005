"""Disk activity from recorded `iostat -x` output (sysstat 9.1 to 12.7), text or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from sdstop.collectors.block.iostat_report import BASIC, THROUGHPUT, IostatReport, Row, printed, printed_text
from sdstop.core.collector import SLOW, Collector, Interval, Need
from sdstop.core.evidence import slug
from sdstop.core.expression import expression
from sdstop.core.form import NOT_SHOWN, Form, Several
from sdstop.core.host import Absent, Host, Malformed, again
from sdstop.core.model import Reading
from sdstop.core.text import added
from sdstop.readings import cpu, service
from sdstop.readings.cpu import CpuReport
from sdstop.readings.disk import DiskActivity, device_name
from sdstop.readings.service import Service
from sdstop.readings.sysstat import BANNER_FORM, distance, interval_of, unseparated, without_host

Report = Mapping[str, Row]
"""Rows of a report by device."""

_OMITS_FIRST = expression(r"[ _]-[a-zA-Z]*y")
_Kind = tuple[float | None, float | None, float | None, float | None, float | None, float | None]
_UNCOUNTED: _Kind = (None, None, None, None, None, None)


class _Requests(Struct, frozen=True):
    """Columns of one request type, in base units."""

    rate: float
    throughput: float
    merged: float
    merged_ratio: float | None
    wait: float | None
    size: float | None


def _requests(row: Row, kind: str) -> _Requests | None:
    """Return a row's columns for reads (`r`), writes (`w`) or discards (`d`), None if it has none."""
    rate = row.get(f"{kind}/s")
    found = (row[head] for head in row if (m := THROUGHPUT.fullmatch(head)) and m[1] == kind)
    throughput = next(found, None)
    if rate is None or throughput is None:
        return None
    merged = row.get(f"{kind}rqm/s", 0.0)
    wait, size, ratio = row.get(f"{kind}_await"), row.get(f"{kind}areq-sz"), row.get(f"%{kind}rqm")
    return _Requests(
        rate,
        throughput,
        merged,
        (ratio / 100 if ratio is not None else merged / (merged + rate)) if merged or rate else None,
        wait / 1000 if wait is not None and (wait or rate) else None,
        size * 1024 if size else throughput / rate if rate else None,
    )


def activity_of(device: str, row: Row, origin: str) -> DiskActivity | None:
    """Return a device's row in base units, None if the report lacks the columns of `-x`.

    A wait of 0.00 without completed requests becomes None. Waits, queue and utilization become None if requests
    completed but all of these values are 0.00; such a device (md before kernel 5.12) is not timed.
    """
    reads, writes, discards = _requests(row, "r"), _requests(row, "w"), _requests(row, "d")
    if reads is None or writes is None:
        return None
    kinds = [kind for kind in (reads, writes, discards) if kind is not None]
    completed = added(kind.rate for kind in kinds)
    queue, util, flushes = row.get("aqu-sz", row.get("avgqu-sz")), row.get("%util"), row.get("f/s")
    flush_wait, wait, size = row.get("f_await"), row.get("await"), row.get("avgrq-sz")
    timed = not completed or any((queue, util, flush_wait, wait, *(kind.wait for kind in kinds)))
    if wait is not None:
        mean_wait = wait / 1000 if completed or wait else None
    elif completed and all(kind.wait is not None or not kind.rate for kind in kinds):
        mean_wait = added((kind.wait or 0.0) * kind.rate for kind in kinds) / completed
    else:
        mean_wait = None
    if size:
        mean_size: float | None = size * 512
    else:
        mean_size = added(kind.throughput for kind in kinds) / completed if completed else None
    trims: _Kind = _columns(discards, timed=timed) if discards is not None else _UNCOUNTED
    return DiskActivity(
        device_name(device),
        *_columns(reads, timed=timed),
        *_columns(writes, timed=timed),
        *trims,
        flushes,
        flush_wait / 1000 if timed and flush_wait is not None and (flush_wait or flushes) else None,
        queue if timed else None,
        util / 100 if timed and util is not None else None,
        completed,
        mean_wait if timed else None,
        mean_size,
        None,
        origin,
    )


def _columns(kind: _Requests, *, timed: bool) -> tuple[float, float, float, float | None, float | None, float | None]:
    wait = kind.wait if timed else None
    return kind.rate, kind.throughput, kind.merged, kind.merged_ratio, wait, kind.size


def served(device: str, row: Row, origin: str, seconds: float | None) -> Service | None:
    """Return a device's row as a Service; None if the report shows neither waits nor utilization.

    The short report (`-s`) does not separate reads from writes: `tps kB/s rqm/s await areq-sz aqu-sz %util`. A report
    without `-x` has only `tps kB_read/s kB_wrtn/s`: neither waits nor utilization.
    """
    known = activity_of(device, row, origin)
    if known is not None:
        return Service(
            device=known.device,
            tool=service.IOSTAT,
            reads_per_second=known.reads_per_second,
            writes_per_second=known.writes_per_second,
            requests_per_second=known.completed_per_second,
            read_wait=known.read_wait,
            write_wait=known.write_wait,
            wait=known.wait,
            size=known.size,
            queue=known.queue,
            busy=known.busy,
            seconds=seconds,
            origin=origin,
        )
    if "tps" in row and any(map(BASIC.fullmatch, row)):
        name = device_name(device)
        return Service(device=name, tool=service.IOSTAT, requests_per_second=row["tps"], seconds=seconds, origin=origin)
    return unseparated(service.IOSTAT, device_name(device), row, origin, seconds)


def _of_intervals(reports: Sequence[IostatReport], command: str) -> list[tuple[IostatReport, float | None]]:
    """Return the reports that are not means since boot, with their length in seconds."""
    every = _OMITS_FIRST.search(command) is not None
    nominal = interval_of(command)
    before: list[int | None] = [None, *(report.at for report in reports)]
    return [
        (report, distance(None if report.first else at, report.at, nominal))
        for at, report in zip(before, reports, strict=False)
        if every or not report.first
    ]


def newest(reports: Sequence[IostatReport], command: str) -> tuple[Report, float | None]:
    """Return the last report and its length in seconds, None if unknown.

    The first report of a run without `-y` is the mean since boot and does not count. Raises Absent
    without another one, Malformed without any.
    """
    chosen = _of_intervals(reports, command)
    if chosen:
        return chosen[-1][0].rows, chosen[-1][1]
    if not reports:
        raise Malformed(f"cmd:{command}: no report in it")
    raise Absent(
        f"cmd:{command}", "only the mean since boot; the later reports of iostat -x 1 10 have rates", recorded=False
    )


def intervals(command: str, data: bytes) -> list[Interval]:
    """Return each report that is not a mean since boot as an output of its own: a heading without rows precedes it."""
    chosen = _of_intervals(printed(data.decode("utf-8", "replace")), command)
    every = _OMITS_FIRST.search(command) is not None
    texts = (
        report.text if every and not report.before.startswith("{") else f"{report.before}\n\n{report.text}"
        for report, _ in chosen
    )
    return [Interval(f"{text}\n".encode(), seconds) for text, (_, seconds) in zip(texts, chosen, strict=True)]


def read(host: Host) -> Iterable[Reading]:
    """Return a DiskActivity and a Service for each device in the last report of each recorded iostat run.

    If several runs list a device, the first one (in command order) is used; the short report has no DiskActivity.
    Raises Absent if no run has disk activity, Malformed if a run has rows but not the columns of `-x`.
    """
    found: dict[str, tuple[DiskActivity | None, Service]] = {}
    processors: CpuReport | None = None
    problem: Absent | Malformed = Absent(
        "cmd:iostat -x", "none recorded; not used on a live node, which has /proc/diskstats", recorded=False
    )
    for command in host.recorded("iostat"):
        origin = f"slug:{command}" if slug(command) == command else f"cmd:{command}"
        try:
            text = host.recorded_output(command).text
            report, seconds = newest(printed(text), command)
        except (Absent, Malformed) as error:
            problem = again(error)
            continue
        rows = [
            (activity_of(device, row, origin), served(device, row, origin, seconds)) for device, row in report.items()
        ]
        if report and not any(each for _, each in rows):
            problem = Malformed(f"{command}: no columns of iostat -x")
        processors = processors or cpu.iostat(text, origin)
        for activity, each in rows:
            if each is not None:
                found.setdefault(each.device, (activity, each))
    if not found:
        raise again(problem)
    return [*(row for pair in found.values() for row in pair if row is not None), *filter(None, [processors])]


def _fault(text: str) -> str:
    """Return why the end of a text may be cut: only several reports with the same rows and columns prove their end."""
    reports = printed_text(text)
    shapes = {frozenset((device, *sorted(row)) for device, row in report.rows.items()) for report in reports}
    return "" if len(reports) > 1 and len(shapes) == 1 and frozenset() not in shapes else NOT_SHOWN


_HEADING = r"Device:?\s.*%util|\s+r/s\s.*\sDevice$|Device:?\s+tps\s+\w+_read/s"
IOSTAT = Collector(
    "iostat",
    "Recorded iostat -x",
    read,
    (DiskActivity, Service, CpuReport),
    (
        Need(
            "cmd:iostat *",
            "disk activity, from captures only; never run",
            redact=without_host,
            split=intervals,
        ),
    ),
    SLOW,
    forms=(
        Form(
            key="cmd:iostat -x",
            first=rf"{BANNER_FORM}(?:avg-cpu|Device|.*\sDevice$)|{_HEADING}",
            reads="requests, waits, queue and utilization of disks; stolen processor time",
            versions="sysstat 9.1 and later",
            fault=_fault,
            several=Several.JOINED,
            intervals=True,
        ),
        Form(
            key="cmd:iostat -x -o JSON",
            first=r'\{\s*"sysstat":[\s\S]{0,100000}?"disk_device"',
            reads="requests, waits, queue and utilization of disks",
            versions="sysstat 11.5 and later",
            several=Several.JOINED,
            intervals=True,
        ),
    ),
)
