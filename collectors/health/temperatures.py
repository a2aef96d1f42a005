"""Temperatures of disks from the kernel's hardware monitors, which need no privilege: nvme and drivetemp.

Reading drivetemp sends a SMART command to the disk, which can reset its timer for standby, or wake it up
(Documentation/hwmon/drivetemp.rst). The temperature of a rotating disk is therefore read only if the disk completed
requests since the round before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sdstop.collectors.health.readings import HWMON, DiskTemperature
from sdstop.core.collector import Collector, Need
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading

NVME = "/sys/class/nvme"
BLOCK = "/sys/block"
PACE = 300.0
"""Seconds between runs."""
_MILLI = 1000
"""Units per degree in hwmon."""


def read(host: Host) -> Iterable[Reading]:
    """Return the temperatures. Raises Absent without a sensor of a disk."""
    rows = []
    for sensor in host.names(HWMON):
        driver = host.maybe(f"{HWMON}/{sensor}/name")
        device = (
            _of_nvme(host, sensor) if driver == "nvme" else _of_scsi(host, sensor) if driver == "drivetemp" else None
        )
        if driver is None or device is None or (driver == "drivetemp" and _may_sleep(host, device)):
            continue
        now, warm, hot = (
            _celsius(host, f"{HWMON}/{sensor}/{name}") for name in ("temp1_input", "temp1_max", "temp1_crit")
        )
        if now is not None:
            rows.append(DiskTemperature(device, driver, sensor, now, warm, hot))
    if not rows:
        known = host.names(HWMON)
        raise Absent(f"list:{HWMON}", "no sensor of a disk", recorded=bool(known))
    return rows


def _celsius(host: Host, path: str) -> float | None:
    """Return a plausible temperature in degrees; limits that are not set are 0, 65 535 K or below zero."""
    found = host.number(path)
    return found / _MILLI if found is not None and 0 < found < 150 * _MILLI else None


def _of_nvme(host: Host, sensor: str) -> str | None:
    """Return the first namespace of the controller of a sensor."""
    above = host.target(f"{HWMON}/{sensor}/device") or ""
    if not re.fullmatch(r"nvme\d+", above):  # the PCI function, before Linux 5.17
        inner = host.names(f"{HWMON}/{sensor}/device/nvme")
        above = inner[0] if inner else ""
    names = host.names(f"{NVME}/{above}") if above else []
    spaces = sorted(re.sub(r"c\d+", "", name) for name in names if re.fullmatch(r"nvme\d+(?:c\d+)?n\d+", name))
    return spaces[0] if spaces else None


def _of_scsi(host: Host, sensor: str) -> str | None:
    names = host.names(f"{HWMON}/{sensor}/device/block")
    return names[0] if names else None


def _may_sleep(host: Host, device: str) -> bool:
    """Return whether a live node's disk rotates and completed no request since the round before."""
    if host.maybe(f"{BLOCK}/{device}/queue/rotational") == "0":
        return False
    counts = (host.maybe(f"{BLOCK}/{device}/stat") or "").split()
    seen, same = f"{device} seen", f"{device} {' '.join(counts[:1] + counts[4:5])}"
    known, idle = host.rests(seen), host.rests(same)
    for mark in (seen, same):
        host.rest(mark, 3 * PACE)
    return host.rests(same) and (idle or not known)  # recorded evidence has no memory, and is always read


TEMPERATURES = Collector(
    "temperatures",
    "Temperatures of disks",
    read,
    (DiskTemperature,),
    (
        Need(f"list:{HWMON}", "which sensors there are"),
        Need(f"{HWMON}/*/name", "driver of a sensor", filled=True),
        Need(
            f"{HWMON}/*/temp1_*", "temperature and limits of an NVMe disk, or of an ATA disk that has I/O", filled=True
        ),
        Need(f"link:{HWMON}/*/device", "NVMe controller of a sensor"),
        Need(f"list:{HWMON}/*/device/*", "disk of a sensor"),
        Need(f"list:{NVME}/*", "namespaces of an NVMe controller"),
        Need(f"{BLOCK}/*/queue/rotational", "whether a disk rotates: it is not asked while it may sleep"),
        Need(f"{BLOCK}/*/stat", "whether a disk had I/O since the round before"),
    ),
    PACE,
    deadline=60.0,
)
