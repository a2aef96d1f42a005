"""Recorded `iostat -x`, text or JSON, as a second source of disk activity."""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collector import SLOW, Collector, Need
from sdstop.disk import DiskActivity
from sdstop.host import Host
from sdstop.model import Reading


def read(host: Host) -> Iterable[Reading]:
    """Yield a DiskActivity of each device in the last report."""
    raise NotImplementedError


IOSTAT = Collector(
    "iostat",
    "Recorded iostat -x",
    read,
    (DiskActivity,),
    (Need("cmd:iostat *", "disk activity that somebody recorded; never run on a live node"),),
    SLOW,
)
