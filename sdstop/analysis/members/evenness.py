"""Even groups: in each second the waits of all members are so close together that none can be an outlier.

Nearly all groups are even nearly all the time. Each second is judged once, when it is new.
"""

from __future__ import annotations

from collections.abc import Sequence

from sdstop.analysis.members.column import Second, StripeLimits
from sdstop.analysis.members.member_waits import SEPARATE, SecondWaits, answered
from sdstop.analysis.members.peer_samples import GroupColumns, holds_since, seconds_of
from sdstop.core.history import Moment
from sdstop.readings.disk import DiskActivity


def is_even(
    layout: GroupColumns, moments: Sequence[Moment[DiskActivity]], limits: StripeLimits, *, rotational: bool
) -> bool:
    """Return whether no member of a group can be an outlier in these samples, by the limits of `laggard.slowest`.

    An outlier waits a multiple of the others, and an excess longer, in the median of the samples. If the longest wait
    of each sample is below that multiple of the shortest, so are the medians; and the same for the excess. All samples
    must have the same members.
    """
    newest = _rows(layout, moments[-1:], limits)
    if newest is None:
        return False
    names = [row.names for row in newest]
    times = min(limits.slow_wait, limits.slow_of_two, limits.slow_of_three, limits.slow_sudden)
    excess = limits.slow_excess if rotational else limits.slow_excess_flash

    def alike(moment: Moment[DiskActivity]) -> Sequence[SecondWaits]:
        rows = _rows(layout, (moment,), limits)
        return rows if rows is not None and [row.names for row in rows] == names else ()

    def close(moment: Moment[DiskActivity]) -> bool:
        rows = alike(moment)
        return bool(rows) and all(row.longest < times * row.shortest or not row.names for row in rows)

    def short(moment: Moment[DiskActivity]) -> bool:
        rows = alike(moment)
        return bool(rows) and all(row.longest < row.shortest + excess for row in rows)

    of = layout.columns, limits, rotational, names
    return holds_since(moments, ("close", layout.key), of, close) or holds_since(
        moments, ("short", layout.key), of, short
    )


def _rows(
    layout: GroupColumns, moments: Sequence[Moment[DiskActivity]], limits: StripeLimits
) -> Sequence[SecondWaits] | None:
    """Return the waits for writes and for reads of a sample; None without a member, or with waits of both together."""
    found = seconds_of(layout, moments)
    if not found or found[0].once("whole", lambda: is_whole(found[0])):
        return None
    return [answered(found[0], requests, limits.slow_ios, frozenset()) for requests in SEPARATE]


def is_whole(second: Second) -> bool:
    """Return whether the source prints one wait of reads and writes together."""
    return any(member.any_wait is not None for column in second.columns for member in column.members)
