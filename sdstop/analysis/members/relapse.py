"""Relapses: seconds in which a member is far slower than its peers, again and again, with good seconds between them.

A disk that retries sectors while it answers other requests is seldom slow for most of a window, and never without a
completion. Each second is judged once, when it is new.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from msgspec import Struct

from sdstop.analysis.members.column import Second, StripeLimits
from sdstop.analysis.members.evenness import spread
from sdstop.analysis.members.member_waits import ALL, answered, median_without, requests_of
from sdstop.analysis.members.peer_samples import Columns, GroupColumns, holds_since, recent, seconds_of
from sdstop.core.averages import median
from sdstop.core.history import Moment, Window
from sdstop.readings.disk import DiskActivity

SECONDS = 60.0
"""Span over which slow seconds are counted."""
SPELLS = 3
"""Separate spells that are needed."""
LEAST = 6.0
"""Seconds within that span in which the member must be slow."""
WATCHED = 30.0
"""Seconds that must have been sampled."""
OFTEN = 4.0
"""The member is slow this many times as long as the median of its peers."""
SERVICE = 4.0
"""Busy time per request in a slow second, as a multiple of the peers'."""
LONGEST = 3.0
"""Interval of samples in seconds above which good and bad seconds are mixed in one sample."""
_TRIED = 3
"""Slowest members that are tried."""


class Relapse(Struct, frozen=True):
    """Slow seconds of a member: their sum within the last minute, of which `of` were sampled, and their spells.

    `wait` and `peers` are the median waits in these seconds, of the member and of its peers.
    """

    member: str
    spells: int
    seconds: float
    of: float
    wait: float
    peers: float


Far = Mapping[str, tuple[float, float]]
"""Wait of each member that is far slower in one sample, and the median wait of the others."""


def relapse(
    window: Window, layout: GroupColumns, limits: StripeLimits, *, rotational: bool, mirrored: bool
) -> Relapse | None:
    """Return the member that relapses most, None if there is none."""
    moments = recent(window, SECONDS, limits.seconds)

    def is_even(moment: Moment[DiskActivity]) -> bool:
        return not _far(layout, moment, limits, rotational=rotational)

    if not moments or holds_since(moments, ("no far", layout.key), (layout.columns, limits, rotational), is_even):
        return None
    spans = [moment.seconds or 0.0 for moment in moments]
    if len(layout.names) < (2 if mirrored else 3) or sum(spans) < WATCHED or max(spans) > LONGEST:
        return None
    rows = [_far(layout, moment, limits, rotational=rotational) for moment in moments]
    totals: dict[str, float] = {}
    for row, span in zip(rows, spans, strict=True):
        for name in row:
            totals[name] = totals.get(name, 0.0) + span
    if not totals:
        return None
    most = max(totals, key=lambda name: totals[name])
    slow = [most in row for row in rows]
    spells = sum(now and not before for before, now in zip([False, *slow], slow, strict=False))
    others = [totals.get(name, 0.0) for name in layout.names if name != most]
    if totals[most] < LEAST or spells < SPELLS or totals[most] < OFTEN * median(others):
        return None
    found = [row[most] for row in rows if most in row]
    waits, peers = (median(each) for each in zip(*found, strict=True))
    return Relapse(most, spells, totals[most], sum(spans), waits, peers)


def _far(layout: GroupColumns, moment: Moment[DiskActivity], limits: StripeLimits, *, rotational: bool) -> Far:
    """Return the members that are far slower in one sample, kept with it: sixty windows use it."""
    every: dict[Hashable, tuple[Columns, StripeLimits, bool, Far]] = moment.memo.setdefault("far", {})
    known = every.get(layout.key)
    if known is None or known[:3] != (layout.columns, limits, rotational):
        seconds: Sequence[Second] = seconds_of(layout, (moment,))
        far = _of(seconds[0], limits, rotational=rotational) if seconds else _NONE
        known = every[layout.key] = layout.columns, limits, rotational, far
    return known[3]


_NONE: Far = {}


def _of(second: Second, limits: StripeLimits, *, rotational: bool) -> Far:
    waited = spread(second, limits.slow_ios)
    if waited is not None and waited.any[1] < limits.slow_far * waited.any[0]:
        return _NONE
    row = answered(second, ALL, limits.slow_ios, frozenset())
    if len(row.names) < 2 or row.longest < limits.slow_far * row.middle:
        return _NONE
    waits = dict(zip(row.names, row.waits, strict=True))
    disks = row.disks(second)
    rates = {name: requests_of(member) for name, member in disks.items()}
    services = {name: member.busy / rates[name] for name, member in disks.items()}
    excess = limits.slow_excess if rotational else limits.slow_excess_flash
    found: dict[str, tuple[float, float]] = {}
    for name in sorted(waits, key=lambda name: -waits[name])[:_TRIED]:
        peers = median_without(waits.values(), waits[name])
        longer = waits[name] >= max(limits.slow_far * peers, peers + excess)
        works = services[name] >= SERVICE * median_without(services.values(), services[name])
        works = works and (not rotational or services[name] >= limits.slow_seek)
        even = rates[name] <= limits.equal_ios**2 * median_without(rates.values(), rates[name])
        if longer and works and even:
            found[name] = waits[name], peers
    return found or _NONE
