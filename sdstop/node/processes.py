"""Processes and their I/O, from /proc (proc(5))."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from sdstop.core.commandline import kept
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Failed

PROCESSES = "psutil.processes"
"""Name of the answer: that of the library that once gave it, because captures have it."""
_ROW = ("pid", "name", "started", "user", "cmdline", "read_bytes", "write_bytes")
_TICKS = os.sysconf("SC_CLK_TCK")
_CUT = 15
"""Characters of a name (TASK_COMM_LEN of linux/sched.h) from which it may be cut."""


class ProcessStat(Struct, frozen=True):
    """Name of a process, its state (a letter), its start in seconds after the boot, and its CPU time in seconds."""

    name: str
    state: str
    started: float
    spent: float


class _ProcessAttributes(Struct):
    """Attributes of a process that rarely change."""

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
        if not _counts():
            raise Absent(f"answer:{PROCESSES}", "this kernel does not count the I/O of processes")
        users, booted = _users(), None
        before, self.known = self.known, {}
        rows = []
        for pid in pids():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):  # ended, or hidden
                inode = _inode(pid)
                known = before.get(pid)
                if known is None or not inode or known.inode != inode:
                    if booted is None:
                        booted = _booted()
                    uid = owner_of(pid)
                    known = _ProcessAttributes(booted + stat_of(pid).started, users.get(uid, str(uid)), inode=inode)
                rows.append(_row(pid, known))
                self.known[pid] = known
        if not any(row["pid"] == 1 for row in rows):
            rows.append({**dict.fromkeys(_ROW), "pid": 1, "hidden": True})
        return rows


def _row(pid: int, known: _ProcessAttributes) -> dict[str, Any]:
    moved = moved_by(pid)
    if known.name == "?" or moved != known.moved:
        known.moved = moved
        stat, argv = stat_of(pid), argv_of(pid)
        if stat.state == "Z" and not argv:
            raise ProcessLookupError
        known.name = whole_name(stat.name, argv)
        known.cmdline = kept(argv)
        known.works = not known.cmdline and _WORKER.match(known.name) is not None
    fetched, sent = moved or (None, None)
    spent = {"cpu_seconds": round(stat_of(pid).spent, 2)} if known.works else {}
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


def pids() -> list[int]:
    """Return the numbers of all processes that this one sees. Raises OSError."""
    return sorted(int(name) for name in os.listdir("/proc") if name.isdecimal())  # noqa: PTH208


def stat_of(pid: int) -> ProcessStat:
    """Return the content of /proc/PID/stat: `4711 (a name) S 1 ...`. Raises OSError, Failed."""
    return stat_in(_read(pid, "stat"))


def stat_in(text: str) -> ProcessStat:
    """Return the content of a text of /proc/PID/stat; the name may contain any character. Raises Failed."""
    before, closing, after = text.rpartition(")")
    fields = after.split()
    try:
        spent = (int(fields[11]) + int(fields[12])) / _TICKS  # utime and stime, fields 14 and 15
        return ProcessStat(before.partition("(")[2], fields[0], int(fields[19]) / _TICKS, spent)
    except (ValueError, IndexError) as error:
        raise Failed("/proc/PID/stat", f"unknown format: {closing}{after[:60]}") from error


def argv_of(pid: int) -> list[str]:
    """Return the arguments of a process, [] of a kernel thread, or where they may not be read. Raises OSError."""
    with contextlib.suppress(PermissionError):
        return argv_in(_read(pid, "cmdline"))
    return []


def argv_in(text: str) -> list[str]:
    """Return the arguments in a text of /proc/PID/cmdline, each before a null; some programs write one title there."""
    if not text:
        return []
    words = text.removesuffix("\0").split("\0")
    return words if len(words) > 1 else words[0].removesuffix(" ").split(" ")


def whole_name(name: str, argv: list[str]) -> str:
    """Return a name, which the kernel cuts, as the first argument has it."""
    first = argv[0].rpartition("/")[2] if argv and len(name) >= _CUT else ""
    return first if first.startswith(name) else name


def moved_by(pid: int) -> tuple[int, int] | None:
    """Return the bytes that a process has fetched from and sent to storage, None if they may not be read.

    /proc/PID/io has `read_bytes: 4096` and `write_bytes: 0`, and other lines. Raises OSError if the process has ended.
    """
    try:
        text = _read(pid, "io")
        counters = dict(line.split(": ") for line in text.splitlines())
        return int(counters["read_bytes"]), int(counters["write_bytes"])
    except (PermissionError, ValueError, KeyError):
        return None


def owner_of(pid: int) -> int:
    """Return the number of the real user of a process, from `Uid:  1000 1000 1000 1000`. Raises OSError, Failed."""
    for line in _read(pid, "status").splitlines():
        if line.startswith("Uid:"):
            return int(line.split()[1])
    raise Failed(f"/proc/{pid}/status", "no user")


def _read(pid: int, name: str) -> str:
    with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123  # a path object takes longer
        return os.fsdecode(file.read())


def _counts() -> bool:
    """Return whether the kernel counts what processes move (CONFIG_TASK_IO_ACCOUNTING)."""
    return os.path.exists(f"/proc/{os.getpid()}/io")  # noqa: PTH110


def _booted() -> float:
    """Return the Unix time of the boot, from the line `btime 1763719200` of /proc/stat. Raises OSError, Failed."""
    for line in Path("/proc/stat").read_text("ascii", "replace").splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    raise Failed("/proc/stat", "no time of the boot")


def _inode(pid: int) -> int:
    """Return the inode number of /proc/PID, 0 if the process has ended.

    The kernel makes an inode for each process: as long as the number is the same, it is the same process.
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
