"""The node itself: name, kernel, memory, load, processors, and the time tasks are stalled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, ClassVar

from msgspec import Struct

from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Absent, Denied, Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Derivation, Fact, Kind, Label, Metric, Name, Reading, Source, Sources, Unplaced
from sdstop.core.text import is_whole

_COUNTER = Kind.COUNTER
_TICK = 0.01
"""Seconds of a tick in /proc/stat: USER_HZ is 100 on every architecture that carries storage nodes."""

STAT, MEMINFO, LOADAVG, UPTIME = "/proc/stat", "/proc/meminfo", "/proc/loadavg", "/proc/uptime"
HOSTNAME, RELEASE, VERSION = "/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease", "/proc/version"
PRESSURES = "/proc/pressure"
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
    "swap_total": Source(MEMINFO, "SwapTotal:"),
    "swap_free": Source(MEMINFO, "SwapFree:"),
}
_LOAD = "Tasks that run, are ready to run or sleep uninterruptibly, fading mean"
_SPENT = "Seconds since boot spent"
_SHARE = "Share of the processor's time, 0 to 1,"
_SOME = "in which one task or more was stalled for want of the resource"
_FULL = "in which all tasks that are not idle were stalled at once for want of the resource"


class Node(Reading, frozen=True):
    """The node: one row."""

    family: ClassVar[str] = "node"
    title: ClassVar[str] = "Node"
    rows_of = Unplaced("each field has a file of its own")
    fields_of = _SOURCES

    hostname: Annotated[str | None, Fact("Host", "Host name", names=Name.HOST)] = None
    kernel: Annotated[str | None, Fact("Kernel", "Kernel release", plain=True)] = None
    boot_time: Annotated[
        int | None,
        Metric("Booted", "Unix time of boot, seconds (btime)", "seconds", name="sdstop_node_boot_time_seconds"),
    ] = None
    uptime: Annotated[float | None, Metric("Up", "Seconds since boot, sleep included", "seconds", export=False)] = None
    cpus: Annotated[int | None, Metric("CPUs", "Processors online, counted by their lines")] = None
    load1: Annotated[float | None, Metric("Load 1", f"{_LOAD} of the last minute")] = None
    load5: Annotated[float | None, Metric("Load 5", f"{_LOAD} of the last 5 minutes")] = None
    load15: Annotated[float | None, Metric("Load 15", f"{_LOAD} of the last 15 minutes")] = None
    tasks_running: Annotated[
        int | None, Metric("Running", "Tasks that run or are ready to run, at this moment (procs_running)")
    ] = None
    tasks_blocked: Annotated[
        int | None, Metric("Blocked", "Tasks that sleep until their I/O is done, at this moment (procs_blocked)")
    ] = None
    memory_total: Annotated[
        int | None, Metric("Memory", "Bytes of memory that the kernel manages (MemTotal)", "bytes")
    ] = None
    memory_available: Annotated[
        int | None,
        Metric("Available", "Bytes that programs can have without swapping, an estimate (MemAvailable)", "bytes"),
    ] = None
    memory_dirty: Annotated[
        int | None, Metric("Dirty", "Bytes of page cache that wait to be written to storage (Dirty)", "bytes")
    ] = None
    memory_writeback: Annotated[
        int | None, Metric("Writeback", "Bytes of page cache being written to storage now (Writeback)", "bytes")
    ] = None
    swap_total: Annotated[int | None, Metric("Swap", "Bytes of swap space (SwapTotal)", "bytes")] = None
    swap_free: Annotated[int | None, Metric("Swap free", "Bytes of swap space not in use (SwapFree)", "bytes")] = None


class Cpu(Reading, frozen=True):
    """Time a processor spent, since boot, in ticks of 10 ms; guests' time is part of user and nice."""

    family: ClassVar[str] = "cpu"
    title: ClassVar[str] = "Processor time"
    exported: ClassVar[bool] = False  # node_exporter has it, and the row of all beside its parts would count twice

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
    """How a processor spent its time between two readings: shares of that time."""

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


class Pressure(Reading, frozen=True):
    """Time that tasks are stalled for want of a resource (PSI, kernel 4.20).

    `some`: at least one task; `full`: all that are not idle.
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
    some_avg10: Annotated[
        float | None, Metric("Some, 10 s", f"Share of time, 0 to 1, fading mean of 10 s, {_SOME} (avg10)", "ratio")
    ] = None
    some_avg60: Annotated[
        float | None, Metric("Some, 60 s", f"Share of time, 0 to 1, fading mean of 60 s, {_SOME} (avg60)", "ratio")
    ] = None
    some_avg300: Annotated[
        float | None, Metric("Some, 300 s", f"Share of time, 0 to 1, fading mean of 300 s, {_SOME} (avg300)", "ratio")
    ] = None
    some_total: Annotated[
        int | None,
        Metric(
            "Some",
            f"Seconds since boot {_SOME} (total)",
            "seconds",
            _COUNTER,
            1e-6,
            "sdstop_pressure_some_seconds_total",
        ),
    ] = None
    full_avg10: Annotated[
        float | None, Metric("Full, 10 s", f"Share of time, 0 to 1, fading mean of 10 s, {_FULL} (avg10)", "ratio")
    ] = None
    full_avg60: Annotated[
        float | None, Metric("Full, 60 s", f"Share of time, 0 to 1, fading mean of 60 s, {_FULL} (avg60)", "ratio")
    ] = None
    full_avg300: Annotated[
        float | None, Metric("Full, 300 s", f"Share of time, 0 to 1, fading mean of 300 s, {_FULL} (avg300)", "ratio")
    ] = None
    full_total: Annotated[
        int | None,
        Metric(
            "Full",
            f"Seconds since boot {_FULL} (total)",
            "seconds",
            _COUNTER,
            1e-6,
            "sdstop_pressure_full_seconds_total",
        ),
    ] = None


def _ints(words: Iterable[str]) -> list[int]:
    """Return the whole numbers that words begin with."""
    found = []
    for word in words:
        if not word.isdecimal() or len(word) > 20:
            break
        found.append(int(word))
    return found


def parse_stat(text: str) -> tuple[list[Cpu], dict[str, int]]:
    """Return the processors and the single figures of /proc/stat (fs/proc/stat.c).

        cpu  10204 0 3673 373880 1299 0 143 41 0 0
        cpu0 1978 0 1195 191309 100 0 26 20 0 0
        btime 1763701560
        procs_blocked 0

    Ticks of 10 ms of user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice; what an old kernel
    does not count (steal before 2.6.11) is 0 there. The first line is the sum.
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
    """Return /proc/meminfo in bytes: lines such as `MemTotal:       24684084 kB` (fs/proc/meminfo.c)."""
    found = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        numbers = _ints(words[:1])
        if colon and numbers:
            found[name] = numbers[0] * (1024 if words[1:] == ["kB"] else 1)
    return found


def _decimal(word: str) -> float | None:
    """Return a number as the kernel prints it: `0.42`."""
    whole, _, rest = word.partition(".")
    digits = whole + rest
    return float(word) if is_whole(digits) and whole else None


def _decimals(text: str | None) -> list[float | None]:
    return [_decimal(word) for word in (text or "").split()]


def _release(host: Host) -> str | None:
    """Return the kernel's release; `/proc/version` begins with `Linux version 6.1.0-53-amd64 (`."""
    release = host.maybe(RELEASE)
    if release:
        return release
    words = (host.maybe(VERSION) or "").split(None, 3)
    return words[2] if len(words) > 2 and words[:2] == ["Linux", "version"] else None


class _Said(Struct, frozen=True):
    """What the node's files say, None where one is not there."""

    stat: str | None
    memory: str | None
    load: str | None
    uptime: str | None
    hostname: str | None
    kernel: str | None


def read_node(host: Host) -> Iterable[Reading]:
    """Yield the node and its processors. Raises Absent if the node says nothing at all of itself."""
    stat, memory, load, uptime, name = (host.maybe(path) for path in (STAT, MEMINFO, LOADAVG, UPTIME, HOSTNAME))
    said = _Said(stat, memory, load, uptime, name, _release(host))
    if not any((said.stat, said.memory, said.load, said.uptime, said.hostname, said.kernel)):
        host.read(STAT)  # says why not
    return _node(said)


def _node(said: _Said) -> Iterator[Reading]:
    processors, figures = parse_stat(said.stat or "")
    memory = parse_meminfo(said.memory or "")
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
        swap_total=memory.get("SwapTotal"),
        swap_free=memory.get("SwapFree"),
    )
    if row == Node():
        raise Malformed(f"{STAT}: nothing known in it")
    yield row
    yield from processors


def spent(before: Cpu, after: Cpu, seconds: float) -> CpuActivity | None:
    """Return how a processor spent its time: shares of the ticks it counted, None if it counted none.

    Idle and iowait may go back a little (the kernel samples them across processors); that counts as 0.
    """
    del seconds  # a processor's own ticks are what its shares are shares of
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


def parse_pressure(resource: str, text: str) -> Pressure | None:
    """Return a row of a file of /proc/pressure (kernel/sched/psi.c), None if it says nothing.

        some avg10=0.00 avg60=0.12 avg300=0.31 total=8421024
        full avg10=0.00 avg60=0.00 avg300=0.00 total=0

    Percentages of the last 10, 60 and 300 s, and microseconds since boot.
    """
    found: dict[str, float | int] = {}
    for line in text.splitlines():
        kind, _, pairs = line.partition(" ")
        if kind not in {"some", "full"}:
            continue
        for pair in pairs.split():
            name, _, word = pair.partition("=")
            value = _decimal(word)
            if value is not None and name in {"avg10", "avg60", "avg300"}:
                found[f"{kind}_{name}"] = value / 100
            elif name == "total" and _ints([word]):
                found[f"{kind}_total"] = int(word)
    return Pressure(resource, **found) if found else None  # type: ignore[arg-type]  # only total is named total


def read_pressure(host: Host) -> Iterable[Reading]:
    """Yield a row of each resource the kernel accounts for.

    Raises Absent where the kernel does not account at all (before 4.20, or `psi=0`, which is the default of some
    distributions: opening fails with "Operation not supported" then).
    """
    rows, refusal = [], None
    for resource in ("io", "memory", "cpu", "irq"):
        try:
            row = parse_pressure(resource, host.text(f"{PRESSURES}/{resource}"))
        except TimedOut:
            raise
        except Unreadable as error:
            refusal = refusal or error
            continue
        if row is not None:
            rows.append(row)
    if rows:
        return rows
    if isinstance(refusal, Denied) or (isinstance(refusal, Absent) and not refusal.recorded):
        raise refusal
    raise Absent(f"{PRESSURES}/io", "the kernel does not account for pressure (boot with psi=1)")


def without_builder(data: bytes) -> bytes:
    """Return /proc/version without the user and host that built the kernel."""
    return re.sub(rb"\([^()\s]+@[^()\s]+\)", b"(builder)", data)


NODE = Collector(
    "node",
    "Node: name, kernel, memory, load, processors",
    read_node,
    (Node, Cpu),
    (
        Need(STAT, "processor time, boot time, tasks that wait for I/O"),
        Need(MEMINFO, "memory, page cache that must still be written"),
        Need(LOADAVG, "load"),
        Need(UPTIME, "time since boot"),
        Need(HOSTNAME, "the node's name"),
        Need(RELEASE, "the kernel: what its counters mean depends on it"),
        Need(VERSION, "the same, where a capture has only that", redact=without_builder),
    ),
    LIVE,
    derives=(Derivation(Cpu, CpuActivity, spent),),
    eager=True,
)

PRESSURE = Collector(
    "pressure",
    "Pressure stall information",
    read_pressure,
    (Pressure,),
    (Need(f"{PRESSURES}/*", "time that tasks are stalled for want of I/O, memory or processors"),),
    LIVE,
)
