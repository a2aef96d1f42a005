"""Disk activity from recorded `iostat -x` output (sysstat 9.1 to 12.7), text or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from sdstop.collectors.block.sysstat import without_host
from sdstop.core.collector import SLOW, Collector, Need
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
_Kind = tuple[float | None, float | None, float | None, float | None, float | None, float | None]
_UNCOUNTED: _Kind = (None, None, None, None, None, None)


def parse_text(text: str) -> list[Report]:
    """Return the reports of an `iostat -x`, oldest first.

    Columns are identified by heading, never by position, because they differ between versions.

        Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await
        Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await

    `-m` and `-g` change the unit of throughput, `--human` prints a unit with each value, `--pretty` moves the device to
    the end of the line and may split a report into four tables, each with some of the columns; values may have decimal
    commas. Lines that do not match the headings above them, and a truncated last line, are skipped.
    """
    reports: list[dict[str, dict[str, float]]] = []
    seen: set[str] = set()
    heads: list[str] = []
    lines = text.splitlines()
    if lines and not text.endswith(("\n", "\r")) and _cut(lines[-1]):
        lines.pop()
    for line in lines:
        words = line.split()
        if "Device" in words or "Device:" in words:
            heads = [word.rstrip(":") for word in words]
            if not reports or not seen.isdisjoint(set(heads) - {"Device"}):
                reports.append({})
                seen = set()
            seen.update(set(heads) - {"Device"})
        elif not words:
            heads = []
        elif len(words) == len(heads):
            cells = dict(zip(heads, words, strict=True))
            device = cells.pop("Device")
            figures = {head: _figure(head, word) for head, word in cells.items()}
            whole = {head: value for head, value in figures.items() if value is not None}
            if len(whole) == len(figures):
                reports[-1].setdefault(device, {}).update(whole)
    return list(reports)


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


def parse_json(text: str) -> list[Report]:
    """Return the reports of `iostat -x -o JSON`, oldest first; for a killed run, only the complete ones.

        {"sysstat": {"hosts": [{"nodename": "n", "statistics": [
            {"disk": [{"disk_device": "sda", "r/s": 1.50, "rkB/s": 6.00, "rrqm/s": 0.10, "rrqm": 6.25, "util": 0.60}]},

    `rrqm` and `util` are percentages. Before sysstat 11.7, `rrqm`, `r` and `rkB` had the meaning of today's `rrqm/s`,
    `r/s` and `rkB/s`.
    """
    reports: list[Report] = []
    start = re.search(r'"statistics"\s*:\s*\[', text)
    position = start.end() if start else len(text)
    decoder = json.JSONDecoder()
    while True:
        skipped = re.compile(r"[\s,]*").match(text, position)
        position = skipped.end() if skipped else position
        try:
            said, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return reports
        disks = said.get("disk") if isinstance(said, dict) else None
        rows = (_json_row(disk) for disk in disks) if isinstance(disks, list) else ()
        reports.append({device: row for device, row in rows if device})


def _json_row(said: Any) -> tuple[str, Row]:
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


def newest(reports: list[Report], command: str) -> Report:
    """Return the last report, ignoring the first one of a run without `-y`, which is the mean since boot.

    Raises Absent if there is no other report.
    """
    if len(reports) > 1 or (reports and re.search(r"[ _]-[a-zA-Z]*y", command)):
        return reports[-1]
    detail = "no report in it" if not reports else "only the mean since boot; with an interval and a count it says more"
    raise Absent(f"cmd:{command}", detail, recorded=False)


def read(host: Host) -> Iterable[Reading]:
    """Return a DiskActivity and a Service for each device in the last report of each recorded iostat run.

    If several runs list a device, the first one (in command order) is used. Raises Absent if no run has disk activity,
    Malformed if a run has rows but not the columns of `-x`.
    """
    found: dict[str, DiskActivity] = {}
    problem: Absent | Malformed = Absent(
        "cmd:iostat -x", "none recorded; a live node is not asked, /proc/diskstats says the same", recorded=False
    )
    for command in host.recorded("iostat"):
        text = host.recorded_output(command).text
        origin = f"slug:{command}" if slug(command) == command else f"cmd:{command}"
        try:
            report = newest(parse_json(text) if text.lstrip().startswith("{") else parse_text(text), command)
        except Absent as error:
            problem = error
            continue
        rows = [activity_of(device, row, origin) for device, row in report.items()]
        if report and not any(rows):
            problem = Malformed(f"{command}: no columns of iostat -x")
        for row in rows:
            if row is not None:
                found.setdefault(row.device, row)
    if not found:
        raise problem
    return [*found.values(), *map(served, found.values())]


def served(row: DiskActivity) -> Service:
    """Return the columns of a row that other tools print as well."""
    return Service(
        device=row.device,
        tool=service.IOSTAT,
        reads_per_second=row.reads_per_second,
        writes_per_second=row.writes_per_second,
        requests_per_second=row.completed_per_second,
        read_wait=row.read_wait,
        write_wait=row.write_wait,
        wait=row.wait,
        queue=row.queue,
        busy=row.busy,
        origin=row.origin,
    )


IOSTAT = Collector(
    "iostat",
    "Recorded iostat -x",
    read,
    (DiskActivity, Service),
    (Need("cmd:iostat *", "what disks did, where somebody recorded it; never run", redact=without_host),),
    SLOW,
)
