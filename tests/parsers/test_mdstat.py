"""Every line that md prints into /proc/mdstat."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.md.mdstat import Bitmap, MdArray, MdstatDevice, PendingSync, Progress, parse
from sdstop.core.host import Malformed

ARRAYS = {
    "raid10, near copies, a spare, a failed and a replaced member": (
        ("md0 : active raid10 sdg[6](S) sdf[5] sdd[3] sdc[2] sdb[1](F) sda[0]\n"
        "      3906764800 blocks super 1.2 512K chunks 2 near-copies [4/3] [U_UU]\n"
        "      [=>...................]  recovery =  8.5% (166037504/1953382400) finish=148.9min speed=200012K/sec\n"
        "      bitmap: 3/30 pages [12KB], 65536KB chunk\n"),
        MdArray(
            "md0", "active", None, "raid10",
            (
                MdstatDevice("sdg", 6, frozenset("S")), MdstatDevice("sdf", 5), MdstatDevice("sdd", 3),
                MdstatDevice("sdc", 2),
                MdstatDevice("sdb", 1, frozenset("F")), MdstatDevice("sda", 0),
            ),
            size=3906764800 << 10, metadata="1.2", chunk=512 << 10, near_copies=2, raid_disks=4, working=3,
            slots="U_UU",
            progress=Progress("recovery", 166037504 << 10, 1953382400 << 10, 148 * 60 + 54, 200012 << 10),
            bitmap=Bitmap(3, 30, 65536 << 10),
        ),
    ),
    "raid10 with a copy on every disk has no chunk": (
        "md1 : active raid10 sdb[1] sda[0]\n      1953382400 blocks super 1.2 2 near-copies [2/2] [UU]\n",
        MdArray(
            "md1", "active", None, "raid10", (MdstatDevice("sdb", 1), MdstatDevice("sda", 0)), size=1953382400 << 10,
            metadata="1.2", near_copies=2, raid_disks=2, working=2, slots="UU",
        ),
    ),
    "raid10, far copies in sets": (
        ("md2 : active raid10 sdb[1] sda[0]\n"
        "      100 blocks super 1.2 64K chunks 2 far-copies 2 devices per set [4/4] [UUUU]\n"),
        MdArray(
            "md2", "active", None, "raid10", (MdstatDevice("sdb", 1), MdstatDevice("sda", 0)),
            size=100 << 10, metadata="1.2",
            chunk=64 << 10, far_copies=2, far_set=2, raid_disks=4, working=4, slots="UUUU",
        ),
    ),
    "raid10, offset copies besides near ones": (
        ("md2 : active raid10 sdb[1] sda[0]\n"
        "      100 blocks super 1.2 64K chunks 2 near-copies 3 offset-copies [6/6] [UUUUUU]\n"),
        MdArray(
            "md2", "active", None, "raid10", (MdstatDevice("sdb", 1), MdstatDevice("sda", 0)),
            size=100 << 10, metadata="1.2",
            chunk=64 << 10, near_copies=2, far_copies=3, offset_copies=True, raid_disks=6, working=6, slots="UUUUUU",
        ),
    ),
    "raid5 that is reshaped, bitmap in a file": (
        ("md42 : active raid5 sdd[3] sdc[2](J) sdb[1](W)(R) sda[0](W)\n"
        "      1953381440 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/2] [UU_]\n"
        "      [===========>.........]  reshape = 56.1% (1096879076/1953381440) finish=1868.1min speed=7640K/sec\n"
        "      bitmap: 4/15 pages [16KB], 512B chunk, file: /var/lib/bitmap of md42\n"),
        MdArray(
            "md42", "active", None, "raid5",
            (
                MdstatDevice("sdd", 3), MdstatDevice("sdc", 2, frozenset("J")), MdstatDevice("sdb", 1, frozenset("WR")),
                MdstatDevice("sda", 0, frozenset("W")),
            ),
            size=1953381440 << 10, metadata="1.2", level=5, chunk=64 << 10, algorithm=2, raid_disks=3, working=2,
            slots="UU_",
            progress=Progress("reshape", 1096879076 << 10, 1953381440 << 10, 1868 * 60 + 6, 7640 << 10),
            bitmap=Bitmap(4, 15, 512, "/var/lib/bitmap of md42"),
        ),
    ),
    "raid1 with the oldest superblock, a check, a controller's names": (
        ("md127 : active raid1 cciss/c0d0p1[0] cciss/c0d1p1[1]\n"
        "      312319552 blocks [2/2] [UU]\n"
        "      [>....................]  check =  0.0% (0/312319552) finish=5205325.8min speed=0K/sec\n"),
        MdArray(
            "md127", "active", None, "raid1", (MdstatDevice("cciss/c0d0p1", 0), MdstatDevice("cciss/c0d1p1", 1)),
            size=312319552 << 10, metadata="0.90", raid_disks=2, working=2, slots="UU",
            progress=Progress("check", 0, 312319552 << 10, 5205325 * 60 + 48, 0),
        ),
    ),
    "raid0": (
        "md12 : active raid0 sdc2[0] sdd2[1]\n      3886394368 blocks super 1.2 512k chunks\n      \n",
        MdArray(
            "md12", "active", None, "raid0", (MdstatDevice("sdc2", 0), MdstatDevice("sdd2", 1)), size=3886394368 << 10,
            metadata="1.2", chunk=512 << 10,
        ),
    ),
    "raid0 with a lost member": (
        "md12 : broken raid0 sdc2[0] sdd2[1](F)\n      3886394368 blocks super 1.2 512k chunks\n",
        MdArray(
            "md12", "broken", None, "raid0", (MdstatDevice("sdc2", 0), MdstatDevice("sdd2", 1, frozenset("F"))),
            size=3886394368 << 10, metadata="1.2", chunk=512 << 10,
        ),
    ),
    "linear": (
        "md120 : active linear sda1[1] sdb1[0]\n      2095104 blocks super 1.2 0k rounding\n",
        MdArray(
            "md120", "active", None, "linear", (MdstatDevice("sda1", 1), MdstatDevice("sdb1", 0)), size=2095104 << 10,
            metadata="1.2",
        ),
    ),
    "read-only": (
        "md3 : active (read-only) raid1 dm-3[0]\n      322560 blocks super 1.0 [2/1] [U_]\n",
        MdArray(
            "md3", "active", "read-only", "raid1", (MdstatDevice("dm-3", 0),), size=322560 << 10, metadata="1.0",
            raid_disks=2, working=1, slots="U_",
        ),
    ),
    "read-only until the first write": (
        ("md11 : active (auto-read-only) raid1 sdb2[0] sdc2[1]\n"
        "      4190208 blocks super 1.2 [2/2] [UU]\n      \tresync=PENDING\n      \n"),
        MdArray(
            "md11", "active", "auto-read-only", "raid1", (MdstatDevice("sdb2", 0), MdstatDevice("sdc2", 1)),
            size=4190208 << 10, metadata="1.2", raid_disks=2, working=2, slots="UU",
            waiting=PendingSync("resync", "PENDING"),
        ),
    ),
    "waiting for another array": (
        "md9 : active raid1 sdc2[2] sdd2[3]\n      523968 blocks super 1.2 [2/2] [UU]\n      \tresync=DELAYED\n",
        MdArray(
            "md9", "active", None, "raid1", (MdstatDevice("sdc2", 2), MdstatDevice("sdd2", 3)), size=523968 << 10,
            metadata="1.2", raid_disks=2, working=2, slots="UU", waiting=PendingSync("resync", "DELAYED"),
        ),
    ),
    "another node of the cluster does it": (
        "md9 : active raid1 sdc2[2] sdd2[3]\n      523968 blocks super 1.2 [2/1] [U_]\n      \trecover=REMOTE\n",
        MdArray(
            "md9", "active", None, "raid1", (MdstatDevice("sdc2", 2), MdstatDevice("sdd2", 3)), size=523968 << 10,
            metadata="1.2", raid_disks=2, working=1, slots="U_", waiting=PendingSync("recover", "REMOTE"),
        ),
    ),
    "a container of external metadata": (
        "md127 : inactive sdb[1](S) sda[0](S)\n      5288 blocks super external:imsm\n       \n",
        MdArray(
            "md127", "inactive", None, None, (MdstatDevice("sdb", 1, frozenset("S")),
            MdstatDevice("sda", 0, frozenset("S"))),
            size=5288 << 10, metadata="external:imsm",
        ),
    ),
    "an array in a container": (
        "md126 : active raid1 sda[1] sdb[0]\n      1855870976 blocks super external:/md127/0 [2/2] [UU]\n",
        MdArray(
            "md126", "active", None, "raid1", (MdstatDevice("sda", 1), MdstatDevice("sdb", 0)), size=1855870976 << 10,
            metadata="external:/md127/0", raid_disks=2, working=2, slots="UU",
        ),
    ),
    "no superblock": (
        "md_d5 : active raid1 sda[1]\n      18 blocks super non-persistent [2/1] [_U]\n",
        MdArray(
            "md_d5", "active", None, "raid1", (MdstatDevice("sda", 1),), size=18 << 10, metadata="non-persistent",
            raid_disks=2, working=1, slots="_U",
        ),
    ),
    "an array without devices": ("md8 : inactive\n       \n", MdArray("md8", "inactive", None, None, ())),
}  # fmt: skip
HEAD, TAIL = "Personalities : [raid1] [raid10] [raid6] [raid5] [raid4] \n", "\nunused devices: <none>\n"


@pytest.mark.parametrize(("text", "array"), ARRAYS.values(), ids=ARRAYS.keys())
def test_an_array(text: str, array: MdArray) -> None:
    assert parse(HEAD + text + TAIL) == (array,)


def test_all_of_them_in_one_file_do_not_mix() -> None:
    assert parse(HEAD + "\n".join(text for text, _ in ARRAYS.values()) + TAIL) == tuple(a for _, a in ARRAYS.values())


@pytest.mark.parametrize("text", [HEAD + TAIL, "Personalities : \nunused devices: <none>\n", TAIL])
def test_no_arrays(text: str) -> None:
    assert parse(text) == ()


@pytest.mark.parametrize("text", ["", "\n", "nonsense", "md0: active", "cat: /proc/mdstat: No such file or directory"])
def test_what_is_no_mdstat(text: str) -> None:
    with pytest.raises(Malformed, match="mdstat"):
        parse(text)


def test_a_line_of_a_later_kernel_is_passed_over() -> None:
    text, array = ARRAYS["raid0"]
    assert parse(HEAD + text + "      zoned: 17 open\n" + TAIL) == (array,)


ANY_LINES = st.lists(
    st.one_of(
        st.sampled_from([line for text, _ in ARRAYS.values() for line in text.split("\n")]),
        st.text(st.characters(codec="utf-8"), max_size=40),
    ),
    max_size=12,
)


@given(ANY_LINES, st.integers(0, 200), st.text(max_size=3))
def test_no_text_raises_anything_else(lines: list[str], at: int, put: str) -> None:
    text = "\n".join(lines)
    with contextlib.suppress(Malformed):
        for array in parse(text[:at] + put + text[at:]):
            assert array.name
            assert array.activity in {"active", "inactive", "broken"}


@given(st.integers(20, 6000))
def test_numbers_without_end_are_no_numbers(digits: int) -> None:
    many = "9" * digits
    text = (
        f"md0 : active raid1 sda[{many}]\n      {many} blocks super 1.2 [{many}/{many}] [UU]\n"
        f"      [>...]  check = 1.0% ({many}/{many}) finish={many}.1min speed={many}K/sec\n"
    )
    (array,) = parse(HEAD + text)
    assert array.raid_disks is None
    assert array.progress is None or digits <= 20
