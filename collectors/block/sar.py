"""Disk statistics from recorded output of `sar -d` (also part of `sar -A`) and `sadf -j -- -d`."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from sdstop.collectors.block.readings import DiskDay
from sdstop.core import collector as core
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.text import added, json_number, json_text
from sdstop.readings import service
from sdstop.readings.service import Service
from sdstop.readings.sysstat import (
    BANNER_FORM,
    STAMP_FORM,
    Figures,
    distance,
    second_of_day,
    shows,
    stamped_rows,
    unseparated,
    without_host,
)

_MOVED = {"rkB/s": 1024, "wkB/s": 1024, "rd_sec/s": 512, "wr_sec/s": 512, "rMB/s": 1 << 20, "wMB/s": 1 << 20}
_SADF = {"rkB": "rkB/s", "wkB": "wkB/s", "util-percent": "%util", "util": "%util", "rd_sec": "", "wr_sec": ""}
"""Columns of sadf under the names of sar; "" for repetitions in another unit."""
_STATISTICS = expression(r'"statistics"\s*:\s*\[')
_BLANK = expression(r"[\s,]*")
_OF_A_DAY = 60.0
"""Seconds above which intervals belong to sysstat's record of a day, and are summed up instead of shown one by one."""

Interval = tuple[str, Figures]


class SarInterval(Struct):
    """An interval: when it ended, its length in seconds if known, the values by device and column, and its text.

    `before` are the lines that must precede `text` for it to be read alone.
    """

    at: str
    seconds: float | None
    rows: dict[str, Figures]
    before: str = ""
    text: str = ""


def printed_text(text: str) -> list[SarInterval]:
    """Return the intervals of `sar -d`, `sar -dp` or `sar -A` (see stamped_rows)."""
    found: list[SarInterval] = []
    begins = ""
    for row in stamped_rows(text, "DEV"):
        if not found or found[-1].at != row.at or row.device in found[-1].rows:
            earlier = found[-1].at if found and begins == row.begins else row.begins
            begins = row.begins
            seconds = distance(second_of_day(earlier), second_of_day(row.at), None)
            found.append(SarInterval(row.at, seconds, {}, _head(row.banner, row.heading, row.begins, earlier)))
        found[-1].rows[row.device] = row.figures
        found[-1].text += f"{row.line}\n"
    return found


def _head(banner: str, heading: str, begins: str, at: str) -> str:
    """Return the lines in front of an interval: the heading shows when it began."""
    spaced = re.compile(r"\s+".join(map(re.escape, begins.split())))
    printed = spaced.search(heading)
    heading = heading if printed is None else heading[: printed.start()] + at + heading[printed.end() :]
    return "\n\n".join(filter(None, (banner, heading)))


def printed_json(text: str) -> list[SarInterval]:
    """Return the intervals of `sadf -j -- -d`; of output that was cut, the complete ones.

    {"sysstat": {"hosts": [{"nodename": "n", "statistics": [
        {"timestamp": {"date": "2026-11-21", "time": "18:41:43", "utc": 1, "interval": 1},
         "disk": [{"disk-device": "sda", "tps": 26.0, "rkB": 232.0, "wkB": 0.0, "await": 0.19, "util-percent": 0.8}]}
    """
    found: list[SarInterval] = []
    decoder = json.JSONDecoder()
    start = _STATISTICS.search(text)
    position = start.end() if start is not None else len(text)
    while True:
        skipped = _BLANK.match(text, position)
        position = skipped.end() if skipped else position
        try:
            said, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return found
        stamp, disks = (said.get(name) for name in ("timestamp", "disk")) if isinstance(said, dict) else (None, None)
        if isinstance(stamp, dict) and isinstance(disks, list):
            rows = dict(filter(None, map(_json_row, disks)))
            seconds, at = json_number(stamp.get("interval"), 1e9), json_text(stamp.get("time"))
            head = '{"sysstat": {"hosts": [{"statistics": ['
            if rows:
                found.append(SarInterval(at or "", seconds or None, rows, head, f"{text[position:end]}\n]}}]}}}}\n"))
        position = end


def _json_row(said: Any) -> tuple[str, Figures] | None:
    if not isinstance(said, dict) or (device := json_text(said.get("disk-device"))) is None:
        return None
    figures = {
        _SADF.get(name, name): number for name, value in said.items() if (number := json_number(value)) is not None
    }
    return device, {name: number for name, number in figures.items() if name}


def printed(text: str) -> list[SarInterval]:
    """Return the intervals of a recorded output of sar or sadf."""
    return printed_json(text) if text.lstrip().startswith("{") else printed_text(text)


def parse(text: str) -> dict[str, list[Interval]]:
    """Return the intervals of each disk, {device: [(time, {column: value})]}."""
    found: dict[str, list[Interval]] = defaultdict(list)
    for each in printed(text):
        for device, figures in each.rows.items():
            found[device].append((each.at, figures))
    return dict(found)


def day(device: str, intervals: list[Interval], origin: str) -> DiskDay | None:
    """Return a disk's DiskDay, None if the tps and %util columns are missing."""
    rows = [(at, row) for at, row in intervals if "tps" in row and "%util" in row]
    if not rows:
        return None
    count = len(rows)
    requests = added(row["tps"] for _, row in rows)
    waits = [(row["await"] / 1000, row["tps"]) for _, row in rows if "await" in row and row["tps"] > 0]
    moved = [added(row[name] * unit for name, unit in _MOVED.items() if name in row) for _, row in rows]
    busiest, at = max((row["%util"], at) for at, row in rows)
    known = any(name in rows[0][1] for name in _MOVED)
    return DiskDay(
        device=device,
        intervals=count,
        since=rows[0][0],
        to=rows[-1][0],
        busy=added(row["%util"] for _, row in rows) / count / 100,
        busy_most=busiest / 100,
        busy_at=at,
        wait=added(wait * rate for wait, rate in waits) / requests if waits else None,
        wait_most=max((wait for wait, _ in waits), default=None),
        requests=requests / count,
        bytes=added(moved) / count if known else None,
        origin=origin,
    )


def served(device: str, row: Figures, origin: str, seconds: float | None) -> Service | None:
    """Return a disk's interval as a Service, None without the columns tps, await and %util.

    sar does not separate reads from writes.
    """
    return unseparated(service.SAR, device, row, origin, seconds)


def intervals(command: str, data: bytes) -> list[core.Interval]:
    """Return each interval of `sar -d 1 10` as an output of its own; none of a day's record."""
    del command
    found = printed(data.decode("utf-8", "replace"))
    if any(each.seconds is None or each.seconds > _OF_A_DAY for each in found):
        return []
    return [core.Interval(f"{each.before}\n{each.text}".encode(), each.seconds) for each in found]


def read(host: Host) -> Iterable[Reading]:
    """Return a DiskDay, and a Service for the last interval, of each disk, from the first text that lists it.

    Intervals of at most a minute make no DiskDay. Raises Absent if no output of sar or sadf is recorded, Malformed if
    none has a disk table.
    """
    names = [key.partition(":")[2] for key in host.recorded_texts("sar", shows("DEV"))] + host.recorded("sadf")
    if not names:
        raise Absent("cmd:sar -d", "none recorded; not used on a live node", recorded=False)
    days: dict[str, DiskDay] = {}
    services: dict[str, Service] = {}
    for name in names:
        origin = f"cmd:{name}"
        found = printed(host.recorded_output(name).text)
        rows: dict[str, list[Interval]] = defaultdict(list)
        for each in found:
            for device, figures in each.rows.items():
                rows[device].append((each.at, figures))
        last = {device: each for each in found for device in each.rows}
        for device, of_device in rows.items():
            if device in days or device in services:
                continue
            each = last[device]
            row = day(device, of_device, origin)
            if row is not None and (each.seconds is None or each.seconds > _OF_A_DAY):
                days[device] = row
            shown = served(device, each.rows[device], origin, each.seconds)
            if shown is not None:
                services[device] = shown
    if not days and not services:
        raise Malformed(f"{names[0]}: no table of disks")
    return [*days.values(), *services.values()]


SAR = Collector(
    "sar",
    "Recorded sar -d",
    read,
    (DiskDay, Service),
    (
        Need(
            "cmd:sar *",
            "disk activity of a day, from captures and sosreports only; never run",
            redact=without_host,
            split=intervals,
        ),
        Need(
            "cmd:sadf *",
            "disk activity of a day as JSON, from captures only; never run",
            redact=without_host,
            split=intervals,
        ),
    ),
    pace=SLOW,
    forms=(
        Form(
            key="cmd:sar -d",
            first=rf"(?:{BANNER_FORM})?{STAMP_FORM}(?:DEV\s+tps\s|tps\s.*\sDEV$)",
            reads="requests, waits, queue and utilization of disks",
            versions="sysstat 9.1 and later",
            intervals=True,
        ),
        Form(
            key="cmd:sadf -j -- -d",
            first=r'\{\s*"sysstat":[\s\S]{0,100000}?"disk-device"',
            reads="requests, waits, queue and utilization of disks",
            versions="sysstat 9.1 and later",
            intervals=True,
        ),
    ),
)
