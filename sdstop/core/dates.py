"""Parser of dates printed by tools, if they are unambiguous: in UTC, or with an offset.

Sat Nov 21 16:32:30 UTC 2026          date, zpool status -T d; `Sat 21 Nov 2026 04:32:30 PM UTC` elsewhere
2026-11-21T17:32:30+01:00             date -Is, iostat -t where S_TIME_FORMAT=ISO, dmesg --time-format iso
Sat, 21 Nov 2026 17:32:30 +0100       date -R
1795278750                            date +%s
       Universal time: Sat 2026-11-21 16:32:30 UTC      timedatectl
"""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime

from sdstop.core.expression import expression

_ZONES = frozenset({"UTC", "GMT", "Z"})
_ISO = expression(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,]\d{1,9})? ?(Z|[+-]\d\d:?\d\d)")
_MAILED = expression(r"[A-Z][a-z]{2}, (\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4})")
_UNIX = expression(r"[1-9]\d{9}")
_UNIVERSAL = expression(r"\s*Universal time: [A-Z][a-z]{2} (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:UTC|GMT)\s*")
_FORMATS = (
    "%a %b %d %H:%M:%S %Y", "%a %b %d %I:%M:%S %p %Y", "%a %d %b %Y %H:%M:%S", "%a %d %b %Y %I:%M:%S %p",
)  # fmt: skip
_BOOTED = expression(rb"^btime (\d{1,12})$", re.MULTILINE)
_UP = expression(rb"(\d{1,12}\.\d{1,6}) ")


def unix_time(line: str) -> float | None:
    """Return the Unix time of a line that is a date, None for other lines and for unknown time zones."""
    shown = line.strip()
    if universal := _UNIVERSAL.fullmatch(line):
        return _parsed(f"{universal[1]} +0000", "%Y-%m-%d %H:%M:%S %z")
    if iso := _ISO.fullmatch(shown):
        offset = "+0000" if iso[3] == "Z" else iso[3]
        return _parsed(f"{iso[1]} {iso[2]} {offset}", "%Y-%m-%d %H:%M:%S %z")
    if mailed := _MAILED.fullmatch(shown):
        return _parsed(mailed[1], "%d %b %Y %H:%M:%S %z")
    plain, zone = _zoneless(shown)
    moment = _moment(plain) if zone in _ZONES else None
    return moment.replace(tzinfo=UTC).timestamp() if moment is not None else None


def seconds_since_epoch(line: str) -> float | None:
    """Return the Unix time in a line printed by `date +%s`, None for other lines."""
    return float(line.strip()) if _UNIX.fullmatch(line.strip()) else None


def local_time(line: str) -> str:
    """Return a date with a zone abbreviation or none as `2026-11-21 16:32:30`, "" for any other line."""
    plain, _ = _zoneless(line.strip())
    moment = _moment(plain)
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment is not None else ""


def since_boot(stat: bytes, uptime: bytes) -> float | None:
    """Return the Unix time at which /proc/uptime was read: boot time (btime in /proc/stat) plus uptime."""
    booted, up = _BOOTED.search(stat), _UP.match(uptime)
    return float(booted[1]) + float(up[1]) if booted is not None and up is not None and int(booted[1]) else None


def _zoneless(shown: str) -> tuple[str, str]:
    """Return the first eight words of a line without the time zone, and the zone ("" if there is none)."""
    words = shown.split()[:8]
    zones = [at for at, word in enumerate(words) if re.fullmatch(r"[A-Z]{1,5}", word) and word not in {"AM", "PM"}]
    if len(zones) != 1:
        return " ".join(words), ""
    return " ".join(words[: zones[0]] + words[zones[0] + 1 :]), words[zones[0]]


def _moment(plain: str) -> datetime | None:
    for form in _FORMATS:
        with contextlib.suppress(ValueError):
            return datetime.strptime(plain, form)  # noqa: DTZ007  # the caller handles the time zone
    return None


def _parsed(text: str, form: str) -> float | None:
    try:
        found = datetime.strptime(text, form).timestamp()  # noqa: DTZ007  # the form has the offset
    except (ValueError, OverflowError):
        return None
    return found if found >= 0 else None
