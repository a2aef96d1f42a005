"""Disk activity from recorded `iostat -x` output (sysstat 9.1 to 12.7), text or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from sdstop.collectors.block.sysstat import BANNER, distance, interval_of, second_of_day, without_host
from sdstop.core.collector import SLOW, Collector, Interval, Need
from sdstop.core.evidence import slug
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.text import added
from sdstop.readings import service
from sdstop.readings.disk import DiskActivity, device_name
from sdstop.readings.service import Service

Row = Mapping[str, float]
"""A device's values by column heading (`r/s`); throughput in bytes, everything else as printed."""
Report = Mapping[str, Row]

_UNITS = {"s": 512, "B": 1, "k": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}
_FIGURE = re.compile(r"(\d{1,20}(?:[.,]\d{1,20})?)([sBkMGTP%]?)", re.ASCII)
_THROUGHPUT = re.compile(r"([rwd])(sec|kB|MB|GB)(?:/s)?")
_OF_A_COLUMN = {"sec": 512, "kB": 1024, "MB": 1024**2, "GB": 1024**3}
_STATISTICS = re.compile(r'"statistics"\s*:\s*\[')
_BLANK = re.compile(r"[\s,]*")
_OMITS_FIRST = re.compile(r"[ _]-[a-zA-Z]*y")
_Kind = tuple[float | None, float | None, float | None, float | None, float | None, float | None]
_UNCOUNTED: _Kind = (None, None, None, None, None, None)


class IostatReport(Struct):
    """A report of a run: its rows, whether it is the run's first (without `-y` the mean since boot), and its text.

    `at` is the second of the day and `stamp` the line that shows it (`-t`); `before` is the text that must precede
    `text` for the report to be read as one that is not the first of its run.
    """

    rows: dict[str, dict[str, float]]
    first: bool
    at: int | None = None
    stamp: str = ""
    before: str = ""
    text: str = ""


def printed_text(text: str) -> list[IostatReport]:
    """Return the reports of the runs of `iostat -x` in a text, oldest first.

    Columns are identified by heading, never by position, because they differ between versions.

        Linux 6.1.0 (store1)    11/21/26        _x86_64_        (8 CPU)

        11/21/26 18:41:43
        Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await
        Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await

    `-m` and `-g` change the unit of throughput, `--human` prints a unit with each value, `--pretty` moves the device to
    the end of the line and may split a report into four tables, each with some of the columns; values may have decimal
    commas. Lines that do not match the headings above them, and a truncated last line, are skipped.
    """
    reports: list[IostatReport] = []
    seen: set[str] = set()
    heads: list[str] = []
    pending: list[str] = []
    shown: list[list[str]] = []
    banner, first = "", True
    lines = text.splitlines()
    if lines and not text.endswith(("\n", "\r")) and _cut(lines[-1]):
        lines.pop()
    for line in lines:
        words = line.split()
        if "Device" in words or "Device:" in words:
            heads = [word.rstrip(":") for word in words]
            columns = set(heads) - {"Device"}
            if first or not reports or not seen.isdisjoint(columns):
                last = reports[-1].stamp if reports and not first else ""
                before = "\n".join(filter(None, (banner, last, line)))
                stamp = next((each for each in reversed(pending) if second_of_day(each) is not None), "")
                reports.append(IostatReport({}, first, second_of_day(stamp), stamp, before))
                shown.append([*pending])
                seen, first = set(), False
            seen.update(columns)
            shown[-1] += [line]
            pending = []
        elif not words:
            heads = []
        elif BANNER.fullmatch(line):
            banner, first, heads, pending = line, True, [], []
        elif not heads:
            pending = [*pending[-_BEFORE_HEADING:], line]
        elif len(words) == len(heads):
            cells = dict(zip(heads, words, strict=True))
            device = cells.pop("Device")
            figures = {head: _figure(head, word) for head, word in cells.items()}
            whole = {head: value for head, value in figures.items() if value is not None}
            if len(whole) == len(figures):
                reports[-1].rows.setdefault(device, {}).update(whole)
                shown[-1] += [line]
    for report, kept in zip(reports, shown, strict=True):
        report.text = "\n".join(kept)
    return reports


_BEFORE_HEADING = 3
"""Lines kept in front of a heading: time, and two lines of processor use."""


def parse_text(text: str) -> list[Report]:
    """Return the rows of each report of `printed_text`."""
    return [report.rows for report in printed_text(text)]


def _cut(line: str) -> bool:
    """Return whether an unterminated line seems truncated; all values of a complete line have equal decimals."""
    decimals = {len(word.replace(",", ".").partition(".")[2]) for word in line.split()[-2:]}
    return len(decimals) > 1


def _figure(head: str, word: str) -> float | None:
    found = _FIGURE.fullmatch(word)
    if found is None:
        return None
    value, unit = float(found[1].replace(",", ".")), found[2]
    column = _THROUGHPUT.fullmatch(head)
    if unit in _UNITS:
        return value * _UNITS[unit] / (1 if column else 1024)  # request sizes are in kB
    return value * _OF_A_COLUMN[column[2]] if column else value


def printed_json(text: str) -> list[IostatReport]:
    """Return the reports of `iostat -x -o JSON`, oldest first; for a killed run, only the complete ones.

        {"sysstat": {"hosts": [{"nodename": "n", "statistics": [
            {"timestamp": "11/21/26 18:41:43", "disk": [
                {"disk_device": "sda", "r/s": 1.50, "rkB/s": 6.00, "rrqm/s": 0.10, "rrqm": 6.25, "util": 0.60}]},

    `rrqm` and `util` are percentages. Before sysstat 11.7, `rrqm`, `r` and `rkB` had the meaning of today's `rrqm/s`,
    `r/s` and `rkB/s`. A text may hold several runs.
    """
    reports: list[IostatReport] = []
    decoder = json.JSONDecoder()
    position = 0
    while (start := _STATISTICS.search(text, position)) is not None:
        position, first = start.end(), True
        last: list[str] = []
        while True:
            skipped = _BLANK.match(text, position)
            position = skipped.end() if skipped else position
            try:
                said, end = decoder.raw_decode(text, position)
            except (ValueError, RecursionError):
                break
            disks = said.get("disk") if isinstance(said, dict) else None
            rows = (_json_row(disk) for disk in disks) if isinstance(disks, list) else ()
            stamp = said.get("timestamp") if isinstance(said, dict) else None
            stamp = stamp if isinstance(stamp, str) else ""
            head = '{"sysstat": {"hosts": [{"statistics": [\n' + json.dumps({"timestamp": last[-1]} if last else {})
            report = IostatReport(
                {device: row for device, row in rows if device}, first, second_of_day(stamp), stamp, f"{head},",
                f"{text[position:end]}\n]}}]}}}}",
            )  # fmt: skip
            reports.append(report)
            last = [stamp] if stamp else []
            position, first = end, False
    return reports


def parse_json(text: str) -> list[Report]:
    """Return the rows of each report of `printed_json`."""
    return [report.rows for report in printed_json(text)]


def printed(text: str) -> list[IostatReport]:
    """Return the reports of a recorded output, text or JSON."""
    return printed_json(text) if text.lstrip().startswith("{") else printed_text(text)


def _json_row(said: Any) -> tuple[str, dict[str, float]]:
    if not isinstance(said, dict) or not isinstance(said.get("disk_device"), str):
        return "", {}
    row: dict[str, float] = {}
    old = "r" in said
    for name, value in said.items():
        figure = _figure(name, str(value)) if isinstance(value, int | float) else None
        if figure is None:
            continue
        merged = name in {"rrqm", "wrqm", "drqm"}
        if old and (merged or name in {"r", "w"}):
            row[f"{name}/s"] = figure
        else:
            row[f"%{name}" if merged or name == "util" else name] = figure
    return said["disk_device"], row


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
    found = (row[head] for head in row if (m := _THROUGHPUT.fullmatch(head)) and m[1] == kind)
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

    The short report (`-s`) does not separate reads from writes: `tps kB/s rqm/s await areq-sz aqu-sz %util`.
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
            queue=known.queue,
            busy=known.busy,
            seconds=seconds,
            origin=origin,
        )
    rate, wait, queue, util = row.get("tps"), row.get("await"), row.get("aqu-sz"), row.get("%util")
    if rate is None or wait is None or util is None:
        return None
    timed = bool(not rate or wait or queue or util)
    return Service(
        device=device_name(device),
        tool=service.IOSTAT,
        requests_per_second=rate,
        wait=wait / 1000 if timed and (rate or wait) else None,
        queue=queue if timed else None,
        busy=util / 100 if timed else None,
        seconds=seconds,
        origin=origin,
    )


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
    raise Absent(f"cmd:{command}", "only the mean since boot; rates need an interval and a count", recorded=False)


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
    problem: Absent | Malformed = Absent(
        "cmd:iostat -x", "none recorded; not used on a live node, which has /proc/diskstats", recorded=False
    )
    for command in host.recorded("iostat"):
        origin = f"slug:{command}" if slug(command) == command else f"cmd:{command}"
        try:
            report, seconds = newest(printed(host.recorded_output(command).text), command)
        except (Absent, Malformed) as error:
            problem = error
            continue
        rows = [
            (activity_of(device, row, origin), served(device, row, origin, seconds)) for device, row in report.items()
        ]
        if report and not any(each for _, each in rows):
            problem = Malformed(f"{command}: no columns of iostat -x")
        for activity, each in rows:
            if each is not None:
                found.setdefault(each.device, (activity, each))
    if not found:
        raise problem
    return [row for pair in found.values() for row in pair if row is not None]


IOSTAT = Collector(
    "iostat",
    "Recorded iostat -x",
    read,
    (DiskActivity, Service),
    (
        Need(
            "cmd:iostat *",
            "disk activity, from captures only; never run",
            redact=without_host,
            split=intervals,
        ),
    ),
    SLOW,
)
