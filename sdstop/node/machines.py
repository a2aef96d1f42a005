"""Machines: virtual machines that run on the live node, and the limits of their drives.

libvirt's files and QEMU's command lines hold passwords too, so they are read here, and what is said of them is only
what sdstop.collectors.limits.drives knows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sdstop.collectors.limits.drives import Drive, parse_command_line, parse_domain
from sdstop.core.host import LARGEST, Absent, Malformed

DRIVES = "qemu.drives"
STATE = "/run/libvirt/qemu"
_NAMES = ("qemu", "kvm")


def drives(state: str = STATE, proc: str = "/proc") -> list[dict[str, Any]]:
    """Return the limited drives of running machines, each with the block device that it lies on.

    libvirt's state is newer than a command line, and counts for the machines it knows. Raises Absent where no machine
    runs, and PermissionError where libvirt's state is not for this user.
    """
    known, machines = _of_libvirt(state)
    running = list(_command_lines(proc))
    if not machines and not running:
        raise Absent(f"answer:{DRIVES}", "no virtual machine of QEMU runs here")
    known += [drive for argv in running for drive in parse_command_line(argv) if drive.machine not in machines]
    return [_said(drive) for drive in known if drive.is_limited]


def _of_libvirt(state: str) -> tuple[list[Drive], set[str]]:
    found: list[Drive] = []
    machines: set[str] = set()
    try:
        files = sorted(path for path in Path(state).iterdir() if path.suffix == ".xml")
    except FileNotFoundError:
        return [], machines
    for path in files:
        try:
            with path.open("rb") as file:
                text = file.read(LARGEST).decode("utf-8", "replace")
            disks = parse_domain(text)
        except (FileNotFoundError, Malformed):
            continue
        machines.add(path.stem)
        machines.update(disk.machine for disk in disks)
        found += disks
    return found, machines


def _command_lines(proc: str) -> Iterator[list[str]]:
    for entry in sorted(path.name for path in Path(proc).iterdir()):
        if not entry.isdigit():
            continue
        try:
            if not Path(proc, entry, "comm").read_text("utf-8", "replace").startswith(_NAMES):
                continue
            line = Path(proc, entry, "cmdline").read_bytes()[: 1 << 20]
        except OSError:
            continue
        argv = line.decode("utf-8", "replace").split("\0")
        if len(argv) > 1:
            yield argv


def _said(drive: Drive) -> dict[str, Any]:
    real = os.path.realpath(drive.source) if drive.source and drive.source.startswith("/dev/") else ""
    return {
        "machine": drive.machine,
        "drive": drive.name,
        "source": drive.source,
        "device": real.removeprefix("/dev/") or None,
        "group": drive.group,
        "limits": dict(sorted(drive.limits.items())),
    }
