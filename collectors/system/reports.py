r"""Load, memory and tasks in D state in recorded output of uptime, free, vmstat, top and ps (procps: ps/output.c).

     14:02:22 up 33 days,  2:01,  3 users,  load average: 42.18, 38.02, 20.11           uptime, w, top
    Mem:          64124       10122         812         121       53189       53221     free: total ... available
     1 12      0 812344 123132 5312344    0    0   120  8212  412  812  3  2 30 65  0   vmstat: runnable, blocked
    root        1203  0.3  0.0      0     0 ?        D    Oct26  81:22 [md0_raid6]      ps aux
    1 D     0  1203     2  0  80   0 -     0 md_flu ?        01:21:22 md0_raid6         ps -el
       1203 D    md_flush_request                 [md0_raid6]              ps axo pid,stat,wchan:32,cmd

What grep or awk passed on has no heading; its columns are known from the shape of a row. Command lines of ps and top
can contain passwords: only the name of the program is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from sdstop.collectors.system.readings import BlockedTask, BlockedTasks, Node
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, FormOutput, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.text import decimal, whole
from sdstop.readings import cpu
from sdstop.readings.cpu import CpuReport

_LOAD = expression(r"load average: +(\d{1,6}[.,]\d\d), +(\d{1,6}[.,]\d\d), +(\d{1,6}[.,]\d\d)")
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_AMOUNT = expression(r"(\d{1,15}(?:[.,]\d{1,3})?)([BKMGT]?)i?B?", re.IGNORECASE)
_TOP_MEMORY = expression(
    r"(?P<unit>[KMGT])iB (?P<kind>Mem|Swap) ?: *(?P<rest>.*)|(?P<old>Mem|Swap): *(?P<all>\d+k total.*)"
)
_LABELLED = expression(r"([\d.,]+)(k?) (total|free|used|avail Mem)")
_VMSTAT = expression(r" *(?P<run>\d{1,6}) +(?P<blocked>\d{1,6})(?: +\d{1,15}){14,16}")
_WORD = expression(r"\S+")
_AUX = ("USER", "PID", "%CPU", "%MEM", "VSZ", "RSS", "TTY", "STAT", "START", "TIME", "COMMAND")
_AUX_ROW = expression(
    r"\S+ +\d{1,7} +\d+(?:[.,]\d)? +\d+(?:[.,]\d)? +\d+ +\d+ +(?:\?|tty\S*|pts/\d+|\?\?) +[A-Z]\S{0,5} +\S+ +[\d:]+ .*"
)
_WAITS = r"(?:wait|lock|get|req|flush|sched|read|write|io|sync|page|folio|rq|tag|sb|bit|sleep)"
"""Parts of the names of kernel functions; a user, too, can have a name with an underscore."""
_ROWS = (
    (_AUX, _AUX_ROW),
    (
        ("F", "S", "UID", "PID", "PPID", "C", "PRI", "NI", "ADDR", "SZ", "WCHAN", "TTY", "TIME", "CMD"),
        expression(
            r"\d [A-Z] +\S+ +\d{1,7} +\d{1,7} +\d+ +(?:\d+|-) +(?:-?\d+|-) +\S+ +\d+ +\S+ +"
            r"(?:\?|tty\S*|pts/\d+) +\d+:[\d:]+ .*"
        ),
    ),
    (
        ("F", "S", "UID", "PID", "PPID", "C", "PRI", "NI", "ADDR", "SZ", "WCHAN", "STIME", "TTY", "TIME", "CMD"),
        expression(
            r"\d [A-Z] +\S+ +\d{1,7} +\d{1,7} +\d+ +(?:\d+|-) +(?:-?\d+|-) +\S+ +\d+ +\S+ +\S+ +"
            r"(?:\?|tty\S*|pts/\d+) +\d+:[\d:]+ .*"
        ),
    ),
    (
        ("PID", "STAT", "WCHAN", "CMD"),
        expression(rf" *\d{{1,7}} +[DRSTtZXI][\w<+]{{0,5}} +(?=\S*_)(?=\S*{_WAITS})[a-z_][\w.]* {{2,}}\S.*"),
    ),
)
"""Columns of rows without a heading, by their shape."""
_NAMES = ("COMMAND", "CMD")
_STATES = ("STAT", "S")
_THREADS = ("TID", "LWP", "SPID")


def _load(text: str) -> Node:
    found = _LOAD.search(text)
    return (
        Node(load1=decimal(_point(found[1])), load5=decimal(_point(found[2])), load15=decimal(_point(found[3])))
        if found
        else Node()
    )


def _point(number: str) -> str:
    return number.replace(",", ".")


def _free(output: FormOutput) -> Node:
    """Return the memory. Without a known unit (`free` alone on a small node) nothing is."""
    options = "".join(word.lstrip("-") for word in output.words if word.startswith("-"))
    unit = next((_UNITS[each] for each in "bkmgt" if each in options), 1 << 10)
    heading: Sequence[str] = ()
    node = Node()
    for line in output.text.splitlines():
        words = line.split()
        if "total" in words and "free" in words:
            heading = words
        elif words and heading and re.fullmatch(r"\S{2,12}:", words[0]) and len(words) > 3:
            said = dict(zip(heading, (_bytes(word, unit) for word in words[1:]), strict=False))
            if node.memory_total is None:
                node = replace(node, memory_total=said.get("total"), memory_available=said.get("available"))
            elif len(words) == 4 and words[0] != "Total:":
                node = replace(node, swap_total=said.get("total"), swap_free=said.get("free"))
    return node


def _bytes(word: str, unit: int) -> int | None:
    found = _AMOUNT.fullmatch(word)
    if found is None:
        return None
    return round(float(_point(found[1])) * (_UNITS[found[2].lower()] if found[2] else unit))


def _vmstat(text: str) -> Node:
    """Return the tasks of the last interval."""
    rows = [found for line in text.splitlines() if (found := _VMSTAT.fullmatch(line.rstrip()))]
    return Node(tasks_running=int(rows[-1]["run"]), tasks_blocked=int(rows[-1]["blocked"])) if rows else Node()


def _top(text: str) -> Node:
    node = _load(text)
    for line in text.splitlines():
        found = _TOP_MEMORY.match(line)
        if found is None:
            continue
        unit = _UNITS[(found["unit"] or "k").lower()]
        said = {name: _bytes(number, unit) for number, _, name in _LABELLED.findall(found["rest"] or found["all"])}
        if (found["kind"] or found["old"]) == "Mem":
            node = replace(node, memory_total=said.get("total"))
        else:
            node = replace(node, swap_total=said.get("total"), swap_free=said.get("free"))
            node = replace(node, memory_available=said.get("avail Mem", node.memory_available))
    return node


def _tasks(text: str, key: str) -> tuple[list[BlockedTask], int, bool]:
    """Return the tasks in D state, the number of all tasks that are listed, and whether each row was understood.

    Raises Malformed without a list.
    """
    heading: Sequence[str] = ()
    found, listed, clear = list[BlockedTask](), 0, True
    for line in text.splitlines():
        words = line.split()
        if _is_heading(words):
            heading = words
            found, listed, clear = [], 0, True  # the last of several lists
            continue
        columns = heading or _columns_of(line)
        clear = clear and bool(heading or not words or _HEAD_LINE.match(line))
        if not columns or not words or _HEAD_LINE.match(line):
            continue
        if len(words) < len(columns) or not words[columns.index("PID")].isdecimal():
            clear = False
            continue
        state = words[columns.index("STAT" if "STAT" in columns else "S")]
        if not _SHAPES["STAT"].fullmatch(state):
            clear = False
            continue
        listed += 1
        if state[:1] == "D":
            found.append(_task(columns, words, key))
    if not listed:
        raise Malformed("no list of tasks")
    return found, listed, clear


def _columns_of(line: str) -> Sequence[str]:
    """Return the columns of a row without a heading, () for other lines."""
    line = line.rstrip()
    return next((columns for columns, shape in _ROWS if shape.fullmatch(line)), ())


def _task(columns: Sequence[str], words: Sequence[str], key: str) -> BlockedTask:
    said = dict(zip(columns, words, strict=False))
    program = next((said[name] for name in _NAMES if name in said), "?")
    name = (program.rpartition("/")[2] if program.startswith("/") else program).strip("[]").rstrip(":") or "?"
    is_kernel = program.startswith("[") or said.get("VSZ", said.get("VIRT")) == "0"
    wait = said.get("WCHAN", "-")
    pid = int(said["PID"])
    task = next((int(said[name]) for name in _THREADS if said.get(name, "").isdecimal()), pid)
    return BlockedTask(task, 0.0, pid, name, is_kernel, None if wait in {"-", "0", "?"} else wait, None, listed=key)


def _is_heading(words: Sequence[str]) -> bool:
    """Return whether all words of a line name columns; a program's arguments can have some of them."""
    return "PID" in words and any(state in words for state in _STATES) and all(map(_COLUMN.fullmatch, words))


_COLUMN = expression(r"%?[A-Z_]+\+?")


def kept_listing(data: bytes) -> bytes:
    """Return a list of tasks without arguments of programs, and without other lines that may have some."""
    kept = []
    columns: Sequence[str] = ()
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.split()
        if _is_heading(words):
            columns = words
            kept.append(line)
        elif _HEAD_LINE.match(line):
            kept.append(line)
        elif named := columns or _columns_of(line):
            kept += _kept_row(line, words, named)
    return "\n".join([*kept, ""]).encode() if kept else b""


def _kept_row(line: str, words: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    """Yield the columns of a row without arguments; `...` if a row lacks one, so that an argument is in its place.

    A word that cannot be the name of a program is `?`.
    """
    last = len(columns) - 1
    named = [at for at, name in enumerate(columns) if name in _NAMES]
    shapes = [_SHAPES.get(name) for name in columns]
    if not words:
        return
    fits = all(shape.fullmatch(word) for shape, word in zip(shapes, words, strict=False) if shape is not None)
    if fits and len(words) > last and named in ([], [last]):
        start, end = list(_WORD.finditer(line))[last].span()
        yield line[:end] if not named or _PROGRAM.fullmatch(words[last]) else f"{line[:start]}?"
    else:
        yield "..."


_TIME = expression(r"(?:\d+-)?\d+(?::\d\d)+(?:\.\d+)?")
_PROGRAM = expression(r"[\[(]?[\w./:@+][\w./:@+-]*[\])]?|-(?:ba|da|k|z|tc)?sh")
"""Name of a program, without options and assignments."""
_SHAPES = {
    "PID": expression(r"\d{1,7}"), "STAT": expression(r"[A-Z][\w<+]{0,5}"), "S": expression(r"[A-Z]"),
    "TTY": expression(r"\?|tty\S*|pts/\d+|console"), "WCHAN": expression(r"-|0|[a-z_][\w.]*"),
    "TIME": _TIME, "TIME+": _TIME,
}  # fmt: skip
_HEAD_LINE = expression(r"top - |Tasks: |Threads: |%?Cpu\(s\)|[KMGT]iB (?:Mem|Swap)|(?:Mem|Swap): |$")


def read(host: Host) -> Iterable[Reading]:
    """Return the node and its tasks in D state. Raises Absent without any of these outputs."""
    rows = list(_read(host))
    if not rows:
        raise Absent(UPTIME.key, "not recorded", recorded=False)
    nodes = [row for row in rows if isinstance(row, Node)]
    known: dict[str, float | int | None] = {}
    for node in nodes:
        known |= {name: value for name in node.__struct_fields__ if (value := getattr(node, name)) is not None}
    joined = [Node(**known)] if known else []  # type: ignore[arg-type]  # fields by name
    return [*joined, *(row for row in rows if not isinstance(row, Node))]


def _processors(host: Host) -> Iterator[CpuReport]:
    for form, parse in ((VMSTAT, cpu.vmstat), (TOP, cpu.top)):
        reports = (parse(output.text, output.key) for output in outputs(host, form))
        yield from list(filter(None, reports))[:1]


def _read(host: Host) -> Iterator[Reading]:
    for form, parse in ((UPTIME, _load), (VMSTAT, _vmstat), (TOP, _top)):
        for output in outputs(host, form):
            yield parse(output.text)
    for output in outputs(host, FREE):
        yield _free(output)
    yield from _processors(host)
    listed: dict[int, BlockedTask] = {}
    whole_list, threads, shown = False, False, ""
    for form in (TOP, PS):
        for output in outputs(host, form):
            try:
                found, count, clear = _tasks(output.text, output.key)
            except Malformed:
                continue
            listed |= {task.task: task for task in found}
            shown = output.key
            counted = (form is PS and _is_every(output)) or count >= (_total(output.text) or count + 1)
            whole_list = whole_list or (clear and counted)
            threads = threads or (clear and counted and _has_threads(output))
    if listed or whole_list:  # a screen of top without any shows nothing about the others
        yield BlockedTasks(len(listed), listed=shown, threads=threads)
        yield from listed.values()


def _total(text: str) -> int | None:
    found = re.search(r"(?m)^(?:Tasks|Threads): *(\d+) total", text)
    return whole(found[1]) if found is not None else None


def _is_every(output: FormOutput) -> bool:
    """Return whether ps was asked for all processes."""
    return any(re.fullmatch(r"-?\w*[aA]\w*x\w*|-\w*[eA]\w*|-\w*e\w*", word) for word in output.words[:1])


def _has_threads(output: FormOutput) -> bool:
    """Return whether a list of ps or top has threads: the state of a process is that of its first one alone."""
    options = output.words[:1] + [word for word in output.words[1:] if word.startswith("-")]
    asked = any(re.fullmatch(r"-[A-Za-z]*[LTHm][A-Za-z]*|[a-zA-Z]*[Hm][a-zA-Z]*", word) for word in options)
    return (
        asked
        or any(name in _THREADS for line in output.text.splitlines() for name in _heading_of(line))
        or (re.search(r"(?m)^Threads: *\d+ total", output.text) is not None)
    )


def _heading_of(line: str) -> Sequence[str]:
    words = line.split()
    return words if _is_heading(words) else ()


UPTIME = Form(
    key="cmd:uptime",
    first=r" ?\d\d:\d\d:\d\d up .{1,60}load average: ",
    reads="load of the node",
    versions="procps 3 and later, also `w`",
    goes_on=r"(?!)",
)
FREE = Form(
    key="cmd:free",
    first=r" {6,}total +used +free +shared(?: +(?:buff/cache|buffers|cached?|available))*",
    reads="memory and swap",
    versions="procps 3 and later, with -b, -k, -m, -g, -h",
    goes_on=r"\S{2,12}: +\d.*|-/\+ buffers/cache: .*",
)
VMSTAT = Form(
    key="cmd:vmstat",
    first=r"procs -+memory-+ -+swap-+ -+io-+ -+system-+ -+cpu-+|procs +memory +swap +io +system +cpu",
    reads="runnable tasks, tasks that wait for I/O, stolen processor time",
    versions="procps 3 and later",
    goes_on=r" *r +b +swpd .*| *\d+ +\d+ +\d+ .*|procs -.*",
)
TOP = Form(
    key="cmd:top",
    first=r"top - \d\d:\d\d:\d\d up ",
    reads="load, memory, stolen processor time, and the tasks in D state that it lists",
    versions="procps 3 and later",
)
PS = Form(
    key="cmd:ps",
    first=(
        r"USER +PID +%CPU +%MEM +VSZ +RSS +TTY +STAT +START +TIME +COMMAND|F S +UID +PID +PPID "
        r"|(?=[^\n]*\bPID\b)(?=[^\n]*\b(?:STAT|S)\b)[A-Z% ]{8,200}$|"
        + "|".join(rf"(?:{shape.pattern})$" for _, shape in _ROWS)
    ),
    reads="tasks in D state",
    versions="procps 3 and later: aux, -el, or -o with pid and stat; also what grep or awk passed on",
    by_line=True,
)

REPORTS = Collector(
    "node-reports",
    "Load, memory and blocked tasks in recorded output of procps",
    read,
    (Node, BlockedTask, BlockedTasks, CpuReport),
    (
        Need("cmd:uptime*", "load, from captures only; never run"),
        Need("cmd:free*", "memory, from captures only"),
        Need("cmd:vmstat*", "tasks that wait for I/O, from captures only"),
        Need("cmd:top*", "load, memory and tasks in D state, from captures only", keep=kept_listing),
        Need("cmd:ps *", "tasks in D state, from captures only", keep=kept_listing),
    ),
    SLOW,
    forms=(UPTIME, FREE, VMSTAT, TOP, PS),
)
