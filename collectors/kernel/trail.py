"""Trail: the messages of a log that are kept, bounded in number, with the numbers of those left out.

The first message of each kind and device and the newest ones are kept as lines; a line of our own counts the others:

    [   71.000000] sdstop: 120 more of io-error disk sdc until 90.500000
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.collectors.kernel.kinds import KINDS, LogEffect
from sdstop.collectors.kernel.lines import Clock, Line, lines_of
from sdstop.collectors.kernel.message import LogPlace, Message
from sdstop.collectors.kernel.messages import suppressed, understood
from sdstop.core.expression import expression

FIRST = 2
"""Oldest messages of each kind and device that are kept."""
NEWEST = 24
"""Newest messages of each kind and device that are kept."""
FEWEST = 2
"""The same where the number of all lines is at its limit."""
MOST = 600
"""Maximum number of lines."""
SERIES = 400
"""Maximum number of kinds and devices; messages about others are only counted."""

_OWN = "sdstop: "
_MORE = expression(
    r"sdstop: (?P<count>\d{1,12}) more of (?P<kind>[a-z-]{1,40}) (?P<place>[a-z]{1,20}) (?P<device>\S{1,300})?"
    r" until (?P<until>\d{1,12}\.\d{6})$"
)
_BEGINS = expression(r"sdstop: log begins(?P<whole> at boot)?$")
_ENDS = expression(r"sdstop: log ends$")
_DROPPED = expression(r"sdstop: (?P<count>\d{1,12}) messages about further devices$")
_SUPPRESSED = expression(r"sdstop: (?P<count>\d{1,12}) messages suppressed by the kernel$")
_NAMED = expression(r"sdstop: disk (?P<address>\d{1,4}:\d{1,4}:\d{1,6}:\d{1,20}) is (?P<name>[a-z]\w{0,30})$")
_NAMES = expression(r"sd (?P<address>\d{1,4}:\d{1,4}:\d{1,6}:\d{1,20}): \[(?P<name>[a-z]\w{0,30})\]", re.ASCII)
_MOST_NAMES = 8192
"""Maximum number of disks whose names are remembered."""
_START = "Linux version "

Key = tuple[str, LogPlace, str]
"""Kind, place and device."""


class TrailEntry(Struct, frozen=True):
    """Kept message; with `until`, the time of the last of `count` messages that were left out."""

    message: Message
    clock: Clock
    seconds: float
    count: int = 1
    until: float | None = None

    @property
    def text(self) -> str:
        """The line to keep."""
        prefix, said = Line(self.clock, self.seconds, "").prefix, self.message
        if self.until is None:
            return f"{prefix}{said.text}"
        return f"{prefix}{_OWN}{self.count} more of {said.kind} {said.place} {said.device} until {self.until:.6f}"

    @property
    def last(self) -> float:
        """Time of the message, or of the last one."""
        return self.seconds if self.until is None else self.until

    def joined(self, other: TrailEntry) -> TrailEntry:
        """Return the entry that leaves out the messages of both."""
        begin, end = min(self.seconds, other.seconds), max(self.last, other.last)
        return TrailEntry(other.message, self.clock, begin, self.count + other.count, end)


class _Series(Struct):
    """Messages of one kind about one device."""

    first: list[TrailEntry] = field(default_factory=list)
    newest: deque[TrailEntry] = field(default_factory=deque)
    left_out: TrailEntry | None = None

    def add(self, entry: TrailEntry, newest: int) -> None:
        if entry.until is not None:
            self._leave_out(entry)
        elif len(self.first) < FIRST and not self.newest and self.left_out is None:
            self.first.append(entry)
        else:
            self.newest.append(entry)
            self.limit(newest)

    def limit(self, newest: int) -> None:
        while len(self.newest) > newest:
            entry = self.newest.popleft()
            self._leave_out(replace(entry, until=entry.seconds))

    def _leave_out(self, entry: TrailEntry) -> None:
        self.left_out = entry if self.left_out is None else self.left_out.joined(entry)

    def entries(self) -> Iterator[TrailEntry]:
        yield from self.first
        if self.left_out is not None:
            yield self.left_out
        yield from self.newest

    def __len__(self) -> int:
        return len(self.first) + len(self.newest) + (self.left_out is not None)


class Trail(Struct):
    """Messages of a log, oldest first; times are seconds of the clock of each line."""

    series: dict[Key, _Series] = field(default_factory=dict)
    dropped: int = 0
    """Messages about devices beyond SERIES."""
    suppressed: int = 0
    """Messages that the kernel's rate limit dropped."""
    begins: Line | None = None
    ends: Line | None = None
    whole: bool = False
    """Whether the log begins at boot."""
    newest: int = NEWEST
    names: dict[str, str] = field(default_factory=dict)
    """Kernel names of SCSI disks by address, from any message that has both."""

    def add(self, line: Line) -> bool:
        """Add a line, and return whether it is understood; others only move the end of the log."""
        self.begins = self.begins or line
        self.ends = line if self.ends is None or line.clock is not Clock.NONE else self.ends
        if (named := _NAMES.match(line.text)) is not None and len(self.names) < _MOST_NAMES:
            self.names[named["address"]] = named["name"]
        if line.text.startswith(_OWN):
            self._own(line)
        elif line.text.startswith(_START):
            self.whole = self.whole or self.begins.seconds == line.seconds
        elif more := suppressed(line.text):
            self.suppressed += more
        elif (message := understood(line.text)) is not None:
            self._put(TrailEntry(message, line.clock, line.seconds))
        else:
            return False
        return True

    def _own(self, line: Line) -> None:
        if (found := _MORE.match(line.text)) and found["kind"] in KINDS and found["place"] in set(LogPlace):
            message = Message(found["kind"], LogPlace(found["place"]), found["device"] or "", "")
            self._put(TrailEntry(message, line.clock, line.seconds, int(found["count"]), float(found["until"])))
        elif found := _NAMED.match(line.text):
            self.names.setdefault(found["address"], found["name"])
        elif found := _BEGINS.match(line.text):
            self.whole = found["whole"] is not None
        elif found := _DROPPED.match(line.text):
            self.dropped += int(found["count"])
        elif found := _SUPPRESSED.match(line.text):
            self.suppressed += int(found["count"])

    def _put(self, entry: TrailEntry) -> None:
        message = entry.message
        kind = KINDS[message.kind]
        if kind.effect is LogEffect.CLEARED and not self._has(message.place, message.device):
            return  # nothing that is over: mounts at boot
        key = message.kind, message.place, message.device
        series = self.series.get(key)
        if series is None:
            if len(self.series) >= SERIES:
                self.dropped += entry.count
                return
            series = self.series[key] = _Series()
        series.add(entry, self.newest)
        if self.newest > FEWEST and len(series) > FEWEST and sum(map(len, self.series.values())) > MOST:
            self.newest = max(FEWEST, self.newest // 2)
            for each in self.series.values():
                each.limit(self.newest)

    def _has(self, place: LogPlace, device: str) -> bool:
        return any(where is place and name == device for _, where, name in self.series)

    def entries(self) -> list[TrailEntry]:
        """Return the kept messages, oldest first."""
        found = [entry for series in self.series.values() for entry in series.entries()]
        return sorted(found, key=lambda entry: entry.seconds)

    def lines(self) -> list[str]:
        """Return the lines to keep, those with names of disks last."""
        addresses = sorted(
            {device for _, place, device in self.series if place is LogPlace.SCSI and device in self.names}
        )
        prefix = self.ends.prefix if self.ends is not None and addresses else ""
        names = [f"{prefix}{_OWN}disk {address} is {self.names[address]}" for address in addresses]
        return [*(entry.text for entry in self.entries()), *names]


def trail_of(lines: Iterable[Line]) -> Trail:
    """Return the trail of a log."""
    trail = Trail()
    for line in lines:
        trail.add(line)
    return trail


def kept(data: bytes) -> bytes:
    """Return the lines of a log that are kept, as text, between lines of our own that have its begin and end.

    Empty if no line is understood as one of a log; applied twice it returns the same.
    """
    trail = trail_of(lines_of(data))
    if trail.begins is None or trail.ends is None:
        return b""
    if trail.ends.clock is Clock.NONE and not (trail.series or trail.suppressed):
        return b""
    begins = f"{trail.begins.prefix}{_OWN}log begins{' at boot' if trail.whole else ''}"
    ends = f"{trail.ends.prefix}{_OWN}log ends"
    dropped = [f"{ends[: -len('log ends')]}{trail.dropped} messages about further devices"] if trail.dropped else []
    if trail.suppressed:
        dropped.append(f"{ends[: -len('log ends')]}{trail.suppressed} messages suppressed by the kernel")
    return "".join(f"{line}\n" for line in (begins, *trail.lines(), *dropped, ends)).encode("utf-8", "replace")
