"""Answers: queries of psutil, udev and statvfs about the live node, and hot-plug events from udev.

Both libraries are imported at the first query, because reading a capture needs neither.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from sdstop.core.commandline import kept
from sdstop.core.expression import expression
from sdstop.core.host import Absent
from sdstop.node.filesystems import SPACE, FileSystems
from sdstop.node.quotas import QUOTAS
from sdstop.node.quotas import look as quotas

PROCESSES = "psutil.processes"
SETTLE = 0.25
"""Seconds without an event after which a series of hot-plug events is over."""
LONGEST_STORM = 2.0
"""Seconds after which a series of events is reported even if it is not over."""


_ROW = ("pid", "name", "started", "user", "cmdline", "read_bytes", "write_bytes")


class _ProcessAttributes(Struct):
    """Attributes of a process that rarely change."""

    process: Any
    started: float
    user: str
    name: str = "?"
    cmdline: str = ""
    moved: tuple[int, int] | None = None
    works: bool = False
    """Whether it is a kernel thread of arrays, pools or caches, of which the CPU time is reported."""
    inode: int = 0


class Processes(Struct):
    """Processes and their I/O. A process that moved no bytes since the last sample costs two small reads."""

    known: dict[int, _ProcessAttributes] = field(default_factory=dict)

    def look(self) -> list[dict[str, Any]]:
        """Return a row for each process; both counters are null if they may not be read.

        Every /proc has a process 1. If it is not visible (hidepid, ProtectProc), neither are others: a row for
        process 1 with `"hidden": true` then represents them. Raises Absent if the kernel does not count their I/O.
        """
        import psutil  # noqa: PLC0415

        if not hasattr(psutil.Process, "io_counters"):
            raise Absent(f"answer:{PROCESSES}", "this kernel does not count the I/O of processes")
        users = _users()
        before, self.known = self.known, {}
        rows = []
        for pid in psutil.pids():
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):  # ended, or hidden (hidepid=1)
                inode = _inode(pid)
                known = before.get(pid)
                if known is None or not inode or known.inode != inode:
                    process = psutil.Process(pid)
                    known = _ProcessAttributes(process, process.create_time(), "", inode=inode)
                    uid = process.uids().real
                    known.user = users.get(uid, str(uid))
                rows.append(self._row(pid, known, psutil))
                self.known[pid] = known
        if not any(row["pid"] == 1 for row in rows):
            rows.append({**dict.fromkeys(_ROW), "pid": 1, "hidden": True})
        return rows

    @staticmethod
    def _row(pid: int, known: _ProcessAttributes, psutil: Any) -> dict[str, Any]:
        moved = None
        with contextlib.suppress(psutil.AccessDenied, ValueError, RuntimeError):
            counters = known.process.io_counters()
            moved = counters.read_bytes, counters.write_bytes
        if known.name == "?" or moved != known.moved:
            known.moved = moved
            known.name = known.process.name()
            with contextlib.suppress(psutil.AccessDenied):
                known.cmdline = kept(known.process.cmdline())
            known.works = not known.cmdline and _WORKER.match(known.name) is not None
        fetched, sent = moved or (None, None)
        spent = {}
        if known.works:
            times = known.process.cpu_times()
            spent = {"cpu_seconds": round(times.user + times.system, 2)}
        return {
            "pid": pid,
            "name": known.name,
            "started": known.started,
            "user": known.user,
            "cmdline": known.cmdline,
            "read_bytes": fetched,
            "write_bytes": sent,
            **spent,
        }


_WORKER = expression(
    r"(?:md[^ /]*|z|txg|dp|dbuf|dbu|arc|l2arc|zvol|drbd|bcache|kcopyd|kcryptd|dmcrypt)_|bcache|kcopyd|zvol"
)


def _inode(pid: int) -> int:
    """Return the inode number of /proc/PID, 0 if the process has ended.

    The kernel makes an inode for each process: as long as the number is the same, it is the same process. Its start
    time, which psutil compares, takes ten times as long to read.
    """
    try:
        return os.stat(f"/proc/{pid}").st_ino  # noqa: PTH116  # a path object takes as long as the call
    except OSError:
        return 0


def _users() -> dict[int, str]:
    """Return user names by number from /etc/passwd only: name services may query a network that hangs."""
    users: dict[int, str] = {}
    try:
        text = Path("/etc/passwd").read_text("utf-8", "replace")
    except OSError:
        return users
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        number = rest.split(":")[1:2]
        if number and number[0].isdecimal():
            users.setdefault(int(number[0]), name)
    return users


def block_devices() -> dict[str, dict[str, str]]:
    """Return udev's properties by device, only those that describe it (not event numbers)."""
    import pyudev  # type: ignore[import-untyped]  # noqa: PLC0415

    devices = pyudev.Context().list_devices(subsystem="block")
    found = {d.sys_name: {str(k): str(d.properties[k]) for k in d.properties} for d in devices}
    return {
        name: {k: v for k, v in sorted(found[name].items()) if k.startswith(("ID_", "DM_", "MD_", "DEV"))}
        for name in sorted(found)
    }


def answers() -> dict[str, Callable[[], Any]]:
    """Return a function for each query that psutil, udev or the kernel can answer; functions with state start fresh.

    psutil.processes   [{"pid": 1, "name": "fio", "started": 1763719200.12, "user": "root", "cmdline": "fio job",
                         "read_bytes": 4096, "write_bytes": null}, {"pid": 1, "hidden": true, "name": null, ...}],
                       with "cpu_seconds": 12.31 for kernel threads of arrays, pools and caches
    filesystems.space  [{"point": "/srv", "filesystem": "ext4", "source": "/dev/sdb1", "number": "8:17",
                         "writable": true, "super_writable": true, "hint": null, "size": 1000, "free": 100,
                         "available": 50, "files": 64000, "files_free": 63000}]; instead of these five numbers
                       "unasked": why, or "hung": seconds
    filesystems.quotas [{"point": "/srv", "source": "/dev/sdb1", "kind": "user", "limited": 2, "cut": false,
                         "fullest": [{"id": 1000, "used": 4096, "soft": 0, "hard": 4096, "files": 1, "file_soft": 0,
                                      "file_hard": 0, "expired": 0}]}]
    udev.block         {"sda": {"ID_PATH": "pci-0000:3b:00.0-sas-phy7-lun-0", "ID_WWN": "0x5000...", ...}}
    """
    return {PROCESSES: Processes().look, SPACE: FileSystems().look, QUOTAS: quotas, "udev.block": block_devices}


def hotplug(callback: Callable[[], None]) -> str:
    """Call `callback` in a new thread SETTLE seconds after block devices were added, removed or changed.

    Return "", or the reason why events are unavailable; the sampler's slow rounds then find such devices later.
    """
    try:
        import pyudev  # noqa: PLC0415

        monitor = pyudev.Monitor.from_netlink(
            pyudev.Context(), source="udev" if Path("/run/udev/control").exists() else "kernel"
        )
        monitor.filter_by("block")
        monitor.start()
    except (ImportError, OSError) as error:
        return f"hot-plug events unavailable, changes appear later: {error}"

    def watch() -> None:
        first: float | None = None
        while True:
            try:
                event = monitor.poll(None if first is None else SETTLE) is not None
            except OSError:  # the socket's buffer overflowed: there were events
                event = True
                time.sleep(SETTLE)
            now = time.monotonic()
            if event and first is None:
                first = now
            elif first is not None and (not event or now - first > LONGEST_STORM):
                first = None
                callback()

    threading.Thread(target=watch, name="hotplug", daemon=True).start()
    return ""
