"""Identity of a device page: what names a thing, where it is, and how it is set up, as recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.disks.drives import DriveState
from sdstop.analysis.disks.membership import memberships
from sdstop.analysis.thing_parts import Part
from sdstop.collectors.block.readings import BlockDevice
from sdstop.core.format import bytes_, cell, quantity
from sdstop.core.joins import Naming
from sdstop.core.model import Fact, Label, Metric, Name, Reading, State, schema
from sdstop.core.remarks import remarks
from sdstop.core.thing import Thing
from sdstop.tui.device.stack import kind_word
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import counted

_DISK = ("serial", "wwn", "revision", "scheduler")
"""Fields of a physical disk that are named when they are not recorded."""
_FIRST = (
    "words", "line",
    "serial", "wwn", "revision", "firmware", "bay", "slot", "enclosure", "by_path", "hctl", "scheduler", "write_cache",
    "size", "state", "address", "mac", "driver", "speed", "level", "layout",
)  # fmt: skip
"""Fields listed first, in this order."""
_NUMBERS = frozenset({"size", "speed", "rate", "maximum_rate", "queue_depth", "nr_requests", "mtu", "chunk", "pid"})
"""Numbers that describe a thing, and not its load."""
_PLACES = frozenset({"relation", "number", "kind", "below", "upper", "needle", "where", "counts", "node_by"})
"""Fields about the source of a row, and those that the stack shows."""


def title_words(thing: Thing | None, name: str, scene: Scene) -> list[str]:
    """Return the facts that follow a thing's name: model, size, kind and memberships."""
    if thing is None:
        return []
    drive = scene.drives().get(thing.device or "")
    kind = kind_word(thing, scene)
    facts = [kind] if drive is None else _device_words(drive, kind)
    label = thing.label
    if label not in {name, thing.name}:
        facts.insert(0, label)
    if drive is not None:
        for member in memberships(scene.window, drive.name):
            facts.append(f"{member.part} of {member.whole}" if member.part else f"of {member.whole}")
    return facts


def _device_words(drive: DriveState, kind: str) -> list[str]:
    d = drive.device
    if d is None:
        return [kind]
    facts = [" ".join(word for word in (d.vendor, d.model) if word) or kind]
    if d.size is not None:
        facts.append(bytes_(d.size))
    if d.rotational is not None and drive.whole:
        facts.append("rotates" if d.rotational else "flash")
    if d.read_only:
        facts.append("read-only")
    if d.iostats_enabled == 0:
        facts.append("I/O not counted (iostats off)")
    return facts


def identity(thing: Thing | None, parts: Sequence[Part], scene: Scene) -> list[tuple[str, str]]:
    """Return (title, value) of the texts and sizes that the rows about a thing have, names and places first."""
    found: dict[str, tuple[int, str]] = {}
    device = thing.device if thing is not None else None
    for title, text in remarks(scene.window, device) if device is not None else ():
        found[title.capitalize() if title.islower() else title] = (-1, text)
    seen: set[str] = {thing.name} if thing is not None else set()
    for family, key in parts:
        row = scene.rows(family)[0].get(key)
        if row is None or not family.exported:
            continue
        for field, title, value in _facts(row):
            if value not in seen and title not in found:
                seen.add(value)
                found[title] = (_FIRST.index(field) if field in _FIRST else len(_FIRST), value)
    listed = [(title, value) for title, (_, value) in sorted(found.items(), key=lambda item: item[1][0])]
    lacking = _lacking(thing, scene)
    return [*listed, ("not recorded", ", ".join(lacking))] if lacking else listed


def _facts(row: Reading) -> Iterator[tuple[str, str, str]]:
    for column in schema(type(row)).columns:
        mark, value = column.mark, column.base(getattr(row, column.name))
        if value is None or value == "" or column.name in _PLACES:
            continue
        if isinstance(mark, Label | Fact | State):
            if not isinstance(mark, State) and mark.names is Name.EVIDENCE:
                continue
            yield column.name, column.title, str(value)
        elif isinstance(mark, Metric) and column.name in _NUMBERS:
            yield column.name, column.title, cell(column, value) if mark.exact else quantity(value, column.unit)


def _lacking(thing: Thing | None, scene: Scene) -> list[str]:
    """Return which facts of a physical disk are not recorded."""
    drive = scene.drives().get(thing.device or "") if thing is not None else None
    if drive is None or not drive.whole:
        return []
    device = drive.device
    titles = {column.name: column.title for column in schema(BlockDevice).columns}
    lacking = [titles[field].lower() for field in _DISK if device is None or not getattr(device, field)]
    known = {naming for naming, _ in thing.names} if thing is not None else set()
    return [word for word in lacking if word != "wwn" or Naming.WWN not in known]


def users(thing: Thing | None, scene: Scene) -> str:
    """Return which volumes, filesystems, mounts and clients need a thing, "" if none is known."""
    if thing is None:
        return ""
    affected = scene.window.topology.affected(thing)
    names = [each.label for each in affected[:4]]
    more = f" and {counted(len(affected) - 4, 'other')}" if len(affected) > 4 else ""
    return f"{', '.join(names)}{more}" if names else ""
