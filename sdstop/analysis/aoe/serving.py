"""AoE exports on an interface, and how frames split requests before they reach cache or disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.analysis.aoe.framing import TargetSizes, caches_below, target_sizes
from sdstop.analysis.aoe.jumbo import BLOCK, mtus_of, split_effect
from sdstop.analysis.aoe.mtu_change import mtu_changed
from sdstop.analysis.caches.counters import CacheAnalysis, CacheSteps, recent
from sdstop.collectors.aoe.readings import SECTOR, AoeExport, payload
from sdstop.collectors.network.readings import Interface
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.history import Window


class TargetAnalysis(Struct, frozen=True):
    """Exports on an interface: frame payload by its MTU, and observed request sizes.

    `block` is the size that whole requests are multiples of. `frame` is the apparent frame payload if requests
    contradict the MTU; `past` are the caches that requests bypass for this reason.
    """

    nic: Interface
    exports: Sequence[AoeExport]
    block: int
    carried: int
    sizes: TargetSizes | None
    frame: int | None
    past: Sequence[tuple[CacheAnalysis, CacheSteps]]

    @property
    def small(self) -> float | None:
        """Share of requests that are not whole blocks, if there is recent data."""
        return self.sizes.small if self.sizes is not None and self.sizes.lately else None

    @property
    def direct(self) -> bool:
        """Whether any export bypasses the page cache, which merges pieces and reads whole blocks."""
        return any(export.direct for export in self.exports)

    @property
    def bypass(self) -> float:
        """Largest share of requests that bypasses a cache for this reason."""
        return max((caching.bypass_share(course) or 0.0 for caching, course in self.past), default=0.0)


def look(window: Window, nic: Interface, exports: Sequence[AoeExport], limits: Mapping[str, float]) -> TargetAnalysis:
    """Return the observations about the exports on an interface; `limits` are the rule's."""
    direct = [export for export in exports if export.direct]
    caches = caches_below(window, direct)
    judged = [(caching, caching.judged(limits["requests"])) for caching in caches]
    courses = [(caching, course) for caching, course in judged if course is not None]
    block = max([BLOCK, *(caching.cache.block_size or 0 for caching in caches)])
    devices = [d for e in direct if e.kernel is not None for d in window.topology.devices(e.kernel)]
    sizes = target_sizes(window, devices, courses)
    carried = payload(nic.mtu or 0)
    frame = None
    # Ignore requests from before an MTU change and from shifted exports.
    fresh = mtu_changed(recent(window), nic.interface) is not None
    if sizes is not None and not fresh and not any(begins_within(export, block) for export in direct):
        frame = sizes.frame(carried, block, limits["disagree"])
    # Small requests, measured or inferred from the frame payload, are the only bypass reason to report here.
    cut = (frame or carried) < block if sizes is None else sizes.small > limits["bypass"]
    past = [(c, course) for c, course in courses if cut and (c.bypass_share(course) or 0.0) > limits["bypass"]]
    return TargetAnalysis(nic, exports, block, carried, sizes, frame, past)


def begins_within(export: AoeExport, block: int = BLOCK) -> bool:
    """Return whether the export begins within a block of the device, so that no request can be of whole blocks."""
    return bool(export.offset) and (export.offset or 0) % block != 0


def asks(served: TargetAnalysis) -> Iterator[Advice]:
    """Yield steps that distinguish splitting by frames from requests that were partial blocks before."""
    if served.frame is None:
        return
    low, high = mtus_of(served.frame)
    yield run("aoe-stat", note=f"on an initiator: {served.frame} bytes mean a smaller MTU on the path")
    yield f"Find the device on the path with an MTU of {low}-{high}, unless the clients split their requests."
    yield run("parted", "DEVICE", "unit", "s", "print", note="on a client: partitions begin at multiples of 8 sectors")
    if served.frame > SECTOR and served.block % served.frame == 0:
        note = f"on a client: file systems with blocks of {served.frame} bytes"
        yield run("blockdev", "--getbsz", "DEVICE", note=note)


def cause_text(served: TargetAnalysis) -> str:
    """Return why requests arrive split."""
    nic, carried = served.nic, served.carried
    if served.frame is not None:
        return f"Requests arrive in pieces of {served.frame} bytes; MTU {nic.mtu} allows {carried}."
    small = served.sizes.small if served.sizes is not None else None
    arrive = f"; {human.percent(small)}% arrive split" if small is not None else ""
    return f"Frames carry {carried} bytes, not a multiple of {served.block}{arrive}."


def worst_of(served: TargetAnalysis) -> tuple[CacheAnalysis, CacheSteps] | None:
    """Return the cache that most requests bypass since the MTU was set; None if uncertain."""
    if served.frame is not None:
        return None
    return max(served.past, key=lambda pair: pair[0].bypass_share(pair[1]) or 0.0, default=None)


def impact_text(served: TargetAnalysis) -> str:
    """Return the measured effect on a cache or the rate of split requests, or else the expected effect."""
    worst = worst_of(served)
    if worst is not None:
        caching, course = worst
        share = human.percent(caching.bypass_share(course))
        past, every = caching.past(course)
        counted = ""
        if course.seconds and past is not None and every is not None:
            counted = f": {_about(past / course.seconds)} of {_about(every / course.seconds)} {caching.what}/s"
        return f"{share}% bypass cache {human.safe(caching.cache.cache)}{counted}."
    if not served.direct:
        if all(export.read_only for export in served.exports):
            return "Reads are split into more frames; the page cache merges them (no -d)."
        return "Partial writes can cost a read first in the page cache (vblade no -d)."
    cut = served.sizes.pieces(served.block) if served.sizes is not None and served.sizes.lately else None
    if cut is not None and cut[0]:
        return f"{_about(cut[0])} requests/s ({human.quantity(cut[1], 'bytes_per_second')}) are partial blocks."
    return split_effect(served.carried, served.block)


def _about(rate: float) -> str:
    return human.number(round(rate) if rate >= _PLENTY else rate)


_PLENTY = 10
"""Requests per second that are shown without decimals."""
