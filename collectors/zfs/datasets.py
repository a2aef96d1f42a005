"""Readings of ZFS datasets, of their settings and of ZFS's tuning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from sdstop.collectors.zfs.readings import KSTATS, PARAMETERS
from sdstop.core.joins import Identity, Join, Naming, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, Sources, Unplaced, files

_COUNTER = Kind.COUNTER


def kstat_lines(key: str, names: Mapping[str, str]) -> dict[str, Sources]:
    """Return the sources of fields read from kstat lines (module/os/linux/spl/spl-kstat.c: name, type, value)."""
    return {field: Source(key, f"{name:<31} 4    {{{field}}}") for field, name in names.items()}


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
    recordsize: Annotated[
        int | None, Metric("Record", "Record size of the file system", "bytes", exact=True, setting=True)
    ] = None
    volblocksize: Annotated[
        int | None, Metric("Block", "Block size of the volume", "bytes", exact=True, setting=True)
    ] = None
    volsize: Annotated[int | None, Metric("Size", "Size of a volume", "bytes", setting=True)] = None
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
        Metric(
            "Resilver time", "Minimum time per transaction group for a resilver", "seconds", scale=0.001, setting=True
        ),
    ]
    scrub_min_time: Annotated[
        int | None,
        Metric("Scrub time", "Minimum time per transaction group for a scrub", "seconds", scale=0.001, setting=True),
    ]
    scan_vdev_limit: Annotated[
        int | None,
        Metric("In flight", "Maximum bytes in flight per disk for a resilver or scrub", "bytes", setting=True),
    ]
    scrub_max_active: Annotated[
        int | None, Metric("At work", "Maximum concurrent resilver or scrub I/Os per disk", setting=True)
    ]
    rebuild_vdev_limit: Annotated[
        int | None,
        Metric("Rebuild in flight", "Maximum bytes in flight per disk for a sequential rebuild", "bytes", setting=True),
    ]
    rebuild_max_active: Annotated[
        int | None, Metric("Rebuild at work", "Maximum concurrent sequential rebuild I/Os per disk", setting=True)
    ]
    scan_suspended: Annotated[
        int | None, Metric("Suspended", "Whether scans are suspended (zfs_scan_suspend_progress)")
    ]
