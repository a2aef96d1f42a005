"""Tasks (threads) in D state, with the kernel function, mount and device in which they wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sdstop.collectors.system.readings import TASKS_QUESTION, BlockedTask, BlockedTasks
from sdstop.collectors.system.task_scan import TaskScan
from sdstop.core.collector import LIVE, Collector, Question
from sdstop.core.host import Host, Malformed
from sdstop.core.model import Reading, Rows
from sdstop.core.text import json_number, json_text, json_whole


def parse(said: Any) -> Iterator[Reading]:
    """Yield the rows of an answer as TaskScan returns it. Raises Malformed for anything else."""
    if not isinstance(said, list) or not said or not all(isinstance(row, dict) for row in said):
        raise Malformed(f"{TASKS_QUESTION}: not a list of tasks")
    blocked = json_whole(said[0].get("blocked"))
    if blocked is None:
        raise Malformed(f"{TASKS_QUESTION}: does not begin with the number of tasks")
    yield BlockedTasks(blocked, json_whole(said[0].get("denied")) or 0)
    for row in said[1:]:
        task, process, started = (json_number(row.get(key)) for key in ("task", "process", "started"))
        if task is None or process is None or started is None:
            raise Malformed(f"{TASKS_QUESTION}: a task without numbers")
        yield BlockedTask(
            int(task),
            started,
            int(process),
            json_text(row.get("name")) or "?",
            row.get("kernel") is True,
            json_text(row.get("wait")),
            json_whole(row.get("switches")),
            json_whole(row.get("moved")),
            *(json_text(row.get(name)) for name in ("mount", "filesystem", "device", "number")),
        )


def read(host: Host) -> Iterable[Reading]:
    """Return the tasks in D state and their number; this call only asks."""
    return parse(host.answer(TASKS_QUESTION))


def lacks(tables: Mapping[type[Reading], Rows]) -> str:
    """Return a message with the number of tasks whose open files were denied, "" if none."""
    for row in tables[BlockedTasks].values():
        if isinstance(row, BlockedTasks) and row.denied:
            return f"answer:{TASKS_QUESTION}: open files denied for {row.denied} tasks in D state"
    return ""


TASKS = Collector(
    "tasks",
    "Tasks in D state",
    read,
    (BlockedTask, BlockedTasks),
    (
        Question(
            TASKS_QUESTION, "which tasks are in D state, and where they wait", "root, for their open files", TaskScan()
        ),
    ),
    LIVE,
    deadline=10.0,
    lacks=lacks,
    eager=True,
)
