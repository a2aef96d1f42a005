"""Whether device mapper devices are suspended: a suspended device holds all its requests back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Host
from sdstop.core.joins import Identity, Naming
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source
from sdstop.readings.disk import device_name

BLOCK = "/sys/block"


class MappedState(Reading, frozen=True):
    """Whether a device mapper device is suspended (drivers/md/dm-sysfs.c: dm_attr_suspended_show).

    Suspension takes milliseconds while LVM changes a table; requests that arrive in this time wait, and are in flight
    nowhere.
    """

    family: ClassVar[str] = "mapped_state"
    title: ClassVar[str] = "States of device mapper devices"
    rows_of = (Source("{told}", "{mapping}"), Source(f"{BLOCK}/{{device}}/dm/suspended"))
    things: ClassVar = {
        "device": Identity(None, Naming.DEV),
    }

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    suspended: Annotated[int, Metric("Suspended", "Whether the device is suspended and holds back all requests")]
    told: Annotated[str | None, Fact("Source", "Evidence, if not sysfs", export=False, names=Name.EVIDENCE)] = None
    mapping: Annotated[
        str | None, Fact("Mapping", "Name in /dev/mapper, if not from sysfs", export=False, names=Name.MAPPING)
    ] = None


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
