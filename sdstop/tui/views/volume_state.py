"""Rows of LVM RAID volumes, thin pools, snapshots and file systems: their health and how full they are."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from sdstop.collectors.block.mount_readings import FilesystemSpace
from sdstop.collectors.devicemapper.raid_volumes import STRIPED
from sdstop.collectors.devicemapper.volume_readings import MappedRaidState, ThinPool, VolumeSnapshot
from sdstop.core.finding import Severity
from sdstop.core.format import bytes_, natural, percent
from sdstop.core.model import Reading
from sdstop.readings.rebuild import Rebuild
from sdstop.tui.facts import FactLink, FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import severity_name
from sdstop.tui.views.rebuilds import rebuild_row
from sdstop.tui.widgets.palette import FAINT, PLAIN, STRONG, text
from sdstop.tui.widgets.pane import Row, words

_MOST = 12
"""File systems shown without a finding, the fullest first."""


def volume_rows(scene: Scene, rebuilds: Sequence[Rebuild]) -> Iterator[Row]:
    """Yield a heading and a row for each volume with a state; `rebuilds` are those of these volumes."""
    found = [*_raids(scene, rebuilds), *_pools(scene), *_snapshots(scene)]
    if found:
        yield words(text(("LVM volumes with a state", STRONG), (f"  {len(found)}", FAINT)))
        yield from found
    mounts = list(_filesystems(scene))
    if mounts:
        yield words(text(("File systems", STRONG), (f"  {len(mounts)}", FAINT)))
        yield from mounts


def _row(scene: Scene, name: str, kind: str, state: str, facts: str, part: tuple[type[Reading], Hashable]) -> Row:
    severity = scene.worst().get(name)
    bad = scene.palette.severity(severity) if severity is not None else PLAIN
    line = (
        *text(" "),
        *severity_name(name, severity, scene.palette),
        *text((f"  {scene.palette.word(kind, 16)}  ", FAINT), (scene.palette.word(state, 30), bad), f"  {facts}"),
    )
    return words(line, ("volume", name), FactLink(FactSubject(name, (part,))), f"{name} {kind} {state} {facts}")


def _raids(scene: Scene, rebuilds: Sequence[Rebuild]) -> Iterator[Row]:
    rows = scene.rows(MappedRaidState)[0].values()
    for row in sorted(rows, key=lambda row: natural(row.volume)):
        severity = scene.worst().get(row.volume)
        if row.level == STRIPED and severity is None:
            continue  # a node has hundreds of them, and they have no state but errors
        count = f"{row.failed} failed, {row.stale} not in sync" if row.failed or row.stale else f"{row.members} in sync"
        if row.health is None:
            count = "line not understood"
        yield _row(scene, row.volume, row.level or "raid", row.health or "?", count, (MappedRaidState, row.mapping))
        for rebuild in rebuilds:
            if rebuild.array == row.volume:
                yield rebuild_row(rebuild, scene, named=False)


def _pools(scene: Scene) -> Iterator[Row]:
    for row in sorted(scene.rows(ThinPool)[0].values(), key=lambda row: natural(row.pool)):
        facts = f"{bytes_(row.used)} of {bytes_(row.size)} in use ({percent(row.filled)}%)"
        if row.metadata_filled is not None:
            facts += f"  metadata {percent(row.metadata_filled)}%"
        yield _row(scene, row.pool, row.kind, row.state, facts if row.size else "", (ThinPool, row.pool))


def _snapshots(scene: Scene) -> Iterator[Row]:
    for row in sorted(scene.rows(VolumeSnapshot)[0].values(), key=lambda row: natural(row.snapshot)):
        facts = f"{bytes_(row.used)} of {bytes_(row.size)} for changes in use ({percent(row.filled)}%)"
        shown = facts if row.size else ""
        yield _row(scene, row.snapshot, "snapshot", row.state, shown, (VolumeSnapshot, row.snapshot))


def _filesystems(scene: Scene) -> Iterator[Row]:
    worst = scene.worst()
    rows = [row for row in scene.rows(FilesystemSpace)[0].values() if row.device or row.dataset]
    ranked = sorted(rows, key=lambda row: (_rank(worst.get(row.point)), -(row.share or 0.0), row.point))
    for place, row in enumerate(ranked):
        if place >= _MOST and row.point not in worst:
            continue
        facts = f"{bytes_(row.used)} of {bytes_(row.size)} ({percent(row.share)}%), {bytes_(row.available)} available"
        if row.inodes_share is not None:
            facts += f"  inodes {percent(row.inodes_share)}%"
        state = "hangs" if row.hung is not None else row.state or ""
        shown = facts if row.share is not None else row.unasked or "space unknown"
        yield _row(
            scene, row.point, row.type or "?", state, scene.palette.word(shown, 90), (FilesystemSpace, row.point)
        )


def _rank(severity: Severity | None) -> int:
    return 0 if severity is None else -1 - severity.rank
