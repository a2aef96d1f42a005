"""The table of mounted file systems: one that has none is damaged, because every node has a root."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest

from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.block.mounts import MOUNTED
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Malformed


def read(*evidence: Evidence) -> list[MountPoint]:
    return list(cast("Iterable[MountPoint]", MOUNTED.read(EvidenceHost(evidence))))


@pytest.mark.parametrize("text", [b"", b"\n", b"\0\xffgarbage", b"Permission denied\n"], ids=repr)
def test_a_table_without_a_mount_point_is_damaged(text: bytes) -> None:
    with pytest.raises(Malformed, match="no mount point"):
        read(Evidence("/proc/mounts", data=text))


def test_a_table_of_other_file_systems_has_no_storage() -> None:
    assert read(Evidence("/proc/mounts", data=b"overlay / overlay rw\nproc /proc proc rw\n")) == []
    (root,) = read(Evidence("/proc/mounts", data=b"/dev/sda1 / ext4\nproc /proc proc\n"))
    assert (root.point, root.kernel, root.access) == ("/", "sda1", None)


def test_a_table_that_is_missing_or_denied_is_said_to_be() -> None:
    with pytest.raises(Absent):
        read()
    with pytest.raises(Denied):
        read(Evidence("/proc/mounts", outcome=Outcome.DENIED))


TABLE = b"""/dev/sda1 / ext4 rw
/dev/mapper/vg0-data /srv ext4 rw
/dev/sdb /pool btrfs rw
/dev/sde /x xfs rw,rtdev=/dev/sdf
"""


def node(**more: str) -> list[Evidence]:
    """A node with an internal journal, one on a mapping, one on a disk with its own, and a btrfs of two disks."""
    files = {
        "/sys/fs/ext4/sda1/journal_task": "201\n", "/proc/201/comm": "jbd2/sda1-8\n",
        "/sys/fs/ext4/dm-1/journal_task": "202\n", "/proc/202/comm": more.get("thread", "jbd2/dm-0") + "\n",
        "/sys/fs/btrfs/0e6e/devices/sdb/dev": "8:16\n", "/sys/fs/btrfs/0e6e/devices/sdc/dev": "8:32\n",
    }  # fmt: skip
    lists = {
        "list:/sys/fs/ext4": b"sda1\ndm-1",
        "list:/sys/fs/btrfs": b"0e6e",
        "list:/sys/fs/btrfs/0e6e/devices": b"sdb\nsdc",
    }
    return [
        Evidence("/proc/self/mounts", data=TABLE),
        Evidence("link:/dev/mapper/vg0-data", data=b"../dm-1"),
        *(Evidence(key, data=text.encode()) for key, text in files.items()),
        *(Evidence(key, data=data) for key, data in lists.items()),
    ]


def test_devices_besides_the_first_are_of_the_file_system() -> None:
    root, data, pool, realtime = read(*node())
    assert (root.log, data.log, pool.log) == (None, "/dev/dm-0", None)
    assert (root.more, data.more, pool.more) == (None, None, "sdc")
    assert (realtime.realtime, realtime.realtime_kernel) == ("/dev/sdf", "sdf")


@pytest.mark.parametrize(
    ("thread", "log"),
    [
        ("jbd2/dm-0-8", None),
        ("jbd2/sdd1", "/dev/sdd1"),
        ("jbd2/cciss!c0d1", "/dev/cciss/c0d1"),
        ("bash", None),
        ("", None),
    ],
)
def test_a_journal_with_an_inode_is_internal(thread: str, log: str | None) -> None:
    assert read(*node(thread=thread))[1].log == log
