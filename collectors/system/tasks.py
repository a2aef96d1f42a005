"""Tasks (threads) in D state, with the kernel function, mount and device in which they wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar

from sdstop.collectors.system.task_scan import TaskScan
from sdstop.core.collector import LIVE, Collector, Question
from sdstop.core.host import Host, Malformed
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Rows, Source
from sdstop.core.text import json_number, json_text, json_whole

QUESTION = "tasks.blocked"


class BlockedTask(Reading, frozen=True):
    """A task (thread) in D state: uninterruptible sleep, from which only the kernel wakes it.

    A task whose context switches did not change between two samples has not run in between, so its I/O counters cannot
    have changed either. Only a writer that the kernel holds back until dirty pages are written (balance_dirty_pages)
    wakes from time to time to look; `moved` is read for these tasks alone. `wait` is the kernel function that the task
    sleeps in, `mount` and `device` are where the file is that it waits for; None if not readable or not known. The rows
    join nothing: they change with every sample, and the graph of things must not.
    """

    family: ClassVar[str] = "blocked_task"
    title: ClassVar[str] = "Tasks in D state"
    exported: ClassVar[bool] = False
    crowded: ClassVar[bool] = True
    rows_of = Source(f"answer:{QUESTION}", '"task": {task},')

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


class BlockedTasks(Reading, frozen=True):
    """Number of tasks in D state in the last full scan, and of those whose open files were not readable."""

    family: ClassVar[str] = "blocked_tasks"
    title: ClassVar[str] = "Number of tasks in D state"
    rows_of = Source(f"answer:{QUESTION}", '"blocked": ')

    blocked: Annotated[
        int,
        Metric("In D state", "Tasks in uninterruptible sleep (state D)", name="sdstop_tasks_uninterruptible"),
    ]
    denied: Annotated[int, Metric("Hidden", "Tasks in state D whose open files need root", export=False)] = 0


def parse(said: Any) -> Iterator[Reading]:
    """Yield the rows of an answer as TaskScan returns it. Raises Malformed for anything else."""
    if not isinstance(said, list) or not said or not all(isinstance(row, dict) for row in said):
        raise Malformed(f"{QUESTION}: not a list of tasks")
    blocked = json_whole(said[0].get("blocked"))
    if blocked is None:
        raise Malformed(f"{QUESTION}: does not begin with the number of tasks")
    yield BlockedTasks(blocked, json_whole(said[0].get("denied")) or 0)
    for row in said[1:]:
        task, process, started = (json_number(row.get(key)) for key in ("task", "process", "started"))
        if task is None or process is None or started is None:
            raise Malformed(f"{QUESTION}: a task without numbers")
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
    return parse(host.answer(QUESTION))


def lacks(tables: Mapping[type[Reading], Rows]) -> str:
    """Return a message with the number of tasks whose open files were denied, "" if none."""
    for row in tables[BlockedTasks].values():
        if isinstance(row, BlockedTasks) and row.denied:
            return f"answer:{QUESTION}: open files denied for {row.denied} tasks in D state"
    return ""


TASKS = Collector(
    "tasks",
    "Tasks in D state",
    read,
    (BlockedTask, BlockedTasks),
    (Question(QUESTION, "which tasks are in D state, and where they wait", "root, for their open files", TaskScan()),),
    LIVE,
    deadline=10.0,
    lacks=lacks,
    eager=True,
)
