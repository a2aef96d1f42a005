"""Slots of an array: a block for each member in slot order, those that are missing accused; and its rebuild."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style

from sdstop.analysis.disks.array_states import ArrayState, array_states
from sdstop.analysis.disks.drives import GONE
from sdstop.analysis.rebuilds.rebuilding import RebuildAnalysis, rebuild_analyses
from sdstop.collectors.devicemapper.raid_volumes import ALIVE, STALE
from sdstop.collectors.devicemapper.volume_readings import MappedRaidState
from sdstop.collectors.md.readings import Array
from sdstop.core.finding import Finding
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.drawing import GROUNDS, block
from sdstop.tui.pictures.slots import rebuild_line
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.palette import Line, Palette, text
from sdstop.tui.widgets.roles import role

_LABEL = 11
"""Cells."""
_WIDEST, _NARROWEST = 14, 5
"""Maximum and minimum cells of a slot."""
_MOST = 96
"""Maximum number of slots that are drawn."""


class _Slot(Struct, frozen=True):
    """A slot with its device, None if it is empty; `accused`: it is missing, failed or the only copy of its data.

    `lost`: the array counts on a device that the node no longer has.
    """

    number: int
    device: str | None
    accused: bool
    rebuilding: bool = False
    failed: bool = False
    lost: bool = False


def array_slots(finding: Finding, scene: Scene) -> Picture | None:
    """Return the slots of the array that a finding is about, None if its members have no slots."""
    state = _state(finding, scene)
    if state is None:
        return None
    near = _near(state.array)
    name = state.array.array
    running = [known for known in rebuild_analyses(scene.window) if known.rebuild.array == name][:1]
    return _picture(name, state.array.level, near, list(_slots(state)), _aside(state), running, finding, scene)


def mapped_slots(finding: Finding, scene: Scene) -> Picture | None:
    """Return the slots of the LVM RAID volume that a finding is about, None if it is about none."""
    rows = scene.rows(MappedRaidState)[0].values()
    row = next((each for each in rows if not {each.volume, each.device}.isdisjoint(finding.subjects)), None)
    if row is None or not row.health:
        return None
    pairs = _PAIRED if row.level is not None and row.level.startswith("raid10") and row.copies == _PAIRED else 1
    running = [
        known for known in rebuild_analyses(scene.window) if known.rebuild.kind == "lvm" and known.name == row.volume
    ][:1]
    return _picture(row.volume, row.level, pairs, list(_mapped(row, scene)), [], running, finding, scene)


def _mapped(row: MappedRaidState, scene: Scene) -> Iterator[_Slot]:
    """Yield the slots of a volume of device mapper, each with the disk that holds it."""
    images = (row.images or "").split(",")
    topology = scene.window.topology
    for slot, letter in enumerate(row.health or ""):
        thing = topology.find(images[slot]) if len(images) == row.members else None
        below = [each.device for each in topology.below(thing) if each.device] if thing is not None else []
        disk = next((name for name in below if not name.startswith("dm-")), None)
        missing = letter not in {ALIVE, STALE}
        yield _Slot(slot, disk or (None if missing else f"slot {slot}"), missing, letter == STALE, missing)


_PAIRED = 2
"""Copies of the data on a RAID10 of mirrored pairs."""


def _picture(
    subject: str, level: str | None, near: int, slots: Sequence[_Slot], aside: Sequence[str],
    running: Sequence[RebuildAnalysis], finding: Finding, scene: Scene,
) -> Picture | None:  # fmt: skip
    if len(slots) < 2 or len(slots) > _MOST or all(slot.device is None for slot in slots):
        return None
    color = ROLES.get(finding.severity, "text")
    what = level or "slots"

    def draw(width: int, height: int) -> list[Line]:
        lines = slot_lines(slots, what, near, color, scene.palette, width)
        lines += [_note(aside, scene.palette)] if aside else []
        lines += [rebuild_line(known, scene.palette, width) for known in running]
        if height > len(lines) > 1:
            lines.insert(len(lines) - len(running) - bool(aside), ())
        return lines[:height]

    name = scene.palette.word(subject, 40)
    most = len(slot_lines(slots, what, near, color, scene.palette, 80)) + bool(aside) + len(running)
    title = f"{name}: {len(slots)} slots{', mirrored pairs' if near == _PAIRED else ''}"
    return Picture(title, draw, tuple(range(2, most + 2)), whole=most)


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
    lost = {member.slot for member, drive in state.members if drive.flag == GONE}
    without = missing | lost
    near = _near(state.array)
    for slot in range(count):
        pair = range(slot // near * near, slot // near * near + near)
        alone = near > 1 and slot not in without and all(other in without for other in pair if other != slot)
        member = held.get(slot)
        rebuilding = member is not None and member.state == "rebuilding"
        device = member.device if member is not None else None
        yield _Slot(slot, device, slot in without or alone, rebuilding, lost=slot in lost)


def slot_lines(
    slots: Sequence[_Slot], level: str, near: int, color: str, palette: Palette, width: int
) -> list[Line]:  # fmt: skip
    """Return the lines of the slots; those of `near` mirrored ones are closer to each other than to the next ones."""
    groups = [slots[at : at + near] for at in range(0, len(slots), near)]
    longest = min(max(cell_len(_said(slot, palette)) for slot in slots) + 1, _WIDEST)
    room = width - _LABEL - 2
    across = min(max(room // (near * (longest + 1) + (near > 1)), 1), len(groups))
    rows = -(-len(groups) // across)
    across = -(-len(groups) // rows)
    size = max(min((room // across - (near > 1)) // near - 1, _WIDEST), _NARROWEST)
    level = palette.word(level, 12)
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
    if slot.device is None:
        return f"{slot.number} missing"
    name = palette.word(slot.device, 20)
    if slot.lost:
        return f"{name} gone"
    return f"{name} failed" if slot.failed else f"{name}!" if slot.accused and not slot.rebuilding else name


def _block(slot: _Slot, size: int, color: str, palette: Palette) -> tuple[str, Style]:
    said = f" {_said(slot, palette)}"
    if slot.device is None:
        return block(size, color, "track", said, palette)
    if slot.rebuilding:
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
