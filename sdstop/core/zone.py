"""Time zones as rules of POSIX: `CET-1CEST,M3.5.0,M10.5.0/3`.

A rule holds all that is needed to show the times of a node elsewhere: offsets and the days on which they change
(POSIX.1-2024, Base Definitions 8.3, TZ). It is the last line of the node's /etc/localtime (RFC 9636, 3.3), names no
place, and needs no table of zones where it is read.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Literal

from sdstop.core.expression import expression

TimeChoice = Literal["node", "utc", "local"]
"""Zone in which times are shown and typed: of the node that they are from, UTC, or of this terminal."""
FACT = "time_zone"
"""Name of the fact in a capture's manifest that has the rule of the node's zone."""

_NAME = r"(?:[A-Z]{3,5}|<[+-]\d{2}(?:\d{2})?>)"
_OFFSET = r"[+-]?\d{1,2}(?::\d{2}){0,2}"
_DAY = r",(?:M\d{1,2}\.[1-5]\.[0-6]|J?\d{1,3})(?:/[+-]?\d{1,3}(?::\d{2}){0,2})?"
_RULE = expression(rf"{_NAME}{_OFFSET}(?:{_NAME}(?:{_OFFSET})?{_DAY}{_DAY})?")
_ZERO = frozenset({"UTC0", "GMT0"})
_COUNTS = struct.Struct(">4s16x6L")
"""Header of a zone file (RFC 9636, 3.1): magic; numbers of two kinds of indicators, leaps, changes, types, names."""
_HEADER = b"TZif2" + bytes(15) + bytes(12) + (0).to_bytes(4, "big") + (1).to_bytes(4, "big") + (4).to_bytes(4, "big")
_TYPE = bytes(6) + b"UTC\0"
"""A zone file with no change of the offset and one type, UTC; its last line decides."""


@lru_cache(maxsize=16)
def zone(rule: str | None) -> tzinfo | None:
    """Return the zone of a rule; None for anything else, also for a rule with a name that is not a usual one."""
    if rule is None or not _RULE.fullmatch(rule):
        return None
    if rule in _ZERO:
        return UTC
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # most commands show no times

    try:
        return ZoneInfo.from_file(io.BytesIO((_HEADER + _TYPE) * 2 + f"\n{rule}\n".encode()))
    except ValueError:
        return None


def zone_for(choice: TimeChoice, facts: Mapping[str, str]) -> tzinfo | None:
    """Return the zone for times of a node with these facts: UTC if its own is not recorded; None is this terminal's."""
    if choice == "local":
        return None
    return (zone(facts.get(FACT)) if choice == "node" else None) or UTC


def rule_of(localtime: bytes, now: float) -> str | None:
    """Return the rule of a zone file (/etc/localtime) that holds at a Unix time; None if the file has none.

    A zone whose next changes follow no rule has a fixed offset.
    """
    last = localtime.rstrip(b"\n").rpartition(b"\n")[2].decode("ascii", "replace")
    if last in _ZERO and _has_no_changes(localtime):
        return last
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # 0.5 MB, and most servers have UTC

    try:
        whole = ZoneInfo.from_file(io.BytesIO(localtime))
    except (ValueError, EOFError, LookupError, struct.error):
        return None
    offset = datetime.fromtimestamp(now, whole).utcoffset()
    ruled = zone(last)
    if ruled is not None and datetime.fromtimestamp(now, ruled).utcoffset() == offset:
        return last
    minutes = round(offset.total_seconds() / 60) if offset is not None else 0
    hours = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}"
    rest = f"{abs(minutes) % 60:02}" if minutes % 60 else ""
    return f"<{hours}{rest}>{'+' if minutes < 0 else '-'}{hours[1:]}{f':{rest}' if rest else ''}"


def _has_no_changes(localtime: bytes) -> bool:
    """Return whether a zone file has no change of the offset before its last line holds, and no leap second."""
    try:
        _, utc, standard, leaps, changes, types, names = _COUNTS.unpack_from(localtime)
        second = _COUNTS.size + 5 * changes + 6 * types + names + 8 * leaps + standard + utc
        magic, _, _, leaps, changes, *_ = _COUNTS.unpack_from(localtime, second)
    except struct.error:
        return False
    return bool(magic == b"TZif") and not leaps and not changes
