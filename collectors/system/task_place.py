"""Where a task waits: the mount or block device of the file that it waits for.

Only files that a stuck task cannot block are read: fdinfo and mountinfo need no lock that is held across I/O; `syscall`
does during execve before Linux 5.11, and is not read there. Mounts themselves are never touched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field

from sdstop.core.expression import expression
from sdstop.core.host import Denied, Host, TimedOut, Unreadable

_SYSCALL_IS_SAFE = (5, 11)
"""First kernel that does not hold the lock of /proc/PID/syscall while execve reads the program."""
_MOST_FILES = 64
"""Maximum number of open files of a task that are searched for the one it waits for."""


class Mount(Struct, frozen=True):
    """A mount: its ID, MAJOR:MINOR, mount point, type and source (a device, `server:/export`, a dataset)."""

    ident: str
    number: str
    point: str
    filesystem: str
    source: str


_OCTAL = expression(r"\\([0-7]{3})")


def parse_mounts(text: str) -> list[Mount]:
    """Parse /proc/PID/mountinfo (proc_pid_mountinfo(5)).

    36 35 253:3 / /srv/data rw,noatime shared:1 - ext4 /dev/mapper/vg0-data rw
    """
    found = []
    for line in text.splitlines():
        words = line.split(" ")
        if "-" in words[6:-2]:
            at = words.index("-", 6)
            point, source = (_OCTAL.sub(lambda m: chr(int(m[1], 8)), word) for word in (words[4], words[at + 2]))
            found.append(Mount(words[0], words[2], point, words[at + 1], source))
    return found


_PSEUDO = frozenset({
    "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
    "fusectl", "hugetlbfs", "mqueue", "nfsd", "proc", "pstore", "ramfs", "rpc_pipefs", "securityfs", "selinuxfs",
    "sysfs", "tmpfs", "tracefs",
})  # fmt: skip
"""File systems without storage below them."""
_FILESYSTEMS = (
    (expression(r"(nfs|rpc_)"), "nfs"),
    (expression(r"(cifs|smb)"), "cifs"),
    (expression(r"(_*fuse|request_wait_answer)"), "fuse"),
    (expression(r"ceph"), "ceph"),
    (expression(r"p9_"), "9p"),
    (expression(r"afs_"), "afs"),
    (expression(r"(ocfs2|o2net)"), "ocfs2"),
    (expression(r"(gfs2|gdlm)"), "gfs2"),
)
"""Beginnings of kernel functions that belong to one file system, and the beginning of its types in mountinfo."""
_OF_THREAD = (
    expression(r"kworker/.*flush-(?P<number>\d+:\d+)"),
    expression(r"dmcrypt_write/(?P<number>\d+:\d+)"),
    expression(r"jbd2/(?P<device>.+)-\d+"),
    expression(r"xfsaild/(?P<device>.+)"),
    expression(r"(?P<device>md[\w-]+?)_(?:raid\d+|resync|reclaim)"),
    expression(r"(?P<device>loop\d+)"),
)
"""Names of kernel threads that serve one device."""


class Place(Struct, frozen=True):
    """Place in which a task waits; unknown parts are None."""

    mount: str | None = None
    filesystem: str | None = None
    device: str | None = None
    number: str | None = None


NOWHERE = Place()


class Mounts(Struct):
    """Mounts and devices, read at most once per run for each process and number."""

    host: Host
    _of: dict[str, dict[str, Mount]] = field(default_factory=dict)
    _devices: dict[str, str | None] = field(default_factory=dict)
    _safe: bool | None = None

    def of(self, process: str) -> dict[str, Mount]:
        """Return the mounts that a process sees, by ID."""
        namespace = self.host.target(f"/proc/{process}/ns/mnt") or process
        if namespace not in self._of:
            text = self.host.maybe(f"/proc/{process}/mountinfo") or ""
            self._of[namespace] = {mount.ident: mount for mount in parse_mounts(text)}
        return self._of[namespace]

    def device(self, number: str) -> str | None:
        """Return the kernel name of MAJOR:MINOR, None if it is not a block device."""
        if number not in self._devices:
            name = None if number.startswith("0:") else self.host.target(f"/sys/dev/block/{number}")
            self._devices[number] = name.replace("!", "/") if name else None
        return self._devices[number]

    def number(self, device: str) -> str | None:
        """Return MAJOR:MINOR of a block device, None if the device does not exist."""
        return self.host.maybe(f"/sys/class/block/{device.replace('/', '!')}/dev")

    @property
    def syscall_is_safe(self) -> bool:
        """Whether reading /proc/PID/syscall cannot block."""
        if self._safe is None:
            release = re.match(r"(\d{1,4})\.(\d{1,4})", self.host.maybe("/proc/sys/kernel/osrelease") or "")
            self._safe = release is not None and (int(release[1]), int(release[2])) >= _SYSCALL_IS_SAFE
        return self._safe


def place_of_thread(name: str, mounts: Mounts) -> Place:
    """Return the device that a kernel thread serves, as far as its name has it."""
    for pattern in _OF_THREAD:
        found = pattern.match(name)
        if found is None:
            continue
        groups = found.groupdict()
        number = groups.get("number") or mounts.number(groups.get("device") or "")
        if number is not None:
            device = mounts.device(number)
            return Place(device=device, number=number if device is not None else None)
    return NOWHERE


def place_of_task(host: Host, key: tuple[str, str], wait: str | None, mounts: Mounts) -> Place:
    """Return where a user task waits.

    This is the file that its system call names, or the only file system that fits among its open files and, for
    functions of one file system, among all mounts. A task that looks up a path waits for no file that it has open.
    Raises Denied if the open files of the task are not readable.
    """
    process, thread = key
    folder = f"/proc/{process}/task/{thread}"
    try:
        files = host.entries(f"{folder}/fdinfo")
    except (Denied, TimedOut):
        raise
    except Unreadable:  # the task has ended
        files = []
    known = mounts.of(process)
    named = _argument(host, folder, mounts)
    if named in files:
        place = _place_of_file(host, folder, named, known, mounts)
        if place is not None:
            return place
    kind = next((kind for pattern, kind in _FILESYSTEMS if pattern.match(wait or "")), None)
    if named == _BY_PATH and kind is None:
        return NOWHERE
    opened = (_place_of_file(host, folder, file, known, mounts) for file in files[:_MOST_FILES])
    places = {p for p in opened if p is not None and (kind is None or (p.filesystem or "").startswith(kind))}
    if kind is not None and not places:
        served = (mount for mount in known.values() if mount.filesystem not in _PSEUDO)
        places = {_place_on(mount, mounts) for mount in served if mount.filesystem.startswith(kind)}
    if len(places) == 1:
        return places.pop()
    kinds = {place.filesystem for place in places} or {kind}
    return Place(filesystem=kinds.pop() if len(kinds) == 1 else kind)


_AT_FDCWD = 0xFFFFFF9C
"""Instead of a folder's descriptor, the working directory (fcntl.h: -100): C libraries open and look up paths so."""
_BY_PATH = "path"


def _argument(host: Host, folder: str, mounts: Mounts) -> str:
    """Return the first argument of a task's system call as a decimal number, _BY_PATH for AT_FDCWD, "" if unknown.

    `1 0x3 0x7f... 0x1000 0x0 0x0 0x0 0x7ff... 0x7f...`: number, six arguments, stack pointer, program counter
    (fs/proc/base.c: proc_pid_syscall). Most calls that wait for storage have a file descriptor here; a pointer is not
    the number of an open file.
    """
    if not mounts.syscall_is_safe:
        return ""
    words = (host.maybe(f"{folder}/syscall") or "").split()
    try:
        first = int(words[1], 16) if len(words) == 9 else None
    except ValueError:
        return ""
    if first is None:
        return ""
    return _BY_PATH if first & 0xFFFFFFFF == _AT_FDCWD else str(first)


_NODE = expression(r"/dev/(?!mapper/)([\w/!.:-]+)")


def _place_of_file(host: Host, folder: str, file: str, known: Mapping[str, Mount], mounts: Mounts) -> Place | None:
    """Return where an open file is, from its mount ID and name; None for files without storage."""
    found = re.search(r"^mnt_id:\s*(\d{1,12})$", host.maybe(f"{folder}/fdinfo/{file}") or "", re.MULTILINE)
    mount = known.get(found[1]) if found else None
    if mount is None:
        return None
    if mount.filesystem == "devtmpfs":
        try:
            node = _NODE.fullmatch(host.link(f"{folder}/fd/{file}"))
        except TimedOut:
            raise
        except Unreadable:
            return None
        number = mounts.number(node[1]) if node else None
        return Place(device=mounts.device(number), number=number) if number else None
    return None if mount.filesystem in _PSEUDO else _place_on(mount, mounts)


def _place_on(mount: Mount, mounts: Mounts) -> Place:
    device, number = mounts.device(mount.number), mount.number
    if device is None and (node := _NODE.fullmatch(mount.source)):  # btrfs has anonymous device numbers
        number = mounts.number(node[1]) or ""
        device = mounts.device(number) if number else None
    return Place(mount.point, mount.filesystem, device, number if device is not None else None)
