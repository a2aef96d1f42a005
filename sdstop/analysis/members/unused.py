"""Disks that get no request while all disks like them get an equal load: what uses the others has lost them.

A disk that left a pool, or whose daemon stopped, is in no counter of an array and logs nothing. Its peers show it.
Disks with file systems of their own are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.analysis.members.group_columns import device_of
from sdstop.analysis.members.inferred import is_equal, pasted_moments, rates_by_class
from sdstop.core.averages import median
from sdstop.core.columns import values_at
from sdstop.core.history import Moment, Window
from sdstop.core.joins import GroupKind, ThingKind
from sdstop.core.peer_group import PeerGroup
from sdstop.core.text import added
from sdstop.readings.disk import Disk, DiskActivity

SECONDS = 30.0
"""Seconds without a request."""
LEAST = 2.0
"""Requests per second of each peer."""
EVEN = 3.0
"""Largest ratio of the rates of two peers."""
PEERS = 3
"""Fewest peers."""
_SAMPLES = 5
"""Fewest printed samples with requests, and without."""
_PRINTED = 15.0
"""Seconds without a request in printed samples, whose earlier ones show that the disk had an equal load."""
_FEWEST = 1000
"""Fewest requests that a disk completed before: the search for partitions after a boot takes some hundred."""
_COUNTED = ("reads", "writes", "discards", "in_flight")
_OWNED = frozenset({
    GroupKind.COLUMNS, GroupKind.LEGS, GroupKind.IMAGES, GroupKind.LEAVES, GroupKind.PATHS,
})  # fmt: skip
"""Groups of arrays, pools and maps, which have a state for each member; a small file need not lie on all of them."""


class UnusedDisk(Struct, frozen=True):
    """A disk without requests for `seconds`; `rate` is its peers' median in requests per second.

    `share` is the number of its earlier requests, as a multiple of its peers' median.
    """

    device: str
    seconds: float
    rate: float
    share: float
    peers: tuple[str, ...]


class UnusedDisks(Struct, frozen=True):
    """The disks that get no requests, those that were compared and get some, and those without a row of counters."""

    unused: tuple[UnusedDisk, ...]
    used: tuple[str, ...]
    uncounted: tuple[str, ...] = ()


def unused_disks(window: Window, least: float, used: float) -> UnusedDisks:
    """Compare disks of one model that no array owns by their counters, without counters disks of one name class.

    `least` is the requests per second that each peer must have, `used` the requests that a disk must have completed
    since it appeared, as a share of its peers' median.
    """
    rows = window.rows(Disk)
    found = tuple(_counted(window, least, used) if rows else _printed(window, least))
    alike = [group for group in window.topology.groups() if group.kind is GroupKind.MODEL] if rows else []
    return UnusedDisks(
        tuple(disk for unused, _ in found for disk in unused),
        tuple(name for _, used in found for name in used),
        tuple(name for group in alike for name in map(device_of, group.members) if name not in rows),
    )


_Judged = tuple[Sequence[UnusedDisk], Sequence[str]]
"""The unused and the used disks of a group."""


def _counted(window: Window, least: float, used: float) -> Iterator[_Judged]:
    moments = window.moments(Disk)
    last = moments[-1]
    first = next((each for each in reversed(moments) if each.started <= last.started - SECONDS), None)
    if first is None:
        return
    groups = window.topology.groups()
    owned = {device_of(member) for group in groups if group.kind in _OWNED for member in group.members}
    for group in groups:
        if group.kind is GroupKind.MODEL and not _has_mounts(window, group):
            names = [name for name in map(device_of, group.members) if name not in owned]
            if len(names) > PEERS:
                yield _compared(names, first, last, least, used)


def _has_mounts(window: Window, group: PeerGroup) -> bool:
    """Return whether a disk of a group has a file system: programs that use one need not use the others."""
    topology = window.topology
    return topology.once(
        ("mounts", group.kind, group.name),
        lambda: any(ThingKind.MOUNT in each.kinds for member in group.members for each in topology.above(member)),
    )


def _compared(names: Sequence[str], first: Moment[Disk], last: Moment[Disk], least: float, used: float) -> _Judged:
    seconds = last.started - first.started
    now, before = _totals(names, last), _totals(names, first)
    done = {name: now[name][0] - before[name][0] for name in now if name in before}
    if min(done.values(), default=-1) < 0:
        return (), ()  # counters began again: another disk has this name
    peers = [name for name in done if done[name] >= least * seconds]
    idle = [name for name in done if not done[name] and not now[name][1] and not before[name][1]]
    if len(peers) < PEERS or len(peers) + len(idle) < len(names) or _are_uneven([done[name] for name in peers]):
        return (), ()
    usual = median([before[name][0] for name in peers])
    rate = median([done[name] for name in peers]) / seconds
    unused = [
        UnusedDisk(name, seconds, rate, before[name][0] / usual, tuple(peers))
        for name in idle
        if before[name][0] >= max(_FEWEST, used * usual)
    ]
    return unused, peers


def _are_uneven(values: Sequence[float]) -> bool:
    return max(values) > EVEN * min(values)


def _totals(names: Sequence[str], moment: Moment[Disk]) -> Mapping[str, tuple[int, int]]:
    """Return the requests completed since a disk appeared and those in flight, of each disk that has a row."""
    columns = values_at(moment.rows, [name for name in names if name in moment.rows], "device", *_COUNTED)
    return {
        name: (reads + writes + (discards or 0), waiting or 0)
        for name, reads, writes, discards, waiting in zip(*columns, strict=True)
    }


def _printed(window: Window, least: float) -> Iterator[_Judged]:
    """Compare rates that a tool printed: a disk had the load of its peers, and then no request until the end."""
    lengths = [moment.seconds or 0.0 for moment in pasted_moments(window)]
    for rates in rates_by_class(window).values():
        found = [disk for name in rates if (disk := _stopped(name, rates, lengths, least)) is not None]
        unused = [disk for disk in found if 2 * len(found) < len(disk.peers) and not _waits(window, disk.device)]
        yield unused, [name for name, every in rates.items() if len(every) >= 2 * _SAMPLES and every[-1]]


def _waits(window: Window, name: str) -> bool:
    """Return whether requests are outstanding: such a disk hangs."""
    row = window.get(DiskActivity, name)
    return row is not None and bool(row.queue or row.in_flight)


def _stopped(
    name: str, rates: Mapping[str, Sequence[float]], lengths: Sequence[float], least: float
) -> UnusedDisk | None:
    own = rates[name]
    since = max((at + 1 for at, rate in enumerate(own) if rate), default=0)
    seconds = added(lengths[since:])
    if since < _SAMPLES or len(own) - since < _SAMPLES or seconds < _PRINTED:
        return None
    before = median(own[:since])
    after: dict[str, float] = {}
    for other, every in rates.items():
        usual, now = median(every[:since]), median(every[since:])
        if is_equal(before, usual) and now >= max(least, usual / EVEN):
            after[other] = now
    return UnusedDisk(name, seconds, median([*after.values()]), 1.0, tuple(after)) if len(after) >= PEERS else None
