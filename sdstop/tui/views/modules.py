"""Diagram of the node's memory: sockets, their channels, and filled or empty slots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from rich.segment import Segment
from textual.strip import Strip

from sdstop.collectors.memory.readings import Dimm, MemorySocket
from sdstop.core.finding import Severity
from sdstop.core.format import bytes_, decimal_rate, natural, number
from sdstop.tui.facts import FactLink, FactSubject
from sdstop.tui.scene import BAD, Scene
from sdstop.tui.views.cells import counted
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import FAINT, OTHER, PLAIN, STRONG, Line, Palette, pairs, text
from sdstop.tui.widgets.pane import Row, words

_LEAST = 2
"""Minimum number of sockets side by side, if shortening the text of the slots allows it."""
_GAP = 2
"""Cells between two boards."""
_SLOTS = ("▆▆", "░░"), ("##", "..")
"""Glyphs of a filled and of an empty slot."""
_NAME = 11
"""Cells of a slot's name, used if its channel is unknown."""


class ChannelSlots(Struct, frozen=True):
    """The slots of a channel, or a slot with an unknown channel, which is shown by its own name (`named`)."""

    channel: str
    slots: tuple[Dimm, ...]
    named: bool = False


class SocketSlots(Struct, frozen=True):
    """A socket with its banks; `lost` if the socket of the slots is unknown."""

    socket: MemorySocket | None
    title: str
    banks: tuple[ChannelSlots, ...]
    lost: bool = False


def boards(scene: Scene) -> list[SocketSlots]:
    """Return the sockets in order, then the slots with an unknown socket."""
    slots: dict[str | None, list[Dimm]] = {}
    for dimm in scene.rows(Dimm)[0].values():
        slots.setdefault(dimm.socket, []).append(dimm)
    sockets = {row.socket: row for row in scene.rows(MemorySocket)[0].values()}
    names = sorted({*sockets, *(name for name in slots if name is not None)}, key=natural)
    found = [SocketSlots(sockets.get(name), f"socket {name}", banks(slots.get(name, ()))) for name in names]
    if None in slots:
        found.append(SocketSlots(None, "socket unknown", banks(slots[None]), lost=True))
    return found


def banks(slots: Sequence[Dimm]) -> tuple[ChannelSlots, ...]:
    """Return slots by channel; if the channel of any slot is unknown, ignore all channels."""
    if any(slot.channel is None for slot in slots):
        return tuple(ChannelSlots("", (slot,), named=True) for slot in slots)
    channels: dict[str, list[Dimm]] = {}
    for slot in slots:
        channels.setdefault(slot.channel or "", []).append(slot)
    return tuple(ChannelSlots(name, tuple(channels[name])) for name in sorted(channels, key=natural))


def module_rows(scene: Scene, width: int) -> tuple[list[Row], str]:
    """Return the rows of the diagram for a width, and a note on all modules together."""
    found = boards(scene)
    if not any(board.banks or board.socket for board in found):
        return [words(text((f" {_nothing(scene)}", FAINT)))], ""
    known = [board for board in found if not board.lost]
    detail, across = _fit(known, width)
    drawn = [_draw(board, detail, max((width - 1) // across - _GAP, 20), scene) for board in known]
    listed: list[Row] = []
    for start in range(0, len(drawn), across):
        listed += _beside(drawn[start : start + across], (width - 1) // across)
    for board in found[len(known) :]:
        listed += _beside([_draw(board, 2, width - 1, scene)], width - 1)
    return listed, _note(scene)


def _fit(found: Sequence[SocketSlots], width: int) -> tuple[int, int]:
    """Return the level of detail of a slot (2: everything, 0: size only) and the number of sockets side by side."""
    wanted = min(len(found), _LEAST)
    across = 1
    for detail in (2, 1, 0):
        widest = max((_bank_width(bank, detail) for board in found for bank in board.banks), default=20)
        across = max(1, (width - 1) // (max(widest, 36) + _GAP))
        if across >= wanted:
            break
    return detail, min(across, len(found))


def _bank_width(bank: ChannelSlots, detail: int) -> int:
    label = _NAME + 1 if bank.named else len(bank.channel) + 4
    return label + len(bank.slots) * (_width(detail) + 1)


def _width(detail: int) -> int:
    """Return the width of a slot in cells at a level of detail: glyphs, size, speed and ranks."""
    return (7, 12, 15)[detail]


Drawn = tuple[list[Line], list[FactSubject]]


def _draw(board: SocketSlots, detail: int, room: int, scene: Scene) -> Drawn:
    palette = scene.palette
    worst = scene.worst()
    severity = worst.get("memory")
    row = board.socket
    title = text((board.title, STRONG))
    if row is not None and row.cpu:
        title = (*title, *text((f"  {palette.word(_model(row.cpu), max(room - len(board.title) - 2, 8))}", FAINT)))
    lines = [title]
    parts = ((MemorySocket, row.socket),) if row is not None else ()
    things = [FactSubject(board.title, parts)]
    if row is not None and board.banks:
        lines.append(_channels(row, severity, palette, room))
        things.append(things[0])
    labels = max((len(_label(bank, palette)) for bank in board.banks), default=0)
    per = max(room // (_NAME + 2 + _width(detail)), 1) if any(bank.named for bank in board.banks) else 1
    for start in range(0, len(board.banks), per):
        cells: list[Segment] = []
        together = board.banks[start : start + per]
        for bank in together:
            cells += text((f"{_label(bank, palette):<{labels}} ", FAINT)) if not bank.named else ()
            for slot in bank.slots:
                cells += text((f"{palette.fit(palette.word(slot.slot, 40), _NAME)} ", FAINT)) if bank.named else ()
                cells += _slot(slot, detail, worst.get(slot.slot), palette)
        lines.append(tuple(cells))
        named = " ".join(f"channel {bank.channel}" if not bank.named else bank.slots[0].slot for bank in together)
        keys = tuple((Dimm, slot.slot) for bank in together for slot in bank.slots)
        things.append(FactSubject(f"{board.title}, {named}", keys))
    if not board.banks and row is not None:
        lines.append(text(("its slots are unknown", FAINT)))
        things.append(things[0])
    return lines, things


def _label(bank: ChannelSlots, palette: Palette) -> str:
    shown = palette.word(bank.channel, 6)
    return f"ch {shown}" if shown[:1].isdecimal() else shown


def _model(cpu: str) -> str:
    """Return a processor's name without generic parts such as `(R)` and `CPU`."""
    for noise in ("(R)", "(TM)", "(r)", "(tm)", " CPU", " Processor", "Intel ", "AMD "):
        cpu = cpu.replace(noise, "")
    return " ".join(cpu.partition("@")[0].split())


def _channels(row: MemorySocket, severity: Severity | None, palette: Palette, room: int) -> Line:
    if row.channels is None or row.used is None:
        known = counted(row.dimms, "module") if row.dimms is not None else "modules unknown"
        return text((f"{known}, channels unknown", FAINT))
    style = PLAIN if severity is None or row.used >= row.channels else palette.severity(severity)
    most = "at most " if row.at_most else ""
    said = f"{most}{row.used} of {row.channels} channels"
    peak, possible = decimal_rate(row.peak), decimal_rate(row.possible)
    rates = f"{peak.removesuffix(' GB/s')} of {possible}" if row.peak is not None and row.possible is not None else ""
    drawn = min(room - len(said) - len(rates) - 2, 12)
    filled = OTHER if style is PLAIN else style
    shown = pairs(bar(row.used / row.channels, drawn, palette, filled)) if drawn >= 3 else ()
    return text((f"{said} ", style), *shown, (f" {rates}" if drawn >= 3 else rates, FAINT))


def _slot(slot: Dimm, detail: int, severity: Severity | None, palette: Palette) -> Line:
    full, empty = _SLOTS[palette.ascii]
    wide = _width(detail)
    if slot.size == 0:
        return text((f"{empty} {'empty' if wide > 7 else '-':<{wide - 3}} ", FAINT))
    if slot.size is None:
        return text((f"?? {'?':<{wide - 3}} ", FAINT))
    style = PLAIN if severity is None else palette.severity(severity)
    speed = slot.configured if slot.configured is not None else slot.speed
    said = f"{bytes_(slot.size):<4}"
    if detail >= 1:
        said += f" {'-' if speed is None else f'{speed:d}':>4}"
    if detail >= 2:
        said += f" {'' if slot.rank is None else f'{slot.rank}R':<2}"
    return text((full, style), f" {palette.fit(said, wide - 3)} ")


def _beside(drawn: Sequence[Drawn], width: int) -> list[Row]:
    """Return the rows of several sockets side by side; each opens the facts of all sockets in its row."""
    found = []
    for at in range(max(len(lines) for lines, _ in drawn)):
        parts: list[Segment] = [Segment(" ", PLAIN)]
        things: list[FactSubject] = []
        for lines, known in drawn:
            line = lines[at] if at < len(lines) else ()
            if at < len(known):
                things.append(known[at])
            parts += Strip(line).adjust_cell_length(width, PLAIN)
        name = ", ".join(dict.fromkeys(thing.name for thing in things))
        thing = FactSubject(name, tuple(part for thing in things for part in thing.parts))
        found.append(words(tuple(parts), ("memory", name, at), FactLink(thing), name))
    return found


def _note(scene: Scene) -> str:
    slots = list(scene.rows(Dimm)[0].values())
    filled = [slot for slot in slots if slot.size]
    facts = [f"{len(filled)} of {counted(len(slots), 'slot')} filled"] if slots else []
    if filled:
        facts.append(bytes_(sum(slot.size or 0 for slot in filled)))
    facts += _kinds(slot.type for slot in filled)
    facts += [f"{said} MT/s" for said in _kinds(_speed(slot) for slot in filled)]
    if any(row.virtual for row in scene.rows(MemorySocket)[0].values()):
        facts.append("as reported by the hypervisor")
    return f" {scene.palette.dot} ".join(scene.palette.word(fact, 40) for fact in facts)


def _speed(slot: Dimm) -> str | None:
    """Return the configured speed of a module, and its rated speed if that is higher."""
    if slot.configured is None or slot.speed is None or slot.configured >= slot.speed:
        return number(slot.configured if slot.configured is not None else slot.speed)
    return f"{slot.configured} of {slot.speed}"


def _kinds(said: Iterable[str | None]) -> list[str]:
    known = sorted({word for word in said if word and word != "-"})
    return ["/".join(known)] if known else []


def _nothing(scene: Scene) -> str:
    run = scene.now.runs.get("dimms")
    if run is None:
        return "waiting for memory modules"
    said = scene.palette.word(run.reason, 200)
    if run.outcome in BAD:
        return f"memory modules unknown: {run.outcome.value}, {said}"
    return f"memory modules unknown: {said}" if said else "memory modules unknown"
