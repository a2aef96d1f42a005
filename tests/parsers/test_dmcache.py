"""What dm-cache and dm-writecache say, in every version, whole, broken and cut."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.devicemapper.cache_status import (
    CUT,
    cache,
    cache_status,
    cache_table,
    counts_blocks,
    writecache,
    writecache_table,
)
from sdstop.core.host import Malformed
from sdstop.readings.cache import Cache, activity

STATUS = "8 12/2048 128 35/1600 185 72 1 25 3 38 2 2 metadata2 writeback 2 migration_threshold 2048 smq 0 rw - "
TABLE = "253:2 253:1 253:3 128 2 metadata2 writeback smq 0"
KIB = 1024


def test_a_dm_cache() -> None:
    row = cache("c", STATUS, TABLE)
    assert (row.kind, row.state, row.mode, row.policy) == ("dm-cache", "ok", "writeback", "smq")
    assert (row.fast, row.slow) == ("253:1,253:2", "253:3")
    assert (row.block_size, row.size, row.used, row.dirty) == (64 * KIB, 1600 * 64 * KIB, 35 * 64 * KIB, 2 * 64 * KIB)
    assert (row.metadata_used, row.metadata_size) == (12 * 4 * KIB, 2048 * 4 * KIB)
    assert (row.reads, row.read_hits, row.read_misses) == (257, 185, 72)
    assert (row.writes, row.write_hits, row.write_misses) == (26, 1, 25)
    assert (row.demotions, row.promotions) == (3, 38)
    assert row.bypassed_reads is row.bypassed_writes is row.needs_whole_blocks is None


@pytest.mark.parametrize(
    ("text", "state", "mode", "policy"),
    [
        (STATUS.replace("rw -", "ro needs_check"), "needs check", "writeback", "smq"),
        (STATUS.replace("rw -", "rw needs_check"), "needs check", "writeback", "smq"),
        (STATUS.replace("rw -", "ro -"), "read-only", "writeback", "smq"),
        (STATUS.replace("rw -", "Fail -"), "failed", "writeback", "smq"),
        (STATUS.replace("rw -", "rw"), "ok", "writeback", "smq"),
        (STATUS.replace("2 metadata2 writeback", "1 passthrough"), "ok", "passthrough", "smq"),
        (STATUS.replace("2 metadata2 writeback", "0"), "ok", None, "smq"),
        (STATUS.replace("2 metadata2 writeback", "4 metadata2 warp writethrough no_discard_passdown"), "ok",
         "writethrough", "smq"),
        (STATUS.replace("smq 0", "mq 4 random_threshold 4 sequential_threshold 512"), "ok", "writeback", "mq"),
        (STATUS.replace("smq 0 rw -", "cleaner 0"), "ok", "writeback", "cleaner"),
    ],
)  # fmt: skip
def test_versions_and_features(text: str, state: str, mode: str | None, policy: str) -> None:
    row = cache("c", text, "")
    assert (row.state, row.mode, row.policy, row.dirty) == (state, mode, policy, 2 * 64 * KIB)
    assert (row.fast, row.slow) == (None, None)


def test_before_3_13_the_table_has_the_block_size() -> None:
    row = cache(
        "c", "12/2048 185 72 1 25 3 38 35 2 1 writeback 2 migration_threshold 204800 4 random_threshold 4 a 5", TABLE
    )
    assert (row.state, row.used, row.dirty, row.promotions) == ("ok", 35 * 64 * KIB, 2 * 64 * KIB, 38)
    assert (row.size, row.metadata_used) == (None, 12 * 4 * KIB)


@pytest.mark.parametrize("word", ["Fail", "Error", "Fail\n"])
def test_a_broken_cache_says_nothing_else(word: str) -> None:
    row = cache("c", word, TABLE)
    assert (row.state, row.reads, row.used) == ("failed", None, None)
    assert (row.block_size, row.mode, row.slow) == (64 * KIB, "writeback", "253:3")


def test_a_line_that_is_cut_has_what_is_whole() -> None:
    whole = cache("c", STATUS, "")
    for end in range(2, len(STATUS) - len(" 0 rw - ")):
        row = cache("c", STATUS[:end], "")
        assert row.state == CUT, f"cut after {end} characters"
        for name in ("size", "used", "dirty", "read_hits", "read_misses", "write_hits", "write_misses", "promotions"):
            assert getattr(row, name) in {getattr(whole, name), None}, f"{name}, cut after {end} characters"


@pytest.mark.parametrize(
    "text", ["", "x", "8 x/2048 128", "8 12/2048 128 35/1600 x 72 1", "-1 12/20 128", "²  1/2 3 4"]
)
def test_other_text_is_malformed(text: str) -> None:
    if text:
        with pytest.raises(Malformed):
            cache("c", text, "")
    else:
        assert cache("c", text, "").state == CUT


def test_digits_that_are_no_numbers_cost_nothing() -> None:
    assert cache("c", STATUS.replace("smq 0", "smq ²"), "").read_hits == cache("c", STATUS, "").read_hits


def test_tables_that_lack_devices_are_malformed() -> None:
    assert cache_table("254:2 254:2 254:3 128").fast == ("254:2",)
    for text in ("", "254:2 254:1"):
        with pytest.raises(Malformed):
            cache_table(text)
    for text in ("", "s 254:2", "254:2 254:1 4096 0"):
        with pytest.raises(Malformed):
            writecache_table(text)


def test_counters_wrap_at_32_bits() -> None:
    def counted(hits: int) -> Cache:
        return cache("c", STATUS.replace(" 185 ", f" {hits} "), TABLE)

    found = activity(counted((1 << 32) - 5), counted(15), 2.0)
    assert found is not None
    assert (found.hits, found.reads, found.hit_share) == (10.0, 10.0, 1.0)
    assert activity(counted(5000), counted(15), 2.0) is None


def test_a_dm_writecache_counts_only_writes_as_misses_of_nothing() -> None:
    row = writecache("c", "0 1000 600 7 90 10 50 3 4 8 35 2 6 1", "s 254:0 254:16 4096 2 high_watermark 60")
    assert (row.kind, row.state, row.mode, row.counts) == ("dm-writecache", "ok", "writeback", "requests")
    assert (row.fast, row.slow, row.block_size) == ("254:16", "254:0", 4096)
    assert (row.size, row.used, row.dirty) == (1000 * 4096, 400 * 4096, 400 * 4096)
    assert (row.reads, row.read_hits, row.writes, row.write_hits) == (90, 10, 50, 7)
    assert (row.bypassed_writes, row.promotions, row.no_room) == (8, 35, 2)
    assert row.read_misses is row.write_misses is row.bypassed_reads is None


def test_a_dm_writecache_for_metadata_alone() -> None:
    assert writecache_table("s 254:0 254:16 4096 1 metadata_only").mode == "metadata only"
    assert writecache_table("s 254:0 254:16 4096 2 high_watermark 60").mode == "writeback"


def test_before_5_15_it_counts_nothing() -> None:
    row = writecache("c", "0 1000 600 7", "p 254:0 259:0 4096 1 cleaner")
    assert (row.state, row.mode, row.used, row.reads, row.promotions) == ("ok", "cleaner", 400 * 4096, None, None)


@pytest.mark.parametrize(
    ("text", "state", "reads"),
    [
        ("5 1000 600 7 90 10 50 3 4 8 35 2 6 1", "failed", 90),
        ("-5 1000 600 7 90 10 50 3 4 8 35 2 6 1", "failed", 90),
        ("Fail", "failed", None),
        ("0 1000 600 7 90 10 50", CUT, 90),
        ("0 1000 600 7 90", CUT, None),
        ("0 1000 600 7 90 10 50 3 4 8 35 2 6 1 99", "ok", 90),
    ],
)
def test_states_of_a_dm_writecache(text: str, state: str, reads: int | None) -> None:
    row = writecache("c", text, "")
    assert (row.state, row.reads, row.size) == (state, reads, None)


@pytest.mark.parametrize(
    ("release", "blocks"),
    [
        ("6.1.0-17-amd64", True),
        ("5.15.60", False),
        ("5.15.61", True),
        ("5.15.0-91-generic", True),
        ("5.16.20", False),
        ("5.17.0", False),
        ("5.18.17", False),
        ("5.18.18-200.fc36.x86_64", True),
        ("5.19.1", False),
        ("5.19", False),
        ("", True),
    ],
)
def test_kernels_that_count_blocks(release: str, blocks: bool) -> None:  # noqa: FBT001
    assert counts_blocks(release) is blocks


WORDS = st.sampled_from([*STATUS.split(), "needs_check", "Fail", "Error", "-1", "9" * 21, "4294967295", "1/", "99"])


@given(st.text(max_size=120) | st.lists(WORDS, max_size=30).map(" ".join), st.text(max_size=40) | st.just(TABLE))
def test_no_text_raises_anything_but_malformed(text: str, table: str) -> None:
    for read in (lambda: cache("c", text, table), lambda: writecache("c", text, table), lambda: cache_status(table)):
        with contextlib.suppress(Malformed):
            read()
