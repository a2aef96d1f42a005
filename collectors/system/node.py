"""Node-wide readings: host name, kernel, memory, load and processors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, ClassVar

from msgspec import Struct

from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Host, Malformed
from sdstop.core.model import Derivation, Fact, Kind, Label, Metric, Name, Reading, Source, Sources, Unplaced
from sdstop.core.retention import lines_of
from sdstop.core.text import decimal

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


def _ints(words: Iterable[str]) -> list[int]:
    """Return the leading whole numbers of a word list."""
    found = []
    for word in words:
        if not word.isdecimal() or len(word) > 20:
            break
        found.append(int(word))
    return found


def parse_stat(text: str) -> tuple[list[Cpu], dict[str, int]]:
    """Return the processors and the scalar values of /proc/stat (fs/proc/stat.c).

        cpu  10204 0 3673 373880 1299 0 143 41 0 0
        cpu0 1978 0 1195 191309 100 0 26 20 0 0
        btime 1763701560
        procs_blocked 0

    The columns are ticks of 10 ms: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice. Columns
    that an old kernel lacks (steal before 2.6.11) are 0. The first line is the sum of all processors.
    """
    processors: list[Cpu] = []
    figures: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name.startswith("cpu") and (name == "cpu" or name[3:].isdecimal()):
            ticks = _ints(rest.split())
            if len(ticks) >= 7:
                processors.append(Cpu(name[3:] or "all", *[*ticks, 0][:8]))
        elif name in {"btime", "procs_running", "procs_blocked"}:
            figures.update(zip((name,), _ints(rest.split()), strict=False))
    return processors, figures


def parse_meminfo(text: str) -> dict[str, int]:
    """Return the values of /proc/meminfo in bytes.

    A line is `MemTotal:       24684084 kB` (fs/proc/meminfo.c).
    """
    found = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        numbers = _ints(words[:1])
        if colon and numbers:
            found[name] = numbers[0] * (1024 if words[1:] == ["kB"] else 1)
    return found


def parse_vmstat(text: str) -> dict[str, int]:
    """Return the counters of /proc/vmstat (mm/vmstat.c), a line each: `pswpin 4711`."""
    pairs = (line.partition(" ") for line in text.splitlines())
    return {name: numbers[0] for name, _, rest in pairs if (numbers := _ints(rest.split()))}


def _decimals(text: str | None) -> list[float | None]:
    return [decimal(word) for word in (text or "").split()]


def _release(host: Host) -> str | None:
    """Return the kernel release, falling back to `/proc/version` (`Linux version 6.1.0-53-amd64 (...`)."""
    release = host.maybe(RELEASE)
    if release:
        return release
    words = (host.maybe(VERSION) or "").split(None, 3)
    return words[2] if len(words) > 2 and words[:2] == ["Linux", "version"] else None


class _NodeFiles(Struct, frozen=True):
    """Contents of the node's files; None for a missing file."""

    stat: str | None
    memory: str | None
    load: str | None
    uptime: str | None
    hostname: str | None
    kernel: str | None
    paging: str | None


def read_node(host: Host) -> Iterable[Reading]:
    """Yield the Node and a Cpu for each processor.

    Raises Absent (or another error of reading /proc/stat) if none of the files has any content, Malformed if no value
    is recognized.
    """
    stat, memory, load, uptime, name = (host.maybe(path) for path in (STAT, MEMINFO, LOADAVG, UPTIME, HOSTNAME))
    said = _NodeFiles(stat, memory, load, uptime, name, _release(host), host.maybe(VMSTAT))
    if not any((said.stat, said.memory, said.load, said.uptime, said.hostname, said.kernel, said.paging)):
        host.read(STAT)  # raises the reason
    return _node(said)


def _node(said: _NodeFiles) -> Iterator[Reading]:
    processors, figures = parse_stat(said.stat or "")
    memory = parse_meminfo(said.memory or "")
    paging = parse_vmstat(said.paging or "")
    load = [*_decimals(said.load), None, None, None]
    row = Node(
        hostname=said.hostname or None,
        kernel=said.kernel,
        boot_time=figures.get("btime"),
        uptime=[*_decimals(said.uptime), None][0],
        cpus=sum(cpu.cpu != "all" for cpu in processors) or None,
        load1=load[0],
        load5=load[1],
        load15=load[2],
        tasks_running=figures.get("procs_running"),
        tasks_blocked=figures.get("procs_blocked"),
        memory_total=memory.get("MemTotal"),
        memory_available=memory.get("MemAvailable"),
        memory_dirty=memory.get("Dirty"),
        memory_writeback=memory.get("Writeback"),
        memory_poisoned=memory.get("HardwareCorrupted"),
        swap_total=memory.get("SwapTotal"),
        swap_free=memory.get("SwapFree"),
        swapped_in=paging.get("pswpin"),
        swapped_out=paging.get("pswpout"),
        killed=paging.get("oom_kill"),
    )
    if row == Node():
        raise Malformed(f"{STAT}: nothing known in it")
    yield row
    yield from processors


def spent(before: Cpu, after: Cpu, seconds: float) -> CpuActivity | None:
    """Return a processor's utilization as shares of the ticks it counted, None if it counted none.

    Idle and iowait can decrease slightly (the kernel samples them across processors); a decrease counts as 0.
    """
    del seconds  # shares are relative to the processor's own ticks, not to wall-clock time
    user = max(after.user + after.nice - before.user - before.nice, 0)
    system = max(after.system - before.system, 0)
    irq = max(after.irq + after.softirq - before.irq - before.softirq, 0)
    steal = max(after.steal - before.steal, 0)
    iowait, idle = max(after.iowait - before.iowait, 0), max(after.idle - before.idle, 0)
    total = user + system + irq + steal + iowait + idle
    if not total:
        return None
    return CpuActivity(
        after.cpu,
        busy=(total - iowait - idle) / total,
        user=user / total,
        system=(system + irq) / total,
        irq=irq / total,
        iowait=iowait / total,
        steal=steal / total,
        idle=idle / total,
    )


def without_builder(data: bytes) -> bytes:
    """Return /proc/version without the user and host name of the kernel build."""
    return re.sub(rb"\([^()\s]+@[^()\s]+\)", b"(builder)", data)


NODE = Collector(
    "node",
    "Node: name, kernel, memory, load, processors",
    read_node,
    (Node, Cpu),
    (
        Need(STAT, "processor time, boot time, tasks blocked on I/O", filled=True, everyone=True),
        Need(MEMINFO, "memory, dirty page cache", filled=True, everyone=True),
        Need(VMSTAT, "pages swapped in and out", keep=lines_of(r"pswp(?:in|out) ")),
        Need(LOADAVG, "load", filled=True, everyone=True),
        Need(UPTIME, "time since boot", filled=True, everyone=True),
        Need(HOSTNAME, "the node's name"),
        Need(RELEASE, "the kernel: the meaning of counters depends on it", filled=True),
        Need(VERSION, "kernel version, if a capture has only this file", redact=without_builder),
    ),
    LIVE,
    derives=(Derivation(Cpu, CpuActivity, spent),),
    eager=True,
)
