"""Mounted file systems with storage of this node or of a server below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, ClassVar

from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Label, Name, Reading, Source
from sdstop.core.retention import mount_table
from sdstop.readings.device_names import unstable

MOUNTS = ("/proc/self/mounts", "/proc/mounts")
"""The same table; archives have one or the other."""
_MOST_OF_ONE = 16
"""Most mount points of one file system: container hosts have thousands of bind mounts of it."""
_COLUMNS = 3
"""Minimum columns of a line: device or server, mount point, and type."""
ACCESS = frozenset({"ro", "rw", "emergency_ro", "shutdown"})
_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "9p", "lustre", "beegfs"})


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
        "dataset": Identity(ThingKind.FILESYSTEM, Naming.ZFS),
        "server": Identity(ThingKind.PEER, Naming.ADDRESS),
    }
    joins = (
        Join("mount", "device|dataset", Relation.STORED),
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
    log: Annotated[
        str | None, Fact("Log", "Path of the device of an external log (XFS)", export=False, names=Name.DEVICE)
    ] = None
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""

    @property
    def kernel(self) -> str | None:
        """Kernel name of the device, if its path has it."""
        return self.device.removeprefix("/dev/") if self.device is not None and unstable(self.device) else None


def parse(text: str, origin: str) -> Iterator[MountPoint]:
    r"""Yield the mount points of /proc/mounts (proc_pid_mounts(5)); spaces are encoded as `\040`.

    /dev/mapper/vg0-home /home ext4 rw
    tank/data /tank/data zfs rw
    nas:/export /mnt nfs4 rw

    Captures of older versions have no options.
    """
    seen: Counter[str] = Counter()
    for line in text.splitlines():
        words = [word.replace("\\040", " ").replace("\\134", "\\") for word in line.split(" ")[:4]]
        if len(words) < _COLUMNS:
            continue
        source, point, filesystem = words[:3]
        options = words[3].split(",") if len(words) > 3 else []
        access = ",".join(word for word in options if word in ACCESS) or None
        seen[source] += 1
        if seen[source] > _MOST_OF_ONE:
            continue
        if source.startswith("/dev/"):
            log = next((word[7:] for word in options if word.startswith("logdev=")), None)
            yield MountPoint(point=point, filesystem=filesystem, device=source, access=access, log=log, origin=origin)
        elif filesystem == "zfs":
            yield MountPoint(point=point, filesystem=filesystem, dataset=source, access=access, origin=origin)
        elif filesystem in _REMOTE and (server := server_of(source)):
            yield MountPoint(point=point, filesystem=filesystem, server=server, access=access, origin=origin)


def server_of(source: str) -> str | None:
    """Return the host of `nas:/export`, `[fe80::1]:/export`, `//nas/share` or `nas1,nas2:/`; None without one."""
    if source.startswith("//"):
        return source[2:].partition("/")[0] or None
    host = source.partition(":/")[0] if ":/" in source else ""
    return host.partition(",")[0].strip("[]") or None


def read(host: Host) -> Iterator[MountPoint]:
    """Yield the mount points. Raises Absent if the table is not there, Malformed if it has none: a node has a root."""
    for key in MOUNTS:
        try:
            text = host.text(key)
        except Absent:
            if key == MOUNTS[-1]:
                raise
            continue
        if not any(len(line.split(" ")) >= _COLUMNS for line in text.splitlines()):
            raise Malformed(f"no mount point in {text[:40]!r}")
        yield from parse(text, key)
        return


MOUNTED = Collector(
    "mounts",
    "Mounted file systems and their devices",
    read,
    (MountPoint,),
    tuple(
        Need(key, "file systems, their devices, and whether they can be written", keep=mount_table, everyone=True)
        for key in MOUNTS
    ),
    SLOW,
)
