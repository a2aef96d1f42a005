"""Messages of the kernel's log by the thing that they are about, and whether the fault is over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sdstop.collectors.kernel.kinds import KINDS, LogEffect, Subject
from sdstop.collectors.kernel.message import LogPlace
from sdstop.collectors.kernel.names import disk_of
from sdstop.collectors.kernel.readings import KernelComplaint, KernelLog, counted
from sdstop.core import format as human
from sdstop.core.evidence import Cite
from sdstop.core.finding import Gap, Unchecked, Value
from sdstop.core.history import Window
from sdstop.core.rule import Threshold

RECENT = Threshold("recent", 600.0, "age of messages in seconds above which they are history", "seconds")
CITED = 4
"""Most messages that a finding quotes."""

_THIN = frozenset({"thin-full", "thin-readonly", "thin-failed", "thin-low"})
_STOPPED = frozenset({"fs-readonly", "fs-shutdown", "journal-abort"})
_CLEARS: Mapping[str, frozenset[str]] = {
    "path-restored": frozenset({"path-failed", "paths-gone"}),
    "server-back": frozenset({"server-silent"}),
    "session-restored": frozenset({"session-error", "session-lost", "timeout", "transport-error"}),
    "thin-restored": _THIN,
    "fs-mounted": _STOPPED,
    "fs-unmounted": _STOPPED,
}
"""Kinds of messages after which those of other kinds no longer hold."""


_OTHERS = frozenset({LogPlace.CONTROLLER, LogPlace.SERVER, LogPlace.SESSION, LogPlace.MAPPED})
"""Things whose names can look like those of partitions: vdo4 is a volume of VDO, and no partition of the disk vdo."""


def by_thing(window: Window, subject: Subject) -> dict[str, list[KernelComplaint]]:
    """Return the messages about one type of thing by its name; those about partitions belong to their disk."""

    def made() -> dict[str, list[KernelComplaint]]:
        found: dict[str, list[KernelComplaint]] = {}
        for row in window.rows(KernelComplaint).values():
            if row.about is subject:
                is_disk = subject is Subject.DEVICE and row.place not in _OTHERS
                name = disk_of(row.device) if is_disk else row.device
                found.setdefault(name, []).append(row)
        return found

    return window.of_run(KernelComplaint, ("by thing", subject), made)


def is_over(row: KernelComplaint, others: Iterable[KernelComplaint]) -> bool:
    """Return whether a later message about the same device ended the fault of a message."""
    return any(
        row.kind in _CLEARS.get(other.kind, ()) and other.device == row.device and row.ago is not None
        and other.ago is not None and other.ago <= row.ago
        for other in others
    )  # fmt: skip


def in_force(rows: Sequence[KernelComplaint]) -> list[KernelComplaint]:
    """Return the messages whose fault is not over."""
    return [row for row in rows if row.effect is not LogEffect.CLEARED and not is_over(row, rows)]


def is_recent(row: KernelComplaint, seconds: float) -> bool:
    """Return whether the last message is recent; one of unknown age counts as recent."""
    return row.ago is None or row.ago <= seconds


def worst(rows: Iterable[KernelComplaint]) -> KernelComplaint:
    """Return the row with the worst effect, of several the newest."""
    order = list(LogEffect)
    return min(rows, key=lambda row: (order.index(row.effect), float("inf") if row.ago is None else row.ago))


def amounts(rows: Sequence[KernelComplaint], *, minute: bool) -> str:
    """Return the numbers of the two worst kinds: `14 aborts and 2 resets`."""
    return " and ".join(counted(rows, minute=minute)[:2])


def last_time(window: Window, rows: Iterable[KernelComplaint]) -> str:
    """Return when the last message was logged: `3 s ago`, `40 s before the log ends`, "" if unknown."""
    ages = [row.ago for row in rows if row.ago is not None]
    log = next(iter(window.rows(KernelLog).values()), None)
    if not ages or log is None:
        return ""
    age = round(min(ages))
    if not log.current:
        return f"{human.duration(age)} before the log ends" if age else "at the end of the log"
    return f"{human.duration(age)} ago" if age else "just now"


def since_last(window: Window, rows: Sequence[KernelComplaint]) -> str:
    """Return the end of a sentence about messages: `, the last 3 s ago`, of a single one `, 3 s ago`; "" if unknown."""
    last = last_time(window, rows)
    return f", {'' if sum(row.count for row in rows) == 1 else 'the last '}{last}" if last else ""


def numbers(rows: Sequence[KernelComplaint]) -> tuple[Value, ...]:
    """Return the messages by kind as values, and the age of the last one."""
    found = {}
    for row in sorted(rows, key=lambda row: list(LogEffect).index(row.effect))[:6]:
        name = row.kind.replace("-", "_")
        found[name] = Value(name, KINDS[row.kind].many, row.count)
    minute = [row.minute for row in rows if row.minute is not None]
    ages = [row.ago for row in rows if row.ago is not None]
    return (
        *found.values(),
        *((Value("minute", "messages in the last minute", sum(minute)),) if minute else ()),
        *((Value("last", "time since the last message", min(ages), "seconds"),) if ages else ()),
    )


def quoted(window: Window, rows: Iterable[KernelComplaint]) -> list[Cite | None]:
    """Return the last messages of the worst kinds as quotations."""
    order = list(LogEffect)
    chosen = sorted(rows, key=lambda row: (order.index(row.effect), float("inf") if row.ago is None else row.ago))
    return [window.cite(row) for row in chosen[:CITED]]


def silence(log: KernelLog) -> str:
    """Return the part of the log in which a thing is not mentioned: `in 3h05 since boot`, `in the last 3h05`."""
    if log.seconds is None:
        return "in all of the log"
    span = human.duration(log.seconds)
    if log.whole:
        return f"in {span} since boot"
    return f"in the last {span}{'' if log.current else ' of the log'}"


def gap_in(log: KernelLog, *, requests: bool = False) -> Unchecked | None:
    """Return why nothing can be concluded from the log's silence, None if it is whole as far as it goes.

    The kernel's rate limit drops messages about failed `requests` only.
    """
    if log.reading:
        return Unchecked("older messages of the kernel log are being read", gap=Gap.EARLY)
    if not log.current and not log.whole:
        return Unchecked("only a part of the kernel log was recorded")
    if log.lost:
        return Unchecked(f"{human.plural(log.lost, 'message')} of the kernel log overwritten before they were read")
    if log.suppressed and requests:
        return Unchecked(f"{human.plural(log.suppressed, 'message')} dropped by the kernel's rate limit")
    if log.dropped:
        return Unchecked(f"{human.plural(log.dropped, 'message')} about further devices not listed")
    return None
