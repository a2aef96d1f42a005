"""Programs wait for memory: pages that they need again were swapped out or dropped; or none is available."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.collectors.kernel.readings import KernelLog
from sdstop.collectors.system.readings import MEMINFO, VMSTAT, Node, Pressure
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import SIGN, Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.readings.cache import Cache
from sdstop.readings.cpu import CpuReport

SUBJECT = "memory"
_MICRO = 1e-6
"""Seconds, in which the kernel counts stalls."""
_GRACE = 0.5
"""Seconds that a span of samples may lack."""
_PLENTY = 256 * 1024.0**2
"""Bytes available that are enough on any node."""


class _Shortage(Struct, frozen=True):
    """Shares and rates over the last `seconds`, None if unknown.

    `some` and `full` are the shares of the time in which tasks waited for memory: some of them, and all at once.
    `pages` were read back from swap per second, and some tasks waited for I/O in the share `stalled`.
    """

    seconds: float
    some: float | None
    full: float | None
    pages: float | None
    stalled: float | None


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    seconds = limits["seconds"]
    short = _shortage(window, seconds)
    left = _available(window)
    node = next(iter(window.rows(Node).values()), None)
    most = min(limits["available"] * ((node.memory_total if node is not None else None) or 0), _PLENTY)
    swapping = next((row for row in window.rows(CpuReport).values() if _is_swapped(row, limits)), None)
    if swapping is not None and short.pages is None and (node is None or node.tasks_blocked):
        yield _printed(window, swapping, limits)
    elif (
        left is not None and left < most and not ((short.some or 0.0) >= limits["some"] or _is_swapping(short, limits))
    ):
        yield _full(window, left, most)
    elif killed := _killed(window):
        why = f"{human.plural(killed, 'program')} killed for lack of memory; no kernel log shows why"
        yield Unchecked(why, SUBJECT, gap=Gap.SIGNS)
    elif short.seconds + _GRACE < seconds:
        yield _so_far(short, limits)
    elif (short.some or 0.0) >= limits["some"] or _is_swapping(short, limits):
        yield _finding(window, short, limits)
    elif short.pages is None and _used(window):
        why = "memory is swapped out; number of pages read back unknown"
        yield Unchecked(why, SUBJECT, calm=True, gap=Gap.UNRECORDED)
    elif short.stalled is None and (short.pages or 0.0) >= limits["pages"]:
        why = f"{human.number(short.pages)} pages/s read back from swap; I/O pressure unknown"
        yield Unchecked(why, SUBJECT, gap=Gap.UNRECORDED)
    elif short.some is None:
        yield Unchecked("memory pressure (PSI) unknown", SUBJECT, calm=True, gap=Gap.UNRECORDED)
    else:
        yield RuledOut(SUBJECT, f"in {seconds:g} s, {'; '.join(_said(short))}")


def _killed(window: Window) -> int:
    """Return how many processes were killed in this window; 0 if the kernel log shows which, and at which limit."""
    if window.rows(KernelLog):
        return 0
    counts = [row.killed for moment in window.moments(Node) for row in moment.rows.values() if row.killed is not None]
    return max(0, counts[-1] - counts[0]) if counts else 0


def _so_far(short: _Shortage, limits: Limits) -> Unchecked:
    span = f"collecting data: {short.seconds:.0f} of {limits['seconds']:g} s"
    if short.seconds >= SIGN and ((short.some or 0.0) >= limits["some"] or _is_swapping(short, limits)):
        return Unchecked(f"{'; '.join(_said(short))}; {span}", SUBJECT, gap=Gap.SIGNS)
    return Unchecked(span, SUBJECT, calm=True, gap=Gap.EARLY)


_PAGE = 4096.0
"""Bytes."""


def _is_swapped(row: CpuReport, limits: Limits) -> bool:
    return row.swapped_in is not None and row.swapped_in / _PAGE >= limits["pages"]


def _printed(window: Window, row: CpuReport, limits: Limits) -> Finding:
    """Return the finding of a node whose last line of vmstat shows swapped pages read back, and tasks that wait."""
    pages = (row.swapped_in or 0.0) / _PAGE
    node = next(iter(window.rows(Node).values()), None)
    blocked = node.tasks_blocked if node is not None else None
    return Finding(
        severity=Severity.WARNING,
        subject=SUBJECT,
        title=f"SWAPPING: {human.number(pages)} pages/s",
        cause=f"{human.quantity(row.swapped_in, 'bytes_per_second')} read back from swap in the last interval.",
        impact="Programs wait for their memory to be read.",
        values=(
            Value("pages", "read back from swap", pages, "per_second", above=limits["pages"]),
            Value("blocked", "tasks waiting for I/O", blocked),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Limit or stop the programs that need the memory, or add memory.",
            run("ps", "-eo", "pid,rss,comm", "--sort=-rss", note="largest processes").pipe("head"),
        ),
        refuted_by="si of vmstat 1 at 0",
    )


def _available(window: Window) -> int | None:
    """Return the most bytes that were available in a sample, with those that ZFS gives back; None if unknown.

    The kernel does not count the ARC of ZFS as available.
    """
    known = [row.memory_available for moment in window.moments(Node) for row in moment.rows.values()]
    arc = window.get(Cache, ("arc", "arc"))
    if not known or None in known or (arc is not None and arc.used is None):
        return None
    return max(each for each in known if each is not None) + ((arc.used or 0) if arc is not None else 0)


def _full(window: Window, left: int, most: float) -> Finding:
    """Return the finding of a node on which nothing waits for memory yet."""
    node = next(iter(window.rows(Node).values()), None)
    used = _used(window)
    return Finding(
        severity=Severity.WARNING,
        subject=SUBJECT,
        title="MEMORY NEARLY FULL",
        cause=f"At most {human.quantity(left, 'bytes')} were available in all samples.",
        impact="Programs soon wait for memory, or the kernel kills one.",
        values=(
            Value("available", "memory available, at most", left, "bytes", below=most),
            Value("total", "memory", node.memory_total if node is not None else None, "bytes"),
            Value("swap", "swap in use", used, "bytes"),
        ),
        evidence=cites(window.quote(MEMINFO, "MemAvailable:")),
        advice=(
            "Limit or stop the programs that need the memory, or add memory.",
            run("ps", "-eo", "pid,rss,comm", "--sort=-rss", note="largest processes").pipe("head"),
            run("slabtop", "-o", "-s", "c", note="memory of the kernel").pipe("head", "-20"),
        ),
        refuted_by="a larger MemAvailable in /proc/meminfo",
        damage=Damage.AVAILABILITY,
    )


def _used(window: Window) -> int | None:
    """Return the bytes in swap, None if unknown or without swap space."""
    node = next(iter(window.rows(Node).values()), None)
    if node is None or not node.swap_total or node.swap_free is None:
        return None
    return node.swap_total - node.swap_free


def _is_swapping(short: _Shortage, limits: Limits) -> bool:
    """Return whether pages are read back from swap all the time, and tasks wait for I/O most of the time.

    The kernel counts a wait for a swapped page as one for memory only if the page was evicted shortly before.
    """
    return (short.pages or 0.0) >= limits["pages"] and (short.stalled or 0.0) >= limits["some"]


def _said(short: _Shortage) -> Iterator[str]:
    if short.some is not None:
        yield f"tasks waited for memory in {human.percent(short.some)}% of the time"
    if short.pages is not None:
        yield f"{human.number(short.pages)} pages/s read back from swap"


def _shortage(window: Window, seconds: float) -> _Shortage:
    nodes = [(m.started, row) for m in window.moments(Node) for row in m.rows.values()]
    nodes = nodes[_first([at for at, _ in nodes], seconds) :]
    waits = {}
    for name in (SUBJECT, "io"):
        rows = [(at, row) for at, row in window.series(Pressure, name) if row is not None]
        waits[name] = rows[_first([at for at, _ in rows], seconds) :]
    return _Shortage(
        nodes[-1][0] - nodes[0][0] if nodes else 0.0,
        _rate([(at, row.some_total) for at, row in waits[SUBJECT]], _MICRO),
        _rate([(at, row.full_total) for at, row in waits[SUBJECT]], _MICRO),
        _rate([(at, row.swapped_in) for at, row in nodes], 1.0),
        _rate([(at, row.some_total) for at, row in waits["io"]], _MICRO),
    )


def _first(times: list[float], seconds: float) -> int:
    """Return the place of the newest sample that is at least `seconds` old, or else of the first sample."""
    old = [place for place, at in enumerate(times) if times[-1] - at + _GRACE >= seconds]
    return old[-1] if old else 0


def _rate(counts: list[tuple[float, int | None]], unit: float) -> float | None:
    """Return the growth of a counter per second; None without two samples, or after a reset."""
    known = [(at, count) for at, count in counts if count is not None]
    if len(known) < 2 or known[-1][1] < known[0][1] or known[-1][0] <= known[0][0]:
        return None
    return (known[-1][1] - known[0][1]) * unit / (known[-1][0] - known[0][0])


def _finding(window: Window, short: _Shortage, limits: Limits) -> Finding:
    node = next(iter(window.rows(Node).values()), None)
    used = _used(window)
    critical = (short.full or 0.0) >= limits["full"]
    some = (short.some or 0.0) >= limits["some"]
    span = f"{limits['seconds']:g} s"
    pages = f"{human.number(short.pages)} pages/s read back from swap" if short.pages else ""
    swap = f"{human.quantity(used, 'bytes')} in swap" if used else ""
    if some:
        title = f"MEMORY SHORT: tasks wait {human.percent(short.some)}%"
        cause = (
            f"Tasks waited for memory in {human.percent(short.some)}% of {span}, all in {human.percent(short.full)}%."
        )
    else:
        title = f"SWAPPING: {human.number(short.pages)} pages/s"
        cause = f"Memory is swapped; tasks waited for I/O in {human.percent(short.stalled)}% of {span}."
    impact = "; ".join(filter(None, (pages, swap))) or "programs stop for as long as they wait"
    return Finding(
        severity=Severity.CRITICAL if critical else Severity.WARNING,
        subject=SUBJECT,
        title=title,
        cause=cause,
        impact=f"{impact[0].upper()}{impact[1:]}.",
        values=(
            Value("some", "a task waits for memory", short.some, "ratio", above=limits["some"] if some else None),
            Value("full", "all tasks wait for memory", short.full, "ratio", above=limits["full"] if critical else None),
            Value("pages", "read back from swap", short.pages, "per_second", above=None if some else limits["pages"]),
            Value("stalled", "a task waits for I/O", short.stalled, "ratio", above=None if some else limits["some"]),
            Value("swap", "swap in use", used, "bytes"),
            Value("available", "memory available", node.memory_available if node is not None else None, "bytes"),
        ),
        evidence=cites(
            *(window.cite(row) for row in (window.get(Pressure, SUBJECT if some else "io"),) if row is not None),
            window.quote(VMSTAT, "pswpin ") if short.pages else None,
            window.quote(MEMINFO, "SwapFree:") if used is not None else None,
        ),
        advice=(
            "Limit or stop the programs that need the memory, or add memory.",
            run("ps", "-eo", "pid,rss,comm", "--sort=-rss", note="largest processes").pipe("head"),
            run("top", "-b", "-n", "1", "-o", "SWAP", note="processes swapped out").pipe("head", "-20"),
            run("systemd-cgtop", "-m", "-n", "1", note="one control group at its memory.max"),
        ),
        refuted_by="some avg60 below 10 in /proc/pressure/memory, and si of vmstat 1 at 0",
    )


MEMORY_SHORT = Rule(
    "memory-short",
    "programs that wait for memory: swapping, cached pages read repeatedly; no memory available",
    Severity.CRITICAL,
    _check,
    (Node,),
    (
        Threshold("some", 0.4, "share of time with a task waiting for memory (PSI some)", "ratio"),
        Threshold("full", 0.6, "share of time with all tasks waiting for memory, critical (PSI full)", "ratio"),
        Threshold("pages", 100.0, "pages read back from swap, with tasks waiting for I/O", "per_second"),
        Threshold("available", 0.01, "share of memory available, and less than 256 MiB, that is too little", "ratio"),
        Threshold("seconds", 20.0, "time over which shares and rates are measured", "seconds"),
    ),
    covers=(),
    view="host",
    advice="Limit or stop the programs that need the memory, or add memory.",
)
