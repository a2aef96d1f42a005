"""Readings of file systems: their errors, quotas and scrubs, and the requests of NFS mounts."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, State

EXT4, BTRFS = "/sys/fs/ext4", "/sys/fs/btrfs"

_COUNTER = Kind.COUNTER


class Ext4Errors(Reading, frozen=True):
    """Errors of a mounted ext4 file system since its last check, from its superblock (fs/ext4/sysfs.c).

    The counters outlive mounts and boots; only e2fsck resets them. Times are None without an error.
    """

    family: ClassVar[str] = "ext4_errors"
    title: ClassVar[str] = "Errors of ext4 file systems"
    rows_of = Source(f"{EXT4}/{{device:sysfs}}/errors_count")
    fields_of: ClassVar = {
        "first": Source(f"{EXT4}/{{device:sysfs}}/first_error_time"),
        "last": Source(f"{EXT4}/{{device:sysfs}}/last_error_time"),
        "function": Source(f"{EXT4}/{{device:sysfs}}/last_error_func"),
        "warnings": Source(f"{EXT4}/{{device:sysfs}}/warning_count"),
    }
    things: ClassVar = {"device": Identity(None, Naming.DEV)}

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    errors: Annotated[
        int,
        Metric("Errors", "Errors since the last check of the file system", kind=_COUNTER,
               name="sdstop_ext4_recorded_errors_total"),
    ]  # fmt: skip
    warnings: Annotated[int | None, Metric("Warnings", "Warnings since the mount", kind=_COUNTER)] = None
    first: Annotated[int | None, Metric("First at", "Unix timestamp of the first error", "seconds", export=False)] = (
        None
    )
    last: Annotated[
        int | None,
        Metric(
            "Last at", "Unix timestamp of the last error", "seconds", name="sdstop_ext4_errors_last_timestamp_seconds"
        ),
    ] = None
    function: Annotated[str | None, Fact("In", "Function that found the last error", plain=True)] = None


class BtrfsErrors(Reading, frozen=True):
    """Errors of a device of a mounted btrfs since they were last reset (fs/btrfs/sysfs.c, Linux 5.14 and later).

    `btrfs device stats --reset` resets them; they outlive mounts. The device is None in a file system of several: sysfs
    does not say which number is which device.
    """

    family: ClassVar[str] = "btrfs_errors"
    title: ClassVar[str] = "Errors of btrfs devices"
    things: ClassVar = {"device": Identity(None, Naming.DEV, "{subject}")}

    filesystem: Annotated[str, Label("File system", "UUID", names=Name.IDENTIFIER)]
    number: Annotated[int, Label("Number", "Number of the device in the file system")]
    device: Annotated[str | None, Fact("Device", "Kernel name", names=Name.DEVICE)]
    devices: Annotated[str, Fact("Devices", "Kernel names of all devices", export=False, names=Name.DEVICE)]
    missing: Annotated[int | None, Metric("Missing", "Whether the device is missing: 1 or 0")]
    write_errors: Annotated[int, Metric("Write", "Failed writes", kind=_COUNTER)]
    read_errors: Annotated[int, Metric("Read", "Failed reads", kind=_COUNTER)]
    flush_errors: Annotated[int, Metric("Flush", "Failed cache flushes", kind=_COUNTER)]
    corruption_errors: Annotated[int, Metric("Corrupt", "Blocks with a wrong checksum", kind=_COUNTER)]
    generation_errors: Annotated[int, Metric("Stale", "Blocks of an older generation", kind=_COUNTER)]
    told: Annotated[str | None, Fact("Source", "Output that shows it", export=False, names=Name.EVIDENCE)] = None
    needle: Annotated[str, Fact("Line", "Marks it in the output", export=False, names=Name.EVIDENCE)] = ""

    def source(self, field: str = "") -> Source | None:
        """Return the file of the counters, or the line of an output."""
        del field
        if self.told is not None:
            return Source(self.told, self.needle)
        return Source(f"{BTRFS}/{self.filesystem}/devinfo/{self.number}/error_stats")

    @property
    def subject(self) -> str:
        """Kernel name of the device, or the UUID and the number."""
        return self.device or f"{self.filesystem}/{self.number}"

    @property
    def total(self) -> int:
        """All errors."""
        return (
            self.write_errors + self.read_errors + self.flush_errors + self.corruption_errors + self.generation_errors
        )


class Quotas(Reading, frozen=True, kw_only=True):
    """Quotas of one kind of a file system, from quotactl(2) or the output of repquota.

    A quota is exhausted at its hard limit, and above its soft limit when its time of grace is over.
    """

    family: ClassVar[str] = "quotas"
    title: ClassVar[str] = "Quotas"
    rows_of = Source("{told}", "{needle}")
    things: ClassVar = {
        "mount": Identity(ThingKind.MOUNT, Naming.MOUNT, "{point}"),
        "device": Identity(None, Naming.LINK, "{device:dev}"),
    }
    joins = (Join("mount", "device", Relation.STORED),)

    device: Annotated[str, Label("Device", "Path of the device of the file system", names=Name.DEVICE)]
    kind: Annotated[str, Label("Kind", "user, group or project", plain=True)]
    point: Annotated[str | None, Fact("Mount point", "Directory, if known", names=Name.PATH)] = None
    limited: Annotated[int | None, Metric("Limited", "Users, groups or projects with a limit")] = None
    exhausted: Annotated[int, Metric("Exhausted", "Quotas whose owners cannot write any more")] = 0
    near: Annotated[int, Metric("Nearly", "Quotas above 95% of their hard limit, exhausted ones included")] = 0
    fullest: Annotated[
        str | None, Fact("Fullest", "Number or name of the one that has used the most", names=Name.IDENTIFIER)
    ] = None
    share: Annotated[float | None, Metric("Used", "Share of its limit that the fullest one has used", "ratio")] = None
    cut: Annotated[bool, Fact("Cut", "Whether there are more than were queried", export=False)] = False
    told: Annotated[str, Fact("Evidence", "Key of the evidence", export=False, names=Name.EVIDENCE)]
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""

    @property
    def subject(self) -> str:
        """Mount point, or the device."""
        return self.point or self.device


RECORDS = "/var/lib/btrfs"


class BtrfsScrub(Reading, frozen=True):
    """Last scrub of a mounted btrfs, from the record of btrfs-progs (cmds/scrub.c: scrub_write_file).

    `state`: finished, canceled, running (or interrupted by a crash), never (no record), unknown. `ended` is the end of
    the device that ended first.
    """

    family: ClassVar[str] = "btrfs_scrub"
    title: ClassVar[str] = "Scrubs of btrfs"
    rows_of = (
        Source("{told}", "{filesystem}"),
        Source(f"{RECORDS}/scrub.status.{{filesystem}}"),
        Source(f"list:{RECORDS}"),
    )
    things: ClassVar = {"device": Identity(None, Naming.DEV)}

    filesystem: Annotated[str, Label("File system", "UUID", names=Name.IDENTIFIER)]
    device: Annotated[str | None, Fact("Device", "Kernel name of its first device", names=Name.DEVICE)]
    state: Annotated[str, State("State", "Last scrub: finished, canceled, running, never, unknown")]
    ended: Annotated[
        int | None,
        Metric(
            "Ended",
            "Unix timestamp of the end of the last scrub",
            "seconds",
            name="sdstop_btrfs_scrub_end_timestamp_seconds",
        ),
    ] = None
    corrected: Annotated[
        int | None, Metric("Corrected", "Errors that the last scrub repaired from another copy", export=False)
    ] = None
    uncorrectable: Annotated[
        int | None, Metric("Uncorrectable", "Errors that the last scrub could not repair; absent if unknown")
    ] = None
    told: Annotated[str | None, Fact("Source", "Text that shows it", export=False, names=Name.EVIDENCE)] = None

    @property
    def name(self) -> str:
        """Kernel name of its first device, or the UUID."""
        return self.device or self.filesystem


class BtrfsSpace(Reading, frozen=True, kw_only=True):
    """Space of a btrfs in chunks of data and metadata, from sysfs (fs/btrfs/sysfs.c, Linux 3.14) or btrfs-progs.

    Sizes are as files see them, without copies, but for `unallocated`. `room` is the unallocated space on each of the
    devices of a chunk of metadata: the second largest for raid1. The reserve is a part of the metadata in use.
    """

    family: ClassVar[str] = "btrfs_space"
    title: ClassVar[str] = "Space of btrfs"
    rows_of = (Source("{told}", "{needle}"), Source(f"{BTRFS}/{{filesystem}}/allocation/metadata/bytes_used"))
    things: ClassVar = {"device": Identity(None, Naming.DEV)}

    filesystem: Annotated[str, Label("File system", "UUID, or mount point in an output", names=Name.IDENTIFIER)]
    device: Annotated[str | None, Fact("Device", "Kernel name of its first device", names=Name.DEVICE)] = None
    size: Annotated[int | None, Metric("Size", "Size of all devices", "bytes", setting=True)] = None
    unallocated: Annotated[int | None, Metric("Unallocated", "Space of the devices outside of chunks", "bytes")] = None
    room: Annotated[
        int | None,
        Metric("Room", "Unallocated space on each device of a chunk of metadata", "bytes", export=False),
    ] = None
    data: Annotated[int | None, Metric("Data", "Size of the chunks of data", "bytes")] = None
    data_used: Annotated[int | None, Metric("Data used", "Space in use in them", "bytes")] = None
    metadata: Annotated[int | None, Metric("Metadata", "Size of the chunks of metadata", "bytes")] = None
    metadata_used: Annotated[int | None, Metric("Metadata used", "Space in use in them", "bytes")] = None
    reserve: Annotated[
        int | None, Metric("Reserve", "Global reserve, for deletions on a full file system", "bytes", export=False)
    ] = None
    reserve_used: Annotated[int | None, Metric("Reserve used", "Part of the reserve in use", "bytes", export=False)] = (
        None
    )
    copies: Annotated[int | None, Metric("Copies", "Copies of metadata on one device: 2 for DUP", export=False)] = None
    told: Annotated[str | None, Fact("Source", "Output that shows it", export=False, names=Name.EVIDENCE)] = None
    needle: Annotated[str, Fact("Line", "Marks it in the output", export=False, names=Name.EVIDENCE)] = ""

    @property
    def name(self) -> str:
        """Kernel name of its first device, or UUID or mount point."""
        return self.device or self.filesystem


MOUNTSTATS = "/proc/self/mountstats"
NFS_KINDS = ("read", "write", "commit", "name", "long")
"""Kinds of NFS requests: `name` are about names, attributes and locks; `long` may take seconds when all is well."""


class NfsMount(Reading, frozen=True, kw_only=True):
    """A mounted NFS file system and its connection, from /proc/self/mountstats (fs/nfs/super.c: nfs_show_stats).

    Mounts of one superblock have the same counters, and only the first one has a row. `sends` and `backlog` are sums
    over the connections of `nconnect`; `backlog` grows with each request sent by the number of those that then wait for
    a slot (net/sunrpc/xprt.c: xprt_request_transmit).
    """

    family: ClassVar[str] = "nfs_mount"
    title: ClassVar[str] = "NFS mounts"
    rows_of = Source(MOUNTSTATS, " mounted on {point} ")
    things: ClassVar = {
        "mount": Identity(ThingKind.MOUNT, Naming.MOUNT, "{point}"),
        "server": Identity(ThingKind.PEER, Naming.ADDRESS),
    }
    joins = (Join("mount", "server", Relation.SERVED),)

    point: Annotated[str, Label("Mount point", "Directory", names=Name.PATH)]
    server: Annotated[str | None, Fact("Server", "Host that serves it", names=Name.HOST)] = None
    export: Annotated[str | None, Fact("Export", "Directory of the server", names=Name.PATH)] = None
    transport: Annotated[str | None, Fact("Transport", "tcp, udp or rdma", plain=True)] = None
    gives_up: Annotated[
        str | None, Fact("Without answer", "hard: requests wait; soft, softerr: they fail", plain=True)
    ] = None
    timeout: Annotated[
        float | None,
        Metric("Timeout", "Time without an answer before a request is sent again (timeo)", "seconds", setting=True),
    ] = None
    age: Annotated[int | None, Metric("Age", "Time since the mount", "seconds", export=False)] = None
    sends: Annotated[int | None, Metric("Sent", "Requests sent", kind=_COUNTER, detail=True)] = None
    backlog: Annotated[
        int | None,
        Metric("Backlog", "Requests waiting for a slot, summed over requests sent", kind=_COUNTER, detail=True),
    ] = None


class NfsRequests(Reading, frozen=True):
    """Answered requests of one kind of an NFS mount, since the mount (net/sunrpc/stats.c: rpc_count_iostats_metrics).

    A request counts when it ends, so those without an answer are in no counter. `timeouts` are major ones: after them
    the kernel logs that the server does not respond. Times are in milliseconds: `queue` from the call to the
    sending, `answer` from there to the answer, and `execution` is all of it.
    """

    family: ClassVar[str] = "nfs_requests"
    title: ClassVar[str] = "Requests of NFS mounts"
    rows_of = Source(MOUNTSTATS, " mounted on {point} ")
    things: ClassVar = {"mount": Identity(ThingKind.MOUNT, Naming.MOUNT, "{point}")}

    point: Annotated[str, Label("Mount point", "Directory", names=Name.PATH)]
    kind: Annotated[str, Label("Kind", "read, write, commit, name or long", plain=True)]
    completed: Annotated[int, Metric("Completed", "Requests that ended", kind=_COUNTER)]
    sent: Annotated[int, Metric("Sent", "Requests sent, each repetition included", kind=_COUNTER, detail=True)]
    timeouts: Annotated[int, Metric("Timeouts", "Major timeouts of requests", kind=_COUNTER)]
    bytes: Annotated[int, Metric("Bytes", "Bytes sent and received", "bytes", _COUNTER, detail=True)]
    queue: Annotated[
        int, Metric("Queued", "Total time before requests were sent", "seconds", _COUNTER, 0.001, detail=True)
    ]
    answer: Annotated[int, Metric("Answered in", "Total time from sending to the answer", "seconds", _COUNTER, 0.001)]
    execution: Annotated[int, Metric("Took", "Total time of requests", "seconds", _COUNTER, 0.001)]
    errors: Annotated[int | None, Metric("Errors", "Requests that ended with an error", kind=_COUNTER, detail=True)] = (
        None
    )


class NfsReport(Reading, frozen=True, kw_only=True):
    """Reads or writes of an NFS mount in one report of nfsiostat: the mean since the mount, or that of an interval."""

    family: ClassVar[str] = "nfs_report"
    title: ClassVar[str] = "NFS mounts as nfsiostat shows them"
    rows_of = (Source("{told}", " mounted on {point}:"), Source("{told}"))
    things: ClassVar = {"mount": Identity(ThingKind.MOUNT, Naming.MOUNT, "{point}")}

    point: Annotated[str, Label("Mount point", "Directory", names=Name.PATH)]
    kind: Annotated[str, Label("Kind", "read or write", plain=True)]
    since: Annotated[str, Label("Span", "mount: since the mount; interval: the last interval", plain=True)]
    rate: Annotated[float, Metric("Rate", "Requests", "per_second", export=False)]
    again: Annotated[int, Metric("Sent again", "Requests sent again", export=False)]
    share: Annotated[float, Metric("Share", "Share of requests sent again", "ratio", export=False)]
    answer: Annotated[float, Metric("Answered in", "Mean time from sending to the answer", "seconds", export=False)]
    execution: Annotated[float, Metric("Took", "Mean time of a request", "seconds", export=False)]
    size: Annotated[float, Metric("Size", "Mean size of a request", "bytes", export=False)]
    told: Annotated[str, Fact("Evidence", "Key of the evidence", export=False, names=Name.EVIDENCE)]


class FilesystemCheck(Reading, frozen=True, kw_only=True):
    """A check of a file system by e2fsck or xfs_repair, as its output shows it.

    `state`: clean (checked in whole, no error), errors (left in place), repaired, flag (marked clean, not checked),
    mounted or dirty log (errors can be those of writes in flight), not opened, unknown (cut off, or not understood).
    """

    family: ClassVar[str] = "filesystem_check"
    title: ClassVar[str] = "Checks of file systems"
    rows_of = (Source("{told}", "{needle}"), Source("{told}"))
    things: ClassVar = {"device": Identity(None, Naming.LINK, "{device:dev}")}

    device: Annotated[str, Label("Device", "Path of the device", names=Name.DEVICE)]
    tool: Annotated[str, Fact("Tool", "e2fsck or xfs_repair", plain=True)]
    state: Annotated[
        str, State("State", "Check: clean, errors, repaired, flag, mounted, dirty log, not opened, unknown")
    ]
    problems: Annotated[int, Metric("Problems", "Problems that were printed and left", export=False)] = 0
    told: Annotated[str, Fact("Evidence", "Key of the evidence", export=False, names=Name.EVIDENCE)]
    needle: Annotated[str, Fact("Line", "Marks it in the output", export=False, names=Name.EVIDENCE)] = ""
