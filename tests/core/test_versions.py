"""Versions of a text: every byte comes back, whatever the text is, and damage is noticed."""

import tracemalloc
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.core.growing_versions import GrowingVersions
from sdstop.core.versions import Damaged, Versions

LINE = "   8       {} sda {} {} 0.{:02} {}\n"


def packed(texts: list[bytes]) -> list[Versions]:
    growing = GrowingVersions()
    for text in texts:
        growing.add(text)
    return growing.packed()


def read(versions: list[Versions]) -> list[bytes]:
    return [text for run in versions for text in run.texts()]


NUMERIC = st.text(alphabet="0123456789 .-%sd\n\0", max_size=60).map(str.encode)


@given(st.lists(st.one_of(NUMERIC, st.binary(max_size=40)), min_size=1, max_size=8))
@example([b"%d %s 5%", b"%d %s 6%"])
@example([b"7", b"007", b"7"])
@example([b"0.05", b"0.10", b"0.5", b"1.05"])
@example([b"1" * 40, b"2" * 40, b"3"])
@example([b"-3", b"4", b""])
@example([b"4611686018427387904", b"4611686018427387903", b"9223372036854775807", b"9223372036854775808"])
@example([b"a1b", b"ab1"])
@example([b"0" * 19, b""])
@example(["١٢".encode(), "١٣".encode()])
def test_every_byte_comes_back(texts: list[bytes]) -> None:
    assert read(packed(texts)) == texts


@given(st.lists(st.tuples(*[st.integers(0, 2**61)] * 3, st.integers(0, 99)), min_size=2, max_size=20))
def test_only_numbers_that_change_are_stored(rows: list[tuple[int, int, int, int]]) -> None:
    texts = [LINE.format(16, read_, written, part, 7).encode() for read_, written, _, part in rows]
    found = packed(texts)
    assert read(found) == texts
    assert all(len(run.columns) // 4 <= 3 for run in found)


def test_texts_that_differ_in_numbers_only_are_one_run() -> None:
    found = packed([LINE.format(16, at, 100 + at, at % 100, 7).encode() for at in range(1, 60)])
    assert len(found) == 1
    assert found[0].count == 59
    assert len(found[0].first) < 60


def test_a_new_line_begins_a_new_run() -> None:
    texts = [b"sda 5\n", b"sda 6\n", b"sda 6\nsdb 1\n", b"sda 7\nsdb 1\n"]
    assert [run.count for run in packed(texts)] == [2, 2]


@pytest.mark.parametrize(
    ("by", "width"),
    [(127, 1), (-128, 1), (128, 2), (-129, 2), (32767, 2), (32768, 4), (-(1 << 31), 4), (1 << 31, 8), (-(1 << 40), 8)],
)
def test_differences_take_as_many_bytes_as_the_largest_needs(by: int, width: int) -> None:
    texts = [b"%d 5 7" % (1 << 50), b"%d 4 7" % ((1 << 50) + by), b"%d 6 7" % ((1 << 50) + by)]
    (found,) = packed(texts)
    assert len(found.planes) == 4 * width
    assert read([found]) == texts
    assert found.some([0, 2]) == [texts[0], texts[2]]


def test_differences_of_eight_bytes_are_read_whatever_they_need() -> None:
    """Recordings of version 2 have no others."""
    texts = [b"sda 5 60\n", b"sda 6 58\n", b"sda 8 59\n"]
    (found,) = packed(texts)
    steps = (1, 2, -2, 1)  # column by column
    rows = [step.to_bytes(8, "little", signed=True) for step in steps]
    wide = replace(found, planes=bytes(row[plane] for plane in range(8) for row in rows))
    assert len(found.planes) == 4
    assert read([wide]) == texts
    assert wide.some([1, 2]) == texts[1:]


@given(
    st.integers(1, 7),
    st.sampled_from((1, 100, 1 << 14, 1 << 30, 1 << 50)),
    st.sampled_from((3, 40, 258, 600)),
    st.randoms(use_true_random=False),
    st.data(),
)
def test_any_versions_are_read_without_those_between(
    columns: int, most: int, count: int, chance: Random, data: st.DataObject
) -> None:
    numbers, texts = [1 << 60] * columns, []
    for _ in range(count):
        texts.append(b" ".join(b"%d" % number for number in numbers))
        numbers = [max(number + chance.choice((-most, most, 0, chance.randrange(most))), 0) for number in numbers]
    (found,) = packed(texts)
    wanted = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=3)))
    assert found.some(wanted) == [texts[version] for version in wanted]


GOOD = packed([b"sda 5 6\n", b"sda 6 8\n", b"sda 7 9\n"])[0]


@pytest.mark.parametrize(
    "bad",
    [
        replace(GOOD, columns=GOOD.columns[:-1]),
        replace(GOOD, planes=GOOD.planes[:-1]),
        replace(GOOD, count=9),
        replace(GOOD, first=b"sda\n"),
        replace(GOOD, first=b"sda 5 99999999999999999999\n"),
        replace(GOOD, count=-1),
        replace(GOOD, count=0, columns=b"", planes=b""),
        replace(GOOD, count=1 << 40, columns=b"", planes=b""),
    ],
    ids=["columns cut", "numbers cut", "too many", "no such column", "no number", "negative", "none", "endless"],
)
def test_damage_is_noticed(bad: Versions) -> None:
    with pytest.raises(Damaged):
        read([bad])


@pytest.mark.parametrize("first", [b"0 9 9\n", b"9 0 9\n", b"9 9 0\n", b"0 0 0\n"])
def test_a_number_below_zero_is_damage(first: bytes) -> None:
    (run,) = packed([b"9 9 9\n", b"8 8 8\n", b"7 7 7\n"])
    assert replace(run, first=b"3 5 7\n").some([1]) == [b"2 4 6\n"]
    with pytest.raises(Damaged):
        replace(run, first=first).some([1])


def test_versions_that_are_still_written_take_little_memory() -> None:
    random, numbers = Random(3), [10**9 + place for place in range(5000)]
    texts = []
    for _ in range(23):
        numbers = [number + random.randrange(200) for number in numbers]
        texts.append(b" ".join(map(b"%d".__mod__, numbers)))
    tracemalloc.start()
    growing = GrowingVersions()
    for text in texts:
        growing.add(bytes(bytearray(text)))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 3 * len(texts[0]) + 23 * 5000 * 2  # the rows alone would be 8 bytes a number
    assert read(growing.packed()) == texts
