"""flashcache's words, of every version, flattened, cut, from dmsetup and from /proc."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.devicemapper.flashcache_status import (
    FlashcacheConfig,
    cache,
    conf,
    counters,
    cut,
    links,
    listed,
    sizes,
    stats,
)
from sdstop.core.host import Malformed
from sdstop.readings.cache import Cache, activity

KIB, MIB = 1024, 1024 * 1024
STATUS = """stats:
\treads(1000), writes(4000)
\tread hits(150), read hit percent(15)
\twrite hits(120) write hit percent(3)
\tdirty write hits(50) dirty write hit percent(1)
\treplacement(20), write replacement(11)
\twrite invalidates(30), read invalidates(81)
\tpending enqueues(26), pending inval(13)
\tmetadata dirties(112), metadata cleans(113)
\tmetadata batch(33) metadata ssd writes(191)
\tcleanings(111) fallow cleanings(62)
\tno room(7) front merge(19) back merge(10)
\tdisk reads(727), disk writes(3740) ssd reads(239) ssd writes(427)
\tuncached reads(765), uncached writes(3829), uncached IO requeue(13)
\tdisk read errors(1), disk write errors(2) ssd read errors(3) ssd write errors(4)
\tuncached sequential reads(5), uncached sequential writes(6)
\tpid_adds(0), pid_dels(0), pid_drops(0) pid_expiry(0)
\tlru hot blocks(9), lru warm blocks(8)
"""
TABLE = """conf:
\tssd dev (/dev/sdb), disk dev (/dev/md0) cache mode(WRITE_BACK)
\tcapacity(512M), associativity(512), data block size(4K) metadata block size(4096b)
\tdisk assoc(0K)
\tskip sequential thresh(64K)
\ttotal blocks(131072), cached blocks(32768), cache percent(25)
\tdirty blocks(100), dirty percent(0)
\tnr_queued(0)
Size Hist: 512:75 1024:12 4096:8 
"""  # noqa: W291
PROC = (
    "reads=1000 writes=4000 \n"
    "read_hits=150 read_hit_percent=15 write_hits=120 write_hit_percent=3 no_room=7 uncached_reads=765 "
    "uncached_writes=3829 uncached_IO_requeue=13 write_invalidates=30 read_invalidates=81 cleanings=111\n"
)
FIRST = """stats: \treads(100), writes(50)
\tread hits(40), read hit percent(40)
\twrite hits(10) write hit percent(20)
\tcleanings(4), no room(0) front merge(1) back merge(2)
\treadfills(3), readfill unplugs(4)
\tuncached reads(20), uncached writes(30)
"""
AROUND = """stats: reads(100), writes(50) read hits(40), read hit percent(40) invalidates(6)
uncached reads(20), uncached writes(50)"""


def test_a_cache_of_today() -> None:
    row = cache("c", counters(STATUS), conf(TABLE))
    assert (row.reads, row.writes, row.read_hits, row.write_hits) == (1000, 4000, 150, 120)
    assert row.printed_read_hits == 0.15
    assert (row.bypassed_reads, row.bypassed_writes) == (765, 3829)
    assert (row.read_misses, row.write_misses) == (1000 - 150 - 765, 4000 - 120 - 3829)
    assert (row.evicted_by_bypass, row.demotions, row.no_room, row.cleaned) == (111, 31, 7, 111)
    assert (row.fast_errors, row.slow_errors, row.sequential_skipped) == (7, 3, 11)
    assert (row.size, row.used, row.dirty) == (512 * MIB, 128 * MIB, 400 * KIB)
    assert (row.block_size, row.skips_from, row.mode, row.needs_whole_blocks) == (4 * KIB, 64 * KIB, "writeback", 1)
    assert (conf(TABLE).fast, conf(TABLE).slow, row.kind, row.state) == ("/dev/sdb", "/dev/md0", "flashcache", None)
    assert (row.promotions, row.metadata_size) == (None, None)


def test_white_space_is_as_good_as_lines() -> None:
    for flat in (" ".join(STATUS.split()), STATUS.replace("(", " ("), STATUS.replace("\t", "").replace("\n", "\r\n")):
        assert counters(flat) == counters(STATUS)
    assert conf(" ".join(TABLE.split())) == conf(TABLE)


def test_proc_says_the_same_in_other_words() -> None:
    assert stats(PROC).items() <= counters(STATUS).items()
    errors = listed(
        "disk_read_errors=1 disk_write_errors=2 ssd_read_errors=3 ssd_write_errors=4 memory_alloc_errors=5\n"
    )
    row = cache("c", stats(PROC) | errors, FlashcacheConfig())
    assert (row.fast_errors, row.slow_errors, row.read_misses, row.size, row.dirty) == (7, 3, 85, None, None)


def test_1_0_says_less() -> None:
    row = cache("c", counters(FIRST), conf("conf:\n\tcapacity(10M), associativity(512), block size(8K)\n"))
    assert (row.read_misses, row.write_misses, row.cleaned, row.no_room) == (40, 10, 4, 0)
    assert (row.fast_errors, row.sequential_skipped, row.evicted_by_bypass, row.mode, row.skips_from) == (None,) * 5
    assert (row.size, row.block_size, row.used) == (10 * MIB, 8 * KIB, None)


def test_write_around_knows_no_hits_of_writes() -> None:
    row = cache("c", counters(AROUND), conf("cache mode(WRITE_AROUND) data block size(4K) cached blocks(3)"))
    assert (row.mode, row.write_hits, row.write_misses, row.bypassed_writes) == ("writearound", None, None, 50)
    assert (row.evicted_by_bypass, row.dirty, row.used) == (6, 0, 12 * KIB)


def test_requests_that_wait_are_no_misses_below_zero() -> None:
    assert (
        cache("c", {"reads": 5, "writes": 0, "read hits": 4, "uncached reads": 3}, FlashcacheConfig()).read_misses == 0
    )


def test_requests_that_waited_and_hit_are_no_reset() -> None:
    def row(reads: int, hits: int) -> Cache:
        return cache("c", {"reads": reads, "writes": 0, "read hits": hits, "uncached reads": 0}, FlashcacheConfig())

    found = activity(row(1000, 500), row(1010, 600), 1.0)
    assert found is not None
    assert (found.reads, found.hits, found.misses) == (10.0, 100.0, 0.0)
    assert activity(row(1000, 500), row(10, 6), 1.0) is None


def test_an_unknown_mode_is_called_what_it_is_called() -> None:
    assert conf("cache mode(WRITE_NEVER)").mode == "write_never"
    assert conf("") == FlashcacheConfig()


def test_sizes_of_requests() -> None:
    assert sizes(TABLE) == {512: 75, 1024: 12, 4096: 8}
    assert sizes(" ".join(TABLE.split()) + " ") == {512: 75, 1024: 12, 4096: 8}
    assert sizes("512:75 1024:0 1536:0 16384:3\n") == {512: 75, 16384: 3}


def test_a_count_that_may_be_cut_is_left_out() -> None:
    assert sizes("Size Hist: 512:75 4096:8") == {512: 75}
    assert sizes("Size Hist: 512:75 4096:") == {512: 75}
    assert sizes("Size Hist: ") == sizes("") == {}


def test_what_is_no_status_is_malformed() -> None:
    for text in ("", "conf:", "reads(5)", "reads(x), writes(5)", "read hits(5) uncached reads(2)"):
        with pytest.raises(Malformed):
            counters(text)
        with pytest.raises(Malformed):
            stats(text)


def test_a_status_that_is_cut_has_whole_numbers_only() -> None:
    for end in range(len("stats: \n\treads(1000), writes(4000)"), len(STATUS), 7):
        text = STATUS[:end]
        assert counters(text).items() <= counters(STATUS).items(), f"cut after {end} characters"
        assert cut(text) == (text.rfind("(") > text.rfind(")")), f"cut after {end} characters"


def test_devices_that_are_links() -> None:
    text = "ssd dev (/dev/disk/by-id/x), disk dev (/dev/mapper/vg-lv) c\nssd dev (/dev/sdb), disk dev (/dev/a/../../x)"
    assert links(text) == ["/dev/disk/by-id/x", "/dev/mapper/vg-lv"]


def test_huge_numbers_are_numbers_or_nothing() -> None:
    assert counters(f"reads({2**64 - 1}), writes(1)")["reads"] == 2**64 - 1
    assert conf(f"total blocks({'9' * 30}) data block size({'9' * 30}K)") == FlashcacheConfig()
    with pytest.raises(Malformed):
        counters(f"reads({'9' * 30}), writes(1)")


WORDS = st.sampled_from(
    [*STATUS.split(), *TABLE.split(), *PROC.split(), "(", ")", "Size Hist:", "512:", "²", "reads(٣)"]
)


@given(st.text(max_size=200) | st.lists(WORDS, max_size=40).map(" ".join))
def test_no_text_raises_anything_but_malformed(text: str) -> None:
    made = conf(text)
    assert all(size > 0 and count > 0 for size, count in sizes(text).items())
    links(text)
    cut(text)
    for read in (counters, stats):
        with contextlib.suppress(Malformed):
            row = cache("c", read(text), made)
            assert (row.read_misses or 0) >= 0
