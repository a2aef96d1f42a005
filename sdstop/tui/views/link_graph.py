"""Graphs of one network interface: traffic against its capacity, frames a second, and bytes a frame."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from rich.segment import Segment

from sdstop.analysis.disks.recent_activity import PAST
from sdstop.analysis.latest import past_rows
from sdstop.collectors.network.readings import Interface, InterfaceActivity
from sdstop.core.format import duration, number, tenths, whole
from sdstop.tui.scene import Mode, Scene
from sdstop.tui.widgets.graph import Axis, plot, samples, traffic
from sdstop.tui.widgets.palette import FAINT, OTHER, READ, Line, text
from sdstop.tui.widgets.strip import Sample, spread

MIB = 1 << 20
WARN_AT = 0.8
"""Share of a link's speed that is marked on its bar and in its graph."""
LEAST = 6
"""Minimum height of the graph of traffic in lines."""
_BELOW = 8
"""Minimum height of the graphs below it, including their titles."""
_HIGHEST = 24
"""Lines."""
_GAP = 2
"""Cells between graphs side by side."""

Values = list[float | None]


class LinkHistory(Struct, frozen=True):
    """An interface with its recent activity, oldest first."""

    name: str
    interface: Interface | None
    rows: list[tuple[float, float, InterfaceActivity]]

    @property
    def capacity(self) -> float | None:
        """Speed of one direction in MiB/s, None if unknown."""
        return self.interface.speed / MIB if self.interface is not None and self.interface.speed else None

    def values(self, read: Callable[[InterfaceActivity], float | None], fit: int, *, stretch: bool) -> Values:
        """Return the samples of a number that fit, and at least a minute of them unless they are stretched."""
        course: list[Sample] = [(ends, lasted, read(row)) for ends, lasted, row in self.rows]
        return spread(course, fit if stretch else max(fit, PAST), stretch=stretch)

    def title(self, scene: Scene) -> str:
        """Return the title of the graph."""
        return f"{scene.palette.word(self.name, 40)}, MiB/s"

    def note(self, scene: Scene) -> str:
        """Return the directions, the mark and the time range of the graph."""
        if not self.rows:
            return "no traffic data"
        held = self.rows[-1][0] - self.rows[0][0] + self.rows[0][1]
        of = "speed unknown"
        if self.interface is not None and self.interface.speed:
            of = f"line: {WARN_AT:.0%} of {number(self.interface.speed * 8 / 1e9)} Gb/s"
        return f"rx up, tx down {scene.palette.dot} {of} {scene.palette.dot} {duration(held)}"


def link_history(name: str, scene: Scene) -> LinkHistory:
    """Return an interface with its activity over the window."""
    return LinkHistory(name, scene.rows(Interface)[0].get(name), past_rows(scene.window, InterfaceActivity, name))


def link_lines(link: LinkHistory, scene: Scene, width: int, height: int) -> list[Line]:
    """Return the lines of the graphs: traffic, and below it frames where there is room."""
    if not link.rows or height < LEAST:
        return []
    palette, stretch = scene.palette, scene.mode is Mode.REPLAY
    below = min(height // 3, _HIGHEST // 2) if height >= LEAST + 2 * _BELOW and width >= 100 else 0
    capacity = link.capacity
    axis = Axis(
        tenths if capacity is None or capacity < 100 else whole, ("rx", "tx"), top=capacity,
        limit=None if capacity is None else capacity * WARN_AT, limit_label=f"{WARN_AT:.0%}",
    )  # fmt: skip
    fit = samples(axis.room(width - 1), palette)
    received = link.values(lambda row: row.rx_bytes_per_second / MIB, fit, stretch=stretch)
    sent = link.values(lambda row: row.tx_bytes_per_second / MIB, fit, stretch=stretch)
    high = min(height - below, _HIGHEST)
    lines = traffic(received, sent, width - 1, high - high % 2, palette, axis)  # both ends show the same maximum
    return lines + _frame_lines(link, scene, width - 1, below) if below else lines


def _frame_lines(link: LinkHistory, scene: Scene, width: int, height: int) -> list[Line]:
    """Return two graphs side by side below their titles: frames a second, and bytes a frame against the MTU."""
    palette = scene.palette
    room = (width - _GAP) // 2
    axes = (Axis(whole, ("", ""), (READ, READ)), _sizes(link))
    titles = ("frames a second, both ways", "bytes a frame" + _mtu(link))
    reads = (_frames, _size)
    drawn = []
    for axis, title, read in zip(axes, titles, reads, strict=True):
        fit = samples(axis.room(room), palette)
        values = link.values(read, fit, stretch=scene.mode is Mode.REPLAY)
        drawn.append([palette.rule(title, "", room), *plot(values, room, height - 1, palette, axis)])
    return [(*left, Segment(" " * _GAP), *right) for left, right in zip(*drawn, strict=True)]


def _sizes(link: LinkHistory) -> Axis:
    mtu = link.interface.mtu if link.interface is not None else None
    return Axis(whole, ("", ""), (OTHER, OTHER), top=float(mtu + _HEADER) if mtu else None)


_HEADER = 18
"""Bytes of an Ethernet header and checksum."""


def _mtu(link: LinkHistory) -> str:
    mtu = link.interface.mtu if link.interface is not None else None
    return f", MTU {mtu}" if mtu else ""


def _frames(row: InterfaceActivity) -> float | None:
    return row.rx_packets_per_second + row.tx_packets_per_second


def _size(row: InterfaceActivity) -> float | None:
    """Return the mean size of a frame; None without frames."""
    frames = row.rx_packets_per_second + row.tx_packets_per_second
    return (row.rx_bytes_per_second + row.tx_bytes_per_second) / frames if frames > 0 else None


def busiest(names: list[str], scene: Scene) -> str | None:
    """Return the interface that moves most bytes, preferring real links; None if nothing is known."""
    rows = scene.rows(InterfaceActivity)[0]
    known = [(name != "lo", row.rx_bytes_per_second + row.tx_bytes_per_second, name)
             for name in names if (row := rows.get(name)) is not None]  # fmt: skip
    most = max(known, default=None, key=lambda each: each[:2])
    return most[2] if most is not None else None


def nothing_line(link: LinkHistory, scene: Scene) -> Line:
    """Return the line shown for an interface without rates."""
    return text((f" no traffic data of {scene.palette.word(link.name, 40)} yet: a rate needs two samples", FAINT))
