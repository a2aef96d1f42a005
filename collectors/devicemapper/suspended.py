"""Whether device mapper devices are suspended: a suspended device holds all its requests back."""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collectors.devicemapper.readings import BLOCK, MappedState
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.readings.disk import device_name

_CALM = 3.0
"""Seconds for which a live node is not asked again about a device that was not suspended: of 250 devices, 250 files.

A suspended one is read each second, and reported after ten.
"""


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each device mapper device. Raises Absent if none of them has this file."""
    entries = [entry for entry in host.names(BLOCK) if entry.startswith("dm-")]
    rows = []
    for entry in entries:
        calm = f"{entry} is not suspended"
        number = 0 if host.rests(calm) else host.number(f"{BLOCK}/{entry}/dm/suspended")
        if number is None:
            continue
        rows.append(MappedState(device_name(entry), number))
        if not number:
            host.rest_apart(calm, _CALM, entry)
    if entries and not rows:
        host.text(f"{BLOCK}/{entries[0]}/dm/suspended")
    return rows


SUSPENDED = Collector(
    "suspended",
    "Suspended device mapper devices",
    read,
    (MappedState,),
    (
        Need(f"list:{BLOCK}", "which device mapper devices there are", everyone=True),
        Need(f"{BLOCK}/dm-*/dm/suspended", "whether device mapper devices are suspended", filled=True),
    ),
    LIVE,
    devices=r"dm-\d+",
)
