"""Laggard: the disk of a striped array that answers far slower than its peers at an equal share of I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdstop.stripe import Second, StripeLimits


@dataclass(frozen=True, slots=True)
class Wait:
    """A disk's wait beside its peers': seconds, medians over the window; `requests` are reads or writes."""

    disk: str
    requests: str
    seconds: float
    peers: float


@dataclass(frozen=True, slots=True)
class _Requests:
    """A disk's reads or its writes in one second."""

    disk: str
    rate: float
    size: float
    wait: float


def slowest(seconds: Sequence[Second], limits: StripeLimits, *, rotational: bool) -> Wait | None:
    """Return the disk that answers far slower than its peers although it is asked for no more, if there is one.

    Writes are compared first: the legs of a mirror get the same ones, while reads avoid a slow leg.
    """
    writes = [_answered(second, "writes", limits) for second in seconds]
    reads = [_answered(second, "reads", limits) for second in seconds]
    excess = limits.slow_excess if rotational else limits.slow_excess_flash
    for requests, rows, others in (("writes", writes, reads), ("reads", reads, writes)):
        found = _slowest(rows, excess, limits)
        if found is None:
            continue
        disk, wait, peers = found
        other = _ratios(others, disk)
        # A disk that is slow in one kind of request only is not slow: it is asked for something else.
        if len(other) >= len(seconds) / 2 and median(other) < limits.equal_ios:
            continue
        if _works_longer(seconds, rows, disk, limits, rotational=rotational):
            return Wait(disk, requests, wait, peers)
    return None


_Row = dict[str, _Requests]

_LITTLE = 6.0
"""Requests before a flash disk that are soon gone: chance cannot keep that many there for seconds."""


def _works_longer(
    seconds: Sequence[Second], rows: Sequence[_Row], disk: str, limits: StripeLimits, *, rotational: bool
) -> bool:
    """Whether the disk works longer on a request, and is not just the one before which a crowd stands.

    Callers that wait for their answers gather before one disk or another for many seconds, and so do streams. There a
    request waits long, but once its turn comes it takes what it takes elsewhere: the busy time per request is that of
    the peers. Where streams gather, rotational disks seek for each request while the peers, left alone with one
    stream each, do not; so the busy time must be longer than a seek explains. A flash disk serves several requests at
    once, and kernels before 6.10 overstate its busy time: there it is enough that it is always far slower, and works
    somewhat longer or has little before it.
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
        return not rotational or median(services) >= limits.slow_seek
    waits = _ratios(rows, disk)
    if rotational or sum(ratio >= limits.slow_wait for ratio in waits) < limits.fixed * len(waits):
        return False
    return median(queues) <= _LITTLE or median(ratios) >= limits.equal_ios


def _answered(second: Second, requests: str, limits: StripeLimits) -> _Row:
    """Return the disks that answered enough reads (or writes) in this second to speak of a wait."""
    row = {}
    for column in second.columns:
        for member in column.members:
            if requests == "writes":
                rate, size, wait = member.writes, member.write_bytes, member.write_wait
            else:
                rate, size, wait = member.reads, member.read_bytes, member.read_wait
            if wait is not None and rate >= limits.slow_ios:
                row[member.name] = _Requests(member.name, rate, size / rate, wait)
    return row


def _ratios(rows: Iterable[_Row], disk: str) -> list[float]:
    """Return a disk's wait, times the median, of each second in which there is one."""
    ratios = []
    for row in rows:
        if disk in row and len(row) > 2:
            middle = median(entry.wait for entry in row.values())
            if middle:
                ratios.append(row[disk].wait / middle)
    return ratios


def _slowest(rows: Sequence[_Row], excess: float, limits: StripeLimits) -> tuple[str, float, float] | None:
    """Return the disk that stands out, its wait and its peers' (medians over the seconds)."""
    entries: dict[str, list[_Requests]] = {}
    for row in rows:
        for disk, entry in row.items():
            entries.setdefault(disk, []).append(entry)
    known = {disk: found for disk, found in entries.items() if len(found) >= limits.crowded * len(rows)}
    if len(known) < 4:
        return None
    waits = {disk: median(entry.wait for entry in found) for disk, found in known.items()}
    disk = max(waits, key=waits.__getitem__)
    peers = [other for other in known if other != disk]
    middle = median(waits[other] for other in peers)
    if waits[disk] < limits.slow_wait * middle or waits[disk] < middle + excess:
        return None

    def others(value: Callable[[_Requests], float]) -> float:
        return median(median(value(entry) for entry in known[other]) for other in peers)

    def own(value: Callable[[_Requests], float]) -> float:
        return median(value(entry) for entry in known[disk])

    equal = all(own(value) <= limits.equal_ios * others(value) for value in (_rate, _size))
    # Nor for far less: the leg of a mirror to which reads seldom go seeks for each of them.
    equal = equal and own(_rate) * limits.equal_ios >= others(_rate)
    ratios = _ratios(rows, disk)
    steady = sum(ratio >= limits.equal_ios for ratio in ratios) >= limits.fixed * len(ratios)
    return (disk, waits[disk], middle) if equal and steady else None


def _rate(entry: _Requests) -> float:
    return entry.rate


def _size(entry: _Requests) -> float:
    return entry.size
