"""CPU lists in the kernel's notation: 0-7,16-23."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sdstop.core.expression import expression

_MOST = 1 << 16
"""CPUs; the kernel's largest NR_CPUS is 8192."""
_PART = expression(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)


def parse_cpulist(text: str | None) -> frozenset[int] | None:
    """Return the CPUs in a CPU list; an empty set for an empty list, None for missing or invalid text.

    0-7,16-23
    """
    if text is None:
        return None
    found: set[int] = set()
    for part in text.strip().split(",") if text.strip() else ():
        match = _PART.fullmatch(part)
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < _MOST:
            return None
        found.update(range(first, last + 1))
    return frozenset(found)


def cpulist(cpus: Iterable[int]) -> str:
    """Format CPUs as a CPU list, with ranges for consecutive numbers."""
    parts: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if parts and parts[-1][1] == cpu - 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
