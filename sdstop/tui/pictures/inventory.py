"""Inventory: the things of a node by kind, the sources that had data, and their rows, for a screen with room."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.core.evidence import Outcome
from sdstop.core.families import in_use
from sdstop.core.format import natural
from sdstop.core.joins import ThingKind
from sdstop.core.model import schema
from sdstop.exporters.report.table import readings
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.palette import FAINT, Line, text

_KINDS = (
    ThingKind.CLUSTER, ThingKind.NODE, ThingKind.POOL, ThingKind.ARRAY, ThingKind.CACHE, ThingKind.VOLUME,
    ThingKind.FILESYSTEM, ThingKind.MOUNT, ThingKind.MULTIPATH_MAP, ThingKind.DEVICE, ThingKind.OSD, ThingKind.BRICK,
    ThingKind.HBA, ThingKind.ENCLOSURE, ThingKind.BOND, ThingKind.NIC, ThingKind.SESSION, ThingKind.SOCKET,
    ThingKind.DIMM,
)  # fmt: skip
"""Kinds in the order of the lines; the others are parts of these."""
_LABEL = 22
"""Cells."""
_ROWS = 12
"""Maximum rows of a family."""
_TITLED = 3
"""Minimum lines for a family, with its title."""


def inventory_lines(scene: Scene, width: int) -> list[Line]:
    """Return a line for each kind of thing with its number and names, then lines for the sources with data."""
    return [*_things(scene, width), *_sources(scene, width)]


def reading_lines(scene: Scene, width: int, height: int) -> list[Line]:
    """Return at most `height` lines: the rows of each family in the columns that it declares, below its title."""
    tables = scene.window.once(("reading lines", width), lambda: list(_readings(scene, width)))
    lines: list[Line] = []
    for table in tables:
        if height - len(lines) < _TITLED:
            break
        lines += table[: height - len(lines)]
    return lines


def _readings(scene: Scene, width: int) -> Iterator[list[Line]]:
    for family in dict.fromkeys(family for each in scene.session.collectors for family in in_use(each.families)):
        rows = list(scene.now.rows(family).values())
        if rows and not family.crowded:
            more = f" (first {_ROWS} of {len(rows)})" if len(rows) > _ROWS else ""
            table = readings(schema(family), rows[:_ROWS], width - 4, silent=False)
            said = [text(f" {scene.palette.word(line, 400)}") for line in table]
            yield [text((f" {schema(family).title}{more}", FAINT)), *said]


def _things(scene: Scene, width: int) -> Iterator[Line]:
    topology = scene.window.topology
    for kind in _KINDS:
        names = sorted({thing.label for thing in topology.of(kind)}, key=natural)
        if names:
            yield _line(f"{len(names)} {kind.value}{'s' * (len(names) != 1)}", names, scene, width)


def _sources(scene: Scene, width: int) -> Iterator[Line]:
    runs = scene.now.runs.values()
    good = sorted(run.collector for run in runs if run.outcome is Outcome.OK and run.recorded)
    if good:
        yield _line(f"{len(good)} source{'s' * (len(good) != 1)} with data", good, scene, width)
    rest = sum(not run.recorded for run in runs)
    if rest and not scene.session.origin.live:
        yield text((f" {f'{rest} not recorded':<{_LABEL}}", FAINT), ("view 6 has all sources", FAINT))


def _line(label: str, names: list[str], scene: Scene, width: int) -> Line:
    """Return a label and the names that fit, then the number of the others."""
    room, shown = max(width - _LABEL - 12, 10), list[str]()
    for name in names:
        said = scene.palette.word(name, 40)
        if sum(map(len, shown)) + len(shown) + len(said) > room and shown:
            break
        shown.append(said)
    more = f" +{len(names) - len(shown)}" if len(names) > len(shown) else ""
    return text((f" {label:<{_LABEL}}", FAINT), " ".join(shown), (more, FAINT))
