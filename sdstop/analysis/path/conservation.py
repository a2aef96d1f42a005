"""Conservation between layers: requests, bytes and waits of neighboring layers, and what cannot be true of both.

A layer's requests must reach its parts, whole, split or merged; copies, parity and metadata only add to them. A request
of a layer takes at least as long as those of its parts. Caches may answer alone, thin volumes and snapshots may have
nothing to read, and other users, checks and rebuilds add to what parts carry: these are left out or allowed for.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.path.load import Load, combined
from sdstop.analysis.path.parts import Layer, cache_steps, exclusive
from sdstop.core import format as human
from sdstop.core.history import Window
from sdstop.core.text import added, total
from sdstop.readings.cache import Cache
from sdstop.readings.cluster import ClusterPool, ClusterVolume
from sdstop.readings.rebuild import Rebuild

APART = 0.25
"""Share by which two counts of the same requests may differ: samples begin and end while requests are in flight."""
FEWEST_REQUESTS, FEWEST_BYTES = 10.0, 512 * 1024.0
"""Minimum difference in requests and bytes per second: superblocks, bitmaps and logs are written in small pieces."""
BLOCK = 4096.0
"""Unit of writes below an array: md reads and writes whole pages."""
FASTER, LEAST_WAIT = 0.5, 0.002
"""A layer may wait half as long as its parts (one merged into another that waits already), less 2 ms."""


class Imbalance(Struct, frozen=True):
    """Figures of two layers that cannot both be true; `text` is a sentence without its full stop."""

    upper: str
    lower: str
    text: str


def mismatches(window: Window, layer: Layer) -> Iterator[Imbalance]:
    """Yield where the figures of a layer contradict those of its parts."""
    if not layer.parts:
        return
    parts = combined(part.load for part in layer.parts)
    if parts is None or not parts.exact or not layer.load.exact:
        return
    if layer.is_cache:
        yield from _of_cache(window, layer)
    elif layer.passes:
        yield from _lost(layer, parts)
        if _is_alone(window, layer):
            yield from _extra(layer, parts)
            yield from _faster(layer, parts)


def _name(layer: Layer) -> str:
    return human.safe(layer.thing.label, 40)


def _names(layer: Layer) -> str:
    names = [human.safe(part.thing.label, 40) for part in layer.parts]
    return names[0] if len(names) == 1 else f"its {len(names)} parts"


def _lost(layer: Layer, parts: Load) -> Iterator[Imbalance]:
    """Yield requests or bytes of a layer that its parts do not carry."""
    upper, lower = _name(layer), _names(layer)
    for way in ("read", "write"):
        wanted: float = getattr(layer.load, f"{way}s") or 0.0
        served: float = (getattr(parts, f"{way}s") or 0.0) + getattr(parts, f"merged_{way}s")
        if short(wanted, served, FEWEST_REQUESTS):
            text = f"{upper} does {human.number(wanted)} {way}s/s, {lower} {human.number(served)}, merged ones included"
            yield Imbalance(upper, lower, text)
            continue
        wanted, served = (getattr(load, f"{way}_bytes") or 0.0 for load in (layer.load, parts))
        if short(wanted, served, FEWEST_BYTES):
            moved = "reads" if way == "read" else "writes"
            yield Imbalance(upper, lower, f"{upper} {moved} {human.flow(wanted)}, {lower} {human.flow(served)}")


def short(wanted: float, served: float, fewest: float) -> bool:
    """Return whether `served` is too small for `wanted`, beyond the tolerance."""
    return wanted - served > max(fewest, APART * wanted)


def _is_alone(window: Window, layer: Layer) -> bool:
    """Return whether the parts carry the layer's requests alone: no other user, no rebuild or check."""
    names = {name for _, name in layer.thing.names}
    if any(row.array in names or row.carrier in names for row in window.rows(Rebuild).values()):
        return False
    return exclusive(window.topology, layer)


def _copies(layer: Layer) -> float | None:
    """Return how often a write of the layer is written to its parts, None if it is unknown."""
    traits = layer.traits
    if len(layer.parts) == 1 or layer.targets:
        return 1.0
    if traits.copies is None and traits.parity is None:
        return None
    return float((traits.copies or 1) * (traits.far or 1) + (traits.parity or 0))


def _extra(layer: Layer, parts: Load) -> Iterator[Imbalance]:
    """Yield bytes that the parts carry beyond all that the layer can have caused."""
    copies, load = _copies(layer), layer.load
    if copies is None:
        return
    written = max(load.write_bytes or 0.0, (load.writes or 0.0) * BLOCK) * copies
    read = load.read_bytes or 0.0
    if layer.traits.parity:
        read = max(read, (load.reads or 0.0) * BLOCK) + written * len(layer.parts)
    for way, wanted, served in (("reads", read, parts.read_bytes), ("writes", written, parts.write_bytes)):
        if served is not None and short(served, 2 * wanted, 4 * FEWEST_BYTES):
            upper, lower = _name(layer), _names(layer)
            cause = f"{upper} explains at most {human.flow(wanted)} of it"
            yield Imbalance(upper, lower, f"{lower}: {way} of {human.flow(served)}; {cause}")


def _faster(layer: Layer, parts: Load) -> Iterator[Imbalance]:
    """Yield waits of a layer that are shorter than those of its parts."""
    copies = _copies(layer)
    if copies is None or layer.traits.parity:
        return
    for way, each in (("read", 1.0), ("write", copies)):
        rate: float = getattr(layer.load, f"{way}s") or 0.0
        below: float = getattr(parts, f"{way}s") or 0.0
        wait, lower = getattr(layer.load, f"{way}_wait"), getattr(parts, f"{way}_wait")
        if rate < FEWEST_REQUESTS or below > 1.5 * each * rate or wait is None or lower is None:
            continue
        if wait < FASTER * lower - LEAST_WAIT:
            text = f"a {way} of {_name(layer)} takes {human.wait(wait)} ms, of {_names(layer)} {human.wait(lower)} ms"
            yield Imbalance(_name(layer), _names(layer), text)


def _of_cache(window: Window, layer: Layer) -> Iterator[Imbalance]:
    """Yield requests that a cache passes on, by its own counters, and that the device with the data does not do."""
    steps = cache_steps(window, layer.thing)
    device = layer.thing.device
    cache = next((row for row in window.rows(Cache).values() if row.device is not None and row.device == device), None)
    slow = combined(part.load for part in layer.parts if not part.cached)
    if steps is None or not steps.seconds or cache is None or cache.counts != "requests" or slow is None:
        return
    upper = _name(layer)
    lower = next(human.safe(part.thing.label, 40) for part in layer.parts if not part.cached)
    only_reads = cache.writes is None and cache.reads is not None  # bcache
    what = "reads" if only_reads else "requests"
    came: float = (steps.came or 0) / steps.seconds
    own: float = getattr(layer.load, what) or 0.0
    if short(max(came, own), min(came, own), FEWEST_REQUESTS):
        counted = f"its own counters {human.number(came)}"
        yield Imbalance(upper, upper, f"{upper} does {human.number(own)} {what}/s by diskstats, by {counted}")
    waited, slower = layer.load.wait, slow.wait
    bypass = (steps.bypassed or 0) / steps.came if steps.came else 0.0
    if waited is not None and slower is not None and waited < FASTER * bypass * slower - LEAST_WAIT:
        said = f"{human.percent(bypass)}% of them bypass it to {lower}, which takes {human.wait(slower)} ms"
        yield Imbalance(upper, lower, f"a request of {upper} takes {human.wait(waited)} ms, and {said}")
    for way, words in (("read", "reads"), ("write", "writes")):
        passed = (steps.sum(f"bypassed_{words}", *(("read_misses",) if way == "read" else ())) or 0) / steps.seconds
        served: float = (getattr(slow, words) or 0.0) + getattr(slow, f"merged_{words}")
        if short(passed, served, FEWEST_REQUESTS):
            text = f"{upper} passes {human.number(passed)} {words}/s to {lower}, which does {human.number(served)}"
            yield Imbalance(upper, lower, text)


def cluster_mismatches(window: Window) -> list[Imbalance]:
    """Return where the volumes of a cluster's pool do not add up to the pool's own figures.

    Only for PowerFlex, whose gateway lists all volumes; both figures are those of users, without copies and rebuilds.
    """

    def find() -> list[Imbalance]:
        volumes: dict[tuple[str, str | None], list[ClusterVolume]] = {}
        for row in window.rows(ClusterVolume).values():
            volumes.setdefault((row.cluster, row.pool), []).append(row)
        found = []
        for pool in window.rows(ClusterPool).values():
            rows = volumes.get((pool.cluster, pool.pool), [])
            rates = [total((row.reads, row.writes)) for row in rows]
            whole = total((pool.reads, pool.writes))
            if pool.kind != "powerflex" or not rows or whole is None or any(rate is None for rate in rates):
                continue
            sum_ = added(rate for rate in rates if rate is not None)
            if short(max(sum_, whole), min(sum_, whole), FEWEST_REQUESTS):
                said = f"{len(rows)} volumes do {human.number(sum_)} requests/s, their pool {human.number(whole)}"
                found.append(Imbalance("volumes", human.safe(pool.name, 40), said))
        return found

    return window.once("path.cluster", find)
