"""The node itself: name, kernel, memory, load, processors, and the time tasks are stalled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar

from sdstop.collector import LIVE, Collector, Need
from sdstop.host import Host
from sdstop.model import Derivation, Fact, Kind, Label, Metric, Reading

_COUNTER = Kind.COUNTER
_TICK = 0.01
"""Seconds of a tick in /proc/stat: USER_HZ is 100 on every architecture that carries storage nodes."""


@dataclass(frozen=True, slots=True)
class Node(Reading):
    """The node: one row."""

    family: ClassVar[str] = "node"
    title: ClassVar[str] = "Node"

    hostname: Annotated[str | None, Fact("Host", "Host name")] = None
    kernel: Annotated[str | None, Fact("Kernel", "Kernel release")] = None
    boot_time: Annotated[
        int | None, Metric("Booted", "Unix time of boot", "seconds", name="sdstop_node_boot_time_seconds")
    ] = None
    uptime: Annotated[float | None, Metric("Up", "Time since boot", "seconds", export=False)] = None
    cpus: Annotated[int | None, Metric("CPUs", "Processors online")] = None
    load1: Annotated[float | None, Metric("Load 1", "Tasks running or in disk sleep, 1 min mean")] = None
    load5: Annotated[float | None, Metric("Load 5", "Tasks running or in disk sleep, 5 min mean")] = None
    load15: Annotated[float | None, Metric("Load 15", "Tasks running or in disk sleep, 15 min mean")] = None
    tasks_running: Annotated[int | None, Metric("Running", "Tasks running or ready to run")] = None
    tasks_blocked: Annotated[int | None, Metric("Blocked", "Tasks that wait for I/O")] = None
    memory_total: Annotated[int | None, Metric("Memory", "Memory", "bytes")] = None
    memory_available: Annotated[int | None, Metric("Available", "Memory that can be had without swapping", "bytes")] = (
        None
    )
    memory_dirty: Annotated[int | None, Metric("Dirty", "Page cache that must still be written", "bytes")] = None
    memory_writeback: Annotated[int | None, Metric("Writeback", "Page cache being written now", "bytes")] = None
    swap_total: Annotated[int | None, Metric("Swap", "Swap", "bytes")] = None
    swap_free: Annotated[int | None, Metric("Swap free", "Swap not in use", "bytes")] = None


@dataclass(frozen=True, slots=True)
class Cpu(Reading):
    """Time a processor spent, since boot, in ticks of 10 ms; guests' time is part of user and nice."""

    family: ClassVar[str] = "cpu"
    title: ClassVar[str] = "Processor time"

    cpu: Annotated[str, Label("CPU", "Number of the processor, or all")]
    user: Annotated[int, Metric("User", "Programs", "seconds", _COUNTER, _TICK)]
    nice: Annotated[int, Metric("Nice", "Programs of low priority", "seconds", _COUNTER, _TICK)]
    system: Annotated[int, Metric("System", "The kernel", "seconds", _COUNTER, _TICK)]
    idle: Annotated[int, Metric("Idle", "Nothing to do", "seconds", _COUNTER, _TICK)]
    iowait: Annotated[int, Metric("I/O wait", "Idle while I/O is outstanding", "seconds", _COUNTER, _TICK)]
    irq: Annotated[int, Metric("IRQ", "Hardware interrupts", "seconds", _COUNTER, _TICK)]
    softirq: Annotated[int, Metric("Soft IRQ", "Software interrupts", "seconds", _COUNTER, _TICK)]
    steal: Annotated[int, Metric("Steal", "Taken by the hypervisor", "seconds", _COUNTER, _TICK)]


@dataclass(frozen=True, slots=True)
class CpuActivity(Reading):
    """How a processor spent its time between two readings: shares of that time."""

    family: ClassVar[str] = "cpu_activity"
    title: ClassVar[str] = "Processors"
    exported: ClassVar[bool] = False

    cpu: Annotated[str, Label("CPU", "Number of the processor, or all")]
    busy: Annotated[float, Metric("Busy", "Anything but idle and I/O wait", "ratio")]
    user: Annotated[float, Metric("User", "Programs, low priority included", "ratio")]
    system: Annotated[float, Metric("System", "The kernel, interrupts included", "ratio")]
    irq: Annotated[float, Metric("IRQ", "Hardware and software interrupts", "ratio")]
    iowait: Annotated[float, Metric("I/O wait", "Idle while I/O is outstanding", "ratio")]
    steal: Annotated[float, Metric("Steal", "Taken by the hypervisor", "ratio")]
    idle: Annotated[float, Metric("Idle", "Nothing to do", "ratio")]


@dataclass(frozen=True, slots=True)
class Pressure(Reading):
    """Time that tasks are stalled for want of a resource (PSI, kernel 4.20).

    `some`: at least one task; `full`: all that are not idle.
    """

    family: ClassVar[str] = "pressure"
    title: ClassVar[str] = "Pressure"

    resource: Annotated[str, Label("Resource", "io, memory, cpu or irq")]
    some_avg10: Annotated[float | None, Metric("Some, 10 s", "Share of the last 10 s", "ratio")] = None
    some_avg60: Annotated[float | None, Metric("Some, 60 s", "Share of the last 60 s", "ratio")] = None
    some_avg300: Annotated[float | None, Metric("Some, 300 s", "Share of the last 300 s", "ratio")] = None
    some_total: Annotated[
        int | None,
        Metric("Some", "Time", "seconds", _COUNTER, 1e-6, "sdstop_pressure_some_seconds_total"),
    ] = None
    full_avg10: Annotated[float | None, Metric("Full, 10 s", "Share of the last 10 s", "ratio")] = None
    full_avg60: Annotated[float | None, Metric("Full, 60 s", "Share of the last 60 s", "ratio")] = None
    full_avg300: Annotated[float | None, Metric("Full, 300 s", "Share of the last 300 s", "ratio")] = None
    full_total: Annotated[
        int | None,
        Metric("Full", "Time", "seconds", _COUNTER, 1e-6, "sdstop_pressure_full_seconds_total"),
    ] = None


def read_node(host: Host) -> Iterable[Reading]:
    """Yield the node and its processors."""
    raise NotImplementedError


def read_pressure(host: Host) -> Iterable[Reading]:
    """Yield a row of each resource the kernel accounts for."""
    raise NotImplementedError


def spent(before: Cpu, after: Cpu, seconds: float) -> CpuActivity | None:
    """Return how a processor spent its time, None if it counted none."""
    raise NotImplementedError


NODE = Collector(
    "node",
    "Node: name, kernel, memory, load, processors",
    read_node,
    (Node, Cpu),
    (Need("/proc/stat", "processor time, boot time, tasks that wait for I/O"),),
    LIVE,
    derives=(Derivation(Cpu, CpuActivity, spent),),
)

PRESSURE = Collector(
    "pressure",
    "Pressure stall information",
    read_pressure,
    (Pressure,),
    (Need("/proc/pressure/*", "time that tasks are stalled for want of I/O, memory or CPU"),),
    LIVE,
)
