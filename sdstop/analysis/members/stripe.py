"""Load distribution over the members of a striped array: pure statistics over per-second member rates.

The unit is the *stripe column*: consecutive chunks rotate over the columns. The legs of a mirror carry the same writes
and form one column; on RAID0, 5 and 6 each disk is a column. Per second, with L the outstanding requests on all
columns (aqu-sz), B the number of busy columns (sum of util) and N columns:

* deficit D = 1 - B/E with E = N*L/(N+L-1), the number of columns that L randomly distributed requests keep busy on
  equal servers (closed product-form network; M disks and N = M for mirrors, whose legs serve reads independently).
  Random load keeps at least E busy: D <= 0. While the array itself was idle for part of the second (its own util
  A < 1, as between write-back bursts) L and B are taken per busy time.
* top share T = N * max(L_i) / L: 1 when the queue is even, N when all of it is on one column.

A convoy (sequential streams that queue on one column together and move on together) shows both a deficit and a top
share, in most seconds, on changing columns. It must be detected second by second and only then summarized: over five
seconds or more its counters are as even as those of a healthy array. The *standing* measures how much the pattern
changes: the unevenness of the mean of the seconds' shares, relative to the mean unevenness of the seconds. It is 1
when the same columns hold the same shares in every second (however many they are), and near 0 when the crowd moves.
A queue that does not move has a hot column (it gets more requests) or a slow disk (it gets the same requests and takes
longer) as its cause, or an unclear one.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from sdstop.analysis.members.column import Second, StripeColumn, StripeLimits
from sdstop.analysis.members.laggard import Wait, slowest
from sdstop.core.averages import median
from sdstop.core.text import added


class StripePattern(enum.StrEnum):
    """Pattern of the load over the judged seconds."""

    CONVOY = "convoy"  # the queue is at one column, and the column changes
    HOT = "hot"  # the queue stays at one column, which gets more requests than the others
    SLOW = "slow"  # one disk gets no more requests than its peers and is far slower
    UNCLEAR = "unclear"  # concentrated, but none of these
    EVEN = "even"
    IDLE = "idle"  # too few outstanding requests
    UNEQUAL = "unequal"  # concentrated, but columns of unequal size cannot be compared
    TOO_FEW = "too-few"  # too few columns or seconds


class Verdict(Struct, frozen=True):
    """Verdict with every compared number; None where there was nothing to compare.

    `seconds` were checked, `active` of them had enough outstanding requests, `crowded` of those exceeded the limits.
    `deficit`, `top_share`, `queue` (outstanding requests), `busy` and `expected` (columns) are medians over the active
    seconds. `standing` (0..1) is the stability of the queue's pattern, `persistence` is the share of the evaluated
    seconds in which `top` was the fullest column. `ios_ratio` is its I/O relative to the median of the others, each by
    its capacity; `work` is the request rate of each crowded second's fullest column, whichever it was, relative to the
    mean of all. `wait` is that of the slowest disk, if there is an outlier.
    """

    kind: StripePattern
    columns: int
    seconds: int
    active: int = 0
    crowded: int = 0
    queue: float | None = None
    busy: float | None = None
    expected: float | None = None
    deficit: float | None = None
    deficit_limit: float | None = None
    top_share: float | None = None
    top_share_limit: float | None = None
    persistence: float | None = None
    standing: float | None = None
    top: tuple[str, ...] = ()
    ios_ratio: float | None = None
    work: float | None = None
    wait: Wait | None = None


def judge(
    seconds: Sequence[Second], *, rotational: bool, parity: int = 0, limits: StripeLimits | None = None
) -> Verdict:
    """Judge the columns of one array over successive seconds (about ten; each an interval of about 1 s).

    `parity` is the number of further columns that each write uses (RAID5 1, RAID6 2); their queues are not independent.
    The caller excludes arrays in rebuild or check, dedicated parity disks (RAID4), journals, write-mostly legs and
    members without kernel statistics. All seconds must have the same columns and members.
    """
    limits = limits or StripeLimits()
    enough = len(seconds) >= limits.seconds
    wait = slowest(seconds, limits, rotational=rotational) if enough else None
    return pattern(seconds, wait, rotational=rotational, parity=parity, limits=limits)


def pattern(
    seconds: Sequence[Second], wait: Wait | None, *, rotational: bool, parity: int = 0, limits: StripeLimits
) -> Verdict:
    """Judge columns of which the slow member is known already, or that there is none. See `judge`."""
    columns = len(seconds[0].legs) if seconds else 0
    if len(seconds) < limits.seconds:
        return Verdict(StripePattern.TOO_FEW, columns, len(seconds))
    if columns < limits.columns:
        return Verdict(StripePattern.SLOW if wait else StripePattern.TOO_FEW, columns, len(seconds), wait=wait)
    counted = _counted(seconds)
    loads = [load for second in seconds if (load := _load(second, counted, parity, limits)) is not None]
    if not loads or len(loads) < limits.active * len(seconds):
        return Verdict(StripePattern.SLOW if wait else StripePattern.IDLE, columns, len(seconds), len(loads), wait=wait)
    return _judge_spread(seconds, loads, wait, limits.deficit if rotational else limits.deficit_flash, limits)


def crowd(
    seconds: Sequence[Second], *, rotational: bool, parity: int = 0, limits: StripeLimits | None = None
) -> StripeColumn | None:
    """Return the column that the queue of the last second was on; None if it was spread, or too short.

    One second is less reliable than the ten of `judge`, because crowds also occur by chance. Accumulating such seconds
    reveals a crowd that any mean over them would hide.
    """
    limits = limits or StripeLimits()
    last = seconds[-1]
    if len(last.legs) < limits.columns or _are_unequal(last.capacities, limits):
        return None
    load = _load(last, _counted(seconds), parity, limits)
    if load is None or load.busiest < limits.hot_busy:
        return None
    deficit = limits.deficit if rotational else limits.deficit_flash
    crowded = _is_crowded(load, _top_share(len(last.legs), limits), deficit, limits)
    return last.columns[load.top] if crowded else None


def _top_share(columns: int, limits: StripeLimits) -> float:
    return limits.top_share + limits.top_share_slope * math.log2(max(1.0, columns / 4))


def _is_crowded(load: _Load, top_share: float, deficit: float, limits: StripeLimits) -> bool:
    if load.top_share < top_share:
        return False
    return load.deficit >= deficit - limits.sharpness * math.log(load.top_share / top_share)


_STEADY = 8
"""Maximum ratio of the longest to the shortest queue of a crowd."""


def _steady(crowded: Sequence[_Load]) -> list[_Load]:
    """Return the crowded seconds with about the same queue, the most there are.

    Streams that wait for their responses are always outstanding. Bursts of write-back fill some columns by chance in
    one second, and the last of their requests are counted when they complete, in the next.
    """
    sets = ([load for load in crowded if least.queue <= load.queue <= _STEADY * least.queue] for least in crowded)
    return max(sets, key=len, default=[])


def _judge_spread(
    seconds: Sequence[Second], loads: Sequence[_Load], wait: Wait | None, deficit: float, limits: StripeLimits
) -> Verdict:
    columns, capacities = len(seconds[-1].legs), seconds[-1].capacities
    top_share = _top_share(columns, limits)
    lopsided = [load for load in loads if load.top_share >= top_share]
    crowded = _steady([load for load in lopsided if _is_crowded(load, top_share, deficit, limits)])
    enough = limits.crowded * len(seconds)
    looked_at = crowded if len(crowded) >= enough else lopsided or loads
    tops = Counter(load.top for load in looked_at)
    top, times = tops.most_common(1)[0]
    standing = _standing([load.shares for load in looked_at])
    ios_ratio = _ios_ratio(loads, top, capacities)
    work = _work(looked_at, capacities)
    if wait is not None:
        kind = StripePattern.SLOW
    elif len(lopsided) < enough:
        kind = StripePattern.EVEN
    elif standing >= limits.fixed and ios_ratio >= limits.hot_ios and _is_busy(loads, top, limits):
        kind = StripePattern.HOT
    elif len(crowded) < enough:
        kind = StripePattern.EVEN
    else:
        moves = standing < limits.moving or _moved_once([load.shares for load in crowded])
        kind = StripePattern.CONVOY if moves else StripePattern.UNCLEAR
    if kind in {StripePattern.CONVOY, StripePattern.UNCLEAR} and _are_unequal(capacities, limits):
        kind = StripePattern.UNEQUAL
    return Verdict(
        kind,
        columns,
        len(seconds),
        len(loads),
        len(crowded),
        queue=median(load.queue for load in loads),
        busy=median(load.busy for load in loads),
        expected=median(load.expected for load in loads),
        deficit=median(load.deficit for load in loads),
        deficit_limit=deficit,
        top_share=median(load.top_share for load in loads),
        top_share_limit=top_share,
        persistence=times / tops.total(),
        standing=standing,
        top=tuple(member.name for member in seconds[-1].columns[top].members),
        ios_ratio=ios_ratio,
        work=work,
        wait=wait,
    )


def _is_busy(loads: Sequence[_Load], top: int, limits: StripeLimits) -> bool:
    return median(load.busiest for load in loads if load.top == top) >= limits.hot_busy


def _are_unequal(capacities: Sequence[float], limits: StripeLimits) -> bool:
    return max(capacities) > limits.unequal * min(capacities)


class _Load(Struct, frozen=True):
    """Figures of one second; `shares` of the queue and `ios` are by column, `busiest` is the top's busy time."""

    queue: float
    busy: float
    expected: float
    deficit: float
    top_share: float
    top: int
    busiest: float
    shares: tuple[float, ...]
    ios: tuple[float, ...]


_EVEN = 1e-9
"""Unevenness of the seconds below which they are even but for rounding."""


_COUPLED = 2
"""Requests that wait together per update and parity disk (fitted, so that one deep writer is not a crowd)."""
_BUSIER = 0.25
"""Maximum busy time of columns beyond that of exponential services; 0.17 if all take equally long, more by jiffies."""
_BY_CHANCE = 0.5
"""Columns with such a long queue, of all, that random arrivals would make at the utilization of the others."""
_DEEP = 8.0
"""Mean requests in flight with which a disk is busy all the time."""
_LEAST_COUNTED = 0.8
"""Least share of the busy time that a kernel counts; a smaller one has another cause."""


def _counted(seconds: Sequence[Second]) -> float:
    """Return the share of busy time that the kernel counts.

    Linux 5.0 to 6.9 loses busy time when requests arrive while others are served. A disk with a long queue was busy all
    the time, so the missing busy time of the busiest such disk was lost by the kernel.
    """
    most = max([busy for second in seconds if (busy := _busiest(second)) is not None], default=1.0)
    return min(1.0, most) if most >= _LEAST_COUNTED else 1.0


def _busiest(second: Second) -> float | None:
    """Return the busy time of the busiest disk with a long queue, None if there is none."""

    def found() -> float | None:
        members = zip(second.members.busy, second.members.queues, strict=True)
        return max((busy for busy, queue in members if queue >= _DEEP), default=None)

    return second.once("busiest", found)


def _load(second: Second, counted: float, parity: int, limits: StripeLimits) -> _Load | None:
    """Return the figures of a second, None if it is too small a sample."""
    key = ("load", counted, parity, limits.queue, limits.ios)
    return second.once(key, lambda: _measured(second, counted, parity, limits))


def _measured(second: Second, counted: float, parity: int, limits: StripeLimits) -> _Load | None:
    queues, ios, times = second.queues, tuple(second.ios), second.busy_times(counted)
    queue, busy = added(queues), added(times)
    columns = len(queues)
    legs = len(second.names) / columns
    reading, writing = _waited(second)
    # With parity a write reads first, so an equal part of the read wait belongs to the write.
    updating = min(1.0, 2 * writing / (reading + writing)) if parity and reading + writing else 0.0
    # A column's queue is the mean of its legs: a write waits on all of them, but a read on only one.
    requests = queue * (legs * reading + writing) / (reading + writing) if reading + writing else queue
    # With parity even one deep writer fills several columns. A long queue with no busy time means that the kernel or
    # the device does not count busy time.
    if requests < limits.queue * (1 + _COUPLED * parity * updating) or added(ios) < limits.ios or not busy:
        return None
    part = 1.0
    if second.busy is not None:
        # A column cannot be busy for longer than the array: otherwise the counters were read at slightly different
        # times.
        part = min(1.0, max(second.busy, *times))
    # If nearly all waiting requests are writes, data and parity wait as one; with reads barely (the power is fitted).
    outstanding = legs / part / (1 + parity * updating**3)
    top = queues.index(max(queues))
    others = part * _kept_busy(columns - 1, legs, outstanding * (queue - queues[top]))
    expected = part * _kept_busy(columns, legs, outstanding * queue)
    # If chance does not explain such a queue, the other columns are the yardstick: they can be busier than
    # exponential services would make them. The parts of an update keep several columns busy together.
    used = min(1.0, (busy - times[top]) / (part * (columns - 1))) if columns > 1 else 1.0
    if others and columns * used ** (queues[top] / part) < _BY_CHANCE:
        busier = max(0.0, min(_BUSIER, (busy - times[top]) / others - 1)) * (1 - updating**3)
        expected = min(part * columns, expected * (1 + busier))
    return _Load(
        queue,
        busy,
        expected,
        1 - busy / expected,
        columns * queues[top] / queue,
        top,
        times[top],
        tuple(waiting / queue for waiting in queues),
        ios,
    )


def _kept_busy(columns: int, legs: float, outstanding: float) -> float:
    """Return the number of columns that outstanding requests, distributed at random, keep busy."""
    disks = legs * columns
    return columns * outstanding / (disks + outstanding - 1) if outstanding else 0.0


def _waited(second: Second) -> tuple[float, float]:
    """Return the time waited for reads and for writes, in seconds per second, summed over all disks."""
    members = second.members
    reading = [reads * (wait or 0.0) for reads, wait in zip(members.reads, members.read_waits, strict=True)]
    writing = [writes * (wait or 0.0) for writes, wait in zip(members.writes, members.write_waits, strict=True)]
    return added(reading), added(writing)


def _standing(shares: Sequence[Sequence[float]]) -> float:
    """Return the share of the seconds' unevenness that remains in their mean, 0..1 (1 if they are even)."""
    even = 1 / len(shares[0])
    means = [added(parts) / len(shares) for parts in zip(*shares, strict=True)]
    each = added(added(part * part for part in second) - even for second in shares) / len(shares)
    left = added(mean * mean for mean in means) - even
    return max(0.0, min(1.0, left / each)) if each > _EVEN else 1.0


_SIDE = 2
"""Fewest crowded seconds before and after a move."""
_ALIKE = 0.25
"""Likeness of the queues before and after a move, at most: 1 with the same columns full, 0 with nothing in common."""


def _moved_once(shares: Sequence[Sequence[float]]) -> bool:
    """Return whether the crowded columns of the last seconds have nothing in common with those of the first ones.

    A crowd of streams on a large chunk can stay for most of the judged seconds; a hot column or a slow disk, however,
    never passes its queue on to another.
    """
    even = 1 / len(shares[0])
    excess = [[share - even for share in second] for second in shares]
    for at in range(_SIDE, len(shares) - _SIDE + 1):
        before, after = (
            [added(parts) / len(side) for parts in zip(*side, strict=True)] for side in (excess[:at], excess[at:])
        )
        size = math.sqrt(added(x * x for x in before) * added(x * x for x in after))
        if added(a * b for a, b in zip(before, after, strict=True)) <= _ALIKE * size:
            return True
    return False


def _work(loads: Sequence[_Load], capacities: Sequence[float]) -> float:
    """Return the request rate of the fullest column of each second, relative to the mean of all columns."""
    ratios = []
    for load in loads:
        rates = [ios / capacity for ios, capacity in zip(load.ios, capacities, strict=True)]
        ratios.append(rates[load.top] * len(rates) / added(rates))
    return median(ratios)


def _ios_ratio(loads: Sequence[_Load], top: int, capacities: Sequence[float]) -> float:
    ratios = []
    for load in loads:
        rates = [ios / capacity for ios, capacity in zip(load.ios, capacities, strict=True)]
        # Idle columns count as one request per second to keep the ratio finite.
        ratios.append(rates[top] / max(1.0, median(rates[:top] + rates[top + 1 :])))
    return median(ratios)


def waits(seconds: Sequence[Second], top: Collection[str] = ()) -> tuple[float, float] | None:
    """Return the wait at a column and at the others, in seconds: medians over the judged seconds; None if unknown.

    The column is the one whose members are `top`, by default the one with the longest queue of each second.
    """
    there: list[float] = []
    elsewhere: list[float] = []
    for second in seconds:
        full = [c for c in second.columns if c.members[0].name in top] or [max(second.columns, key=lambda c: c.queue)]
        there += _waits(full)
        elsewhere += _waits([column for column in second.columns if column not in full])
    return (median(there), median(elsewhere)) if there and elsewhere else None


def _waits(columns: Iterable[StripeColumn]) -> list[float]:
    return [wait for column in columns for member in column.members if (wait := member.wait) is not None]
