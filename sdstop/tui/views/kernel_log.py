"""Kernel log: its kept messages in the order of time, like ones in one line, those that a finding is about accused."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

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

_TIME, _DEVICE, _COUNT = 8, 14, 5
_DAY = 86400.0
_RANKS = {effect: rank for rank, effect in enumerate(LogEffect)}


class LogMessage(Struct, frozen=True):
    """Messages of one kind about one device that follow each other; `line` is the last, `ago` its age in seconds."""

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
        rows = sorted(scene.window.rows(KernelEvent).values(), key=lambda row: -(row.ago or 0.0))
        for row in rows:
            last = found[-1] if found else None
            if last is not None and (last.device, last.kind) == (row.device, row.kind):
                found[-1] = replace(last, count=last.count + row.count, line=row.line, at=row.at, ago=row.ago)
            else:
                found.append(LogMessage(row.device, row.kind, row.count, row.line, row.at, row.ago))
        return found

    return scene.window.of_run(KernelEvent, "log messages", made)


def log_rows(scene: Scene, width: int) -> list[Row]:
    """Return a row for each message, the newest first."""
    return [words(message_text(each, scene, width)) for each in reversed(log_messages(scene))]


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


def message_text(message: LogMessage, scene: Scene, width: int, color: str = "") -> Line:
    """Return a message's line: time, device, number and text; `color` is the role of an accused one."""
    palette = scene.palette
    if message.at is None or (message.ago or 0.0) >= _DAY:
        when = f"{duration(message.ago)} ago"[: _TIME + 2] if message.ago is not None else "?"
    else:
        when = clock(message.at)
    device = palette.fit(palette.word(message.device, 60), min(_DEVICE, max(width // 6, 6)))
    count = f"{palette.times}{message.count}" if message.count > 1 else ""
    dull = message.effect in {LogEffect.NOTICE, LogEffect.CLEARED}
    style = role(color) if color else FAINT if dull else PLAIN
    head = text((f" {when:<{_TIME}} ", FAINT), (f"{device} ", style), (f"{count:>{_COUNT}} ", FAINT))
    room = width - 4 - _TIME - len(device) - _COUNT - 1
    said = palette.word(message.line, 300)
    return (*head, *text((palette.fit(said, min(len(said), max(room, 8))), style)))


def accused_lines(finding: Finding, scene: Scene, width: int, height: int) -> list[Line]:
    """Return the lines of the messages around a finding, its own in the color of its severity."""
    color = ROLES.get(finding.severity, "text")
    return [
        message_text(message, scene, width, color if accused else "")
        for message, accused in told_messages(finding, scene, height)
    ]
