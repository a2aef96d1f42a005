"""Who does the I/O: bytes that processes read from and wrote to storage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar

from sdstop.collector import Collector, Need
from sdstop.host import Host
from sdstop.model import Derivation, Fact, Kind, Label, Metric, Reading, Source

QUESTION = "psutil.processes"
PACE = 5.0
"""Seconds between looks: a look opens files of every process."""


@dataclass(frozen=True, slots=True)
class ProcessIo(Reading):
    """Bytes a process made the kernel fetch from or send to storage since it began; denied ones have no row."""

    family: ClassVar[str] = "process_io"
    title: ClassVar[str] = "Processes' I/O"
    exported: ClassVar[bool] = False

    pid: Annotated[int, Label("PID", "Process")]
    started: Annotated[float | None, Label("Started", "Unix time it began: tells reused numbers apart")]
    name: Annotated[str, Fact("Name", "Name of the program")]
    user: Annotated[str | None, Fact("User", "Owner")]
    cmdline: Annotated[str | None, Fact("Command", "Command line, cut")]
    read_bytes: Annotated[int, Metric("Read", "Bytes fetched from storage", "bytes", Kind.COUNTER)]
    write_bytes: Annotated[int, Metric("Written", "Bytes sent to storage", "bytes", Kind.COUNTER)]

    def source(self, field: str = "") -> Source | None:
        """Return psutil's answer."""
        del field
        return Source(f"answer:{QUESTION}", f'"pid": {self.pid},')


@dataclass(frozen=True, slots=True)
class ProcessActivity(Reading):
    """What a process read and wrote between two looks; what ended in between is not seen."""

    family: ClassVar[str] = "process_activity"
    title: ClassVar[str] = "Who does the I/O"
    exported: ClassVar[bool] = False

    pid: Annotated[int, Label("PID", "Process")]
    started: Annotated[float | None, Label("Started", "Unix time it began")]
    name: Annotated[str, Fact("Name", "Name of the program")]
    user: Annotated[str | None, Fact("User", "Owner")]
    cmdline: Annotated[str | None, Fact("Command", "Command line, cut")]
    read_bytes_per_second: Annotated[float, Metric("Read", "Bytes fetched from storage", "bytes_per_second")]
    write_bytes_per_second: Annotated[float, Metric("Write", "Bytes sent to storage", "bytes_per_second")]


@dataclass(frozen=True, slots=True)
class ProcessSummary(Reading):
    """How many processes there are, and of how many the counters may not be read."""

    family: ClassVar[str] = "process_summary"
    title: ClassVar[str] = "Processes"

    processes: Annotated[int, Metric("Processes", "Processes and kernel threads")]
    denied: Annotated[int, Metric("Hidden", "Processes whose I/O only root may see")]


def rate(before: ProcessIo, after: ProcessIo, seconds: float) -> ProcessActivity | None:
    """Return the rates between two looks, None if a counter went back."""
    raise NotImplementedError


def read(host: Host) -> Iterable[Reading]:
    """Yield a row of each process whose counters may be read, and how many may not."""
    raise NotImplementedError


PROCESSES = Collector(
    "processes",
    "Processes' I/O",
    read,
    (ProcessIo, ProcessSummary),
    (Need(f"answer:{QUESTION}", "which processes do the I/O", "root, for other users' processes"),),
    PACE,
    deadline=10.0,
    derives=(Derivation(ProcessIo, ProcessActivity, rate),),
)
