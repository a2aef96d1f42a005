"""Human-readable formatting of numbers and foreign names.

The only module that rounds numbers and sanitizes text.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo
from typing import Any

from sdstop.core.evidence import UNDATED, dated
from sdstop.core.expression import expression
from sdstop.core.model import Buckets, Column, Label, Metric

NONE = "-"
"""Shown for values that the node does not report."""

_PREFIXES = ("", "K", "M", "G", "T", "P", "E")
_SUSPECT = expression(r"[^\x20-\x7e]")


def safe(text: object, limit: int = 200) -> str:
    r"""Return foreign text in a form that is safe to print on a terminal.

    Control characters (C0, DEL, C1), bidi controls, invisible and private characters, line separators and
    bytes that were not UTF-8 become visible escapes such as `\x1b`; text longer than `limit` characters is truncated
    with `...`.
    """
    shown = str(text)
    if _SUSPECT.search(shown):
        shown = "".join(c if c.isascii() and c.isprintable() else _visible(c) for c in shown)
    return shown if len(shown) <= limit else f"{shown[: limit - 3]}..."


def _visible(c: str) -> str:
    code = ord(c)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if unicodedata.category(c)[0] in "LNPS" and not unicodedata.combining(c):
        return c
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def safe_block(text: str, limit: int = 4000) -> str:
    """Return multi-line text sanitized line by line; tabs become spaces."""
    return "\n".join(safe(line.expandtabs(8), limit) for line in text[:limit].split("\n"))


def width_of(text: str) -> int:
    """Return the width of a text in terminal cells."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def plural(count: int, word: str) -> str:
    """Return `1 frame`, `2 frames`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def listed(names: Sequence[str], most: int = 2, limit: int = 20) -> str:
    """Return the first names, sanitized and truncated, and the number of the others: `a, b and 3 more`."""
    shown = ", ".join(safe(name, limit) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


_WHOLE = 100_000
"""Smallest count that is shown with a prefix."""


def number(value: float | None, digits: int = 1) -> str:
    """Return a plain number with at most four significant places: `0.42`, `98.7`, `1234`, `12.3K`."""
    if type(value) is int and -_WHOLE < value < _WHOLE:
        return str(value)
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "inf"
    size = abs(value)
    if size >= 99_999.5:
        return _scaled(value, 1000.0, ("", "k", "M", "G", "T", "P", "E"))
    if size >= 999.5 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.{digits if size >= 9.995 else digits + 1}f}"


def _scaled(value: float, step: float, prefixes: tuple[str, ...]) -> str:
    size = abs(value)
    power, full, most = 0, step - step / 2000, len(prefixes) - 1
    while size >= full and power < most:
        size /= step
        power += 1
    sign = "-" if value < 0 else ""
    text = f"{size:.0f}" if power == 0 or size >= 99.95 else f"{size:.1f}"
    return f"{sign}{text}{prefixes[power]}"


def bytes_(value: float | None) -> str:
    """Return bytes in powers of 1024: `4K`, `1.8T`, `512K`."""
    return NONE if value is None else _scaled(value, 1024.0, _PREFIXES).replace(".0", "")


def rate(value: float | None) -> str:
    """Return bytes per second in powers of 1024: `12.5M`."""
    return NONE if value is None else _scaled(value, 1024.0, _PREFIXES)


def flow(value: float | None) -> str:
    """Return bytes per second with the unit: `98.2 MiB/s`."""
    return NONE if value is None else f"{_binary(rate(value))}/s"


def percent(ratio: float | None) -> str:
    """Return a ratio as a percentage without the sign: `0.993` is `99.3`."""
    if ratio is None or math.isnan(ratio):
        return NONE
    shown = ratio * 100
    return f"{shown:.0f}" if abs(shown) >= 99.95 or shown == 0 else f"{shown:.1f}"


def whole(value: float | None) -> str:
    """Return a cell of a column of whole numbers, such as requests per second: `0`, `46083`, `1.2M`."""
    if value is None or math.isnan(value) or math.isinf(value):
        return NONE
    return f"{value:.0f}" if abs(value) < 999_999.5 else _scaled(value, 1000.0, ("", "k", "M", "G", "T", "P", "E"))


def tenths(value: float | None) -> str:
    """Return a cell of a column with one decimal, such as a queue: `0.1`, `8.4`, `1250.0`, `120000`."""
    if value is None or math.isnan(value) or math.isinf(value):
        return NONE
    return f"{value:.1f}" if abs(value) < 99_999.95 else whole(value)


def mebibytes(value: float | None) -> str:
    """Return bytes (per second) as a cell of a column in MiB: `0.0`, `374.9`."""
    return tenths(None if value is None else value / (1 << 20))


def milliseconds(seconds: float | None) -> str:
    """Return a short time as a cell of a column in ms: `0.3`, `79.2`."""
    return tenths(None if seconds is None else seconds * 1000)


def whole_percent(ratio: float | None) -> str:
    """Return a ratio as a cell of a column of whole percentages, whose heading has the sign: `42`."""
    return NONE if ratio is None or math.isnan(ratio) or math.isinf(ratio) else f"{ratio * 100:.0f}"


def share_of_time(ratio: float | None) -> str:
    """Return a share of time as a whole percentage: `42%`; counters that run ahead of the clock show at most 100%."""
    shown = whole_percent(None if ratio is None else min(ratio, 1.0))
    return shown if shown == NONE else f"{shown}%"


def decimal_rate(value: float | None) -> str:
    """Return bytes per second in decimal units, as used for memory: `17.1 GB/s`."""
    return NONE if value is None else f"{value / 1e9:.1f} GB/s"


def done(share: float | None) -> str:
    """Return a completed share as a percentage without the sign; never 100 before completion."""
    shown = percent(share)
    return "99.9" if shown == "100" and share is not None and share < 1 else shown


def wait(seconds: float | None) -> str:
    """Return a short time in milliseconds: `0.31`, `12.4`, `1250`."""
    if seconds is None:
        return NONE
    ms = seconds * 1000
    return f"{ms:.2f}" if ms < 9.995 else f"{ms:.1f}" if ms < 99.95 else f"{ms:.0f}"


_FIRST = 5
"""Texts that are shown of a longer list."""


def first_of(texts: Sequence[str]) -> str:
    """Return the first of some texts in one line, and the number of the others."""
    more = len(texts) - _FIRST
    return "; ".join(texts[:_FIRST]) + (f"; and {more} more" if more > 0 else "")


def duration(seconds: float | None) -> str:
    """Return a time span in its two largest units: `0.3s`, `56s`, `4m40`, `27h08`, `2d01` (days and hours)."""
    if seconds is None or math.isnan(seconds) or math.isinf(seconds):
        return NONE
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    if seconds < 9.95:
        return f"{sign}{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{sign}{whole}s"
    minutes, s = divmod(whole, 60)
    if minutes < 60:
        return f"{sign}{minutes}m{s:02d}"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{sign}{hours}h{minutes:02d}"
    days, hours = divmod(hours, 24)
    return f"{sign}{days}d{hours:02d}"


NOT_DATED = "time unknown"


_LATEST = 253_402_300_799.0
"""Last second that datetime can represent."""


_ZONE: ContextVar[tzinfo | None] = ContextVar("zone", default=UTC)


@contextmanager
def times_in(zone: tzinfo | None) -> Iterator[None]:
    """Show times in this zone instead of UTC; None is the zone of this terminal."""
    before = _ZONE.set(zone)
    try:
        yield
    finally:
        _ZONE.reset(before)


def zone_shown() -> tzinfo | None:
    """Return the zone of times; None is that of this terminal, whose offset depends on the time."""
    return _ZONE.get()


def zoned(taken: float) -> datetime:
    """Return Unix seconds as a datetime in the zone of times, clamped to the supported range."""
    zone, seconds = _ZONE.get(), min(max(taken, 0.0), _LATEST - 86_400)
    return datetime.fromtimestamp(seconds, zone) if zone is not None else datetime.fromtimestamp(seconds).astimezone()


def _offset(at: datetime) -> str:
    """Return the offset of a time from UTC: `Z`, `+01`, `+05:30`."""
    offset = at.utcoffset()
    minutes = int(offset.total_seconds()) // 60 if offset is not None else 0
    if not minutes:
        return "Z"
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}{f':{rest:02}' if rest else ''}"


def zone_word(taken: float) -> str:
    """Return the offset of times at Unix seconds, for a prompt: `UTC`, `+01`."""
    said = _offset(zoned(taken))
    return "UTC" if said == "Z" else said


def clock(taken: float) -> str:
    """Return Unix seconds as a time of day, `14:03:22`; if undated, the time since the first frame, `+3.0s`."""
    if not dated(taken):
        passed = taken - UNDATED
        return f"+{duration(passed)}" if passed > 0 else NONE
    return f"{zoned(taken):%H:%M:%S}"


def day_clock(taken: float) -> str:
    """Return Unix seconds as month, day and time, `11-21 14:03`; if undated, the result of `clock`."""
    return f"{zoned(taken):%m-%d %H:%M}" if dated(taken) else clock(taken)


def utc(taken: float) -> str:
    """Return Unix seconds as a time of day with its offset from UTC, `14:03:22Z`, `15:03:22+01`.

    If undated, the time since the start or NOT_DATED.
    """
    if dated(taken):
        at = zoned(taken)
        return f"{at:%H:%M:%S}{_offset(at)}"
    return NOT_DATED if taken <= UNDATED else clock(taken)


def lasting(since: float, until: float | None, seconds: float, *, before: bool = False) -> str:
    """Return start and duration: `since 14:03:22Z (45s)`, `over: 14:03:22Z to 14:04:07Z (45s)`.

    `before`: already present at the first frame, so the real start is unknown. An event observed in a single sample is
    `seen at 14:03:22Z`.
    """
    if until is None and not seconds:
        return f"seen at {utc(since)}" if dated(since) or since > UNDATED else NOT_DATED
    begun = f"{utc(since)} or earlier" if before and dated(since) else utc(since)
    if not dated(since) and since <= UNDATED:
        begun = "the first frame"
    shown = f"since {begun}" if until is None else f"over: {begun} to {utc(until)}"
    return f"{shown} ({duration(seconds)})"


def timestamp(taken: float) -> str:
    """Return Unix seconds as `2026-11-21 14:03:22Z`, `2026-11-21 15:03:22+01`; if undated, the result of `utc`."""
    if not dated(taken):
        return utc(taken)
    at = zoned(taken)
    return f"{at:%Y-%m-%d %H:%M:%S}{_offset(at)}"


def moment(taken: float) -> datetime:
    """Return Unix seconds as a UTC datetime, clamped to the supported range."""
    return datetime.fromtimestamp(min(max(taken, 0.0), _LATEST), UTC)


def _share(value: float) -> str:
    """Return a ratio as a percentage with its sign: `25.0%`, `0.02%`, `<0.0001%`."""
    if abs(value) >= 0.0005 or not value:
        return f"{percent(value)}%"
    return f"{value * 100:.1g}%" if abs(value) >= 1e-6 else "<0.0001%"


_UNITS: Mapping[str, Callable[[float], str]] = {
    "bytes": lambda v: _binary(bytes_(v)),
    "bytes_per_second": flow,
    "ratio": _share,
    "seconds": lambda v: f"{wait(v)} ms" if abs(v) < 1 else duration(v),
    "per_second": lambda v: f"{number(v)}/s",
    "celsius": lambda v: f"{v:.0f} C",
    "decimal_bytes_per_second": decimal_rate,
    "transfers_per_second": lambda v: f"{v / 1e6:.0f} MT/s",
    "progress": lambda v: f"{done(v)}%",
}
"""Formatters by unit; the last three units are used only for compared values, not for metrics."""


def _binary(text: str) -> str:
    return f"{text[:-1]} {text[-1]}iB" if text[-1:].isalpha() else f"{text} B"


def quantity(value: Any, unit: str) -> str:
    """Return a value in base units in human-readable form, with its unit.

    `512 KiB`, `12.4 ms`, `97%`, `98.2 MiB/s`.
    """
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return safe(value)
    return _UNITS.get(unit, number)(value)


def cell(column: Column, value: Any) -> str:
    """Return a table cell: like `quantity`, but with the unit in the heading where that is shorter."""
    shown = column.base(value)
    if isinstance(column.mark, Label) or isinstance(shown, str):
        return NONE if shown is None else safe(shown)
    if isinstance(column.mark, Metric) and column.mark.exact and shown is not None:
        return f"{shown:.0f}"
    if isinstance(column.mark, Buckets):
        return _shares(shown, column.unit)
    match column.unit:
        case "bytes":
            return bytes_(shown)
        case "bytes_per_second":
            return rate(shown)
        case "ratio":
            return percent(shown)
        case _:
            return quantity(shown, column.unit if column.unit in {"seconds", "celsius"} else "")


def _shares(counts: Mapping[float, float] | None, unit: str) -> str:
    """Return the total count and the most frequent sizes with their shares: `1.2K: 512 20%, 4K 78%`."""
    if counts is None:
        return NONE
    below = 0.0
    each = {}
    for bound, count in sorted(counts.items()):
        each[bound], below = count - below, count
    if not below:
        return "0"
    most = sorted(each, key=lambda bound: -each[bound])[:MOST_SIZES]
    size = bytes_ if unit == "bytes" else number
    told = [f"{size(bound)} {percent(each[bound] / below)}%" for bound in sorted(most) if each[bound] > 0]
    return f"{number(below)}: {', '.join(told)}"


MOST_SIZES = 4
"""Number of histogram sizes shown in a cell."""


def right_aligned(column: Column) -> bool:
    """Return whether a column is right-aligned, as numbers are."""
    return isinstance(column.mark, Metric)


def natural(name: str) -> tuple[int, str]:
    """Return the sort key of a name: sdb sorts before sdaa."""
    return (len(name), name)
