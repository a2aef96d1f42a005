"""Quotas of users, groups and projects of local file systems, by quotactl(2).

Limits and usage are queried (Q_GETNEXTQUOTA, Linux 4.6 and later), never changed. The kernel
answers from the quota file of the file system, for at most _MOST_IDS of each kind.
"""

from __future__ import annotations

import ctypes
import errno
import os
import time
from collections.abc import Iterator
from typing import Any

from sdstop.core.host import Denied
from sdstop.node.filesystems import mount_table

QUOTAS = "filesystems.quotas"
_GET_NEXT = 0x800009
"""Q_GETNEXTQUOTA of linux/quota.h; of XFS too, where the kernel translates it."""
_KINDS = (("user", 0), ("group", 1), ("project", 2))
_OPTIONS = {
    "user": frozenset({"quota", "usrquota", "uquota", "uqnoenforce"}),
    "group": frozenset({"grpquota", "gquota", "gqnoenforce"}),
    "project": frozenset({"prjquota", "pquota", "pqnoenforce"}),
}
"""Options of a file system whose quotas of a kind are on: ext4(5), which also has `usrjquota=FILE`, and xfs(5)."""
_JOURNALED = {"user": "usrjquota=", "group": "grpjquota=", "project": "prjjquota="}
_TYPES = frozenset({"ext2", "ext3", "ext4", "f2fs", "xfs"})
_MOST_IDS = 4096
"""Maximum users, groups or projects that are read of a file system."""
_MOST_SHOWN = 8
"""Maximum rows of the fullest ones."""
_UNIT = 1024
"""Bytes of a block of the limits (QIF_DQBLKSIZE)."""


class _Dqblk(ctypes.Structure):
    """Struct if_nextdqblk of linux/quota.h."""

    _fields_ = (
        ("hard", ctypes.c_uint64), ("soft", ctypes.c_uint64), ("used", ctypes.c_uint64),
        ("file_hard", ctypes.c_uint64), ("file_soft", ctypes.c_uint64), ("files", ctypes.c_uint64),
        ("expires", ctypes.c_uint64), ("file_expires", ctypes.c_uint64),
        ("valid", ctypes.c_uint32), ("ident", ctypes.c_uint32),
    )  # fmt: skip


def look() -> list[dict[str, Any]]:
    """Return a row for each file system and kind of quotas that is on: the number with limits, and the fullest.

    Raises Denied without the privilege.
    """
    rows: list[dict[str, Any]] = []
    for mount in mount_table():
        device, options = mount.source, frozenset(mount.options)
        if mount.filesystem not in _TYPES or not device.startswith("/dev/"):
            continue
        for kind, number in _KINDS:
            is_on = options & _OPTIONS[kind] or any(word.startswith(_JOURNALED[kind]) for word in options)
            is_known = any(row["source"] == device and row["kind"] == kind for row in rows)
            if is_on and not is_known:
                rows.append({"point": mount.point, "source": device, "kind": kind, **_usage(device, number)})
    return rows


def _usage(device: str, kind: int) -> dict[str, Any]:
    every = list(_entries(device, kind))
    limited = [entry for entry in every if any(entry[limit] for limit in ("hard", "soft", "file_hard", "file_soft"))]
    limited.sort(key=_share, reverse=True)
    return {"limited": len(limited), "cut": len(every) >= _MOST_IDS, "fullest": limited[:_MOST_SHOWN]}


def _share(entry: dict[str, int]) -> float:
    pairs = (("used", "hard"), ("used", "soft"), ("files", "file_hard"), ("files", "file_soft"))
    return max((entry[used] / entry[limit] for used, limit in pairs if entry[limit]), default=0.0)


def _entries(device: str, kind: int) -> Iterator[dict[str, int]]:
    library = ctypes.CDLL(None, use_errno=True)
    ident = 0
    for _ in range(_MOST_IDS):
        block = _Dqblk()
        command = (_GET_NEXT << 8) | kind
        if library.quotactl(command, os.fsencode(device), ident, ctypes.byref(block)):
            code = ctypes.get_errno()
            if code in {errno.EPERM, errno.EACCES}:
                raise Denied(f"answer:{QUOTAS}", "requires root; run with sudo")
            return  # no further one, not on, or an older kernel
        yield {
            "id": block.ident, "used": block.used, "soft": block.soft * _UNIT, "hard": block.hard * _UNIT,
            "files": block.files, "file_soft": block.file_soft, "file_hard": block.file_hard,
            "expired": int(any(0 < end < time.time() for end in (block.expires, block.file_expires))),
        }  # fmt: skip
        if block.ident == 0xFFFFFFFF:
            return
        ident = block.ident + 1
