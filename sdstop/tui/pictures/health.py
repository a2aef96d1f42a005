"""Health: what disks report of themselves, and RAID controllers of their disks; those without a sign are folded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from rich.cells import cell_len

from sdstop.collectors.health.raid_readings import RaidController, RaidDisk, RaidVolume
from sdstop.collectors.health.readings import ANSWERED, DiskHealth
from sdstop.core.finding import Finding, Severity, Value
from sdstop.core.format import natural, percent, plural
from sdstop.tui.pictures import Picture
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.palette import FAINT, MARKS, Line, Palette, text, width_of
from sdstop.tui.widgets.roles import role

_NAME = 12
"""Cells."""
_MOST = 12
"""Lines."""


class _Disk(Struct, frozen=True):
    """A line: name, cells, the columns that a finding accuses, and severity; `good` if it has no sign of a fault.

    `cause` is that of the worst finding.
    """

    name: str
    cells: tuple[str, ...]
    severity: Severity | None
    cause: str = ""
    accused: frozenset[int] = frozenset()
    good: bool = True


_HEADS = ("assessment", "pending", "uncorr.", "realloc.", "CRC", "spare", "worn", "temp")
_SIZES = (10, 7, 7, 8, 6, 5, 5, 5)
"""Cells of the columns."""
_RAID_HEADS = ("state", "predicted", "media err.", "other err.", "temp", "volume")
_RAID_SIZES = (10, 9, 10, 10, 5, 8)
"""Cells of the columns."""


def health_picture(finding: Finding, scene: Scene) -> Picture | None:
    """Return the health of the node's disks, None if no disk that a finding is about has reported any."""
    names = set(finding.subjects)
    health = scene.rows(DiskHealth)[0].values()
    if any(row.device in names for row in health):
        rows = [_disk(row, scene) for row in health]
        return _picture("Health, as the disks report it", _HEADS, _SIZES, rows, names, scene)
    disks = scene.rows(RaidDisk)[0].values()
    things = {row.disk for row in disks} | {row.volume for row in disks} | {row.controller for row in disks}
    if names.isdisjoint(things):
        return None
    rows = [_raid_disk(row, scene) for row in disks]
    return _picture(
        "RAID controller and its disks", _RAID_HEADS, _RAID_SIZES, rows, names, scene, _controllers(names, scene)
    )


def _picture(
    title: str, heads: Sequence[str], sizes: Sequence[int], rows: Sequence[_Disk], names: Collection[str],
    scene: Scene, above: Sequence[tuple[str, str]] = (),
) -> Picture:  # fmt: skip
    listed = sorted((row for row in rows if not row.good or row.name in names), key=_urgency)
    folded = len(rows) - len(listed)
    most = min(1 + len(above) + len(listed) + bool(folded), _MOST)

    def draw(width: int, height: int) -> list[Line]:
        palette = scene.palette
        name = min(max([cell_len(row.name) for row in rows] + [4]), _NAME if width < 110 else 24)
        lines: list[Line] = [text((f" {said}", role(color))) for said, color in above]
        lines.append(text((f"  {'DISK':<{name}}" + _cells(heads, sizes), role("dim"))))
        room = height - len(lines) - bool(folded)
        lines += [_line(row, name, sizes, palette, width) for row in listed[: max(room, 0)]]
        if folded:
            hidden = max(len(listed) - max(room, 0), 0)
            more = f"{plural(hidden, 'more disk')} with signs, " if hidden else ""
            lines.append(text((f"  {more}{plural(folded, 'disk')} without a sign of failure", FAINT)))
        return lines[:height]

    least = min(2 + len(above), most)
    return Picture(title, draw, tuple(range(least, most + 1)), whole=most)


def _urgency(row: _Disk) -> tuple[int, list[object]]:
    return (-1 if row.severity is None else row.severity.rank) * -1, list(natural(row.name))


def _cells(said: Sequence[str], sizes: Sequence[int]) -> str:
    first, *rest = zip(said, sizes, strict=True)
    return f" {first[0]:<{first[1]}}" + "".join(f" {word:>{size}}" for word, size in rest)


def _line(row: _Disk, name: int, sizes: Sequence[int], palette: Palette, width: int) -> Line:
    color = ROLES.get(row.severity) if row.severity is not None else None
    mark = MARKS.get(row.severity, " ") if row.severity is not None else " "
    parts = list(text((f" {mark}{palette.fit(palette.word(row.name, 60), name)}", role(color or "text"))))
    for at, (said, size) in enumerate(zip(row.cells, sizes, strict=True)):
        shown = palette.fit(palette.word(said, 30), size, right=at > 0)
        ink = color if color and at in row.accused else "text" if said not in {"-", "0"} else "dim"
        parts += text((f" {shown}", role(ink, bold=at in row.accused)))
    cause = palette.word(row.cause, 80)
    if cause and width_of(parts) + cell_len(cause) + 3 <= width:
        parts += text((f"   {cause}", FAINT))
    return tuple(parts)


def _count(value: int | None) -> str:
    return "-" if value is None else str(value) if value < 100_000 else f"{value // 1000}k"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{percent(value)}%".replace(".0%", "%")


def _degrees(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}C"


_FIELDS = ("passed", "pending", "uncorrected", "reallocated", "crc_errors", "spare", "used", "temperature")
_BY_RULE: Mapping[str, frozenset[str]] = {
    "disk-worn": frozenset({"spare", "used"}),
    "disk-hot": frozenset({"temperature"}),
    "disk-link-errors": frozenset({"crc_errors"}),
}
"""Fields that a rule can accuse; those of disk-failing have values of these names."""


def _disk(row: DiskHealth, scene: Scene) -> _Disk:
    if row.state == ANSWERED:
        word = "-" if row.passed is None else "passed" if row.passed else "FAILING"
    else:
        word = row.state
    cells = (
        word, _count(row.pending), _count(row.uncorrected), _count(row.reallocated), _count(row.crc_errors),
        _share(row.spare), _share(row.used), _degrees(row.temperature),
    )  # fmt: skip
    told = [each for each in scene.in_force if each.subject == row.device and each.rule in _RULES]
    accused = frozenset(_FIELDS.index(name) for each in told for name in _accused(each, row))
    return _Disk(row.device, cells, *_worst(told), accused=accused, good=not told)


_RULES = frozenset({"disk-failing", *_BY_RULE})


def _accused(finding: Finding, row: DiskHealth) -> frozenset[str]:
    known = _BY_RULE.get(finding.rule)
    past = {value.name for value in finding.values if _is_past(value)}
    if known is not None:
        return known & past or known
    grown = {
        value.name.removeprefix("new_") for value in finding.values if value.name.startswith("new_") and value.value
    }
    return frozenset((past | grown | ({"passed"} if row.passed is False else set())) & set(_FIELDS))


def _is_past(value: Value) -> bool:
    number, above, below = value.value, value.above, value.below
    if not isinstance(number, int | float):
        return False
    return (above is not None and number > above) or (below is not None and number < below)


def _worst(told: Sequence[Finding]) -> tuple[Severity | None, str]:
    """Return severity and cause of the worst finding."""
    worst = max(told, key=lambda finding: finding.severity.rank, default=None)
    return (None, "") if worst is None else (worst.severity, worst.cause)


def _raid_disk(row: RaidDisk, scene: Scene) -> _Disk:
    cells = (
        row.state or "?", _count(row.predicted), _count(row.media_errors), _count(row.other_errors),
        _degrees(row.temperature), (row.volume or "-").rpartition("/")[2],
    )  # fmt: skip
    worst, cause = _worst([each for each in scene.in_force if each.subject == row.disk])
    accused = {0} if row.good is False else set()
    accused |= {1} if row.predicted else set()
    accused |= {2} if row.media_errors and worst is not None else set()
    good = worst is None and row.good is not False
    return _Disk(row.disk, cells, worst, cause, frozenset(accused), good=good)


def _controllers(names: Collection[str], scene: Scene) -> list[tuple[str, str]]:
    """Return a line for each controller of the named things, and for each of its volumes, with its role."""
    worst = scene.worst()
    rows = scene.rows(RaidController)[0]
    wanted = {name.partition("/")[0] for name in names}
    lines = []
    word = scene.palette.word
    for controller in rows.values():
        if controller.controller not in wanted and len(rows) > 1:
            continue
        facts = [controller.controller, controller.model or "", controller.state or ""]
        facts += [f"battery {controller.battery}"] if controller.battery else []
        lines.append((word("  ".join(each for each in facts if each), 78), _role(worst.get(controller.controller))))
        for volume in scene.rows(RaidVolume)[0].values():
            if volume.controller == controller.controller:
                cache = "" if volume.write_back is None else f"write cache {'on' if volume.write_back else 'OFF'}"
                facts = [volume.volume, volume.device or "", volume.level or "", volume.state or "", cache]
                lines.append((word("  ".join(each for each in facts if each), 78), _role(worst.get(volume.volume))))
    return lines[:4]


def _role(severity: Severity | None) -> str:
    return ROLES.get(severity, "text") if severity is not None else "text"
