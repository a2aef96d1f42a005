"""Slots of an array: a block for each member in slot order, those that are missing accused; and its rebuild."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style

from sdstop.analysis.drives import ArrayState, array_states
from sdstop.analysis.rebuilding import rebuild_analyses
from sdstop.collectors.md.readings import Array, Member
from sdstop.core.finding import Finding
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.drawing import GROUNDS, block
from sdstop.tui.pictures.slots import rebuild_line
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.palette import Line, Palette, text
from sdstop.tui.widgets.roles import role

_LABEL = 11
_WIDEST, _NARROWEST = 14, 5
"""Maximum and minimum cells of a slot."""
_MOST = 96
"""Maximum number of slots that are drawn."""


class _Slot(Struct, frozen=True):
    """A slot with its member, None if it is empty; `accused`: it is missing or the only copy of its data."""

    number: int
    member: Member | None
    accused: bool


def array_slots(finding: Finding, scene: Scene) -> Picture | None:
    """Return the slots of the array that a finding is about, None if its members have no slots."""
    state = _state(finding, scene)
    if state is None:
        return None
    slots = list(_slots(state))
    if len(slots) < 2 or len(slots) > _MOST or all(slot.member is None for slot in slots):
        return None
    running = [known for known in rebuild_analyses(scene.window) if known.rebuild.array == state.array.array][:1]
    aside = _aside(state)
    color = ROLES.get(finding.severity, "text")

    def draw(width: int, height: int) -> list[Line]:
        lines = slot_lines(slots, state.array, color, scene.palette, width)
        lines += [_note(aside, scene.palette)] if aside else []
        lines += [rebuild_line(known, scene.palette, width) for known in running]
        if height > len(lines) > 1:
            lines.insert(len(lines) - len(running) - bool(aside), ())
        return lines[:height]

    name = scene.palette.word(state.array.array, 40)
    most = len(slot_lines(slots, state.array, color, scene.palette, 80)) + bool(aside) + len(running)
    title = f"{name}: {len(slots)} slots{', mirrored pairs' if _near(state.array) == 2 else ''}"
    return Picture(title, draw, tuple(range(min(most, 2), most + 2)), whole=most)


def _state(finding: Finding, scene: Scene) -> ArrayState | None:
    names = {name.partition("/")[0] for name in (*finding.subjects, finding.view_subject)}
    return next((each for each in array_states(scene.window, scene.in_force) if each.array.array in names), None)


def _near(array: Array) -> int:
    """Return how many neighboring slots hold the same data; 1 if the copies lie elsewhere, too."""
    copies = (array.near_copies or 1) if array.level == "raid10" and array.far_copies in {None, 1} else 1
    return copies if array.raid_disks and array.raid_disks % copies == 0 else 1


def _slots(state: ArrayState) -> Iterator[_Slot]:
    """Yield the slots in order; a member that is rebuilt has its slot, one that failed has none."""
    held = {member.slot: member for member, _ in state.members if member.slot is not None}
    count = max([state.array.raid_disks or 0, *(slot + 1 for slot in held)])
    letters = state.array.slots or ""
    missing = {slot for slot in range(count) if slot not in held or letters[slot : slot + 1] == "_"}
    near = _near(state.array)
    for slot in range(count):
        pair = range(slot // near * near, slot // near * near + near)
        alone = near > 1 and slot not in missing and all(other in missing for other in pair if other != slot)
        yield _Slot(slot, held.get(slot), slot in missing or alone)


def slot_lines(slots: Sequence[_Slot], array: Array, color: str, palette: Palette, width: int) -> list[Line]:
    """Return the lines of the slots; those of a mirror pair are closer to each other than to the next pair."""
    near = _near(array)
    groups = [slots[at : at + near] for at in range(0, len(slots), near)]
    longest = min(max(cell_len(_said(slot, palette)) for slot in slots) + 1, _WIDEST)
    room = width - _LABEL - 2
    across = min(max(room // (near * (longest + 1) + (near > 1)), 1), len(groups))
    rows = -(-len(groups) // across)
    across = -(-len(groups) // rows)
    size = max(min((room // across - (near > 1)) // near - 1, _WIDEST), _NARROWEST)
    level = palette.word(array.level or "slots", 12)
    lines = []
    for row in range(rows):
        parts = list(text((f" {palette.fit(level if not row else '', _LABEL)}", role("dim"))))
        for group in groups[row * across : (row + 1) * across]:
            for slot in group:
                parts += text(_block(slot, size, color, palette), " ")
            parts += text(" " * (near > 1))
        lines.append(tuple(parts))
    return lines


def _said(slot: _Slot, palette: Palette) -> str:
    member = slot.member
    if member is None:
        return f"{slot.number} missing"
    return palette.word(member.device, 20) + ("!" if slot.accused and member.state != "rebuilding" else "")


def _block(slot: _Slot, size: int, color: str, palette: Palette) -> tuple[str, Style]:
    said = f" {_said(slot, palette)}"
    if slot.member is None:
        return block(size, color, "track", said, palette)
    if slot.member.state == "rebuilding":
        return block(size, "text", "playbg", said, palette)
    fore, ground = GROUNDS.get(color, ("playfg", "h2")) if slot.accused else ("playfg", "h2")
    return block(size, fore, ground, said, palette)


def _aside(state: ArrayState) -> list[str]:
    """Return the members without a slot by their state: faulty, spare, journal; and whether a spare is missing."""
    kinds: dict[str, list[str]] = {}
    for member, _ in state.members:
        if member.slot is None or member.state in {"rebuilding", "faulty"}:
            kinds.setdefault(member.state, []).append(member.device)
    if not kinds and not state.array.degraded:
        return []
    said = [f"{kind}: {' '.join(names[:6])}" for kind, names in sorted(kinds.items())]
    return said if "spare" in kinds or "rebuilding" in kinds else [*said, "no spare"]


def _note(said: Sequence[str], palette: Palette) -> Line:
    return text((f" {'':<{_LABEL}}{palette.word('   '.join(said), 200)}", role("dim")))
