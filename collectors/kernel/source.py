"""Logs as they are read: of a live node from its answer, of others from dmesg, journalctl and log files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from sdstop.collectors.kernel.answer import QUESTION, kept_answer
from sdstop.collectors.kernel.lines import PROGRAMS, Clock, lines_of
from sdstop.collectors.kernel.trail import Trail, trail_of
from sdstop.core.expression import expression
from sdstop.core.form import NOT_BEGUN, NOT_SHOWN, Form, Several
from sdstop.core.host import Absent, Host
from sdstop.core.text import decimal

UPTIME, STAT = "/proc/uptime", "/proc/stat"
FILES = ("/var/log/kern.log", "/var/log/messages", "/var/log/syslog")
"""Logs of captures; never read on a live node, whose kernel has the same in memory."""

EVENTS_OF = expression(r"zpool[ _]events")
_BEGUN = expression(r"Linux version \d|^-- (?:Logs begin|Journal begins|Boot )|^\[ {4,}0\.000000\]", re.MULTILINE)


def fault(text: str) -> str:
    """Return why a log may not be all of it: earlier messages, or later ones, may be lost."""
    return NOT_SHOWN if _BEGUN.search(text[:2000]) else NOT_BEGUN


DMESG = Form(
    key="cmd:dmesg",
    first=(
        r"(?:<\d{1,3}>|[a-z]{3,8}\d? {0,8}:[a-z]{3,8} {0,8}: )?(?:\x1b\[[0-9;]*m)?"
        r"\[(?: {0,12}\d{1,10}\.\d{6}"
        r"|[^\W\d_]{1,4}\.? {1,2}(?:[^\W\d_]{3,5}\.?|\d{1,2}\u6708) [ \d]\d \d\d:\d\d:\d\d \d{4}"
        r"|[A-Z][a-z]{2} ?\d{1,2} \d\d:\d\d)"
        r"[^\]\n]{0,30}\]"
    ),
    reads="errors, timeouts and resets of devices; other messages are not kept",
    versions="util-linux 2.23 and later in all languages, with -T, -x, -H, -J, --time-format iso, or none; Linux 4.18",
    goes_on=r"(?:<\d{1,3}>|[a-z]{3,8}\d? {0,8}:[a-z]{3,8} {0,8}: )?(?:\x1b\[[0-9;]*m)?\[.{5,40}\].*| {4,}.*",
    fault=fault,
    by_line=True,
    several=Several.JOINED,
)
_DATE = (
    r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S{0,20}|(?:[^\W\d_]{3,5}\.?|\d{1,2}\u6708) [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?"
    r"|[^\W\d_]{1,5}\.? \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? (?:[A-Z]{2,5}|[+-]\d{2,4})"
    r"|\[ {0,12}\d{1,10}\.\d{6}\])"
)
_SOURCES = rf"(?:{'|'.join(sorted(PROGRAMS))})(?:\[\d{{1,10}}\])?: "
JOURNAL = Form(
    key="cmd:journalctl -k",
    first=rf"{_DATE} (?:\S{{1,253}} )?{_SOURCES}",
    reads="errors, timeouts and resets of devices, from the journal or a system log; other messages are not kept",
    versions="systemd 219 and later, with -o short and short-iso, -precise, -full, -monotonic; syslog files",
    goes_on=rf"{_DATE} \S{{1,253}} .*|-- .*",
    fault=fault,
    by_line=True,
    several=Several.JOINED,
)
JOURNAL_JSON = Form(
    key="cmd:journalctl -k -o json",
    first=r'\{.{0,4000}"(?:_TRANSPORT" ?: ?"kernel|SYSLOG_IDENTIFIER" ?: ?"kernel)"',
    reads="the same as JSON",
    versions="systemd 219 and later",
    goes_on=r"\{.*",
    by_line=True,
    several=Several.JOINED,
)
JOURNAL_FIELDS = Form(
    key="cmd:journalctl -k -o verbose",
    first=r"[^\W\d_]{1,5}\.? \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} \S{2,5} \[s=[0-9a-f]+;",
    reads="the same with all fields",
    versions="systemd 219 and later",
    goes_on=r" +[A-Z_]+=.*|-- .*",
    fault=fault,
    by_line=True,
    several=Several.JOINED,
)
WALL = Form(
    key="/var/log/messages",
    first=r"Message from syslogd@\S{1,253} at .{10,30} \.\.\.\n{1,2} ?kernel:",
    reads="emergencies of the kernel, as rsyslog writes them to all terminals",
    versions="rsyslog 5 and later",
    goes_on=r" ?kernel:.*|Message from syslogd@.*",
    fault=fault,
    by_line=True,
    several=Several.JOINED,
)
EVENTS = Form(
    key="cmd:zpool events",
    first=(
        r"(?:TIME +CLASS *\n)?[A-Z][a-z]{2} [ \d]?\d \d{4} \d\d:\d\d:\d\d\.\d{1,9} +"
        r"(?:ereport|resource|sysevent)\.fs\.zfs\."
    ),
    reads="I/O and checksum errors, delays, and failed devices of ZFS; other events are not kept",
    versions="ZFS 0.7 and later, with or without -v",
    goes_on=r"[A-Z][a-z]{2} [ \d]?\d \d{4} .*|\s+[\w.]+ = .*|\s+\(end \w+\)|\s+\w+ = \(.*|dropped \d+ events",
    fault=fault,
    by_line=True,
    several=Several.JOINED,
)
FORMS = (EVENTS, DMESG, JOURNAL, JOURNAL_FIELDS, JOURNAL_JSON, WALL)


class LogSource(Struct, frozen=True):
    """A log, by the key of its evidence: messages, and how its times relate to others.

    `now` is the time of reading on the log's clock, or of its last line; `boot` the Unix time of 0 on it, if known.
    """

    key: str
    trail: Trail
    begins: float | None
    now: float | None
    boot: float | None
    current: bool
    whole: bool = False
    behind: bool = False
    lost: int = 0
    suppressed: int = 0
    dropped: int = 0
    unknown: int | None = None

    def ago(self, seconds: float, clock: Clock) -> float | None:
        """Return the time from a message to now, None if it has none."""
        return (
            None if self.now is None or clock is Clock.NONE or seconds > self.now + 1 else max(0.0, self.now - seconds)
        )

    def unix(self, seconds: float, clock: Clock) -> float | None:
        """Return the Unix time of a message, None if unknown."""
        if clock is Clock.UNIX:
            return seconds
        return self.boot + seconds if clock is Clock.BOOT and self.boot is not None else None


def live_log(host: Host) -> LogSource:
    """Return the log of a live node, or as one recorded it. Raises Absent, Denied or Malformed."""
    head, trail = kept_answer(host.answer(QUESTION))
    since, boot, suspended = (_number(head.get(name)) for name in ("since", "boot", "suspended"))
    up = decimal((host.maybe(UPTIME) or "").partition(" ")[0])
    now = up - (suspended or 0.0) if up is not None else None
    counts = {name: int(_number(head.get(name)) or 0) for name in ("lost", "suppressed", "dropped", "unknown")}
    return LogSource(
        f"answer:{QUESTION}", trail, since, now, boot + (suspended or 0.0) if boot is not None else None,
        current=True, whole=head.get("whole") is True, behind=head.get("behind") is True, **counts,
    )  # fmt: skip


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def recorded_logs(host: Host) -> Iterator[tuple[str, bytes]]:
    """Yield the recorded logs by key: of commands whatever their options, and files."""
    for program in ("dmesg", "journalctl"):
        for name in host.recorded(program):
            output = host.recorded_output(name)
            if not output.exit or output.stdout:
                yield f"cmd:{name}", output.stdout
    for name in host.recorded("zpool"):
        if EVENTS_OF.match(name) and (output := host.recorded_output(name)).stdout:
            yield f"cmd:{name}", output.stdout
    for path in FILES:
        try:
            yield path, host.read(path)
        except Absent:
            continue


def text_log(host: Host, key: str, data: bytes) -> LogSource | None:
    """Return the log in a text, None for a text without a line of one."""
    trail = trail_of(lines_of(data))
    begins, ends = trail.begins, trail.ends
    if begins is None or ends is None or (ends.clock is Clock.NONE and not trail.series):
        return None
    if EVENTS_OF.match(key.partition(":")[2]) and not trail.series:
        return None  # events of ZFS without a fault do not show that the kernel logged none
    now = ends.seconds if ends.clock is not Clock.NONE else None
    boot = current = None
    if ends.clock is Clock.BOOT:
        up = decimal((host.maybe(UPTIME) or "").partition(" ")[0])
        current = up is not None and now is not None and up >= now
        now = up if current else now
        words = [line.split() for line in (host.maybe(STAT) or "").splitlines() if line.startswith("btime ")]
        boot = decimal(words[0][1]) if words and len(words[0]) == 2 else None
    since = begins.seconds if begins.clock is ends.clock else None
    return LogSource(
        key, trail, since, now, boot, current=bool(current), whole=trail.whole,
        suppressed=trail.suppressed, dropped=trail.dropped,
    )  # fmt: skip
