"""Configured I/O limits of volumes, from any enforcing component, and their use.

PowerFlex limits a mapping (a volume for one SDC), the kernel a control group on a device, QEMU a drive or a group of
drives, librbd an image. They share one family, so that one engine
(sdstop.analysis.limits.limiting) evaluates all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Struct

from sdstop.core.columns import Columns
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Derivation, Fact, Kind, Label, Metric, Name, Reading, Source, State, Unplaced

POWERFLEX, CGROUP, QEMU, RBD = "powerflex", "cgroup", "qemu", "rbd"
"""Components that enforce limits."""
TOTAL, READ, WRITE = "total", "read", "write"
"""Directions that a limit counts: reads and writes combined, or one of them."""


class Limit(Reading, frozen=True):
    """I/O limit of a volume, one row per volume, owner and direction; unlimited mappings have a row too.

    `limited` is the limited quantity; a number is None without such a limit, or if it is not reported. Use is reported
    by counters (`used_requests`, `used_bytes`), by rates of the source, or by the block device `device`, which carries
    exactly the limited I/O. With `sharers` above 1 the rates are totals of that many owners, each of which has a
    separate limit.
    """

    family: ClassVar[str] = "limit"
    title: ClassVar[str] = "Limits"
    joined: ClassVar[bool] = True
    numerous: ClassVar[bool] = True
    things: ClassVar = {
        "volume": Identity(
            ThingKind.VOLUME,
            Naming.DEV,
            "{device}",
            aliases=(("{volume:dev}", Naming.LINK), ("{volume}", Naming.VOLUME)),
        ),
        "owner": Identity(ThingKind.CLIENT, Naming.CLIENT),
    }
    joins = (Join("owner", "volume", Relation.USED),)

    volume: Annotated[
        str, Label("Volume", "Limited volume, image, drive of a virtual machine, or block device", names=Name.VOLUME)
    ]
    owner: Annotated[
        str,
        Label(
            "Owner",
            "Throttled client: SDC, control group, virtual machine; empty: every user of the volume",
            names=Name.HOST,
        ),
    ]
    kind: Annotated[str, Label("Kind", "Enforced by: powerflex, cgroup, qemu, rbd", plain=True)]
    direction: Annotated[str, Label("Direction", "Direction: total, read, write", plain=True)]
    limited: Annotated[str | None, State("Limited", "Kind of active limit: both, iops, bandwidth or none", detail=True)]
    iops: Annotated[
        float | None,
        Metric("IOPS", "IOPS limit", "per_second", name="sdstop_limit_requests_per_second", setting=True),
    ] = None
    bandwidth: Annotated[
        float | None,
        Metric("Bandwidth", "Bandwidth limit", "bytes_per_second", name="sdstop_limit_bytes_per_second", setting=True),
    ] = None
    iops_burst: Annotated[
        float | None,
        Metric(
            "IOPS burst",
            "IOPS limit in a burst",
            "per_second",
            name="sdstop_limit_burst_requests_per_second",
            setting=True,
            detail=True,
        ),
    ] = None
    iops_burst_length: Annotated[
        float | None,
        Metric(
            "For", "Maximum burst duration", "seconds", name="sdstop_limit_burst_requests_length_seconds", detail=True
        ),
    ] = None
    bandwidth_burst: Annotated[
        float | None,
        Metric(
            "Bandwidth burst",
            "Bandwidth limit in a burst",
            "bytes_per_second",
            name="sdstop_limit_burst_bytes_per_second",
            setting=True,
            detail=True,
        ),
    ] = None
    bandwidth_burst_length: Annotated[
        float | None,
        Metric("For", "Maximum burst duration", "seconds", name="sdstop_limit_burst_bytes_length_seconds", detail=True),
    ] = None
    iops_size: Annotated[
        int | None,
        Metric(
            "IOPS size",
            "Request size that counts as one I/O; larger ones count as several",
            "bytes",
            setting=True,
            detail=True,
        ),
    ] = None
    group: Annotated[str | None, Fact("Group", "Throttle group whose members share the limit", names=Name.VOLUME)] = (
        None
    )
    unheld: Annotated[str | None, Fact("Not held", "Why the limit is not enforced; empty if it is", plain=True)] = None
    device: Annotated[
        str | None, Fact("Device", "Block device of this node below the limited volume", names=Name.DEVICE)
    ] = None
    size: Annotated[int | None, Metric("Size", "Size of the volume", "bytes", export=False)] = None
    used_requests: Annotated[
        int | None, Metric("Requests", "Requests completed under the limit", kind=Kind.COUNTER)
    ] = None
    used_bytes: Annotated[int | None, Metric("Bytes", "Bytes transferred under the limit", "bytes", Kind.COUNTER)] = (
        None
    )
    stalled: Annotated[
        float | None,
        Metric(
            "Stalled",
            "Minimum time in which a task of the owner was stalled on I/O",
            "seconds",
            Kind.COUNTER,
            detail=True,
        ),
    ] = None
    requests_rate: Annotated[
        float | None,
        Metric(
            "Used IOPS", "Requests per second, as reported", "per_second",
            name="sdstop_limit_used_requests_per_second",
        ),
    ] = None  # fmt: skip
    bytes_rate: Annotated[
        float | None,
        Metric("Used", "Bytes per second, as reported", "bytes_per_second", name="sdstop_limit_used_bytes_per_second"),
    ] = None
    sharers: Annotated[
        int | None, Metric("Sharers", "Number of owners that the reported rates are summed over", detail=True)
    ] = None
    wait: Annotated[
        float | None, Metric("Wait", "Mean request latency including throttling, as reported", "seconds")
    ] = None
    disk_wait: Annotated[
        float | None,
        Metric("Disks' wait", "Mean request latency excluding throttling, as reported", "seconds", detail=True),
    ] = None
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Marked by", "Text that marks its line there", export=False, names=Name.EVIDENCE)] = ""
    used_origin: Annotated[
        str, Fact("Use from", "Key of the evidence of the use", export=False, names=Name.EVIDENCE)
    ] = ""

    @property
    def subject(self) -> str:
        """Stable ID: `vol:NAME`, followed by the owner if the limit has one."""
        return limit_subject(self.volume, self.owner)

    @property
    def break_even(self) -> float | None:
        """Request size in bytes at which both limits are reached; larger requests reach the bandwidth limit first."""
        return self.bandwidth / self.iops if self.bandwidth and self.iops else None

    def iops_at(self, size: float | None) -> float | None:
        """Return the requests per second allowed at a mean size (bytes), or None if unlimited."""
        allowed = []
        if self.iops is not None:
            allowed.append(self.iops / self.weight(size))
        if self.bandwidth is not None and size:
            allowed.append(self.bandwidth / size)
        return min(allowed, default=None)

    def weight(self, size: float | None) -> float:
        """Return the number of requests that one request of this size counts as."""
        return request_weight(size, self.iops_size)

    def source(self, field: str = "") -> Source | None:
        """Return the evidence of the limit or, for fields of its use, the evidence of the use."""
        if field in _USED and self.used_origin:
            ident = self.needle.partition(">")[0] if self.kind == POWERFLEX else ""
            return Source(self.used_origin, f"{ident}>userDataReadBwc,userDataWriteBwc" if ident else "")
        return Source(self.origin, self.needle) if self.origin else None


_USED = frozenset({"used_requests", "used_bytes", "requests_rate", "bytes_rate", "wait", "disk_wait"})


def limit_subject(volume: str, owner: str) -> str:
    """Return the subject of a limit (see Limit)."""
    return f"vol:{volume}@{owner}" if owner else f"vol:{volume}"


def request_weight(size: float | None, iops_size: int | None) -> float:
    """Return the number of requests that one of this size counts as, where `iops_size` bytes are one."""
    return max(1.0, size / iops_size) if size and iops_size else 1.0


def limited(iops: float | None, bandwidth: float | None) -> str:
    """Return the word for the limits that are set: both, iops, bandwidth or none."""
    return "both" if iops and bandwidth else "iops" if iops else "bandwidth" if bandwidth else "none"


class LimitUse(Reading, frozen=True):
    """Use of a limit between two samples, or in one sample if the source reports rates.

    With `sharers` above 1 the rates are totals of that many owners.
    """

    family: ClassVar[str] = "limit_use"
    title: ClassVar[str] = "Use of limits"
    exported: ClassVar[bool] = False
    joined: ClassVar[bool] = True
    rows_of = Unplaced("it follows from two readings of a limit")
    things: ClassVar = {
        "volume": Identity(ThingKind.VOLUME, Naming.VOLUME, aliases=(("{volume:dev}", Naming.LINK),)),
    }

    volume: Annotated[str, Label("Volume", "Limited volume or device", names=Name.VOLUME)]
    owner: Annotated[str, Label("Owner", "Throttled client", names=Name.HOST)]
    kind: Annotated[str, Label("Kind", "Enforced by", plain=True)]
    direction: Annotated[str, Label("Direction", "Direction: total, read, write", plain=True)]
    requests_per_second: Annotated[float | None, Metric("IOPS", "Requests completed under the limit", "per_second")]
    bytes_per_second: Annotated[
        float | None, Metric("Bandwidth", "Bytes transferred under the limit", "bytes_per_second")
    ]
    request_size: Annotated[float | None, Metric("Size", "Mean size of a request", "bytes")]
    sharers: Annotated[int, Metric("Sharers", "Number of owners that the rates are summed over")]
    stalled: Annotated[
        float | None, Metric("Stalled", "Minimum time in which a task of the owner was stalled on I/O", "ratio")
    ]
    wait: Annotated[float | None, Metric("Wait", "Mean request latency including throttling", "seconds")]
    disk_wait: Annotated[float | None, Metric("Disks' wait", "Mean request latency excluding throttling", "seconds")]


def use(before: Columns, after: Columns, seconds: float) -> Columns:
    """Return the use in the `seconds` between two samples of limits.

    A limit has no row if its use is not reported, if a counter was reset, or if it was not there before.
    """
    places = before.beside(after) if seconds > 0 else [None] * len(after)
    is_same = isinstance(places, range)

    def rates(reported: str, counter: str) -> Sequence[float | None]:
        old, new = before.column(counter), after.column(counter)
        if not is_same:
            old = [None if at is None else old[at] for at in places]
        found = [_rate(a, b, seconds) for a, b in zip(old, new, strict=True)]
        told = after.column(reported) if reported else ()
        return [b if a is None else a for a, b in zip(told, found, strict=True)] if _any_known(told) else found

    requests, moved = rates("requests_rate", "used_requests"), rates("bytes_rate", "used_bytes")
    stalled = rates("", "stalled")
    found = {
        **{name: after.column(name) for name in ("volume", "owner", "kind", "direction", "wait", "disk_wait")},
        "requests_per_second": requests,
        "bytes_per_second": moved,
        "request_size": [b / a if a and b is not None else None for a, b in zip(requests, moved, strict=True)],
        "sharers": [each or 1 for each in after.column("sharers")],
        "stalled": [None if each is None else min(each, 1.0) for each in stalled],
    }
    lacks = [at is None or (a is None and b is None) for at, a, b in zip(places, requests, moved, strict=True)]
    if any(lacks):
        known = [place for place, lacking in enumerate(lacks) if not lacking]
        found = {name: [column[place] for place in known] for name, column in found.items()}
    return Columns(LimitUse, found, after, derived=True)


def _any_known(values: Sequence[object]) -> bool:
    """Return whether any value is known."""
    return values.count(None) < len(values)


def _rate(before: float | None, after: float | None, seconds: float) -> float | None:
    return None if before is None or after is None or after < before else (after - before) / seconds


USE = Derivation(Limit, LimitUse, use)
"""Derivation used by every collector of limits."""


class LeakyBucket(Struct, frozen=True):
    """Leaky bucket that allows bursts, as in QEMU (util/throttle.c) and librbd.

    `average` is the leak rate per second, `burst` the highest inflow per second, until the level reaches `burst` times
    `length` (seconds).
    """

    average: float
    burst: float
    length: float

    @property
    def size(self) -> float:
        """Capacity of the bucket."""
        return self.burst * self.length

    def after(self, level: float, rate: float, seconds: float) -> float:
        """Return the level after some seconds at a given rate."""
        return min(max(level + (rate - self.average) * seconds, 0.0), self.size)

    def left(self, level: float, rate: float) -> float | None:
        """Return for how many more seconds this rate is allowed; None if indefinitely."""
        return None if rate <= self.average else max(self.size - level, 0.0) / (rate - self.average)
