"""Lines of dmsetup, whole, cut and pasted; names of device mapper devices."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.devicemapper.dmtable import Mapping, mappings, numbered, segments, volume
from sdstop.collectors.devicemapper.volume_readings import mapped
from sdstop.core.host import Malformed

STATUS = (
    "vg0-home: 0 2048 linear \n"
    "vg0-home: 2048 4096 linear \n"
    "vg0-data: 0 1040384 cache 8 12/2048 128 35/1600 1 2 3 4 5 6 7 1 writeback 0 smq 0 rw - \n"
    "fast: 0 8192 flashcache stats: \n\treads(75), writes(12)\n\tread hits(3), read hit percent(4)\n"
    "IO Latency Histogram: \n< 250\tusecs : 5\n> 10\tmsecs : 2\n"
    "wc: 0 1024 writecache 0 254200 253815 0\n"
)


def test_each_line_is_a_segment_of_bytes() -> None:
    found = segments(STATUS)
    assert [(s.name, s.start, s.length, s.target) for s in found] == [
        ("vg0-home", 0, 2048 * 512, "linear"),
        ("vg0-home", 2048 * 512, 4096 * 512, "linear"),
        ("vg0-data", 0, 1040384 * 512, "cache"),
        ("fast", 0, 8192 * 512, "flashcache"),
        ("wc", 0, 1024 * 512, "writecache"),
    ]
    assert found[2].text.startswith("8 12/2048 128")
    assert found[3].text.startswith("stats: \n\treads(75)")
    assert "> 10\tmsecs : 2" in found[3].text


def test_a_single_device_is_not_named() -> None:
    text = "0 2048 linear 8:0 0\n2048 8192 flashcache conf:\n\tssd dev (/dev/sdb)\n"
    assert [(s.name, s.target) for s in segments(text, "x")] == [("x", "linear"), ("x", "flashcache")]
    assert [s.name for s in segments("12 2048 linear 8:0 0\n")] == [""]


def test_numbers_that_begin_a_wrapped_line_are_no_segment() -> None:
    text = "a: 0 100 cache 8 12/2048 128 35/1600 1 2 3 4 5\n6 7 metadata2 writeback 0 smq 0 rw -\n"
    assert [s.name for s in segments(text)] == ["a"]


def test_caches_of_a_text_without_line_ends_are_found() -> None:
    flat = " ".join(STATUS.split())
    found = {s.name: s for s in segments(flat)}
    assert found["fast"].text.strip().startswith("stats: reads(75), writes(12) read hits(3)")
    assert found["wc"].text == "0 254200 253815 0"
    two = "a: 0 8 flashcache stats: reads(1) writes(2) b: 0 8 flashcache stats: reads(3) writes(4)\n"
    assert [(s.name, s.text) for s in segments(two)] == [
        ("a", "stats: reads(1) writes(2)\n"),
        ("b", "stats: reads(3) writes(4)\n"),
    ]


def test_a_line_without_its_end_has_none() -> None:
    assert segments("a: 0 8 flashcache conf: Size Hist: 512:1 4096:12")[0].text.endswith("4096:12")
    assert segments("a: 0 8 flashcache conf: Size Hist: 512:1 4096:12 \n")[0].text.endswith("4096:12 \n")


def test_no_devices_are_no_segments_and_other_text_is_malformed() -> None:
    assert segments("No devices found\n") == segments("") == segments(" \n") == ()
    with pytest.raises(Malformed, match="command not found"):
        segments("bash: dmsetup: command not found\n")


def test_mappings_of_dmsetup_info() -> None:
    text = "vg0-vol:253:0:L--w:1:1:0:LVM-9FYC\nwc:253:11:L--w:1:1:0:\nodd:name:253:2:L-sr:0:2:7:CRYPT-x\nrubbish\n"
    assert mappings(text) == {
        "vg0-vol": Mapping("vg0-vol", "LVM-9FYC", "dm-0", suspended=False, number="253:0"),
        "wc": Mapping("wc", "", "dm-11", suspended=False, number="253:11"),
        "odd:name": Mapping("odd:name", "CRYPT-x", "dm-2", suspended=True, number="253:2"),
    }


def test_numbers_of_partitions() -> None:
    text = "major minor  #blocks  name\n\n   8        0  976762584 sda\n 104       16     102400 cciss/c0d1\n"
    assert numbered(text) == {"8:0": "sda", "104:16": "cciss/c0d1"}


@pytest.mark.parametrize(
    ("name", "uuid", "shown"),
    [
        ("vg0-home", "LVM-abc", "vg0/home"),
        ("vg--a-lv--b", "LVM-abc", "vg-a/lv-b"),
        ("vg---lv", "LVM-abc", "vg-/lv"),
        ("vg0-home-real", "LVM-abc-real", "vg0/home-real"),
        ("vg0-vol_corig", "LVM-abc-real", "vg0/vol_corig"),
        ("vg0-home", None, "vg0-home"),
        ("vg0-home", "CRYPT-LUKS2-1-x", "vg0-home"),
        ("home", "LVM-abc", "home"),
        ("-x", "LVM-abc", "-x"),
    ],
)
def test_volumes_are_named_as_operators_do(name: str, uuid: str | None, shown: str) -> None:
    assert volume(name, uuid) == shown


NAME = st.from_regex(re.compile(r"[a-z0-9_.+][a-z0-9_.+-]{0,9}", re.ASCII), fullmatch=True)


@given(NAME, NAME)
def test_every_volume_has_its_way_back(group: str, logical: str) -> None:
    assert volume(mapped(group, logical), "LVM-x") == f"{group}/{logical}"


@given(
    st.text(max_size=300) | st.lists(st.sampled_from([*STATUS.split(" "), "\n", ": ", "0"]), max_size=40).map(" ".join)
)
def test_no_text_raises_anything_but_malformed(text: str) -> None:
    mappings(text)
    numbered(text)
    volume(text, "LVM-x")
    with contextlib.suppress(Malformed):
        assert all(s.length >= 0 for s in segments(text))


@given(st.integers(0, len(STATUS)))
def test_what_is_whole_of_a_cut_output_is_found(length: int) -> None:
    whole = segments(STATUS[: STATUS.rfind("\n", 0, length) + 1])
    cut = () if not STATUS[:length].strip() or length < 19 else segments(STATUS[:length])
    assert [s.name for s in cut[: len(whole) - 1]] == [s.name for s in whole[:-1]][: len(cut)]
