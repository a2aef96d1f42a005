"""Memory slots: channels filled and empty, and one axis of bandwidth: what there is, is needed and is possible."""

from __future__ import annotations

from rich.style import Style

from sdstop.analysis.fabric.ecc import module_of, socket_of
from sdstop.analysis.rebuilds.rebuilding import RebuildAnalysis, eta_words, rebuild_analyses
from sdstop.collectors.memory.readings import Dimm, MemoryErrors
from sdstop.core.finding import Finding
from sdstop.core.format import bytes_, done, flow
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.drawing import block
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.views.modules import SocketSlots, boards
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import Line, Palette, text
from sdstop.tui.widgets.roles import role

_LABEL = 11
"""Cells."""
_TAILED = 110
"""Minimum width for figures beside the channels."""
_LEAST, _NARROWEST, _WIDEST = 8, 3, 24
"""Minimum cells of a channel beside figures, and without any, and maximum cells."""
_MORE = 5
"""Cells for the number of channels that do not fit."""


def slot_picture(finding: Finding, scene: Scene) -> Picture | None:
    """Return the slots of all sockets, None if no module is known."""
    found = [board for board in boards(scene) if board.banks]
    if not found:
        return None
    color = ROLES.get(finding.severity, "text") if finding.rule.startswith("dimm-") else "text"
    accused = _accused(finding, scene)
    axis = any(board.socket is not None and board.socket.peak for board in found)
    needs = next((v.value for v in finding.values if v.name == "needs" and isinstance(v.value, float | int)), None)
    running = [known for known in rebuild_analyses(scene.window) if known.rebuild.state == "running"][:2]
    lines = len(found) + 2 * axis + len(running)

    def draw(width: int, height: int) -> list[Line]:
        figures = [_tail(board, scene.palette, width) for board in found]
        size, tails = _shares([len(board.banks) for board in found], figures, width - _LABEL - 1)
        drawn = [
            _socket(board, color, accused, scene.palette, width - len(tail), size, tail)
            for board, tail in zip(found[:height], tails, strict=False)
        ]
        if axis and height - len(drawn) >= 2:
            drawn += [()] * (height > lines)
            drawn += _axis(found, needs, color, scene.palette, width)
        drawn += [rebuild_line(known, scene.palette, width) for known in running[: height - len(drawn)]]
        return drawn

    title = "Memory channels" + (" and the need of the rebuild" if running and needs else "")
    return Picture(title, draw, tuple(range(min(lines, 3), lines + 2)))


def _accused(finding: Finding, scene: Scene) -> dict[str, tuple[str, str]]:
    """Return roles of text and ground by the name of a slot that the errors of a finding are in, or of its socket.

    The socket is all that the counters of some drivers name.
    """
    chip = ROLES.get(finding.severity)
    if finding.rule != "memory-errors" or chip is None:
        return {}
    rows = [row for row in scene.rows(MemoryErrors)[0].values() if row.place in finding.subjects]
    modules = [module_of(scene.window, row) for row in rows]
    names = {row.label for row in rows if row.label} | {module.slot for module in modules if module is not None}
    names |= {f"socket {socket}" for row in rows if (socket := socket_of(row)) is not None}
    return dict.fromkeys(names, (f"{chip}fg", f"{chip}bg"))


def _tail(board: SocketSlots, palette: Palette, width: int) -> tuple[str, ...]:
    """Return the figures of a socket in ever shorter forms, the last one empty."""
    row = board.socket
    if width < _TAILED or row is None or row.peak is None or row.possible is None:
        return ("",)
    said = f"  {row.peak / 1e9:.0f} of {row.possible / 1e9:.0f} GB/s"
    empty = [slot.slot for bank in board.banks for slot in bank.slots if slot.size == 0]
    if not empty:
        return (said, "")
    more = f" +{len(empty) - 4}" if len(empty) > 4 else ""
    return (f"{said}   empty: {' '.join(palette.word(name, 20) for name in empty[:4])}{more}", said, "")


def _shares(channels: list[int], tails: list[tuple[str, ...]], room: int) -> tuple[int, list[str]]:
    """Return the cells of a channel, the same for all sockets, and the longest figures beside which all of them fit."""
    most, size, chosen = max(channels), 0, [""] * len(tails)
    for at in range(max(map(len, tails))):
        chosen = [forms[min(at, len(forms) - 1)] for forms in tails]
        size = (room - max(map(len, chosen))) // most - 1
        if size >= _LEAST or not any(chosen):
            break
    return max(min(size, _WIDEST), _NARROWEST), chosen


def _socket(
    board: SocketSlots, color: str, accused: dict[str, tuple[str, str]], palette: Palette, width: int, size: int,
    tail: str,
) -> Line:  # fmt: skip
    room = width - _LABEL - 1
    fits = len(board.banks) if len(board.banks) * (size + 1) <= room + 1 else max((room - _MORE) // (size + 1), 1)
    _, ground = accused.get(board.title, ("", ""))
    label = role(ground.removesuffix("bg"), bold=True) if ground else role("dim")
    parts: list[str | tuple[str, Style]] = [(f" {palette.fit(palette.word(board.title, 20), _LABEL)}", label)]
    for bank in board.banks[:fits]:
        filled = [slot for slot in bank.slots if slot.size]
        name = bank.channel if not bank.named else ""
        said: tuple[str, ...]
        if any(slot.size is None for slot in bank.slots):
            kind, said = ("text", "track"), ("?",)
        elif filled:
            wrong = next((accused[slot.slot] for slot in filled if slot.slot in accused), None)
            kind, said = wrong or ("playfg", "h2"), _module(filled)
        else:
            kind, said = (color, "track"), ("empty", "none")
        forms = [f"{name} {each}".strip() for each in said] + [said[-1], name]
        fitting = next((form for form in forms if len(form) <= size), forms[-1])
        parts.append(block(size, *kind, f"{' ' * (len(fitting) < size)}{fitting}", palette))
        parts.append(" ")
    rest = len(board.banks) - fits
    return text(*parts, (f"+{rest}" if rest else "", role("dim")), (tail, role("dim")))


def _module(slots: list[Dimm]) -> tuple[str, ...]:
    """Return number, size and speed of modules, in ever shorter forms."""
    sizes = {slot.size or 0 for slot in slots}
    size = bytes_(max(sizes))
    count = f"{len(slots)}x" if len(slots) > 1 else ""
    speed = next((slot.configured or slot.speed for slot in slots), None)
    return (f"{count}{size} {speed}", f"{count}{size}") if speed is not None else (f"{count}{size}",)


def _axis(found: list[SocketSlots], needs: float | None, color: str, palette: Palette, width: int) -> list[Line]:
    """Return two lines: the figures above their places on the axis, and the bar."""
    sockets = [board.socket for board in found if board.socket is not None]
    have = sum(row.peak or 0.0 for row in sockets)
    possible = sum(row.possible or 0.0 for row in sockets)
    end = max(possible, needs or 0.0, have) or 1.0
    room = width - _LABEL - 2
    drawn = bar(
        have / end, room, palette, role(color if have < possible else "other"), mark=needs / end if needs else None
    )
    marks = [(have / end, f"{have / 1e9:.0f} have", color if have < possible else "text")]
    if needs:
        marks.append((needs / end, f"{needs / 1e9:.0f} needed", "strong"))
    if possible > have:
        marks.append((possible / end, f"{possible / 1e9:.0f} filled", "strong"))
    parts: list[str | tuple[str, Style]] = [(f" {'GB/s':<{_LABEL}}", role("dim"))]
    used = 0
    for place, said, name in sorted(marks):
        at = min(max(int(place * room) - len(said) + 1, used + 1 if used else 0), room - len(said))
        if at < used:
            continue
        parts += [" " * (at - used), (said, role(name, bold=True))]
        used = at + len(said)
    return [text(*parts), (*text((f" {'memory':<{_LABEL}}", role("dim"))), *drawn)]


def rebuild_line(known: RebuildAnalysis, palette: Palette, width: int) -> Line:
    """Return the progress of a rebuild: a bar, its rate and ETA."""
    row = known.rebuild
    rate = known.pace.rate if known.pace is not None else row.speed
    facts = [f"{done(row.progress)}%"] if row.progress is not None else []
    facts += [flow(rate)] if rate is not None else []
    facts += [eta_words(known.pace)] if known.pace is not None and known.pace.eta is not None else []
    said = palette.word("   ".join(facts), 100)
    room = max(width - _LABEL - 3 - len(said), 8)
    return (
        *text((f" {palette.fit(palette.word(known.rebuild.operation, 20), _LABEL)}", role("dim"))),
        *bar(row.progress, room, palette), *text((f" {said}", role("text"))),
    )  # fmt: skip
