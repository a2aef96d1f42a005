"""Device mapper devices with their display names."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from sdstop.collectors.devicemapper import dmtable
from sdstop.collectors.devicemapper.dmsetup import FORMS, NAME, PARTITIONS, ROOT, output
from sdstop.collectors.devicemapper.dmtable import Segment
from sdstop.collectors.devicemapper.readings import INFO, TABLE, MappedDevice
from sdstop.core.collector import SLOW, Collector, Command, Need
from sdstop.core.form import Form
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading
from sdstop.core.text import whole

BLOCK = "/sys/block"
_PLACEHOLDER = "-pool"
"""Suffix of the UUID of the linear mapping above a thin pool, which nothing uses (LVM2, lib/activate/dev_manager.c)."""


def read(host: Host) -> Iterable[Reading]:
    """Yield a MappedDevice for each device mapper device; dmsetup is not run if there are none.

    Raises Denied without root, Absent without dmsetup.
    """
    if not any(name.startswith("dm-") for name in host.names(BLOCK)) and not host.recorded("dmsetup"):
        return
    tables = output(host, TABLE, "table")
    known = _known(host)
    host.maybe(PARTITIONS)  # recorded for the names of the devices below caches
    segments: dict[str, list[Segment]] = {}
    for said in tables:
        for segment in dmtable.segments(said.text, said.name):
            segments.setdefault(segment.name, []).append(segment)
    for name, parts in segments.items():
        mapping = known.get(name)
        yield MappedDevice(
            name,
            dmtable.volume(name, mapping.uuid if mapping else None),
            mapping.device if mapping else None,
            ",".join(dict.fromkeys(part.target for part in parts)),
            len(parts),
            sum(part.length for part in parts),
            max((each for part in parts if (each := _delay(part)) is not None), default=None),
            mapping is not None and mapping.uuid.startswith("LVM-") and mapping.uuid.endswith(_PLACEHOLDER),
        )


def _delay(segment: Segment) -> float | None:
    """Return the longest delay of a segment in seconds, None if its target is another.

    0 2097152 delay 8:16 0 0 8:16 0 50         reads at once, writes after 50 ms (drivers/md/dm-delay.c)
    """
    if segment.target != "delay":
        return None
    times = [whole(word) for word in segment.text.split()[2::3]]
    return max((each for each in times if each is not None), default=0) / 1000


def _known(host: Host) -> dict[str, dmtable.Mapping]:
    """Return the mappings by name; none if a table was recorded without them."""
    try:
        said = output(host, INFO, "info")
    except Absent as error:
        if error.recorded:
            raise
        said = []
    return {name: mapping for each in said for name, mapping in dmtable.mappings(each.text).items()}


class TableMark:
    """Mark that changes with the device mapper devices, and with each event of the kernel's devices (uevent).

    A table that is loaded without a new name or size is shown by nothing else: the device resumes with an event
    (drivers/md/dm.c: dm_kobject_uevent), and all events share one number. That number counts once in PACE seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without a number; `clock` returns seconds."""
        self._clock = clock
        self._number: str | None = None
        self._at = 0.0

    def __call__(self, host: Host) -> tuple[str | None, ...]:
        """Return the kernel names of the devices, and the number; without devices nothing else is read."""
        names = tuple(name for name in host.names(BLOCK) if name.startswith("dm-"))
        if not names:
            return ()
        number, now = host.maybe(EVENTS), self._clock()
        if number != self._number and (self._number is None or now - self._at >= PACE):
            self._number, self._at = number, now
        return (self._number, *names)


EVENTS = "/sys/kernel/uevent_seqnum"
PACE = 5.0
"""Minimum number of seconds between two runs because of events."""


TABLE_FORM = Form(
    key="cmd:dmsetup table",
    first=rf"{NAME}: \d+ \d+ (?:linear \d+:\d+ \d|striped \d+ \d+ \d+:\d|thin \d+:\d+ \d|thin-pool \d+:\d+ |crypt "
    r"|snapshot(?:-origin|-merge)? \d+:\d|raid raid\w+ \d+ |multipath [^\n]*(?:round-robin|service-time|queue-)"
    r"|cache \d+:\d+ |writecache [sp] |mirror \w+ \d+ |era \d+:\d|verity \d|integrity \d+:\d"
    r"|delay \d+:\d|vdo V\d)",
    reads="targets and sizes of device mapper devices",
    versions="dmsetup 1.02 and later",
    goes_on=rf"{NAME}: \d+ \d+ [a-z][a-z0-9-]*(?: .*)?",
)

MAPPER = Collector(
    "mapper",
    "Device mapper devices, including LVM",
    read,
    (MappedDevice,),
    (
        Need(f"list:{BLOCK}", "whether there are device mapper devices"),
        Command(TABLE, "tables of the mappings; encryption keys are never shown", ROOT, filled=True),
        Command(
            INFO,
            "kernel names and UUIDs of the mappings (LVM- if they belong to LVM)",
            ROOT,
        ),
        Need("cmd:dmsetup *", "fallback in another format, from captures only; never run on a live node"),
        Need(EVENTS, "whether devices had events: a table may have been loaded", everyone=True),
        Need(PARTITIONS, "kernel names by major and minor number, as tables have them"),
    ),
    SLOW,
    deadline=10.0,
    fingerprint=TableMark(),
    forms=(*FORMS, TABLE_FORM),
)
