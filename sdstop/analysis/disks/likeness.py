"""Devices folded by likeness: arrays and pools with their members in few lines, and those that differ by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.analysis.disks.array_states import array_states
from sdstop.analysis.disks.drives import DriveState, drives, figures_by_drive, shown
from sdstop.analysis.space.pool_tree import pool_trees
from sdstop.core.averages import median
from sdstop.core.finding import Finding, Severity, worst_of
from sdstop.core.format import natural
from sdstop.core.history import Window
from sdstop.readings.disk import DiskActivity

ALIKE = 1.2
"""Multiple of the median up to which the figures of devices count as alike."""
_SLACK = 0.05
"""Difference of busy time that counts as equal, because idle disks vary."""
_FAR, _FAR_BUSY = 2.0, 0.2
"""Multiple of the median busy time, and difference to it, from which a device has a line of its own."""
_MOST = 6
"""Maximum lines for devices of one group that differ."""
_UNFOLDED = 24
"""Maximum number of devices that are also listed one by one where there is room."""
_NAMED = 3
"""Maximum number of names in one line."""
_FIELDS = (
    "reads_per_second", "writes_per_second", "read_bytes_per_second", "write_bytes_per_second", "read_wait",
    "write_wait", "busy", "queue",
)  # fmt: skip


class DeviceFigures(Struct, frozen=True):
    """Figures of one device, or the medians of several; None if unknown.

    Requests and bytes per second, waits in seconds, `busy` as a share of time, `queue` in requests outstanding.
    """

    reads_per_second: float | None = None
    writes_per_second: float | None = None
    read_bytes_per_second: float | None = None
    write_bytes_per_second: float | None = None
    read_wait: float | None = None
    write_wait: float | None = None
    busy: float | None = None
    queue: float | None = None


class DeviceFold(Struct, frozen=True):
    """Devices in one line: an array or a single device, or several of a group.

    `label` is their name or kind, `group` the array or pool that contains them, "" for none. `inner` is set for
    members below a line of their array. `flag` is a word for their fault, "" for none.
    """

    label: str
    devices: tuple[DriveState, ...]
    figures: DeviceFigures
    severity: Severity | None = None
    group: str = ""
    inner: bool = False
    flag: str = ""
    stale: bool = False


def device_folds(window: Window, findings: Sequence[Finding]) -> list[DeviceFold]:
    """Return the devices of a node in few lines: accused volumes and caches first, in an order without the load."""
    return window.once("device folds", lambda: sorted(_folds(window, findings), key=lambda fold: not _leads(fold)))


def _leads(fold: DeviceFold) -> bool:
    first = fold.devices[0]
    return fold.severity is not None and not (fold.inner or fold.group or first.whole or first.kind == "md")


def unfolded(folds: Sequence[DeviceFold], room: int) -> list[DeviceFold]:
    """Return the folds, each followed by its devices as long as all lines are at most `room`.

    Where there is room for fewer folds, the accused ones are among the first `room`.
    """
    if len(folds) > room:
        shown = sorted(range(len(folds)), key=lambda at: folds[at].severity is None)[: max(room, 0)]
        return [folds[at] for at in (*sorted(shown), *(at for at in range(len(folds)) if at not in shown))]
    found: list[DeviceFold] = []
    spare = room - len(folds)
    for fold in folds:
        found.append(fold)
        if 1 < len(fold.devices) <= min(spare, _UNFOLDED):
            spare -= len(fold.devices)
            found += [replace(_single(drive), label=drive.name, group=fold.group, inner=True) for drive in fold.devices]
    return found


def _folds(window: Window, findings: Sequence[Finding]) -> Iterator[DeviceFold]:
    known = drives(window, findings)
    grouped: set[str] = set()
    for group in array_states(window, findings):
        name = group.array.array
        grouped.add(name)
        members = [drive for _, drive in group.members]
        grouped.update(drive.name for drive in members)
        if group.drive is not None:
            yield _single(group.drive, group.array.level or "inactive", worst_of((group.severity, group.convoy)))
        yield from _folded(members, name, inner=group.drive is not None)
    for tree in pool_trees(window, findings):
        lines = [line for line in tree.lines if line.vdev.kind != "draid-spare"]
        leaves = {line.drive.name: line.drive for line in lines if line.drive is not None}
        members = [drive for name, drive in leaves.items() if name not in grouped]
        grouped.update(leaves)
        yield from _folded(members, tree.name, inner=False)
    others = [drive for drive in known.values() if drive.name not in grouped and shown(drive)]
    yield from _others([drive for drive in others if drive.whole])
    yield from _stacked([drive for drive in others if not drive.whole])


def _single(drive: DriveState, what: str = "", severity: Severity | None = None) -> DeviceFold:
    name = drive.volume or drive.name
    return DeviceFold(
        f"{name} {what}" if what else name, (drive,), figures_of(drive), severity or drive.severity,
        flag=drive.flag, stale=drive.stale,
    )  # fmt: skip


def figures(row: DiskActivity | None) -> DeviceFigures:
    """Return the figures of a device."""
    return DeviceFigures() if row is None else DeviceFigures(*(getattr(row, field) for field in _FIELDS))


def figures_of(drive: DriveState) -> DeviceFigures:
    """Return the figures of a device without making its row."""
    return DeviceFigures(*map(drive.figure, _FIELDS))


def medians(members: Sequence[DriveState]) -> DeviceFigures:
    """Return the median of each figure over the devices that have it."""
    found = []
    for column in figures_by_drive(members, *_FIELDS):
        values = [value for value in column if value is not None]
        found.append(median(values) if values else None)
    return DeviceFigures(*found)


def _folded(members: Sequence[DriveState], group: str, *, inner: bool) -> Iterator[DeviceFold]:
    """Yield the members that differ, then the others in one line."""
    odd, rest = _apart(members)
    for each in odd:
        yield _together(each, group, inner=inner)
    if not rest:
        return
    if len(rest) == 1:
        yield DeviceFold(
            rest[0].name, (rest[0],), figures_of(rest[0]), rest[0].severity, group, inner, rest[0].flag,
            rest[0].stale,
        )  # fmt: skip
        return
    alike = _are_alike(rest)
    what = "disks" if alike or not odd else "others"
    known = any(drive.is_counted for drive in rest)
    said = f"{len(rest)} {what}" + ("" if not known else " alike" if alike else ", median")
    yield DeviceFold(said, tuple(rest), medians(rest), None, group, inner, stale=any(d.stale for d in rest))


def _together(each: Sequence[DriveState], group: str, *, inner: bool) -> DeviceFold:
    names = [drive.name for drive in each]
    label = " ".join(names) if len(names) <= _NAMED else f"{names[0]}-{names[-1]} {len(names)}"
    flags = dict.fromkeys(drive.flag for drive in each if drive.flag)
    return DeviceFold(
        label, tuple(each), figures_of(each[0]) if len(each) == 1 else medians(each),
        worst_of(drive.severity for drive in each), group, inner, next(iter(flags), ""), any(d.stale for d in each),
    )  # fmt: skip


def _apart(members: Sequence[DriveState]) -> tuple[list[list[DriveState]], list[DriveState]]:
    """Return the members that differ, those of one severity and about the same load together, and the others."""
    (shares,) = figures_by_drive(members, "busy")
    busy = [share for share in shares if share is not None]
    middle = median(busy) if busy else 0.0
    accused = [drive for drive in members if drive.severity is not None]
    differ = [
        drive for drive, share in zip(members, shares, strict=True)
        if drive.severity is None and _is_far(share or 0.0, middle)
    ]  # fmt: skip
    if len(accused) * 2 > len(members) > 2:  # facts that most share are not listed, faults are
        accused = [drive for drive in accused if drive.severity is not Severity.INFO]
    if len(differ) * 2 > len(members):
        differ = []
    runs: list[list[DriveState]] = []
    for drive in (*accused, *sorted(differ, key=_busy, reverse=True)):
        last = runs[-1] if runs else None
        same = last is not None and last[-1].severity is drive.severity and last[-1].flag == drive.flag
        if last is not None and same and (drive.severity is not None or _near(_busy(last[0]), _busy(drive))):
            last.append(drive)
        else:
            runs.append([drive])
    kept = [sorted(run, key=lambda d: natural(d.name)) for run in runs[:_MOST]]
    named = {drive.name for run in kept for drive in run}
    return kept, [drive for drive in members if drive.name not in named]


def _busy(drive: DriveState) -> float:
    return drive.figure("busy") or 0.0


def _is_far(busy: float, middle: float) -> bool:
    return abs(busy - middle) >= _FAR_BUSY and max(busy, middle) >= _FAR * min(busy, middle)


def _near(one: float, other: float) -> bool:
    low, high = min(one, other), max(one, other)
    return high - low <= _SLACK or high <= ALIKE * low


def _are_alike(members: Sequence[DriveState]) -> bool:
    """Return whether busy time and requests of all members are within ALIKE of their median."""
    busy, rates = (
        [figure for figure in figures if figure is not None]
        for figures in figures_by_drive(members, "busy", "completed_per_second")
    )
    return _within(busy, _SLACK) and _within(rates, 1.0)


def _within(values: Sequence[float], slack: float) -> bool:
    if not values:
        return True
    middle = median(values)
    return max(values) <= max(ALIKE * middle, middle + slack) and min(values) >= min(middle / ALIKE, middle - slack)


def _others(disks: Sequence[DriveState]) -> Iterator[DeviceFold]:
    """Yield disks in no array: alone while they are few, otherwise folded by medium."""
    media: dict[bool | None, list[DriveState]] = {}
    for drive in sorted(disks, key=lambda d: natural(d.name)):
        rotates = drive.device.rotational if drive.device is not None else None
        media.setdefault(None if rotates is None else bool(rotates), []).append(drive)
    for members in media.values():
        if len(members) <= _NAMED:
            yield from (_single(drive) for drive in members)
        else:
            yield from _folded(members, "", inner=False)


def _stacked(devices: Sequence[DriveState]) -> Iterator[DeviceFold]:
    """Yield volumes and other devices built on disks: those in use or accused, folded if they are many."""
    figures = zip(*figures_by_drive(devices, "completed_per_second", "queue"), strict=True)
    used = [
        drive for drive, (rate, queue) in zip(devices, figures, strict=True)
        if drive.severity is not None or (rate or 0.0) > 0 or queue
    ]  # fmt: skip
    used.sort(key=lambda d: natural(d.name))
    if len(used) <= _MOST:
        yield from (_single(drive) for drive in used)
        return
    accused = [drive for drive in used if drive.severity is not None][:_MOST]
    yield from (_single(drive) for drive in accused)
    rest = [drive for drive in used if drive not in accused]
    yield DeviceFold(f"{len(rest)} volumes, median", tuple(rest), medians(rest), stale=any(d.stale for d in rest))
