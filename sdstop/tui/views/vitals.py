"""Summary of the node: processors, memory, pressure and the total disk I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style

from sdstop.analysis.drives import PAST, DiskTotals, totals
from sdstop.collectors.network.interfaces import InterfaceActivity
from sdstop.collectors.system.node import CpuActivity, Node, Pressure
from sdstop.core.format import bytes_, duration, number, percent, quantity
from sdstop.core.model import Reading
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.graph import area, bar, samples, step
from sdstop.tui.widgets.palette import FAINT, READ, STRONG, WRITE, Line, pairs, text, width_of
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.strip import cells, spark

CHART = 5
"""Height of a chart in lines."""


class Flow(Struct, frozen=True):
    """Accessors for the bytes and requests of reads or writes in disk totals."""

    size: Callable[[DiskTotals], float]
    count: Callable[[DiskTotals], float]
    style: Style


_READ = Flow(lambda t: t.read_bytes, lambda t: t.reads, READ)
_WRITE = Flow(lambda t: t.write_bytes, lambda t: t.writes, WRITE)


def cpu(scene: Scene) -> CpuActivity | None:
    """Return the activity of all processors together."""
    return scene.rows(CpuActivity)[0].get("all")


def node(scene: Scene) -> Node | None:
    """Return the node's only row."""
    return next(iter(scene.rows(Node)[0].values()), None)


def mark(scene: Scene, family: type[Reading]) -> str:
    """Return the prefix of a family's numbers: `~` if they are stale."""
    return "~" if scene.rows(family)[1] else " "


def memory_used(n: Node | None) -> float | None:
    """Return the share of memory that is not available without swapping."""
    if n is None or not n.memory_total or n.memory_available is None:
        return None
    return 1 - n.memory_available / n.memory_total


def series(scene: Scene, read: Callable[[DiskTotals], float], width: int) -> list[float | None]:
    """Return a total of all disks, one value per second, the newest last."""
    samples = [(ends, seconds, read(total)) for ends, seconds, total in totals(scene.window)]
    return cells(samples, samples[-1][0], width) if samples else [None] * width


def brief_rows(scene: Scene) -> list[Row]:
    """Return two rows for a small screen."""
    return [Row(line=lambda width: _node_line(scene, width)), Row(line=lambda width: _io_line(scene, width))]


def _node_line(scene: Scene, width: int) -> Line:
    n, c = node(scene), cpu(scene)
    parts: list[Segment] = [Segment(" ")]

    def add(line: Line) -> None:
        if width_of(parts) + width_of(line) <= width:
            parts.extend(line)

    add(
        text(
            (f"cpu{mark(scene, CpuActivity)}", FAINT),
            f"{percent(c.busy if c else None):>4} ",
            *pairs(bar(c.busy if c else None, 8, scene.palette)),
        )
    )
    add(text(("  iowait ", FAINT), percent(c.iowait if c else None)))
    used = memory_used(n)
    add(text((f"  mem{mark(scene, Node)}", FAINT), f"{percent(used):>4} ", *pairs(bar(used, 8, scene.palette))))
    add(text(("  load ", FAINT), number(n.load1 if n else None)))
    stalled = _stalled(scene, "io")
    if stalled is not None:
        add(text(("  stalled on io ", FAINT), f"{percent(stalled)}%"))
    add(text(("  up ", FAINT), duration(_uptime(n, scene))))
    add(text(("  ", FAINT), (scene.palette.word(n.kernel if n and n.kernel else "", 40), FAINT)))
    return tuple(parts)


def _stalled(scene: Scene, resource: str) -> float | None:
    row = scene.rows(Pressure)[0].get(resource)
    return row.some_avg10 if row is not None else None


def _uptime(n: Node | None, scene: Scene) -> float | None:
    if n is None:
        return None
    if n.uptime is not None:
        return n.uptime
    up = scene.now.taken - n.boot_time if n.boot_time else -1.0
    return up if up >= 0 else None  # unknown: the clock was set back


def _io_line(scene: Scene, width: int) -> Line:
    room = min(max((width - 58) // 2, 0), PAST)
    return (Segment(" "), *_io("read", _READ, scene, room), Segment("  "), *_io("write", _WRITE, scene, room))


def _io(title: str, flow: Flow, scene: Scene, room: int) -> Line:
    now = totals(scene.window)
    last = now[-1][2] if now else None
    values = series(scene, flow.size, samples(room, scene.palette))
    strip = spark(values, room, _top(values), scene.palette, flow.style)
    size, count = (flow.size(last), flow.count(last)) if last is not None else (None, None)
    return text(
        (f"{title} ", flow.style), (f"{quantity(size, 'bytes_per_second'):>10}", STRONG), f" {number(count):>5}/s ",
        *pairs(strip),
    )  # fmt: skip


def _top(values: Sequence[float | None]) -> float:
    return step(max((v for v in values if v is not None), default=0.0) / (1 << 20)) * (1 << 20)


def wide_rows(scene: Scene, scene_width: int) -> list[Row]:
    """Return the summary with charts, for a large screen."""
    facts = _facts(scene)
    side = max(map(width_of, facts)) + 4
    room = max(min((scene_width - side - 4) // 2, PAST), 16)
    read, write = _chart("reads", _READ, scene, room), _chart("writes", _WRITE, scene, room)

    def line(at: int) -> Callable[[int], Line]:
        def paint(width: int) -> Line:
            left = facts[at] if at < len(facts) else ()
            blank = max(width - 2 * room - 4 - width_of(left), 0)
            return (*left, Segment(" " * blank), *read[at], Segment("    "), *write[at])

        return paint

    return [Row(line=line(at)) for at in range(CHART + 1)]


def _chart(title: str, flow: Flow, scene: Scene, room: int) -> list[Line]:
    now = totals(scene.window)
    last = now[-1][2] if now else None
    values = series(scene, flow.size, samples(room, scene.palette))
    top = _top(values)
    size, count = (flow.size(last), flow.count(last)) if last is not None else (None, None)
    head = text((f"{title} ", flow.style), (quantity(size, "bytes_per_second"), STRONG), f"  {number(count)}/s")
    end = f"of {quantity(top, 'bytes_per_second')}, {len(values)} s" if last is not None else ""
    first = (*head, Segment(" " * max(room - width_of(head) - len(end), 1)), Segment(end, FAINT))
    return [first, *(text((drawn, flow.style)) for drawn in area(values, room, CHART, top, scene.palette))]


def _facts(scene: Scene) -> list[Line]:
    n, c = node(scene), cpu(scene)
    used = memory_used(n)
    word = scene.palette.word
    memory = f"{bytes_(n.memory_total)}" if n is not None and n.memory_total else "-"
    dirty = f"  dirty {bytes_(n.memory_dirty)}" if n is not None and n.memory_dirty is not None else ""
    loads = [number(v) for v in (n.load1, n.load5, n.load15)] if n is not None else ["-"]
    net = scene.rows(InterfaceActivity)[0].values()
    real = [i for i in net if i.interface != "lo"]
    kernel = word(n.kernel, 40) if n is not None and n.kernel else "-"
    return [
        text((f"{mark(scene, Node)}kernel   ", FAINT), kernel, ("  up ", FAINT), duration(_uptime(n, scene))),
        _gauge_line(
            f"{mark(scene, CpuActivity)}cpu",
            c.busy if c else None,
            f"  iowait {percent(c.iowait if c else None)}",
            scene,
        ),
        _gauge_line(f"{mark(scene, Node)}memory", used, f"  of {memory}{dirty}", scene),
        _gauge_line(f"{mark(scene, Pressure)}io stall", _stalled(scene, "io"), "  of the last 10 s", scene),
        text(
            (f"{mark(scene, Node)}load     ", FAINT),
            "  ".join(loads),
            (f"  {n.cpus} cpus" if n is not None and n.cpus else "", FAINT),
        ),
        text(
            (f"{mark(scene, InterfaceActivity)}network  ", FAINT),
            f"rx {quantity(sum(i.rx_bytes_per_second for i in real) if real else None, 'bytes_per_second')}",
            f"  tx {quantity(sum(i.tx_bytes_per_second for i in real) if real else None, 'bytes_per_second')}",
        ),
    ]


def _gauge_line(title: str, ratio: float | None, more: str, scene: Scene) -> Line:
    head = text((f"{title:<9} ", FAINT), f"{percent(ratio):>5} ")
    return (*head, *bar(ratio, 16, scene.palette), *text((more, FAINT)))
