"""Columns and rows of tables of block devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from msgspec import Struct

from sdstop.analysis.disks.array_states import ArrayState
from sdstop.analysis.disks.drives import DriveState
from sdstop.analysis.disks.recent_activity import PAST, moments, queues
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Member
from sdstop.core.finding import Severity
from sdstop.core.format import mebibytes, milliseconds, rate, share_of_time, tenths, whole
from sdstop.readings.disk import Disk, DiskActivity
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import IDLE, fold, severity_name
from sdstop.tui.views.view import ViewPlace
from sdstop.tui.widgets import palette as hues
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import FAINT, Line, text, width_of
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.strip import cells, heat
from sdstop.tui.widgets.table import MIB, MS, PERCENT, Cell, TableColumn


class DeviceRow(Struct, frozen=True):
    """A device at a moment; in an array, also its membership, its peers and the array's heat scale."""

    drive: DriveState
    scene: Scene
    group: ArrayState | None = None
    member: Member | None = None
    top: float = 1.0
    inset: int = 0
    """Indentation of the name in cells; reduced if the name needs the room."""
    course: tuple[float | None, ...] = ()
    """Queue of several devices in one row, one value per second; of a single one it is looked up when painted."""

    @property
    def opens(self) -> FactSubject | ViewPlace:
        """Target that Enter opens for this row."""
        name, members = self.drive.name, self.drive.members
        return FactSubject(
            name,
            (
                (DiskActivity, name),
                *((Member, (m.array, m.device)) for m in members),
                (BlockDevice, name),
                (Disk, name),
            ),
        )

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the device."""
        return self.drive.severity


def queue_history(scene: Scene, name: str, width: int = PAST) -> list[float | None]:
    """Return a device's queue length, one value per second, the newest last."""
    runs = moments(scene.window)
    if not runs:
        return [None] * width
    return cells(queues(scene.window, name), runs[-1].started, width)


_NOTHING = frozenset({"-", "0", "0.0"})
"""Cells painted faintly."""


def figure(
    read: Callable[[DiskActivity], float | None], shown: Callable[[float | None], str], scale: float = 1.0
) -> dict[str, Any]:
    """Return column arguments for a numeric field of the activity; `scale` is the heading's unit in base units."""

    def value(item: DeviceRow) -> float | None:
        return None if item.drive.activity is None else read(item.drive.activity)

    def cell(item: DeviceRow, _: int) -> Cell:
        said = shown(value(item))
        return text((said, FAINT)) if item.drive.stale or said in _NOTHING else said

    return {"cell": cell, "value": value, "right": True, "scale": scale}


def _bar(item: DeviceRow, width: int) -> Line:
    a = item.drive.activity
    return bar(None if a is None else a.busy, width, item.scene.palette)


def _heat(item: DeviceRow, width: int) -> Line:
    values = item.course[-width:] if item.course else queue_history(item.scene, item.drive.name, width)
    return heat(values, item.top, item.scene.palette)


def _compared(field: str) -> dict[str, Any]:
    """Return column arguments for a field of the activity as a multiple of the median of its peers."""

    def both(item: DeviceRow) -> tuple[float | None, float | None]:
        own: float | None = getattr(item.drive.activity, field) if item.drive.activity else None
        return own, getattr(item.group.peers, field) if item.group else None

    def value(item: DeviceRow) -> float | None:
        own, middle = both(item)
        if own is None or middle is None:
            return None
        return own / middle if middle >= IDLE else 1.0 if own < IDLE else math.inf

    def cell(item: DeviceRow, _: int) -> Cell:
        own, middle = both(item)
        said = fold(own, middle)
        far = own is not None and middle is not None and own >= 2 * middle > 0
        return said if far else text((said, FAINT))

    return {"cell": cell, "value": value, "right": True, "keep": 9}


def _flag(item: DeviceRow, _: int) -> Line:
    style = item.scene.palette.severity(item.drive.severity) if item.drive.severity else FAINT
    return text((item.drive.flag, style))


def _name(item: DeviceRow, width: int) -> Line:
    drive, palette = item.drive, item.scene.palette
    shown = severity_name(drive.volume or drive.name, drive.severity, palette, stale=drive.stale)
    if item.inset:
        shown = (*text(" " * max(min(item.inset, width - width_of(shown)), 0)), *shown)
    return (*shown, *text((f" {palette.word(drive.name, 64)}", FAINT))) if drive.volume else shown


def _of(item: DeviceRow, _: int) -> Cell:
    names = dict.fromkeys((*(m.array for m in item.drive.members), *item.drive.pools))
    return text((item.scene.palette.word(",".join(names)), FAINT))


def _slot(item: DeviceRow, _: int) -> Cell:
    if item.member is None:
        return ""
    return text((str(item.member.slot) if item.member.slot is not None else item.member.state[:3], FAINT))


DEVICE = TableColumn("device", "DEVICE", 12, _name, lambda i: (len(i.drive.name), i.drive.name), widest=20, rising=True)
ARRAY = TableColumn("array", "ARRAY", 6, _of, lambda i: tuple(m.array for m in i.drive.members), keep=4)
SLOT = TableColumn("slot", "SLOT", 4, _slot, right=True, keep=5)
READS = TableColumn("reads", "r/s", 6, style=hues.READ, keep=6, **figure(lambda a: a.reads_per_second, whole))
WRITES = TableColumn("writes", "w/s", 6, style=hues.WRITE, keep=6, **figure(lambda a: a.writes_per_second, whole))
READ = TableColumn(
    "read", "rMiB/s", 6, style=hues.READ, keep=7, **figure(lambda a: a.read_bytes_per_second, mebibytes, MIB)
)
WRITE = TableColumn(
    "write", "wMiB/s", 6, style=hues.WRITE, keep=7, **figure(lambda a: a.write_bytes_per_second, mebibytes, MIB)
)
SIZE = TableColumn("size", "areq", 5, keep=2, **figure(lambda a: a.size, rate))
QUEUE = TableColumn("queue", "aqu", 6, **figure(lambda a: a.queue, tenths))
READ_WAIT = TableColumn("rwait", "r_ms", 6, style=hues.READ, keep=8, **figure(lambda a: a.read_wait, milliseconds, MS))
WRITE_WAIT = TableColumn(
    "wwait", "w_ms", 6, style=hues.WRITE, keep=8, **figure(lambda a: a.write_wait, milliseconds, MS)
)
WAIT = TableColumn("wait", "await", 6, keep=9, **figure(lambda a: a.wait, milliseconds, MS))
IN_FLIGHT = TableColumn("inflight", "infl", 4, keep=1, **figure(lambda a: a.in_flight, whole))


def _utilization(busy: float | None) -> str:
    """Return a share of time without its sign, which is in the heading."""
    return share_of_time(busy).removesuffix("%")


BUSY = TableColumn("busy", "%util", 5, **figure(lambda a: a.busy, _utilization, PERCENT))
BAR = TableColumn("bar", "", 6, _bar, keep=1, widest=10)
QUEUE_FOLD = TableColumn("xqueue", "xaqu", 5, **_compared("queue"))
WAIT_FOLD = TableColumn("xwait", "xawait", 6, **_compared("wait"))
FLAG = TableColumn("flag", "FLAG", 9, _flag, lambda i: i.drive.urgency, keep=10, widest=10)
"""Fault of the device; sorted by it, the worst device is first."""


def _ruler(width: int) -> str:
    """Return the heading of a strip, with its time range."""
    long, short = f"QUEUE, last {width} s", f"QUEUE {width} s"
    title = long if width >= len(long) + 5 else short
    return f"{title:<{width - 3}}now" if width >= len(title) + 5 else title


HEAT = TableColumn("history", _ruler, 30, _heat, widest=PAST, comfort=PAST, seconds=1.0)
"""Last minute as a heat strip, on the scale of the array."""


def row(key: Hashable, item: DeviceRow) -> Row:
    """Return a device's row; its search text is built only if there is a filter."""
    return Row(key, item, None, partial(_searchable, item.drive))


def _searchable(drive: DriveState) -> str:
    d = drive.device
    facts = (d.model, d.serial, d.wwn, d.by_path, d.dm_name, drive.volume) if d is not None else ()
    arrays = (*(m.array for m in drive.members), *drive.pools)
    return " ".join(str(word) for word in (drive.name, drive.kind, drive.flag, *arrays, *facts) if word)
