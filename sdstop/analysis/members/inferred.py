"""Peer groups of devices of which only rates are known: whole disks of one name class under equal load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.core.averages import median
from sdstop.core.expression import expression
from sdstop.core.history import Moment, Window
from sdstop.readings.disk import DiskActivity

FEWEST = 3
"""Disks of a group."""
EQUAL = 1.5
"""Largest ratio of the request rates of two members, in most intervals."""
SECONDS = 600.0
"""Age up to which pasted rates are used."""
_MOST = 0.5
"""Share of the intervals in which two disks of a group are equal."""
_WHOLE = expression(r"(?:(sd|vd|xvd|hd)[a-z]+|(nvme)\d+n\d+|(etherd)/e[\d.]+|(mmcblk)\d+|(dasd)[a-z]+)")
"""Names of whole disks, with their class."""


def is_whole_disk(name: str) -> bool:
    """Return whether a name is one of whole disks, not of a partition or of a device on top of others."""
    return _WHOLE.fullmatch(name) is not None


def inferred(window: Window) -> Iterator[tuple[str, ...]]:
    """Yield groups of at least three disks whose rates lie within EQUAL of each other in most intervals."""
    for found in rates_by_class(window).values():
        yield from _alike(found)


def pasted_moments(window: Window) -> Sequence[Moment[DiskActivity]]:
    """Return the samples of rates that are not too old, oldest first."""
    return [m for m in window.moments(DiskActivity) if m.started >= window.now.monotonic - SECONDS]


def rates_by_class(window: Window) -> dict[str, dict[str, list[float]]]:
    """Return the requests per second of each whole disk in each of these samples, by name class and name."""
    moments = pasted_moments(window)
    rates: dict[str, dict[str, list[float]]] = {}
    for name in window.rows(DiskActivity) if moments else ():
        known = _WHOLE.fullmatch(str(name))
        rows = [moment.rows.get(name) for moment in moments] if known is not None else []
        if known is not None and all(row is not None for row in rows):
            of = [row.completed_per_second for row in rows if row is not None]
            rates.setdefault(next(filter(None, known.groups())), {})[str(name)] = of
    return rates


def _alike(rates: dict[str, list[float]]) -> Iterator[tuple[str, ...]]:
    """Split disks by load: each group begins with the least loaded disk that is left."""
    left = sorted((name for name in rates if median(rates[name])), key=lambda name: median(rates[name]))
    while len(left) >= FEWEST:
        first = rates[left[0]]
        group = [name for name in left if _are_equal(first, rates[name])]
        if len(group) >= FEWEST:
            yield tuple(name for name in rates if name in group)
        left = [name for name in left[1:] if name not in group]


def _are_equal(one: list[float], other: list[float]) -> bool:
    equal = sum(map(is_equal, one, other))
    return equal > _MOST * len(one)


def is_equal(one: float, other: float) -> bool:
    """Return whether two rates are equal but for chance."""
    return max(one, other) <= EQUAL * min(one, other)
