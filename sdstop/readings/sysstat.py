"""Common parts of the sysstat programs: output header, times, tables, and the arguments of a recorded command.

Sources: sysstat 9.1 to 12.7, common.c (print_gal_header, get_time), iostat.c, sar.c, pr_stats.c. Dates and times are
printed as the locale has them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.readings.service import Service

_HEAD = expression(rb"^(Linux \S+ \()[^()\n]*(\))", re.MULTILINE)
_NAME = expression(rb'("nodename":\s*)"[^"\n]*"')
BANNER = expression(r"\s*Linux \S+ \([^()]*\)\s.*\(\d{1,5} CPUs?\)\s*")
"""First line of a run: `Linux 6.1.0 (store1) 11/21/26 _x86_64_ (8 CPU)`."""
BANNER_FORM = r"Linux \S+ \([^()\n]*\)[ \t].*\(\d+ CPUs?\)[ \t]*\n\s*(?:\d.*\n\s*)??"
"""Form of the banner, and of the date that can follow it, in front of the first heading."""
STAMP_FORM = (
    r"[ \t]*(?:\S{1,4} )?\d{1,2}(?:[:.]|時|时|시 ?)\d\d(?:[:.]|分|분 ?)\d\d(?:秒|초)?"
    r"(?: (?:[AP]M|[ap]m|[πμ]μ|[صم]))?(?: [A-Z]{2,5})?[ \t]+"
)
"""Form of the time in front of a heading of sar."""
DAY = 86_400
"""Seconds."""
_CLOCK = expression(
    r"(?:(?<![^\sT])|(?<=[午上下전후]))([01]?\d|2[0-3])(?:[:.]|時|时|시 ?)([0-5]\d)(?:[:.]|分|분 ?)([0-5]\d|60)"
    r"(?:秒|초)?(?:\s?([AP]M|[ap]m|[πμ]μ|[صم]))?(?![\d:.])"
)
_AFTERNOON = frozenset({"PM", "pm", "μμ", "م"})
_HALF = expression(r"午後|下午|오후")
"""Words for the second half of a day in front of a time."""
MOST = 200_000
"""Maximum number of lines read."""
_FIGURE = expression(r"\d{1,15}(?:[.,]\d{1,6})?")
_NUMBER = expression(r"[1-9]\d{0,6}", re.ASCII)
_VALUED = frozenset({"-o", "-g", "-j", "-f", "-p", "-s", "-e", "-O", "-P"})
"""Options with a value that may be a word of its own."""


def without_host(data: bytes) -> bytes:
    """Return iostat or sar output without the host name: `Linux 6.1.0 (store1) 11/21/26 _x86_64_ (8 CPU)`."""
    return _NAME.sub(rb'\1"host"', _HEAD.sub(rb"\1host\2", data))


def second_of_day(text: str) -> int | None:
    """Return the second of the day of the last time in a text; the date may be in front of it.

    `11/21/26 06:41:43 PM`, `21.11.26 18.41.43`, `2026年11月21日 18時41分43秒`, `2026-11-21T18:41:43+0100`
    """
    times = list(_CLOCK.finditer(text))
    if not times:
        return None
    found = times[-1]
    hour, minute, second, half = int(found[1]), int(found[2]), int(found[3]), found[4]
    later = half in _AFTERNOON or _HALF.search(text) is not None
    if (half or _HALF.search(text)) and hour <= 12:
        hour = hour % 12 + 12 * later
    return hour * 3600 + minute * 60 + second


Figures = Mapping[str, float]


class StampedRow(Struct, frozen=True):
    """A line of a table of sar: when its interval began and ended (as printed), its device, and values by heading."""

    begins: str
    at: str
    device: str
    figures: Figures
    line: str
    banner: str
    heading: str


def stamped_rows(text: str, column: str) -> Iterator[StampedRow]:
    """Yield the lines of the tables of sar with a column, such as DEV or IFACE; sysstat 9 to 12, any locale.

        12:00:01 AM       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
        12:10:01 AM    dev8-0      1.23      4.00      8.00      0.00      9.76      0.00      0.61      0.12
        Average:       dev8-0      1.23      4.00      8.00      0.00      9.76      0.00      0.61      0.12

        12:00:01          tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util DEV
        12:10:01         1.23      4.00      8.00      0.00      9.76      0.00      0.61      0.12 sda

        08시 02분 36초     IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s

    The words in front of the columns are the time; their number is that of the heading. Other tables, averages,
    lines that do not match their headings, and restarts are skipped. A heading shows the end of the interval before.
    """
    heads: list[str] = []
    banner = heading = begins = ""
    stamp, device_at = 0, 0
    for line in text.splitlines()[:MOST]:
        words = line.split()
        if BANNER.fullmatch(line):
            banner, heads = line, []
        elif column in words and (start := _stamp(words, column)) is not None:
            stamp, heads, heading = start, words[start:], line
            device_at, begins = heads.index(column), " ".join(words[:start])
        elif not words:
            heads = []
        elif heads and second_of_day(at := " ".join(words[:stamp])) is not None:
            cells = words[stamp:]
            values = [word for place, word in enumerate(cells) if place != device_at]
            if len(cells) != len(heads) or not all(map(_FIGURE.fullmatch, values)):
                heads = []  # of another table, or a restart
                continue
            names = (head for head in heads if head != column)
            figures = {name: float(word.replace(",", ".")) for name, word in zip(names, values, strict=True)}
            yield StampedRow(begins, at, cells[device_at], figures, line, banner, heading)


def shows(column: str) -> Callable[[str], bool]:
    """Return a test whether the beginning of an output of sar shows a table with a column.

    A long one may show it later: `sar -A` of a day.
    """
    heading = re.compile(rf"\s{column}(?:\s|$)", re.MULTILINE)
    return lambda text: heading.search(text) is not None or len(text) >= _LONG


_LONG = 60_000
"""Characters; a longer output may show the table behind its beginning."""


def _stamp(words: Sequence[str], column: str) -> int | None:
    """Return the number of words of the time in front of a heading, None without a time."""
    place = words.index(column)
    ends = range(1, len(words)) if place == len(words) - 1 else range(1, place + 1)
    return next((end for end in ends if second_of_day(" ".join(words[:end])) is not None
                 and (end == place or (place == len(words) - 1 and not _is_half(words[end])))), None)  # fmt: skip


def _is_half(word: str) -> bool:
    """Return whether a word belongs to a time: half of the day, or a time zone."""
    return re.fullmatch(r"[AP]M|[ap]m|[πμ]μ|[صم]|[A-Z]{2,5}|[+-]\d{2,4}", word) is not None


def distance(before: int | None, after: int | None, nominal: float | None) -> float | None:
    """Return the seconds between two times of day, printed in whole seconds, or the nominal interval.

    The nominal interval is preferred where both agree within rounding; None if neither is known.
    """
    if before is None or after is None:
        return nominal
    passed = (after - before) % DAY
    if nominal is not None and abs(passed - nominal) <= 1:
        return nominal
    return float(passed) if passed else nominal


def interval_of(command: str) -> float | None:
    """Return the interval (seconds) of a recorded command line or its slug: `iostat -xt 5 12`, `sar_-d_1_10`."""
    words = re.split(r"[ _]+", command.strip())[1:]
    options = iter(words)
    for word in options:
        if word in _VALUED:
            following = next(options, "")
            if _NUMBER.fullmatch(following) and word in {"-p", "-s", "-e"}:  # their value is optional
                return float(following)
        elif _NUMBER.fullmatch(word):
            return float(word)
    return None


def unseparated(tool: str, device: str, row: Mapping[str, float], origin: str, seconds: float | None) -> Service | None:
    """Return a row `tps ... await aqu-sz %util` without separate reads and writes as a Service.

    None if the row lacks tps, await or %util. Before sysstat 12, aqu-sz is avgqu-sz, and areq-sz (KiB) is avgrq-sz
    (sectors of 512 bytes). Waits, queue and utilization are
    None if requests completed but all of these values are 0.00; such a device is not timed.
    """
    rate, wait, util = row.get("tps"), row.get("await"), row.get("%util")
    if rate is None or wait is None or util is None:
        return None
    queue = row.get("aqu-sz", row.get("avgqu-sz"))
    timed = bool(not rate or wait or queue or util)
    return Service(
        device=device,
        tool=tool,
        requests_per_second=rate,
        wait=wait / 1000 if timed and (rate or wait) else None,
        size=_size(row),
        read_share=_read_share(row),
        queue=queue if timed else None,
        busy=util / 100 if timed else None,
        seconds=seconds,
        origin=origin,
    )


_THROUGHPUT = (("rkB/s", "wkB/s"), ("rMB/s", "wMB/s"), ("rd_sec/s", "wr_sec/s"))


def _read_share(row: Mapping[str, float]) -> float | None:
    reads, writes = next(((row[r], row[w]) for r, w in _THROUGHPUT if r in row and w in row), (0.0, 0.0))
    return reads / (reads + writes) if reads or writes else None


def _size(row: Mapping[str, float]) -> float | None:
    size = row.get("areq-sz", row.get("avgrq-sz", 0.0) / 2) * 1024
    return size or None
