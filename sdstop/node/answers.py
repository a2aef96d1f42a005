"""Answers: queries about the live node that need several files or calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from sdstop.core.host import Absent
from sdstop.node.filesystems import SPACE, FileSystems
from sdstop.node.processes import PROCESSES, Processes
from sdstop.node.quotas import QUOTAS
from sdstop.node.quotas import look as quotas

BLOCK_DEVICES = "udev.block"
"""Name of the answer with udev's properties of block devices, which captures of earlier versions have."""


def block_devices() -> NoReturn:
    """Raise Absent: it is asked where udev's database is out of sight, from which libudev would answer, too."""
    raise Absent(f"answer:{BLOCK_DEVICES}", "no database of udev")


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
    udev.block         Absent; in older captures
                       {"sda": {"ID_PATH": "pci-0000:3b:00.0-sas-phy7-lun-0", "ID_WWN": "0x5000...", ...}}
    """
    return {PROCESSES: Processes().look, SPACE: FileSystems().look, QUOTAS: quotas, BLOCK_DEVICES: block_devices}
