"""Rows of /proc/diskstats of every kernel, and of people who pasted them."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.block.diskstats import DISKSTATS, parse, parse_columns, stirs
from sdstop.core.columns import Columns
from sdstop.core.evidence import Evidence, Frame
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from sdstop.core.replay import Replay
from sdstop.readings.disk import Disk, DiskActivity

NEW = "   8       0 sda 11 12 13 14 21 22 23 24 5 31 32 41 42 43 44 51 52"
DISCARDS = "   8      16 sdb 11 12 13 14 21 22 23 24 5 31 32 41 42 43 44"
OLD = " 104       1 cciss/c0d0p1 11 12 13 14 21 22 23 24 5 31 32"


def devices(text: str) -> dict[str, Disk]:
    return {disk.device: disk for disk in parse(text.encode())}


def test_rows_of_every_kernel() -> None:
    found = devices(f"{NEW}\n{DISCARDS}\n{OLD}\n")
    assert list(found.values()) == [
        Disk("sda", 8, 0, 11, 12, 13, 14, 21, 22, 23, 24, 5, 31, 32, 41, 42, 43, 44, 51, 52),
        Disk("sdb", 8, 16, 11, 12, 13, 14, 21, 22, 23, 24, 5, 31, 32, 41, 42, 43, 44),
        Disk("cciss/c0d0p1", 104, 1, 11, 12, 13, 14, 21, 22, 23, 24, 5, 31, 32),
    ]


@pytest.mark.parametrize(("count", "like"), [(15, 14), (16, 14), (17, 14), (19, 18), (21, 20), (25, 20)])
def test_fields_that_nobody_knows_yet_are_ignored(count: int, like: int) -> None:
    words = [*NEW.split(), "61", "62", "63", "64", "65"]
    assert devices(" ".join(words[:count]) + "\n") == devices(" ".join(words[:like]) + "\n")


def test_partitions_of_the_first_kernels_are_left_out() -> None:
    assert list(devices(f"{OLD}\n   3       1 hda1 1 2 3 4\n")) == ["cciss/c0d0p1"]


def test_a_lost_count_of_requests_in_flight_is_none() -> None:
    assert devices(OLD.replace(" 5 31", f" {2**32 - 3} 31") + "\n")["cciss/c0d0p1"].in_flight is None
    assert devices(OLD.replace(" 5 31", f" {2**31 - 1} 31") + "\n")["cciss/c0d0p1"].in_flight == 2**31 - 1


def test_counters_of_64_bits_are_kept() -> None:
    assert devices(OLD.replace(" 13 ", f" {2**64 - 1} ") + "\n")["cciss/c0d0p1"].read_sectors == 2**64 - 1


@pytest.mark.parametrize(
    "text",
    [
        f"$ cat /proc/diskstats\n{NEW}\n...\n{OLD}\n",
        f"{NEW}\r\n{OLD}\r\n",
        f"{NEW}  \n\n{OLD}",
        f"{NEW}\n{OLD}\n   8      32 sdc 1 2 3 4 5 6 7",
        f"{NEW}\n{OLD}\n   8      32 sdc 1 2 x 4 5 6 7 8 9 10 11\n",
        f"{NEW}\n{OLD}\n   8      32 sdc 1 2 -3 4 5 6 7 8 9 10 11\n",
        f"{NEW}\n{OLD}\n   8      32 sdc 1 2 3.5 4 5 6 7 8 9 10 11\n",
        f"{NEW}\n{OLD}\n   8      32 sdc {'9' * 5000} 2 3 4 5 6 7 8 9 10 11\n",
        f"{NEW}\n{OLD}\n   8      32 sdc {'9' * 30} 2 3 4 5 6 7 8 9 10 11\n",
        f"{NEW}\n{OLD}\n{'9' * 5000}  32 sdc 1 2 3 4 5 6 7 8 9 10 11\n",
        f"{NEW}\n{OLD}\n   8      32 sdc 1 2 \u00b2 4 5 6 7 8 9 10 11\n",
    ],
)
def test_what_no_kernel_prints_costs_only_itself(text: str) -> None:
    assert devices(text) == devices(f"{NEW}\n{OLD}\n")


def test_spaces_do_not_matter() -> None:
    assert devices(NEW.replace(" 13 ", "   013  ") + "\n") == devices(f"{NEW}\n")


def test_a_last_row_that_was_cut_is_left_out() -> None:
    text = f"{NEW}\n{NEW.replace('sda', 'sdb')}"
    assert list(devices(text)) == ["sda", "sdb"]
    for cut in range(1, 40):
        found = devices(text[:-cut])
        assert found["sda"] == devices(f"{NEW}\n")["sda"]
        assert list(found) == (["sda", "sdb"] if cut == 1 else ["sda"])  # the last figure may be cut unseen


def test_no_devices_are_no_error() -> None:
    assert devices("") == {}
    assert devices("\n \n") == {}


def test_no_devices_are_no_error_in_the_first_sample_of_a_process() -> None:
    script = "from sdstop.collectors.block.diskstats import parse; print([*parse(b'')], [*parse(b'')])"
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[] []\n", "")


@pytest.mark.parametrize("text", ["hello\n", "\n\n<html>", "8 0 sda 1 2 3\n"])
def test_something_else_is_malformed(text: str) -> None:
    with pytest.raises(Malformed, match=text.split(maxsplit=1)[0]):
        devices(text)


@given(st.binary(max_size=300))
def test_no_bytes_break_it(data: bytes) -> None:
    try:
        found = list(parse(data))
    except Malformed:
        return
    assert len(found) <= data.count(b"\n") + 1


@given(st.lists(st.integers(0, 2**63), min_size=17, max_size=17), st.sampled_from([11, 15, 17]))
def test_numbers_stay_what_they_are(numbers: list[int], count: int) -> None:
    numbers[8] %= 1 << 31
    row = f"   8       0 sda {' '.join(map(str, numbers[:count]))}\n"
    padded = [*numbers[:count], *[None] * 6][:17]
    assert devices(row)["sda"] == Disk("sda", 8, 0, *padded)  # type: ignore[arg-type]


def test_names_that_are_no_text_survive() -> None:
    row = next(iter(parse(OLD.encode().replace(b"cciss/c0d0p1", b"sd\xff"))))
    assert row.device.encode("utf-8", "surrogateescape") == b"sd\xff"


def frame(number: int, text: str) -> Frame:
    return Frame(number, 1000.0 + number, float(number), (Evidence("/proc/diskstats", data=text.encode()),))


def test_two_frames_tell_what_disks_do() -> None:
    replay = Replay([DISKSTATS])
    replay.feed(frame(1, f"{NEW}\n{OLD}\n"))
    shot = replay.feed(frame(3, f"{NEW.replace(' 11 ', ' 31 ')}\n{OLD}\n"))
    busy, idle = shot.get(DiskActivity, "sda"), shot.get(DiskActivity, "cciss/c0d0p1")
    assert busy is not None
    assert busy.reads_per_second == 10.0
    assert idle is not None
    assert idle.reads_per_second == 0.0


LINES = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.lists(st.sampled_from((0, 1, 2, 2**31, 2**32, 2**64 - 1)), min_size=17, max_size=17),
        st.sampled_from((17,) * 8 + (7, 10, 11, 14, 15, 16)),
    ),
    max_size=5,
)


def printed(lines: list[tuple[str, list[int], int]]) -> str:
    return "".join(
        f"   8 {place:7d} sd{name} {' '.join(map(str, [*row, 9][:count]))}\n"
        for place, (name, row, count) in enumerate(lines)
    )


@given(st.lists(LINES, min_size=2, max_size=4))
def test_a_text_that_follows_another_is_read_like_the_first(texts: list[list[tuple[str, list[int], int]]]) -> None:
    """What is known of the text before saves work, and changes nothing."""
    for lines in [*texts, *[each[:1] + texts[0][1:] for each in texts]]:
        values: dict[str, list[object]] = {name: [] for name in Disk.__struct_fields__}
        for place, (name, row, count) in enumerate(lines):
            kept = 0 if count < 11 else 11 if count < 15 else 15 if count < 17 else 17
            counters: list[int | None] = [*row[:kept], *[None] * (17 - kept)]
            if row[8] >= 2**31:
                counters[8] = None
            for field, value in zip(values, [f"sd{name}", 8, place, *counters] if kept else [], strict=False):
                values[field].append(value)
        if not values["device"] and lines:
            with pytest.raises(Malformed):
                parse_columns(printed(lines).encode())
        else:
            assert {name: list(column) for name, column in parse_columns(printed(lines).encode()).items()} == values


def test_columns_that_did_not_change_are_the_same_objects() -> None:
    replay = Replay([DISKSTATS])
    shots = [replay.feed(frame(n, f"{NEW}\n{NEW.replace('sda', 'sdb').replace(' 11 ', f' {n} ')}\n")) for n in (1, 2)]
    first, second = (shot.rows(Disk) for shot in shots)
    assert isinstance(first, Columns)
    assert isinstance(second, Columns)
    changed = {name for name in Disk.__struct_fields__ if first.column(name) is not second.column(name)}
    assert changed == {"reads"}
    assert first.index is second.index


def test_absent_without_the_file() -> None:
    with pytest.raises(Absent):
        DISKSTATS.read(EvidenceHost())


ROWS = b"""\
   8       0 sda 1000 0 64000 900 1000 0 64000 900 0 900 1800 0 0 0 0 0 0
   8      16 sdb 1000 0 64000 900 1000 0 64000 900 0 900 1800 0 0 0 0 0 0
"""


@pytest.mark.parametrize(
    ("name", "after", "expected"),
    [
        ("a journal", ROWS.replace(b"sdb 1000 0 64000 900 1000", b"sdb 1000 0 64000 900 1100"), False),
        ("requests", ROWS.replace(b"sdb 1000 0 64000 900 1000", b"sdb 1001 0 64000 900 1100"), True),
        ("a little busy", ROWS.replace(b"900 0 900 1800", b"900 0 1000 1900", 1), False),
        ("busy", ROWS.replace(b"900 0 900 1800", b"900 0 1001 1900", 1), True),
        ("in flight", ROWS.replace(b"900 0 900 1800", b"900 1 900 1800", 1), True),
        ("another name", ROWS.replace(b"sdb", b"sdc"), True),
        ("one more", ROWS + ROWS.splitlines(keepends=True)[0].replace(b"sda", b"sdc"), True),
        ("one gone", ROWS.splitlines(keepends=True)[0], True),
        ("set back", ROWS.replace(b"900 0 900 1800", b"900 0 100 1800", 1), True),
        ("no numbers", ROWS.replace(b"900 0 900 1800", b"900 x 900 1800", 1), True),
        ("cut", ROWS.replace(b"sdb 1000 0 64000 900 1000 0 64000 900 0 900 1800 0 0 0 0 0 0", b"sdb"), True),
        ("the same", ROWS, False),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_what_keeps_a_node_from_its_rest(name: str, after: bytes, *, expected: bool) -> None:
    del name
    assert stirs(ROWS, after, 1.0) is expected
    assert stirs(ROWS, after, 0.0) is True


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        (f"{NEW}\n{DISCARDS}\n", ""),
        (f"{DISCARDS}\n{NEW}", ""),
        (f"{NEW}\n{DISCARDS}", "sdb"),
        (f"{NEW}\n   8      16 sdb 11 12 13", "sdb"),
        (f"{NEW}\n   8      16 sdb 11 12 x3 14 21 22 23 24 5 31 32\n{OLD}\n", "sdb"),
        (f"{NEW}\n   8      16 sdb -11 12 13 14 21 22 23 24 5 31 32\n", "sdb"),
        (f"{NEW}\n   3       1 hda1 1 2 3 4\n", ""),
        (f"$ cat /proc/diskstats\n{NEW}\n...\n$ \n", ""),
    ],
)
def test_a_row_without_its_counters_leaves_the_source_in_doubt(text: str, lost: str) -> None:
    seen = Evidence("/proc/diskstats", data=text.encode())
    run = Replay((DISKSTATS,)).feed(Frame(1, 0.0, 0.0, (seen,))).runs["diskstats"]
    assert [each.reason for each in run.defects] == ([f"no counters in the row of {lost}"] if lost else [])
    assert (run.outcome, "sda" in run.tables[Disk]) == ("ok", True)


def test_samples_share_the_names_of_devices() -> None:
    first, second = (f"   8       0 sda {reads} 0 0 0 0 0 0 0 0 0 0\n" for reads in (1, 2))
    names = [parse_columns(text.encode())["device"] for text in (first, f"{second}{NEW.replace('sda', 'sdb')}\n")]
    assert names[0][0] is names[1][0]


FORMS = st.sampled_from([NEW, "   8      32 s%d 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", DISCARDS, f" {NEW}  ", ""])
NUMBERS = st.one_of(st.integers(0, 2**64 - 1).map(str), st.sampled_from(["0", "007", "1  2", "-1", "x", str(2**31)]))
"""Rows of this kernel and of others, with spaces and numbers that no kernel prints."""


@given(st.lists(st.tuples(FORMS, st.lists(NUMBERS, min_size=17, max_size=17)), max_size=4), st.sampled_from(["\n", ""]))
def test_what_can_be_printed_again_is_printed_byte_for_byte(rows: list[tuple[str, list[str]]], end: str) -> None:
    texts = ["\n".join([row for row, _ in rows])]
    texts += ["\n".join([" ".join([*row.split(" ")[:-17], *said]) for row, said in rows])]
    for text in texts:
        replay = Replay((DISKSTATS,))
        data = (text + end).encode()
        replay.feed(Frame(1, 1.0, 1.0, (Evidence("/proc/diskstats", data=data),)))
        for reprint in replay.reprints.values():
            assert reprint.data is data
            assert reprint.printer(reprint.columns) == data


def test_rows_of_this_kernel_can_be_printed_again() -> None:
    replay = Replay((DISKSTATS,))
    printed = []
    for second in range(3):
        rows = [NEW, NEW.replace("sda", "sd%d").replace(" 11 ", f" {2**63 - 1 - second} ")]
        data = "".join(f"{row}\n" for row in rows).encode()
        replay.feed(Frame(second, float(second), float(second), (Evidence("/proc/diskstats", data=data),)))
        printed.append((data, replay.reprints["/proc/diskstats"]))
    for data, reprint in printed:
        assert reprint.data is data
        assert reprint.printer(reprint.columns) == data
