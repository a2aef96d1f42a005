"""Reports that iostat -x prints (sysstat 9.1 to 12.7), text or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.readings.sysstat import BANNER, second_of_day

Row = Mapping[str, float]
"""A device's values by column heading (`r/s`); throughput in bytes, everything else as printed."""
_UNITS = {"s": 512, "B": 1, "k": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}
_FIGURE = expression(r"(\d{1,20}(?:[.,]\d{1,20})?)([sBkMGTP%]?)", re.ASCII)
THROUGHPUT = expression(r"([rwd])(sec|kB|MB|GB)(?:/s)?")
BASIC = expression(r"(?:Blk|kB|MB|GB)_(?:read|wrtn)/s")
"""Headings of throughput in reports without `-x`."""
"""Headings of throughput: of reads, writes or discards, and their unit."""
_OF_A_COLUMN = {"sec": 512, "kB": 1024, "MB": 1024**2, "GB": 1024**3}
_STATISTICS = expression(r'"statistics"\s*:\s*\[')
_BLANK = expression(r"[\s,]*")


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
    lines = _joined(text.splitlines())
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


def _joined(lines: list[str]) -> list[str]:
    """Return lines with the values of a device behind its name: before sysstat 11.7, -h prints them on two lines."""
    found: list[str] = []
    for line in lines:
        is_alone = bool(found) and len(found[-1].split()) == 1 and found[-1].strip() not in {"Device", "Device:"}
        if is_alone and re.match(r"\s+\d", line):
            found[-1] = f"{found[-1].rstrip()} {line}"
        else:
            found.append(line)
    return found


def _cut(line: str) -> bool:
    """Return whether an unterminated line seems truncated; all values of a complete line have equal decimals."""
    decimals = {len(word.replace(",", ".").partition(".")[2]) for word in line.split()[-2:]}
    return len(decimals) > 1


def _figure(head: str, word: str) -> float | None:
    found = _FIGURE.fullmatch(word)
    if found is None:
        return None
    value, unit = float(found[1].replace(",", ".")), found[2]
    column = THROUGHPUT.fullmatch(head)
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
