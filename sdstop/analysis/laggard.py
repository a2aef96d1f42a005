"""Detection of a laggard: a striped array's disk that is far slower than its peers at an equal share of I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from statistics import median

from msgspec import Struct

from sdstop.analysis.column import Second, StripeLimits, StripeMember
from sdstop.core.text import added

FEWEST = 3
"""Minimum number of disks; with only two, neither can serve as the reference."""
_ENOUGH = 3
"""Minimum number of peers whose median a single peer does not move."""


class Wait(Struct, frozen=True):
    """Wait of a disk and of its peers: seconds, medians over the window; `requests` is reads or writes."""

    disk: str
    requests: str
    seconds: float
    peers: float


class _Requests(Struct, frozen=True):
    """A request type, reads or writes: its name and accessors for a disk's figures."""

    name: str
    rate: Callable[[StripeMember], float]
    moved: Callable[[StripeMember], float]
    wait: Callable[[StripeMember], float | None]

    def size(self, member: StripeMember) -> float:
        """Return the mean size of a disk's completed requests."""
        return self.moved(member) / self.rate(member)


_READS = _Requests("reads", attrgetter("reads"), attrgetter("read_bytes"), attrgetter("read_wait"))
_WRITES = _Requests("writes", attrgetter("writes"), attrgetter("write_bytes"), attrgetter("write_wait"))


class _Row(Struct, frozen=True):
    """Waits of the disks that completed enough requests of one type in one second."""

    requests: _Requests
    disks: dict[str, StripeMember]
    waits: tuple[float, ...]

    def ratio(self, disk: str) -> float | None:
        """Return a disk's wait as a multiple of the median, None if it has none."""
        middle = median(self.waits) if disk in self.disks and len(self.disks) > 2 else 0.0
        return (self.requests.wait(self.disks[disk]) or 0.0) / middle if middle else None


def slowest(seconds: Sequence[Second], limits: StripeLimits, *, rotational: bool) -> Wait | None:
    """Return the disk that is far slower than its peers without being asked for more, None if there is none.

    Writes are compared first: the legs of a mirror get the same writes, while reads avoid a slow leg.
    """
    writes = [_answered(second, _WRITES, limits.slow_ios) for second in seconds]
    reads = [_answered(second, _READS, limits.slow_ios) for second in seconds]
    excess = limits.slow_excess if rotational else limits.slow_excess_flash
    for rows, others in ((writes, reads), (reads, writes)):
        found = _slowest(rows, excess, limits)
        if found is None:
            continue
        disk, wait, peers = found
        other = _ratios(others, disk)
        # A disk that is slow for one type of request only has a different workload; it is not slow.
        if len(other) >= len(seconds) / 2 and median(other) < limits.equal_ios:
            continue
        if _works_longer(seconds, rows, disk, limits, rotational=rotational):
            return Wait(disk, rows[0].requests.name, wait, peers)
    return None


_LITTLE = 6.0
"""Queue length that a flash disk clears quickly: random arrivals cannot keep that many waiting for seconds."""


def _works_longer(
    seconds: Sequence[Second], rows: Sequence[_Row], disk: str, limits: StripeLimits, *, rotational: bool
) -> bool:
    """Return whether the disk needs longer per request, rather than merely having a crowd queued on it.

    Callers that wait for their responses gather at one disk or another for many seconds, and so do streams. There a
    request waits long, but its service time is normal: the busy time per request is that of the peers. Where streams
    gather, rotational disks seek for each request while the peers, with one stream each, do not; so the busy time must
    be longer than a seek explains. A flash disk serves several requests at once, and kernels before 6.10 overstate its
    busy time: for flash it is enough that the disk is consistently far slower, and has a somewhat longer busy time or a
    short queue.
    """
    services, ratios, queues = [], [], []
    for second in seconds:
        members = [member for column in second.columns for member in column.members]
        queues += [member.queue for member in members if member.name == disk]
        service = {m.name: m.busy / (m.reads + m.writes) for m in members if m.reads + m.writes >= limits.slow_ios}
        middle = median(service.values()) if disk in service and len(service) > 2 else 0.0
        if middle:
            services.append(service[disk])
            ratios.append(service[disk] / middle)
    if len(ratios) < limits.crowded * len(seconds):
        return False
    if sum(ratio >= limits.slow_service for ratio in ratios) >= limits.fixed * len(ratios):
        if not rotational or median(services) >= limits.slow_seek:
            return True
        far = sum(ratio >= limits.slow_seeking for ratio in ratios) >= limits.fixed * len(ratios)
        return far and _all_seek(seconds, disk, limits)
    waits = _ratios(rows, disk)
    if rotational or sum(ratio >= limits.slow_wait for ratio in waits) < limits.fixed * len(waits):
        return False
    return median(queues) <= _LITTLE or median(ratios) >= limits.equal_ios


_SLOWEST_TRANSFER = 100e6
"""Bytes per second that any rotational disk in use exceeds; busy time beyond such a transfer is not transfer time."""


def _all_seek(seconds: Sequence[Second], disk: str, limits: StripeLimits) -> bool:
    """Return whether the peers of a disk seek for nearly every request.

    If so, their busy time per request exceeds the transfer time, and is much the same in each second and on each disk:
    for n requests that all seek, the standard error of the mean is a third of the mean over the root of n (seek and
    rotation times are uniformly distributed). If some seek and others follow a stream, it varies several times as much,
    because a few long requests determine the mean; if all follow a stream, only the transfer time is left.
    """
    found = []
    for second in seconds:
        for member in (member for column in second.columns for member in column.members):
            requests = member.reads + member.writes
            if member.name != disk and requests >= limits.slow_ios:
                size = (member.read_bytes + member.write_bytes) / requests
                found.append((member.busy / requests, requests, size / _SLOWEST_TRANSFER))
    if len(found) < limits.slow_samples:
        return False
    mean = added(busy * requests for busy, requests, _ in found) / added(requests for _, requests, _ in found)
    if not mean or median(busy - transfer for busy, _, transfer in found) < limits.slow_turn:
        return False
    varies = added(requests * (busy / mean - 1) ** 2 for busy, requests, _ in found) / (len(found) - 1)
    return varies <= limits.slow_varies


def _answered(second: Second, requests: _Requests, least: float) -> _Row:
    """Return the disks that completed enough requests in this second, cached because ten windows share a second."""

    def row() -> _Row:
        members = (member for column in second.columns for member in column.members)
        disks = {m.name: m for m in members if requests.rate(m) >= least and requests.wait(m) is not None}
        return _Row(requests, disks, tuple(requests.wait(member) or 0.0 for member in disks.values()))

    return second.once(("answered", requests.name, least), row)


def _ratios(rows: Iterable[_Row], disk: str) -> list[float]:
    """Return a disk's wait as a multiple of the median, for each second that has one."""
    return [ratio for row in rows if (ratio := row.ratio(disk)) is not None]


def _waits(rows: Sequence[_Row]) -> dict[str, Sequence[float]]:
    """Return the waits of each disk in the seconds in which it has one."""
    names = list(rows[0].disks)
    if all(list(row.disks) == names for row in rows):
        return dict(zip(names, zip(*(row.waits for row in rows), strict=True), strict=True))
    found: dict[str, list[float]] = {}
    for row in rows:
        for disk, wait in zip(row.disks, row.waits, strict=True):
            found.setdefault(disk, []).append(wait)
    return dict(found)


def _slowest(rows: Sequence[_Row], excess: float, limits: StripeLimits) -> tuple[str, float, float] | None:
    """Return the outlying disk, its wait and its peers' (medians over the seconds)."""
    least = limits.crowded * len(rows)
    waits = {disk: median(found) for disk, found in _waits(rows).items() if len(found) >= least}
    if len(waits) < FEWEST:
        return None
    disk = max(waits, key=waits.__getitem__)
    peers = [other for other in waits if other != disk]
    middle = median(waits[other] for other in peers)
    times, always = limits.slow_wait, limits.equal_ios
    if len(peers) < _ENOUGH:
        # One of two peers always moves their median: both must have similar waits, and the closer one is the reference.
        middle, least_waiting = (extreme(waits[other] for other in peers) for extreme in (max, min))
        if middle > limits.equal_ios * least_waiting:
            return None
        times, always = limits.slow_of_three, limits.slow_wait
    if waits[disk] < times * middle or waits[disk] < middle + excess:
        return None

    def of(name: str, value: Callable[[StripeMember], float]) -> float:
        return median(value(row.disks[name]) for row in rows if name in row.disks)

    def others(value: Callable[[StripeMember], float]) -> float:
        return median(of(other, value) for other in peers)

    rate, size = rows[0].requests.rate, rows[0].requests.size
    equal = all(of(disk, value) <= limits.equal_ios * others(value) for value in (rate, size))
    # A much lower rate is excluded, too: a mirror leg that gets few reads seeks for each of them.
    equal = equal and of(disk, rate) * limits.equal_ios >= others(rate)
    ratios = _ratios(rows, disk)
    steady = sum(ratio >= always for ratio in ratios) >= limits.fixed * len(ratios)
    return (disk, waits[disk], middle) if equal and steady else None
