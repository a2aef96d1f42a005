"""Space that can run out: file systems, pools of thin volumes, snapshots, ZFS pools; and the volumes of LVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from sdstop.analysis.latest import latest_rows
from sdstop.collectors.block.mount_readings import FilesystemSpace
from sdstop.collectors.devicemapper.volume_readings import LogicalVolume, ThinPool, VolumeSnapshot
from sdstop.collectors.zfs.readings import Pool
from sdstop.core.finding import Finding, Severity
from sdstop.core.format import number, quantity
from sdstop.core.history import Window

_PARTS = {"filled": "", "data": "", "inodes": "inodes", "metadata": "metadata"}
"""Part of a store by the value of a finding that accuses it."""
_WORTH = 0.5
"""Used share of inodes or metadata from which they have a line of their own."""
_CALM = frozenset({"ok", "writable", "ONLINE"})


class Store(Struct, frozen=True):
    """Something that can be full.

    `part` is "" for the data, otherwise inodes or metadata; `used` is a share, None if unknown; `left` and `size` are
    words. `state` is "" for the usual one. A finding accuses shares larger than `above`.
    """

    name: str
    kind: str
    part: str = ""
    used: float | None = None
    left: str = ""
    size: str = ""
    state: str = ""
    severity: Severity | None = None
    above: float | None = None

    @property
    def is_worth_a_line(self) -> bool:
        """Whether its use or an unusual state is known."""
        return self.used is not None or bool(self.state)


def stores(window: Window, findings: Iterable[Finding]) -> list[Store]:
    """Return the stores of a node, those that a finding accuses first, then the fullest."""
    accusing: dict[str, list[Finding]] = {}
    for each in findings:
        accusing.setdefault(each.subject, []).append(each)
    found = [_judged(each, accusing.get(each.name, ())) for each in _all(window)]
    return sorted(found, key=_urgency)


def _urgency(store: Store) -> tuple[int, float, str, str]:
    rank = -1 if store.severity is None else store.severity.rank
    return -rank, -(store.used or 0.0), store.name, store.part


def _judged(store: Store, findings: Iterable[Finding]) -> Store:
    """Return a store with the severity of the worst finding on this part of it."""
    for finding in sorted(findings, key=lambda each: -each.severity.rank):
        limits = {_PARTS[value.name]: value.above for value in finding.values
                  if value.name in _PARTS and value.above is not None}  # fmt: skip
        if store.part in limits or (not limits and not store.part):
            return replace(store, severity=finding.severity, above=limits.get(store.part))
    return store


def _all(window: Window) -> Iterator[Store]:
    for row in latest_rows(window, FilesystemSpace)[0].values():
        if row.size or row.share is not None:
            yield from _filesystem(row)
    for pool in latest_rows(window, ThinPool)[0].values():
        left = None if pool.size is None or pool.used is None else pool.size - pool.used
        full = 1.0 if pool.filled is None and pool.state == "out of data space" else pool.filled
        yield Store(pool.pool, "thin pool", "", full, _bytes(left), _bytes(pool.size), _state(pool.state))
        if (pool.metadata_filled or 0.0) >= _WORTH:
            yield Store(pool.pool, "thin pool", "metadata", pool.metadata_filled)
    for shot in latest_rows(window, VolumeSnapshot)[0].values():
        left = None if shot.size is None or shot.used is None else shot.size - shot.used
        yield Store(shot.snapshot, "snapshot", "", shot.filled, _bytes(left), _bytes(shot.size), _state(shot.state))
    for zfs in latest_rows(window, Pool)[0].values():
        yield Store(zfs.pool, "ZFS pool", "", zfs.used, _bytes(zfs.free), _bytes(zfs.size), _state(zfs.state))
    told = {pool.pool for pool in latest_rows(window, ThinPool)[0].values()}
    told |= {shot.snapshot for shot in latest_rows(window, VolumeSnapshot)[0].values()}
    for volume in latest_rows(window, LogicalVolume)[0].values():
        if volume.volume not in told and "[" not in volume.volume:
            state = _state(volume.health or "")
            yield Store(
                volume.volume, volume.type or "volume", used=volume.filled, size=_bytes(volume.size), state=state
            )


def _filesystem(row: FilesystemSpace) -> Iterator[Store]:
    state = _state(row.state or "")
    yield Store(row.point, row.type or "files", "", row.share, _bytes(row.available), _bytes(row.size), state)
    if (row.inodes_share or 0.0) >= _WORTH and row.inodes is not None and row.inodes_used is not None:
        left = number(row.inodes - row.inodes_used, 0)
        yield Store(row.point, row.type or "files", "inodes", row.inodes_share, left, number(row.inodes, 0))


def _state(state: str) -> str:
    return "" if state in _CALM else state


def _bytes(size: int | None) -> str:
    return "" if size is None else quantity(size, "bytes")
