"""Readings of mounted file systems: their space, points and entries of /etc/fstab."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State
from sdstop.readings.device_names import FSTAB, unstable


class FilesystemSpace(Reading, frozen=True, kw_only=True):
    """Space and inodes of a mounted file system, from statvfs (collectors/block/filesystems.py) or recorded df.

    `state` is known from a live node only: writable; read-only, as mounted; forced read-only: the kernel refuses writes
    although it is mounted for writing; shut down.
    """

    family: ClassVar[str] = "filesystem_space"
    title: ClassVar[str] = "Space of file systems"
    rows_of = Source("{told}", "{needle}")
    things: ClassVar = {
        "mount": Identity(ThingKind.MOUNT, Naming.MOUNT, "{point}"),
        "device": Identity(None, Naming.LINK, "{device:dev}"),
        "dataset": Identity(None, Naming.ZFS),
    }
    joins = (Join("mount", "device|dataset", Relation.STORED),)

    point: Annotated[str, Label("Mount point", "Directory", names=Name.PATH)]
    source_name: Annotated[str, Fact("Source", "Device, dataset or server", names=Name.DEVICE)]
    type: Annotated[str | None, Fact("Type", "ext4, xfs, zfs, nfs4 ...", plain=True)]
    size: Annotated[int | None, Metric("Size", "Size of the file system", "bytes", setting=True)]
    used: Annotated[int | None, Metric("Used", "Space in use", "bytes")]
    available: Annotated[
        int | None, Metric("Available", "Space that users can fill; 0 if the reserve is in use", "bytes")
    ]
    share: Annotated[float | None, Metric("Full", "Share of the space of users that is in use, rounded up", "ratio")]
    inodes: Annotated[int | None, Metric("Inodes", "Number of inodes", setting=True, detail=True)]
    inodes_used: Annotated[int | None, Metric("Inodes used", "Inodes in use", detail=True)]
    inodes_share: Annotated[float | None, Metric("Inodes full", "Share of the inodes that is in use", "ratio")]
    told: Annotated[str, Fact("Evidence", "Key of the evidence", export=False, names=Name.EVIDENCE)]
    state: Annotated[str | None, State("State", "State: writable, read-only, forced read-only, shut down")] = None
    hung: Annotated[float | None, Metric("Hung", "Time for which a query of it has not returned", "seconds")] = None
    unasked: Annotated[str | None, Fact("Not queried", "Reason why its space is unknown", export=False, plain=True)] = (
        None
    )
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""

    @property
    def dataset(self) -> str | None:
        """The dataset, if it is one of ZFS."""
        return self.source_name if self.type == "zfs" else None

    @property
    def device(self) -> str | None:
        """The device, if the file system is on one."""
        return self.source_name if self.source_name.startswith("/dev/") else None


class MountPoint(Reading, frozen=True, kw_only=True):
    """A mount point of a file system on a device, in a ZFS pool or on a server, from /proc/mounts.

    Bind mounts are mount points of the same file system. File systems without storage (proc, tmpfs) are left out.
    """

    family: ClassVar[str] = "mount_point"
    title: ClassVar[str] = "Mounted file systems"
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}", " {point} ")
    things: ClassVar = {
        "mount": Identity(ThingKind.MOUNT, Naming.MOUNT, "{point}"),
        "device": Identity(None, Naming.LINK, "{device:dev}", aliases=(("{kernel}", Naming.DEV),)),
        "log": Identity(None, Naming.LINK, "{log:dev}", aliases=(("{log_kernel}", Naming.DEV),)),
        "realtime": Identity(None, Naming.LINK, "{realtime:dev}", aliases=(("{realtime_kernel}", Naming.DEV),)),
        "more": Identity(None, Naming.DEV, many=True),
        "dataset": Identity(ThingKind.FILESYSTEM, Naming.ZFS),
        "server": Identity(ThingKind.PEER, Naming.ADDRESS),
    }
    joins = (
        Join("mount", "device|dataset", Relation.STORED),
        Join("mount", "log", Relation.STORED),
        Join("mount", "realtime", Relation.STORED),
        Join("mount", "more", Relation.STORED),
        Join("mount", "server", Relation.SERVED),
    )

    point: Annotated[str, Label("Mount point", "Directory", names=Name.PATH)]
    filesystem: Annotated[str, Fact("Type", "ext4, xfs, zfs, nfs4 ...", plain=True)]
    device: Annotated[str | None, Fact("Device", "Path of its device", names=Name.DEVICE)] = None
    dataset: Annotated[str | None, Fact("Dataset", "ZFS dataset", names=Name.VOLUME)] = None
    server: Annotated[str | None, Fact("Server", "Host that serves it", names=Name.HOST)] = None
    access: Annotated[
        str | None,
        Fact("Access", "rw, ro, and with some kernels emergency_ro or shutdown after an error", plain=True),
    ] = None
    unflushed: Annotated[
        int | None, Metric("Unflushed", "1 if it does not flush the caches of its disks (nobarrier)")
    ] = None
    log: Annotated[
        str | None,
        Fact("Log", "Path of the device of an external log (XFS) or journal (ext4)", export=False, names=Name.DEVICE),
    ] = None
    realtime: Annotated[
        str | None, Fact("Realtime", "Path of the device of file contents (XFS)", export=False, names=Name.DEVICE)
    ] = None
    more: Annotated[
        str | None,
        Fact("Further devices", "Kernel names of the other devices of a btrfs", export=False, names=Name.DEVICE),
    ] = None
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""

    @property
    def kernel(self) -> str | None:
        """Kernel name of the device, if its path has it."""
        return _kernel(self.device)

    @property
    def log_kernel(self) -> str | None:
        """Kernel name of the log device, if its path has it."""
        return _kernel(self.log)

    @property
    def realtime_kernel(self) -> str | None:
        """Kernel name of the realtime device, if its path has it."""
        return _kernel(self.realtime)


def _kernel(path: str | None) -> str | None:
    return path.removeprefix("/dev/") if path is not None and unstable(path) else None


class FstabEntry(Reading, frozen=True, kw_only=True):
    """A file system with storage in /etc/fstab, and whether the table of mounts has its mount point.

    `options` are those that matter for that: None if they were not recorded. `type` is that of the newest mount there:
    autofs until the first access, if it is mounted by then. `path` is None for a label, a UUID, a server or a data set.
    """

    family: ClassVar[str] = "fstab_entry"
    title: ClassVar[str] = "File systems in /etc/fstab"
    exported: ClassVar[bool] = False
    rows_of = Source(FSTAB, " {needle} ")
    things: ClassVar = {
        "mount": Identity(ThingKind.MOUNT, Naming.MOUNT, "{point}"),
    }

    point: Annotated[str, Label("Mount point", "Directory", names=Name.PATH)]
    filesystem: Annotated[str, Fact("Type", "ext4, xfs, zfs, nfs4 ...", plain=True)]
    path: Annotated[str | None, Fact("Path", "Path of its device, if it has that", names=Name.PATH)] = None
    options: Annotated[
        str | None, Fact("Options", "noauto, nofail, bind, ro, x-systemd.automount, if given", plain=True)
    ] = None
    mounted: Annotated[int | None, Metric("Mounted", "Whether the table of mounts has the mount point")] = None
    type: Annotated[str | None, Fact("Mounted as", "Type of the newest mount there", plain=True)] = None
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""
