"""Checks by e2fsck and xfs_repair: errors count only of an unmounted file system that was checked in whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.filesystems.checks import parse_e2fsck, parse_xfs
from tests.pasted.corpus import findings, judged, ruled_out

SUBJECT = "filesystem-errors /dev/sdb1"
HEAD = "e2fsck 1.46.5 (30-Dec-2021)\n"
PASSES = "".join(f"Pass {at}: Checking {what}\n" for at, what in enumerate(("inodes", "a", "b", "c", "groups"), 1))
COUNTS = "/dev/sdb1: 120/65536 files (0.8% non-contiguous), 40000/262144 blocks\n"
LEFT = "\n/dev/sdb1: ********** WARNING: Filesystem still has errors **********\n\n"
PROBLEM = "Block bitmap differences:  -(34000--34010)\nFix? no\n\n"
PHASES = "".join(f"Phase {at} - check it...\n" for at in range(2, 8))
XFS = "Phase 1 - find and verify superblock...\n        - found root inode chunk\n"
END = "No modify flag set, skipping filesystem flush and exiting.\n"
IMAGE = (
    "Cannot get host filesystem geometry.\nRepair may fail if there is a sector size mismatch between\n"
    "the image and the host filesystem.\n"
)
ALERT = "ALERT: The filesystem has valuable metadata changes in a log which is being\nignored because of -n.\n"


def shown(text: str, command: str) -> bytes:
    return f"[root@a ~]# {command} -n /dev/sdb1\n{text}[root@a ~]# \n".encode()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{HEAD}{PASSES}{COUNTS}", "good"),
        (f"{HEAD}{PASSES}{PROBLEM}{LEFT}{COUNTS}", "critical"),
        (f"{HEAD}Warning!  /dev/sdb1 is mounted.\n{PASSES}{PROBLEM}{LEFT}{COUNTS}", ""),
        (f"{HEAD}/dev/sdb1: clean, 120/65536 files, 40000/262144 blocks\n", ""),
        (f"{HEAD}{PASSES}\n/dev/sdb1: ***** FILE SYSTEM WAS MODIFIED *****\n{COUNTS}", ""),
        (f"{HEAD}e2fsck: Bad magic number in super-block while trying to open /dev/sdb1\n", ""),
        (f"{HEAD}{PASSES.partition('Pass 4')[0]}", ""),
    ],
)
def test_a_check_by_e2fsck(text: str, found: str) -> None:
    _assert(shown(text, "e2fsck"), found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{XFS}{PHASES}{END}", "good"),
        (f"{XFS}bad CRC for inode 131\n{PHASES}{END}", "critical"),
        (f"{IMAGE}{XFS}{IMAGE}{PHASES}{END}", "good"),  # of a file, by xfsprogs 6.1
        (f"{IMAGE}{XFS}{IMAGE}bad CRC for inode 131\n{PHASES}{END}", "critical"),
        (f"{XFS}would have cleared inode 131\n{PHASES}{END}", "critical"),
        (f"{XFS}{ALERT}would have cleared inode 131\n{PHASES}{END}", ""),
        (f"{XFS}a line of another version\n{PHASES}{END}", ""),
        (f"{XFS}{PHASES.partition('Phase 5')[0]}", ""),
    ],
)
def test_a_check_by_xfs_repair(text: str, found: str) -> None:
    _assert(shown(text, "xfs_repair"), found)


def _assert(data: bytes, found: str) -> None:
    session = judged(data)
    assert findings(session) == ({f"{found} {SUBJECT}"} if found == "critical" else set())
    assert (SUBJECT in ruled_out(session)) == (found == "good")
    if not found:
        said = [each for each in session.head().judgement.unchecked if "/dev/sdb1" in each.subjects]
        assert said
        assert not any(each.calm for each in said)


@given(st.text("Pase1:/dvsb cln,?no*WARNIG\n", max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert parse_e2fsck(HEAD + text)[0]
    assert parse_xfs(XFS + text)[0] != "clean"
