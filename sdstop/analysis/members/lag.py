"""Lags: a member that takes somewhat longer for each request than all of its peers, in each block of a minute.

In a few seconds queues and seeks make a factor of 1.5 or 2 by chance. Over a minute of equal shares, in which the peers
are close to each other and one member is apart from all of them, it is the disk.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sdstop.analysis.members.column import Second
from sdstop.core.averages import median

BLOCKS = 8
"""Blocks that are needed."""
_PEERS = 3
"""Peers that are needed: of fewer it is unknown how much disks differ that work alike."""
TIMES = 1.4
"""Wait and busy time per request, as a multiple of those of the slowest peer."""
_EACH = 1.15
"""The same in a single block, of which nearly all must show it."""
_NEARLY_ALL = 0.9
_CLOSE = 1.25
"""Largest ratio between the busy times per request of two peers."""
_EQUAL = 1.15
"""Largest ratio of the member's requests, and of their size, to the median of the peers'; between peers its square."""
_MIX = 0.1
"""Largest difference between its share of reads and the peers'."""
_REQUESTS = 4.0
"""Fewest requests per second of each member: some 200 in a minute."""
_SLOWER, _SLOWER_FLASH = 0.002, 0.0002
"""Fewest seconds by which a request takes longer, rotational members and others."""
FULL, _ROOM = 0.9, 0.75
"""Busy time of a member from which it is full, and up to which every peer has room."""


class Lag(Struct, frozen=True):
    """A member and its peers, medians over a minute: seconds for a request, and busy times.

    `peers` and `busiest` are those of the peer with the longest wait, and with the longest busy time.
    """

    disk: str
    seconds: float
    peers: float
    busy: float
    busiest: float
    share: float

    @property
    def times(self) -> float:
        """The wait as a multiple of the slowest peer's."""
        return self.seconds / self.peers

    @property
    def is_limit(self) -> bool:
        """Whether the member is full while every peer has room: it limits the group."""
        return self.busy >= FULL and self.busiest <= _ROOM


class _Figures(Struct):
    """Figures of all members in each block, member by member."""

    waits: list[list[float]]
    services: list[list[float]]
    rates: list[list[float]]
    sizes: list[list[float]]
    mixes: list[list[float]]
    busy: list[list[float]]


def lag(blocks: Sequence[Second], *, rotational: bool) -> Lag | None:
    """Return the member that takes longer than each of its peers, None if there is none, or too little is known."""
    names = blocks[0].names if blocks else ()
    if len(blocks) < BLOCKS or len(names) <= _PEERS or len(set(names)) < len(names):
        return None
    if _apart(blocks[-1]) is None:  # nearly all groups, nearly always
        return None
    slower = [_apart(block) for block in blocks]
    if slower.count(slower[-1]) < _NEARLY_ALL * len(blocks):
        return None
    if not all(_is_comparable(block, blocks[0]) for block in blocks):
        return None
    figures = _figures(blocks)
    if figures is None:
        return None
    services = [median(each) for each in figures.services]
    place = max(range(len(names)), key=services.__getitem__)
    return _judged(names[place], place, figures, services, rotational=rotational)


def _is_comparable(block: Second, first: Second) -> bool:
    whole = block.timed and block.rated and block.members.any_waits is None
    return whole and block.names == first.names


def _apart(block: Second) -> int | None:
    """Return the place of the member whose requests keep it busy longer than each peer's, None without one."""

    def find() -> int | None:
        members = block.members
        rates = [reads + writes for reads, writes in zip(members.reads, members.writes, strict=True)]
        if min(rates) < _REQUESTS:
            return None
        services = [busy / rate for busy, rate in zip(members.busy, rates, strict=True)]
        *_, second, first = sorted(services)
        return services.index(first) if first >= _EACH * second > 0 else None

    return block.once("apart", find)


def _figures(blocks: Sequence[Second]) -> _Figures | None:
    """Return the figures by member, None if a member has too few requests in one of the blocks."""
    count = len(blocks[0].names)
    found = _Figures(*[_lists(count) for _ in _Figures.__struct_fields__])
    for block in blocks:
        for place, member in enumerate(block.members.each()):
            rate, wait = member.reads + member.writes, member.wait
            if rate < _REQUESTS or wait is None:
                return None
            found.waits[place].append(wait)
            found.services[place].append(member.busy / rate)
            found.rates[place].append(rate)
            found.sizes[place].append((member.read_bytes + member.write_bytes) / rate)
            found.mixes[place].append(member.reads / rate)
            found.busy[place].append(member.busy)
    return found


def _lists(count: int) -> list[list[float]]:
    return [[] for _ in range(count)]


def _judged(name: str, place: int, figures: _Figures, services: Sequence[float], *, rotational: bool) -> Lag | None:
    waits, rates, sizes, mixes, busy = (
        [median(each) for each in of]
        for of in (figures.waits, figures.rates, figures.sizes, figures.mixes, figures.busy)
    )
    others = [each for each in range(len(services)) if each != place]
    peers = [services[each] for each in others]
    slowest = max(waits[each] for each in others)
    least = _SLOWER if rotational else _SLOWER_FLASH
    if services[place] < TIMES * max(peers) or waits[place] < max(TIMES * slowest, slowest + least):
        return None
    if max(peers) > _CLOSE * min(peers) or not min(peers) or not slowest:  # counters have a resolution of 1 ms
        return None
    if not _is_equal(place, others, rates) or not _is_equal(place, others, sizes):
        return None
    if abs(mixes[place] - median([mixes[each] for each in others])) > _MIX:
        return None
    each_block = zip(*figures.services, strict=True)
    shown = sum(row[place] >= _EACH * max(row[each] for each in others) for row in each_block)
    if shown < _NEARLY_ALL * len(figures.services[place]):
        return None
    share = rates[place] / median([rates[each] for each in others])
    return Lag(name, waits[place], slowest, busy[place], max(busy[each] for each in others), share)


def _is_equal(place: int, others: Sequence[int], values: Sequence[float]) -> bool:
    """Return whether a member has about the same as its peers, and these as each other."""
    peers = [values[each] for each in others]
    middle = median(peers)
    close = max(peers) <= _EQUAL**2 * min(peers)
    return bool(middle) and close and middle / _EQUAL <= values[place] <= middle * _EQUAL
