"""What a finding quotes of a file."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.evidence import readable
from sdstop.core.excerpt import EXCERPT, IndexedText, text_excerpt

WORDS = st.sampled_from(["sda", "sda1", "xsda", "dm-1", "dm-12", "7", "77", ":", " ", "\n", "\t", "/", "é", "\r\n"])


def indexed(data: bytes, needle: str) -> str:
    """Return what is quoted once the words of the text are indexed."""
    text = IndexedText(data.decode())
    text.searches = 100
    return text.excerpt(needle)


@given(st.lists(WORDS, max_size=80).map("".join), st.lists(WORDS, min_size=1, max_size=5).map("".join))
def test_the_index_finds_what_a_search_finds(text: str, needle: str) -> None:
    searched = IndexedText(text).excerpt(needle)
    assert indexed(text.encode(), needle) == searched
    lines = text.splitlines()
    if any(needle in line for line in lines):
        assert needle.strip("\n") in searched or len(searched) >= EXCERPT // 2


@given(st.binary(max_size=12), st.integers(0, 100))
def test_a_short_file_is_quoted_like_a_long_one(part: bytes, times: int) -> None:
    data = part * times
    assert text_excerpt(data) == IndexedText(readable(data, "replace")).excerpt("")


def test_the_newest_version_of_a_text_replaces_the_one_before() -> None:
    tracemalloc.start()
    held = []
    for version in range(6):
        data = b"".join(b"sd%d %d\n" % (n, version) for n in range(50_000))
        assert text_excerpt(data, "sd7 ", "/proc/diskstats") == f"sd7 {version}"
        del data
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert held[-1] < 1.5 * held[0]
    assert text_excerpt(b"a 1\nb 2\n", "b", "/other") == "b 2"
    assert text_excerpt(b"", "b", "/other") == ""


@pytest.mark.parametrize("quoted", [indexed, text_excerpt])
def test_whole_words_come_before_parts_of_words(quoted: object) -> None:
    assert callable(quoted)
    text = b"xsda: 1\nsdaa: 2\nsda: 3\n"
    assert quoted(text, "sda:") == "sda: 3"
    assert quoted(text, "sda") == "sda: 3"
    assert quoted(b"xsda: 1\nsdb: 2", "sda:") == "xsda: 1"
    assert quoted(text, "sdq") == text.decode().strip()
    assert quoted(b"\n".join(b"%d sda" % n for n in range(9)), " sda") == "0 sda\n1 sda\n2 sda\n3 sda"


@pytest.mark.parametrize("quoted", [indexed, text_excerpt])
def test_a_row_in_the_middle_of_one_long_line_is_quoted(quoted: object) -> None:
    assert callable(quoted)
    line = "[" + ", ".join(f'{{"pid": {n}, "comm": "qemu-{n}"}}' for n in range(5000)) + "]"
    shown = quoted(line.encode(), '"pid": 4321,')
    assert '"pid": 4321,' in shown
    assert len(shown) <= EXCERPT


def needed(rows: int) -> float:
    """Return the CPU seconds that it takes to quote each row of a file."""
    data = "".join(f"   8 {n:7} sd{n:05} {n * 7} 0 {n * 97} 12 {n * 3} 0 0 0\n" for n in range(rows))
    start = time.thread_time()
    text = IndexedText(data)
    for n in range(rows):
        assert text.excerpt(f" sd{n:05} ").split()[2] == f"sd{n:05}"
    return time.thread_time() - start


def test_quoting_each_row_of_a_file_takes_time_in_proportion() -> None:
    few = min(needed(1000) for _ in range(3))
    many = min(needed(10_000) for _ in range(3))
    assert many <= 25 * few  # searching for each took 100 times as long
