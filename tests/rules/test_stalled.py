"""tasks-stuck, io-stalled and load-unexplained: the floor under all rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from sdstop.analysis.tasks.stalled import LOADS, STOPS, accounts
from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.devicemapper.suspended import SUSPENDED
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.collectors.network.interfaces import INTERFACES, NETWORK
from sdstop.collectors.system.node import NODE
from sdstop.collectors.system.pressure import PRESSURE
from sdstop.collectors.system.tasks import TASKS
from sdstop.core.finding import Finding, Gap, Severity, Unchecked
from sdstop.core.rule import Rule
from sdstop.rules.disks.device_hung import DEVICE_HUNG
from sdstop.rules.disks.device_saturated import DEVICE_SATURATED
from sdstop.rules.mappings.volume_suspended import VOLUME_SUSPENDED
from sdstop.rules.network.link_saturated import LINK_SATURATED
from sdstop.rules.system.io_stalled import IO_STALLED
from sdstop.rules.system.load_unexplained import LOAD_UNEXPLAINED
from sdstop.rules.system.tasks_stuck import TASKS_STUCK
from tests.nodes.frames import Files, Judged, value
from tests.nodes.network import Nic
from tests.nodes.network import files as network

COLLECTORS = (TASKS, NODE, PRESSURE, DISKSTATS, BLOCKDEV, SUSPENDED)
RULES = [DEVICE_HUNG, VOLUME_SUSPENDED, TASKS_STUCK, IO_STALLED, LOAD_UNEXPLAINED]
BLOCK = {
    "/sys/block/sda/dev": "8:0",
    "/sys/block/sdb/dev": "8:16",
    "/sys/block/dm-0/dev": "253:0",
    "link:/sys/block/dm-0/slaves/sda": "../../sda",
}
NFS: dict[str, Any] = {"mount": "/mnt/home", "filesystem": "nfs4", "wait": "rpc_wait_bit_killable"}
ON_DM: dict[str, Any] = {"mount": "/srv", "filesystem": "xfs", "device": "dm-0", "number": "253:0"}
PACE = 2.0


def task(ident: int, name: str = "dd", switches: int = 7, **more: Any) -> dict[str, Any]:
    known = {"kernel": False, "wait": "io_schedule", "moved": None, "mount": None, "filesystem": None, "device": None,
             "number": None}  # fmt: skip
    return {"task": ident, "process": ident, "started": 10.5, "name": name, "switches": switches} | known | more


def files(
    tasks: Sequence[dict[str, Any]], *, blocked: int | None = None, load: float = 3.0, cpus: int = 2, full: float = 0.0,
    disks: str = "", scanned: bool = True, **more: str,
) -> Files:  # fmt: skip
    """Return a frame's files; `blocked` is the kernel's own count, `full` its I/O pressure of a minute in percent."""
    waiting = len(tasks) if blocked is None else blocked
    rows = [{"blocked": len(tasks), "denied": 0}, *tasks]
    processors = "".join(f"cpu{n} 1 2 3 4 5 6 7 8 9 10\n" for n in range(cpus))
    return {
        **({"answer:tasks.blocked": "[" + ",\n ".join(map(json.dumps, rows)) + "]"} if scanned else {}),
        "/proc/stat": f"cpu  1 2 3 4 5 6 7 8 9 10\n{processors}btime 1\nprocs_running 1\nprocs_blocked {waiting}\n",
        "/proc/loadavg": f"{load:.2f} 1.00 0.50 1/300 4711\n",
        "/proc/pressure/io": "some avg10=90.00 avg60=90.00 avg300=9.00 total=1\n"
        f"full avg10={full:.2f} avg60={full:.2f} avg300=1.00 total=1\n",
        "/proc/diskstats": disks or disk("sda", 0, 500, 0) + disk("dm-0", 0, 500, 0, 253),
        **BLOCK,
        **more,
    }


def disk(name: str, minor: int, done: int, in_flight: int, major: int = 8) -> str:
    return f"{major:4} {minor:7} {name} {done} 0 {done * 8} {done} 0 0 0 0 {in_flight} {done} {done} 0 0 0 0 0 0\n"


def judged(*shown: Files, rules: Sequence[Rule] = RULES, pace: float = PACE, **config: float) -> Judged:
    frames = [(n * pace, each) for n, each in enumerate(shown)]
    return Judged(COLLECTORS, rules, frames, {rule.id: config for rule in rules} if config else None)


def still(count: int, seconds: float = 16.0, **more: Any) -> list[Files]:
    """Return frames in which `count` tasks never run."""
    return [files([task(70 + n, **more) for n in range(count)]) for _ in range(int(seconds / PACE) + 1)]


# --- io-stalled ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "seconds", "fires"), [(2, 16, True), (1, 16, False), (2, 14, False), (9, 60, True)])
def test_two_tasks_for_fifteen_seconds(count: int, seconds: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(*still(count, seconds))
    if fires:
        finding = said.finding("tasks", "io-stalled")
        assert finding.severity is Severity.CRITICAL
        assert value(finding, "tasks") == count
        assert value(finding, "seconds") == seconds
        assert "no finding explains it" in finding.cause
        assert finding.impact.endswith("so far: dd.")
    elif seconds < 15:
        assert said.unchecked("tasks", "io-stalled").reason == "2 in D state; collecting data: 14 of 15 s"
    else:
        assert "1 task not run for 15 s: too few" in said.ruled_out("tasks", "io-stalled").summary


def test_tasks_that_run_now_and_then_are_none() -> None:
    """A busy disk: always two tasks in D state, but they are woken."""
    shown = [files([task(70, switches=n), task(71, switches=n)]) for n in range(30)]
    assert "2 in D state, none for 15 s" in judged(*shown).ruled_out("tasks", "io-stalled").summary


def test_other_tasks_at_each_sample_are_none() -> None:
    shown = [files([task(70 + n), task(90 + n)]) for n in range(30)]
    judged(*shown).ruled_out("tasks", "io-stalled")


def test_a_number_used_again_is_another_task() -> None:
    shown = still(2, 10) + [files([task(70, started=99.0), task(71, started=99.0)]) for _ in range(6)]
    judged(*shown).ruled_out("tasks", "io-stalled")


def test_the_time_counts_from_the_last_run() -> None:
    shown = [files([task(70, switches=1), task(71, switches=1)]), *still(2, 20)]
    assert value(judged(*shown).finding("tasks", "io-stalled"), "seconds") == 20


def test_frozen_groups_and_parents_of_vfork_are_no_io() -> None:
    for wait in ("__refrigerator", "kernel_clone"):
        judged(*still(5, 30, wait=wait)).ruled_out("tasks", "io-stalled")


FROZEN: dict[str, Any] = {"wait": "percpu_rwsem_wait"}


def test_a_frozen_file_system() -> None:
    """Writers that open a path on it name no mount; with one that writes to an open file there, it is known."""
    said = judged(*still(3, **FROZEN))
    finding = said.finding("filesystems", "tasks-stuck")
    assert (finding.severity, finding.title) == (Severity.CRITICAL, "FILE SYSTEM FROZEN")
    assert finding.cause == "3 tasks have not run for 16s, waiting for a frozen file system."
    assert "tasks-stuck:filesystems" in said.ruled_out("tasks", "io-stalled").summary
    both = [files([task(70, **FROZEN), task(71, **FROZEN | ON_DM)]) for _ in range(9)]
    finding = judged(*both).finding("dm-0", "tasks-stuck")
    assert value(finding, "tasks") == 2
    assert finding.cause.endswith("waiting for the frozen /srv.")
    assert any("fsfreeze --unfreeze /srv" in str(line) for line in finding.advice)


def test_a_frozen_file_system_is_not_other_tasks_that_wait() -> None:
    """Tasks in unknown places stay a group of their own, without the word frozen."""
    said = judged(*[files([task(70, **FROZEN), task(71), task(72)]) for _ in range(9)])
    assert said.finding("filesystems", "tasks-stuck").severity is Severity.WARNING
    assert said.finding("tasks", "tasks-stuck").title == "TASKS STUCK: 2 in D state"
    assert value(said.finding("tasks", "io-stalled"), "tasks") == 2


def test_a_suspended_device_accounts_for_the_frozen_file_system_on_it() -> None:
    shown = [dict(each) | {"/sys/block/dm-0/dm/suspended": "1\n"} for each in still(2, **FROZEN)]
    said = judged(*shown)
    assert said.finding("filesystems", "tasks-stuck").severity is Severity.INFO
    said.finding("dm-0", "volume-suspended")


def test_idle_threads_of_drivers_count_only_while_something_waits_for_io() -> None:
    """Threads that sleep in D state for ever raise the load of a healthy node; procs_blocked does not count them."""
    idle = [task(70, "drv_a", kernel=True), task(71, "drv_b", kernel=True)]
    judged(*[files(idle, blocked=0) for _ in range(20)]).ruled_out("tasks", "io-stalled")
    judged(*[files(idle, blocked=2) for _ in range(20)]).finding("tasks", "io-stalled")
    judged(*[files([*idle, task(72)], blocked=0) for _ in range(20)]).finding("tasks", "io-stalled")


def test_writers_held_back_by_dirty_pages_wake_and_write_nothing() -> None:
    def held(n: int, moved: int) -> Files:
        wait: dict[str, Any] = {"wait": "balance_dirty_pages", "switches": 100 + 10 * n, "moved": moved}
        return files([task(70, **wait), task(71, **wait)])

    judged(*[held(n, 4096) for n in range(10)]).finding("tasks", "io-stalled")
    judged(*[held(n, 4096 * n) for n in range(10)]).ruled_out("tasks", "io-stalled")


def test_tasks_without_readable_switches_are_not_judged() -> None:
    shown = [files([task(70, switches=None), task(71, switches=None)]) for _ in range(20)]  # type: ignore[arg-type]
    judged(*shown).ruled_out("tasks", "io-stalled")


def test_a_shorter_watch_uses_its_own_time_and_says_so() -> None:
    finding = judged(*still(3, 10), seconds=10.0).finding("tasks", "io-stalled")
    assert "3 tasks have not run in 10 s" in finding.cause


def test_what_another_finding_explains_is_left_to_it() -> None:
    """The tasks' place is unknown (not root), and dm-0 is suspended."""
    shown = [
        dict(each) | {"/sys/block/dm-0/dm/suspended": "1", "/sys/block/dm-0/dm/name": "vg-lv"} for each in still(3)
    ]
    said = judged(*shown)
    assert said.finding("dm-0", "volume-suspended").severity is Severity.CRITICAL
    assert "explained by volume-suspended:dm-0" in said.ruled_out("tasks", "io-stalled").summary


def test_the_known_place_of_tasks_is_named_by_tasks_stuck_alone() -> None:
    said = judged(*still(3, **NFS))
    said.finding("/mnt/home", "tasks-stuck")
    assert "explained by tasks-stuck:/mnt/home" in said.ruled_out("tasks", "io-stalled").summary


def test_without_tasks_stuck_io_stalled_says_it() -> None:
    judged(*still(3, **NFS), rules=[IO_STALLED]).finding("tasks", "io-stalled")


def test_no_task_in_d_state_needs_no_time() -> None:
    assert judged(files([])).ruled_out("tasks", "io-stalled").summary.startswith("0 in D state")


# --- tasks-stuck --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "severity"), [(1, Severity.WARNING), (2, Severity.CRITICAL), (40, Severity.CRITICAL)]
)
def test_a_dead_nfs_mount(count: int, severity: Severity) -> None:
    finding = judged(*still(count, **NFS)).finding("/mnt/home", "tasks-stuck")
    assert finding.severity is severity
    assert "waiting for /mnt/home (nfs4)" in finding.summary
    assert value(finding, "waits") == "rpc_wait_bit_killable"
    assert any("umount -f -l /mnt/home" in line for line in finding.steps)


def test_fourteen_seconds_are_not_yet_stuck() -> None:
    assert not isinstance(judged(*still(2, 14, **NFS)).of("tasks", "tasks-stuck"), Finding)


def behind(*waits: str, **place: Any) -> Judged:
    """Return a node with a task that waits in a place, and others that wait behind it."""
    rest = [task(80 + n, "cat", wait=wait) for n, wait in enumerate(waits)]
    return judged(*[files([task(70, **(place or NFS)), *rest]) for _ in range(9)])


def test_tasks_that_wait_for_the_lookup_of_another_one_are_in_its_place() -> None:
    """As on a real kernel: three programs open one file below a dead mount, and one of them asks the server."""
    said = behind("d_alloc_parallel", "d_alloc_parallel")
    assert (said.finding("/mnt/home").severity, value(said.finding("/mnt/home"), "tasks")) == (Severity.CRITICAL, 3)
    assert not [f for f in said.all if isinstance(f, Finding) and f.subject == "tasks"]


def test_tasks_of_which_only_the_type_is_known_are_in_the_only_such_mount() -> None:
    """As on a real kernel: of three writers to a dead NFS mount, the kernel shows the file of one alone."""
    other: dict[str, Any] = {"mount": None, "filesystem": "nfs", "wait": "nfs_wait_bit_killable"}
    said = judged(*[files([task(70, **NFS), task(71, **other), task(72, **other)]) for _ in range(9)])
    assert value(said.finding("/mnt/home", "tasks-stuck"), "tasks") == 3
    second = {**NFS, "mount": "/mnt/work"}
    said = judged(*[files([task(70, **NFS), task(71, **second), task(72, **other)]) for _ in range(9)])
    assert value(said.finding("nfs", "tasks-stuck"), "tasks") == 1


def test_tasks_that_wait_elsewhere_stay_unknown() -> None:
    said = behind("d_alloc_parallel", "io_schedule", "io_schedule")
    assert value(said.finding("/mnt/home"), "tasks") == 2
    assert said.finding("tasks", "io-stalled").severity is Severity.CRITICAL


def test_of_two_places_it_is_unknown_which_one_the_lookup_is_in() -> None:
    shown = [files([task(70, **NFS), task(71, **ON_DM), task(72, wait="d_alloc_parallel")]) for _ in range(9)]
    assert value(judged(*shown).finding("tasks", "tasks-stuck"), "tasks") == 1


def test_each_place_is_one_finding() -> None:
    shown = [files([task(70, **NFS), task(71, **NFS), task(72, "tar", **ON_DM), task(73)]) for _ in range(9)]
    said = judged(*shown)
    assert said.finding("/mnt/home").severity is Severity.CRITICAL
    assert said.finding("dm-0", "tasks-stuck").severity is Severity.WARNING
    assert said.finding("tasks", "tasks-stuck").severity is Severity.INFO
    assert not any(f.rule == "io-stalled" and isinstance(f, Finding) for f in said.all)


@pytest.mark.parametrize(
    ("step", "busy", "severity", "words"),
    [
        (0, 0, Severity.CRITICAL, "the device completed nothing"),
        (100, 100, Severity.WARNING, "the device completed 800 requests"),
        (100, 2000, Severity.INFO, "the device completed 800 requests"),
    ],
)
def test_a_device_that_works_is_not_dead(step: int, busy: int, severity: Severity, words: str) -> None:
    """At its limit (busy all the time) it serves others first: a fact, but no fault of this rule."""

    def row(n: int) -> str:
        done, ticks = 500 + step * n, busy * n
        return f" 253       0 dm-0 {done} 0 {done * 8} {ticks} 0 0 0 0 3 {ticks} {ticks} 0 0 0 0 0 0\n"

    shown = [files([task(70, **ON_DM), task(71, **ON_DM)], disks=row(n)) for n in range(9)]
    finding = judged(*shown, rules=[TASKS_STUCK]).finding("dm-0", "tasks-stuck")
    assert finding.severity is severity
    assert words in finding.summary


def test_a_hung_disk_below_explains_the_tasks_above() -> None:
    disks = disk("sda", 0, 500, 5) + disk("dm-0", 0, 500, 5, 253)
    shown = [files([task(70 + n, **ON_DM) for n in range(4)], disks=disks) for _ in range(10)]
    said = judged(*shown)
    stuck = said.finding("dm-0", "tasks-stuck")
    assert stuck.severity is Severity.INFO
    assert stuck.explained_by == ("device-hung:sda",)
    assert "tasks-stuck:dm-0" in said.finding("sda", "device-hung").explains
    said.ruled_out("tasks", "io-stalled")


def test_a_fault_elsewhere_explains_nothing() -> None:
    disks = disk("sdb", 16, 500, 5) + disk("sda", 0, 500, 0) + disk("dm-0", 0, 500, 0, 253)
    shown = [files([task(70 + n, **ON_DM) for n in range(4)], disks=disks) for _ in range(10)]
    said = judged(*shown)
    said.finding("sdb", "device-hung")
    assert said.finding("dm-0", "tasks-stuck").severity is Severity.CRITICAL


# --- load-unexplained ---------------------------------------------------------------------------------------


def pressed(tasks: int, full: float, *, frames: int = 4, **more: Any) -> Judged:
    shown = [files([], blocked=tasks, full=full, scanned=False, **more) for _ in range(frames)]
    return judged(*shown, rules=[LOAD_UNEXPLAINED])


@pytest.mark.parametrize(
    ("tasks", "full", "fires"), [(5, 60.0, True), (4, 99.0, False), (5, 59.0, False), (0, 99.0, False)]
)
def test_pressure_and_tasks(tasks: int, full: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = pressed(tasks, full).of("load")
    assert isinstance(said, Finding) is fires
    if isinstance(said, Finding):
        assert said.severity is Severity.WARNING
        assert value(said, "waiting") == tasks


@pytest.mark.parametrize(
    ("tasks", "load", "fires"), [(257, 263.0, True), (257, 600.0, False), (4, 4.1, False), (5, 4.0, False)]
)
def test_tasks_that_wait_while_another_one_runs(tasks: int, load: float, fires: bool) -> None:  # noqa: FBT001
    """PSI counts a moment as full only if no task runs: one busy loop hides 257 tasks that wait."""
    assert isinstance(pressed(tasks, 0.5, load=load).of("load"), Finding) is fires


def test_the_fewest_of_a_minute_count() -> None:
    shown = [files([], blocked=9, full=80.0, scanned=False) for _ in range(10)]
    shown[4] = files([], blocked=4, full=80.0, scanned=False)
    judged(*shown, rules=[LOAD_UNEXPLAINED]).ruled_out("load")


def test_load_of_processors_is_none_of_its_business() -> None:
    said = judged(*[files([], blocked=0, load=263.0, full=0.0) for _ in range(4)], rules=[LOAD_UNEXPLAINED])
    assert "load 263 on 2 processors" in said.ruled_out("load").summary


@pytest.mark.parametrize(("stuck", "load", "fires"), [(257, 263.0, True), (257, 600.0, False), (4, 4.1, False)])
def test_a_single_frame_of_a_stuck_node_is_enough(stuck: int, load: float, fires: bool) -> None:  # noqa: FBT001
    """Tasks that wait for a dead FUSE mount are no I/O to the kernel: no pressure, procs_blocked is 0."""
    one = files([task(70 + n) for n in range(stuck)], blocked=0, load=load)
    assert isinstance(judged(one).of("load"), Finding) is fires


def test_in_the_first_seconds_it_is_provisional() -> None:
    """The kernel's averages reach back before the first sample; rules that would account for it need samples."""
    early = pressed(9, 80.0, frames=2).finding("load")
    assert early.totals
    assert "too few samples to explain it" in early.cause
    late = pressed(9, 80.0, frames=10).finding("load")
    assert not late.totals
    assert late.cause.endswith("no finding explains it.")


def backup(
    seconds: int, *, busy: float = 1.0, queue: float = 12.0, tasks: int = 20, stuck: int = 0, interval: float = 1.0
) -> Judged:
    """Return a node whose only disk is full for a backup; `stuck` of the tasks in D state are never served."""

    def shown(n: int) -> Files:
        done, ticks, waited = (round(each * n * interval) for each in (180, 1000 * busy, 1000 * queue))
        row = f"   8       0 sda {done} 0 {done * 64} {waited} 0 0 0 0 12 {ticks} {waited} 0 0 0 0 0 0\n"
        known = [task(70 + place, switches=7 if place < stuck else n) for place in range(tasks)]
        media = {"/sys/block/sda/queue/rotational": "1"}
        return dict(files(known, full=80.0, load=float(tasks), disks=row + disk("dm-0", 0, 500, 0, 253))) | media

    every = [shown(n) for n in range(int(seconds / interval) + 1)]
    return judged(*every, rules=[*RULES, DEVICE_SATURATED], pace=interval)


def test_a_full_disk_accounts_for_a_backup_as_soon_as_that_is_known() -> None:
    """A check watches for under seven seconds, in which device-saturated cannot judge yet."""
    early = backup(6).unchecked("load", "load-unexplained")
    assert (early.gap, early.calm) == (Gap.EARLY, False)
    assert early.reason.endswith("; collecting data: so far sda full of requests")
    assert "explained by device-saturated:sda" in backup(8).ruled_out("load", "load-unexplained").summary


@pytest.mark.parametrize(("blocked", "gap"), [(92, Gap.FAULTY), (5, Gap.FAULTY), (4, Gap.UNRECORDED)])
def test_many_tasks_that_wait_are_not_good_without_the_number_of_processors(blocked: int, gap: Gap) -> None:
    """As in vmstat alone."""
    text = f"cpu  1 2 3 4 5 6 7 8 9 10\nprocs_running 1\nprocs_blocked {blocked}\n"
    verdict = Judged((NODE,), RULES, [(0.0, {"/proc/stat": text})]).unchecked("load", "load-unexplained")
    assert verdict.gap is gap


def network_backup(seconds: int, *, sent: float = 1.17e8, interval: float = 1.0) -> Judged:
    """Return a node with 20 programs that write to an NFS server over a link of 1 Gbit/s, served in turn."""

    def shown(n: int) -> Files:
        place = {"mount": "/srv/backup", "filesystem": "nfs4", "wait": "rpc_wait_bit_killable"}
        known = [task(70 + k, switches=9 + n, **place) for k in range(20)]
        done, frames = round(sent * n * interval), round(80_000 * n * interval)
        card = Nic("eth0", speed=1000, tx_bytes=done, tx_packets=frames, rx_bytes=60 * frames, rx_packets=frames)
        return {**files(known, full=80.0, load=20.0), **network(card)}

    collectors = (*COLLECTORS, NETWORK, INTERFACES)
    frames = [(n * interval, shown(n)) for n in range(int(seconds / interval) + 1)]
    return Judged(collectors, [*RULES, LINK_SATURATED], frames)


@pytest.mark.parametrize("interval", [1.0, 15.0])
def test_a_full_link_accounts_for_a_backup_as_soon_as_that_is_known(interval: float) -> None:
    for samples in (1, 2):
        early = network_backup(int(samples * interval), interval=interval).unchecked("load", "load-unexplained")
        assert (early.gap, early.calm) == (Gap.EARLY, False)
        assert early.reason.endswith("; collecting data: so far eth0 at the line rate")
    late = network_backup(int(3 * interval), interval=interval).ruled_out("load", "load-unexplained")
    assert "explained by link-saturated:eth0" in late.summary


@pytest.mark.parametrize("seconds", [1, 2, 6])
def test_a_link_with_room_does_not(seconds: int) -> None:
    assert isinstance(network_backup(seconds, sent=9e7).of("load", "load-unexplained"), Finding)


@pytest.mark.parametrize("interval", [2.0, 5.0, 15.0])
def test_a_full_disk_accounts_for_it_at_any_interval(interval: float) -> None:
    """Of longer samples three are enough: eight of them would not be kept."""
    assert "device-saturated:sda" in backup(75, interval=interval).ruled_out("load", "load-unexplained").summary


@pytest.mark.parametrize(
    ("more", "fires"),
    [
        ({"busy": 0.96}, False), ({"busy": 0.94}, True),
        ({"queue": 10.0}, False), ({"queue": 9.9}, True),
        ({"tasks": 257, "queue": 64.0}, True),
    ],
)  # fmt: skip
def test_a_full_disk_does_not_account_for_tasks_that_wait_elsewhere(more: dict[str, Any], fires: bool) -> None:  # noqa: FBT001
    """Two processors: more than four tasks are many. Half of the tasks must have a request on the disk."""
    said = backup(6, **more).of("load", "load-unexplained")
    assert isinstance(said, Finding) is fires
    assert fires or isinstance(said, Unchecked)


@pytest.mark.parametrize("seconds", [0, 1, 6, 8, 10, 14, 20])
def test_a_node_at_load_263_beside_a_full_disk_is_never_good(seconds: int) -> None:
    said = backup(seconds, tasks=257, stuck=257)
    assert {found.severity for found in said.all if isinstance(found, Finding)} & {Severity.WARNING, Severity.CRITICAL}


@pytest.mark.parametrize(("queue", "severity"), [(129.0, "info"), (128.0, "critical")])
def test_a_full_disk_accounts_for_stalled_tasks_if_half_of_them_have_a_request(queue: float, severity: str) -> None:
    said = backup(20, tasks=257, stuck=257, queue=queue)
    assert {found.severity.value for found in said.all if isinstance(found, Finding)} == {"info", severity}


def test_a_finding_accounts_for_it_even_of_info() -> None:
    shown = [files([task(70 + n, **NFS) for n in range(9)], full=80.0) for _ in range(10)]
    assert "explained by tasks-stuck:/mnt/home" in judged(*shown).ruled_out("load").summary


def test_without_processors_nothing_is_said() -> None:
    one = dict(files([])) | {"/proc/stat": "btime 1\nprocs_blocked 3\n"}
    assert judged(one, rules=[LOAD_UNEXPLAINED]).unchecked("load").calm


# --- ranges of md arrays that are suspended ------------------------------------------------------------------

MD_LIST = (
    "Personalities : [raid1]\nmd0 : active raid1 sdb[1] sda[0]\n      8 blocks [2/2] [UU]\n\nunused devices: <none>\n"
)


def ranged(seconds: int, high: int = 4096, low: int = 0, action: str = "idle", step: int = 0) -> Judged:
    """Return what is said of an array whose range of suspended writes ends at `high`, `step` more each second."""
    known = {"level": "raid1", "array_state": "clean", "degraded": "0", "sync_action": action, "suspend_lo": str(low)}
    files = {f"/sys/block/md0/md/{name}": f"{text}\n" for name, text in known.items()} | {"/proc/mdstat": MD_LIST}
    shown = [(float(t), files | {"/sys/block/md0/md/suspend_hi": f"{high + t * step}\n"}) for t in range(seconds + 1)]
    return Judged((MDRAID, MDMEMBERS), [VOLUME_SUSPENDED], shown)


def test_a_range_of_an_array_that_stays_suspended() -> None:
    finding = ranged(10).finding("md0")
    assert (finding.severity, finding.title) == (Severity.WARNING, "RANGE SUSPENDED: writes wait")
    assert finding.cause == "Suspended from 0 B to 2 MiB for 10s, without a reshape."
    assert any(line.startswith("echo 0 > /sys/block/md0/md/suspend_hi") for line in finding.steps)


def test_a_range_that_was_suspended_a_moment_ago_or_moves_is_not_reported_yet() -> None:
    assert "below 10 s is normal" in ranged(9).unchecked("md0").reason
    assert "below 10 s is normal" in ranged(30, step=8).unchecked("md0").reason


def test_a_range_that_a_reshape_moves_belongs_to_it() -> None:
    assert ranged(30, action="reshape").unchecked("md0").calm


@pytest.mark.parametrize(("low", "high"), [(0, 0), (4096, 4096), (4097, 4096)])
def test_an_empty_range_holds_nothing_back(low: int, high: int) -> None:
    assert ranged(30, high, low).ruled_out("md0").summary == "no range suspended: suspend_hi 0"


@pytest.mark.parametrize("rule", ["slow-stripe-member", "slow-device"])
@pytest.mark.parametrize(("severity", "explains"), [(Severity.INFO, False), (Severity.WARNING, True)])
def test_a_member_that_lags_accounts_for_nothing(rule: str, severity: Severity, explains: bool) -> None:  # noqa: FBT001
    slow = Finding(
        severity=severity, subject="md0/sdc", title="MEMBER LAGS", cause="", impact="", values=(), evidence=(),
        advice=(), refuted_by="", rule=rule,
    )  # fmt: skip
    assert accounts(slow, STOPS) is explains
    assert accounts(slow, LOADS) is explains
