"""ZFS's ARC and L2ARC in arcstats."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.zfs.arc import ARC, ARCSTATS, parse
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from sdstop.core.model import Source
from sdstop.readings.cache import Cache


def kstat(**numbers: int) -> str:
    rows = "".join(f"{name:<31} {3 if value < 0 else 4:<4} {value}\n" for name, value in numbers.items())
    return f"9 1 0x01 147 39984 526 979\n{'name':<31} type data\n{rows}"


OLD = {"hits": 900, "misses": 100, "demand_data_hits": 900, "c": 50, "c_max": 4096, "size": 2048,
       "arc_meta_used": 512, "memory_available_bytes": -5, "l2_hits": 0, "l2_misses": 0, "l2_size": 0}  # fmt: skip
NEW = {"hits": 900, "iohits": 30, "misses": 70, "c_max": 4096, "size": 2048, "l2_hits": 20, "l2_misses": 50,
       "l2_asize": 999, "l2_hdr_size": 7, "l2_cksum_bad": 1, "l2_io_error": 2, "l2_writes_error": 3}  # fmt: skip


def read(text: str) -> dict[str, Cache]:
    return {row.cache: row for row in ARC.read(EvidenceHost.of({ARCSTATS: text})) if isinstance(row, Cache)}


def test_a_pool_without_a_cache_device_has_an_arc() -> None:
    found = read(kstat(**OLD))
    assert list(found) == ["arc"]
    row = found["arc"]
    assert (row.reads, row.read_hits, row.read_misses, row.bypassed_reads) == (1000, 900, 100, None)
    assert (row.size, row.used, row.metadata_used, row.writes, row.dirty) == (4096, 2048, 512, None, None)
    key, needle = ARCSTATS, f"{'hits':<31} 4    900"
    assert row.source("read_hits") == Source(key, needle)
    assert [line for line in kstat(**OLD).splitlines() if needle in line] == [needle]


def test_an_l2arc_is_asked_for_what_the_arc_has_not() -> None:
    found = read(kstat(**NEW))
    assert (found["arc"].reads, found["arc"].read_misses, found["arc"].metadata_used) == (1000, 70, None)
    row = found["l2arc"]
    assert (row.kind, row.reads, row.read_hits, row.used, row.fast_errors) == ("l2arc", 70, 20, 999, 6)
    assert row.source("used") == Source(ARCSTATS, f"{'l2_asize':<31} 4    999")


def test_no_zfs_and_no_arcstats() -> None:
    with pytest.raises(Absent):
        list(ARC.read(EvidenceHost.of({"/proc/version": ""})))
    for text in ("", "hits 4 5\n", kstat(hits=1, misses=2)):
        with pytest.raises(Malformed):
            read(text)


@given(st.integers(0, len(kstat(**NEW))))
def test_what_is_whole_of_a_cut_file_is_read(length: int) -> None:
    with contextlib.suppress(Malformed):
        assert parse(kstat(**NEW)[:length]).items() <= NEW.items()


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from([*kstat(**OLD).split(), "\n", "9" * 30]), max_size=60).map(" ".join)
)
def test_no_text_raises_anything_but_malformed(text: str) -> None:
    with contextlib.suppress(Malformed):
        read(text)
