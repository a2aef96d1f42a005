"""Graphs of a device page: pairs of numbers over time, found by the names of the fields that readings declare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.analysis.latest import past_rows
from sdstop.analysis.thing_parts import Part
from sdstop.core.format import NONE, share_of_time
from sdstop.core.history import KEEP, Moment, Window
from sdstop.core.joins import Relation
from sdstop.core.model import Column, Kind, Metric, Reading, schema
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology
from sdstop.readings.disk import DiskActivity
from sdstop.tui.widgets.graph import Axis, plot, samples, traffic
from sdstop.tui.widgets.palette import HEAT, OTHER, READ, WRITE, Line, Palette
from sdstop.tui.widgets.strip import Sample, cells

MIB = float(1 << 20)
PAST = 60.0
"""Seconds shown of fast sources; of slow ones, as long as a window holds."""
LABELS = 9
"""Cells before a graph for its current values and its maximum."""


class Pair(Struct, frozen=True):
    """Fields of a reading that are drawn as one graph: `up`, and `down` unless it is "", with their short names.

    `scale` is the number in base units that the graph shows as 1. With `apart`, each has a scale of its own, and
    `down` is a share of 1 that rises too. `quiet`: only drawn if any value is not 0. `only`: the family that it is of.
    `neutral`: neither reads and writes nor received and sent, whose colors it therefore does not have.
    """

    title: str
    up: str
    down: str = ""
    names: tuple[str, str] = ("r", "w")
    scale: float = 1.0
    apart: bool = False
    quiet: bool = False
    only: str = ""
    neutral: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that a family must have."""
        return tuple(field for field in (self.up, self.down) if field)


_RX = ("rx", "tx")
PAIRS = (
    (
        Pair("Throughput, MiB/s", "read_bytes_per_second", "write_bytes_per_second", scale=MIB),
        Pair("Throughput, MiB/s", "rx_bytes_per_second", "tx_bytes_per_second", _RX, MIB),
        Pair("Throughput, MiB/s", "received_per_second", "sent_per_second", _RX, MIB),
        Pair("Throughput, MiB/s", "read_bytes", "written_bytes", scale=MIB),
        Pair("Throughput, MiB/s", "read", "write", scale=MIB),
        Pair("Throughput, MiB/s", "bytes_per_second", names=("", ""), scale=MIB),
        Pair("Throughput, MiB/s", "bytes_rate", names=("", ""), scale=MIB),
        Pair("Rebuild, MiB/s", "speed", names=("", ""), scale=MIB, only="rebuild"),
    ),
    (
        Pair("Requests, io/s", "reads_per_second", "writes_per_second"),
        Pair("Frames per s", "rx_packets_per_second", "tx_packets_per_second", _RX),
        Pair("Requests, io/s", "reads", "writes"),
        Pair("Requests, io/s", "requests_per_second", names=("", "")),
        Pair("Requests, io/s", "requests_rate", names=("", "")),
        Pair("Segments per s", "in_per_second", "out_per_second", ("in", "out")),
    ),
    (
        Pair("Wait, ms a request", "read_wait", "write_wait", scale=0.001),
        Pair("Wait, ms a request", "wait", names=("", ""), scale=0.001),
        Pair("Hits and misses per s", "hits", "misses", ("hit", "miss")),
        Pair("Errors per s", "rx_errors_per_second", "tx_errors_per_second", _RX, quiet=True),
        Pair("Link errors per s", "invalid_dwords_per_second", "disparity_errors_per_second", ("inv", "disp"),
             quiet=True),
    ),
    (
        Pair("Queue; busy %", "queue", "busy", ("q", "busy"), apart=True),
        Pair("Bypassed and evicted per s", "bypassed", "evicted", ("byp", "evi")),
        Pair("Dropped frames per s", "rx_dropped_per_second", "tx_dropped_per_second", _RX, quiet=True),
    ),
)  # fmt: skip
"""Graphs of a page, in order; of each group, the first pair that a reading about the thing has."""
_UNITS = frozenset({"bytes_per_second", "per_second", "seconds", "ratio", ""})


class Course(Struct, frozen=True):
    """Values of a pair over time: (ends, seconds, value in base units) of each sample, oldest first."""

    pair: Pair
    up: tuple[Sample, ...]
    down: tuple[Sample, ...]

    @property
    def newest(self) -> tuple[float | None, ...]:
        """The last values of both, None if there is none."""
        return tuple(known[-1][2] if known else None for known in (self.up, self.down))


def courses(window: Window, parts: Sequence[Part], thing: Thing | None) -> list[Course]:
    """Return the courses of a thing in a window, at most one of each group of pairs.

    Where no reading about the thing has throughput, it is that of its disks together.
    """
    found = [next(_courses(window, parts, group), None) for group in PAIRS]
    throughput = found[0]
    if thing is not None and (throughput is None or throughput.pair.only):
        found[:1] = [*_of_disks(window, thing), throughput]
    return [course for course in found if course is not None][:4]


def _of_disks(window: Window, thing: Thing) -> list[Course]:
    """Return throughput and requests of the disks that a thing stores its data on, or that are attached to it."""
    names = disks_of(window, thing)
    moments = window.moments(DiskActivity)
    if not names or not moments:
        return []
    sums = [(moment.started, moment.seconds or 0.0, _sums(moment, thing.name, names)) for moment in moments]
    what = f"Disks together ({len(names)})"
    pairs = (
        Pair(f"{what}, MiB/s", "read_bytes_per_second", "write_bytes_per_second", scale=MIB),
        Pair(f"{what}, io/s", "reads_per_second", "writes_per_second"),
    )
    return [
        Course(
            pair, *(tuple((ends, seconds, total[2 * at + side]) for ends, seconds, total in sums) for side in (0, 1))
        )
        for at, pair in enumerate(pairs)
    ]


def disks_of(window: Window, thing: Thing) -> tuple[str, ...]:
    """Return the kernel names of the disks at the bottom of a thing, or attached to it; () for a disk itself."""

    def make() -> tuple[str, ...]:
        below = [other for other in topology.holders(thing) if other.device is not None]
        leaves = [other.device for other in below if not topology.is_stacked(other) and not _is_part(topology, other)]
        return tuple(name for name in leaves if name is not None) or topology.attached(thing)

    topology = window.topology
    return topology.once(("disks of", thing.place), make)


def _is_part(topology: Topology, thing: Thing) -> bool:
    return Relation.PART in topology.lower(thing).values()


def _sums(moment: Moment[DiskActivity], group: str, names: Sequence[str]) -> tuple[float, float, float, float]:
    """Return bytes read and written, reads and writes per second of disks; kept with the sample."""
    known: dict[str, tuple[float, float, float, float]] = moment.memo.setdefault("sums of disks", {})
    if group not in known:
        rows = [row for name in names if (row := moment.rows.get(name)) is not None]
        known[group] = (
            sum(row.read_bytes_per_second for row in rows), sum(row.write_bytes_per_second for row in rows),
            sum(row.reads_per_second for row in rows), sum(row.writes_per_second for row in rows),
        )  # fmt: skip
    return known[group]


def _courses(window: Window, parts: Sequence[Part], group: Sequence[Pair]) -> Iterator[Course]:
    for pair in group:
        for family, key in parts:
            columns = _columns(family, pair.fields) if pair.only in {"", family.family} else None
            if columns is None:
                continue
            rows = past_rows(window, family, key)
            up = _samples(rows, columns[0])
            down = _samples(rows, columns[1]) if pair.down else ()
            known = [value for _, seconds, value in (*up, *down) if seconds > 0 and value is not None]
            if known and (not pair.quiet or any(known)):
                yield Course(pair, up, down)


def _columns(family: type[Reading], fields: Iterable[str]) -> list[Column] | None:
    known = {
        column.name: column
        for column in schema(family).columns
        if isinstance(column.mark, Metric) and column.mark.kind is Kind.GAUGE and column.unit in _UNITS
    }
    chosen = [known.get(field) for field in fields]
    return None if None in chosen else [column for column in chosen if column is not None]


def _samples(rows: Sequence[tuple[float, float, Reading]], column: Column) -> tuple[Sample, ...]:
    found: list[Sample] = []
    for ends, seconds, row in rows:
        value = column.base(getattr(row, column.name))
        passed = seconds or (ends - found[-1][0] if found else 0.0)
        found.append((ends, passed, None if value is None else float(value)))
    return tuple(found)


def shown_seconds(window: Window) -> float:
    """Return how many seconds the graphs show: those of the window if its samples are far apart."""
    return PAST if window.seconds <= KEEP + 1 else window.seconds


def graph_lines(course: Course, now: float, past: float, width: int, rows: int, palette: Palette) -> list[Line]:
    """Return the `rows` lines of a graph that ends `now` and shows `past` seconds."""
    pair = course.pair
    axis = Axis(figure, pair.names, (OTHER, HEAT[5]) if pair.neutral else (READ, WRITE), gutter=LABELS, floor=_LEAST)
    count = samples(axis.room(width), palette)
    up, down = (
        [None if value is None else value / pair.scale for value in cells(known, now, count, past / count)]
        for known in (course.up, course.down)
    )
    last = tuple(None if value is None else value / pair.scale for value in course.newest)
    axis = replace(axis, now=last)
    if not pair.down:
        return plot(up, width, rows, palette, replace(axis, styles=(OTHER, OTHER)))
    if not pair.apart:
        return traffic(up, down, width, rows, palette, axis)
    above = rows - rows // 2
    queue = Axis(figure, pair.names[:1] * 2, (OTHER, OTHER), gutter=LABELS, now=last)
    busy = Axis(_share, pair.names[1:] * 2, (HEAT[5], HEAT[5]), top=1.0, gutter=LABELS, now=last[1:])
    return [*plot(up, width, above, palette, queue), *plot(down, width, rows - above, palette, busy)]


_LEAST = 0.1
"""Least end of a scale."""


def _share(ratio: float | None) -> str:
    return "?" if ratio is None else share_of_time(ratio)


def figure(value: float | None) -> str:
    """Return a number of a graph: one decimal below 100, none above; - if there was nothing to measure."""
    if value is None:
        return NONE
    return f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}" if value < 99_999.5 else f"{value / 1000:.0f}k"
