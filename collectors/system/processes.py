"""Who does the I/O: bytes that processes read from and wrote to storage, and the kernel's own threads of storage."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from sdstop.core.collector import Collector, Question
from sdstop.core.commandline import kept_text
from sdstop.core.host import Host, Malformed
from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Derivation, Fact, Kind, Label, Metric, Name, Reading, Rows, Source, Unplaced
from sdstop.core.text import json_text, json_whole

QUESTION = "psutil.processes"
PACE = 5.0
"""Seconds between looks: a look opens files of every process."""


class ProcessIo(Reading, frozen=True):
    """Bytes a process made the kernel fetch from or send to storage since it began; denied ones have no row."""

    family: ClassVar[str] = "process_io"
    title: ClassVar[str] = "Processes' I/O"
    exported: ClassVar[bool] = False
    crowded: ClassVar[bool] = True
    rows_of = Source(f"answer:{QUESTION}", '"pid": {pid},')
    things: ClassVar = {
        "pid": Identity(ThingKind.CLIENT, Naming.PROCESS),
    }

    pid: Annotated[int, Label("PID", "Process")]
    started: Annotated[float | None, Label("Started", "Unix time it began: tells reused numbers apart")]
    name: Annotated[str, Fact("Name", "Name of the program", plain=True)]
    user: Annotated[str | None, Fact("User", "Owner", names=Name.USER)]
    cmdline: Annotated[str | None, Fact("Command", "Command line, cut", names=Name.PATHS)]
    read_bytes: Annotated[int, Metric("Read", "Bytes fetched from storage", "bytes", Kind.COUNTER)]
    write_bytes: Annotated[int, Metric("Written", "Bytes sent to storage", "bytes", Kind.COUNTER)]


class ProcessActivity(Reading, frozen=True):
    """What a process read and wrote between two looks; what ended in between is not seen."""

    family: ClassVar[str] = "process_activity"
    title: ClassVar[str] = "Who does the I/O"
    exported: ClassVar[bool] = False
    crowded: ClassVar[bool] = True
    rows_of = Unplaced("it follows from two readings of a process")
    things: ClassVar = {
        "pid": Identity(ThingKind.CLIENT, Naming.PROCESS),
    }

    pid: Annotated[int, Label("PID", "Process")]
    started: Annotated[float | None, Label("Started", "Unix time it began")]
    name: Annotated[str, Fact("Name", "Name of the program", plain=True)]
    user: Annotated[str | None, Fact("User", "Owner", names=Name.USER)]
    cmdline: Annotated[str | None, Fact("Command", "Command line, cut", names=Name.PATHS)]
    read_bytes_per_second: Annotated[float, Metric("Read", "Bytes fetched from storage", "bytes_per_second")]
    write_bytes_per_second: Annotated[float, Metric("Write", "Bytes sent to storage", "bytes_per_second")]


class ProcessSummary(Reading, frozen=True):
    """How many processes there are, and of how many the counters may not be read; None where /proc hides others'."""

    family: ClassVar[str] = "process_summary"
    title: ClassVar[str] = "Processes"
    rows_of = Unplaced("it counts over all processes")

    processes: Annotated[int | None, Metric("Processes", "Processes and kernel threads", name="sdstop_processes")]
    denied: Annotated[
        int | None, Metric("Hidden", "Processes whose I/O only root may see", name="sdstop_processes_hidden")
    ]


class StorageThread(Reading, frozen=True):
    """A thread of the kernel that works for arrays, pools or caches: parity, checksums, compression, copying."""

    family: ClassVar[str] = "storage_thread"
    title: ClassVar[str] = "Kernel threads of storage"
    exported: ClassVar[bool] = False
    crowded: ClassVar[bool] = True
    rows_of = Source(f"answer:{QUESTION}", '"pid": {pid},')
    things: ClassVar = {
        "pid": Identity(ThingKind.CLIENT, Naming.PROCESS),
    }

    pid: Annotated[int, Label("PID", "Thread")]
    started: Annotated[float | None, Label("Started", "Unix time it began")]
    name: Annotated[str, Fact("Name", "Name of the thread", plain=True)]
    cpu: Annotated[float, Metric("CPU", "Processor time it spent", "seconds", Kind.COUNTER)]


class StorageThreadActivity(Reading, frozen=True):
    """What such a thread computed between two looks."""

    family: ClassVar[str] = "storage_thread_activity"
    title: ClassVar[str] = "Kernel threads of storage at work"
    exported: ClassVar[bool] = False
    crowded: ClassVar[bool] = True
    rows_of = Source(f"answer:{QUESTION}", '"pid": {pid},')
    things: ClassVar = {
        "pid": Identity(ThingKind.CLIENT, Naming.PROCESS),
    }

    pid: Annotated[int, Label("PID", "Thread")]
    started: Annotated[float | None, Label("Started", "Unix time it began")]
    name: Annotated[str, Fact("Name", "Name of the thread", plain=True)]
    busy: Annotated[float, Metric("CPU", "Share of one processor's time", "ratio")]


def at_work(before: StorageThread, after: StorageThread, seconds: float) -> StorageThreadActivity | None:
    """Return what a thread computed between two looks, None if its time went back."""
    spent = after.cpu - before.cpu
    if seconds <= 0 or spent < 0:
        return None
    return StorageThreadActivity(after.pid, after.started, after.name, min(spent / seconds, 1.0))


def rate(before: ProcessIo, after: ProcessIo, seconds: float) -> ProcessActivity | None:
    """Return the rates between two looks, None if a counter went back."""
    if seconds <= 0:
        return None
    read_bytes, write_bytes = after.read_bytes - before.read_bytes, after.write_bytes - before.write_bytes
    if read_bytes < 0 or write_bytes < 0:
        return None
    return ProcessActivity(
        after.pid, after.started, after.name, after.user, after.cmdline, read_bytes / seconds, write_bytes / seconds
    )


def _seconds(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if known else None


def _moment(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e12 else None


_COMMAND = re.compile(rb'("cmdline":\s*)("(?:[^"\\]|\\.)*")')


def kept_answer(data: bytes) -> bytes:
    """Return psutil's answer with what is kept of command lines; live ones are shortened before they get here."""
    return _COMMAND.sub(lambda found: found[1] + json.dumps(_shortened(found[2])).encode(), data)


def _shortened(text: bytes) -> str:
    try:
        return kept_text(json.loads(text))
    except ValueError:
        return ""


def parse(said: Any) -> list[Reading]:
    """Return a row of each process whose counters may be read, one of each kernel thread of storage, and a summary.

    The answer is a list of

        {"pid": 1, "name": "fio", "started": 1763719200.12, "user": "root", "cmdline": "fio job.fio",
         "read_bytes": 4096, "write_bytes": null}

    where both counters are null if they may not be read; a kernel thread that works for arrays, pools or caches (by
    its name) has its user and system time, too: `"cpu_seconds": 12.31`. A row with `"hidden": true` stands for
    processes of which not even the number is known. Raises Malformed if it is not such a list.
    """
    if not isinstance(said, list):
        raise Malformed(f"{QUESTION}: no list of processes")
    rows: list[Reading] = []
    denied = 0
    hidden = False
    for process in said:
        pid = json_whole(process.get("pid"), 1 << 64) if isinstance(process, dict) else None
        if pid is None:
            raise Malformed(f"{QUESTION}: a process without a number")
        if process.get("hidden") is True:
            hidden = True
            continue
        spent = _seconds(process.get("cpu_seconds"))
        started, name = _moment(process.get("started")), json_text(process.get("name")) or "?"
        if spent is not None:
            rows.append(StorageThread(pid, started, name, spent))
        fetched, sent = (json_whole(process.get(name), 1 << 64) for name in ("read_bytes", "write_bytes"))
        if fetched is None or sent is None:
            denied += 1
            continue
        rows.append(
            ProcessIo(
                pid,
                started,
                name,
                json_text(process.get("user")),
                json_text(process.get("cmdline")),
                fetched,
                sent,
            )
        )
    return [*rows, ProcessSummary(None, None) if hidden else ProcessSummary(len(said), denied)]


def read(host: Host) -> Iterable[Reading]:
    """Yield a row of each process whose counters may be read, of threads, and how many there are and may not."""
    return parse(host.answer(QUESTION))


def lacks(tables: Mapping[type[Reading], Rows]) -> str:
    """Return of how many processes the counters were denied, "" if of none."""
    for row in tables[ProcessSummary].values():
        if isinstance(row, ProcessSummary) and row.denied is None:
            return f"answer:{QUESTION}: denied, /proc hides other users' processes"
        if isinstance(row, ProcessSummary) and row.denied:
            return f"answer:{QUESTION}: denied for {row.denied} of {row.processes} processes"
    return ""


PROCESSES = Collector(
    "processes",
    "Processes' I/O",
    read,
    (ProcessIo, StorageThread, ProcessSummary),
    (Question(QUESTION, "which processes do the I/O", "root, for other users' processes", keep=kept_answer),),
    PACE,
    deadline=10.0,
    derives=(Derivation(ProcessIo, ProcessActivity, rate), Derivation(StorageThread, StorageThreadActivity, at_work)),
    lacks=lacks,
)
