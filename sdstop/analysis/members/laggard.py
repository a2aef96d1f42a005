"""Detection of a laggard: a member of a peer group that is far slower than its peers at an equal share of I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from sdstop.analysis.members.column import Second, StripeLimits, StripeMember
from sdstop.analysis.members.member_waits import (
    ALL,
    READS,
    SEPARATE,
    WRITES,
    RequestType,
    SecondWaits,
    answered,
    are_even,
    has_outlier,
    median_without,
    ratios_of,
    requests_of,
    waits_of,
)
from sdstop.core.averages import median
from sdstop.core.text import added

FEWEST = 3
"""Minimum number of members; with only two, neither can serve as the reference, except for the legs of a mirror."""
_ENOUGH = 3
"""Minimum number of peers whose median a single peer does not move."""


class Wait(Struct, frozen=True):
    """Wait of a member and of its peers: seconds, medians over the window.

    `requests` are reads, writes, or requests if the types are too unequal to be compared. `share` is the member's rate
    as a multiple of its peers' median. `minutes`: found over a minute, not over the last seconds.
    """

    disk: str
    requests: str
    seconds: float
    peers: float
    share: float = 1.0
    minutes: bool = False

    @property
    def times(self) -> float:
        """The wait as a multiple of the peers'."""
        return self.seconds / self.peers if self.peers else float("inf")


class _Candidate(Struct, frozen=True):
    """The member with the longest wait: an outlier of its group. `steady`: in nearly every second.

    `same_mix`: with about the same share of reads. Of one that is not steady, the other figures are not worked out; nor
    is the mix of one whose requests have another size.
    """

    wait: Wait
    same_size: bool
    steady: bool
    same_mix: bool


def slowest(
    seconds: Sequence[Second],
    limits: StripeLimits,
    *,
    rotational: bool,
    mirrored: bool = False,
    lasting: bool = False,
    without: AbstractSet[str] = frozenset(),
) -> Wait | None:
    """Return the member that is far slower than its peers without being asked for more, None if there is none.

    Writes are compared first: the legs of a mirror get the same writes, while reads avoid a slow leg. Of a `mirrored`
    group, two members suffice for that; for all requests together, too, if each takes longer than any seek. `lasting`
    seconds are samples of several seconds each that cover a minute; over that time a queue does not stay at one member
    by chance. The members `without` are left out.
    """
    excess = limits.slow_excess if rotational else limits.slow_excess_flash
    writes = [answered(second, WRITES, limits.slow_ios, without) for second in seconds]
    reads = [answered(second, READS, limits.slow_ios, without) for second in seconds]
    fewest = 2 if mirrored else FEWEST
    for rows, others, least in ((writes, reads, fewest), (reads, writes, FEWEST)):
        for found in _outliers(seconds, rows, excess, limits, least):
            other = ratios_of(others, found.wait.disk)
            # A member that is slow for one type of request only has a different workload; it is not slow.
            if len(other) >= len(seconds) / 2 and median(other) < limits.equal_ios:
                continue
            if _is_slow(seconds, rows, found, limits, rotational=rotational, lasting=lasting):
                return found.wait
    whole = _is_whole(seconds)
    if lasting or whole:
        rows = [answered(second, ALL, limits.slow_ios, without) for second in seconds]
        for found in _outliers(seconds, rows, excess, limits, fewest):
            if found.same_size and found.steady and _is_proven(seconds, found, limits):
                return found.wait
            compared = whole and found.same_mix and len(rows[-1].names) >= FEWEST
            if compared and _is_slow(seconds, rows, found, limits, rotational=rotational, lasting=lasting):
                return found.wait
    return None


def _is_whole(seconds: Sequence[Second]) -> bool:
    """Return whether the source prints one wait of reads and writes together."""
    return bool(seconds) and seconds[-1].members.any_waits is not None


def times(seconds: Sequence[Second], wait: Wait, limits: StripeLimits) -> float | None:
    """Return the wait of a member as a multiple of its peers' over other seconds, None if it has none there."""
    requests = next(each for each in (WRITES, READS, ALL) if each.name == wait.requests)
    waits = waits_of([answered(second, requests, limits.slow_ios, frozenset()) for second in seconds])
    own = waits.pop(wait.disk, None)
    middle = median([median(found) for found in waits.values()] or [0.0])
    return median(own) / middle if own and middle else None


def extent(seconds: Sequence[Second], wait: Wait, limits: StripeLimits, *, rotational: bool) -> float:
    """Return how many times as long as its peers a slow member works on a request; 1 if seeks explain its waits.

    The lesser multiple counts, of its wait and of its busy time per request. A queue lengthens the first only.
    """
    services, ratios = _services(seconds, wait.disk, limits)
    if len(ratios) < limits.fixed * len(seconds) or (rotational and median(services) < limits.slow_seek):
        return 1.0
    return max(1.0, min(wait.times, median(ratios)))


def sudden(
    seconds: Sequence[Second], limits: StripeLimits, *, rotational: bool, mirrored: bool, without: AbstractSet[str]
) -> Wait | None:
    """Return the member that is extremely slow in each of a few seconds, None if there is none.

    So few seconds suffice only where its wait and its busy time per request both are many times its peers' in all.
    """
    if _is_whole(seconds):
        newest = answered(seconds[-1], ALL, limits.slow_ios, frozenset())
        if len(newest.waits) < 2 or newest.longest < limits.slow_sudden * newest.shortest:
            return None
    elif not any(_may_be_sudden(seconds, each, limits) for each in SEPARATE):
        return None
    wait = slowest(seconds, limits, rotational=rotational, mirrored=mirrored, without=without)
    if wait is None:
        return None
    requests = next(each for each in (WRITES, READS, ALL) if each.name == wait.requests)
    waits = ratios_of([answered(second, requests, limits.slow_ios, frozenset()) for second in seconds], wait.disk)
    services, ratios = _services(seconds, wait.disk, limits)
    if min(len(waits), len(ratios)) < len(seconds) or (rotational and min(services) < limits.slow_seek):
        return None
    return wait if min(waits) >= limits.slow_sudden and min(ratios) >= limits.slow_far else None


def _may_be_sudden(seconds: Sequence[Second], requests: RequestType, limits: StripeLimits) -> bool:
    """Return whether a member waits extremely long for requests of a type in each of the seconds, newest first."""
    left: AbstractSet[str] | None = None
    for second in reversed(seconds):
        far = _far(second, requests, limits)
        left = far if left is None else left & far
        if not left:
            return False
    return True


def _far(second: Second, requests: RequestType, limits: StripeLimits) -> AbstractSet[str]:
    least, times = limits.slow_ios, limits.slow_sudden
    return second.once(
        ("far", requests.name, least, times), lambda: answered(second, requests, least, frozenset()).far(times)
    )


_LITTLE = 6.0
"""Queue length that a flash disk clears quickly: random arrivals cannot keep that many waiting for seconds."""


def _is_slow(
    seconds: Sequence[Second],
    rows: Sequence[SecondWaits],
    found: _Candidate,
    limits: StripeLimits,
    *,
    rotational: bool,
    lasting: bool,
) -> bool:
    if not found.steady or not found.same_size:
        return False
    share = found.wait.share
    if _is_proven(seconds, found, limits):
        return True
    # A much lower rate is excluded, too: a mirror leg that gets few reads seeks for each of them.
    if not 1 / limits.equal_ios <= share <= limits.equal_ios:
        return False
    disk = found.wait.disk
    if _works_longer(seconds, rows, disk, limits, rotational=rotational):
        return True
    return lasting and _is_far(seconds, rows, disk, limits)


def _is_proven(seconds: Sequence[Second], found: _Candidate, limits: StripeLimits) -> bool:
    """Return whether each request takes longer than any seek, and far longer than the peers'.

    Then neither fewer nor somewhat more requests explain it.
    """
    services, ratios = _services(seconds, found.wait.disk, limits)
    if found.wait.share > limits.equal_ios**2 or len(ratios) < limits.crowded * len(seconds):
        return False
    long = median(services) >= limits.slow_seek
    return long and sum(ratio >= limits.slow_service for ratio in ratios) >= limits.fixed * len(ratios)


def _is_far(seconds: Sequence[Second], rows: Sequence[SecondWaits], disk: str, limits: StripeLimits) -> bool:
    """Return whether a member waits many times as long as its peers all the time, without more requests in all."""
    ratios = ratios_of(rows, disk)
    if sum(ratio >= limits.slow_far for ratio in ratios) < limits.fixed * len(ratios):
        return False
    loads = []
    for second in seconds:
        ios = {member.name: requests_of(member) for member in second.members.each()}
        middle = median([rate for name, rate in ios.items() if name != disk] or [0.0])
        loads.append(ios.get(disk, 0.0) / middle if middle else float("inf"))
    return median(loads) <= limits.equal_ios


def _services(seconds: Sequence[Second], disk: str, limits: StripeLimits) -> tuple[list[float], list[float]]:
    """Return the busy time per request of a member, and as a multiple of the median, for each second that has one."""
    services, ratios = [], []
    for second in seconds:
        if not second.timed or not second.rated:
            continue
        members = second.members
        rows = zip(members.names, members.busy, members.reads, members.writes, strict=True)
        service = {
            name: busy / rate for name, busy, reads, writes in rows
            if (rate := reads + writes) and rate >= limits.slow_ios
        }  # fmt: skip
        if disk not in service or len(service) < 2:
            continue
        middle = median_without(service.values(), service[disk])
        if middle:
            services.append(service[disk])
            ratios.append(service[disk] / middle)
    return services, ratios


def _works_longer(
    seconds: Sequence[Second], rows: Sequence[SecondWaits], disk: str, limits: StripeLimits, *, rotational: bool
) -> bool:
    """Return whether the disk needs longer per request, rather than merely having a crowd queued on it.

    Callers that wait for their responses gather at one disk or another for many seconds, and so do streams. There a
    request waits long, but its service time is normal: the busy time per request is that of the peers. Where streams
    gather, rotational disks seek for each request while the peers, with one stream each, do not; so the busy time must
    be longer than a seek explains. A flash disk serves several requests at once, and kernels before 6.10 overstate its
    busy time: for flash it is enough that the disk is consistently far slower, and has a somewhat longer busy time or a
    short queue.
    """
    services, ratios = _services(seconds, disk, limits)
    if len(ratios) < limits.crowded * len(seconds):
        return False
    if sum(ratio >= limits.slow_service for ratio in ratios) >= limits.fixed * len(ratios):
        if not rotational or median(services) >= limits.slow_seek:
            return True
        far = sum(ratio >= limits.slow_seeking for ratio in ratios) >= limits.fixed * len(ratios)
        return far and _all_seek(seconds, disk, limits)
    waits = ratios_of(rows, disk)
    if rotational or sum(ratio >= limits.slow_wait for ratio in waits) < limits.fixed * len(waits):
        return False
    queues = [member.queue for second in seconds for member in second.members.each() if member.name == disk]
    return median(queues) <= _LITTLE or median(ratios) >= limits.equal_ios


_SLOWEST_TRANSFER = 100e6
"""Bytes per second that any rotational disk in use exceeds; busy time beyond such a transfer is not transfer time."""


def _all_seek(seconds: Sequence[Second], disk: str, limits: StripeLimits) -> bool:
    """Return whether the peers of a disk seek for nearly every request.

    If so, their busy time per request exceeds the transfer time, and is much the same in each second and on each disk:
    for n requests that all seek, the standard error of the mean is a third of the mean over the root of n (seek and
    rotation times are uniformly distributed). If some seek and others follow a stream, it varies several times more,
    because a few long requests determine the mean; if all follow a stream, only the transfer time is left.
    """
    found = []
    for second in seconds:
        for member in second.members.each():
            requests = requests_of(member)
            if member.name != disk and requests and requests >= limits.slow_ios:
                size = (member.read_bytes + member.write_bytes) / requests
                found.append((member.busy / requests, requests, size / _SLOWEST_TRANSFER))
    if len(found) < limits.slow_samples:
        return False
    mean = added(busy * requests for busy, requests, _ in found) / added(requests for _, requests, _ in found)
    if not mean or median(busy - transfer for busy, _, transfer in found) < limits.slow_turn:
        return False
    varies = added(requests * (busy / mean - 1) ** 2 for busy, requests, _ in found) / (len(found) - 1)
    return varies <= limits.slow_varies


_TRIED = 3
"""Maximum number of outliers checked, the one with the longest wait first: a hot one may hide a slow one."""


def _outliers(
    seconds: Sequence[Second], rows: Sequence[SecondWaits], excess: float, limits: StripeLimits, fewest: int
) -> Iterator[_Candidate]:
    """Yield the outlying members with their waits and their peers' (medians over the seconds), the longest first."""
    least = limits.crowded * len(rows)
    if are_even(rows, min(limits.slow_wait, limits.slow_of_two, limits.slow_of_three), excess):
        return
    if not has_outlier(rows, limits.slow_wait, excess, least):
        return
    waits = {disk: median(found) for disk, found in waits_of(rows).items() if len(found) >= least}
    if len(waits) < fewest:
        return
    order = sorted(waits, key=lambda disk: -waits[disk])
    for disk in order[:_TRIED] if len(waits) > FEWEST else order[:1]:
        found = _outlier(seconds, rows, waits, disk, excess, limits)
        if found is None:
            return
        yield found


def _outlier(
    seconds: Sequence[Second],
    rows: Sequence[SecondWaits],
    waits: Mapping[str, float],
    disk: str,
    excess: float,
    limits: StripeLimits,
) -> _Candidate | None:
    peers = [other for other in waits if other != disk]
    middle = median(waits[other] for other in peers)
    times, always = limits.slow_wait, limits.equal_ios
    if len(peers) == 1:
        times, always = limits.slow_of_two, limits.slow_wait
    elif len(peers) < _ENOUGH:
        # One of two peers always moves their median: the closer one is the reference, and both have similar waits or
        # far shorter ones.
        middle, least_waiting = (extreme(waits[other] for other in peers) for extreme in (max, min))
        if limits.equal_ios * least_waiting < middle and waits[disk] < limits.slow_far * middle:
            return None
        times, always = limits.slow_of_three, limits.slow_wait
    if waits[disk] < times * middle or waits[disk] < middle + excess:
        return None

    every: list[Mapping[str, StripeMember]] = []

    def of(name: str, value: Callable[[StripeMember], float]) -> float:
        if not every:
            every.extend([row.disks(second) for row, second in zip(rows, seconds, strict=True)])
        return median(value(disks[name]) for disks in every if name in disks)

    def others(value: Callable[[StripeMember], float]) -> float:
        return median(of(other, value) for other in peers)

    requests = rows[0].requests
    ratios = ratios_of(rows, disk)
    steady = sum(ratio >= always for ratio in ratios) >= limits.fixed * len(ratios)
    # The figures of all peers in all seconds are read only for a member that can still be slow.
    same_size = steady and of(disk, requests.size) <= limits.equal_ios * others(requests.size)
    same_mix = same_size and abs(of(disk, _read_share) - others(_read_share)) <= _MIXED
    share = of(disk, requests.rate) / others(requests.rate) if same_size else 1.0
    return _Candidate(Wait(disk, requests.name, waits[disk], middle, share), same_size, steady, same_mix)


_MIXED = 0.25
"""Largest difference between the shares of reads of members whose requests are compared whatever their type."""


def _read_share(member: StripeMember) -> float:
    return member.reads / requests_of(member)
