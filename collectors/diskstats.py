"""Block devices' counters from `/proc/diskstats`."""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collector import LIVE, Collector, Need
from sdstop.disk import DISKSTATS as PATH
from sdstop.disk import Disk, DiskActivity, activity
from sdstop.host import Host
from sdstop.model import Derivation, Reading


def read(host: Host) -> Iterable[Reading]:
    """Yield a Disk of each row."""
    raise NotImplementedError


DISKSTATS = Collector(
    "diskstats",
    "Block devices' counters",
    read,
    (Disk,),
    (Need(PATH, "requests, bytes, times and requests in flight of every block device"),),
    LIVE,
    derives=(Derivation(Disk, DiskActivity, activity),),
)
