"""Answers: queries about the live node that need several files or calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sdstop.node.filesystems import SPACE, FileSystems
from sdstop.node.processes import PROCESSES, Processes
from sdstop.node.quotas import QUOTAS
from sdstop.node.quotas import look as quotas

_BLOCK = Path("/sys/class/block")
_UDEV = Path("/run/udev/data")


def block_devices() -> dict[str, dict[str, str]]:
    """Return udev's properties by device, only those that describe it (not event numbers). Raises OSError."""
    found = {}
    for folder in sorted(_BLOCK.iterdir()):
        with contextlib.suppress(FileNotFoundError):  # it has gone
            properties = {"DEVPATH": str(folder.resolve()).removeprefix("/sys"), **dict(_properties(folder))}
            kept = {k: v for k, v in sorted(properties.items()) if k.startswith(("ID_", "DM_", "MD_", "DEV"))}
            found[folder.name.replace("!", "/")] = kept
    return found


def _properties(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the properties of a device that the kernel reports, and those of udev's database, which has others."""
    for line in (folder / "uevent").read_text("utf-8", "surrogateescape").splitlines():
        name, _, value = line.partition("=")
        yield name, f"/dev/{value}" if name == "DEVNAME" else value
    with contextlib.suppress(FileNotFoundError):
        number = (folder / "dev").read_text("ascii").strip()
        record = (_UDEV / f"b{number}").read_text("utf-8", "surrogateescape").splitlines()
        links = [f"/dev/{line[2:]}" for line in record if line.startswith("S:")]
        if links:
            yield "DEVLINKS", " ".join(links)
        for line in record:
            if line.startswith("E:"):
                name, _, value = line[2:].partition("=")
                yield name, value


def answers() -> dict[str, Callable[[], Any]]:
    """Return a function for each query that files or the kernel can answer; functions with state start fresh.

    psutil.processes   [{"pid": 1, "name": "fio", "started": 1763719200.12, "user": "root", "cmdline": "fio job",
                         "read_bytes": 4096, "write_bytes": null}, {"pid": 1, "hidden": true, "name": null, ...}],
                       with "cpu_seconds": 12.31 for kernel threads of arrays, pools and caches
    filesystems.space  [{"point": "/srv", "filesystem": "ext4", "source": "/dev/sdb1", "number": "8:17",
                         "writable": true, "super_writable": true, "hint": null, "size": 1000, "free": 100,
                         "available": 50, "files": 64000, "files_free": 63000}]; instead of these five numbers
                       "unasked": why, or "hung": seconds
    filesystems.quotas [{"point": "/srv", "source": "/dev/sdb1", "kind": "user", "limited": 2, "cut": false,
                         "fullest": [{"id": 1000, "used": 4096, "soft": 0, "hard": 4096, "files": 1, "file_soft": 0,
                                      "file_hard": 0, "expired": 0}]}]
    udev.block         {"sda": {"ID_PATH": "pci-0000:3b:00.0-sas-phy7-lun-0", "ID_WWN": "0x5000...", ...}}
    """
    return {PROCESSES: Processes().look, SPACE: FileSystems().look, QUOTAS: quotas, "udev.block": block_devices}
