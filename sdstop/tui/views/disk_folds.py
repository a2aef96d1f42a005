"""Alike members in one row of the view of disks, where not all rows fit; those that differ keep rows of their own."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict, replace

from sdstop.analysis.disks.drives import DriveState
from sdstop.analysis.disks.fold_queues import queue_courses
from sdstop.analysis.disks.likeness import DeviceFold, device_folds
from sdstop.analysis.disks.recent_activity import PAST, moments
from sdstop.core.model import Rows
from sdstop.tui.scene import Scene
from sdstop.tui.views.devices import DeviceRow, row
from sdstop.tui.views.view import ViewPlace
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.strip import cells

FEWEST = 4
"""Minimum members of a fold."""


class FoldedRow(DeviceRow, frozen=True):
    """Members that are alike, with the medians of their figures; Enter shows them one by one."""

    fold: DeviceFold | None = None

    @property
    def opens(self) -> ViewPlace:
        """Target that Enter opens: the first member, which unfolds its group."""
        assert self.fold is not None  # noqa: S101  # the default only follows those of the base
        return ViewPlace("2", (self.fold.group, self.fold.devices[0].name))


def folded(rows: Sequence[Row], scene: Scene, unfolded: set[str]) -> list[Row]:
    """Return the rows with alike members of each group in one, except in the groups that are `unfolded`.

    A group whose members differ as a whole, in a convoy, is not folded: which member is busy changes.
    """
    folds = [
        fold for fold in device_folds(scene.window, scene.in_force)
        if len(fold.devices) >= FEWEST and fold.group and fold.group not in unfolded and fold.severity is None
    ]  # fmt: skip
    by_member = {(fold.group, drive.name): fold for fold in folds for drive in fold.devices}
    shown: list[Row] = []
    done: set[str] = set()
    for each in rows:
        item = each.item
        group = each.key[0] if isinstance(each.key, tuple) else ""
        fold = by_member.get((group, item.drive.name)) if type(item) is DeviceRow else None
        if fold is None or (item.group is not None and item.group.convoy is not None):
            shown.append(each)
        elif fold.label not in done:
            done.add(fold.label)
            shown.append(_folded(fold, item, scene))
    return shown


def _folded(fold: DeviceFold, first: DeviceRow, scene: Scene) -> Row:
    figures = {name: value for name, value in asdict(fold.figures).items() if value is not None}
    known = first.drive.activity
    what = "alike" if fold.label.endswith("alike") else "others"
    name = f"+ {len(fold.devices)} {what}"
    medians: Rows = {}
    if known is not None:
        medians = {name: replace(known, wait=None, size=None, in_flight=None, **figures)}
    drive = DriveState(name, "fold", medians, stale=fold.stale)
    course = _course(fold, scene)
    item = FoldedRow(drive, scene, first.group, None, first.top, inset=first.inset, fold=fold, course=course)
    return row((fold.group, f"+{fold.label}"), item)


def _course(fold: DeviceFold, scene: Scene) -> tuple[float | None, ...]:
    """Return the queue of the fold, one value per second."""
    runs, values = moments(scene.window), queue_courses((fold,), scene.window)[0]
    if not runs:
        return ()
    at = cells([(m.started, m.seconds or 0.0, float(i)) for i, m in enumerate(runs)], runs[-1].started, PAST)
    return tuple(None if index is None else values[int(index)] for index in at)
