"""Memory traffic as the processors measure it: the monitoring counters of resctrl, where it is mounted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sdstop.collectors.memory.readings import TOP, MemoryBandwidth, MemoryTraffic
from sdstop.core.collector import Collector, Need
from sdstop.core.host import Absent, Failed, Host
from sdstop.core.model import Derivation, Reading

_PACE = 5.0
"""Seconds between runs."""
_MOST_GROUPS = 64
"""Monitoring groups; more are an error."""
_DOMAIN = re.compile(r"mon_L3_(\d{1,4})")
_RESERVED = frozenset({"info", "mon_data", "mon_groups"})


def groups(host: Host) -> list[str]:
    """Return the directories with counters: the default group, other control groups, and monitoring groups of each."""
    found = []
    for base in ("", *(f"/{name}" for name in host.names(TOP) if name not in _RESERVED)):
        names = host.names(f"{TOP}{base}")
        if "mon_data" in names:
            found.append(base)
        if "mon_groups" in names:
            found += [f"{base}/mon_groups/{name}" for name in host.names(f"{TOP}{base}/mon_groups")]
    return found


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each cache. Raises Absent where resctrl is not mounted or does not monitor memory.

    Raises Failed with more than 64 groups: each is a file to read for each cache.
    """
    if "mon_data" not in host.entries(TOP):
        raise Absent(f"{TOP}/mon_data", "not mounted, or without monitoring")
    every = groups(host)
    if len(every) > _MOST_GROUPS:
        raise Failed(f"list:{TOP}/mon_groups", f"more than {_MOST_GROUPS} groups")
    rows = list(_rows(host, every))
    if not rows:
        raise Absent(f"{TOP}/mon_data", "the processor does not measure memory traffic")
    return rows


def _rows(host: Host, every: list[str]) -> Iterator[MemoryTraffic]:
    for folder in host.names(f"{TOP}/mon_data"):
        match = _DOMAIN.fullmatch(folder)
        if match is None or "mbm_total_bytes" not in host.names(f"{TOP}/mon_data/{folder}"):
            continue
        total, local = (
            _sum([host.number(f"{TOP}{group}/mon_data/{folder}/{name}") for group in every])
            for name in ("mbm_total_bytes", "mbm_local_bytes")
        )
        yield MemoryTraffic(str(int(match[1])), folder, total, local)


def _sum(counts: list[int | None]) -> int | None:
    """Return the sum; None if a group is not measured, for which the kernel prints `Unavailable` or `Error`."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def activity(before: MemoryTraffic, after: MemoryTraffic, seconds: float) -> MemoryBandwidth | None:
    """Return the traffic between two samples; None if it is unknown or a group was removed."""
    if seconds <= 0 or before.total is None or after.total is None or after.total < before.total:
        return None
    moved = after.total - before.total
    remote = None
    if before.local is not None and after.local is not None and moved:
        local = after.local - before.local
        remote = (moved - local) / moved if 0 <= local <= moved else None
    return MemoryBandwidth(after.domain, after.folder, moved / seconds, remote)


BANDWIDTH = Collector(
    "memory-bandwidth",
    "Memory traffic measured by the processors (resctrl)",
    read,
    (MemoryTraffic,),
    (
        Need(f"list:{TOP}", "whether resctrl is mounted; groups"),
        Need(f"list:{TOP}/*", "monitoring groups, and caches that are monitored"),
        Need(f"{TOP}/*/mbm_*_bytes", "memory traffic of each group", filled=True),
    ),
    _PACE,
    deadline=5.0,
    derives=(Derivation(MemoryTraffic, MemoryBandwidth, activity),),
)
