"""Parts of a layer: the nearest measured things below a thing, and the wait that its requests spend in them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sdstop.analysis.caches.counters import CacheSteps, cachings
from sdstop.analysis.limits.limit_samples import weighted
from sdstop.analysis.path.load import Load, combined, load_of
from sdstop.collectors.devicemapper.readings import MappedDevice
from sdstop.core.history import Window
from sdstop.core.joins import CONTAINS, ThingKind, Traits
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology

_NO_TRAITS = Traits()
LINEAR = frozenset({"linear", "striped", "crypt", "multipath"})
"""Targets of device mapper that pass each request on, whole or split, and carry nothing else."""


class PartLoad(Struct, frozen=True):
    """A measured thing below a layer; `cached`: it is reached through a cache relation only."""

    thing: Thing
    load: Load
    cached: bool


class Layer(Struct, frozen=True):
    """A thing with its load and its parts. `partial`: some of its parts are not measured."""

    thing: Thing
    load: Load
    parts: tuple[PartLoad, ...]
    traits: Traits
    targets: str
    partial: bool

    @property
    def is_cache(self) -> bool:
        """Whether requests may be answered without the parts that hold the data."""
        return ThingKind.CACHE in self.thing.kinds

    @property
    def passes(self) -> bool:
        """Whether every read and write of the layer reaches its parts: md, DRBD, partitions, linear mappings."""
        if self.is_cache or not self.load.exact or self.partial:
            return False
        return not self.targets or LINEAR.issuperset(self.targets.split(","))


def layer_of(window: Window, thing: Thing, load: Load) -> Layer:
    """Return a thing with the nearest measured things below it."""
    topology = window.topology
    found, ends = topology.nearest_below(thing, lambda other: _measured(window, other) is not None)
    loads = ((other, _measured(window, other), cached) for other, cached in found)
    parts = tuple(PartLoad(other, known, cached) for other, known, cached in loads if known is not None)
    mapped = window.where(MappedDevice, "device", thing.device) if thing.device is not None else ()
    return Layer(thing, load, parts, traits_of(topology, thing), mapped[0].targets if mapped else "", bool(ends))


def _measured(window: Window, thing: Thing) -> Load | None:
    """Return the load of a thing whose requests are counted."""
    load = load_of(window, thing)
    return load if load is not None and load.requests is not None else None


def traits_of(topology: Topology, thing: Thing) -> Traits:
    """Return the traits of the groups that belong to a thing, such as the copies of an array."""

    def find() -> Traits:
        found = (group.traits for group in topology.groups() if group.upper is thing)
        return next(found, _NO_TRAITS)

    return topology.once(("path.traits", thing.place), find)


def below_wait(window: Window, layer: Layer) -> float | None:
    """Return the mean time that a request of a layer spends in the parts below it, None if it is unknown.

    Parts are weighted by the requests that use them: a mirror's writes use both legs at the same time, a cache's
    requests the cache device or, for the share that misses or bypasses it, the device with the data. Without a request
    nothing waits.
    """
    requests = layer.load.requests
    if not layer.parts or not requests:
        return None
    if layer.is_cache:
        return _cache_wait(window, layer, requests)
    return _through(layer.load, combined(part.load for part in layer.parts), layer.traits.parity or 0)


def _through(load: Load, parts: Load | None, parity: int) -> float | None:
    """Return the wait of a layer's mixture of reads and writes in parts that work at the same time."""
    if parts is None or parts.wait is None:
        return None
    if load.reads is None or load.writes is None or parts.read_wait is None or parts.write_wait is None:
        return parts.wait
    wait_of_write = parts.write_wait
    if parity and load.writes:  # a small write reads old data and parity before it writes
        updates = max((parts.reads or 0.0) - load.reads, 0.0) / load.writes
        wait_of_write += min(updates, 1.0) * parts.read_wait
    return weighted([(parts.read_wait, load.reads), (wait_of_write, load.writes)])


def _cache_wait(window: Window, layer: Layer, requests: float) -> float | None:
    fast = combined(part.load for part in layer.parts if part.cached)
    slow = combined(part.load for part in layer.parts if not part.cached)
    if fast is None or slow is None or (fast.wait is None and slow.wait is None):
        return None
    share = slow_share(window, layer.thing)
    if share is None:
        waits = [(load.wait or 0.0) * min((load.requests or 0.0) / requests, 1.0) for load in (fast, slow)]
        return waits[0] + waits[1]
    return (1 - share) * (fast.wait or 0.0) + share * (slow.wait or 0.0)


def slow_share(window: Window, cache: Thing) -> float | None:
    """Return the share of a cache's requests that need the device with the data, None if it does not count them."""
    steps = cache_steps(window, cache)
    if steps is None or not steps.came:
        return None
    hits = steps.hits
    return None if hits is None else min(max(1 - hits / steps.came, 0.0), 1.0)


def cache_steps(window: Window, cache: Thing) -> CacheSteps | None:
    """Return the growth of a cache's counters in the last minute, None if it is unknown."""
    for known in cachings(window):
        if known.cache.device is not None and known.cache.device == cache.device:
            return known.recent
    return None


def exclusive(topology: Topology, layer: Layer) -> bool:
    """Return whether only this layer uses its parts."""
    lower = {part.thing for part in layer.parts}
    return all(_only(topology, layer.thing, part) for part in lower)


def _only(topology: Topology, thing: Thing, part: Thing) -> bool:
    users: Sequence[Thing] = [other for other, how in topology.upper(part).items() if how in CONTAINS]
    return all(user is thing or thing in topology.above(user) for user in users)
