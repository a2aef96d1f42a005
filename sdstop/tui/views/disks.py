"""Disks: members under their arrays, beside each other in one scale."""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import ComposeResult

from sdstop.collectors.blockdev import BlockDevice
from sdstop.collectors.mdraid import Array
from sdstop.disk import DiskActivity
from sdstop.finding import Finding, Severity
from sdstop.format import bytes_, duration, number, percent, quantity, wait
from sdstop.rebuild_advice import advice
from sdstop.rebuild_progress import Rebuild
from sdstop.rebuilding import Rebuilding, rebuildings
from sdstop.tui.drives import Drive, Group, drives, groups, natural, queue_top, shown
from sdstop.tui.facts import Thing
from sdstop.tui.palette import FAINT, PLAIN, STRONG, Line, text
from sdstop.tui.pane import Pane, Row, words
from sdstop.tui.scene import Scene
from sdstop.tui.table import LineTable
from sdstop.tui.views.cells import counted, gauge, pressed
from sdstop.tui.views.detail import detail_rows
from sdstop.tui.views.devices import (
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
    Spindle,
    row,
)
from sdstop.tui.views.view import View

_COLUMNS = (
    SLOT, DEVICE, READS, WRITES, READ, WRITE, SIZE, IN_FLIGHT, QUEUE, QUEUE_FOLD, READ_WAIT, WRITE_WAIT, WAIT,
    WAIT_FOLD, BUSY, BAR, HEAT, FLAG,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ArrayRow:
    """An array's heading."""

    group: Group

    @property
    def severity(self) -> Severity | None:
        """The worst that is said of the array."""
        return self.group.severity

    @property
    def drive(self) -> Drive | None:
        """The array as a block device."""
        return self.group.drive

    @property
    def opens(self) -> Thing:
        """What a choice of the row leads to."""
        name = self.group.array.array
        rebuilds = ((Rebuild, (r.array, r.operation)) for r in self.group.rebuilds)
        return Thing(name, ((Array, name), *rebuilds, (DiskActivity, name), (BlockDevice, name)))


class Disks(View):
    """Arrays with their members, then all other devices; below, what is known of the one under the cursor."""

    key = "2"

    def compose(self) -> ComposeResult:
        """Lay out the table and the detail."""
        self.main = LineTable("Arrays and disks", _COLUMNS, id="disks")
        self.detail = Pane("Device", id="disk-detail", cursor=False)
        yield self.main
        yield self.detail

    def show(self, scene: Scene) -> None:
        """Paint a moment."""
        self.scene = scene
        self.main.put(_rows(scene), scene.palette, _note(scene))
        self._show_detail()

    def on_pane_moved(self, event: Pane.Moved) -> None:
        """Show what is under the cursor."""
        event.stop()
        self._show_detail()

    def _show_detail(self) -> None:
        if not self.detail.display:
            return
        row = self.main.chosen
        scene = self.scene
        item = row.item if row is not None else None
        drive = item.drive if isinstance(item, Spindle | ArrayRow) else None
        if drive is None:
            self.detail.put((), scene.palette)
            return
        self.detail.title = f"Device {scene.palette.word(drive.name, 60)}"
        self.detail.put(detail_rows(drive, scene), scene.palette)


def _note(scene: Scene) -> str:
    listed = [d for d in drives(scene).values() if d.whole]
    return f"{counted(len(listed), 'disk')}, {counted(len(groups(scene)), 'array')}"


def _rows(scene: Scene) -> list[Row]:
    rows: list[Row] = []
    grouped: set[str] = set()
    for group in groups(scene):
        grouped.add(group.array.array)
        top = queue_top(scene, group.array.array, [drive.name for _, drive in group.members])
        rows.append(_heading(group, scene))
        rows.extend(
            words(_rebuild_line(rebuild, group, scene), None, group, group.array.array) for rebuild in group.rebuilds
        )
        for member, drive in group.members:
            grouped.add(drive.name)
            rows.append(row((group.array.array, drive.name), Spindle(drive, scene, group, member, top)))
    others = [d for d in drives(scene).values() if d.name not in grouped and shown(d)]
    for title, chosen in (
        ("Disks in no array", [d for d in others if d.whole]),
        ("Built upon others", [d for d in others if not d.whole]),
    ):
        if not chosen:
            continue
        top = queue_top(scene, f" {title}", [drive.name for drive in chosen])
        rows.append(words(text((title, STRONG), (f"  {len(chosen)}", FAINT))))
        rows.extend(
            row(("", drive.name), Spindle(drive, scene, None, None, top))
            for drive in sorted(chosen, key=lambda d: natural(d.name))
        )
    if not rows:
        rows.append(words(text(("no block device is known yet", FAINT))))
    return rows


def _heading(group: Group, scene: Scene) -> Row:
    array = group.array
    name = pressed(array.array, group.severity, scene.palette)
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
        peers = f"  peers: queue {number(group.peers.queue)}, wait {wait(group.peers.wait)} ms"
    painted = (
        *text(*((s.text, STRONG + (s.style or PLAIN)) for s in name), f"  {facts}"),
        *text((work + peers, FAINT)),
    )
    return Row((array.array, ""), ArrayRow(group), lambda _: painted, f"{array.array} {facts}")


def _flow(value: float) -> str:
    return quantity(value, "bytes_per_second")


def _facts(array: Array, scene: Scene) -> list[str]:
    word = scene.palette.word
    facts = [word(" ".join(w for w in (array.level or "inactive", array.layout or "") if w), 60)]
    if array.raid_disks is not None:
        facts.append(counted(array.raid_disks, "disk"))
    if array.chunk:
        facts.append(f"{bytes_(array.chunk)} chunk")
    if array.size:
        facts.append(bytes_(array.size))
    facts.append(word(array.state, 30))
    if array.degraded:
        facts.append(f"{array.degraded} missing")
    if array.failed:
        facts.append(f"{array.failed} failed")
    if array.spares:
        facts.append(f"{array.spares} spare")
    if array.action not in {None, "idle"}:
        facts.append(word(array.action, 30))
    return facts


def _rebuild_line(rebuild: Rebuild, group: Group, scene: Scene) -> Line:
    palette = scene.palette
    said = _about(scene, group.array.array)
    words_: list[str] = []
    if rebuild.done is not None and rebuild.total:
        words_.append(f"{percent(rebuild.progress):>5} %")
        words_.append(f"{bytes_(rebuild.done)} of {bytes_(rebuild.total)}")
    if rebuild.state != "running":
        words_.append(palette.word(rebuild.state, 20))
    known = next((k for k in rebuildings(scene.window) if k.rebuild == rebuild), None)
    words_ += _pace(rebuild, known)
    severity = max((f.severity for f in said), key=lambda s: s.rank, default=None)
    style = palette.severity(severity) if severity is not None else PLAIN
    flag = next((f.rule for f in said), "")
    head = text((f"  {palette.word(rebuild.operation, 20):<9} ", style))
    return (*head, *gauge(rebuild.progress, 24, palette), *text(" " + "  ".join(words_), (f"  {flag}", style)))


def _about(scene: Scene, array: str) -> list[Finding]:
    return [f for f in scene.look.judgement.findings if f.rule.startswith("rebuild-") and f.subject == array]


_SURE = 0.5
"""Confidence from which an ETA is told without an `about`."""


def _pace(rebuild: Rebuild, known: Rebuilding | None) -> list[str]:
    """Return how fast it is and when it will be done, by what was seen of it; md's figures only where that is little.

    They mislead after a start, and when nothing moves.
    """
    seen = known.pace if known is not None else None
    if known is not None and known.stands and known.motion is not None:
        seen = known.motion
        return [f"no progress for {'' if seen.moved else 'at least '}{duration(seen.unchanged)}"]
    rate = seen.rate if seen is not None and seen.rate is not None else rebuild.speed
    told = [] if rate is None else [_flow(rate)]
    if seen is not None and seen.eta is not None and seen.latest is not None:
        told.append(f"ETA {'' if (seen.confidence or 0.0) >= _SURE else 'about '}{duration(seen.eta)}")
    elif rebuild.remaining is not None:
        told.append(f"{advice(rebuild).teller} says {duration(rebuild.remaining)} left")
    return told
