"""Load of the things on a data path: mean rates, waits and queue of the last seconds, from the source that has them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from msgspec import Struct

from sdstop.analysis.latest import latest_rows
from sdstop.analysis.limits.limit_samples import weighted
from sdstop.analysis.members.peer_samples import recent
from sdstop.collectors.zfs.datasets import DatasetActivity
from sdstop.collectors.zfs.readings import VdevLoad
from sdstop.core.history import Moment, Window
from sdstop.core.joins import Naming
from sdstop.core.text import added
from sdstop.core.thing import Thing
from sdstop.readings.cluster import ClusterClient, ClusterDevice, ClusterPool, ClusterVolume
from sdstop.readings.disk import DiskActivity
from sdstop.readings.service import Service

SECONDS, FEWEST = 10.0, 3
"""Length of the window over which loads are averaged, and minimum number of samples if these are further apart."""


class Load(Struct, frozen=True, kw_only=True):
    """Mean load of one thing, or of several together.

    Requests and bytes per second, waits in seconds, `queue` in requests outstanding, `busy` as a share of time (of
    several things: the mean; `busiest`: the highest). `merged_reads` and `merged_writes` were merged into others, per
    second. `derived`: the wait follows from outstanding requests and rate (Little's law: 16 outstanding at 500/s wait
    32 ms), because the source reports none. `exact`: both directions are counted at the block layer, so that
    neighboring layers can be compared.
    """

    reads: float | None = None
    writes: float | None = None
    read_bytes: float | None = None
    write_bytes: float | None = None
    read_wait: float | None = None
    write_wait: float | None = None
    both_wait: float | None = None
    queue: float | None = None
    busy: float | None = None
    busiest: float | None = None
    merged_reads: float = 0.0
    merged_writes: float = 0.0
    both: float | None = None
    derived: bool = False
    exact: bool = False

    @property
    def requests(self) -> float | None:
        """Reads and writes per second."""
        return _sum(self.reads, self.writes) if self.both is None else self.both

    @property
    def bytes(self) -> float | None:
        """Bytes read and written per second."""
        return _sum(self.read_bytes, self.write_bytes)

    @property
    def wait(self) -> float | None:
        """Mean latency of a request, queueing included; None if unknown, or without requests."""
        if self.both_wait is not None:
            return self.both_wait
        return weighted([(self.read_wait, self.reads), (self.write_wait, self.writes)])


def _sum(*values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return added(known) if known else None


def implied_wait(queue: float | None, rate: float | None) -> float | None:
    """Return the mean wait that outstanding requests imply at a rate (Little's law), None if it cannot be derived."""
    return queue / rate if queue and rate else None


def load_of(window: Window, thing: Thing) -> Load | None:
    """Return the load of a thing, None if no source reports it; computed once per window."""
    loads: dict[int, Load | None] = window.once("path.loads", dict)
    if thing.place not in loads:
        if thing.device is not None:
            loads[thing.place] = device_load(window, thing.device)
        else:
            loads[thing.place] = _cluster_load(window, thing) or _vdev_load(window, thing) or _tool_load(window, thing)
    return loads[thing.place]


def mean_seconds(window: Window) -> float:
    """Return the seconds over which the load of block devices is a mean, 0 without samples."""
    return added(moment.seconds or 0.0 for moment in recent(window, SECONDS, FEWEST))


def device_load(window: Window, device: str) -> Load | None:
    """Return the load of a block device: by the kernel's counters or, without these, by a tool's output."""
    moments = recent(window, SECONDS, FEWEST)
    rows = [(moment.seconds or 1.0, row) for moment in moments if (row := _row(moment, device)) is not None]
    return _mean(rows) if rows else _service_load(window, device)


def _row(moment: Moment[DiskActivity], device: str) -> DiskActivity | None:
    """Return a device's row of a sample, cached because several windows use it."""
    rows = moment.brief("path.rows")
    if device not in rows:
        rows[device] = moment.rows.get(device)
    row: DiskActivity | None = rows[device]
    return row


def _mean(rows: Sequence[tuple[float, DiskActivity]]) -> Load:
    total = added(seconds for seconds, _ in rows)

    def rate(field: str) -> float:
        return added(seconds * getattr(row, field) for seconds, row in rows) / total

    def share(field: str) -> float | None:
        values = [(seconds, getattr(row, field)) for seconds, row in rows]
        known = [(seconds, value) for seconds, value in values if value is not None]
        return added(s * value for s, value in known) / added(s for s, _ in known) if known else None

    reads = weighted([(row.read_wait, s * row.reads_per_second) for s, row in rows])
    writes = weighted([(row.write_wait, s * row.writes_per_second) for s, row in rows])
    requests = rate("reads_per_second") + rate("writes_per_second")
    busy = share("busy")
    busy = None if busy is None else min(busy, 1.0)  # its counter can run ahead of the clock of a guest
    queue, implied = share("queue"), None
    if reads is None and writes is None and requests:
        queue = share("in_flight") if queue is None else queue
        implied = implied_wait(queue, requests)
    elif not (rate("reads_per_second") and rate("writes_per_second")):
        # Kernels since 5.0 count the time of requests as they complete; those that never do are only in flight.
        held = [row.in_flight for _, row in rows if row.in_flight is not None]
        queue = max(queue or 0.0, min(held)) if held else queue
    return Load(
        reads=rate("reads_per_second"),
        writes=rate("writes_per_second"),
        read_bytes=rate("read_bytes_per_second"),
        write_bytes=rate("write_bytes_per_second"),
        read_wait=reads,
        write_wait=writes,
        both_wait=implied,
        queue=queue,
        busy=busy,
        busiest=busy,
        merged_reads=rate("reads_merged_per_second"),
        merged_writes=rate("writes_merged_per_second"),
        derived=implied is not None,
        exact=True,
    )


def _service_load(window: Window, name: str) -> Load | None:
    """Return the load in the last interval that a tool printed for a device."""
    rows = window.where(Service, "device", name)
    if not rows:
        return None
    row = rows[-1]
    rate = row.requests_per_second
    if rate is None:
        rate = _sum(row.reads_per_second, row.writes_per_second)
    wait = row.wait if row.read_wait is None and row.write_wait is None else None
    implied = None
    if wait is None and row.read_wait is None and row.write_wait is None:
        implied = implied_wait(row.queue, rate)
    return Load(
        reads=row.reads_per_second,
        writes=row.writes_per_second,
        both=rate if row.reads_per_second is None and row.writes_per_second is None else None,
        read_wait=row.read_wait,
        write_wait=row.write_wait,
        both_wait=wait if implied is None else implied,
        queue=row.queue,
        busy=None if row.busy is None else min(row.busy, 1.0),
        busiest=None if row.busy is None else min(row.busy, 1.0),
        derived=implied is not None,
    )


def _tool_load(window: Window, thing: Thing) -> Load | None:
    """Return the load that a tool printed for a vdev or an OSD, under any of its names."""
    for _, name in thing.names:
        found = _service_load(window, name)
        if found is not None:
            return found
    return None


def _cluster_load(window: Window, thing: Thing) -> Load | None:
    """Return the load of a cluster's volume, pool, client or device, as its gateway reports it."""
    for family, naming, waits in (
        (ClusterVolume, Naming.VOLUME, True),
        (ClusterPool, Naming.CLUSTER, False),
        (ClusterClient, Naming.CLIENT, True),
        (ClusterDevice, Naming.OSD, True),
    ):
        name = thing.named(naming)
        row = _named_row(window, family, name) if name is not None else None
        if row is not None:
            return Load(
                reads=getattr(row, "reads", None),
                writes=getattr(row, "writes", None),
                read_bytes=getattr(row, "read", None),
                write_bytes=getattr(row, "write", None),
                read_wait=getattr(row, "read_wait", None) if waits else None,
                write_wait=getattr(row, "write_wait", None) if waits else None,
            )
    return None


_Row = ClusterVolume | ClusterPool | ClusterClient | ClusterDevice


def _named_row(window: Window, family: type[_Row], name: str) -> _Row | None:
    """Return the row of a family whose first thing has this name (CLUSTER/NAME)."""
    rows = latest_rows(window, family)[0]

    def by_name() -> dict[str, Hashable]:
        identity = next(iter(family.things.items()))
        found: dict[str, Hashable] = {}
        for key, row in rows.items():
            for named in identity[1].of(row, identity[0]):
                found.update((each.name, key) for each in named.names)
        return found

    places = window.of_run(family, ("path.named", family), by_name)
    return rows.get(places[name]) if name in places else None


def _vdev_load(window: Window, thing: Thing) -> Load | None:
    """Return the requests of a pool's datasets, or the waits of a vdev."""
    name = thing.named(Naming.VDEV)
    if name is None:
        return None
    pool, _, vdev = name.partition("/")
    if not vdev:
        rows = [row for row in window.rows(DatasetActivity).values() if row.pool == pool]
        if rows:
            return Load(
                reads=_sum(*(row.reads for row in rows)),
                writes=_sum(*(row.writes for row in rows)),
                read_bytes=_sum(*(row.read_bytes for row in rows)),
                write_bytes=_sum(*(row.written_bytes for row in rows)),
            )
    row = window.get(VdevLoad, (pool, vdev or pool))
    if row is None or (row.read_wait is None and row.write_wait is None):
        return None
    return Load()  # the waits of `zpool iostat` are means since the import, not of now


def combined(loads: Iterable[Load | None]) -> Load | None:
    """Return the load of several things together; None if that of any of them is unknown."""
    known = list(loads)
    if not known or any(load is None for load in known):
        return None
    rows = [load for load in known if load is not None]
    if len(rows) == 1:
        return rows[0]
    busy = [load.busy for load in rows if load.busy is not None]
    return Load(
        reads=_sum(*(load.reads for load in rows)),
        writes=_sum(*(load.writes for load in rows)),
        read_bytes=_sum(*(load.read_bytes for load in rows)),
        write_bytes=_sum(*(load.write_bytes for load in rows)),
        read_wait=weighted([(load.read_wait, load.reads) for load in rows]),
        write_wait=weighted([(load.write_wait, load.writes) for load in rows]),
        both_wait=weighted([(load.both_wait, load.requests) for load in rows]),
        queue=_sum(*(load.queue for load in rows)),
        busy=added(busy) / len(busy) if busy else None,
        busiest=max((load.busiest for load in rows if load.busiest is not None), default=None),
        merged_reads=added(load.merged_reads for load in rows),
        merged_writes=added(load.merged_writes for load in rows),
        both=_sum(*(load.requests for load in rows)) if any(load.both is not None for load in rows) else None,
        derived=any(load.derived for load in rows),
        exact=all(load.exact for load in rows),
    )
