r"""Lines of the kernel's log as programs print and keep them.

    [   12.345678] text                                    dmesg; with -x `kern  :err   : ` before it, with -r `<3>`
    [Mon Nov 23 07:12:01 2026] text                        dmesg -T, off by the time of each suspend since boot
    [Nov23 07:12] text, then [  +0.000031] text            dmesg -H, -e: seconds since the line before
    2026-11-23T07:12:01,123456+01:00 text                  dmesg --time-format iso
    Nov 23 07:12:01 node kernel: text                      journalctl -k, syslog files, without year and zone
    Nov 23 07:12:01 kernel: text                           journalctl --no-hostname
    2026-11-23T07:12:01+0100 node kernel: text             journalctl -o short-iso, rsyslog
    Mon 2026-11-23 07:12:01 CET node kernel: text          journalctl -o short-full, systemctl status
    [   12.345678] node kernel: text                       journalctl -o short-monotonic
    Mon 2026-11-23 07:12:01.123456 CET [s=1f;i=2a;...]     journalctl -o verbose, then a line `MESSAGE=text`
    Message from syslogd@node at Nov 23 07:12:01 ...       rsyslog on all terminals, then ` kernel:text`
    {"MESSAGE": "text", "__REALTIME_TIMESTAMP": "..."}     journalctl -o json
    MESSAGE=text, _SOURCE_MONOTONIC_TIMESTAMP=12345678     journalctl -o export, a line for each field

A line is written again in the first form, or with a date, where the name of the node is a hyphen: parsing that again
yields the same.
"""

from __future__ import annotations

import contextlib
import enum
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.expression import expression

PROGRAMS = frozenset({
    "kernel", "zed", "multipathd", "iscsid", "smartd", "mdadm", "systemd-udevd", "lvm", "dmeventd", "corosync",
    "ceph-osd",
})  # fmt: skip
"""Sources of lines in a system log that are read; others have free text."""
_LONGEST = 2000
"""Maximum number of characters of a line that are parsed."""


class Clock(enum.StrEnum):
    """Origin of the seconds of a line."""

    BOOT = "boot"
    """The kernel's start, without time in suspend."""
    UNIX = "unix"
    LOCAL = "local"
    """The epoch, by the node's clock in an unknown zone; without a year that of the newest line is assumed."""
    NONE = "none"


class Line(Struct, frozen=True):
    """A line of the log: its time on a clock, and its message."""

    clock: Clock
    seconds: float
    text: str

    @property
    def prefix(self) -> str:
        """The time in the form in which lines are kept."""
        match self.clock:
            case Clock.BOOT:
                return f"[{self.seconds:12.6f}] "
            case Clock.UNIX:
                moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)
                return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06}+0000 - kernel: "
            case Clock.LOCAL:
                moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)
                return f"[{moment:%a %b %d %H:%M:%S %Y}] "
        return ""


_COLOR = expression(r"\x1b\[[0-9;]*[A-Za-z]")
_LEVEL = expression(r"<\d{1,3}>|([a-z]{3,8}\d?) {0,8}:[a-z]{3,8} {0,8}: ")
"""Level of dmesg -r, or facility and level of dmesg -x; only lines of the facility `kern` are from the kernel."""
_BOOT = expression(r"\[ {0,12}(\d{1,10}\.\d{1,9})(?: {0,3}<[ \d.+-]{1,20}>)?\](?:\[ {0,12}[TC]\d{1,8}\])? ?")
_MONTH = r"[^\W\d_]{3,5}\.?|\d{1,2}\u6708"
_CTIME = expression(rf"\[[^\W\d_]{{1,4}}\.? {{1,2}}({_MONTH}) {{1,2}}(\d{{1,2}}) (\d\d:\d\d:\d\d) (\d{{4}})\] ?")
_MINUTE = expression(r"\[([A-Z][a-z]{2}) ?(\d{1,2}) (\d\d:\d\d)\] ?")
_DELTA = expression(r"\[ {0,12}\+(\d{1,8}[.,]\d{1,9})\] ?")
_ISO = expression(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)? ")
_FULL = expression(
    r"[^\W\d_]{1,5}\.? (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ([A-Z]{2,5}|[+-]\d\d(?:\d\d)?) "
)
_WALL = expression(r"Message from syslogd@\S{1,253} at ([A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d) \.\.\.")
_FIELD = expression(r"\s+([A-Z_]{1,64})=(.*)")
_SYSLOG = expression(
    r"(?:(\d{4}) )?([^\W\d_]{3,5}\.?|\d{1,2}\u6708) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?: (\d{4}))? "
)
_SOURCE = expression(r"(?:(\S{0,252}[^\s:]) )?([\w./-]{1,60})(?:\[\d{1,10}\])?:(?: |$)")
"""Node and program; journalctl --no-hostname, and syslog of some devices, have no node."""
EVENT = expression(
    r"(?m)^([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d{4}) (\d\d:\d\d:\d\d)\.(\d{1,9}) +"
    r"(?:ereport|resource|sysevent)\.fs\.zfs\.([\w.]{1,60})"
)
"""First line of an event of `zpool events` (cmd/zpool/zpool_main.c: zpool_do_events_short)."""
_EVENT_FIELD = expression(r"\s+(pool|vdev_path|vdev_state|eid) = \"?([^\"]{1,256}?)\"?(?: \(0x[0-9a-f]+\))?\s*")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OTHER_NAMES = (
    "jän janv ene gen 1月", "févr fév fev feb 2月", "mär märz mars mrt maa 3月", "avr avril abr apr 4月",
    "mai mag may mei maj 5月", "juin jun giu jui 6月", "juil jul lug 7月", "août ago aou aug 8月", "sept set sep 9月",
    "okt ott out oct 10月", "nov 11月", "dez déc dic dec 12月",
)  # fmt: skip
"""Names of the months in other languages, as glibc abbreviates them: German, French, Spanish, Italian ..."""
_MONTHS = {name.lower(): number for number, name in enumerate(_NAMES, 1)} | {
    name: number for number, names in enumerate(_OTHER_NAMES, 1) for name in names.split()
}
_NO_YEAR = 2000
"""Year of dates without one: a leap year."""


def lines_of(data: bytes) -> Iterator[Line]:
    """Yield the lines of a kernel or system log that are from the kernel, or from a program in PROGRAMS."""
    text = data.decode("utf-8", "replace")
    start = text.lstrip()[:400]
    if start.startswith("{") and '"MESSAGE"' in start + text[:4000]:
        yield from _journal_json(text)
    elif start.startswith("{") and '"dmesg"' in start:
        yield from _dmesg_json(text)
    elif start.startswith(("__CURSOR=", "__REALTIME_TIMESTAMP=")):
        yield from _journal_export(text)
    elif EVENT.match(start) or (start.startswith("TIME ") and EVENT.search(text[:4000])):
        yield from _zpool_events(text)
    elif " [s=" in start and _FULL.match(start):
        yield from _journal_verbose(text)
    else:
        yield from _plain(text)


def _plain(text: str) -> Iterator[Line]:
    """Yield the lines of text; those of other programs have no message, but show how far the log goes.

    A line without a time below one that has one is its continuation: terminals and mailers break long lines. Below a
    blank line it is not part of the log.
    """
    base = 0.0
    known: Line | None = None
    is_timed = False
    raws = text.splitlines()
    width = max(map(len, raws), default=0)
    before = ""
    wall = None
    for raw in raws:
        line = _COLOR.sub("", raw[:_LONGEST]).strip()
        level = _LEVEL.match(line)
        line = line[level.end() :].lstrip() if level is not None else line
        wall = _WALL.fullmatch(line) or wall
        if wall is not None and line.startswith("kernel:"):
            line = f"{wall[1]} - kernel: {line.removeprefix('kernel:')}"
        found = _line(line, base, "" if level is None else level[1]) if line else None
        if found is not None and found.clock is Clock.NONE and known is not None and known.clock is not Clock.NONE:
            gap = "" if len(before) == width else " "
            known = replace(known, text=f"{known.text}{gap}{line}"[:_LONGEST]) if known.text else known
        else:
            if known is not None:
                yield known
            is_timed = is_timed or (found is not None and found.clock is not Clock.NONE)
            known = None if is_timed and found is not None and found.clock is Clock.NONE else found
            base = found.seconds if found is not None and found.clock is Clock.LOCAL else base
        before = raw
    if known is not None:
        yield known


def _line(line: str, base: float, facility: str | None) -> Line:
    """Return a line; that of a program other than PROGRAMS has no message."""
    clock, seconds, rest = _timed(line, base)
    is_dmesg = clock is Clock.NONE or "," in line[:20]  # dmesg has a comma in ISO dates, and no source
    sent = None if is_dmesg else _SOURCE.match(rest)
    if facility and facility != "kern":
        rest = ""
    elif sent is not None and (sent[2] in PROGRAMS or line[0] != "[") and (sent[1] or line[0] != "["):
        rest = rest[sent.end() :] if sent[2] in PROGRAMS else ""
        inner = _BOOT.match(rest)
        rest = rest[inner.end() :] if inner is not None else rest
    return Line(clock, seconds, rest)


def _timed(line: str, base: float) -> tuple[Clock, float, str]:
    """Return the clock, the seconds, and the rest of a line; `base` is the time of the line before (dmesg -H)."""
    if line.startswith("["):
        if found := _BOOT.match(line):
            return Clock.BOOT, float(found[1]), line[found.end() :]
        if found := _CTIME.match(line):
            return Clock.LOCAL, _local(found[1], found[2], found[3], found[4]), line[found.end() :]
        if found := _DELTA.match(line):
            return Clock.LOCAL, base + float(found[1].replace(",", ".")), line[found.end() :]
        if found := _MINUTE.match(line):
            return Clock.LOCAL, max(base, _local(found[1], found[2], f"{found[3]}:00", "")), line[found.end() :]
    elif found := _ISO.match(line) or _FULL.match(line):
        seconds, zone = _seconds(f"{found[1]} {found[2]}") + float(f"0.{found[3] or 0}"), found[4] or ""
        known = zone in {"Z", "UTC"} or zone[:1] in {"+", "-"}
        return Clock.UNIX if known else Clock.LOCAL, seconds - _offset(zone), line[found.end() :]
    elif found := _SYSLOG.match(line):
        seconds = _local(found[2], found[3], found[4], found[1] or found[6] or "")
        return Clock.LOCAL, seconds + float(f"0.{found[5] or 0}"), line[found.end() :]
    return Clock.NONE, 0.0, line


def _seconds(shown: str) -> float:
    try:
        return (datetime.strptime(shown, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) - _EPOCH).total_seconds()
    except ValueError:
        return 0.0


def _local(month: str, day: str, clock: str, year: str) -> float:
    return _seconds(f"{year or _NO_YEAR}-{_MONTHS.get(month.lower().rstrip('.'), 1):02}-{int(day):02} {clock}")


def _offset(zone: str) -> float:
    """Return the seconds of `+0130`, `+01:30` or `+01`; 0 for the name of a zone."""
    if zone[:1] not in {"+", "-"}:
        return 0.0
    digits = zone[1:].replace(":", "")
    return float(f"{zone[0]}1") * (int(digits[:2]) * 3600.0 + int(digits[2:] or 0) * 60.0)


def _journal_json(text: str) -> Iterator[Line]:
    for raw in text.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            entry = json.loads(raw.rstrip(",").lstrip("[")) if raw.strip("[], ") else None
            if isinstance(entry, dict) and (line := _of_entry(entry)) is not None:
                yield line


def _journal_export(text: str) -> Iterator[Line]:
    for block in text.split("\n\n"):
        entry = dict(line.partition("=")[::2] for line in block.splitlines() if "=" in line)
        if (line := _of_entry(entry)) is not None:
            yield line


def _journal_verbose(text: str) -> Iterator[Line]:
    head, entry = "", dict[str, str]()
    for line in [*text.splitlines(), ""]:
        field = _FIELD.fullmatch(line)
        if field is not None:
            entry[field[1]] = field[2]
            continue
        found = _of_entry(entry) if head else None
        if found is not None:
            clock, seconds, _ = _timed(head, 0.0)
            yield Line(clock, seconds, found.text)
        head, entry = line, {}


def _zpool_events(text: str) -> Iterator[Line]:
    """Yield the events of ZFS in the words of its daemon: eid=16 class=io pool='tank' vdev=sdc1."""
    head: re.Match[str] | None = None
    said: dict[str, str] = {}
    for raw in [*text.splitlines(), "Jan  1 2000 00:00:00.0 sysevent.fs.zfs.end"]:
        found = EVENT.match(raw)
        if found is None:
            field = _EVENT_FIELD.fullmatch(raw)
            if field is not None:
                said.setdefault(field[1], field[2])
            continue
        if head is not None:
            seconds = _local(head[1], head[2], head[4], head[3]) + float(f"0.{head[5]}")
            yield Line(Clock.LOCAL, seconds, _of_daemon(head[6], said))
        head, said = found, {}


def _of_daemon(name: str, said: Mapping[str, str]) -> str:
    number = int(said["eid"], 16) if re.fullmatch(r"0x[0-9a-f]{1,7}", said.get("eid", "")) else 0
    vdev = f" vdev={said['vdev_path'].rpartition('/')[2]}" if said.get("vdev_path", "").strip("/") else ""
    state = f" vdev_state={said['vdev_state']}" if "vdev_state" in said else ""
    return f"eid={number} class={name} pool='{said.get('pool', 'unnamed')}'{vdev}{state}"[:_LONGEST]


def _of_entry(entry: Mapping[str, Any]) -> Line | None:
    """Return the line of a journal entry, None for one of another program."""
    message, source = entry.get("MESSAGE"), entry.get("SYSLOG_IDENTIFIER")
    if not isinstance(message, str) or (entry.get("_TRANSPORT") != "kernel" and source not in PROGRAMS):
        return None
    for name, clock in (("__REALTIME_TIMESTAMP", Clock.UNIX), ("_SOURCE_MONOTONIC_TIMESTAMP", Clock.BOOT)):
        word = entry.get(name)
        if isinstance(word, str) and word.isdecimal() and len(word) <= 17:
            return Line(clock, int(word) / 1e6, message[:_LONGEST])
    return Line(Clock.NONE, 0.0, message[:_LONGEST])


def _dmesg_json(text: str) -> Iterator[Line]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return
    entries = said.get("dmesg") if isinstance(said, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("msg"), str):
            at = entry.get("time")
            is_timed = isinstance(at, int | float) and 0 <= at < 1e10
            yield Line(
                Clock.BOOT if is_timed else Clock.NONE, float(at or 0) if is_timed else 0.0, entry["msg"][:_LONGEST]
            )
