"""Stack of a device page: the layers above and below a thing, with the load of each, and its peers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.path.load import load_of
from sdstop.core.averages import median
from sdstop.core.finding import Severity, worst_of
from sdstop.core.format import natural, number, wait
from sdstop.core.joins import ThingKind
from sdstop.core.thing import Thing
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import counted, fold
from sdstop.tui.widgets.palette import FAINT, PLAIN, STRONG, Line, text, width_of

_MOST = 200
"""Things of a layer above which their loads are not summed."""
_KINDS = (
    ThingKind.CACHE, ThingKind.ARRAY, ThingKind.POOL, ThingKind.GROUP, ThingKind.MULTIPATH_MAP, ThingKind.VOLUME,
    ThingKind.MOUNT, ThingKind.FILESYSTEM, ThingKind.BOND, ThingKind.OSD,
)  # fmt: skip
"""Kinds that name a thing better than its other kinds do."""


class StackLayer(Struct, frozen=True):
    """Things of one kind in one place of the stack: `above`, `this`, `below` or `peers`.

    `requests` are per second and `wait` is in seconds, of all together; None: unknown. `depth` is the indentation.
    """

    place: str
    name: str
    things: tuple[Thing, ...] = ()
    requests: float | None = None
    wait: float | None = None
    severity: Severity | None = None
    depth: int = 0
    note: str = ""


def kind_word(thing: Thing, scene: Scene) -> str:
    """Return the kind of a thing in one word; of a block device its own: md, dm, disk."""
    known = next((kind.value for kind in _KINDS if kind in thing.kinds), "")
    drive = scene.drives().get(thing.device) if thing.device is not None else None
    return known or (drive.kind if drive is not None else "") or next(iter(sorted(thing.kinds)), "thing")


def layers(scene: Scene, thing: Thing) -> list[StackLayer]:
    """Return the layers of a thing, users first, then its peers."""
    stages = scene.window.topology.path(thing)
    at = next(place for place, stage in enumerate(stages) if thing in stage)
    found: list[StackLayer] = []
    for place, stage in enumerate(stages):
        where = "above" if place < at else "below" if place > at else "this"
        things = [thing] if place == at else stage
        found += (_layer(where, each, scene) for each in _by_kind(things, scene))
    if found[-1].place == "this" and thing.device is not None and _is_disk(thing, scene):
        found.append(StackLayer("below", "controller", note="not recorded"))
    return found


def _is_disk(thing: Thing, scene: Scene) -> bool:
    drive = scene.drives().get(thing.device or "")
    return drive is not None and drive.whole


def _by_kind(things: Iterable[Thing], scene: Scene) -> Iterator[tuple[Thing, ...]]:
    groups: dict[str, list[Thing]] = {}
    for thing in things:
        groups.setdefault(kind_word(thing, scene), []).append(thing)
    yield from (tuple(sorted(group, key=lambda thing: natural(thing.label))) for group in groups.values())


def _layer(place: str, things: tuple[Thing, ...], scene: Scene) -> StackLayer:
    requests, waited = load_together(scene, things)
    worst = scene.worst()
    severity = worst_of(worst.get(name) for thing in things for name in {thing.name, thing.label})
    kind = kind_word(things[0], scene)
    first, last = things[0].label, things[-1].label
    name = f"{first} {kind}" if len(things) == 1 else f"{first} .. {last}  {counted(len(things), kind)}"
    return StackLayer(place, name, things, requests, waited, severity)


def load_together(scene: Scene, things: Sequence[Thing]) -> tuple[float | None, float | None]:
    """Return the requests per second of several things, and their mean wait in seconds; None if unknown."""
    if len(things) > _MOST:
        return None, None
    loads = [load for thing in things if (load := _load(scene, thing)) is not None]
    if len(loads) < len(things):
        return None, None
    requests = sum(each for each, _ in loads)
    waited = [(each, seconds) for each, seconds in loads if seconds is not None and each]
    total = sum(each for each, _ in waited)
    return requests, sum(each * seconds for each, seconds in waited) / total if total else None


def _load(scene: Scene, thing: Thing) -> tuple[float, float | None] | None:
    """Return requests per second and wait: of block devices in the last sample, of others over some seconds."""
    drive = scene.drives().get(thing.device) if thing.device is not None else None
    if drive is not None and drive.activity is not None:
        return drive.activity.completed_per_second, drive.activity.wait
    load = load_of(scene.window, thing)
    return None if load is None or load.requests is None else (load.requests, load.wait)


def siblings(scene: Scene, thing: Thing) -> tuple[Thing, ...]:
    """Return the things among which one moves to the next: the members of its first group, or all of its kind."""
    groups = scene.window.topology.groups_of(thing)
    if groups:
        return groups[0].members
    kinds = [kind for kind in ThingKind if kind in thing.kinds]
    alike = scene.window.topology.of(kinds[0]) if kinds else (thing,)
    if ThingKind.DEVICE in thing.kinds:
        word = kind_word(thing, scene)
        alike = tuple(other for other in alike if kind_word(other, scene) == word)
    return alike or (thing,)


def peer_lines(scene: Scene, thing: Thing) -> list[tuple[str, str]]:
    """Return facts about the peers of a block device: their number and medians, and its ratio to them."""
    peers = scene.window.topology.peers(thing)
    known = scene.drives()
    rows = [drive.activity for peer in peers if (drive := known.get(peer.device or "")) is not None and drive.activity]
    own = known[thing.device].activity if thing.device in known else None
    if len(rows) < 2 or own is None:
        return []
    queues = [row.queue for row in rows if row.queue is not None]
    waits = [row.wait for row in rows if row.wait is not None]
    requests = median(row.completed_per_second for row in rows)
    middle = median(waits) if waits else None
    found = [("peers", f"{counted(len(peers), 'other')}, median {number(requests)} io/s {wait(middle)} ms")]
    ratios = []
    if queues and own.queue is not None:
        ratios.append(f"queue {fold(own.queue, median(queues))}")
    if middle is not None and own.wait is not None:
        ratios.append(f"wait {fold(own.wait, middle)}")
    return [*found, ("vs peers", "  ".join(ratios))] if ratios else found


def layer_line(layer: StackLayer, depth: int, first: bool, width: int, scene: Scene) -> Line:  # noqa: FBT001
    """Return the line of a layer with its place, indented, and its load at the right end."""
    palette = scene.palette
    style = PLAIN if layer.severity is None else palette.severity(layer.severity)
    style = STRONG if layer.place == "this" and layer.severity is None else style
    figures = load_words(layer)
    branch = f"{' ' * (depth - 1)}{palette.branches[1].strip()} " if depth else ""
    head = f" {layer.place if first else '':<9}"
    room = max(width - len(head) - len(branch) - len(figures) - 2, 4)
    noted = f"{layer.name}: {layer.note}" if layer.note else layer.name
    name = palette.fit(palette.word(noted, 120), room)
    line = text((head, FAINT), (branch, FAINT), (name, style))
    gap = max(width - width_of(line) - len(figures) - 1, 1)
    return (*line, *text(" " * gap, (figures, style if layer.severity else FAINT if figures == "?" else PLAIN)))


def load_words(layer: StackLayer) -> str:
    """Return the load of a layer: `1177 io/s 11.3 ms`; ? if no source reports it."""
    if layer.requests is None:
        return "?"
    waited = f" {wait(layer.wait)} ms" if layer.wait is not None else ""
    return f"{number(layer.requests)} io/s{waited}"
