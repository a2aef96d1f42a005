"""Backing devices of bcache that wait for their cache, from sysfs (drivers/md/bcache/super.c: register_bdev)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.bcache.readings import BLOCK, BcacheWaiting
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Host
from sdstop.readings.disk import device_name

SETS = "/sys/fs/bcache"


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
