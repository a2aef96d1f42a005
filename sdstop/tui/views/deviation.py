"""Members of a group against their median: one block each in slot order, plain within 5% of it."""

from __future__ import annotations

import os.path
from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from sdstop.analysis.disks.drives import DriveState
from sdstop.analysis.disks.likeness import DeviceFold, device_folds
from sdstop.core.averages import median
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.palette import FAINT, MARKS, STRONG, Line, Palette
from sdstop.tui.widgets.roles import role

PLAIN_WITHIN = 0.05
"""Share by which a number differs from usual without a mark."""
_STEPS = ((0.5, role("selfg", "h2", bold=True)), (0.2, role("selfg", "h1", bold=True)))
"""Deviations from which a block has a warmer step of the heat ramp; its text stays readable on these."""
_SLIGHT = role("strong", "track", bold=True)
_BLOCK = role("text", "track")
FEWEST = 8
"""Minimum members of a picture."""


def compared(scene: Scene, group: str) -> list[DriveState]:
    """Return the members of a group, or of the largest one for ""; nothing if they are few."""
    folds: dict[str, list[DeviceFold]] = {}
    for fold in device_folds(scene.window, scene.in_force):
        if fold.group:
            folds.setdefault(fold.group, []).append(fold)
    members = {name: [drive for fold in each for drive in fold.devices] for name, each in folds.items()}
    chosen = members.get(group) or max(members.values(), key=len, default=[])
    slots = {drive.name: at for at, drive in enumerate(scene.drives().values())}
    return sorted(chosen, key=lambda drive: slots.get(drive.name, len(slots))) if len(chosen) >= FEWEST else []


def moved_bytes(drive: DriveState) -> float | None:
    """Return bytes read and written per second, None without data."""
    row = drive.activity
    return row.read_bytes_per_second + row.write_bytes_per_second if row is not None else None


def deviations(members: Sequence[DriveState]) -> list[float | None]:
    """Return the relative difference of each member's throughput to the median; None if either is unknown or 0."""
    known = [value for drive in members if (value := moved_bytes(drive)) is not None]
    middle = median(known) if known else 0.0
    return [None if (value := moved_bytes(drive)) is None or not middle else value / middle - 1 for drive in members]


def block_lines(members: Sequence[DriveState], palette: Palette, width: int, room: int) -> list[Line]:
    """Return rows of blocks, each followed by the deviations if there is room for both; nothing if not all fit.

    Where full names do not fit, blocks leave out the common prefix.
    """
    changes = deviations(members)
    names = [palette.word(drive.name, 12) for drive in members]
    shared = len(os.path.commonprefix(names)) if len(names) > 1 else 0  # noqa: RUF071  # of names, not of paths
    short = [name[shared:] or name for name in names]
    for shown, least in ((names, 5), (short, 2)):
        size = max([*map(cell_len, shown), least]) + 2
        across = max((width - 1) // (size + 1), 1)
        rows = -(-len(members) // across)
        if rows <= room:
            break
    else:
        return []
    told = rows * 2 <= room and size >= _TOLD
    lines: list[Line] = []
    for first in range(0, len(members), across):
        at = range(first, min(first + across, len(members)))
        lines.append(_spaced([(shown[i], _style(members[i], changes[i], palette)) for i in at], size, palette))
        if told:
            lines.append(_spaced([_said(members[i], changes[i], palette, size) for i in at], size, palette))
    return lines


_TOLD = 7
"""Minimum cells of a block for the deviation below it."""


def _spaced(parts: Sequence[tuple[str, Style]], size: int, palette: Palette) -> Line:
    """Return words of `size` cells after a blank each, with one between them that a longer word takes, too."""
    line: list[Segment] = [Segment(" ")]
    for said, style in parts:
        if cell_len(said) > size:
            line.append(Segment(palette.fit(said, size + 1), style))
        else:
            line += [Segment(palette.fit(said if cell_len(said) == size else f" {said}", size), style), Segment(" ")]
    return tuple(line)


def _style(drive: DriveState, change: float | None, palette: Palette) -> Style:
    if drive.severity in MARKS:
        return palette.chip(drive.severity)
    if change is None or abs(change) <= PLAIN_WITHIN:
        return _BLOCK
    return next((style for least, style in _STEPS if abs(change) >= least), _SLIGHT)


def _said(drive: DriveState, change: float | None, palette: Palette, size: int) -> tuple[str, Style]:
    if drive.severity in MARKS:
        said = (drive.flag or "fault").rstrip("!")
        marked = f"{MARKS[drive.severity]}{said}"
        return (marked if cell_len(marked) <= size + 1 else said), palette.severity(drive.severity)
    if change is None:
        return "?", FAINT
    near = abs(change) <= PLAIN_WITHIN
    if abs(change) < 0.005:
        return "0%", FAINT
    return f"{change:+.0%}" if abs(change) < 9.995 else f"x{change + 1:.0f}", FAINT if near else STRONG
