"""Daily disk statistics from recorded text of `sar -d` (also part of `sar -A`)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar

from sdstop.collectors.block.sysstat import without_host
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source
from sdstop.core.text import added

MOST = 200_000
"""Maximum number of lines read."""


class DiskDay(Reading, frozen=True, kw_only=True):
    """Activity of a disk over the time recorded by sysstat, from intervals of several minutes.

    `since` and `to` are times of day as printed, in the node's time zone.
    """

    family: ClassVar[str] = "disk_day"
    title: ClassVar[str] = "Disks as sar recorded them"
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}", " {device} ")
    things: ClassVar = {
        "device": Identity(ThingKind.DEVICE, Naming.DEV),
    }

    device: Annotated[str, Label("Device", "As sar names it: sda, or dev8-0", names=Name.DEVICE)]
    intervals: Annotated[int, Metric("Intervals", "Intervals that were recorded")]
    since: Annotated[str, Fact("From", "End of the first interval", plain=True)]
    to: Annotated[str, Fact("To", "End of the last interval", plain=True)]
    busy: Annotated[float, Metric("Busy", "Mean share of time with a request in flight", "ratio")]
    busy_most: Annotated[float, Metric("At most", "The same of the busiest interval", "ratio")]
    busy_at: Annotated[str, Fact("At", "End of the busiest interval", plain=True)]
    wait: Annotated[float | None, Metric("await", "Mean time a request took, by requests", "seconds")]
    wait_most: Annotated[float | None, Metric("At most", "Longest mean time of an interval", "seconds")]
    requests: Annotated[float, Metric("tps", "Mean requests a second", "per_second")]
    bytes: Annotated[float | None, Metric("Bytes", "Mean bytes a second, both ways", "bytes_per_second")]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""


_TIME = re.compile(r"\d\d[:.]\d\d[:.]\d\d")
_NUMBER = re.compile(r"\d{1,15}(?:[.,]\d{1,6})?")
_MOVED = {"rkB/s": 1024, "wkB/s": 1024, "rd_sec/s": 512, "wr_sec/s": 512, "rMB/s": 1 << 20, "wMB/s": 1 << 20}

Interval = tuple[str, Mapping[str, float]]


def parse(text: str) -> dict[str, list[Interval]]:
    """Return the intervals of each disk, {device: [(time, {column: value})]}, for sysstat 9 to 12.

        12:00:01 AM       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
        12:10:01 AM    dev8-0      1.23      4.00      8.00      0.00      9.76      0.00      0.61      0.12
        Average:       dev8-0      1.23      4.00      8.00      0.00      9.76      0.00      0.61      0.12

    Other tables, averages, lines that do not match their headings, and restarts are skipped.
    """
    found: dict[str, list[Interval]] = defaultdict(list)
    heads: list[str] = []
    for line in text.splitlines()[:MOST]:
        words = line.split()
        if len(words) < 3 or _TIME.fullmatch(words[0]) is None:
            heads = heads if words else []
            continue
        half = words[1] if words[1] in {"AM", "PM"} else ""
        rest = words[2:] if half else words[1:]
        if rest[0] == "DEV":
            heads = rest[1:]
        elif heads and len(rest) == len(heads) + 1 and all(map(_NUMBER.fullmatch, rest[1:])):
            figures = {head: float(word.replace(",", ".")) for head, word in zip(heads, rest[1:], strict=True)}
            found[rest[0]].append((f"{words[0]} {half}".strip(), figures))
        else:
            heads = []
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


def read(host: Host) -> Iterable[Reading]:
    """Return a DiskDay for each disk, from the first text that lists it.

    Raises Absent if no sar output is recorded, Malformed if none has a disk table.
    """
    names = host.recorded("sar")
    if not names:
        raise Absent("cmd:sar -d", "none recorded; a live node is not asked", recorded=False)
    found: dict[str, DiskDay] = {}
    for name in names:
        for device, intervals in parse(host.recorded_output(name).text).items():
            row = day(device, intervals, f"cmd:{name}")
            if row is not None:
                found.setdefault(device, row)
    if not found:
        raise Malformed(f"{names[0]}: no table of disks")
    return found.values()


SAR = Collector(
    "sar",
    "Recorded sar -d",
    read,
    (DiskDay,),
    (Need("cmd:sar *", "what disks did over a day, in a capture or a sosreport; never run", redact=without_host),),
    pace=SLOW,
)
