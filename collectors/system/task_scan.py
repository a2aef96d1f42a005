"""Scan for tasks in D state.

A full scan asks every thread whether it has run since the last one (schedstat), and reads the stat file of those that
have: 6 and 15 to 35 us each, up to 0.7 s for 20,000 of them. So the next scan follows after SHARE times its duration at
the earliest; tasks known to be in D state are read again in every run.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from sdstop.collectors.system.task_place import NOWHERE, Mounts, Place, place_of_task, place_of_thread
from sdstop.core.expression import expression
from sdstop.core.host import Denied, Host, Unreadable

SHARE = 20.0
"""Seconds of pause per second of a full scan: at most 5 % of one processor."""
MOST = 256
"""Maximum number of tasks in D state that are read in detail; those known longest are preferred."""
_TICKS = 100
"""Ticks per second in /proc/PID/stat: USER_HZ."""
_UNCOUNTED = b"0 0 0\n"
"""schedstat of a task that has never run, and of every task on a kernel that does not count (proc_pid_schedstat)."""
_KERNEL_THREAD = 0x0020_0000
"""PF_KTHREAD of include/linux/sched.h, in the flags of /proc/PID/stat."""


class Stat(Struct, frozen=True):
    """Fields of /proc/PID/task/TID/stat."""

    name: str
    state: str
    kernel: bool
    threads: int
    started: int


def parse_stat(text: str) -> Stat | None:
    """Parse /proc/PID/stat (fs/proc/array.c: do_task_stat), None for anything else.

        4711 (dd) D 1 4711 4711 0 -1 4194304 97 0 0 0 0 1 0 0 20 0 1 0 2041 ...

    The name may contain blanks and parentheses.
    """
    head, bracket, rest = text.rpartition(") ")
    words = rest.split(None, 20)
    if not bracket or len(words) < 20 or not all(words[at].isdecimal() for at in (6, 17, 19)):
        return None
    name = head.partition(" (")[2]
    return Stat(name, words[0], bool(int(words[6]) & _KERNEL_THREAD), int(words[17]), int(words[19]))


_HELD_BACK = "balance_dirty_pages"
"""Function of mm/page-writeback.c in which a writer waits until enough dirty pages are written."""
_MOVED = expression(r"^(?:read|write)_bytes:\s*(\d{1,20})$", re.MULTILINE)


def parse_moved(text: str) -> int | None:
    """Return the bytes in /proc/PID/io (proc_pid_io(5)): the sum of read_bytes and write_bytes."""
    found = _MOVED.findall(text)
    return sum(map(int, found)) if len(found) == 2 else None


_SWITCHES = expression(r"^(?:non)?voluntary_ctxt_switches:\s*(\d{1,20})$", re.MULTILINE)


def parse_switches(text: str) -> int | None:
    """Return the context switches in /proc/PID/status: the sum of voluntary_ and nonvoluntary_ctxt_switches."""
    found = _SWITCHES.findall(text)
    return sum(map(int, found)) if len(found) == 2 else None


class _Task(Struct):
    """A task in D state, as read last; `placed` once its place was looked for during this sleep."""

    stat: Stat
    switches: int | None = None
    wait: str | None = None
    moved: int | None = None
    place: Place = NOWHERE
    placed: bool = False
    denied: bool = False


class TaskScan(Struct):
    """Scan of all tasks for those in D state; remembers them between runs. Times are monotonic seconds."""

    clock: Callable[[], float] = time.monotonic
    due: float = 0.0
    blocked: int = 0
    known: dict[tuple[str, str], _Task] = field(default_factory=dict)
    asleep: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """The schedstat files of the tasks that were not in D state in the last full scan.

    A task changes from one sleep to another only by running. A freezer can make any of them look like D,
    although it waits for nothing.
    """
    threaded: frozenset[str] = frozenset()
    """Processes of several threads."""

    def __call__(self, host: Host) -> list[dict[str, Any]]:
        """Return the number of tasks in D state, then a row for each of them, at most MOST.

            [{"blocked": 1, "denied": 0},
             {"task": 4712, "process": 4711, "started": 20.41, "name": "dd", "kernel": false,
              "wait": "folio_wait_bit_common", "switches": 81, "moved": null, "mount": "/srv/data",
              "filesystem": "ext4", "device": "dm-3", "number": "253:3"}]

        Raises Denied if /proc hides the processes of other users.
        """
        began = self.clock()
        if began >= self.due:
            found = dict(self._in_d_state(host))
            self.blocked = len(found)
            chosen = sorted(found, key=lambda key: (key not in self.known, int(key[1])))[:MOST]
            self.known = {key: self._same(key, found[key]) for key in chosen}
            self.due = self.clock() + SHARE * (self.clock() - began)
        else:
            now = {key: parse_stat(_text(host, key, "stat")) for key in self.known}
            gone = [key for key, stat in now.items() if stat is None or stat.state != "D"]
            self.blocked -= len(gone)
            self.known = {key: self._same(key, stat) for key, stat in now.items() if stat and key not in gone}
        mounts = Mounts(host)
        for key, task in self.known.items():
            _read(host, key, task, mounts)
        rows = [_row(key, task) for key, task in self.known.items()]
        return [{"blocked": self.blocked, "denied": sum(task.denied for task in self.known.values())}, *rows]

    def _in_d_state(self, host: Host) -> Iterator[tuple[tuple[str, str], Stat]]:
        """Yield (process, thread) and the stat fields of all tasks in D state."""
        processes = [name for name in host.entries("/proc") if name.isdecimal()]
        if "1" not in processes:
            raise Denied("list:/proc", "/proc hides other users' processes: start sdstop with sudo")
        before, self.asleep = self.asleep, {}
        threaded = set[str]()
        for process in processes:
            key = process, process
            if process not in self.threaded:
                if self._sleeps(host, key, before):
                    continue
                stat = self._stat(host, key)
                if stat is None or stat.threads < 2:
                    if stat is not None and stat.state == "D":
                        yield key, stat
                    continue
            threads = host.names(f"/proc/{process}/task")
            threaded.update((process,) if len(threads) > 1 else ())
            for thread in threads:
                key = process, thread
                if not self._sleeps(host, key, before) and (stat := self._stat(host, key)) and stat.state == "D":
                    yield key, stat
        self.threaded = frozenset(threaded)

    def _sleeps(self, host: Host, key: tuple[str, str], before: Mapping[tuple[str, str], bytes]) -> bool:
        """Return whether a task has not run since it was seen in another state than D, and note how far it has run."""
        process, thread = key
        folder = f"/proc/{process}" if process == thread else f"/proc/{process}/task/{thread}"
        try:
            mark = host.read(f"{folder}/schedstat")
        except Unreadable:
            return False
        if not mark or mark == _UNCOUNTED:
            return False
        self.asleep[key] = mark
        return before.get(key) == mark

    def _stat(self, host: Host, key: tuple[str, str]) -> Stat | None:
        """Return the stat fields of a task, None if it has ended; one in D state does not count as asleep."""
        stat = parse_stat(_text(host, key, "stat"))
        if stat is None or stat.state == "D":
            self.asleep.pop(key, None)
        return stat

    def _same(self, key: tuple[str, str], stat: Stat) -> _Task:
        known = self.known.get(key)
        return known if known is not None and known.stat.started == stat.started else _Task(stat)


def _text(host: Host, key: tuple[str, str], name: str) -> str:
    """Return a file of a task, "" if it ended or is not readable."""
    process, thread = key
    folder = f"/proc/{process}" if process == thread and name == "stat" else f"/proc/{process}/task/{thread}"
    return host.maybe(f"{folder}/{name}") or ""


def _read(host: Host, key: tuple[str, str], task: _Task, mounts: Mounts) -> None:
    """Read the details of a task; its place only once per sleep."""
    switches = parse_switches(_text(host, key, "status"))
    if task.placed and switches == task.switches:
        return
    wait = _text(host, key, "wchan")
    held = wait.startswith(_HELD_BACK) and not task.stat.kernel
    task.switches, task.wait = switches, wait if wait not in {"", "0"} else None
    task.moved = parse_moved(_text(host, key, "io")) if held else None
    if held and task.placed:
        return
    task.place, task.denied, task.placed = NOWHERE, False, True
    if task.stat.kernel:
        task.place = place_of_thread(task.stat.name, mounts)
        return
    try:
        task.place = place_of_task(host, key, task.wait, mounts)
    except Denied:
        task.denied = True


def _row(key: tuple[str, str], task: _Task) -> dict[str, Any]:
    place = task.place
    return {
        "task": int(key[1]),
        "process": int(key[0]),
        "started": round(task.stat.started / _TICKS, 2),
        "name": task.stat.name,
        "kernel": task.stat.kernel,
        "wait": task.wait,
        "switches": task.switches,
        "moved": task.moved,
        "mount": place.mount,
        "filesystem": place.filesystem,
        "device": place.device,
        "number": place.number,
    }
