"""Readings of the node itself: CPUs, memory, pressure, processes and their threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, Sources, Unplaced

_COUNTER = Kind.COUNTER

_TICK = 0.01
"""Seconds per tick in /proc/stat; USER_HZ is 100 on every architecture used for storage nodes."""

STAT, MEMINFO, LOADAVG, UPTIME = "/proc/stat", "/proc/meminfo", "/proc/loadavg", "/proc/uptime"

HOSTNAME, RELEASE, VERSION = "/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease", "/proc/version"

VMSTAT = "/proc/vmstat"

_SOURCES: Mapping[str, Sources] = {
    "hostname": Source(HOSTNAME),
    "kernel": Source(RELEASE),
    "boot_time": Source(STAT, "btime "),
    "uptime": Source(UPTIME),
    "cpus": Source(STAT, "cpu"),
    **dict.fromkeys(("load1", "load5", "load15"), Source(LOADAVG)),
    "tasks_running": Source(STAT, "procs_running "),
    "tasks_blocked": Source(STAT, "procs_blocked "),
    "memory_total": Source(MEMINFO, "MemTotal:"),
    "memory_available": Source(MEMINFO, "MemAvailable:"),
    "memory_dirty": Source(MEMINFO, "Dirty:"),
    "memory_writeback": Source(MEMINFO, "Writeback:"),
    "memory_poisoned": Source(MEMINFO, "HardwareCorrupted:"),
    "swap_total": Source(MEMINFO, "SwapTotal:"),
    "swap_free": Source(MEMINFO, "SwapFree:"),
    "swapped_in": Source(VMSTAT, "pswpin "),
    "swapped_out": Source(VMSTAT, "pswpout "),
    "killed": Source(VMSTAT, "oom_kill "),
}

_LOAD = "Runnable tasks and tasks in uninterruptible sleep, exponential mean"

_SPENT = "Seconds since boot spent"

_SHARE = "Share of the processor's time, 0 to 1,"


class Node(Reading, frozen=True):
    """The node itself; a single row."""

    family: ClassVar[str] = "node"
    title: ClassVar[str] = "Node"
    rows_of = Unplaced("each field has a file of its own")
    fields_of = _SOURCES

    hostname: Annotated[str | None, Fact("Host", "Host name", names=Name.HOST)] = None
    kernel: Annotated[str | None, Fact("Kernel", "Kernel release", plain=True)] = None
    boot_time: Annotated[
        int | None,
        Metric("Booted", "Unix timestamp of boot (btime)", "seconds", name="sdstop_node_boot_time_seconds"),
    ] = None
    uptime: Annotated[float | None, Metric("Up", "Time since boot, including suspend", "seconds", export=False)] = None
    cpus: Annotated[int | None, Metric("CPUs", "Number of online CPUs", setting=True)] = None
    load1: Annotated[float | None, Metric("Load 1", f"{_LOAD} of 1 minute")] = None
    load5: Annotated[float | None, Metric("Load 5", f"{_LOAD} of 5 minutes")] = None
    load15: Annotated[float | None, Metric("Load 15", f"{_LOAD} of 15 minutes")] = None
    tasks_running: Annotated[int | None, Metric("Running", "Runnable tasks (procs_running)")] = None
    tasks_blocked: Annotated[int | None, Metric("Blocked", "Tasks blocked on I/O (procs_blocked)")] = None
    memory_total: Annotated[int | None, Metric("Memory", "Memory managed by the kernel (MemTotal)", "bytes")] = None
    memory_available: Annotated[
        int | None,
        Metric("Available", "Estimated memory available without swapping (MemAvailable)", "bytes"),
    ] = None
    memory_dirty: Annotated[int | None, Metric("Dirty", "Dirty page cache (Dirty)", "bytes")] = None
    memory_writeback: Annotated[
        int | None, Metric("Writeback", "Page cache being written to storage (Writeback)", "bytes")
    ] = None
    swap_total: Annotated[int | None, Metric("Swap", "Swap space (SwapTotal)", "bytes")] = None
    swap_free: Annotated[int | None, Metric("Swap free", "Free swap space (SwapFree)", "bytes")] = None
    swapped_in: Annotated[int | None, Metric("Swapped in", "Pages swapped in since boot (pswpin)", kind=_COUNTER)] = (
        None
    )
    swapped_out: Annotated[
        int | None, Metric("Swapped out", "Pages swapped out since boot (pswpout)", kind=_COUNTER)
    ] = None
    memory_poisoned: Annotated[
        int | None,
        Metric(
            "Poisoned", "Memory taken out of use after uncorrectable errors (HardwareCorrupted)", "bytes", export=False
        ),
    ] = None
    killed: Annotated[
        int | None,
        Metric(
            "Killed", "Processes killed since boot for lack of memory, of the node or a control group", export=False
        ),
    ] = None


class Cpu(Reading, frozen=True):
    """CPU time since boot, in ticks of 10 ms; guest time is included in user and nice."""

    family: ClassVar[str] = "cpu"
    title: ClassVar[str] = "Processor time"
    exported: ClassVar[bool] = False  # node_exporter exports it, and summing would count the `all` row twice

    cpu: Annotated[str, Label("CPU", "Number of the processor, or all", plain=True)]
    user: Annotated[int, Metric("User", f"{_SPENT} in programs", "seconds", _COUNTER, _TICK)]
    nice: Annotated[int, Metric("Nice", f"{_SPENT} in programs of low priority", "seconds", _COUNTER, _TICK)]
    system: Annotated[int, Metric("System", f"{_SPENT} in the kernel, without interrupts", "seconds", _COUNTER, _TICK)]
    idle: Annotated[int, Metric("Idle", f"{_SPENT} with nothing to do", "seconds", _COUNTER, _TICK)]
    iowait: Annotated[
        int, Metric("I/O wait", f"{_SPENT} idle while a task of it waited for I/O", "seconds", _COUNTER, _TICK)
    ]
    irq: Annotated[int, Metric("IRQ", f"{_SPENT} in hardware interrupts", "seconds", _COUNTER, _TICK)]
    softirq: Annotated[int, Metric("Soft IRQ", f"{_SPENT} in software interrupts", "seconds", _COUNTER, _TICK)]
    steal: Annotated[int, Metric("Steal", f"{_SPENT} by the hypervisor on others", "seconds", _COUNTER, _TICK)]

    def source(self, field: str = "") -> Source | None:
        """Return the processor's line of /proc/stat."""
        del field
        return Source(STAT, "cpu " if self.cpu == "all" else f"cpu{self.cpu} ")


class CpuActivity(Reading, frozen=True):
    """CPU utilization between two samples, as shares of the elapsed CPU time."""

    family: ClassVar[str] = "cpu_activity"
    title: ClassVar[str] = "Processors"
    exported: ClassVar[bool] = False

    cpu: Annotated[str, Label("CPU", "Number of the processor, or all", plain=True)]
    busy: Annotated[float, Metric("Busy", f"{_SHARE} neither idle nor waiting for I/O", "ratio")]
    user: Annotated[float, Metric("User", f"{_SHARE} in programs, low priority included", "ratio")]
    system: Annotated[float, Metric("System", f"{_SHARE} in the kernel, interrupts included", "ratio")]
    irq: Annotated[float, Metric("IRQ", f"{_SHARE} in hardware and software interrupts", "ratio")]
    iowait: Annotated[float, Metric("I/O wait", f"{_SHARE} idle while a task of it waited for I/O", "ratio")]
    steal: Annotated[float, Metric("Steal", f"{_SHARE} spent by the hypervisor on others", "ratio")]
    idle: Annotated[float, Metric("Idle", f"{_SHARE} with nothing to do", "ratio")]

    def source(self, field: str = "") -> Source | None:
        """Return the processor's line of /proc/stat."""
        del field
        return Source(STAT, "cpu " if self.cpu == "all" else f"cpu{self.cpu} ")


PRESSURES = "/proc/pressure"

_SOME = "in which some task was stalled on the resource"

_FULL = "in which all non-idle tasks were stalled on the resource"


class Pressure(Reading, frozen=True):
    """Time that tasks are stalled waiting for a resource (PSI, kernel 4.20 and later).

    `some`: at least one task is stalled; `full`: all non-idle tasks are.
    """

    family: ClassVar[str] = "pressure"
    title: ClassVar[str] = "Pressure"
    rows_of = Source(f"{PRESSURES}/{{resource}}")
    fields_of: ClassVar = {
        f"{kind}_{span}": Source(f"{PRESSURES}/{{resource}}", f"{kind} ")
        for kind in ("some", "full")
        for span in ("avg10", "avg60", "avg300", "total")
    }

    resource: Annotated[str, Label("Resource", "io, memory, cpu or irq", plain=True)]
    some_avg10: Annotated[float | None, Metric("Some, 10 s", f"Share of time {_SOME} (PSI avg10)", "ratio")] = None
    some_avg60: Annotated[float | None, Metric("Some, 60 s", f"Share of time {_SOME} (PSI avg60)", "ratio")] = None
    some_avg300: Annotated[float | None, Metric("Some, 300 s", f"Share of time {_SOME} (PSI avg300)", "ratio")] = None
    some_total: Annotated[
        int | None,
        Metric(
            "Some",
            f"Seconds since boot {_SOME} (PSI total)",
            "seconds",
            _COUNTER,
            1e-6,
            "sdstop_pressure_some_seconds_total",
        ),
    ] = None
    full_avg10: Annotated[float | None, Metric("Full, 10 s", f"Share of time {_FULL} (PSI avg10)", "ratio")] = None
    full_avg60: Annotated[float | None, Metric("Full, 60 s", f"Share of time {_FULL} (PSI avg60)", "ratio")] = None
    full_avg300: Annotated[float | None, Metric("Full, 300 s", f"Share of time {_FULL} (PSI avg300)", "ratio")] = None
    full_total: Annotated[
        int | None,
        Metric(
            "Full",
            f"Seconds since boot {_FULL} (PSI total)",
            "seconds",
            _COUNTER,
            1e-6,
            "sdstop_pressure_full_seconds_total",
        ),
    ] = None


PROCESSES_QUESTION = "psutil.processes"


class ProcessIo(Reading, frozen=True):
    """Storage I/O of a process since its start, in bytes; processes with unreadable counters have no row."""

    family: ClassVar[str] = "process_io"
    title: ClassVar[str] = "Processes' I/O"
    exported: ClassVar[bool] = False
    crowded: ClassVar[bool] = True
    rows_of = Source(f"answer:{PROCESSES_QUESTION}", '"pid": {pid},')
    things: ClassVar = {
        "pid": Identity(ThingKind.CLIENT, Naming.PROCESS),
    }

    pid: Annotated[int, Label("PID", "Process")]
    started: Annotated[float | None, Label("Started", "Unix timestamp of its start, which distinguishes reused PIDs")]
    name: Annotated[str, Fact("Name", "Name of the program", plain=True)]
    user: Annotated[str | None, Fact("User", "Owner", names=Name.USER)]
    cmdline: Annotated[str | None, Fact("Command", "Command line, cut", names=Name.PATHS)]
    read_bytes: Annotated[int, Metric("Read", "Bytes read from storage", "bytes", Kind.COUNTER)]
    write_bytes: Annotated[int, Metric("Written", "Bytes written to storage", "bytes", Kind.COUNTER)]


class ProcessActivity(Reading, frozen=True):
    """Storage I/O rates of a process between two samples; processes that ended in between are missing."""

    family: ClassVar[str] = "process_activity"
    title: ClassVar[str] = "I/O by process"
    exported: ClassVar[bool] = False
    crowded: ClassVar[bool] = True
    rows_of = Unplaced("it follows from two readings of a process")
    things: ClassVar = {
        "pid": Identity(ThingKind.CLIENT, Naming.PROCESS),
    }

    pid: Annotated[int, Label("PID", "Process")]
    started: Annotated[float | None, Label("Started", "Unix timestamp of its start")]
    name: Annotated[str, Fact("Name", "Name of the program", plain=True)]
    user: Annotated[str | None, Fact("User", "Owner", names=Name.USER)]
    cmdline: Annotated[str | None, Fact("Command", "Command line, cut", names=Name.PATHS)]
    read_bytes_per_second: Annotated[float, Metric("Read", "Bytes read from storage", "bytes_per_second")]
    write_bytes_per_second: Annotated[float, Metric("Write", "Bytes written to storage", "bytes_per_second")]


class ProcessSummary(Reading, frozen=True):
    """Process counts: total and with unreadable I/O counters; None if /proc hides other users' processes."""

    family: ClassVar[str] = "process_summary"
    title: ClassVar[str] = "Processes"
    rows_of = Unplaced("it counts over all processes")

    processes: Annotated[
        int | None, Metric("Processes", "Number of processes and kernel threads", name="sdstop_processes")
    ]
    denied: Annotated[
        int | None, Metric("Hidden", "Processes whose I/O counters need root", name="sdstop_processes_hidden")
    ]


class StorageThread(Reading, frozen=True):
    """Kernel thread of an array, pool or cache: parity, checksums, compression, copying."""

    family: ClassVar[str] = "storage_thread"
    title: ClassVar[str] = "Kernel threads of storage"
    exported: ClassVar[bool] = False
    crowded: ClassVar[bool] = True
    rows_of = Source(f"answer:{PROCESSES_QUESTION}", '"pid": {pid},')
    things: ClassVar = {
        "pid": Identity(ThingKind.CLIENT, Naming.PROCESS),
    }

    pid: Annotated[int, Label("PID", "Thread")]
    started: Annotated[float | None, Label("Started", "Unix timestamp of its start")]
    name: Annotated[str, Fact("Name", "Name of the thread", plain=True)]
    cpu: Annotated[float, Metric("CPU", "CPU time of the thread", "seconds", Kind.COUNTER)]


class StorageThreadActivity(Reading, frozen=True):
    """CPU utilization of a storage thread between two samples."""

    family: ClassVar[str] = "storage_thread_activity"
    title: ClassVar[str] = "Kernel threads of storage at work"
    exported: ClassVar[bool] = False
    crowded: ClassVar[bool] = True
    rows_of = Source(f"answer:{PROCESSES_QUESTION}", '"pid": {pid},')
    things: ClassVar = {
        "pid": Identity(ThingKind.CLIENT, Naming.PROCESS),
    }

    pid: Annotated[int, Label("PID", "Thread")]
    started: Annotated[float | None, Label("Started", "Unix timestamp of its start")]
    name: Annotated[str, Fact("Name", "Name of the thread", plain=True)]
    busy: Annotated[float, Metric("CPU", "CPU time as a share of one processor", "ratio")]


TASKS_QUESTION = "tasks.blocked"


class BlockedTask(Reading, frozen=True):
    """A task (thread) in D state: uninterruptible sleep, from which only the kernel wakes it.

    A task whose context switches did not change between two samples has not run in between, so its I/O counters cannot
    have changed either. Only a writer that the kernel holds back until dirty pages are written (balance_dirty_pages)
    wakes from time to time to look; `moved` is read for these tasks alone. `wait` is the kernel function that the task
    sleeps in, `mount` and `device` are where the file is that it waits for; None if not readable or not known. `listed`
    is the recorded list that shows the task, which has no context switches. The rows join nothing: they change with
    every sample, and the graph of things must not.
    """

    family: ClassVar[str] = "blocked_task"
    title: ClassVar[str] = "Tasks in D state"
    exported: ClassVar[bool] = False
    crowded: ClassVar[bool] = True
    rows_of = (Source("{listed}", "{task} "), Source(f"answer:{TASKS_QUESTION}", '"task": {task},'))

    task: Annotated[int, Label("Task", "Thread ID")]
    started: Annotated[float, Label("Started", "Seconds after boot; distinguishes reused numbers")]
    process: Annotated[int, Metric("PID", "Process of the thread", exact=True)]
    name: Annotated[str, Fact("Name", "Name of the thread", plain=True)]
    kernel: Annotated[bool, Fact("Kernel", "Whether it is a kernel thread")]
    wait: Annotated[str | None, Fact("Waits in", "Kernel function it sleeps in (wchan)", plain=True)]
    switches: Annotated[int | None, Metric("Switches", "Context switches", kind=Kind.COUNTER)]
    moved: Annotated[
        int | None, Metric("Moved", "Bytes read and written, of tasks held back by dirty pages", "bytes", Kind.COUNTER)
    ] = None
    mount: Annotated[str | None, Fact("Mount", "Mount point of the file it waits for", names=Name.PATH)] = None
    filesystem: Annotated[str | None, Fact("File system", "Type of the file system it waits for", plain=True)] = None
    device: Annotated[str | None, Fact("Device", "Block device that the task waits for", names=Name.DEVICE)] = None
    number: Annotated[str | None, Fact("Number", "MAJOR:MINOR of the block device", export=False, plain=True)] = None
    listed: Annotated[
        str | None, Fact("List", "Evidence, if a list of ps or top", export=False, names=Name.EVIDENCE)
    ] = None


class BlockedTasks(Reading, frozen=True):
    """Number of tasks in D state in the last full scan, and of those whose open files were not readable."""

    family: ClassVar[str] = "blocked_tasks"
    title: ClassVar[str] = "Number of tasks in D state"
    rows_of = (Source("{listed}"), Source(f"answer:{TASKS_QUESTION}", '"blocked": '))

    blocked: Annotated[
        int,
        Metric("In D state", "Tasks in uninterruptible sleep (state D)", name="sdstop_tasks_uninterruptible"),
    ]
    denied: Annotated[int, Metric("Hidden", "Tasks in state D whose open files need root", export=False)] = 0
    listed: Annotated[
        str | None, Fact("List", "Evidence, if a list of ps or top", export=False, names=Name.EVIDENCE)
    ] = None
    threads: Annotated[bool, Fact("Threads", "Whether threads were counted, not processes alone", export=False)] = True


class FailedUnit(Reading, frozen=True):
    """A failed unit of systemd, from a recorded list."""

    family: ClassVar[str] = "failed_unit"
    title: ClassVar[str] = "Failed units"
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}", "{needle}")

    unit: Annotated[str, Label("Unit", "Name of the unit: ceph-osd@3.service", names=Name.PATHS)]
    state: Annotated[str, Fact("State", "State of its kind: failed, mounting", plain=True)]
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""


class Units(Reading, frozen=True):
    """Numbers of a complete list of units."""

    family: ClassVar[str] = "units"
    title: ClassVar[str] = "Units of systemd"
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}", "units listed")

    listed: Annotated[int, Metric("Listed", "Units in the list")]
    failed: Annotated[int, Metric("Failed", "Failed units among them")]
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""


class KernelLimit(Reading, frozen=True):
    """A limit of the kernel that all programs of the node share, and its use."""

    family: ClassVar[str] = "kernel_limit"
    title: ClassVar[str] = "Limits of the kernel"
    rows_of = Source("{origin}")

    name: Annotated[str, Label("Limit", "files, aio, threads, connections or neighbors", plain=True)]
    used: Annotated[int, Metric("Used", "Number in use")]
    most: Annotated[int, Metric("Limit", "Largest number", name="sdstop_kernel_limit_max", setting=True)]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""


class PrintedCpu(Reading, frozen=True):
    """A processor in recorded output of mpstat, as shares of an interval."""

    family: ClassVar[str] = "printed_cpu"
    title: ClassVar[str] = "Processors, reported by mpstat"
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}", "{needle}")

    cpu: Annotated[str, Label("CPU", "Number of the processor, or all", plain=True)]
    busy: Annotated[float, Metric("Busy", "Share of time neither idle nor waiting for I/O", "ratio")]
    irq: Annotated[float, Metric("IRQ", "Share of time in hardware and software interrupts", "ratio")]
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean of several intervals: a single one may be a second."""
        return self.needle.startswith("Average")
