"""Readings of the kernel's log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar

from sdstop.collectors.kernel.kinds import KINDS, LogEffect, Subject
from sdstop.collectors.kernel.message import LogPlace
from sdstop.core.joins import Identity, Naming, Stated
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, State

_NAMINGS: Mapping[str, Naming] = {
    LogPlace.DISK: Naming.DEV, LogPlace.MAPPED: Naming.LINK, LogPlace.NUMBER: Naming.NUMBER, LogPlace.PCI: Naming.PCI,
}  # fmt: skip
MINUTE = 60.0
"""Seconds."""
DAY = 86400.0
"""Seconds."""


class KernelLog(Reading, frozen=True, kw_only=True):
    """The kernel's log itself, a single row: its extent, and messages that were not read.

    `current` is False for a log that was printed or copied at an unknown time: its ages are relative to its last line.
    """

    family: ClassVar[str] = "kernel_log"
    title: ClassVar[str] = "Kernel log"
    rows_of = Source("{origin}")

    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)]
    whole: Annotated[bool, Fact("Since boot", "Whether the log begins at boot", export=False)]
    current: Annotated[bool, Fact("Current", "Whether the log was read from this kernel", export=False)]
    reading: Annotated[bool, Fact("Reading", "Whether older messages are still being read", export=False)] = False
    since: Annotated[
        float | None, Metric("Begins", "Unix timestamp of the oldest message", "seconds", export=False)
    ] = None
    seconds: Annotated[
        float | None, Metric("Covers", "Time from the oldest message to now, or to the newest", "seconds", export=False)
    ] = None
    suppressed: Annotated[
        int, Metric("Suppressed", "Messages that the kernel's rate limit dropped", kind=Kind.COUNTER)
    ] = 0
    lost: Annotated[int, Metric("Lost", "Messages overwritten before they were read", kind=Kind.COUNTER)] = 0
    unknown: Annotated[
        int | None,
        Metric(
            "Not understood", "Error messages of the kernel that are not understood; any subject", kind=Kind.COUNTER
        ),
    ] = None
    dropped: Annotated[
        int, Metric("Other devices", "Messages about further devices, which are not listed", kind=Kind.COUNTER)
    ] = 0


class KernelComplaint(Reading, frozen=True, kw_only=True):
    """Messages of one kind about one device in the kernel's log.

    `device` is the kernel name of the disk if it is known, else the name in the message; "node" for the node itself.
    """

    family: ClassVar[str] = "kernel_complaint"
    title: ClassVar[str] = "Kernel messages, by device"
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {"device": Identity(None, Stated("place", _NAMINGS))}

    device: Annotated[str, Label("Device", "Device that the messages are about", names=Name.DEVICE)]
    kind: Annotated[str, Label("Kind", "Kind of message", plain=True)]
    place: Annotated[str, Fact("Named as", "How messages name the device", export=False, plain=True)]
    count: Annotated[
        int,
        Metric("Messages", "Messages in the kernel's log", kind=Kind.COUNTER, name="sdstop_kernel_messages_total"),
    ]
    minute: Annotated[int | None, Metric("In 1 min", "Messages in the last minute", export=False)] = None
    ago: Annotated[float | None, Metric("Last", "Time since the last message", "seconds", export=False)] = None
    first: Annotated[
        float | None, Metric("First at", "Unix timestamp of the first message", "seconds", export=False)
    ] = None
    last: Annotated[
        float | None,
        Metric(
            "Last at",
            "Unix timestamp of the last message",
            "seconds",
            name="sdstop_kernel_last_message_timestamp_seconds",
        ),
    ] = None
    line: Annotated[str, Fact("Last message", "Understood part of it", export=False, names=Name.PATHS)] = ""
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Quoted", "The message as the evidence has it", export=False, names=Name.EVIDENCE)] = ""

    @property
    def effect(self) -> LogEffect:
        """Effect of the reported events."""
        return KINDS[self.kind].effect

    @property
    def about(self) -> Subject:
        """Type of thing that the messages are about."""
        return KINDS[self.kind].subject


class KernelEvent(Reading, frozen=True, kw_only=True):
    """A kept message of the kernel's log, or several that were left out; the newest of each kind are kept."""

    family: ClassVar[str] = "kernel_event"
    title: ClassVar[str] = "Kernel messages"
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}", "{needle}")

    device: Annotated[str, Label("Device", "Device that the message is about", names=Name.DEVICE)]
    kind: Annotated[str, Label("Kind", "Kind of message", plain=True)]
    number: Annotated[int, Label("Number", "Place among those of its kind")]
    count: Annotated[int, Metric("Messages", "1, or the number of messages left out")] = 1
    ago: Annotated[float | None, Metric("Ago", "Time since the message", "seconds")] = None
    at: Annotated[float | None, Metric("Time", "Unix timestamp of the message", "seconds")] = None
    line: Annotated[str, Fact("Message", "Understood part of it", names=Name.PATHS)] = ""
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Quoted", "The message as the evidence has it", export=False, names=Name.EVIDENCE)] = ""


class DiskLog(Reading, frozen=True, kw_only=True):
    """Messages of the kernel's log about a disk and its partitions: one row for each disk with errors or delays."""

    family: ClassVar[str] = "disk_log"
    title: ClassVar[str] = "Kernel messages, by disk"
    remarked: ClassVar[str] = "kernel log"
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {"device": Identity(None, Naming.DEV)}

    device: Annotated[str, Label("Disk", "Kernel name of the disk", names=Name.DEVICE)]
    effect: Annotated[LogEffect, State("Logged", "Worst effect of the kernel's messages about the disk")]
    ago: Annotated[float | None, Metric("Last", "Time since the last message", "seconds", export=False)] = None
    words: Annotated[str, Fact("Kernel log", "Numbers of messages by kind", export=False, plain=True)] = ""
    line: Annotated[str, Fact("Last message", "Understood part of it", export=False, names=Name.PATHS)] = ""
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Quoted", "The message as the evidence has it", export=False, names=Name.EVIDENCE)] = ""

    def remark(self) -> str:
        """Return the messages in at most 60 characters, "" for those older than a day."""
        return self.words if self.ago is None or self.ago <= DAY else ""


def quoted(line: str, origin: str) -> str:
    """Return a message as it stands in the evidence: an answer is JSON."""
    return json.dumps(line)[1:-1] if origin.startswith("answer:") else line


_SAME = {
    "sense-medium": {"medium-error"}, "sense-aborted": {"abort"}, "sense-hardware": {"io-error"},
    "request-failed": {"io-error", "medium-error", "target-error", "transport-error", "timeout", "sense-medium"},
}  # fmt: skip
"""Kinds of sense data and of the failed request, one message each: only one of both is counted."""


def counted(rows: Iterable[KernelComplaint], *, minute: bool) -> list[str]:
    """Return the numbers of messages by kind, of the last minute or of all, the worst kinds first: `14 aborts`."""
    counts: dict[str, int] = {}
    for row in rows:
        count = (row.minute or 0) if minute else row.count
        if count:
            counts[row.kind] = counts.get(row.kind, 0) + count
    kinds = [kind for kind in counts if _SAME.get(kind, set()).isdisjoint(counts)]
    order = sorted(kinds, key=lambda kind: (list(LogEffect).index(KINDS[kind].effect), -counts[kind]))
    return [KINDS[kind].counted(counts[kind]) for kind in order]
