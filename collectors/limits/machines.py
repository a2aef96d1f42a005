"""Virtual machines running on the live node, and the limits of their drives.

libvirt's files and QEMU's command lines also contain passwords and are not recorded. The recorded answer is derived
from them and contains only the fields of sdstop.collectors.limits.drives.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from sdstop.collectors.limits.drives import QemuDrive, parse_command_line, parse_domain
from sdstop.core.host import Absent, Host, Malformed, TimedOut, Unreadable

QUESTION = "qemu.drives"
STATE = "/run/libvirt/qemu"
_NAMES = ("qemu", "kvm")
_LONGEST = 1 << 20
"""Maximum number of bytes read from a command line."""
_MOST_LINKS = 40
"""Links followed for one path: the limit of the kernel (path_resolution(7))."""


def drives(host: Host) -> list[dict[str, Any]]:
    """Return the limited drives of running machines, each with its underlying block device.

        [{"machine": "web", "drive": "vda", "source": "/dev/vg/web", "device": "dm-3", "group": null,
          "limits": {"iops": 500, "iops_max": 2000, "iops_max_length": 60}}]

    libvirt's state is newer than the command line and takes precedence for its machines. Raises Absent if no machine
    runs, and Denied if this user may not read libvirt's state.
    """
    known, machines = _of_libvirt(host)
    running = list(_command_lines(host))
    if not machines and not running:
        raise Absent(f"answer:{QUESTION}", "no QEMU virtual machines")
    known += [drive for argv in running for drive in parse_command_line(argv) if drive.machine not in machines]
    return [_row(host, drive) for drive in known if drive.is_limited]


def _of_libvirt(host: Host) -> tuple[list[QemuDrive], set[str]]:
    found: list[QemuDrive] = []
    machines: set[str] = set()
    try:
        files = [name for name in host.entries(STATE) if name.endswith(".xml")]
    except Absent:
        return [], machines
    for name in files:
        try:
            disks = parse_domain(host.read(f"{STATE}/{name}").decode("utf-8", "replace"))
        except (Absent, Malformed):
            continue
        machines.add(name.removesuffix(".xml"))
        machines.update(disk.machine for disk in disks)
        found += disks
    return found, machines


def _command_lines(host: Host) -> Iterator[list[str]]:
    for entry in host.entries("/proc"):
        if not entry.isdigit() or not (host.maybe(f"/proc/{entry}/comm") or "").startswith(_NAMES):
            continue
        try:
            line = host.read(f"/proc/{entry}/cmdline")[:_LONGEST]
        except TimedOut:
            raise
        except Unreadable:
            continue
        argv = line.decode("utf-8", "replace").split("\0")
        if len(argv) > 1:
            yield argv


def _row(host: Host, drive: QemuDrive) -> dict[str, Any]:
    real = _followed(host, drive.source) if drive.source and drive.source.startswith("/dev/") else ""
    return {
        "machine": drive.machine,
        "drive": drive.name,
        "source": drive.source,
        "device": real.removeprefix("/dev/") or None,
        "group": drive.group,
        "limits": dict(sorted(drive.limits.items())),
    }


def _followed(host: Host, path: str) -> str:
    """Return a path with all symbolic links resolved."""
    todo = path.strip("/").split("/")[::-1]
    done = "/"
    hops = 0
    while todo:
        step = posixpath.normpath(posixpath.join(done, todo.pop()))
        try:
            target = host.link(step)
        except TimedOut:
            raise
        except Unreadable:
            done = step
            continue
        hops += 1
        if hops > _MOST_LINKS:
            return path
        done = "/" if target.startswith("/") else done
        todo += reversed(target.strip("/").split("/"))
    return done
