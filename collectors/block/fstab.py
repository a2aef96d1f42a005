"""File systems of fstab(5), and whether each of them is in the table of mounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from sdstop.collectors.block.mount_readings import FstabEntry
from sdstop.collectors.block.mounts import MOUNTS
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host
from sdstop.core.retention import FSTAB_WORDS, fstab_table, fstab_without_names, mount_table
from sdstop.readings.device_names import FSTAB

_IN_MEMORY = frozenset({
    "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl",
    "hugetlbfs", "ignore", "mqueue", "nfsd", "proc", "pstore", "ramfs", "rpc_pipefs", "securityfs", "swap", "sysfs",
    "tmpfs", "tracefs", "usbfs",
})  # fmt: skip
"""Types without storage, and entries that are not mounted."""
_REMOVABLE = expression(r"/dev/(?:sr|scd|fd|cdrom|dvd|floppy)\w{0,8}")
_ESCAPED = expression(r"\\(040|011|012|134)")
_OF_CONTAINERS = frozenset({"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"})
"""Files that container engines mount one by one (Docker, Podman, Kubernetes)."""
_COLUMNS = 4
"""Columns that a line needs to have options; the two numbers after them may be left out (fstab(5))."""


def parse(text: str) -> Iterator[FstabEntry]:
    r"""Yield the file systems of /etc/fstab that have storage; spaces are encoded as `\040`.

    UUID=2f0b9c1e-7a44-4f0e-9d55-0a1d2c3b4e5f /srv/data xfs defaults,nofail 0 2
    nas:/export /mnt/nas nfs4 _netdev,noauto,x-systemd.automount 0 0

    Captures of older versions have no options: their fourth column is missing unless it had ro or rw.
    """
    for line in text.splitlines():
        words = line.split()
        if (
            len(words) < 3
            or words[0].startswith("#")
            or not words[1].startswith("/")
            or words[2] in _IN_MEMORY
            or _REMOVABLE.fullmatch(words[0])
        ):
            continue
        given = words[3].split(",") if len(words) >= _COLUMNS else None
        kept = None if given is None else ",".join(word for word in given if word in FSTAB_WORDS)
        yield FstabEntry(
            point=place(words[1]),
            path=_decoded(words[0]) if words[0].startswith("/dev/") else None,
            filesystem=words[2],
            options=kept,
            needle=words[1],
        )


def place(word: str) -> str:
    """Return a mount point as the kernel has it: decoded, without slashes at its end or twice."""
    return "/" + "/".join(part for part in _decoded(word).split("/") if part)


def _decoded(word: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), word) if "\\" in word else word


def mounted_points(text: str) -> dict[str, str]:
    """Return the type of the newest mount at each point of /proc/mounts.

    Empty for a table without a root, which is not whole, and for one of a container, which has the mounts of its image
    and not those of an fstab.
    """
    lines = [line.split(" ") for line in text.splitlines()]
    points = {place(words[1]): words[2] for words in lines if len(words) >= 3}
    of_container = not _OF_CONTAINERS.isdisjoint(points) or "fuse.lxcfs" in points.values()
    return points if "/" in points and not of_container else {}


def read(host: Host) -> Iterable[FstabEntry]:
    """Yield the entries. Raises Absent without /etc/fstab."""
    entries = list(parse(host.text(FSTAB)))
    points = mounted_points(_table(host)) if entries else {}
    for entry in entries:
        mounted = int(entry.point in points) if points else None
        yield replace(entry, mounted=mounted, type=points.get(entry.point))


def _table(host: Host) -> str:
    for key in MOUNTS:
        try:
            return host.text(key)
        except Absent:
            continue
    return ""


FSTAB_ENTRIES = Collector(
    "fstab",
    "File systems in /etc/fstab",
    read,
    (FstabEntry,),
    (
        Need(
            FSTAB,
            "file systems that the node mounts; of the options only whether and how",
            keep=fstab_table,
            redact=fstab_without_names,
        ),
        *(Need(key, "whether they are mounted", keep=mount_table, everyone=True) for key in MOUNTS),
    ),
    SLOW,
)
