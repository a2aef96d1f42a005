"""Health checks of Ceph: codes, flags of the OSD map, and the OSDs, placement groups and pools that they name.

Formats: src/mon/health_check.h, src/mon/HealthMonitor.cc, src/mon/PGMap.cc (get_health_checks), src/osd/OSDMap.cc
(check_health) of Ceph 12 to 19.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.core.text import json_text, json_whole

MOST_DETAILS = 60
"""Detail lines kept of a check; Ceph itself reports 50 (mon_health_max_detail)."""
HARMLESS = frozenset(
    {
        "AUTH_INSECURE_GLOBAL_ID_RECLAIM", "AUTH_INSECURE_GLOBAL_ID_RECLAIM_ALLOWED", "BLUESTORE_LEGACY_STATFS",
        "BLUESTORE_NO_PER_PG_OMAP", "BLUESTORE_NO_PER_POOL_OMAP", "CEPHADM_CHECK_KERNEL_VERSION", "DASHBOARD_DEBUG",
        "MANY_OBJECTS_PER_PG", "MON_MSGR2_NOT_ENABLED", "OBJECT_MISPLACED", "OLD_CRUSH_STRAW_CALC_VERSION",
        "OLD_CRUSH_TUNABLES", "PG_NOT_DEEP_SCRUBBED", "PG_NOT_SCRUBBED", "POOL_APP_NOT_ENABLED",
        "POOL_PG_NUM_NOT_POWER_OF_TWO", "POOL_TARGET_SIZE_BYTES_OVERCOMMITTED",
        "POOL_TARGET_SIZE_RATIO_OVERCOMMITTED", "POOL_TOO_FEW_PGS", "POOL_TOO_MANY_PGS", "TELEMETRY_CHANGED",
        "TOO_FEW_PGS",
    }
)  # fmt: skip
"""Health checks that concern neither data nor service: settings, hints, scrubs that are late. All others count, those
of later versions too."""
CALM_FLAGS = frozenset({"noautoscale", "nodeep-scrub", "noscrub", "nosnaptrim", "notieragent"})
"""Flags of the OSD map that hold back housekeeping alone."""
STOPPING = frozenset({"pauserd", "pausewr", "full"})
"""Flags of the OSD map that refuse or hold requests of clients."""
HOLDING = frozenset({"norecover", "nobackfill", "norebalance"})
"""Flags of the OSD map that pause recovery."""
_FLAG = expression(r"\b(?:no[a-z-]+|pause(?:rd|wr)?|full)\b")
_OSD = expression(r"\bosd\.(\d{1,7})\b")
_OSD_LIST = expression(r"\bosds? (?=[\d\[])\[?(\d[\d,]*)")
_GROUP = expression(r"(?:\bpg |^)(\d{1,9}\.[0-9a-f]{1,8})\b")
_POOL = expression(r"\bpool '([^']{1,200})'|\bpool \"([^\"]{1,200})\"")
_ACTING = expression(r"\bpg (\d{1,9}\.[0-9a-f]{1,8})\b.*\bacting \[([^\]]*)\]")


class Check(Struct, frozen=True):
    """An active health check: code, severity, message, number of affected things, and a line for each of them."""

    code: str
    severity: str
    message: str
    muted: bool
    details: tuple[str, ...] = ()
    count: int | None = None

    @property
    def flags(self) -> frozenset[str]:
        """Flags of the OSD map that the check reports; empty for other checks."""
        return flags_in(self.message) if self.code.startswith("OSDMAP_FLAGS") else frozenset()

    @property
    def is_calm(self) -> bool:
        """Whether it is listed as harmless; flags are if they hold back housekeeping alone."""
        if self.code == "OSDMAP_FLAGS":
            return bool(self.flags) and self.flags <= CALM_FLAGS
        return self.code in HARMLESS

    @property
    def harmless(self) -> bool:
        """Whether it is muted or calm: Ceph's health is good in spite of it."""
        return self.muted or self.is_calm


def flags_in(message: str) -> frozenset[str]:
    """Return the flags in a message: `noout,norecover flag(s) set`."""
    return frozenset(_FLAG.findall(message))


def checks_of(health: Mapping[str, Any]) -> tuple[Check, ...]:
    """Return the checks of a `health` object.

    {"status": "HEALTH_WARN", "checks": {"OSD_NEARFULL": {"severity": "HEALTH_WARN", "muted": false,
     "summary": {"message": "1 nearfull osd(s)", "count": 1}, "detail": [{"message": "osd.3 is near full"}]}}}
    """
    found = []
    checks = health.get("checks")
    for code, row in checks.items() if isinstance(checks, dict) else ():
        if not isinstance(row, dict):
            continue
        summary = row.get("summary")
        summary = summary if isinstance(summary, dict) else {}
        rows = row.get("detail")
        lines = [item for item in rows if isinstance(item, dict)] if isinstance(rows, list) else []
        details = tuple(json_text(item.get("message")) or "" for item in lines[:MOST_DETAILS])
        severity, message = json_text(row.get("severity")) or "", json_text(summary.get("message")) or ""
        count = json_whole(summary.get("count"))
        found.append(Check(code, severity, message, row.get("muted") is True, details, count))
    return tuple(found)


def osds_in(lines: Sequence[str]) -> list[int]:
    """Return the OSDs that messages name: `osd.2 is down`, `osds 0,1 have slow ops`; sorted."""
    found = {int(number) for line in lines for number in _OSD.findall(line)}
    for line in lines:
        for many in _OSD_LIST.findall(line):
            found.update(int(number) for number in many.split(",") if number and len(number) < 8)
    return sorted(found)


def groups_in(lines: Sequence[str]) -> list[str]:
    """Return the placement groups that messages name: `pg 1.1f is down, acting [2]`."""
    return list(dict.fromkeys(group for line in lines for group in _GROUP.findall(line)))


def pools_in(lines: Sequence[str]) -> list[str]:
    """Return the pools that messages name: `pool 'data' is full`."""
    return list(dict.fromkeys(one or other for line in lines for one, other in _POOL.findall(line)))


def acting_in(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield placement groups and the number of OSDs that serve them: `pg 1.0 is ..., acting [1,NONE,0]` has 2."""
    for line in lines:
        found = _ACTING.search(line)
        if found is not None:
            yield found[1], sum(part.strip().isdecimal() and len(part) < 8 for part in found[2].split(","))
