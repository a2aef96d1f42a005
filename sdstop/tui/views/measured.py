"""Measured: the numbers behind a finding, each with the number it was compared with and a bar with the threshold."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.collectors.network.readings import Interface, InterfaceActivity
from sdstop.core.finding import Finding, Value
from sdstop.core.format import bytes_, flow, percent, quantity
from sdstop.readings.cluster import Cluster
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import Cause
from sdstop.tui.views.vitals import cpu, memory_used, node, stalled
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import Line, Palette, text, width_of
from sdstop.tui.widgets.roles import role

_TITLE, _VALUE = 20, 11
"""Cells of the name at least, and of the value."""
_BEYOND = 1.5
"""Multiple of a threshold that a scale without an end of its own shows at least."""


class Measure(Struct, frozen=True):
    """A measured number: its name, value and comparison as text; `share` and `mark` are places on its bar, 0 to 1."""

    title: str
    value: str
    against: str = ""
    share: float | None = None
    mark: float | None = None
    accused: bool = False


def measures(finding: Finding) -> list[Measure]:
    """Return the numbers that a finding compared, those compared with something first."""
    found = [_measure(value) for value in finding.values if value.value is not None]
    return [each for each in found if each.against] + [each for each in found if not each.against]


def _measure(value: Value) -> Measure:
    number = value.value if isinstance(value.value, int | float) and not isinstance(value.value, bool) else None
    share, mark, accused, limit = None, None, False, None
    against = ""
    if value.of is not None:
        against = f"of {quantity(value.of, value.unit)}"
        share = number / value.of if number is not None and value.of else None
    elif (limit := value.above if value.above is not None else value.below) is not None:
        against = f"{'>' if value.above is not None else '<'} {quantity(limit, value.unit)}"
        accused = number is not None and (number > limit if value.above is not None else number < limit)
        if number is not None and number >= 0:
            top = 1.0 if value.unit in _SHARES and max(number, limit) <= 1 else max(number, limit * _BEYOND) or 1.0
            share, mark = number / top, limit / top
    elif value.unit in _SHARES and number is not None and 0 <= number <= 1:
        share = number
    said = quantity(value.value, value.unit)
    if accused and number is not None and limit is not None and _same(said, against[2:]):
        said = _exact(number, limit, value.unit) or said
    return Measure(value.title, said, against, share, mark, accused)


def _same(one: str, other: str) -> bool:
    """Return whether two numbers look the same: `3.00` and `3`."""
    return one == other or ("." in one and one.rstrip("0").rstrip(".") == other)


def _exact(number: float, limit: float, unit: str) -> str:
    """Return a number with the decimals that separate it from its threshold; "" beyond three, or for other units."""
    size, sign = {"seconds": (1, "s"), "ratio": (100, "%"), "": (1, "")}.get(unit, (1, None))
    if sign is None:
        return ""
    shown = ((f"{number * size:.{digits}f}", f"{limit * size:.{digits}f}") for digits in (1, 2, 3))
    return next((f"{ours}{sign}" for ours, theirs in shown if ours != theirs), "")


_SHARES = frozenset({"ratio", "progress"})


def node_measures(scene: Scene) -> Iterator[Measure]:
    """Yield the numbers of a node without findings: load, stall, memory, network and cluster."""
    n, c = node(scene), cpu(scene)
    if n is not None and n.load1 is not None:
        of = f"of {n.cpus} cpus" if n.cpus else ""
        yield Measure("load", f"{n.load1:.1f}", of, n.load1 / n.cpus if n.cpus else None)
    if c is not None and c.busy is not None:
        yield Measure("CPU busy", f"{percent(c.busy)}%", f"iowait {percent(c.iowait)}%", c.busy)
    stall = stalled(scene, "io")
    if stall is not None:
        yield Measure("I/O stall, 10 s", f"{percent(stall)}%", "of the time", stall)
    used = memory_used(n)
    if used is not None and n is not None:
        yield Measure("memory used", f"{percent(used)}%", f"of {bytes_(n.memory_total)}iB", used)
    yield from _link(scene)
    for cluster in scene.rows(Cluster)[0].values():
        for title, up, every in (("nodes up", cluster.nodes_up, cluster.nodes),
                                 ("managers up", cluster.managers_up, cluster.managers)):  # fmt: skip
            if up is not None and every:
                yield Measure(f"{cluster.cluster} {title}", str(up), f"of {every}", up / every)


def _link(scene: Scene) -> Iterator[Measure]:
    """Yield the traffic of the busiest interface, in the direction with more of it."""
    rows = [row for row in scene.rows(InterfaceActivity)[0].values() if row.interface != "lo"]
    busiest = max(rows, key=lambda row: max(row.rx_bytes_per_second, row.tx_bytes_per_second), default=None)
    if busiest is None:
        return
    most = max(busiest.rx_bytes_per_second, busiest.tx_bytes_per_second)
    interface = scene.rows(Interface)[0].get(busiest.interface)
    speed = interface.speed if interface is not None else None
    of = f"of {flow(speed)}" if speed else "link speed unknown"
    yield Measure(f"network {busiest.interface}", flow(most), of, most / speed if speed else None)


def measure_lines(known: Sequence[Measure], cause: Cause | None, palette: Palette, width: int, most: int) -> list[Line]:
    """Return a line for each number, at most `most`; long words are wrapped into further lines."""
    bad = cause.role if cause is not None else "other"
    against_ = max([0, *(len(each.against) for each in known[:most])])
    title = min(max([_TITLE, *(len(each.title) for each in known[:most])]), max(width - _VALUE - against_ - 5, 12))
    size = width - title - _VALUE - against_ - 5
    lines = []
    for each in known[:most]:
        name = "other" if not each.accused else bad
        value = palette.word(each.value, 60)
        against = palette.word(each.against, 60)
        parts = text(
            (f" {palette.fit(palette.word(each.title, 60), title)} ", role("dim")),
            (
                palette.fit(value, _VALUE, right=len(value) <= _VALUE),
                role(bad if each.accused else "strong", bold=True),
            ),
            (f" {palette.fit(against, against_)} ", role("dim")),
        )
        if not each.against and len(value) > _VALUE:  # words take the room of the comparison and of the bar
            said = textwrap.wrap(palette.word(each.value, 300), max(width - title - 3, _VALUE)) or [""]
            for at, part in enumerate(said):
                lines.append(
                    text((" " * width_of(parts[:1]) if at else parts[0].text, role("dim")), (part, role("text")))
                )
            continue
        drawn = (
            bar(each.share, size, palette, role(name), mark=each.mark) if size >= 4 and each.share is not None else ()
        )
        lines.append((*parts, *drawn))
    return lines[:most]
