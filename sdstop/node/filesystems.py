"""Space and flags of local file systems; one that hangs does not delay the others."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from sdstop.core.expression import expression
from sdstop.core.host import Absent

SPACE = "filesystems.space"
PATIENCE = 1.0
"""Seconds that a round waits for a file system that does not answer; the others are queried after it."""
_STEP = 0.2
"""Least seconds that a file system is waited for."""
_MOST = 512
"""File systems queried; a node with more has ZFS datasets by the thousand, which share the space of their pool."""
_MOST_STUCK = 8
"""Threads that may hang; then no further file systems are queried."""

LOCAL = frozenset({
    "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "nilfs2", "ntfs3", "reiserfs", "vfat", "xfs",
    "zfs",
})  # fmt: skip
"""Types that can be written and whose storage is this node's own."""
_SAFE = LOCAL | {
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "erofs",
    "fusectl",
    "hugetlbfs",
    "iso9660",
    "mqueue",
    "overlay",
    "proc",
    "pstore",
    "ramfs",
    "securityfs",
    "selinuxfs",
    "squashfs",
    "sysfs",
    "tmpfs",
    "tracefs",
    "udf",
}
"""Types that a path may lead through: none of them waits for another machine or for a program."""
_OF_OTHERS = (
    "/run/user/",
    "/run/credentials/",
    "/run/containers/",
    "/run/containerd/",
    "/run/netns",
    "/var/lib/",
    "/sys/",
)
"""Where file systems in memory belong to one user, service or container."""
_MOST_IN_MEMORY = 16
"""Maximum file systems in shared memory: containers have hundreds."""
_HINTS = ("emergency_ro", "shutdown")
"""Options by which ext4 (6.14 and later) shows that it refuses writes after an error."""
_OCTAL = expression(r"\\([0-7]{3})")


class MountInfo(Struct, frozen=True):
    """A line of mountinfo: MAJOR:MINOR, mount point, type, source, and both sets of flags."""

    number: str
    point: str
    filesystem: str
    source: str
    writable: bool
    super_writable: bool
    hint: str | None
    options: tuple[str, ...] = ()
    """Options of the file system."""


def parse(text: str) -> list[MountInfo]:
    """Parse /proc/PID/mountinfo (proc_pid_mountinfo(5)): options of the mount, then those of the file system.

    36 35 253:3 / /srv/data rw,noatime shared:1 - ext4 /dev/mapper/vg0-data ro,errors=remount-ro
    """
    found = []
    for line in text.splitlines():
        words = line.split(" ")
        if "-" not in words[6:-3]:
            continue
        at = words.index("-", 6)
        point, source = (_OCTAL.sub(lambda m: chr(int(m[1], 8)), word) for word in (words[4], words[at + 2]))
        flags = words[at + 3].split(",")
        hint = next((word for word in _HINTS if word in flags), None)
        found.append(
            MountInfo(
                words[2], point, words[at + 1], source, "rw" in words[5].split(","), "rw" in flags, hint, tuple(flags)
            )
        )
    return found


class FileSystems(Struct):
    """File systems of this node; those whose query hangs are not queried again until it ends."""

    stuck: dict[str, tuple[threading.Thread, float]] = field(default_factory=dict)

    def look(self) -> list[dict[str, Any]]:
        """Return a row for each local file system and for those in memory that services share (tmpfs).

        A row has its flags, and its space unless that is unknown.

        Mounts of one file system are one row. Where a path leads through a remote file system or one of a program,
        nothing is queried: "unasked" has the reason, "hung" the seconds since a query began that has not ended.
        """
        mounts = parse(_table())
        effective = {mount.point: mount for mount in mounts}  # a later mount hides an earlier one at the same point
        rows: dict[str, dict[str, Any]] = {}
        in_memory = [mount.number for mount in mounts if _is_shared_memory(mount)][:_MOST_IN_MEMORY]
        for mount in mounts:
            if mount.filesystem in LOCAL or mount.number in in_memory:
                row = rows.setdefault(mount.number, _row(mount))
                row["writable"] |= mount.writable
                if effective[mount.point] is mount and "unasked" in row:
                    _place(row, mount, effective)
        found = list(rows.values())
        for row in [row for row in found if "unasked" not in row][_MOST:]:
            row["unasked"] = f"more than {_MOST} file systems"
        spaces = self.spaces([row["point"] for row in found if "unasked" not in row])
        answered = [{**row, **spaces.get(row["point"], {})} for row in found]
        return _limited([row for row in answered if row["filesystem"] != "tmpfs" or row.get("size") != 0])

    def spaces(self, points: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the answers of statvfs by mount point, or for how many seconds there has been none."""
        self.stuck = {point: known for point, known in self.stuck.items() if known[0].is_alive()}
        found: dict[str, dict[str, Any]] = {}
        todo = [point for point in points if point not in self.stuck]
        end = time.monotonic() + PATIENCE
        while todo and len(self.stuck) < _MOST_STUCK:
            asked = _Query(todo)
            asked.thread.start()
            asked.thread.join(max(end - time.monotonic(), _STEP))
            found |= dict(asked.found)
            if not asked.thread.is_alive():
                break
            self.stuck[asked.current] = asked.thread, asked.began
            asked.todo.clear()
            todo = [point for point in todo if point not in found and point not in self.stuck]
        now = time.monotonic()
        return found | {point: {"hung": round(now - began, 3)} for point, (_, began) in self.stuck.items()}


class _Query:
    """Thread that queries mount points in order; `current` is the one it waits for."""

    def __init__(self, points: Iterable[str]) -> None:
        self.todo = list(points)[::-1]
        self.found: dict[str, dict[str, Any]] = {}
        self.current, self.began = "", time.monotonic()
        self.thread = threading.Thread(target=self._run, name="statvfs", daemon=True)

    def _run(self) -> None:
        while self.todo:
            self.current, self.began = self.todo.pop(), time.monotonic()
            try:
                said = os.statvfs(self.current)
            except OSError as error:
                self.found[self.current] = {"unasked": error.strerror or str(error)}
                continue
            unit = said.f_frsize
            self.found[self.current] = {
                "size": said.f_blocks * unit, "free": said.f_bfree * unit, "available": said.f_bavail * unit,
                "files": said.f_files, "files_free": said.f_favail,
            }  # fmt: skip


def _limited(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows without ZFS datasets that are limited by their pool alone, but for the first of each pool."""
    most: dict[str, int] = {}
    for row in rows:
        if row["filesystem"] == "zfs" and "available" in row:
            pool = row["source"].partition("/")[0]
            most[pool] = max(most.get(pool, 0), row["available"])
    kept, seen = [], set[str]()
    for row in rows:
        pool = row["source"].partition("/")[0] if row["filesystem"] == "zfs" and "available" in row else ""
        if not pool or row["available"] < 0.99 * most[pool] or pool not in seen:
            kept.append(row)
        if pool and row["available"] >= 0.99 * most[pool]:
            seen.add(pool)
    return kept


def mount_table() -> list[MountInfo]:
    """Return the mounts of process 1. Raises Absent if they are not readable."""
    return parse(_table())


def _table() -> str:
    """Return the mounts of process 1, since services can see others; without root those of this process."""
    for process in ("1", "self"):
        try:
            text = Path(f"/proc/{process}/mountinfo").read_text("utf-8", "surrogateescape")
        except OSError:
            continue
        if text:
            return text
    raise Absent(f"answer:{SPACE}", "/proc/self/mountinfo is not readable")


def _is_shared_memory(mount: MountInfo) -> bool:
    """Return whether it is a tmpfs that can be written, of the whole node: /run, /dev/shm, /tmp ..."""
    return mount.filesystem == "tmpfs" and mount.writable and not mount.point.startswith(_OF_OTHERS)


def _row(mount: MountInfo) -> dict[str, Any]:
    return {
        "point": mount.point, "filesystem": mount.filesystem, "source": mount.source, "number": mount.number,
        "writable": mount.writable, "super_writable": mount.super_writable, "hint": mount.hint,
        "unasked": "hidden by another mount",
    }  # fmt: skip


def _place(row: dict[str, Any], mount: MountInfo, effective: dict[str, MountInfo]) -> None:
    """Let a file system be queried at this mount point, unless the path leads through one that can hang."""
    path = mount.point
    row["point"] = path
    while path not in {"", "/"}:
        path = path.rpartition("/")[0] or "/"
        over = effective.get(path)
        if over is not None and over.filesystem not in _SAFE:
            row["unasked"] = f"below a mount of type {over.filesystem}"
            return
    del row["unasked"]
