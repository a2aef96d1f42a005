"""QEMU throttling limits on the drives of virtual machines, with bursts, as set by libvirt or a command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sdstop.collectors.limits.drives import QemuDrive, kept_domain, limits_of, parse_domain
from sdstop.collectors.limits.machines import QUESTION, drives
from sdstop.core.collector import Collector, Need, Question
from sdstop.core.host import Absent, Denied, Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.core.text import json_text
from sdstop.readings.limit import USE, Limit

FILES = ("/run/libvirt/qemu/*.xml", "/etc/libvirt/qemu/*.xml")
"""libvirt's files, read only from captures: those of a live node contain console passwords."""
PACE = 30.0
"""Seconds between runs."""


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each limited drive and direction. Raise Absent if no machine runs or no drive is limited."""
    try:
        said = host.answer(QUESTION)
    except TimedOut:
        raise
    except Denied:
        raise
    except Unreadable:
        rows = list(_recorded(host))
        if not rows:
            raise
    else:
        drives, devices = parse_answer(said)
        rows = limits_of(drives, devices, f"answer:{QUESTION}")
    if not rows:
        raise Absent(f"answer:{QUESTION}", "no virtual drive has a limit")
    return rows


def _recorded(host: Host) -> Iterable[Limit]:
    paths = [path for pattern in FILES for path in host.glob(pattern)]
    seen = set()
    for path in paths:
        text = host.maybe(path)
        drives = parse_domain(text) if text else []
        if not drives or drives[0].machine in seen:  # a running machine's state takes precedence over its configuration
            continue
        seen.add(drives[0].machine)
        devices = {}
        for drive in drives:
            if drive.source and drive.source.startswith("/dev/"):
                devices[drive.source] = host.target(drive.source) or drive.source.removeprefix("/dev/")
        yield from limits_of(drives, devices, path)


def parse_answer(said: Any) -> tuple[list[QemuDrive], dict[str, str]]:
    """Parse an answer into drives and the kernel names of their sources.

        [{"machine": "web", "drive": "vda", "source": "/dev/vg/web", "device": "dm-3", "group": null,
          "limits": {"iops": 500, "iops_max": 2000, "iops_max_length": 60}}]

    Raises Malformed.
    """
    if not isinstance(said, list):
        raise Malformed(f"{QUESTION}: no list of drives")
    drives, devices = [], {}
    for row in said:
        limits = row.get("limits") if isinstance(row, Mapping) else None
        if not isinstance(limits, Mapping) or not isinstance(row.get("machine"), str):
            raise Malformed(f"{QUESTION}: a drive without machine or limits")
        known = {str(k): v for k, v in limits.items() if isinstance(v, int) and not isinstance(v, bool) and v >= 0}
        source, group, device = (json_text(row.get(key)) for key in ("source", "group", "device"))
        drives.append(QemuDrive(row["machine"], json_text(row.get("drive")) or "?", source, known, group))
        if source and device:
            devices[source] = device
    return drives, devices


QEMU = Collector(
    "qemu",
    "I/O limits of virtual drives",
    read,
    (Limit,),
    (
        Question(QUESTION, "limits of the drives of running machines", "root, for libvirt's state", drives),
        *(Need(path, "limits of the drives, from captures only", keep=kept_domain) for path in FILES),
        *(Need(f"list:{path.rpartition('/')[0]}", "virtual machines with recorded files") for path in FILES),
        Need("link:/dev/*", "kernel name of a drive's device"),
    ),
    PACE,
    deadline=5.0,
    resting=120.0,
    derives=(USE,),
)
