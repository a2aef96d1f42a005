"""Series for graphs: reads and writes of disks, arrays, interfaces and clusters over the seconds that are held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from sdstop.analysis.disks.likeness import DeviceFold
from sdstop.analysis.disks.recent_activity import moments, totals
from sdstop.analysis.latest import past_rows
from sdstop.collectors.network.readings import InterfaceActivity
from sdstop.core.columns import values_at
from sdstop.core.model import Rows
from sdstop.readings.cluster import ClusterPool
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.strip import Sample, cells

POINTS = 120
"""Maximum number of points of a series."""


class Flow(Struct, frozen=True):
    """Reads and writes over time, the newest last; None where nothing was measured. `seconds` is the time span."""

    reads: list[float | None]
    writes: list[float | None]
    seconds: float

    @property
    def read(self) -> float | None:
        """The newest value of the reads."""
        return self.reads[-1] if self.reads else None

    @property
    def write(self) -> float | None:
        """The newest value of the writes."""
        return self.writes[-1] if self.writes else None


def flow_of(samples: Sequence[tuple[float, float, float | None, float | None]]) -> Flow | None:
    """Return a flow of (ends, seconds, read, write), oldest first; None without samples."""
    known = [sample for sample in samples if sample[1] > 0]
    if not known:
        return None
    end = known[-1][0]
    span = end - known[0][0] + known[0][1]
    step = max(span / POINTS, 1.0)
    count = max(int(span / step + 0.5), 1)

    index: list[Sample] = [(ends, seconds, float(i)) for i, (ends, seconds, _, _) in enumerate(known)]
    at = [None if i is None else int(i) for i in cells(index, end, count, step)]
    return Flow(
        [None if i is None else known[i][2] for i in at], [None if i is None else known[i][3] for i in at], span
    )


def disk_flow(scene: Scene) -> Flow | None:
    """Return the bytes per second of all disks together, None if nothing was measured."""
    known = totals(scene.window)
    whole = any(drive.whole and drive.is_counted for drive in scene.drives().values())
    return flow_of([(at, lasted, t.read_bytes, t.write_bytes) for at, lasted, t in known]) if whole else None


def fold_flow(scene: Scene, fold: DeviceFold, read: str, write: str, *, mean: bool) -> Flow | None:
    """Return two figures (fields of DiskActivity) of the devices of a fold: their sums, or means of those known."""
    names = [drive.name for drive in fold.devices]
    found = []
    for moment in moments(scene.window):
        known = moment.memo.get(("fold", read, fold.group, names[0]))
        if known is None or known[0] != names:
            figures = values_at(cast("Rows", moment.rows), names, read, write)
            known = names, *(_combined(values, mean=mean) for values in figures)
            moment.memo["fold", read, fold.group, names[0]] = known
        found.append((moment.started, moment.seconds or 0.0, known[1], known[2]))
    return flow_of(found)


def _combined(values: Sequence[float | None], *, mean: bool) -> float | None:
    known = [value for value in values if value is not None]
    return None if not known else sum(known) / len(known) if mean else sum(known)


def interface_flow(scene: Scene, name: str) -> Flow | None:
    """Return the bytes per second that an interface received and sent."""
    rows = past_rows(scene.window, InterfaceActivity, name)
    return flow_of([(at, lasted, row.rx_bytes_per_second, row.tx_bytes_per_second) for at, lasted, row in rows])


def cluster_flow(scene: Scene) -> list[tuple[str, Flow]]:
    """Return the name and the bytes per second of the pool with most traffic, as its cluster reports them."""
    pools = [row for row in scene.rows(ClusterPool)[0].values() if row.read is not None or row.write is not None]
    busiest = max(pools, key=lambda row: (row.read or 0.0) + (row.write or 0.0), default=None)
    if busiest is None:
        return []
    rows = past_rows(scene.window, ClusterPool, (busiest.cluster, busiest.pool))
    flow = flow_of([(at, lasted or scene.interval, row.read, row.write) for at, lasted, row in rows])
    return [(busiest.name, flow)] if flow is not None else []
