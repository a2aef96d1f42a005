"""Mounted file systems with storage of this node or of a server below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.retention import mount_table
from sdstop.readings.disk import device_name

MOUNTS = ("/proc/self/mounts", "/proc/mounts")
"""The same table; archives have one or the other."""
_MOST_OF_ONE = 16
"""Most mount points of one file system: container hosts have thousands of bind mounts of it."""
_COLUMNS = 3
"""Minimum columns of a line: device or server, mount point, and type."""
ACCESS = frozenset({"ro", "rw", "emergency_ro", "shutdown"})
UNFLUSHED = frozenset({"nobarrier", "barrier=0"})
"""Options with which ext3, ext4, btrfs, f2fs, and XFS before Linux 4.19 do not flush the caches of disks."""
_WITH_JOURNAL = frozenset({"ext3", "ext4"})
EXT4, BTRFS = "/sys/fs/ext4", "/sys/fs/btrfs"
_THREAD = expression(r"jbd2/(?P<device>dm-\d{1,7}|[\w!]{1,40}(?:\.\w{1,10})?)\n?")
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
            log, realtime = (
                next((word.removeprefix(name) for word in options if word.startswith(name)), None)
                for name in ("logdev=", "rtdev=")
            )
            unflushed = None if UNFLUSHED.isdisjoint(options) else 1
            yield MountPoint(
                point=point, filesystem=filesystem, device=source, access=access, unflushed=unflushed, log=log,
                realtime=realtime, origin=origin,
            )  # fmt: skip
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
        rows = list(parse(text, key))
        kinds = {row.filesystem for row in rows}
        journals = _journals(host) if kinds & _WITH_JOURNAL else {}
        together = _together(host) if "btrfs" in kinds else {}
        for row in rows:
            name = _name(host, row.device) if row.device is not None and (journals or together) else None
            if name in journals and row.log is None:
                yield replace(row, log=journals[name])
            elif name in together:
                yield replace(row, more=",".join(other for other in together[name] if other != name))
            else:
                yield row
        return


def _journals(host: Host) -> dict[str, str]:
    """Return the journals of ext4 file systems on devices of their own: paths by kernel name of the file system.

    Their kernel thread is jbd2/DEVICE, that of an internal journal is jbd2/DEVICE-INODE (fs/jbd2/journal.c).
    """
    found = {}
    for name in host.names(EXT4):
        task = host.number(f"{EXT4}/{name}/journal_task")
        thread = host.maybe(f"/proc/{task}/comm") if task is not None else None
        journal = _THREAD.fullmatch(thread or "")
        if journal is not None:
            found[device_name(name)] = f"/dev/{device_name(journal['device'])}"
    return found


def _together(host: Host) -> dict[str, list[str]]:
    """Return the devices of each btrfs with several, by the kernel name of each of them."""
    found: dict[str, list[str]] = {}
    for uuid in host.names(BTRFS):
        devices = [device_name(name) for name in host.names(f"{BTRFS}/{uuid}/devices")]
        found |= dict.fromkeys(devices, devices) if len(devices) > 1 else {}
    return found


def _name(host: Host, path: str) -> str | None:
    """Return the kernel name of a device by its path: that of a mapping is in the link from /dev/mapper."""
    target = host.target(path) if path.startswith("/dev/mapper/") else None
    return target or path.removeprefix("/dev/")


MOUNTED = Collector(
    "mounts",
    "Mounted file systems and their devices",
    read,
    (MountPoint,),
    (
        *(
            Need(
                key,
                "file systems, their devices, and whether they can be written and flush caches",
                keep=mount_table,
                everyone=True,
            )
            for key in MOUNTS
        ),
        Need(f"list:{EXT4}", "mounted ext4 file systems, which may have a journal on a device of its own"),
        Need(f"{EXT4}/*/journal_task", "the process of the kernel that writes the journal"),
        Need("/proc/*/comm", "the name of that process, which has the device"),
        Need(f"list:{BTRFS}*", "the devices of a btrfs"),
        Need("link:/dev/mapper/*", "the kernel name of a mounted mapping"),
    ),
    SLOW,
)
