"""Kernel log: its kept messages in the order of time, like ones in one line, those that a finding is about accused."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len

from sdstop.collectors.kernel.kinds import KINDS, LogEffect
from sdstop.collectors.kernel.names import disk_of
from sdstop.collectors.kernel.readings import KernelEvent, KernelLog
from sdstop.core.finding import Finding
from sdstop.core.format import clock, duration, plural
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.palette import FAINT, PLAIN, Line, text
from sdstop.tui.widgets.pane import Row, words
from sdstop.tui.widgets.roles import role

_TIME, _DEVICE = 8, 14
"""Cells of the time, and maximum cells of the device."""
_SOON = 2.0
"""Seconds after which a message of the same kind has a line of its own."""
_DAY = 86400.0
"""Seconds."""
_RANKS = {effect: rank for rank, effect in enumerate(LogEffect)}


class LogMessage(Struct, frozen=True):
    """Messages of one kind about one device, each soon after the last; `line` is the first one, `ago` its age."""

    device: str
    kind: str
    count: int
    line: str
    at: float | None
    ago: float | None

    @property
    def effect(self) -> LogEffect:
        """Effect of the events."""
        return KINDS[self.kind].effect

    def is_about(self, names: Collection[str]) -> bool:
        """Return whether the messages are about a device of these names, or of a kind that has one of them."""
        return not {self.device, disk_of(self.device), self.kind}.isdisjoint(names)


def log_messages(scene: Scene) -> list[LogMessage]:
    """Return the kept messages, the oldest first."""

    def made() -> list[LogMessage]:
        found: list[LogMessage] = []
        places: dict[tuple[str, str], tuple[int, float]] = {}
        for row in sorted(scene.window.rows(KernelEvent).values(), key=lambda row: -(row.ago or 0.0)):
            ago, key = row.ago or 0.0, (row.device, row.kind)
            place, before = places.get(key, (len(found), ago))
            if place == len(found) or before - ago > _SOON:
                place = len(found)
                found.append(LogMessage(row.device, row.kind, row.count, row.line, row.at, row.ago))
            else:
                found[place] = replace(found[place], count=found[place].count + row.count)
            places[key] = place, ago
        return found

    return scene.window.of_run(KernelEvent, "log messages", made)


def log_rows(scene: Scene, width: int) -> list[Row]:
    """Return a row for each message, the newest first."""
    known = [(each, False) for each in reversed(log_messages(scene))]
    lines = message_lines(known, scene, width)
    return [
        words(line, ("log", at), None, f"{each.device} {each.line}")
        for at, ((each, _), line) in enumerate(zip(known, lines, strict=True))
    ]


def log_note(scene: Scene) -> str:
    """Return how much of the log is known."""
    log = next(iter(scene.rows(KernelLog)[0].values()), None)
    if log is None:
        return scene.unseen(("kernel-log",)) or "not read"
    facts = [f"{duration(log.seconds)} {'since boot' if log.whole else 'kept'}"] if log.seconds is not None else []
    lost = log.suppressed + log.lost
    return ", ".join([*facts, *([f"{plural(lost, 'message')} lost"] if lost else [])])


def told_messages(finding: Finding, scene: Scene, height: int) -> list[tuple[LogMessage, bool]]:
    """Return the messages for `height` lines, each with whether the finding is about it, in the order of time.

    Those that the finding is about are preferred, the worst and newest first; then those around them.
    """
    known = log_messages(scene)
    names = set(finding.subjects)
    told = [each.is_about(names) and each.effect is not LogEffect.CLEARED for each in known]
    places = [at for at, accused in enumerate(told) if accused]

    def rank(at: int) -> tuple[int, ...]:
        if told[at]:
            return (0, _RANKS[known[at].effect], -at)
        return (1, min((abs(at - place) for place in places), default=0), -at)

    chosen = sorted(range(len(known)), key=rank)[:height]
    return [(known[at], told[at]) for at in sorted(chosen)]


def message_lines(
    known: Sequence[tuple[LogMessage, bool]], scene: Scene, width: int, color: str = "text"
) -> list[Line]:  # fmt: skip
    """Return a line for each message: time, device if there are several, number, and text.

    `color` is the role of those that are accused.
    """
    palette = scene.palette
    names = {palette.word(each.device, 60) for each, _ in known}
    device = min(max(map(cell_len, names), default=0), _DEVICE) + 1 if len(names) > 1 else 0
    counts = [f"{palette.times}{each.count}" if each.count > 1 else "" for each, _ in known]
    count = max(map(len, counts), default=0)
    room = max(width - _TIME - device - count - 2 - (count > 0), 8)
    lines = []
    for (each, accused), number in zip(known, counts, strict=True):
        dull = each.effect in {LogEffect.NOTICE, LogEffect.CLEARED}
        style = role(color) if accused else FAINT if dull else PLAIN
        name = palette.fit(palette.word(each.device, 60), device - 1) + " " if device else ""
        many = f"{number:>{count}} " if count else ""
        line = palette.word(each.line, 300)
        said = palette.fit(line, min(cell_len(line), room))
        lines.append(text((f" {_when(each):<{_TIME}} ", FAINT), (name, style), (many, FAINT), (said, style)))
    return lines


def _when(message: LogMessage) -> str:
    if message.at is not None and (message.ago or 0.0) < _DAY:
        return clock(message.at)
    return "?" if message.ago is None else f"{duration(message.ago)} ago"[:_TIME]


def accused_lines(finding: Finding, scene: Scene, width: int, height: int) -> list[Line]:
    """Return the lines of the messages around a finding, its own in the color of its severity."""
    color = ROLES.get(finding.severity, "text")
    return message_lines(told_messages(finding, scene, height), scene, width, color)
