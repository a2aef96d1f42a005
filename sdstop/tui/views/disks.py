"""Disks: members grouped by array or pool, drawn on one scale per group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from textual.app import ComposeResult

from sdstop.analysis.disks.array_states import ArrayState, array_states
from sdstop.analysis.disks.drives import USABLE, DriveState, shown
from sdstop.analysis.disks.recent_activity import queue_extent
from sdstop.analysis.space.pool_tree import PoolTree, VdevNode, pool_trees
from sdstop.analysis.thing_parts import thing_of
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Array, Member
from sdstop.collectors.zfs.readings import Pool, PoolState, Vdev, VdevLoad
from sdstop.core.finding import Severity
from sdstop.core.format import bytes_, natural, number, percent, quantity, wait
from sdstop.readings.disk import Disk, DiskActivity
from sdstop.readings.rebuild import Rebuild
from sdstop.tui.device.graph_grid import GraphGrid
from sdstop.tui.device.graphs import courses
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import brief_line, causes
from sdstop.tui.views.cells import counted, severity_name
from sdstop.tui.views.detail import detail_rows
from sdstop.tui.views.deviation import PLAIN_WITHIN, block_lines, compared
from sdstop.tui.views.devices import (
    ARRAY,
    BAR,
    BUSY,
    DEVICE,
    FLAG,
    HEAT,
    IN_FLIGHT,
    QUEUE,
    QUEUE_FOLD,
    READ,
    READ_WAIT,
    READS,
    SIZE,
    SLOT,
    WAIT,
    WAIT_FOLD,
    WRITE,
    WRITE_WAIT,
    WRITES,
    DeviceRow,
    row,
)
from sdstop.tui.views.disk_folds import folded
from sdstop.tui.views.rebuilds import all_rebuilds, rebuild_row
from sdstop.tui.views.view import Listing, View, ViewPlace
from sdstop.tui.views.volume_state import volume_rows
from sdstop.tui.widgets.palette import FAINT, PLAIN, STRONG, Line, plain, text
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.strip import heat_scale_max
from sdstop.tui.widgets.table import LineTable, fitted

_COLUMNS = (
    SLOT, DEVICE, READS, WRITES, READ, WRITE, SIZE, IN_FLIGHT, QUEUE, QUEUE_FOLD, READ_WAIT, WRITE_WAIT, WAIT,
    WAIT_FOLD, BUSY, BAR, HEAT, FLAG, replace(ARRAY, chosen=False),
)  # fmt: skip


_DETAIL = 6
"""Lines of the detail, as in the style sheet."""
_AGAINST = 4
"""Minimum lines for the members against their median, including the title."""
_GRAPHED = 5
"""Minimum lines of a graph, including the title."""


class ArrayHeading(Struct, frozen=True):
    """Heading row of an array."""

    group: ArrayState

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the array."""
        return self.group.severity

    @property
    def drive(self) -> DriveState | None:
        """The array as a block device."""
        return self.group.drive

    @property
    def opens(self) -> FactSubject:
        """Target that Enter opens for this row."""
        name = self.group.array.array
        rebuilds = ((Rebuild, (r.array, r.operation)) for r in self.group.rebuilds)
        return FactSubject(name, ((Array, name), *rebuilds, (DiskActivity, name), (BlockDevice, name)))


class PoolHeading(Struct, frozen=True):
    """Heading row of a pool."""

    tree: PoolTree
    drive: DriveState | None = None

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the pool."""
        return self.tree.severity

    @property
    def opens(self) -> FactSubject:
        """Target that Enter opens for this row."""
        name = self.tree.name
        rebuilds = ((Rebuild, (r.array, r.operation)) for r in self.tree.rebuilds)
        return FactSubject(name, ((PoolState, name), (Pool, name), *rebuilds, (VdevLoad, (name, name))))


class VdevRow(Struct, frozen=True):
    """An inner vdev, or a spare that is not a device."""

    line: VdevNode
    drive: DriveState | None = None

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the vdev."""
        return self.line.severity

    @property
    def opens(self) -> FactSubject:
        """Target that Enter opens for this row."""
        vdev = self.line.vdev
        return FactSubject(vdev.vdev, ((Vdev, (vdev.pool, vdev.vdev)), (VdevLoad, (vdev.pool, vdev.vdev))))


class Disks(View):
    """Arrays and pools with their members, then all other devices; below, load and details of the one at the cursor."""

    families = (Array, BlockDevice, Disk, DiskActivity, Member, Pool, PoolState, Rebuild, Vdev, VdevLoad)
    tables = (_COLUMNS,)
    main: LineTable

    @classmethod
    def listed(cls, scene: Scene) -> Iterator[Listing]:
        """Yield the tables with the rows that a search finds here."""
        yield Listing(_COLUMNS, _rows(scene))

    def compose(self) -> ComposeResult:
        """Lay out the table and the detail."""
        self.unfolded: set[str] = set()
        self.left = 0
        self.main = LineTable("Arrays and disks", _COLUMNS, id="disks")
        self.against = Pane("Members", id="against", cursor=False)
        self.graphs = GraphGrid("disk-graphs")
        self.detail = Pane("Device", id="disk-detail", cursor=False)
        yield self.main
        yield self.against
        yield self.graphs
        yield self.detail

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        rows = _rows(scene)
        if len(rows) == 1 and rows[0].key is None:
            rows = self.absent(plain(rows[0].line(0) if rows[0].line else ()), scene, _SOURCES)
        fits = len(rows) <= max(self.room - (_DETAIL if self.detail.display else 0) - self.main.heads, 1)
        if not fits and not self.main.needle and self.main.sort is None:
            rows = folded(rows, scene, self.unfolded)
        self._share_lines(len(rows))
        self.main.put(rows, scene.palette, _note(scene))
        self._show_against()
        self._show_graphs()
        self._show_detail()

    def _share_lines(self, rows: int) -> None:
        """Size the table by its rows; members against their median and graphs share the remaining lines."""
        left = max(self.room - (_DETAIL if self.detail.display else 0) - rows - self.main.heads, 0)
        members = compared(self.scene, "") if left >= _AGAINST else []
        blocks = block_lines(members, self.scene.palette, self.app.size.width, left - 1)
        self.against.display = bool(blocks)
        self.against.styles.height = len(blocks) + 1
        self.left = left - (len(blocks) + 1 if blocks else 0)

    def _show_graphs(self) -> None:
        """Show the load of the row under the cursor in the lines that are left, else of the first thing that has one.

        A row of members that are alike shows the load of their array or pool.
        """
        rows, scene, chosen = self.main.rows, self.scene, self.main.chosen
        candidates = [*([chosen] if chosen is not None else []), *rows] if self.left >= _GRAPHED else []
        for candidate in candidates:
            opens = getattr(candidate.item, "opens", None)
            if isinstance(opens, ViewPlace) and isinstance(candidate.key, tuple):
                opens = next((other.item.opens for other in rows if other.key == candidate.key[0]), None)
            if not isinstance(opens, FactSubject):
                continue
            shown = courses(scene.window, opens.parts, thing_of(scene.window, opens.parts))
            if shown:
                shown = shown if self.left >= 2 * _GRAPHED else shown[:2]
                self.graphs.draw(shown, scene, self.app.size.width, self.left, scene.palette.word(opens.name, 40))
                return
        self.graphs.display = False

    def _show_against(self) -> None:
        """Show the group of the row under the cursor, or the largest one."""
        if not self.against.display:
            return
        row, scene = self.main.chosen, self.scene
        group = str(row.key[0]) if row is not None and isinstance(row.key, tuple) else ""
        members = compared(scene, group)
        lines = block_lines(members, scene.palette, self.against.size.width, self.against.room)
        name = next((a for d in members for a in (*(m.array for m in d.members), *d.pools)), "")
        self.against.title = f"{scene.palette.word(name, 40)}: throughput against the median" if name else "Members"
        self.against.put([words(line) for line in lines], scene.palette, f"within {PLAIN_WITHIN:.0%}: plain")

    def point(self, key: Any) -> None:
        """Put the cursor on a row; if it is folded, show the members of its group one by one."""
        if isinstance(key, tuple) and key and all(each.key != key for each in self.main.rows):
            self.unfolded.add(key[0])
            self.show(self.scene)
        super().point(key)

    def moved(self, pane: Pane) -> None:
        """Show details of the row under the cursor."""
        if pane is self.main:
            self._show_against()
            self._show_graphs()
        self._show_detail()

    def _show_detail(self) -> None:
        if not self.detail.display:
            return
        row = self.main.chosen
        scene = self.scene
        item = row.item if row is not None else None
        drive = item.drive if isinstance(item, DeviceRow | ArrayHeading | PoolHeading | VdevRow) else None
        if drive is None:
            opens = getattr(item, "opens", None)
            name = opens.name if isinstance(opens, FactSubject) else ""
            self.detail.title = scene.palette.word(name, 60) or "Device"
            self.detail.put([*_findings_of(name, scene, self.app.size.width), *_OPENS], scene.palette)
            return
        self.detail.title = f"Device {scene.palette.word(drive.name, 60)}"
        self.detail.put(detail_rows(drive, scene), scene.palette)


_SOURCES = ("diskstats", "blockdev", "mdraid", "zfs", "lvm")
"""Names of the collectors for disks, arrays and pools."""
_OPENS = (words(text((" Enter opens the selected row: its graphs, stack, identity and findings", FAINT))),)
_TOLD = 4
"""Maximum number of findings about a row that is not a device."""


def _findings_of(name: str, scene: Scene, width: int) -> list[Row]:
    """Return a line for each finding about a thing or a part of it."""
    known = [each for each in causes(scene) for subject in each.entry.subjects if name and name in subject]
    return [words(brief_line(each, width - 2)) for each in dict.fromkeys(known)][:_TOLD]


def _note(scene: Scene) -> str:
    listed = [d for d in scene.drives().values() if d.whole]
    arrays, pools = array_states(scene.window, scene.in_force), pool_trees(scene.window, scene.in_force)
    said = f", {counted(len(pools), 'pool')}" if pools else ""
    return f"{counted(len(listed), 'disk')}, {counted(len(arrays), 'array')}{said}"


def _rows(scene: Scene) -> list[Row]:
    rows: list[Row] = []
    grouped: set[str] = set()
    rebuilds = all_rebuilds(scene)
    elsewhere = [r for r in rebuilds if r.kind not in {"md", "zfs", "lvm"}]
    if elsewhere:
        rows.append(words(text(("Rebuilds without a local device", STRONG), (f"  {len(elsewhere)}", FAINT))))
        rows.extend(rebuild_row(rebuild, scene, named=True) for rebuild in elsewhere)
    for group in array_states(scene.window, scene.in_force):
        grouped.add(group.array.array)
        top = _scale(scene, group.array.array, [drive.name for _, drive in group.members])
        rows.append(_heading(group, scene))
        rows.extend(rebuild_row(rebuild, scene, named=False) for rebuild in group.rebuilds)
        for member, drive in group.members:
            grouped.add(drive.name)
            rows.append(row((group.array.array, drive.name), DeviceRow(drive, scene, group, member, top)))
    pools = pool_trees(scene.window, scene.in_force)
    for tree in pools:
        rows.extend(_pool_rows(tree, scene, grouped))
    rows.extend(volume_rows(scene, [rebuild for rebuild in rebuilds if rebuild.kind == "lvm"]))
    others = [d for d in scene.drives().values() if d.name not in grouped and shown(d)]
    for title, chosen in (
        ("Disks outside arrays and pools" if pools else "Disks outside arrays", [d for d in others if d.whole]),
        ("Stacked devices", [d for d in others if not d.whole]),
    ):
        if not chosen:
            continue
        top = _scale(scene, f" {title}", [drive.name for drive in chosen])
        rows.append(words(text((title, STRONG), (f"  {len(chosen)}", FAINT))))
        rows.extend(
            row(("", drive.name), DeviceRow(drive, scene, None, None, top))
            for drive in sorted(chosen, key=lambda d: natural(d.name))
        )
    if not rows:
        empty = "waiting for block devices" if scene.session.origin.live else "no block devices recorded"
        rows.append(words(text((empty, FAINT))))
    return rows


def _scale(scene: Scene, group: str, names: Sequence[str]) -> float:
    """Return the top of the scale for the strips of these devices; `group` identifies them."""
    return heat_scale_max(*queue_extent(scene.window, group, names))


def _pool_rows(tree: PoolTree, scene: Scene, grouped: set[str]) -> list[Row]:
    found = [_pool_heading(tree, scene)]
    found += [rebuild_row(rebuild, scene, named=rebuild.array != tree.name) for rebuild in tree.rebuilds]
    names = [line.drive.name for line in tree.lines if line.drive is not None]
    top = _scale(scene, f"pool {tree.name}", names)
    for line in tree.lines:
        key = (tree.name, line.vdev.vdev)
        if line.drive is None or line.vdev.kind == "draid-spare":
            paint = partial(_vdev_line, line, scene)
            found.append(Row(key, VdevRow(line), paint, f"{tree.name} {line.vdev.vdev}"))
            continue
        grouped.add(line.drive.name)
        found.append(row(key, DeviceRow(line.drive, scene, None, None, top, inset=_inset(line))))
    return found


def _pool_heading(tree: PoolTree, scene: Scene) -> Row:
    pool, word = tree.whole.pool, scene.palette.word
    facts = [f"pool of {counted(len(tree.whole.leaves), 'device')}" if tree.whole.vdevs else "pool"]
    state = word(tree.whole.state, 30)
    bad = scene.palette.severity(tree.severity or Severity.WARNING) if tree.whole.state not in USABLE else PLAIN
    head, facts = facts[0], []
    if pool is not None and pool.size:
        facts.append(f"{bytes_(pool.allocated or 0)} of {bytes_(pool.size)} in use ({percent(pool.used)}%)")
        facts += [f"{percent(pool.fragmentation)}% fragmented"] if pool.fragmentation else []
    if pool is None:
        facts.append("no data from zpool status")
    elif pool.errors:
        facts.append(word(pool.errors, 60))
    scan = f"  {word(pool.last_scan, 90)}" if pool is not None and pool.last_scan and not tree.rebuilds else ""
    name = severity_name(tree.name, tree.severity, scene.palette)
    shown = "".join(f"  {fact}" for fact in facts)
    painted = (
        *text(*((s.text, STRONG + (s.style or PLAIN)) for s in name), f"  {head}  ", (state, bad), shown),
        *text((scan, FAINT)),
    )
    return Row((tree.name, ""), PoolHeading(tree), lambda _: painted, f"{tree.name} {head} {state} {shown}")


def _inset(line: VdevNode) -> int:
    return 1 + 2 * line.vdev.depth


@lru_cache(maxsize=8)
def _before_names(width: int) -> int:
    """Return the number of cells before a device's name in a row of this width."""
    return (
        SLOT.width + 1
        if any(column is SLOT for column, _ in fitted([column for column in _COLUMNS if column.chosen], width))
        else 0
    )


def _vdev_line(line: VdevNode, scene: Scene, width: int) -> Line:
    vdev, palette = line.vdev, scene.palette
    group = "" if vdev.group == "data" else f"{vdev.group} "
    short = vdev.vdev.rpartition("/")[2]
    head = f"{' ' * (_before_names(width) + _inset(line))}{palette.word(group, 20)}{palette.word(short, 60)}"
    style = palette.severity(line.severity) if line.severity is not None else FAINT
    bad = vdev.state not in USABLE
    state = palette.word(vdev.state, 20)
    errors = (
        f"  {vdev.read_errors} read, {vdev.write_errors} write, {vdev.checksum_errors} checksum errors"
        if vdev.errors
        else ""
    )
    return text((head, style), (f"  {state}", palette.severity(Severity.WARNING) if bad else FAINT), errors)


def _heading(group: ArrayState, scene: Scene) -> Row:
    array = group.array
    name = severity_name(array.array, group.severity, scene.palette)
    facts = "  ".join(_facts(array, scene))
    activity = group.drive.activity if group.drive is not None else None
    work = ""
    if activity is not None:
        work = (
            f"  r {_flow(activity.read_bytes_per_second)}  w {_flow(activity.write_bytes_per_second)}"
            f"  {number(activity.completed_per_second)} io/s"
        )
    peers = ""
    if group.peers.queue is not None:
        peers = f"  median of peers: queue {number(group.peers.queue)}, wait {wait(group.peers.wait)} ms"
    flag = group.drive.flag if group.drive is not None and group.severity is not None else ""
    style = scene.palette.severity(group.severity) if group.severity is not None else PLAIN
    painted = (
        *text(*((s.text, STRONG + (s.style or PLAIN)) for s in name)),
        *text((f"  {scene.palette.word(flag, 20)}" if flag else "", style), f"  {facts}"),
        *text((work + peers, FAINT)),
    )
    return Row((array.array, ""), ArrayHeading(group), lambda _: painted, f"{array.array} {facts}")


def _flow(value: float) -> str:
    return quantity(value, "bytes_per_second")


def _facts(array: Array, scene: Scene) -> list[str]:
    word = scene.palette.word
    facts = [word(" ".join(w for w in (array.level or "inactive", array.layout or "") if w), 60)]
    if array.degraded:  # faults first, because the end of the line may be cut
        facts.append(f"{array.degraded} missing")
    if array.failed:
        facts.append(f"{array.failed} failed")
    if array.raid_disks is not None:
        facts.append(counted(array.raid_disks, "disk"))
    if array.action not in {None, "idle"}:
        facts.append(word(array.action, 30))
    if array.chunk:
        facts.append(f"{bytes_(array.chunk)} chunk")
    if array.size:
        facts.append(bytes_(array.size))
    facts.append(word(array.state, 30))
    if array.spares:
        facts.append(counted(array.spares, "spare"))
    return facts
