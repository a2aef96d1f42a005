"""Plan: how the lines of the first screen are shared out among its panes, and what gives way first."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sdstop.tui.pictures import Picture
from sdstop.tui.views.path_strip import LINES as STRIP

WIDE, VERY_WIDE = 110, 190
"""Minimum widths for panes side by side, and for panes with more figures."""
TALL = 16
"""Minimum lines left for the path on a narrow screen."""
_HEALTH = 13
"""Minimum lines of the view for a line of health on a narrow screen."""
_TABLE = 3
"""Minimum lines of a table."""


class Plan(Struct, frozen=True):
    """Lines of each pane, 0 if it is not shown; `actions` are the steps shown of a finding."""

    health: int
    cause: int
    actions: int
    picture: int
    second: int
    strip: int
    devices: int
    who: int


class Needs(Struct, frozen=True):
    """Lines that the panes of one moment can use, without their rules; `health`: whether anything is known of it."""

    body: Sequence[int]
    """Lines of the tallest finding with one step, two, and so on up to `_STEPS`."""
    others: int
    measured: int
    picture: Picture | None
    second: Picture | None
    strip: bool
    devices: int
    who: int
    health: bool = True
    unchecked: bool = False
    """Whether the last of the others is the line of unchecked rules, which the header counts, too."""
    filling: bool = False
    """Whether the second picture only fills lines, so that further steps of the finding go first."""


class _LineBudget:
    """Lines that are left to share out."""

    def __init__(self, lines: int) -> None:
        self.left = max(lines, 0)

    def take(self, lines: int, least: int = 0) -> int:
        """Take lines, at most the rest; none if these are fewer than `least`."""
        taken = max(min(lines, self.left), 0)
        if taken < least:
            return 0
        self.left -= taken
        return taken

    def grow(self, picture: Picture | None, lines: int, kept: int = 0, *, whole: bool = False) -> int:
        """Return the lines of a picture that has `lines`, with those of the rest beyond `kept` that it can use."""
        if picture is None or not lines:
            return lines
        most = picture.whole or picture.steps[-1] if whole else picture.steps[-1]
        fitting = picture.fit(min(lines + max(self.left - kept, 0), max(most, lines)))
        return lines + self.take(fitting - lines)


def arrange(width: int, height: int, needs: Needs) -> Plan:
    """Share out the lines of the view.

    What gives way first: who, devices, path, numbers, other findings, further steps, and the picture only then. Title,
    why, hurt and the first step never do.
    """
    wide = width >= WIDE
    health = 1 if needs.health and not wide and height >= _HEALTH else 0
    room = _LineBudget(height - health - wide - needs.body[0])
    picture = -1
    if needs.picture is not None:
        picture = room.take(needs.picture.steps[0] + 1, min(needs.picture.steps[0], 2) + 1) - 1
    others = min(needs.others - needs.unchecked, 1, room.left)
    picture = room.grow(needs.picture, max(picture, 0), others, whole=True)
    actions, steps = _steps(width, needs, room, others)
    others = room.take(min(needs.others, 7 if width >= VERY_WIDE else 4 if wide else 3))
    cause = needs.body[0] + steps + others
    if wide:
        cause += room.take(min(needs.measured - cause, room.left // 4, 4))
    strip = room.take(STRIP + 1, STRIP + 1) if needs.strip and (wide or room.left >= TALL) else 0
    devices = room.take(needs.devices + 2, _TABLE) if needs.devices else 0
    beside = wide and devices
    who = 0 if not needs.who else devices if beside else room.take(needs.who + 2, 3)
    picture = room.grow(needs.picture, picture)
    if needs.filling and not devices:
        grown, actions = _further(needs, room, actions)
        cause += grown
    second = 0
    if needs.second is not None and room.left > needs.second.steps[0]:
        second = room.take(needs.second.fit(room.left - 1) + 1)
    if not devices and not second:
        cause += room.take(needs.others - others)
    if not wide or not devices:  # lines that would stay empty show further steps
        grown, actions = _further(needs, room, actions)
        cause += grown
    if devices:
        devices += room.take(room.left)
        who = devices if beside and who else who
    elif second:
        second += room.take(room.left)
    elif picture:
        picture += room.take(room.left)
    return Plan(
        health, cause + wide + room.left, actions, picture + 1 if picture else 0, second, strip, devices, who
    )  # fmt: skip


def _steps(width: int, needs: Needs, room: _LineBudget, kept: int) -> tuple[int, int]:
    """Return how many steps of a finding are shown, and the lines that those after the first take."""
    actions, taken = 1, 0
    for more in range(2, 2 + (2 if width >= VERY_WIDE else 1 if width >= WIDE else 0)):
        grown = needs.body[more - 1] - needs.body[actions - 1]
        if grown <= room.left - kept:
            taken += room.take(grown)
            actions = more
    return actions, taken


def _further(needs: Needs, room: _LineBudget, actions: int) -> tuple[int, int]:
    """Return the lines that further steps take of the rest, and how many steps are shown then."""
    taken = 0
    for more in range(actions + 1, len(needs.body) + 1):
        grown = needs.body[more - 1] - needs.body[actions - 1]
        if 0 < grown <= room.left:
            taken += room.take(grown)
            actions = more
    return taken, actions
