"""Tasks in D state: which they are, what they wait for, and what a scan costs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sdstop.collectors.system.readings import BlockedTask, BlockedTasks
from sdstop.collectors.system.task_place import Mount, parse_mounts
from sdstop.collectors.system.task_scan import MOST, SHARE, TaskScan, parse_moved, parse_stat, parse_switches
from sdstop.collectors.system.tasks import TASKS, parse
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Malformed
from sdstop.core.model import Reading, Rows
from sdstop.node.live import LiveHost
from tests.needs import CLONE, fixture_needs
from tests.nodes.counting import Counting

INIT = {"/proc/1/stat": "1 (systemd) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12 22 33"}
MOUNTS = """22 1 8:1 / / rw - ext4 /dev/sda1 rw
24 22 0:6 / /dev rw - devtmpfs udev rw
40 22 253:3 / /srv/my\\040data rw shared:1 - xfs /dev/mapper/vg0-data rw
41 22 0:50 / /mnt/home rw - nfs4 nas1:/home rw
42 22 0:51 / /mnt/backup rw - nfs nas2:/backup rw
43 22 0:52 / /srv/tree rw - btrfs /dev/sdb rw
44 22 0:53 / /sys/fs/fuse/connections rw - fusectl fusectl rw
45 22 0:54 / /mnt/sshfs rw - fuse.sshfs u@h:/ rw
"""
NODES = {
    "/proc/sys/kernel/osrelease": "6.1.0-30-amd64",
    "link:/sys/dev/block/8:1": "../../devices/x/block/sda/sda1",
    "link:/sys/dev/block/8:16": "../../devices/x/block/sdb",
    "link:/sys/dev/block/253:3": "../../devices/virtual/block/dm-3",
    "/sys/class/block/sdb/dev": "8:16",
    "/sys/class/block/dm-3/dev": "253:3",
}


def stat(pid: int, name: str, state: str, *, kernel: bool = False, threads: int = 1, started: int = 2041) -> str:
    flags = 0x00200000 if kernel else 0x400000
    return f"{pid} ({name}) {state} 1 1 1 0 -1 {flags} 1 0 0 0 0 1 0 0 20 0 {threads} 0 {started} 1 2 3"


def task(
    pid: int, name: str = "dd", state: str = "D", wait: str = "io_schedule", *, switches: int = 7,
    files: Mapping[int, int] | None = None, call: str = "", kernel: bool = False, **more: Any,
) -> dict[str, str]:  # fmt: skip
    """Return the files of a single-threaded process; `files` are its open files and the mounts they are on."""
    folder = f"/proc/{pid}/task/{pid}"
    found = {
        f"/proc/{pid}/stat": stat(pid, name, state, kernel=kernel, **more),
        f"{folder}/status": f"Name:\tx\nvoluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t1\n",
        f"{folder}/wchan": wait,
        f"/proc/{pid}/mountinfo": MOUNTS,
        f"{folder}/syscall": call,
    }
    for number, mount in (files or {}).items():
        found[f"{folder}/fdinfo/{number}"] = f"pos:\t0\nflags:\t02\nmnt_id:\t{mount}\n"
    return found


def scan(*tasks: Mapping[str, str], scanner: TaskScan | None = None) -> list[dict[str, Any]]:
    files = dict(INIT) | NODES
    for each in tasks:
        files |= each
    return (scanner or TaskScan())(EvidenceHost.of(files))


def row(*tasks: Mapping[str, str]) -> dict[str, Any]:
    _, only = scan(*tasks)
    return only


# --- parsers ------------------------------------------------------------------------------------------------


def test_a_name_may_contain_anything() -> None:
    found = parse_stat("9 (a) (D x) D 1 1 1 0 -1 2097216 1 0 0 0 0 1 0 0 20 0 3 0 2041 1 2")
    assert found is not None
    assert (found.name, found.state, found.kernel, found.threads, found.started) == ("a) (D x", "D", True, 3, 2041)


@pytest.mark.parametrize("text", ["", "9 (dd", "9 (dd) D 1 2", "9 (dd) D 1 1 1 0 -1 x 1 0 0 0 0 1 0 0 20 0 3 0 2041"])
def test_anything_else_is_no_task(text: str) -> None:
    assert parse_stat(text) is None


def test_switches_and_bytes_are_sums_of_both() -> None:
    assert parse_switches("voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n") == 15
    assert parse_switches("voluntary_ctxt_switches:\t12\n") is None
    assert parse_moved("rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 5\n") == 12288
    assert parse_moved("") is None


def test_mounts() -> None:
    assert parse_mounts("40 22 253:3 / /srv/my\\040data rw shared:1 - xfs /dev/mapper/vg0-data rw\n") == [
        Mount("40", "253:3", "/srv/my data", "xfs", "/dev/mapper/vg0-data")
    ]
    assert parse_mounts("garbage\n40 22 253:3 / /x rw -\n") == []


# --- where they wait ----------------------------------------------------------------------------------------


def test_the_file_of_the_system_call_is_the_place() -> None:
    """Descriptor 3 of write(3, ...); the log on the root file system is open too."""
    found = row(task(71, files={1: 22, 3: 40}, call="1 0x3 0x7f00 0x1000 0x0 0x0 0x0 0x7ffc 0x7f01"))
    assert (found["mount"], found["filesystem"], found["device"], found["number"]) == (
        "/srv/my data", "xfs", "dm-3", "253:3",
    )  # fmt: skip
    assert (found["task"], found["process"], found["started"], found["switches"]) == (71, 71, 20.41, 8)


def test_without_a_system_call_several_file_systems_leave_it_unknown() -> None:
    assert row(task(71, files={1: 22, 3: 40}))["mount"] is None
    assert row(task(71, files={1: 40, 3: 40}))["mount"] == "/srv/my data"


def test_syscall_is_not_read_where_it_can_block() -> None:
    """Before 5.11 the lock is held while execve reads a program, perhaps from the mount that is dead."""
    one = task(71, files={1: 22, 3: 40}, call="1 0x3 0x7f00 0x1000 0x0 0x0 0x0 0x7ffc 0x7f01")
    host = Counting(EvidenceHost.of(INIT | NODES | one | {"/proc/sys/kernel/osrelease": "5.10.0-30-amd64"}))
    _, found = TaskScan()(host)
    assert found["mount"] is None
    assert not [path for path in host.reads if path.endswith(("/syscall", "/stack", "/io", "/environ", "/cmdline"))]


def test_a_task_that_opens_a_path_does_not_wait_for_the_files_that_it_has_open() -> None:
    """openat(AT_FDCWD, ...) on a frozen file system, with a log open on another one."""
    for at in ("0xffffff9c", "0xffffffffffffff9c"):
        call = f"257 {at} 0x7f00 0x241 0x1b6 0x0 0x0 0x7ffc 0x7f01"
        found = row(task(71, wait="percpu_rwsem_wait", files={1: 40}, call=call))
        assert (found["mount"], found["filesystem"], found["device"]) == (None, None, None)
        found = row(task(71, wait="rpc_wait_bit_killable", files={1: 41}, call=call))
        assert found["mount"] == "/mnt/home", "a function of NFS waits for NFS"


def test_a_function_of_nfs_names_the_only_nfs_file() -> None:
    """`ls` on a dead mount has no file open there: two NFS mounts, so the mount is unknown, but not the type."""
    found = row(task(71, wait="rpc_wait_bit_killable", files={1: 22, 3: 41}))
    assert (found["mount"], found["filesystem"], found["device"]) == ("/mnt/home", "nfs4", None)
    found = row(task(71, wait="rpc_wait_bit_killable", files={1: 22}))
    assert (found["mount"], found["filesystem"]) == (None, "nfs")


def test_an_nfs_server_that_is_a_client_too_waits_for_its_mount() -> None:
    """The file system `nfsd` controls the node's own server, and its name begins like that of a mount."""
    lines = [line for line in MOUNTS.splitlines() if line[:2] != "42"]
    lines.append("46 22 0:55 / /proc/fs/nfsd rw - nfsd nfsd rw")
    one = task(71, wait="rpc_wait_bit_killable", files={1: 22}) | {"/proc/71/mountinfo": "\n".join(lines)}
    found = row(one)
    assert (found["mount"], found["filesystem"]) == ("/mnt/home", "nfs4")


def test_the_only_fuse_mount_of_the_node_needs_no_open_file() -> None:
    found = row(task(71, wait="request_wait_answer", files={1: 22}))
    assert (found["mount"], found["filesystem"]) == ("/mnt/sshfs", "fuse.sshfs")


def test_a_device_node_is_a_place_without_a_mount() -> None:
    one = task(71, files={3: 24}, call="0 0x3 0x7f00 0x1000 0x0 0x0 0x0 0x7ffc 0x7f01")
    found = row(one | {"link:/proc/71/task/71/fd/3": "/dev/dm-3"})
    assert (found["mount"], found["device"], found["number"]) == (None, "dm-3", "253:3")


def test_btrfs_has_an_anonymous_number_and_a_device() -> None:
    found = row(task(71, files={3: 43}))
    assert (found["mount"], found["device"], found["number"]) == ("/srv/tree", "sdb", "8:16")


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("kworker/u8:3+flush-253:3", "dm-3"),
        ("jbd2/dm-3-8", "dm-3"),
        ("xfsaild/sdb", "sdb"),
        ("txg_sync", None),
        ("jbd2/sdz-8", None),
    ],
)
def test_kernel_threads_of_a_device(name: str, device: str | None) -> None:
    assert row(task(71, name, kernel=True))["device"] == device


def test_open_files_denied_are_counted_and_said() -> None:
    host = Counting(EvidenceHost.of(INIT | NODES | task(71)))
    host.denied = "/proc/71/task/71/fdinfo"
    head, found = TaskScan()(host)
    assert head == {"blocked": 1, "denied": 1}
    assert found["wait"] == "io_schedule"
    rows: dict[type[Reading], Rows] = {BlockedTasks: {(): BlockedTasks(1, 1)}}
    assert TASKS.lacks is not None
    assert TASKS.lacks(rows) == "answer:tasks.blocked: open files denied for 1 tasks in D state"


def test_hidden_processes_are_denied_rather_than_none() -> None:
    with pytest.raises(Denied, match="hides"):
        TaskScan()(EvidenceHost.of(task(71)))


# --- the scan -----------------------------------------------------------------------------------------------


def test_threads_are_tasks() -> None:
    threads = {
        "/proc/80/stat": stat(80, "mysqld", "S", threads=3),
        "/proc/80/task/80/stat": stat(80, "mysqld", "S", threads=3),
        "/proc/80/task/81/stat": stat(81, "ib_io", "D", threads=3),
        "/proc/80/task/82/stat": stat(82, "ib_io", "R", threads=3),
    }
    head, only = scan(threads)
    assert head["blocked"] == 1
    assert (only["task"], only["process"], only["name"]) == (81, 80, "ib_io")


def test_sleepers_and_idle_workers_are_none() -> None:
    assert scan(task(71, state="S"), task(72, state="I", kernel=True), task(73, state="R")) == [
        {"blocked": 0, "denied": 0}
    ]


class Clock:
    """Monotonic seconds; each read of a process's stat file takes `cost`."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 0.1
        return self.now


def test_between_full_scans_only_known_tasks_are_read() -> None:
    """A scan that took 0.1 s is repeated 20 times later at the earliest: at most 5 % of a processor."""
    clock = Clock()
    scanner = TaskScan(clock)
    many = [task(pid, state="S") for pid in range(100, 150)]
    first = Counting(EvidenceHost.of(INIT | NODES | {k: v for t in [*many, task(71)] for k, v in t.items()}))
    assert scanner(first)[0] == {"blocked": 1, "denied": 0}
    assert sum(path.endswith("/stat") for path in first.reads) == 52
    second = Counting(first.host)
    assert len(scanner(second)) == 2
    assert [path for path in second.reads if path.endswith("/stat")] == ["/proc/71/stat"]
    clock.now += SHARE * 0.2
    third = Counting(first.host)
    scanner(third)
    assert sum(path.endswith("/stat") for path in third.reads) == 52


def asleep(pid: int, ran: int, **more: Any) -> dict[str, str]:
    """Return the files of a process that has run for some nanoseconds."""
    return task(pid, **{"state": "S", **more}) | {f"/proc/{pid}/schedstat": f"{ran} 0 1\n"}


def stats_read(scanner: TaskScan, *tasks: Mapping[str, str]) -> tuple[list[str], list[int]]:
    """Return whose stat files a full scan reads, and which tasks it finds."""
    host = Counting(EvidenceHost.of(INIT | NODES | {key: text for each in tasks for key, text in each.items()}))
    scanner.due = 0.0
    found = [row["task"] for row in scanner(host)[1:]]
    return [path for path in host.reads if path.endswith("/stat") and path != "/proc/1/stat"], found


def test_of_tasks_that_have_not_run_since_the_last_scan_the_state_is_known() -> None:
    scanner = TaskScan()
    assert stats_read(scanner, asleep(71, 5), asleep(72, 6)) == (["/proc/71/stat", "/proc/72/stat"], [])
    assert stats_read(scanner, asleep(71, 5), asleep(72, 6)) == ([], [])
    assert stats_read(scanner, asleep(71, 5), asleep(72, 9, state="D")) == (["/proc/72/stat"], [72])
    assert stats_read(scanner, asleep(71, 5), asleep(72, 9, state="D")) == (["/proc/72/stat"], [72])  # still there
    assert stats_read(scanner, asleep(72, 10)) == (["/proc/72/stat"], [])
    assert stats_read(scanner, asleep(71, 5, state="D"), asleep(72, 10)) == (["/proc/71/stat"], [71])  # another one


def test_without_counts_every_state_is_read() -> None:
    scanner = TaskScan()
    for text in ("0 0 0\n", ""):
        uncounted = task(71, state="S") | {"/proc/71/schedstat": text}
        assert stats_read(scanner, uncounted) == (["/proc/71/stat"], [])
        assert stats_read(scanner, uncounted | task(71)) == (["/proc/71/stat"], [71])


def test_each_thread_is_asked_whether_it_has_run() -> None:
    def process(ran: int, state: str, threads: int = 2) -> dict[str, str]:
        folder = "/proc/80/task"
        found = {f"{folder}/80/schedstat": "5 0 1\n", f"{folder}/80/stat": stat(80, "db", "S", threads=threads)}
        if threads > 1:
            found |= {f"{folder}/81/schedstat": f"{ran} 0 1\n", f"{folder}/81/stat": stat(81, "io", state)}
        main = {name.replace("/task/80", ""): text for name, text in found.items() if "/task/80/" in name}
        return found | main

    scanner = TaskScan()
    assert stats_read(scanner, process(5, "S"))[1] == []
    assert stats_read(scanner, process(5, "S")) == ([], [])
    assert stats_read(scanner, process(6, "D")) == (["/proc/80/task/81/stat"], [81])
    assert stats_read(scanner, process(7, "S", threads=1))[1] == []
    ran = {"/proc/80/schedstat": "6 0 1\n"}  # a process of one thread runs to start another
    assert stats_read(scanner, process(7, "S", threads=1))[1] == []
    assert stats_read(scanner, process(7, "D") | ran)[1] == [81]


def test_a_task_that_woke_up_is_gone_at_once() -> None:
    scanner = TaskScan(Clock())
    assert len(scan(task(71), scanner=scanner)) == 2
    assert scan(task(71, state="R"), scanner=scanner) == [{"blocked": 0, "denied": 0}]
    assert scan(scanner=scanner) == [{"blocked": 0, "denied": 0}]


def test_a_reused_number_is_another_task() -> None:
    scanner = TaskScan()
    assert scan(task(71), scanner=scanner)[1]["started"] == 20.41
    assert scan(task(71, wait="rpc_wait_bit_killable", started=9000), scanner=scanner)[1]["wait"].startswith("rpc")


def test_the_place_is_looked_for_once_in_a_sleep() -> None:
    scanner = TaskScan()
    host = Counting(EvidenceHost.of(INIT | NODES | task(71, files={3: 40})))
    scanner(host)
    host.reads.clear()
    assert scanner(host)[1]["mount"] == "/srv/my data"
    assert not [path for path in host.reads if "fdinfo" in path or "mountinfo" in path]


def test_bytes_are_read_of_writers_held_back_only() -> None:
    moved = {"/proc/71/task/71/io": "read_bytes: 0\nwrite_bytes: 4096\n"}
    assert row(task(71, wait="balance_dirty_pages") | moved)["moved"] == 4096
    assert row(task(71, wait="balance_dirty_pages_ratelimited_flags") | moved)["moved"] == 4096
    assert row(task(71, wait="io_schedule") | moved)["moved"] is None
    assert row(task(71, "kworker", wait="balance_dirty_pages", kernel=True) | moved)["moved"] is None


def test_details_are_bounded_and_the_number_is_not() -> None:
    head, *rows = scan(*(task(pid) for pid in range(1000, 1000 + MOST + 50)))
    assert head["blocked"] == MOST + 50
    assert [r["task"] for r in rows] == list(range(1000, 1000 + MOST))


# --- answers ------------------------------------------------------------------------------------------------


def test_rows() -> None:
    said = scan(task(71, files={3: 40}))
    assert list(parse(said)) == [
        BlockedTasks(1, 0),
        BlockedTask(
            71, 20.41, 71, "dd", False, "io_schedule", 8, None, "/srv/my data", "xfs", "dm-3", "253:3"  # noqa: FBT003
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("said", [{}, [], [3], [{}], [{"blocked": "x"}], [{"blocked": 1}, {"task": 3}]])
def test_anything_else_is_malformed(said: Any) -> None:
    with pytest.raises(Malformed):
        list(parse(said))


def test_it_was_not_recorded() -> None:
    with pytest.raises(Absent):
        list(TASKS.read(EvidenceHost.of({})))


# --- a real kernel ------------------------------------------------------------------------------------------

_VFORK = 0x4000
_WAITS = f"""
import ctypes, signal, time
if ctypes.CDLL(None).syscall({{clone}}, {_VFORK} | signal.SIGCHLD, 0, 0, 0, 0) == 0:
    print("sleeps", flush=True)
    time.sleep(60)
"""


@pytest.fixture
@fixture_needs("clone")
def waiting() -> Iterator[int]:
    """A process in D state: it waits for a child made by clone(CLONE_VFORK), without shared memory."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WAITS.format(clone=CLONE[os.uname().machine])],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    yield process.pid
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


@pytest.mark.live
def test_a_real_task_in_d_state(waiting: int) -> None:
    host, scanner = LiveHost("/"), TaskScan()
    rows: dict[int, dict[str, Any]] = {}
    for _ in range(50):
        rows = {r["task"]: r for r in scanner(host)[1:]}
        if waiting in rows:
            break
        scanner.due = 0.0
        time.sleep(0.1)
    again = {r["task"]: r for r in scanner(host)[1:]}
    assert rows[waiting]["switches"] == again[waiting]["switches"]
    assert rows[waiting]["process"] == waiting
    assert not rows[waiting]["kernel"]
