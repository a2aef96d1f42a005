"""Even groups: in each second the waits of all members are so close together that none can be an outlier.

Nearly all groups are even nearly all the time. Each second is judged once, when it is new.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from sdstop.analysis.members.column import Second, StripeLimits
from sdstop.analysis.members.peer_samples import GroupColumns, holds_since, seconds_of
from sdstop.core.history import Moment
from sdstop.readings.disk import DiskActivity


class WaitSpread(Struct, frozen=True, gc=False):
    """Shortest and longest wait of the members in one second: for reads, for writes, and for any request.

    `answers` is the number of requests of each member whose wait counts (1 reads, 2 writes, 3 both).
    """

    answers: tuple[int, ...]
    reads: tuple[float, float]
    writes: tuple[float, float]
    any: tuple[float, float]


def is_even(
    layout: GroupColumns, moments: Sequence[Moment[DiskActivity]], limits: StripeLimits, *, rotational: bool
) -> bool:
    """Return whether no member of a group can be an outlier in these samples, by the limits of `laggard.slowest`.

    An outlier waits a multiple of the others, and an excess longer, in the median of the samples. If the longest wait
    of each sample is below that multiple of the shortest, so are the medians; and the same for the excess. The same
    members must have answered in all samples.
    """
    newest = _spread_in(layout, moments[-1], limits)
    if newest is None:
        return False
    times = min(limits.slow_wait, limits.slow_of_two, limits.slow_of_three, limits.slow_sudden)
    excess = limits.slow_excess if rotational else limits.slow_excess_flash

    def close(moment: Moment[DiskActivity]) -> bool:
        found = newest if moment is moments[-1] else _spread_in(layout, moment, limits)
        return (
            found is not None
            and found.answers == newest.answers
            and found.reads[1] < times * found.reads[0]
            and found.writes[1] < times * found.writes[0]
        )

    def short(moment: Moment[DiskActivity]) -> bool:
        found = newest if moment is moments[-1] else _spread_in(layout, moment, limits)
        return (
            found is not None
            and found.answers == newest.answers
            and found.reads[1] < found.reads[0] + excess
            and found.writes[1] < found.writes[0] + excess
        )

    of = layout.columns, limits, rotational, newest.answers
    return holds_since(moments, ("close", layout.key), of, close) or holds_since(
        moments, ("short", layout.key), of, short
    )


def _spread_in(layout: GroupColumns, moment: Moment[DiskActivity], limits: StripeLimits) -> WaitSpread | None:
    found = seconds_of(layout, (moment,))
    return spread(found[0], limits.slow_ios) if found else None


_NOTHING = (math.inf, 0.0)


def spread(second: Second, least: float) -> WaitSpread | None:
    """Return the spread of the waits of members with `least` requests per second of a type.

    None if the source prints one wait of reads and writes together.
    """
    return second.once(("spread", least), lambda: _spread(second, least))


def _spread(second: Second, least: float) -> WaitSpread | None:
    answers: list[int] = []
    reads: list[float] = []
    writes: list[float] = []
    others: list[float] = []
    for column in second.columns:
        for member in column.members:
            if member.any_wait is not None:
                return None
            counted = 0
            if member.reads and member.read_wait is not None:
                enough = member.reads >= least
                (reads if enough else others).append(member.read_wait)
                counted += enough
            if member.writes and member.write_wait is not None:
                enough = member.writes >= least
                (writes if enough else others).append(member.write_wait)
                counted += 2 * enough
            answers.append(counted)
    known = (*reads, *writes, *others)
    return WaitSpread(
        tuple(answers),
        (min(reads), max(reads)) if reads else _NOTHING,
        (min(writes), max(writes)) if writes else _NOTHING,
        (min(known), max(known)) if known else _NOTHING,
    )
