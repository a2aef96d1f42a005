"""Backing devices of bcache that wait for their cache, from sysfs (drivers/md/bcache/super.c: register_bdev)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Host
from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Label, Name, Reading, Source, State
from sdstop.readings.disk import device_name

BLOCK = "/sys/block"
SETS = "/sys/fs/bcache"


class BcacheWaiting(Reading, frozen=True):
    """A backing device that is registered and has no bcache device: its cache set is missing.

    From bcache/running (0) and bcache/state in the folder of the disk or partition.
    """

    family: ClassVar[str] = "bcache_waiting"
    title: ClassVar[str] = "Backing devices of bcache without a cache"
    rows_of = Source(f"{BLOCK}/{{folder}}/bcache/running")
    fields_of: ClassVar = {"state": Source(f"{BLOCK}/{{folder}}/bcache/state")}
    things: ClassVar = {"device": Identity(ThingKind.DEVICE, Naming.DEV)}

    device: Annotated[str, Label("Device", "Kernel name of the backing device", names=Name.DEVICE)]
    disk: Annotated[str, Label("Disk", "Whole disk that it is, or is part of", names=Name.DEVICE)]
    state: Annotated[
        str | None, State("State", "State of its data: clean, dirty, no cache, inconsistent", export=False)
    ] = None

    @property
    def folder(self) -> str:
        """Folder below /sys/block."""
        own = self.device.replace("/", "!")
        return own if self.device == self.disk else f"{self.disk.replace('/', '!')}/{own}"


def read(host: Host) -> Iterable[BcacheWaiting]:
    """Return the backing devices that do not run; no disk is read without the module."""
    return list(_waiting(host)) if host.names(SETS) else []


def _waiting(host: Host) -> Iterator[BcacheWaiting]:
    for disk in host.names(BLOCK):
        if disk.startswith(("bcache", "ram", "zram")):
            continue
        names = host.names(f"{BLOCK}/{disk}")
        for name in (disk, *(each for each in names if each.startswith(disk))):
            folder = f"{BLOCK}/{disk}" if name == disk else f"{BLOCK}/{disk}/{name}"
            there = names if name == disk else host.names(folder)
            if "bcache" in there and host.number(f"{folder}/bcache/running") == 0:
                state = host.maybe(f"{folder}/bcache/state") or None
                yield BcacheWaiting(device_name(name), device_name(disk), state)


BCACHE_BACKING = Collector(
    "bcache-backing",
    "Backing devices of bcache without a cache",
    read,
    (BcacheWaiting,),
    (
        Need(f"list:{SETS}", "whether bcache is loaded"),
        Need(f"list:{BLOCK}", "disks"),
        Need(f"list:{BLOCK}/*", "partitions, and which are registered with bcache"),
        Need(f"list:{BLOCK}/*/*", "partitions that are registered with bcache"),
        *(
            Need(f"{BLOCK}/{place}/bcache/{name}", why, filled=True)
            for place in ("*", "*/*")
            for name, why in (("running", "whether the device is started"), ("state", "whether it has dirty data"))
        ),
    ),
    SLOW,
)
