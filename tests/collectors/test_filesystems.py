"""Space and flags of file systems: mountinfo, statvfs, and mounts that hang."""

from __future__ import annotations

import os
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from sdstop.collectors.block.filesystems import FILESYSTEMS, QUESTION, parse
from sdstop.collectors.block.mount_readings import FilesystemSpace
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Malformed
from sdstop.node import filesystems
from sdstop.node.filesystems import FileSystems
from sdstop.node.live import LiveHost

TABLE = """22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
23 22 8:1 /srv /bind ro - ext4 /dev/sda1 rw
24 22 0:6 / /dev rw - devtmpfs udev rw
30 22 8:17 / /srv/my\\040data rw shared:1 - xfs /dev/sdb1 rw
31 22 8:33 / /broken rw - ext4 /dev/sdc1 ro,errors=remount-ro
32 22 8:49 / /newer rw - ext4 /dev/sdd1 rw,emergency_ro
33 22 8:65 / /kept ro - ext4 /dev/sde1 ro
34 22 8:81 / /down rw - ext4 /dev/sdf1 rw,shutdown
40 22 0:50 / /mnt/nas rw - nfs4 nas1:/home rw
41 40 8:97 / /mnt/nas/disk rw - ext4 /dev/sdg1 rw
42 22 0:51 / /mnt/ssh rw - fuse.sshfs u@h:/ rw
50 22 0:60 / /tank rw - zfs tank rw
51 50 0:61 / /tank/a rw - zfs tank/a rw
52 50 0:62 / /tank/small rw - zfs tank/small rw
60 22 7:0 / /snap/core ro - squashfs /dev/loop0 ro
"""
MEMORY = """22 1 8:1 / / rw - ext4 /dev/sda1 rw
24 22 0:6 / /dev rw - devtmpfs udev rw
25 22 0:23 / /run rw,nosuid - tmpfs tmpfs rw,size=400k
26 24 0:24 / /dev/shm rw - tmpfs tmpfs rw
27 25 0:25 / /run/lock rw - tmpfs tmpfs rw
28 25 0:40 / /run/user/1000 rw - tmpfs tmpfs rw
29 22 0:41 / /run/credentials/x ro - tmpfs tmpfs ro
30 22 0:42 / /var/lib/kubelet/pods/1/volumes/token rw - tmpfs tmpfs rw
31 22 0:43 / /sys/fs/cgroup ro - tmpfs tmpfs ro
"""
SIZES = {"/tank": 100, "/tank/a": 100, "/tank/small": 5}


def answers(monkeypatch: pytest.MonkeyPatch, table: str = TABLE, **hang: float) -> list[str]:
    """Let statvfs answer with known numbers; `hang` has the seconds that a path waits. Return the paths queried."""
    asked: list[str] = []

    def said(path: str) -> Any:
        asked.append(path)
        time.sleep(hang.get(path.replace("/", "_"), 0.0))
        if path == "/gone":
            raise OSError(5, "Input/output error")
        available = SIZES.get(path, 10)
        return SimpleNamespace(f_frsize=4096, f_blocks=1000, f_bfree=available + 5, f_bavail=available, f_files=64,
                               f_favail=60)  # fmt: skip

    monkeypatch.setattr(filesystems, "_table", lambda: table)
    monkeypatch.setattr(os, "statvfs", said)
    return asked


def rows(monkeypatch: pytest.MonkeyPatch, table: str = TABLE) -> dict[str, FilesystemSpace]:
    asked = answers(monkeypatch, table)
    found = {row.point: row for row in parse(FileSystems().look())}
    assert not {path for path in asked if path.startswith("/mnt/")}
    return found


def test_local_file_systems_and_their_states(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rows(monkeypatch)
    assert {point: row.state for point, row in found.items()} == {
        "/": "writable", "/srv/my data": "writable", "/broken": "forced read-only", "/newer": "forced read-only",
        "/kept": "read-only", "/down": "shut down", "/mnt/nas/disk": "writable", "/tank": "writable",
        "/tank/small": "writable",
    }  # fmt: skip
    root = found["/"]
    assert (root.size, root.used, root.available, root.inodes, root.inodes_used) == (4096000, 4034560, 40960, 64, 4)
    assert root.share == pytest.approx(985 / 995)
    assert root.inodes_share == pytest.approx(4 / 64)
    assert (found["/tank/small"].dataset, found["/srv/my data"].device) == ("tank/small", "/dev/sdb1")


def test_file_systems_in_memory_of_the_whole_node_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rows(monkeypatch, MEMORY)
    assert sorted(found) == ["/", "/dev/shm", "/run", "/run/lock"]  # noqa: S108
    assert (found["/run"].type, found["/run"].device, found["/run"].state) == ("tmpfs", None, "writable")


def test_only_some_file_systems_in_memory_are_queried(monkeypatch: pytest.MonkeyPatch) -> None:
    more = "".join(f"{100 + n} 22 0:{100 + n} / /x{n} rw - tmpfs tmpfs rw\n" for n in range(99))
    assert len(rows(monkeypatch, MEMORY + more)) == 17


def test_a_file_system_in_memory_without_a_limit_cannot_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, MEMORY)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(
        f_frsize=4096, f_blocks=0, f_bfree=0, f_bavail=0, f_files=0, f_favail=0
    ))  # fmt: skip
    assert [row["point"] for row in FileSystems().look()] == ["/"]


def test_nothing_below_a_remote_mount_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    row = rows(monkeypatch)["/mnt/nas/disk"]
    assert (row.share, row.unasked) == (None, "below a mount of type nfs4")


def test_a_mount_hidden_by_another_is_not_mistaken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    table = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 8:17 / / rw - ext4 /dev/sdb1 rw\n"
    answers(monkeypatch, table)
    said = FileSystems().look()
    assert [row.get("unasked") for row in said] == ["hidden by another mount", None]


def test_one_that_hangs_costs_the_others_nothing_and_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystems, "PATIENCE", 0.05)
    monkeypatch.setattr(filesystems, "_STEP", 0.05)
    table = "".join(f"{n} 1 8:{n} / /{p} rw - ext4 /dev/sd{n} rw\n" for n, p in enumerate(("a", "b", "c"), 20))
    asked = answers(monkeypatch, table, _b=0.6)
    known = FileSystems()
    first = {row["point"]: row for row in known.look()}
    assert "size" in first["/a"]
    assert "size" in first["/c"]
    assert first["/b"]["hung"] > 0
    time.sleep(0.01)
    second = {row["point"]: row for row in known.look()}
    assert second["/b"]["hung"] > first["/b"]["hung"]
    assert asked.count("/b") == 1
    for thread in [thread for thread in threading.enumerate() if thread.name == "statvfs"]:
        thread.join()
    third = {row["point"]: row for row in known.look()}
    assert "hung" not in third["/b"] or third["/b"]["hung"] < 0.6  # asked again


def test_an_error_of_statvfs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, "22 1 8:1 / /gone rw - ext4 /dev/sda1 rw\n")
    assert FileSystems().look()[0]["unasked"] == "Input/output error"


@pytest.mark.parametrize("said", [{}, [1], [{"filesystem": "ext4"}], "x", None])
def test_anything_else_is_malformed(said: object) -> None:
    with pytest.raises(Malformed):
        list(parse(said))


def test_missing_numbers_are_not_zero() -> None:
    row = next(iter(parse([{"point": "/", "size": 0, "files": 0, "available": -1}])))
    assert (row.size, row.share, row.inodes, row.inodes_share, row.state) == (None, None, None, None, "unknown")


def test_a_recorded_answer_serves() -> None:
    host = EvidenceHost.of({f"answer:{QUESTION}": '[{"point": "/", "writable": true, "super_writable": true}]'})
    assert [row.point for row in FILESYSTEMS.read(host) if isinstance(row, FilesystemSpace)] == ["/"]


@pytest.mark.live
def test_the_root_of_this_machine() -> None:
    found = list(FILESYSTEMS.read(LiveHost(collectors=(FILESYSTEMS,))))
    assert all(isinstance(row, FilesystemSpace) and 0 <= (row.share or 0.0) <= 1 for row in found)
