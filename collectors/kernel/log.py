"""The kernel's log: from /dev/kmsg of a live node, or as dmesg, journalctl and log files have it.

Of a live node the messages are counted from the oldest that the kernel still has, at most a few hundred lines are kept
(sdstop.collectors.kernel.trail), and only those that are understood (sdstop.collectors.kernel.messages).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.kernel.answer import QUESTION, LogTrail, kept_lines
from sdstop.collectors.kernel.kinds import LogEffect, Subject
from sdstop.collectors.kernel.lines import Clock
from sdstop.collectors.kernel.message import LogPlace
from sdstop.collectors.kernel.names import DiskNames, disk_of
from sdstop.collectors.kernel.readings import MINUTE, DiskLog, KernelComplaint, KernelEvent, KernelLog, counted, quoted
from sdstop.collectors.kernel.source import FILES, FORMS, STAT, UPTIME, LogSource, live_log, recorded_logs, text_log
from sdstop.collectors.kernel.trail import TrailEntry, kept
from sdstop.core import format as human
from sdstop.core.collector import Collector, Need, Question
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading

_PACE = 5.0
"""Seconds between runs: with one each second the scheduling alone costs 0.2 ms."""
_WORST = 60
"""Characters of a remark."""


def read(host: Host) -> Iterable[Reading]:
    """Return the KernelLog, its messages by kind and device, by disk, and one by one.

    Raises Denied without the privilege, Absent without a log, Malformed for a text that is none.
    """
    try:
        found = [live_log(host)]
    except Absent as error:
        if error.recorded:
            raise
        texts = list(recorded_logs(host))
        if not texts:
            raise
        found = [source for key, data in texts if (source := text_log(host, key, data)) is not None]
        if not found:
            raise Malformed(f"{texts[0][0]}: no line of a kernel's log") from error
    return list(_rows(host, found))


def _rows(host: Host, sources: list[LogSource]) -> Iterator[Reading]:
    first = sources[0]
    yield KernelLog(
        origin=first.key,
        whole=first.whole,
        current=first.current,
        reading=first.behind,
        since=first.unix(first.begins, _clock(first)) if first.begins is not None else None,
        seconds=max(0.0, first.now - first.begins) if first.now is not None and first.begins is not None else None,
        suppressed=sum(source.suppressed for source in sources),
        lost=first.lost,
        unknown=first.unknown,
        dropped=sum(source.dropped for source in sources),
    )
    rows: dict[tuple[str, str], KernelComplaint] = {}
    events: dict[tuple[str, str], list[KernelEvent]] = {}
    for source in sources:
        names = DiskNames(host, source.trail.names.copy())
        entries = source.trail.entries()
        grouped: dict[tuple[str, str], list[TrailEntry]] = {}
        for entry in entries:
            device = names.name(entry.message.place, entry.message.device) or "node"
            grouped.setdefault((device, entry.message.kind), []).append(entry)
        for key, group in grouped.items():
            row = _complaint(source, key, group)
            if key not in rows or rows[key].count < row.count:  # several logs have the same messages
                rows[key] = row
                events[key] = list(_events(source, key, group))
    yield from rows.values()
    for each in events.values():
        yield from each
    yield from _disks(rows.values())


def _clock(source: LogSource) -> Clock:
    return source.trail.begins.clock if source.trail.begins is not None else Clock.BOOT


def _complaint(source: LogSource, key: tuple[str, str], group: list[TrailEntry]) -> KernelComplaint:
    last = next((entry for entry in reversed(group) if entry.until is None), group[-1])
    newest = max(group, key=lambda entry: entry.last)
    return KernelComplaint(
        device=key[0],
        kind=key[1],
        place=LogPlace.DISK if key[0] != last.message.device else last.message.place,
        count=sum(entry.count for entry in group),
        minute=_in_last_minute(source, group),
        ago=source.ago(newest.last, newest.clock),
        first=source.unix(group[0].seconds, group[0].clock),
        last=source.unix(newest.last, newest.clock),
        line=last.message.text,
        origin=source.key,
        needle=quoted(last.message.text, source.key),
    )


def _in_last_minute(source: LogSource, group: list[TrailEntry]) -> int | None:
    """Return the number of messages in the last minute; of those left out, a share."""
    if source.now is None or all(entry.clock is Clock.NONE for entry in group):
        return None
    begin, found = source.now - MINUTE, 0.0
    for entry in group:
        if entry.last >= begin:
            spread = entry.last - entry.seconds
            found += entry.count * (1.0 if entry.seconds >= begin else (entry.last - begin) / spread)
    return round(found)


def _events(source: LogSource, key: tuple[str, str], group: list[TrailEntry]) -> Iterator[KernelEvent]:
    number = 0
    for entry in group:
        number += entry.count
        line = entry.message.text if entry.until is None else f"{entry.count} more"
        ago, at = source.ago(entry.last, entry.clock), source.unix(entry.last, entry.clock)
        yield KernelEvent(
            device=key[0], kind=key[1], number=number, count=entry.count, ago=ago, at=at, line=line, origin=source.key,
            needle=quoted(entry.message.text, source.key),
        )  # fmt: skip


def _disks(rows: Iterable[KernelComplaint]) -> Iterator[DiskLog]:
    """Yield a row for each disk with errors or delays."""
    by_disk: dict[str, list[KernelComplaint]] = {}
    for row in rows:
        if (
            row.place == LogPlace.DISK
            and row.about is Subject.DEVICE
            and row.effect not in {LogEffect.NOTICE, LogEffect.CLEARED}
        ):
            by_disk.setdefault(disk_of(row.device), []).append(row)
    order = list(LogEffect)
    for disk, group in by_disk.items():
        newest = min(group, key=lambda row: float("inf") if row.ago is None else row.ago)
        worst = min(group, key=lambda row: order.index(row.effect))
        yield DiskLog(
            device=disk, effect=worst.effect, ago=newest.ago, words=_words(group, newest), line=newest.line,
            origin=newest.origin,
            needle=newest.needle,
        )  # fmt: skip


def _words(group: list[KernelComplaint], newest: KernelComplaint) -> str:
    recent = counted(group, minute=True)
    if recent:
        return _fitting(recent, " in the last minute")
    ago = f", last {human.duration(newest.ago)} ago" if newest.ago is not None else ""
    return _fitting(counted(group, minute=False), ago)


def _fitting(parts: list[str], end: str) -> str:
    while len(parts) > 1 and len(", ".join(parts) + end) > _WORST:
        parts = parts[:-1]
    return ", ".join(parts) + end


KERNEL_LOG = Collector(
    "kernel-log",
    "Kernel log",
    read,
    (KernelLog, KernelComplaint, KernelEvent, DiskLog),
    (
        Question(
            QUESTION,
            "errors, timeouts and resets that the kernel reports (/dev/kmsg); other messages are not kept",
            "root, or the capability CAP_SYSLOG",
            LogTrail(),
            keep=kept_lines,
        ),
        Need(UPTIME, "age of messages"),
        Need(STAT, "time of boot, for recorded logs"),
        Need("list:/sys/bus/scsi/devices/*", "disk of a SCSI address in a message"),
        Need("list:/sys/class/ata_port/*", "disk of an ATA port in a message"),
        Need("list:/sys/class/nvme/*", "disk of an NVMe controller in a message"),
        Need("link:/sys/dev/block/*", "disk of a device number in a message"),
        Need("cmd:dmesg*", "recorded kernel log; messages that are not understood are not kept", keep=kept),
        Need("cmd:zpool events*", "recorded events of ZFS; those without a fault are not kept", keep=kept),
        Need("cmd:journalctl*", "recorded kernel log; messages that are not understood are not kept", keep=kept),
        *(Need(path, "kernel log of a capture; other messages are not kept", keep=kept) for path in FILES),
    ),
    _PACE,
    forms=FORMS,
)
