"""Even groups: in each second the waits of all members are so close together that none can be an outlier.

Nearly all groups are even nearly all the time. Each second is judged once, when it is new.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

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
    members = second.members
    if members.any_waits is not None:
        return None
    fewest = min(min(members.reads, default=0.0), min(members.writes, default=0.0))
    if 0 < least <= fewest and None not in members.read_waits and None not in members.write_waits:
        read_waits, write_waits = (
            cast("Sequence[float]", members.read_waits),
            cast("Sequence[float]", members.write_waits),
        )
        return _of_waits((3,) * len(members.names), read_waits, write_waits, ())
    answers: list[int] = []
    reads: list[float] = []
    writes: list[float] = []
    others: list[float] = []
    figures = zip(members.reads, members.read_waits, members.writes, members.write_waits, strict=True)
    for read, read_wait, written, write_wait in figures:
        counted = 0
        if read and read_wait is not None:
            enough = read >= least
            (reads if enough else others).append(read_wait)
            counted += enough
        if written and write_wait is not None:
            enough = written >= least
            (writes if enough else others).append(write_wait)
            counted += 2 * enough
        answers.append(counted)
    return _of_waits(tuple(answers), reads, writes, others)


def _of_waits(
    answers: tuple[int, ...], reads: Sequence[float], writes: Sequence[float], others: Sequence[float]
) -> WaitSpread:
    of_reads = (min(reads), max(reads)) if reads else _NOTHING
    of_writes = (min(writes), max(writes)) if writes else _NOTHING
    of_others = (min(others), max(others)) if others else _NOTHING
    shortest, longest = zip(of_reads, of_writes, of_others, strict=True)
    return WaitSpread(answers, of_reads, of_writes, (min(shortest), max(longest)))
