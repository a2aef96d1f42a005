"""Rates and latencies of two sides by group of devices, as far as they differ by more than noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.analysis.comparison.findings import TELLING
from sdstop.analysis.comparison.load_totals import DeviceTotals, LoadTotals, WaitDistribution
from sdstop.analysis.comparison.sides import ComparedSide
from sdstop.collectors.block.readings import BlockDevice
from sdstop.core.format import natural

FEWEST = 100
"""Requests of a group from which its p99 is compared."""
FEWEST_MEDIAN = 20
"""Requests of a group from which its p50 is compared."""
_FLOORS = {"per_second": 5.0, "bytes_per_second": 1e6, "seconds": 0.0005, "ratio": 0.1}
"""Least difference that counts, by unit."""
_SHARES = frozenset({"ratio"})
"""Units of which the difference alone counts: a share of 2% instead of 1% did not change."""


class LoadFigure(Struct, frozen=True):
    """Rate, latency or share of a group, in base units; None if that side has no two samples, or too few requests."""

    group: str
    title: str
    unit: str
    before: float | None
    after: float | None

    @property
    def telling(self) -> bool:
        """Whether both are known and differ by more than noise."""
        if self.before is None or self.after is None:
            return False
        low, high = sorted((self.before, self.after))
        if high - low < _FLOORS[self.unit]:
            return False
        return self.unit in _SHARES or low * TELLING <= high

    @property
    def known(self) -> bool:
        """Whether both sides have it."""
        return self.before is not None and self.after is not None


class ComparedLoads(Struct, frozen=True):
    """Result: figures that changed, and how many did not; `missing` names the sides without rates, "" if both have."""

    changed: tuple[LoadFigure, ...]
    same: int
    missing: str = ""


def compared_loads(a: ComparedSide, b: ComparedSide, names: Mapping[str, str]) -> ComparedLoads:
    """Compare the loads of groups that both sides have; `names` are devices that have another name in B."""
    changed: list[LoadFigure] = []
    same = 0
    for figure in _figures(a, b, names):
        if figure.telling:
            changed.append(figure)
        else:
            same += figure.known
    lacking = [name for name, side in (("A", a), ("B", b)) if not _has_rates(side.loads)]
    return ComparedLoads(tuple(changed), same, " and ".join(lacking))


def _has_rates(loads: LoadTotals) -> bool:
    return bool(loads.devices or loads.ports or loads.caches)


def _figures(a: ComparedSide, b: ComparedSide, names: Mapping[str, str]) -> Iterator[LoadFigure]:
    left, right = _groups(a), _groups(b)
    renamed_left = {names.get(group, group): totals for group, totals in left.items()}
    for group in sorted(renamed_left.keys() & right.keys(), key=natural):
        one, other = renamed_left[group], right[group]
        yield from _disk_figures(group, one, other)
    for port in sorted(a.loads.ports.keys() & b.loads.ports.keys(), key=natural):
        before, after = a.loads.ports[port], b.loads.ports[port]
        for title, unit, old, new in (
            ("received", "bytes_per_second", before.received, after.received),
            ("sent", "bytes_per_second", before.sent, after.sent),
            ("errors and drops", "per_second", before.lost, after.lost),
        ):
            yield LoadFigure(port, title, unit, _rate(old, before.seconds), _rate(new, after.seconds))
    for key in sorted(a.loads.caches.keys() & b.loads.caches.keys()):
        cached, now = a.loads.caches[key], b.loads.caches[key]
        group = f"cache {key[0]}"
        yield LoadFigure(group, "hits", "ratio", _share(cached.hits, cached.requests), _share(now.hits, now.requests))
        yield LoadFigure(
            group, "bypassed", "ratio", _share(cached.bypassed, cached.requests), _share(now.bypassed, now.requests)
        )


class _GroupTotals(Struct):
    """Load of the devices of a group, together; `seconds` is the longest time that one of them was watched."""

    seconds: float
    reads: float
    writes: float
    read_bytes: float
    written_bytes: float
    busy: float | None
    read_waits: WaitDistribution
    write_waits: WaitDistribution


def _together(devices: Sequence[DeviceTotals]) -> _GroupTotals:
    reads, writes = WaitDistribution(), WaitDistribution()
    for each in devices:
        reads.join(each.read_waits)
        writes.join(each.write_waits)
    timed = sum(each.timed for each in devices)
    return _GroupTotals(
        max(each.seconds for each in devices),
        sum(each.reads for each in devices), sum(each.writes for each in devices),
        sum(each.read_bytes for each in devices), sum(each.written_bytes for each in devices),
        sum(each.busy for each in devices) / timed if timed else None, reads, writes,
    )  # fmt: skip


def _groups(side: ComparedSide) -> dict[str, _GroupTotals]:
    """Return the load of volumes, of the disks of each array or pool, and of other disks by model."""
    window, devices = side.window, side.loads.devices
    found: dict[str, list[str]] = {}
    grouped: set[str] = set()
    topology = window.topology
    for group in topology.groups():
        if group.upper is None:
            continue
        disks = {thing.device for member in group.members for thing in topology.disks(member) if thing.device}
        disks &= devices.keys()
        if disks and f"disks of {group.upper.label}" not in found:
            grouped |= disks
            found[f"disks of {group.upper.label}"] = sorted(disks, key=natural)
    rows = window.rows(BlockDevice)
    for name in devices:
        if name in grouped:
            continue
        row = rows.get(name)
        if row is not None and row.parent and row.kind not in {"md", "dm"}:
            continue  # a partition: its disk has the load
        thing = topology.exact(name)
        if row is not None and row.model and (thing is None or not topology.is_stacked(thing)):
            found.setdefault(f"{row.model.strip()} disks", []).append(name)
        else:
            found.setdefault(thing.label if thing is not None else name, []).append(name)
    return {group: _together([devices[name] for name in members]) for group, members in found.items()}


def _disk_figures(group: str, a: _GroupTotals, b: _GroupTotals) -> Iterable[LoadFigure]:
    for title, unit, old, new in (
        ("reads", "per_second", a.reads, b.reads),
        ("writes", "per_second", a.writes, b.writes),
        ("read", "bytes_per_second", a.read_bytes, b.read_bytes),
        ("written", "bytes_per_second", a.written_bytes, b.written_bytes),
    ):
        yield LoadFigure(group, title, unit, _rate(old, a.seconds), _rate(new, b.seconds))
    for word, one, other in (("read", a.read_waits, b.read_waits), ("write", a.write_waits, b.write_waits)):
        for name, share, least in (("p50", 0.5, FEWEST_MEDIAN), ("p99", 0.99, FEWEST)):
            yield LoadFigure(
                group, f"{word} latency {name}", "seconds",
                one.quantile(share) if one.requests >= least else None,
                other.quantile(share) if other.requests >= least else None,
            )  # fmt: skip
    yield LoadFigure(group, "busy", "ratio", a.busy, b.busy)


def _rate(amount: float, seconds: float) -> float | None:
    return amount / seconds if seconds else None


def _share(part: float | None, requests: float) -> float | None:
    return part / requests if part is not None and requests >= FEWEST_MEDIAN else None
