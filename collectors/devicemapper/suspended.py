"""Whether device mapper devices are suspended: a suspended device holds all its requests back."""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collectors.devicemapper.readings import BLOCK, MappedState
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.readings.disk import device_name


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each device mapper device. Raises Absent if none of them has this file."""
    entries = [entry for entry in host.names(BLOCK) if entry.startswith("dm-")]
    found = {entry: host.number(f"{BLOCK}/{entry}/dm/suspended") for entry in entries}
    rows = [MappedState(device_name(entry), number) for entry, number in found.items() if number is not None]
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
