"""bcache in sysfs: sizes for people, caches that come and go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.bcache.devices import BCACHE, chosen, size
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.model import Source
from sdstop.core.replay import Replay
from sdstop.core.snapshot import Snapshot
from sdstop.readings.cache import Cache, CacheActivity
from tests.fixtures import opened

BASE, SET = "/sys/block/bcache0/bcache", "/sys/fs/bcache/0-1-2"
NODE = {
    "link:/sys/block/bcache0/bcache": "../../../pci0000:00/ata1/block/sdc/sdc1/bcache",
    f"link:{BASE}/cache": "../../../../fs/bcache/0-1-2",
    f"{BASE}/state": "dirty\n",
    f"{BASE}/cache_mode": "writethrough [writeback] writearound none\n",
    f"{BASE}/dirty_data": "924.5k\n",
    f"{BASE}/sequential_cutoff": "4.0M\n",
    f"{BASE}/writeback_rate": "4.0k\n",
    f"{BASE}/writeback_running": "1\n",
    f"{BASE}/stats_total/cache_hits": "30\n",
    f"{BASE}/stats_total/cache_misses": "10\n",
    f"{BASE}/stats_total/cache_bypass_hits": "2\n",
    f"{BASE}/stats_total/cache_bypass_misses": "5\n",
    f"{SET}/block_size": "0.5k\n",
    **{f"{SET}/cache{n}/nbuckets": "2048\n" for n in (0, 1)},
    **{f"{SET}/cache{n}/bucket_size": "512.0k\n" for n in (0, 1)},
    **{f"{SET}/cache{n}/io_errors": f"{n}\n" for n in (0, 1)},
    f"{SET}/cache0/cache_replacement_policy": "[lru] fifo random\n",
    f"link:{SET}/cache0": "../../../devices/pci0000:00/nvme0/block/nvme0n1/bcache",
    f"link:{SET}/cache1": "../../../devices/pci0000:00/nvme1/block/nvme1n1/nvme1n1p2/bcache",
}


def only(files: dict[str, str]) -> Cache:
    rows = [row for row in BCACHE.read(EvidenceHost.of(files)) if isinstance(row, Cache)]
    assert len(rows) == 1
    return rows[0]


def test_a_bcache() -> None:
    row = only(NODE)
    assert (row.cache, row.kind, row.device, row.fast, row.slow) == (
        "bcache0", "bcache", "bcache0", "nvme0n1,nvme1n1p2", "sdc1",
    )  # fmt: skip
    assert (row.state, row.mode, row.policy) == ("dirty", "writeback", "lru")
    assert (row.size, row.dirty, row.block_size, row.skips_from) == (2 << 30, round(924.5 * 1024), 512, 4 << 20)
    assert (row.reads, row.read_hits, row.read_misses, row.bypassed_reads) == (47, 32, 10, 5)
    assert (row.writes, row.write_hits, row.used, row.fast_errors, row.slow_errors) == (None, None, None, 1, None)
    assert (row.write_back_rate, row.writes_back) == (4096, 1)
    assert row.source("writes_back") == Source(f"{BASE}/writeback_running")
    assert row.source("read_hits") == Source(f"{BASE}/stats_total/cache_hits")
    assert row.source() == Source(f"{BASE}/state")


def test_the_kernel_s_word_for_what_is_cached_goes_first() -> None:
    assert only(NODE | {f"{BASE}/backing_dev_name": "sdz\n"}).slow == "sdz"


def test_without_a_cache_nothing_is_missed() -> None:
    row = only(NODE | {f"{BASE}/state": "no cache\n"})
    assert (row.state, row.fast, row.size, row.reads, row.read_misses) == ("no cache", None, None, None, None)


def test_a_volume_on_the_cache_alone_has_no_state() -> None:
    row = only({"/sys/block/bcache0/bcache/label": "\n"})
    assert (row.state, row.slow, row.reads, row.dirty) == (None, None, None, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("0.0k", 0), ("512", 512), ("924.5k", 946688), ("1.0T", 1 << 40), ("x", None), ("", None), (None, None),
     ("1.2G/sec", None), ("9" * 30, None)],
)  # fmt: skip
def test_sizes_for_people(text: str | None, value: int | None) -> None:
    assert size(text) == value


@given(st.text(max_size=30))
def test_no_text_raises_anything(text: str) -> None:
    assert size(text) is None or size(text) == size(text.strip())
    chosen(text)
    only({f"{BASE}/{name}": text for name in ("state", "cache_mode", "dirty_data", "stats_total/cache_hits")})


def shots(fixture: str) -> list[Snapshot]:
    origin, frames = opened(fixture)
    replay = Replay([BCACHE], known=origin.collectors)
    return [replay.feed(frame) for frame in frames]


def test_bcache_of_a_real_kernel() -> None:
    found = shots("vm-bcache")
    row = found[-1].get(Cache, ("bcache0", "bcache"))
    assert row is not None
    assert (row.fast, row.slow, row.mode, row.state, row.size) == ("vdb", "vda", "writeback", "dirty", 128 << 20)
    assert (row.reads, row.read_hits, row.bypassed_reads, row.dirty) == (143, 16, 3, round(924.5 * 1024))
    missed = [a.misses for s in found for a in s.rows(CacheActivity).values() if a.misses]
    assert len(set(missed)) == 2  # they move every ten seconds or so


def test_detached_in_the_middle_of_work() -> None:
    rows = [shot.get(Cache, ("bcache0", "bcache")) for shot in shots("vm-bcache-detached")]
    states = [row.state for row in rows if row is not None and row.state]
    assert list(dict.fromkeys(states)) == ["dirty", "no cache"]
    assert rows[-1] is not None
    assert (rows[-1].read_misses, rows[-1].fast) == (None, None)


def test_never_attached() -> None:
    row = shots("vm-bcache-no-cache")[-1].get(Cache, ("bcache0", "bcache"))
    assert row is not None
    assert (row.state, row.slow, row.fast, row.reads) == ("no cache", "vda", None, None)
