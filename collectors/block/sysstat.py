"""Common parts of the sysstat programs: output header, times, rows, and the arguments of a recorded command.

Sources: sysstat 9.1 to 12.7, common.c (print_gal_header), iostat.c, sar.c.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sdstop.readings.service import Service

_HEAD = re.compile(rb"^(Linux \S+ \()[^()\n]*(\))", re.MULTILINE)
_NAME = re.compile(rb'("nodename":\s*)"[^"\n]*"')
BANNER = re.compile(r"\s*Linux \S+ \([^()]*\)\s.*\(\d{1,5} CPUs?\)\s*")
"""First line of a run: `Linux 6.1.0 (store1) 11/21/26 _x86_64_ (8 CPU)`."""
DAY = 86_400
_CLOCK = re.compile(r"(?:^|[\sT])([01]\d|2[0-3])[:.]([0-5]\d)[:.]([0-5]\d|60)(?:\s?([AP]M))?(?![\d:.])")
_NUMBER = re.compile(r"[1-9]\d{0,6}", re.ASCII)
_VALUED = frozenset({"-o", "-g", "-j", "-f", "-p", "-s", "-e", "-O", "-P"})
"""Options with a value that may be a word of its own."""


def without_host(data: bytes) -> bytes:
    """Return iostat or sar output without the host name: `Linux 6.1.0 (store1) 11/21/26 _x86_64_ (8 CPU)`."""
    return _NAME.sub(rb'\1"host"', _HEAD.sub(rb"\1host\2", data))


def second_of_day(text: str) -> int | None:
    """Return the second of the day of the first time in a text: `11/21/26 06:41:43 PM`, `2026-11-21T18:41:43+0100`."""
    found = _CLOCK.search(text)
    if found is None:
        return None
    hour, minute, second, half = int(found[1]), int(found[2]), int(found[3]), found[4]
    if half and hour <= 12:
        hour = hour % 12 + 12 * (half == "PM")
    return hour * 3600 + minute * 60 + second


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

    None if the row lacks tps, await or %util. Before sysstat 12, aqu-sz is avgqu-sz. Waits, queue and utilization are
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
        queue=queue if timed else None,
        busy=util / 100 if timed else None,
        seconds=seconds,
        origin=origin,
    )
