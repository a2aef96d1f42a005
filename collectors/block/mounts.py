"""Mounted file systems with storage of this node or of a server below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sdstop.collectors.block.readings import MountPoint
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.retention import mount_table

MOUNTS = ("/proc/self/mounts", "/proc/mounts")
"""The same table; archives have one or the other."""
_MOST_OF_ONE = 16
"""Most mount points of one file system: container hosts have thousands of bind mounts of it."""
_COLUMNS = 3
"""Minimum columns of a line: device or server, mount point, and type."""
ACCESS = frozenset({"ro", "rw", "emergency_ro", "shutdown"})
_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "9p", "lustre", "beegfs"})


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
