"""Request sizes: number of requests by size, from any source that counts them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Annotated, ClassVar

from sdstop.core.model import Buckets, Fact, Label, Metric, Name, Reading, Source

EXPORTED = (512, 1024, 2048, 3584, *(1 << power for power in range(12, 23)))
"""Bounds of the exported histogram if exact sizes are known; 3584 separates requests smaller than a 4 KiB block.

Bounds are fixed because one bound per observed size would differ between devices and grow over time.
"""


class RequestSizes(Reading, frozen=True, kw_only=True):
    """Requests by size since `counter` started, one row per device (or whole module) and direction.

    `sizes` is `{bytes: requests of at most this size}`, cumulative; `exact` is 1 if each bound is an actual request
    size, 0 if it is the upper end of a range. `larger` is the number of requests above the largest bound, None if the
    counter does not report it.
    """

    family: ClassVar[str] = "request_sizes"
    title: ClassVar[str] = "Request sizes"
    joined: ClassVar[bool] = True
    rows_of = Source("{where}", "{needle}")

    counter: Annotated[
        str, Label("Counter", "flashcache, issue or queue (tracefs: to the driver, or as received), zpool", plain=True)
    ]
    device: Annotated[
        str, Label("Device", "Kernel name; empty: all caches of the module; zpool: the vdev", names=Name.DEVICE)
    ]
    direction: Annotated[str, Label("Direction", "read, write, discard or flush; empty: all together", plain=True)]
    sizes: Annotated[
        Mapping[int, int],
        Buckets("Requests", "Requests by size", "bytes", name="sdstop_request_size_bytes", shown="histogram"),
    ]
    larger: Annotated[int | None, Metric("Larger", "Requests larger than the largest bound", export=False)] = None
    exact: Annotated[int, Metric("Exact", "Whether bounds are exact request sizes", export=False)] = 1
    lost: Annotated[
        int | None, Metric("Lost", "Requests not counted because the counter's table was full", export=False)
    ] = None
    where: Annotated[str, Fact("Where", "Evidence that it was read from", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Line", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""

    @property
    def counts(self) -> dict[int, int]:
        """Requests by size (or range), smallest first, without empty sizes."""
        found: dict[int, int] = {}
        below = 0
        for bound, count in sorted(self.sizes.items()):
            if count > below:
                found[bound] = count - below
            below = count
        return found

    @property
    def histogram(self) -> dict[float, int]:
        """Cumulative requests by fixed bounds, with the total at infinity; empty if there were none."""
        bounds = sorted(self.sizes)
        total = (self.sizes[bounds[-1]] if bounds else 0) + (self.larger or 0)
        if not total:
            return {}
        if not self.exact:
            return {**{float(bound): count for bound, count in self.sizes.items()}, math.inf: total}
        counts = [0, *(self.sizes[bound] for bound in bounds)]
        return {**{bound: counts[bisect_right(bounds, bound)] for bound in EXPORTED}, math.inf: total}


def cumulative(counts: Mapping[int, int]) -> dict[int, int]:
    """Return `{bytes: requests of at most this size}` from counts by size."""
    total = 0
    return {size: (total := total + counts[size]) for size in sorted(counts)}


def between(before: RequestSizes, after: RequestSizes) -> dict[int, int] | None:
    """Return the requests by size between two samples, or None if the counter was reset."""
    return counts_increase(before.counts, after.counts)


def counts_increase(old: Mapping[int, int], new: Mapping[int, int]) -> dict[int, int] | None:
    """Return the increase of counts by size, or None if one of them decreased."""
    if any(new.get(size, 0) < count for size, count in old.items()):
        return None
    return {size: new[size] - old.get(size, 0) for size in new if new[size] > old.get(size, 0)}


def not_whole(counts: Mapping[int, int], block: int) -> float | None:
    """Return the share of requests whose size is not a multiple of `block`, or None without requests."""
    total = sum(counts.values())
    return sum(count for size, count in counts.items() if size % block) / total if total else None
