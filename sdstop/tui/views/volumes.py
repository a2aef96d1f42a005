"""Volumes: used share of each limit, time at the limit, and the part of the wait that the limit causes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from textual.app import ComposeResult

from sdstop.analysis.space.spaces import stores
from sdstop.core.format import (
    NONE,
    bytes_,
    duration,
    mebibytes,
    milliseconds,
    number,
    percent,
    quantity,
    wait,
    whole,
    whole_percent,
)  # fmt: skip
from sdstop.readings.cluster import ClusterVolume
from sdstop.readings.limit import Limit, LimitUse
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import bar_cell, counted, severity_name
from sdstop.tui.views.finding_rows import note_row
from sdstop.tui.views.limit_strips import drawn_volumes, strip_rows
from sdstop.tui.views.limited_volume import LimitedVolume, limited_volumes
from sdstop.tui.views.space import space_rows
from sdstop.tui.views.view import Listing, View
from sdstop.tui.why import entry_mark
from sdstop.tui.widgets.graph import layers
from sdstop.tui.widgets.palette import FAINT, MARKS, STRONG, Line, Palette, text
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.table import MIB, MS, PERCENT, Cell, LineTable, TableColumn

SOURCES = ("scaleio", "cgroups", "qemu", "rbd", "ceph")
"""Names of the collectors for volumes and limits."""


def _name(item: LimitedVolume, _: int) -> Line:
    return severity_name(item.name, item.severity, item.scene.palette)


def _owner(item: LimitedVolume, _: int) -> Cell:
    limit = item.limit
    word = item.scene.palette.word
    if limit is None:
        return text(("no limit", FAINT))
    way = "" if limit.direction == "total" else f" {limit.direction}s"
    return text((f"{word(limit.owner or limit.kind, 60)}{way}", FAINT))


def _share(read: Callable[[LimitedVolume], float | None]) -> dict[str, Any]:
    def cell(item: LimitedVolume, width: int) -> Cell:
        found = read(item)
        if found is None:
            return text(("-".rjust(5), FAINT))
        if not item.shared:
            return _colored(found, width, item)
        most = min(found, 1.0)
        first, *bar = bar_cell(most, width, item.scene.palette)
        return first._replace(text=f"{item.scene.palette.at_most}{whole_percent(most)}".rjust(5) + first.text[5:]), *bar

    return {"cell": cell, "value": read, "scale": PERCENT}


def _colored(share: float, width: int, item: LimitedVolume) -> Line:
    """Draw a used share in the color of the volume's severity if it is near the limit."""
    palette = item.scene.palette
    if item.severity not in MARKS or share < _NEAR:
        return bar_cell(share, width, palette)
    style = palette.severity(item.severity)
    first, *bar = bar_cell(share, width, palette, style)
    return first._replace(style=style), *bar


_NEAR = 0.9
"""Used share of a limit from which it is colored if the volume has a severity."""


def _figure(
    read: Callable[[LimitedVolume], float | None], shown: Callable[[float | None], str], *, most: bool = False
) -> dict[str, Any]:
    """Return column arguments for a number; `most` marks it as an upper bound if the limit is shared."""

    def cell(item: LimitedVolume, _: int) -> Cell:
        said = shown(read(item))
        if said in {"0", "-", "0.0"}:
            return text((said, FAINT))
        return f"{item.scene.palette.at_most}{said}" if most and item.shared else said

    return {"cell": cell, "value": read, "right": True}


def _waited(read: Callable[[LimitedVolume], float | None]) -> dict[str, Any]:
    """Return column arguments for a wait; `>` marks a lower bound."""

    def cell(item: LimitedVolume, _: int) -> Cell:
        value = read(item)
        return text((NONE, FAINT)) if value is None else f"{'>' if item.least else ''}{milliseconds(value)}"

    return {"cell": cell, "value": read, "right": True, "scale": MS}


def _split(item: LimitedVolume, width: int) -> Cell:
    """Draw a request's wait: the part of the disks, then the part of the limit."""
    split = item.split
    if split is None or item.longest <= 0:
        return ""
    return split_bar(split.disks, split.limit, item.wait, item.longest, width, item.scene.palette)


def split_bar(
    disks: float | None, own: float | None, whole: float | None, longest: float, width: int, palette: Palette
) -> Line:  # fmt: skip
    """Return a bar on a scale of `longest` seconds over `width` cells; an unsplit wait is drawn in the third shade."""
    drawn = layers(ascii=palette.ascii)
    full, light, rest = drawn[0], drawn[1], drawn[2]

    def cells(seconds: float | None) -> int:
        return max(round((seconds or 0.0) / longest * width), 1 if seconds else 0)

    if own is None or disks is None:
        return text((rest * min(cells(whole), width), FAINT))
    first = min(cells(disks), width)
    return text((full * first, FAINT), light * min(cells(own), width - first))


_COLUMNS = (
    TableColumn("volume", "VOLUME", 12, _name, lambda i: i.name, widest=28, rising=True),
    TableColumn("owner", "OWNER", 12, _owner, lambda i: i.limit.owner if i.limit else "", keep=9, widest=28,
                rising=True),
    TableColumn("iops", "IOPS", 6, **_figure(lambda i: i.iops, whole, most=True)),
    TableColumn("piops", "%IOPS", 5, widest=16, **_share(lambda i: i.iops_share)),
    TableColumn("bytes", "MiB/s", 6, scale=MIB, **_figure(lambda i: i.bytes, mebibytes, most=True)),
    TableColumn("pbytes", "%MiB", 5, widest=16, **_share(lambda i: i.bytes_share)),
    TableColumn("time", "%LIM", 5, scale=PERCENT, **_figure(lambda i: i.at_limit, whole_percent, most=True)),
    TableColumn("size", "areq", 5, keep=2, **_figure(lambda i: i.known.size if i.known else None, bytes_)),
    TableColumn("wait", "await", 6, keep=8, **_waited(lambda i: i.wait)),
    TableColumn("own", "limit", 6, keep=7, **_waited(lambda i: i.split.limit if i.split else None)),
    TableColumn("disks", "disks", 6, keep=7, scale=MS,
                **_figure(lambda i: i.split.disks if i.split else None, milliseconds)),
    TableColumn("split", "WAIT disks|limit", 8, _split, keep=1, widest=30),
)  # fmt: skip


class Volumes(View):
    """Volumes and their limits above, space that can run out, details of the volume under the cursor below."""

    families = (ClusterVolume, Limit, LimitUse)
    tables = (_COLUMNS,)

    @classmethod
    def listed(cls, scene: Scene) -> Iterator[Listing]:
        """Yield the tables with the rows that a search finds here."""
        yield Listing(_COLUMNS, _rows(scene))
        yield Listing((), space_rows(scene, 80))

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        self.scene: Scene | None = None
        self.listed_items: list[LimitedVolume] = []
        self.main = LineTable("Volumes and their limits", _COLUMNS, id="volumes", steady=True)
        self.strips = Pane("Use against limits", id="limit-strips", cursor=False)
        self.detail = Pane("Volume", id="volume-detail")
        self.space = Pane("Space in use", id="volume-space")
        yield self.main
        yield self.strips
        yield self.space
        yield self.detail

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        found = _rows(scene)
        self.listed_items = [row.item for row in found]
        height = self.room
        below = min(max(height // 4, 5), 8) if found and height >= 14 else 0
        table = min(len(found) + 2, max((height - below) // 2, 9))
        room = height - below - table - 1
        drawn = len(drawn_volumes(self.listed_items, None, room))
        width: int = self.app.size.width
        space = space_rows(scene, width)
        self.space.display = bool(space) and (not found or room >= _LEAST)
        self.space.styles.height = "1fr" if not found else min(len(space) + 1, max(room // 2, _LEAST))
        self.space.put(space, scene.palette, _fullest(scene))
        self.strips.display = drawn > 0
        self.detail.display = below > 0
        self.detail.styles.height = below
        spaced = self.space.display and not found
        table += spaced
        self.main.styles.height = table if self.strips.display or spaced else "1fr"
        bare = [note_row(_nothing(scene), scene)] if space else self.absent(_nothing(scene), scene, SOURCES)
        self.main.put(found or bare, scene.palette, _note(self.listed_items, scene))
        self._show_chosen()

    def moved(self, pane: Pane) -> None:
        """Show details of the row under the cursor."""
        if pane is self.main:
            self._show_chosen()

    def _show_chosen(self) -> None:
        row, scene = self.main.chosen, self.scene
        item = row.item if row is not None and isinstance(row.item, LimitedVolume) else None
        if scene is not None and self.strips.display:
            drawn = drawn_volumes(self.listed_items, item, self.strips.room)
            rows = strip_rows(drawn, scene, self.strips.size.width, self.strips.room)
            self.strips.put(rows, scene.palette, "full height = limit")
        if item is not None:
            self.detail.title = item.scene.palette.word(item.name, 60)
            self.detail.put(list(_detail(item)), item.scene.palette)


def _rows(scene: Scene) -> list[Row]:
    listed = sorted(limited_volumes(scene), key=lambda item: item.urgency, reverse=True)
    return [Row(_key(item), item, None, _searchable(item)) for item in listed]


def _key(item: LimitedVolume) -> Hashable:
    limit = item.limit
    return (item.name, *((limit.owner, limit.kind, limit.direction) if limit is not None else ()))


def _searchable(item: LimitedVolume) -> str:
    limit, volume = item.limit, item.volume
    facts = [item.name]
    if limit is not None:
        facts += [limit.owner, limit.kind, limit.direction, limit.group or "", limit.device or ""]
    if volume is not None:
        facts += [volume.pool or "", volume.cluster, volume.mapped or ""]
    return " ".join(facts)


def _note(listed: list[LimitedVolume], scene: Scene) -> str:
    limited = {item.name for item in listed if item.limit is not None and item.limit.limited not in {None, "none"}}
    names = {item.name for item in listed}
    facts = [counted(len(names), "volume"), f"{len(limited)} with a limit"] if names else []
    return f" {scene.palette.dot} ".join(facts)


def _detail(item: LimitedVolume) -> Iterator[Row]:
    palette = item.scene.palette
    subject = item.limit.subject if item.limit is not None else f"vol:{item.name}"
    for entry in item.scene.findings():
        if not {subject, f"vol:{item.name}"}.isdisjoint(entry.subjects):
            line = text((f" {palette.word(entry.finding.rule if entry.finding else '', 30)} ", STRONG),
                        palette.word(entry.summary, 400))  # fmt: skip
            yield words((*text(" "), *entry_mark(entry, palette), *line), entry.key, entry)
    for title, facts in (("limit", list(_limits(item))), ("use", list(_use(item))), ("is", list(_is(item)))):
        if facts:
            yield words(text((f" {title:<8}", FAINT), f" {palette.dot} ".join(palette.word(f, 90) for f in facts)))


def _limits(item: LimitedVolume) -> Iterator[str]:
    limit, known = item.limit, item.known
    if limit is None or known is None:
        yield "unknown"
        return
    yield f"{limit.kind}, {limit.direction}"
    if limit.limited == "none":
        yield "no limit set"
    if limit.iops is not None:
        yield f"{number(limit.iops)} IOPS"
    if limit.bandwidth is not None:
        yield quantity(limit.bandwidth, "bytes_per_second")
    if limit.break_even is not None:
        yield f"break-even {bytes_(limit.break_even)} per request: bandwidth binds above, IOPS below"
    if limit.iops_size:
        yield f"one I/O per {bytes_(limit.iops_size)}"
    if limit.group:
        yield f"shared in group {limit.group}"
    if limit.unheld:
        yield f"not enforced: {limit.unheld}"
    if known.burst_left is not None:
        yield f"bursting, up to {duration(known.burst_left)} left"


def _use(item: LimitedVolume) -> Iterator[str]:
    known = item.known
    if known is None or not known.samples:
        if known is not None and known.limit.limited not in {None, "none"}:
            yield "no counter" if not known.measured else "collecting data"
        return
    if known.binding:
        share = percent(known.share) if known.certain else f"{percent(known.low)} to {percent(known.share)}"
        yield f"{share}% of its {known.binding} limit"
    if not known.certain:
        yield f"sum of {known.limit.sharers} mappings"
    yield f"at limit {percent(known.at_limit)}% of {duration(known.seconds)}"
    if known.size is not None:
        yield f"requests of {bytes_(known.size)}"
    if known.headroom is not None:
        yield f"headroom {number(known.headroom)}/s"
    split = known.split
    if split.wait is not None and split.limit is not None:
        least = "at least " if split.least else ""
        yield f"await {least}{wait(split.wait)} ms = limit {wait(split.limit)} + disks {wait(split.disks)}"


def _is(item: LimitedVolume) -> Iterator[str]:
    volume, limit = item.volume, item.limit
    if volume is not None:
        yield " ".join(word for word in (volume.provisioning or "", quantity(volume.size, "bytes")) if word)
        yield f"pool {volume.pool or '-'} of {volume.cluster}"
        if volume.mapped:
            yield f"mapped to {volume.mapped}"
        if volume.local:
            yield f"local: {volume.local}"
    if limit is not None and limit.device:
        yield f"device {limit.device}"


_LEAST = 4
"""Minimum lines of the space in use beside volumes with limits."""


def _fullest(scene: Scene) -> str:
    """Return the note of the space in use: how many stores there are, and how many are accused."""
    known = stores(scene.window, scene.in_force)
    accused = sum(store.severity in MARKS for store in known)
    return f"{counted(len(known), 'store')}{f', {accused} with a finding' if accused else ''}"


def _nothing(scene: Scene) -> str:
    said = scene.unseen(SOURCES)
    if said:
        return f"no volume or limit found; {said}"
    return "no cluster volumes, no I/O limits"
