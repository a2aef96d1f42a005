"""Readings of ZFS pools and vdevs, and the names that ZFS gives them."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from msgspec import Struct

from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.joins import GroupKind, Identity, Join, Naming, Peers, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, State

KSTATS = "/proc/spl/kstat/zfs"
PARAMETERS = "/sys/module/zfs/parameters"

_STATISTICS = """
abdstats arcstats brtstats chksum_bench dbgmsg dbufs dbufstats ddt_cache ddt_stats dmu_tx dnodestats fletcher_4_bench
fm import_progress metaslab_stats qat vdev_cache_stats vdev_mirror_stats vdev_queue_stats vdev_raidz_bench xuio_stats
zfetchstats zil zstd
"""
NO_POOLS = frozenset(_STATISTICS.split())
"""Entries of KSTATS that are ZFS's own statistics; all others are imported pools."""

_COUNTER = Kind.COUNTER
IOSTAT = ("zpool", "iostat", "-v", "-H", "-p", "-l", "-q")

_LAYOUT = expression(r"mirror(?=-)|raidz[123](?=-)|draid[123](?=:)", re.ASCII)
_DRAID = expression(r"draid([123]):(\d{1,3})d:(\d{1,3})c:(\d{1,3})s(?::\d{1,3}w)?-(\d{1,5})", re.ASCII)


class Draid(Struct, frozen=True):
    """Layout encoded in a dRAID name: parity, data disks per group, children, distributed spares, vdev number."""

    parity: int
    data: int
    children: int
    spares: int
    number: int


def draid(name: str) -> Draid | None:
    """Parse `draid2:8d:60c:2s-0` (module/zcommon/zfs_comutil.c); return None for any other name."""
    found = _DRAID.fullmatch(name)
    return Draid(*(int(part) for part in found.groups())) if found else None


class PoolState(Reading, frozen=True):
    """State of an imported pool, exposed by the kernel without accessing the pool.

    Available even if the pool is suspended and all commands for it hang (module/zfs/spa_stats.c, since 0.8).
    """

    family: ClassVar[str] = "zpool"
    title: ClassVar[str] = "States of ZFS pools"
    joined: ClassVar[bool] = True  # a capture may have zpool output without the kernel's files
    rows_of = (Source("{where}", " state: {state}"), Source(f"{KSTATS}/{{pool}}/state"))
    things: ClassVar = {
        "pool": Identity(ThingKind.POOL, Naming.ZFS, aliases=(("{pool}", Naming.VDEV),)),
    }

    pool: Annotated[str, Label("Pool", "Name of the pool", names=Name.VOLUME)]
    state: Annotated[
        str, State("State", "State of the pool: ONLINE, DEGRADED, FAULTED, SUSPENDED, UNAVAIL, REMOVED, OFFLINE")
    ]
    where: Annotated[
        str, Fact("Where", "Command that reported it, if not the kernel", export=False, names=Name.EVIDENCE)
    ] = ""


class Pool(Reading, frozen=True, kw_only=True):
    """A ZFS pool, from `zpool status` and `zpool list`.

    Sizes are vdev sizes including parity, as in `zpool list`. `status` is the first sentence of the problem that ZFS
    reports, None if there is none; `last_scan` is the last scrub or resilver that ended.
    """

    family: ClassVar[str] = "pool"
    title: ClassVar[str] = "ZFS pools"
    rows_of = Source("{where}", "{pool}")
    fields_of: ClassVar = {
        "state": Source("{where}", " state: {state}"),
        "errors": Source("{where}", "errors:"),
        "status": Source("{where}", "status:"),
        "last_scan": Source("{where}", "scan:"),
        "checkpoint": Source("{where}", "checkpoint:"),
    }
    things: ClassVar = {
        "pool": Identity(ThingKind.POOL, Naming.ZFS, aliases=(("{pool}", Naming.VDEV),)),
    }

    pool: Annotated[str, Label("Pool", "Name of the pool", names=Name.VOLUME)]
    state: Annotated[
        str, State("State", "State of the pool: ONLINE, DEGRADED, FAULTED, SUSPENDED, UNAVAIL", export=False)
    ]
    size: Annotated[int | None, Metric("Size", "Total size of the pool's vdevs", "bytes", setting=True)] = None
    allocated: Annotated[int | None, Metric("Allocated", "Used capacity of the pool", "bytes")] = None
    free: Annotated[int | None, Metric("Free", "Free capacity of the pool", "bytes")] = None
    fragmentation: Annotated[float | None, Metric("Fragmented", "Fragmentation of the free space", "ratio")] = None
    data_errors: Annotated[int | None, Metric("Data errors", "Lost blocks or files, without an intact copy")] = None
    status: Annotated[str | None, Fact("Status", "Problem as ZFS reports it", export=False, plain=True)] = None
    errors: Annotated[str | None, Fact("Errors", "Lost data as ZFS reports it", export=False, names=Name.TEXT)] = None
    last_scan: Annotated[
        str | None, Fact("Last scan", "The last scrub or resilver that ended", export=False, plain=True)
    ] = None
    scan_errors: Annotated[
        int | None, Metric("Scan errors", "Unrepaired errors of the last scrub or resilver", export=False)
    ] = None
    scan: Annotated[
        str | None,
        Fact("Scan", "Last scrub or resilver: running, paused, finished, canceled", export=False, plain=True),
    ] = None
    scrubbed_at: Annotated[
        int | None,
        Metric(
            "Scrubbed at",
            "Unix timestamp of the last complete scrub; absent if a later scan hides it",
            "seconds",
            name="sdstop_pool_scrub_end_timestamp_seconds",
        ),
    ] = None
    where: Annotated[str, Fact("Where", "Evidence that it was read from", export=False, names=Name.EVIDENCE)] = ""

    @property
    def used(self) -> float | None:
        """Share of the size in use, 0..1."""
        return self.allocated / self.size if self.allocated is not None and self.size else None

    checkpoint: Annotated[
        int | None, Metric("Checkpoint", "Space that the checkpoint of the pool holds", "bytes", export=False)
    ] = None
    checkpointed: Annotated[
        int | None, Metric("Checkpointed", "Unix time of the checkpoint", "seconds", export=False)
    ] = None


class Vdev(Reading, frozen=True, kw_only=True):
    """A vdev: inner, leaf, log, cache, special, dedup or spare.

    Error counters start at the import of the pool or at the last clear. A leaf's `device` is the kernel name of a disk
    or partition; None if the path cannot be resolved, and for distributed spares, which span all disks.
    """

    family: ClassVar[str] = "pool_vdev"
    title: ClassVar[str] = "Vdevs of ZFS pools"
    rows_of = Source("{where}", "{line}")
    things: ClassVar = {
        "vdev": Identity(
            Stated("kind", dict.fromkeys(("disk", "file", "draid-spare"), ThingKind.DEVICE), ThingKind.GROUP),
            Naming.VDEV,
            "{pool}/{vdev}",
            aliases=(("{pool}/{short}", Naming.VDEV),),
        ),
        "parent": Identity(ThingKind.GROUP, Naming.VDEV, "{pool}/{parent}"),
        "pool": Identity(ThingKind.POOL, Naming.VDEV),
        "device": Identity(ThingKind.DEVICE, Naming.DEV),
    }
    joins = (
        Join(
            "parent|pool",
            "vdev",
            Stated("group", {"cache": Relation.CACHED, "logs": Relation.CACHED, "spares": None}, Relation.MEMBER),
        ),
        Join("vdev", "device", Relation.STORED),
    )
    peers = (
        Peers(
            kind=GroupKind.LEAVES,
            upper="pool",
            member="device|vdev",
            by=("group", "layout"),
            only=Stated("serves", {"True": True}),
            order="place",
        ),
    )
    traits: ClassVar = {"layout": "layout", "slots": "slots", "parity": "parity", "balanced": "balanced"}

    pool: Annotated[str, Label("Pool", "Name of the pool", names=Name.VOLUME)]
    vdev: Annotated[
        str,
        Label(
            "Vdev", "raidz2-0, draid2:8d:60c:2s-0/spare-3, a leaf's name; spares/NAME for a spare", names=Name.DEVICE
        ),
    ]
    state: Annotated[
        str, State("State", "State of the vdev: ONLINE, DEGRADED, FAULTED, OFFLINE, UNAVAIL, REMOVED, AVAIL, INUSE")
    ]
    kind: Annotated[
        str, Fact("Kind", "disk, file, mirror, raidz1, draid2, draid-spare, spare, replacing ...", plain=True)
    ]
    group: Annotated[str, Fact("Group", "data, logs, cache, special, dedup, spares", plain=True)]
    parent: Annotated[str | None, Fact("In", "Parent vdev", names=Name.DEVICE)] = None
    device: Annotated[str | None, Fact("Device", "Kernel name of the device, of leaves", names=Name.DEVICE)] = None
    read_errors: Annotated[int | None, Metric("Read", "Read errors of the vdev", kind=_COUNTER)] = None
    write_errors: Annotated[int | None, Metric("Write", "Write errors of the vdev", kind=_COUNTER)] = None
    checksum_errors: Annotated[int | None, Metric("Checksum", "Checksum errors of the vdev", kind=_COUNTER)] = None
    slow_ios: Annotated[int | None, Metric("Slow", "I/Os slower than zio_slow_io_ms (30 s)", kind=_COUNTER)] = None
    note: Annotated[
        str | None,
        Fact("Note", "What zpool status adds: too many errors, was /dev/sdx1", export=False, names=Name.PATHS),
    ] = None
    path: Annotated[
        str | None, Fact("Path", "Device path of the leaf, as known to the pool", export=False, names=Name.PATH)
    ] = None
    place: Annotated[int, Metric("Place", "Line of the tree", export=False)] = 0
    depth: Annotated[int, Metric("Depth", "Number of vdevs above it", export=False)] = 0
    leaf: Annotated[int, Metric("Leaf", "Whether the vdev is a device", export=False)] = 0
    where: Annotated[str, Fact("Where", "Evidence that it was read from", export=False, names=Name.EVIDENCE)] = ""
    line: Annotated[str, Fact("Line", "Its line there", export=False, names=Name.EVIDENCE)] = ""

    @property
    def short(self) -> str:
        """The name without the names of its parents."""
        return self.vdev.rpartition("/")[2]

    @property
    def layout(self) -> str:
        """Layout of its top-level vdev, by its name: mirror, raidz2, draid3; stripe for a single device."""
        found = _LAYOUT.match((self.parent or self.vdev).removeprefix(f"{self.group}/"))
        return found[0] if found else "stripe"

    @property
    def slots(self) -> int | None:
        """Children of a dRAID; the names of other layouts do not state them."""
        known = draid((self.parent or self.vdev).partition("/")[0])
        return known.children if known is not None else None

    @property
    def parity(self) -> int:
        """Maximum number of further devices that each write uses; small blocks of raidz use fewer devices."""
        return int(self.layout[-1]) if self.layout[-1].isdecimal() else 0

    @property
    def balanced(self) -> bool | None:
        """True for mirrors: reads go to the least loaded child (module/zfs/vdev_mirror.c)."""
        return True if self.layout == "mirror" else None

    @property
    def serves(self) -> bool:
        """Whether it is a device in use, with all its data."""
        inner = (self.parent or "").rpartition("/")[2].startswith("replacing")
        return bool(self.leaf) and self.kind != "draid-spare" and self.state == "ONLINE" and not inner

    @property
    def errors(self) -> int | None:
        """Sum of all errors, None if they are unknown."""
        known = [n for n in (self.read_errors, self.write_errors, self.checksum_errors) if n is not None]
        return sum(known) if known else None


class VdevLoad(Reading, frozen=True, kw_only=True):
    """Current queue depths of a vdev, and its mean I/O latencies since the import.

    From `zpool iostat -v -l -q`, which is not indented, in its order. A queue depth is the sum of pending and active
    I/Os. Waits are in nanoseconds, exported as seconds; None if there never was such an I/O.
    """

    family: ClassVar[str] = "pool_vdev_load"
    title: ClassVar[str] = "Queues of ZFS vdevs"
    rows_of = Source(command_key(IOSTAT), "{vdev}\t")
    things: ClassVar = {
        "vdev": Identity(None, Naming.VDEV, "{pool}/{vdev}"),
    }

    pool: Annotated[str, Label("Pool", "Name of the pool", names=Name.VOLUME)]
    vdev: Annotated[str, Label("Vdev", "The pool itself, or a vdev as zpool iostat calls it", names=Name.DEVICE)]
    read_wait: Annotated[
        int | None, Metric("Read wait", "Mean read latency since the import, including queueing", "seconds", scale=1e-9)
    ]
    write_wait: Annotated[
        int | None,
        Metric("Write wait", "Mean write latency since the import, including queueing", "seconds", scale=1e-9),
    ]
    disk_read_wait: Annotated[
        int | None, Metric("Disk read", "Mean disk latency since the import, without queueing", "seconds", scale=1e-9)
    ]
    disk_write_wait: Annotated[
        int | None, Metric("Disk write", "Mean disk latency since the import, without queueing", "seconds", scale=1e-9)
    ]
    sync_reads: Annotated[int | None, Metric("Sync reads", "Queued synchronous reads", detail=True)]
    sync_writes: Annotated[int | None, Metric("Sync writes", "Queued synchronous writes")]
    async_reads: Annotated[int | None, Metric("Async reads", "Queued asynchronous reads (prefetch)", detail=True)]
    async_writes: Annotated[int | None, Metric("Async writes", "Queued asynchronous writes (transaction groups)")]
    scrubs: Annotated[int | None, Metric("Scrubs", "Queued scrub and resilver reads")]
    rebuilds: Annotated[int | None, Metric("Rebuilds", "Queued sequential rebuild I/Os (since 2.2)")]


class PoolSettings(Reading, frozen=True, kw_only=True):
    """Settings of a pool: `failmode` is wait, continue or panic (zpoolprops(7))."""

    family: ClassVar[str] = "pool_settings"
    title: ClassVar[str] = "ZFS pool settings"
    rows_of = Source("{where}", "{pool}")
    things: ClassVar = {"pool": Identity(ThingKind.POOL, Naming.ZFS)}

    pool: Annotated[str, Label("Pool", "Name of the pool", names=Name.VOLUME)]
    failmode: Annotated[
        str | None, Fact("On failure", "Requests when the pool fails: wait, continue (with errors), panic", plain=True)
    ]
    where: Annotated[str, Fact("Where", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
