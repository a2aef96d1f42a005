"""cache-slow: a cache device that takes longer for a request than the disk behind it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sdstop.core.finding import Severity
from sdstop.core.model import Reading
from sdstop.readings.cache import Cache
from sdstop.readings.disk import Disk
from sdstop.rules.caches.cache_slow import CACHE_SLOW
from tests.nodes.cache_rows import BCACHE, DM_CACHE, L2ARC, judged
from tests.nodes.frames import Judged

Work = tuple[float, float, float]
"""Requests a second, wait and busy time of each in ms."""
SLOW_SSD: Work = (20, 25.0, 15.0)
DISK: Work = (50, 0.8, 0.6)


def node(works: Mapping[str, Work], cache: Cache = BCACHE, seconds: int = 25, sectors: float = 8) -> Judged:
    frames: list[list[Reading]] = []
    for second in range(seconds + 1):
        rows: list[Reading] = [cache]
        for name, (rate, wait, busy) in works.items():
            done = round(rate * second)
            moved = round(done * (sectors if name == cache.fast else 8))
            rows.append(
                Disk(name, 8, 0, 0, 0, 0, 0, done, 0, moved, round(done * wait), 1, round(done * busy),
                     round(done * wait))
            )  # fmt: skip
        frames.append(rows)
    return judged([CACHE_SLOW], frames, (Cache, Disk))


def test_a_cache_device_slower_than_its_disk() -> None:
    finding = node({"vdc": SLOW_SSD, "vda": DISK}).finding("bcache0")
    assert (finding.severity, finding.title) == (Severity.WARNING, "CACHE SLOWER THAN ITS DISK: 25.0 ms")
    assert finding.cause == "A request to the cache device waits 25.0 ms, to the disk 0.80 ms."
    assert any("/sys/block/bcache0/bcache/detach" in str(line) for line in finding.advice)


def test_the_advice_fits_the_kind() -> None:
    finding = node({"dm-1": SLOW_SSD, "dm-2": DISK}, DM_CACHE).finding("vg0/vol")
    assert any("lvconvert --splitcache vg0/vol" in str(line) for line in finding.advice)


@pytest.mark.parametrize(
    ("fast", "slow", "fires"),
    [
        ((20, 10.2, 5.2), (50, 0.8, 0.6), True),
        ((20, 9.8, 5.2), (50, 0.8, 0.6), False),  # a short wait
        ((20, 10.2, 4.9), (50, 0.8, 0.6), False),  # little work: a queue alone
        ((20, 25.0, 15.0), (50, 8.2, 4.0), True),
        ((20, 25.0, 15.0), (50, 8.5, 4.0), False),  # the disk is not much faster
        ((20, 25.0, 15.0), (50, 8.0, 5.2), False),
        ((900, 0.2, 0.1), (100, 12.0, 8.0), False),  # as it should be
    ],
)
def test_near_the_thresholds(fast: Work, slow: Work, fires: bool) -> None:  # noqa: FBT001  # a table
    said = node({"vdc": fast, "vda": slow})
    if fires:
        said.finding("bcache0")
    else:
        said.ruled_out("bcache0")


def test_large_requests_take_long() -> None:
    """1 MiB takes 21 ms at 50 MB/s; beside small requests to the disk it is not judged."""
    node({"vdc": (20, 40.0, 25.0), "vda": DISK}, sectors=2048).ruled_out("bcache0")
    said = node({"vdc": (20, 60.0, 40.0), "vda": DISK}, sectors=2048).unchecked("bcache0")
    assert "no requests as large" in said.reason


@pytest.mark.parametrize("works", [{"vdc": SLOW_SSD}, {"vdc": SLOW_SSD, "vda": (0.5, 0.8, 0.6)}])
def test_a_disk_without_requests_is_no_measure(works: Mapping[str, Work]) -> None:
    assert "no requests as large" in node(works).unchecked("bcache0").reason


def test_an_idle_cache_and_a_short_time_are_not_judged() -> None:
    assert "fewer than 40 requests" in node({"vdc": (1, 25.0, 15.0), "vda": DISK}).unchecked("bcache0").reason
    assert node({"vdc": SLOW_SSD, "vda": DISK}, seconds=12).unchecked("bcache0").reason.endswith("12 of 20 s")


def test_a_cache_of_unknown_devices_is_not_judged() -> None:
    assert node({"vdc": SLOW_SSD, "vda": DISK}, L2ARC).unchecked("l2arc").reason.endswith("unknown")
