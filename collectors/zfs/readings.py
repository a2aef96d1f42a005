"""Readings of ZFS pools, vdevs and datasets (counters and settings), produced by collectors/zfs/*.py."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import Struct

from sdstop.core.evidence import command_key
from sdstop.core.joins import GroupKind, Identity, Join, Naming, Peers, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, Sources, State, Unplaced, files

KSTATS = "/proc/spl/kstat/zfs"
PARAMETERS = "/sys/module/zfs/parameters"

_STATISTICS = """
abdstats arcstats brtstats chksum_bench dbgmsg dbufs dbufstats ddt_cache ddt_stats dmu_tx dnodestats fletcher_4_bench
fm import_progress metaslab_stats qat vdev_cache_stats vdev_mirror_stats vdev_queue_stats vdev_raidz_bench xuio_stats
zfetchstats zil zstd
"""
NO_POOLS = frozenset(_STATISTICS.split())
"""Entries of KSTATS that are ZFS's own statistics; all others are imported pools."""

IOSTAT = ("zpool", "iostat", "-v", "-H", "-p", "-l", "-q")

_COUNTER = Kind.COUNTER
_LAYOUT = re.compile(r"mirror(?=-)|raidz[123](?=-)|draid[123](?=:)", re.ASCII)
_DRAID = re.compile(r"draid([123]):(\d{1,3})d:(\d{1,3})c:(\d{1,3})s(?::\d{1,3}w)?-(\d{1,5})", re.ASCII)


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


def kstat_lines(key: str, names: Mapping[str, str]) -> dict[str, Sources]:
    """Return the sources of fields read from kstat lines (module/os/linux/spl/spl-kstat.c: name, type, value)."""
    return {field: Source(key, f"{name:<31} 4    {{{field}}}") for field, name in names.items()}


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
    }
    things: ClassVar = {
        "pool": Identity(ThingKind.POOL, Naming.ZFS, aliases=(("{pool}", Naming.VDEV),)),
    }

    pool: Annotated[str, Label("Pool", "Name of the pool", names=Name.VOLUME)]
    state: Annotated[
        str, State("State", "State of the pool: ONLINE, DEGRADED, FAULTED, SUSPENDED, UNAVAIL", export=False)
    ]
    size: Annotated[int | None, Metric("Size", "Total size of the pool's vdevs", "bytes")] = None
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
    where: Annotated[str, Fact("Where", "Evidence that it was read from", export=False, names=Name.EVIDENCE)] = ""

    @property
    def used(self) -> float | None:
        """Share of the size in use, 0..1."""
        return self.allocated / self.size if self.allocated is not None and self.size else None


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


_KSTAT = {
    "reads": "reads", "writes": "writes", "read_bytes": "nread", "written_bytes": "nwritten",
    "commits": "zil_commit_count", "log_bytes": "zil_itx_metaslab_normal_bytes",
    "slog_bytes": "zil_itx_metaslab_slog_bytes",
}  # fmt: skip


class Dataset(Reading, frozen=True):
    """I/O counters of a file system or volume since the import of its pool (spl kstat objset-0x*).

    The `zil_*` values are available since OpenZFS 2.2. Written bytes are counted as the applications wrote them.
    """

    family: ClassVar[str] = "dataset"
    title: ClassVar[str] = "ZFS datasets"
    rows_of = Source("{where}")
    fields_of = kstat_lines("{where}", _KSTAT)
    things: ClassVar = {
        "dataset": Identity(None, Naming.ZFS),
        "pool": Identity(ThingKind.POOL, Naming.ZFS),
    }
    joins = (Join("dataset", "pool", Relation.PART),)

    pool: Annotated[str, Label("Pool", "Name of the pool", names=Name.VOLUME)]
    dataset: Annotated[str, Label("Dataset", "Name of the file system or volume", names=Name.VOLUME)]
    reads: Annotated[int | None, Metric("Reads", "Read requests", kind=_COUNTER)] = None
    writes: Annotated[int | None, Metric("Writes", "Write requests", kind=_COUNTER)] = None
    read_bytes: Annotated[int | None, Metric("Read", "Bytes read", "bytes", kind=_COUNTER)] = None
    written_bytes: Annotated[int | None, Metric("Written", "Bytes written", "bytes", kind=_COUNTER)] = None
    commits: Annotated[int | None, Metric("Commits", "Intent-log commits", kind=_COUNTER)] = None
    log_bytes: Annotated[
        int | None, Metric("Logged", "Intent-log bytes written to the pool's own disks", "bytes", kind=_COUNTER)
    ] = None
    slog_bytes: Annotated[
        int | None, Metric("Logged apart", "Intent-log bytes written to log devices", "bytes", kind=_COUNTER)
    ] = None
    where: Annotated[str, Fact("Where", "Evidence that it was read from", export=False, names=Name.EVIDENCE)] = ""


class DatasetActivity(Reading, frozen=True):
    """I/O rates of a dataset between two samples, per second."""

    family: ClassVar[str] = "dataset_activity"
    title: ClassVar[str] = "Activity of ZFS datasets"
    exported: ClassVar[bool] = False  # Prometheus computes rates from the counters
    rows_of = Unplaced("it follows from two readings of a dataset")
    things: ClassVar = {
        "dataset": Identity(None, Naming.ZFS),
    }

    pool: Annotated[str, Label("Pool", "Name of the pool", names=Name.VOLUME)]
    dataset: Annotated[str, Label("Dataset", "Name of the file system or volume", names=Name.VOLUME)]
    reads: Annotated[float | None, Metric("Reads", "Reads", "per_second")]
    writes: Annotated[float | None, Metric("Writes", "Writes", "per_second")]
    read_bytes: Annotated[float | None, Metric("Read", "Bytes read", "bytes_per_second")]
    written_bytes: Annotated[float | None, Metric("Written", "Bytes written", "bytes_per_second")]
    commits: Annotated[float | None, Metric("Commits", "Intent-log commits", "per_second")]


def activity(before: Dataset, after: Dataset, seconds: float) -> DatasetActivity | None:
    """Return a dataset's I/O rates between two samples, None if a counter decreased (the pool was re-imported)."""
    found: dict[str, float | None] = {}
    for name in ("reads", "writes", "read_bytes", "written_bytes", "commits"):
        old, new = getattr(before, name), getattr(after, name)
        if old is not None and new is not None and new < old:
            return None
        found[name] = None if old is None or new is None else (new - old) / seconds
    return DatasetActivity(after.pool, after.dataset, **found)


_ZIL = {
    "commits": "zil_commit_count", "log_writes": "zil_itx_metaslab_normal_count",
    "log_bytes": "zil_itx_metaslab_normal_bytes", "slog_writes": "zil_itx_metaslab_slog_count",
    "slog_bytes": "zil_itx_metaslab_slog_bytes",
}  # fmt: skip


class IntentLog(Reading, frozen=True):
    """Counters of the ZFS intent log for all pools since the module was loaded (spl kstat zil); a single row.

    A commit makes an application wait until its write is on stable storage: fsync, O_SYNC, NFS, iSCSI.
    """

    family: ClassVar[str] = "zil"
    title: ClassVar[str] = "ZFS intent log"
    fields_of = kstat_lines(f"{KSTATS}/zil", _ZIL)
    rows_of = fields_of["commits"]

    log: Annotated[str, Label("Log", "zil", plain=True)]
    commits: Annotated[int | None, Metric("Commits", "Intent-log commits", kind=_COUNTER)]
    log_writes: Annotated[
        int | None, Metric("Log writes", "Intent-log records written to the pools' own disks", kind=_COUNTER)
    ]
    log_bytes: Annotated[int | None, Metric("Logged", "Intent-log bytes", "bytes", kind=_COUNTER)]
    slog_writes: Annotated[int | None, Metric("Apart", "Intent-log records written to log devices", kind=_COUNTER)]
    slog_bytes: Annotated[int | None, Metric("Logged apart", "Intent-log bytes", "bytes", kind=_COUNTER)]


_SET = ("sync", "logbias", "compression", "primarycache", "recordsize", "volblocksize", "volsize", "used")


class DatasetSettings(Reading, frozen=True, kw_only=True):
    """Performance-related settings of a dataset (`zfs get`); None for properties that do not apply."""

    family: ClassVar[str] = "dataset_settings"
    title: ClassVar[str] = "Settings of ZFS datasets"
    rows_of = Source("{where}", "{dataset}\t")
    fields_of: ClassVar = {
        "kind": Source("{where}", "{dataset}\ttype"),
        **{field: Source("{where}", f"{{dataset}}\t{field}") for field in _SET},
    }
    things: ClassVar = {
        "dataset": Identity(
            Stated("kind", {"filesystem": ThingKind.FILESYSTEM}, ThingKind.VOLUME),
            Naming.ZFS,
            aliases=(("{device}", Naming.DEV), ("zvol/{dataset}", Naming.LINK)),
        ),
        "pool": Identity(ThingKind.POOL, Naming.ZFS),
    }
    joins = (Join("dataset", "pool", Relation.PART),)

    pool: Annotated[str, Label("Pool", "Name of the pool", names=Name.VOLUME)]
    dataset: Annotated[str, Label("Dataset", "Name of the file system or volume", names=Name.VOLUME)]
    kind: Annotated[str, Fact("Kind", "filesystem or volume", plain=True)]
    sync: Annotated[str | None, Fact("Sync", "standard, always, disabled", plain=True)] = None
    logbias: Annotated[str | None, Fact("Log bias", "latency or throughput", plain=True)] = None
    compression: Annotated[str | None, Fact("Compression", "Algorithm or off", plain=True)] = None
    primarycache: Annotated[str | None, Fact("Cached", "all, metadata, none", export=False, plain=True)] = None
    recordsize: Annotated[int | None, Metric("Record", "Record size of the file system", "bytes", exact=True)] = None
    volblocksize: Annotated[int | None, Metric("Block", "Block size of the volume", "bytes", exact=True)] = None
    volsize: Annotated[int | None, Metric("Size", "Size of a volume", "bytes")] = None
    used: Annotated[int | None, Metric("Used", "Space used, including children", "bytes")] = None
    device: Annotated[str | None, Fact("Device", "Kernel name of a volume's device, as zd16", names=Name.DEVICE)] = None
    where: Annotated[str, Fact("Where", "Evidence that it was read from", export=False, names=Name.EVIDENCE)] = ""


TUNABLES = {
    "resilver_min_time": "zfs_resilver_min_time_ms", "scrub_min_time": "zfs_scrub_min_time_ms",
    "scan_vdev_limit": "zfs_scan_vdev_limit", "scrub_max_active": "zfs_vdev_scrub_max_active",
    "rebuild_vdev_limit": "zfs_rebuild_vdev_limit", "rebuild_max_active": "zfs_vdev_rebuild_max_active",
    "scan_suspended": "zfs_scan_suspend_progress",
}  # fmt: skip
"""Module parameter names by field of Tuning."""


class Tuning(Reading, frozen=True):
    """Module parameters that throttle resilvers, scrubs and rebuilds of the whole node; a single row.

    Units are those of module/zfs/{dsl_scan,vdev_queue,vdev_rebuild}.c: bytes, counts or milliseconds.
    """

    family: ClassVar[str] = "zfs_tuning"
    title: ClassVar[str] = "ZFS resilver limits"
    rows_of = Source(f"{PARAMETERS}/{TUNABLES['resilver_min_time']}")
    fields_of = files(PARAMETERS, **TUNABLES) | dict.fromkeys(("module", "version"), Source("/sys/module/zfs/version"))

    module: Annotated[str, Label("Module", "zfs", plain=True)]
    version: Annotated[str | None, Fact("Version", "Version of the module", plain=True)]
    resilver_min_time: Annotated[
        int | None,
        Metric("Resilver time", "Minimum time per transaction group for a resilver", "seconds", scale=0.001),
    ]
    scrub_min_time: Annotated[
        int | None, Metric("Scrub time", "Minimum time per transaction group for a scrub", "seconds", scale=0.001)
    ]
    scan_vdev_limit: Annotated[
        int | None, Metric("In flight", "Maximum bytes in flight per disk for a resilver or scrub", "bytes")
    ]
    scrub_max_active: Annotated[int | None, Metric("At work", "Maximum concurrent resilver or scrub I/Os per disk")]
    rebuild_vdev_limit: Annotated[
        int | None, Metric("Rebuild in flight", "Maximum bytes in flight per disk for a sequential rebuild", "bytes")
    ]
    rebuild_max_active: Annotated[
        int | None, Metric("Rebuild at work", "Maximum concurrent sequential rebuild I/Os per disk")
    ]
    scan_suspended: Annotated[
        int | None, Metric("Suspended", "Whether scans are suspended (zfs_scan_suspend_progress)")
    ]


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
    sync_reads: Annotated[int | None, Metric("Sync reads", "Queued synchronous reads")]
    sync_writes: Annotated[int | None, Metric("Sync writes", "Queued synchronous writes")]
    async_reads: Annotated[int | None, Metric("Async reads", "Queued asynchronous reads (prefetch)")]
    async_writes: Annotated[int | None, Metric("Async writes", "Queued asynchronous writes (transaction groups)")]
    scrubs: Annotated[int | None, Metric("Scrubs", "Queued scrub and resilver reads")]
    rebuilds: Annotated[int | None, Metric("Rebuilds", "Queued sequential rebuild I/Os (since 2.2)")]
