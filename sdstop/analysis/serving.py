"""AoE exports on an interface, and how frames split requests before they reach cache or disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.analysis.caching import CacheAnalysis, CacheSteps, recent
from sdstop.analysis.framing import TargetSizes, caches_below, target_sizes
from sdstop.analysis.jumbo import BLOCK, MtuProposal, mtu_advice, mtus_of, named, split_effect
from sdstop.analysis.mtu_change import mtu_changed
from sdstop.collectors.aoe.readings import SECTOR, AoeExport, payload
from sdstop.collectors.network.interfaces import Interface
from sdstop.core import format as human
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


def ambiguity_text(served: TargetAnalysis) -> str:
    """Return a text on why requests may be smaller than the MTU explains; "" if they are not."""
    frame, nic = served.frame, served.nic
    if frame is None:
        return ""
    low, high = mtus_of(frame)
    rival = "partitions of the clients do not begin at multiples of 8 sectors"
    if frame > SECTOR and served.block % frame == 0:
        rival = f"file systems of the clients have blocks of {frame} bytes"
    return (
        f"requests arrive as if frames carried {frame} bytes, though MTU {nic.mtu} of {nic.interface} would allow "
        f"{served.carried}: it may be that somebody on the path has {low}-{high}, or that {rival}"
    )


def asks(served: TargetAnalysis) -> Iterator[str]:
    """Yield commands that distinguish splitting by frames from requests that were partial blocks before."""
    if served.frame is not None:
        yield (
            f"cat /sys/block/etherd*/payload   # on an initiator: {served.frame}? then the path; a multiple of "
            f"{served.block}? then its requests"
        )
        yield "parted DEVICE unit s print   # if they are its requests: do partitions begin at multiples of 8 sectors?"
        yield "blockdev --getbsz DEVICE   # and have file systems blocks of 4096?"


def cause_texts(served: TargetAnalysis, better: MtuProposal | None) -> Iterator[str]:
    """Yield the problem, the corrective setting, and the reason if the MTU does not carry whole blocks.

    The impact on operators is first: the setting is the MTU, but the symptom is a slow cache.
    """
    nic, carried = served.nic, served.carried
    if carried % served.block == 0:
        return
    no_multiple = f"carry {carried} bytes, no multiple of {served.block}"
    worst = worst_of(served)
    if worst is None:
        yield f"frames of {nic.interface} {no_multiple}: {mtu_advice(better)}"
        yield f"That is what MTU {nic.mtu} allows"
        return
    yield f"MTU {nic.mtu} of {nic.interface} sent {_went(*worst)}: {mtu_advice(better)}"
    yield f"Why: frames {no_multiple}"


def worst_of(served: TargetAnalysis) -> tuple[CacheAnalysis, CacheSteps] | None:
    """Return the cache that most requests bypass since the MTU was set; None if uncertain."""
    if served.frame is not None:
        return None
    return max(served.past, key=lambda pair: pair[0].bypass_share(pair[1]) or 0.0, default=None)


def _went(caching: CacheAnalysis, course: CacheSteps) -> str:
    to = human.safe(caching.cache.slow or "the disks")
    share = human.percent(caching.bypass_share(course))
    return f"{share}% of {caching.what} {course.when} past cache {human.safe(caching.cache.cache)} to {to}"


def impact_texts(served: TargetAnalysis) -> Iterator[str]:
    """Yield the effects of frames on requests, and their cost."""
    small = served.sizes.small if served.sizes is not None else None
    counted = f"counted: {human.percent(small)}% of what arrives are no whole blocks" if small is not None else ""
    if served.carried % served.block:
        hurt = split_effect(served.carried, served.block)
        yield f"{hurt} ({counted})" if counted else hurt
    elif counted:
        yield counted.capitalize()
    worst = worst_of(served)
    for caching, course in served.past:
        only = f"Cache {human.safe(caching.cache.cache)} takes whole blocks only"
        if worst is None or worst[0] is not caching:
            yield f"{only}: {_went(caching, course)}{f': {course.promise}' if course.promise else ''}"
        else:
            yield f"{only}{f', so {course.promise}' if course.promise else ''}"
    yield from cost(served)
    paged = [f"e{e.shelf}.{e.slot}" for e in served.exports if not e.direct and not e.read_only]
    if paged:
        yield (
            f"vblade of {named(paged)} goes through the page cache (no -d), which puts pieces together: partial writes "
            "cost a read first"
        )


def cost(served: TargetAnalysis) -> Iterator[str]:
    """Yield the cost per second where rates are known."""
    cut = served.sizes.pieces(served.block) if served.sizes is not None and served.sizes.lately else None
    if cut is not None and cut[0]:
        count, size = cut
        yield f"Cost: {_about(count)} requests a second ({human.quantity(size, 'bytes_per_second')}) in pieces"
    for caching, course in served.past:
        spared = {way: course.spared(way) for way in ("read", "write")}
        words = [f"{_about(rate)} {way}s" for way, rate in spared.items() if rate]
        if words:
            slow = human.safe(caching.cache.slow or "the disks")
            yield f"Whole, the cache would take about {' and '.join(words)} a second off {slow}"


def _about(rate: float) -> str:
    return human.number(round(rate) if rate >= _PLENTY else rate)


_PLENTY = 10
