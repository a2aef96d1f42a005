"""Node-wide readings: host name, kernel, memory, load and processors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from sdstop.collectors.system.readings import (
    HOSTNAME,
    LOADAVG,
    MEMINFO,
    RELEASE,
    STAT,
    UPTIME,
    VERSION,
    VMSTAT,
    Cpu,
    CpuActivity,
    Node,
)
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Host, Malformed
from sdstop.core.model import Derivation, Reading
from sdstop.core.retention import lines_of
from sdstop.core.text import decimal


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
