"""Integrity of pools: missing devices and remaining redundancy of each top-level vdev."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.zfs.readings import Pool, PoolState, Vdev
from sdstop.core.expression import expression
from sdstop.core.history import Window
from sdstop.readings.rebuild import Rebuild

GOOD = frozenset({"ONLINE", "AVAIL", "INUSE"})
LOST = frozenset({"UNAVAIL", "REMOVED", "FAULTED", "OFFLINE"})
"""States of devices that serve no data; a DEGRADED one has errors and still serves."""
_RAIDZ = expression(r"(?:raidz|draid)([123]?)", re.ASCII)


class TopVdev(Struct, frozen=True):
    """A top-level vdev with its children: `missing` serve no data, `tolerates` is how many more may fail.

    A child that is being replaced by a spare or a new disk is missing until the resilver completes; `replaced` are
    those whose spare has all their data. `tolerates` is negative when data is unavailable, None for an unknown kind.
    """

    vdev: Vdev
    children: tuple[Vdev, ...]
    missing: tuple[Vdev, ...]
    replaced: tuple[Vdev, ...]
    tolerates: int | None


class PoolAnalysis(Struct, frozen=True):
    """A pool with all known data; `vdevs` in the order of `zpool status`."""

    name: str
    state: str
    pool: Pool | None
    vdevs: tuple[Vdev, ...]
    tops: tuple[TopVdev, ...]

    @property
    def leaves(self) -> tuple[Vdev, ...]:
        """Devices of the pool, without idle spares and distributed spares."""
        return tuple(v for v in self.vdevs if v.leaf and v.group != "spares" and v.kind != "draid-spare")

    def group(self, group: str) -> tuple[Vdev, ...]:
        """Return the leaves of a group: data, logs, cache, special, dedup, spares."""
        return tuple(v for v in self.vdevs if v.leaf and v.group == group)


def pool_analyses(window: Window) -> list[PoolAnalysis]:
    """Return every pool, by name."""
    return window.once("wholes", lambda: _analyses(window))


def _analyses(window: Window) -> list[PoolAnalysis]:
    states = {row.pool: row.state for row in window.rows(PoolState).values()}
    pools = {row.pool: row for row in window.rows(Pool).values()}
    vdevs: dict[str, list[Vdev]] = {}
    for row in window.rows(Vdev).values():
        vdevs.setdefault(row.pool, []).append(row)
    repaired = {
        row.array.partition("/")[0]
        for row in window.rows(Rebuild).values()
        if row.kind == "zfs" and row.operation in {"resilver", "rebuild"}
    }
    found = []
    for name in sorted({*states, *pools}):
        own = tuple(sorted(vdevs.get(name, ()), key=lambda row: row.place))
        pool = pools.get(name)
        state = states.get(name) or (pool.state if pool is not None else "")
        found.append(PoolAnalysis(name, state, pool, own, tuple(_tops(own, repairing=name in repaired))))
    return found


def _tops(vdevs: Sequence[Vdev], *, repairing: bool) -> list[TopVdev]:
    found = []
    for place, top in enumerate(vdevs):
        if top.depth or top.group not in {"data", "special", "dedup"}:
            continue
        below = []
        for row in vdevs[place + 1 :]:
            if not row.depth or row.group != top.group:
                break
            below.append(row)
        children = [row for row in below if row.depth == 1]
        missing, replaced = [], []
        for child in children:
            if child.state == "ONLINE" or (child.leaf and child.state not in LOST):
                continue
            inner = _below(below, child)
            if any(_holds(row, child, inner, repairing=repairing) for row in inner if row.leaf):
                replaced.append(child)
            else:
                missing.append(child)
        found.append(
            TopVdev(top, tuple(children), tuple(missing), tuple(replaced), _tolerates(top, len(children), len(missing)))
        )
    return found


def _holds(row: Vdev, child: Vdev, inner: Sequence[Vdev], *, repairing: bool) -> bool:
    """Return whether a device below `spare-3` or `replacing-1` has all data of that child.

    While the pool resilvers, the tree does not show the target: the first device had the data, the last is new, and a
    spare beside a disk that is being replaced was filled before.
    """
    if row.state != "ONLINE":
        return False
    leaves = [other for other in inner if other.leaf]
    spare = child.kind == "spare" and row.depth == child.depth + 1 and any(o.kind == "replacing" for o in inner)
    return not repairing or row is leaves[0] or spare


def _below(rows: Sequence[Vdev], child: Vdev) -> list[Vdev]:
    found: list[Vdev] = []
    started = False
    for row in rows:
        if row is child:
            started = True
        elif started and row.depth <= child.depth:
            break
        elif started:
            found.append(row)
    return found


def _tolerates(top: Vdev, children: int, missing: int) -> int | None:
    if top.leaf:
        return 0 if top.state in GOOD or top.state == "DEGRADED" else -1
    if top.kind == "mirror":
        return children - 1 - missing
    found = _RAIDZ.fullmatch(top.kind)
    return int(found[1] or 1) - missing if found else None


def disk_of(window: Window, device: str | None) -> BlockDevice | None:
    """Return the whole disk of a leaf's device."""
    row = window.get(BlockDevice, device) if device else None
    return window.get(BlockDevice, row.parent) if row is not None and row.parent else row


def rotates(window: Window, leaves: Sequence[Vdev]) -> bool | None:
    """Return whether any of the devices rotates; None if at least one is unknown and no known one does."""
    said = [disk.rotational if (disk := disk_of(window, leaf.device)) is not None else None for leaf in leaves]
    if any(said):
        return True
    return None if None in said or not said else False
