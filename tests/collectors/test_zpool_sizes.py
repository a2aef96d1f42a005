"""Request sizes out of `zpool iostat -r`."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.zfs.readings import KSTATS
from sdstop.collectors.zfs.sizes import COMMAND, ZPOOL_SIZES, parse
from sdstop.core.evidence import Evidence, command_key
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Failed, Malformed
from sdstop.readings.iosize import RequestSizes

KEY = command_key(COMMAND)


def pool(name: str, *rows: tuple[int, ...]) -> str:
    return f"\n{name}\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows)


def node(text: str, pools: str = "arcstats\ntank", code: int = 0) -> EvidenceHost:
    said = Evidence(KEY, data=text.encode(), stderr=b"cannot open\nmore", exit=code)
    return EvidenceHost([Evidence(f"list:{KSTATS}", data=pools.encode()), said])


def sizes(text: str) -> dict[tuple[str, str], tuple[dict[int, int], int | None]]:
    return {(row.device, row.direction): (row.counts, row.larger) for row in parse(text)}


# sync_read, sync_write, async_read, async_write, scrub, trim, rebuild: of each ind and agg
NEW = pool(
    "tank",
    (512, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 900, 0),
    (1024, 0, 0, 0, 0, 10, 5, 20, 7, 3, 0, 0, 0, 0, 0),
    (2048, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 6, 1, 0, 0),
)
OLD = pool("old pool", (512, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0), (1024, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0))


def test_classes_are_added_up_to_directions_and_each_range_has_its_upper_end() -> None:
    assert sizes(NEW + OLD) == {
        ("tank", "read"): ({1023: 1, 2047: 18}, 0),
        ("tank", "write"): ({1023: 2, 2047: 27}, 4),
        ("tank", "discard"): ({}, 7),
        ("old pool", "read"): ({1023: 1}, 0),
        ("old pool", "write"): ({1023: 2}, 8),
    }


def test_all_ranges_are_told_for_the_histogram_to_have_the_same_bounds_always() -> None:
    row = next(row for row in parse(OLD) if row.direction == "read")
    assert row.sizes == {1023: 1}
    assert [*row.histogram.items()] == [(1023, 1), (float("inf"), 1)]


def test_without_a_pool_the_command_that_would_load_the_module_is_not_run() -> None:
    with pytest.raises(Absent, match="no pool"):
        list(ZPOOL_SIZES.read(node(NEW, "arcstats\nzil\ndbufs")))
    with pytest.raises(Absent):
        list(ZPOOL_SIZES.read(EvidenceHost()))
    assert [row for row in ZPOOL_SIZES.read(node(NEW)) if isinstance(row, RequestSizes)]


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(Failed, match="exit 1: cannot open"):
        list(ZPOOL_SIZES.read(node("", code=1)))


@pytest.mark.parametrize(
    "row",
    ["512\t1", "512\t-\t0\t0\t0\t0\t0\t0\t0\t0\t0", "512 1 0", "512\t" + "9" * 30 + "\t0" * 9, "256" + "\t0" * 10],
)
def test_what_is_no_row_is_malformed(row: str) -> None:
    with pytest.raises(Malformed):
        sizes(f"{OLD}{row}\n")


@given(st.text(alphabet="tank\n\t0123456789.KM-", max_size=300))
def test_no_text_does_more_than_be_malformed(text: str) -> None:
    with contextlib.suppress(Malformed):
        list(parse(text))


@given(st.lists(st.lists(st.integers(0, 1 << 60), min_size=14, max_size=14), min_size=1, max_size=16))
def test_no_count_is_lost(rows: list[list[int]]) -> None:
    found = sizes(pool("p", *((512 << place, *row) for place, row in enumerate(rows))))
    told = sum(sum(counts.values()) + (larger or 0) for counts, larger in found.values())
    assert told == sum(sum(row[:12]) for row in rows)
