"""Hung devices in tools that print rates: always busy, requests outstanding, none completed."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Finding, Gap, Severity, Unchecked, Value, Verdict, cites, passed, unchecked
from sdstop.core.history import Window
from sdstop.core.rule import Limits
from sdstop.readings.service import IOSTAT, SAR, Service

_INTERVALS = 2
"""Minimum number of intervals, each a mean over seconds."""
_ALL = 0.99
"""Minimum share of an interval with a request in flight: one was always in flight."""
_ONE = 0.95
"""Minimum mean number of requests: one was always outstanding."""
_MANY = 1.5
"""The same above which it is not the single request that some kernels count for idle devices (NVMe before 5.8)."""


class _Silence(Struct, frozen=True):
    """Time in which a device completed nothing, over the newest intervals; `queue` is the last mean number waiting."""

    row: Service
    seconds: float
    intervals: int
    queue: float


def printed(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Yield a verdict for each device that a tool printed, if any interval has columns that show a standstill."""
    moments = [moment.rows for moment in window.moments(Service)]
    names = dict.fromkeys(name for rows in moments[-1:] for name, row in rows.items() if _counts(row))
    good, early = [], []
    for name in names:
        silence = _silence([rows[name] for rows in moments if name in rows])
        if silence is None:
            good.append(moments[-1][name].device)
        elif silence.seconds >= limits["seconds"] and silence.intervals >= _INTERVALS:
            yield _hung(window, silence, limits)
        else:
            early.append(silence.row.device)
    stands = f"busy without a completion; proof needs {limits['seconds']:g} s of it"
    yield from unchecked(early, stands, gap=Gap.FAULTY)
    yield from passed(good, "all requests complete in the last interval")
    if not names:
        yield Unchecked("requests outstanding not shown", calm=True)


def _counts(row: Service) -> bool:
    return row.kind == "device" and row.tool in {IOSTAT, SAR} and row.queue is not None and row.busy is not None


def _silence(rows: list[Service]) -> _Silence | None:
    """Return the standstill that the newest intervals show, None if the device completed a request or had none."""
    seconds, found = 0.0, 0
    for row in reversed(rows):
        if not _stands(row):
            break
        seconds += row.seconds or 0.0
        found += 1
    return _Silence(rows[-1], seconds, found, rows[-1].queue or 0.0) if found else None


def _stands(row: Service) -> bool:
    rates = (row.reads_per_second, row.writes_per_second, row.requests_per_second)
    known = [rate for rate in rates if rate is not None]
    idle = bool(known) and not any(known)
    return idle and (row.queue or 0.0) >= _ONE and (row.busy or 0.0) >= _ALL


def _hung(window: Window, silence: _Silence, limits: Limits) -> Finding:
    row, count = silence.row, human.number(silence.queue)
    certain = silence.queue >= _MANY
    return Finding(
        severity=Severity.CRITICAL if certain else Severity.WARNING,
        subject=row.device,
        title=f"DEVICE HUNG: {count} waiting" if certain else "DEVICE MAY BE HUNG",
        cause=f"{count} outstanding, none completed in {human.duration(silence.seconds)}.",
        impact="Tasks that use the data wait." if certain else "Some kernels count one request for an idle device.",
        values=(
            Value("seconds", "time without a completion", silence.seconds, "seconds", above=limits["seconds"]),
            Value("queue", "mean requests outstanding", silence.queue, "", above=_ONE),
            Value("intervals", "intervals that show it", silence.intervals),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Look for timeouts, resets and link loss in the kernel log.",
            run("journalctl", "-k").pipe("grep", "-w", *operands(row.device)),
            run("ps", "axo", "pid,stat,wchan:30,comm", note="blocked tasks").pipe("awk", "$2 ~ /^D/"),
        ),
        refuted_by=f"a completed request of {row.device} in iostat",
        confidence=None if certain else 0.5,
        cost=silence.queue,
        lasting=silence.seconds,
    )
