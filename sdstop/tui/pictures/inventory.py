"""Inventory: the things of a node by kind, and the sources that had data, for a screen with room to spare."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.core.evidence import Outcome
from sdstop.core.format import natural
from sdstop.core.joins import ThingKind
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


def inventory_lines(scene: Scene, width: int) -> list[Line]:
    """Return a line for each kind of thing with its number and names, then lines for the sources with data."""
    return [*_things(scene, width), *_sources(scene, width)]


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
