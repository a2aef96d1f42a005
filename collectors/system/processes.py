"""Storage I/O by process, and CPU time of the kernel's storage threads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sdstop.collectors.system.readings import (
    PROCESSES_QUESTION,
    ProcessActivity,
    ProcessIo,
    ProcessSummary,
    StorageThread,
    StorageThreadActivity,
)
from sdstop.core.collector import Collector, Question
from sdstop.core.commandline import kept_text
from sdstop.core.expression import expression
from sdstop.core.host import Host, Malformed
from sdstop.core.model import Derivation, Reading, Rows
from sdstop.core.text import json_number, json_text, json_whole

PACE = 5.0
"""Seconds between samples; a sample opens files of every process."""


def at_work(before: StorageThread, after: StorageThread, seconds: float) -> StorageThreadActivity | None:
    """Return a thread's CPU utilization between two samples, None if its CPU time decreased."""
    spent = after.cpu - before.cpu
    if seconds <= 0 or spent < 0:
        return None
    return StorageThreadActivity(after.pid, after.started, after.name, min(spent / seconds, 1.0))


def rate(before: ProcessIo, after: ProcessIo, seconds: float) -> ProcessActivity | None:
    """Return the I/O rates between two samples, None if a counter decreased."""
    if seconds <= 0:
        return None
    read_bytes, write_bytes = after.read_bytes - before.read_bytes, after.write_bytes - before.write_bytes
    if read_bytes < 0 or write_bytes < 0:
        return None
    return ProcessActivity(
        after.pid, after.started, after.name, after.user, after.cmdline, read_bytes / seconds, write_bytes / seconds
    )


def _moment(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e12 else None


_COMMAND = expression(rb'("cmdline":\s*)("(?:[^"\\]|\\.)*")')


def kept_answer(data: bytes) -> bytes:
    """Return psutil's output with shortened command lines; those of a live node are already shortened."""
    return _COMMAND.sub(lambda found: found[1] + json.dumps(_shortened(found[2])).encode(), data)


def _shortened(text: bytes) -> str:
    try:
        return kept_text(json.loads(text))
    except ValueError:
        return ""


def parse(said: Any) -> list[Reading]:
    """Return a row per process with readable counters, a row per storage kernel thread, and a summary.

    The input is a list of

        {"pid": 1, "name": "fio", "started": 1763719200.12, "user": "root", "cmdline": "fio job.fio",
         "read_bytes": 4096, "write_bytes": null}

    where both counters are null if they are unreadable. Kernel threads of arrays, pools or caches (recognized by
    name) also have their user and system time: `"cpu_seconds": 12.31`. A row with `"hidden": true` represents an
    unknown number of hidden processes. Raises Malformed if the input is not such a list.
    """
    if not isinstance(said, list):
        raise Malformed(f"{PROCESSES_QUESTION}: no list of processes")
    rows: list[Reading] = []
    denied = 0
    hidden = False
    for process in said:
        pid = json_whole(process.get("pid"), 1 << 64) if isinstance(process, dict) else None
        if pid is None:
            raise Malformed(f"{PROCESSES_QUESTION}: a process without a number")
        if process.get("hidden") is True:
            hidden = True
            continue
        spent = json_number(process.get("cpu_seconds"), 1e12)
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
    """Return the rows for processes, storage threads and the process counts; this call only asks."""
    return _rows(host.answer(PROCESSES_QUESTION))


def _rows(said: Any) -> Iterator[Reading]:
    yield from parse(said)


def lacks(tables: Mapping[type[Reading], Rows]) -> str:
    """Return a message with the number of processes whose counters were denied, "" if there are none."""
    for row in tables[ProcessSummary].values():
        if isinstance(row, ProcessSummary) and row.denied is None:
            return f"answer:{PROCESSES_QUESTION}: denied, /proc hides other users' processes"
        if isinstance(row, ProcessSummary) and row.denied:
            return f"answer:{PROCESSES_QUESTION}: denied for {row.denied} of {row.processes} processes"
    return ""


PROCESSES = Collector(
    "processes",
    "Processes' I/O",
    read,
    (ProcessIo, StorageThread, ProcessSummary),
    (Question(PROCESSES_QUESTION, "which processes do the I/O", "root, for other users' processes", keep=kept_answer),),
    PACE,
    deadline=10.0,
    resting=120.0,
    derives=(Derivation(ProcessIo, ProcessActivity, rate), Derivation(StorageThread, StorageThreadActivity, at_work)),
    lacks=lacks,
    eager=True,
)
