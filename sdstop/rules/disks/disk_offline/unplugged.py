"""Disks that left the node while it was watched.

The kernel forgets a disk after a fault as after a removal by an administrator. The last samples distinguish the two: a
disk that is removed on purpose is no longer in use. Lost disks of mappings, mounts and md arrays have other findings; a
pool that still lists a disk has not noticed, so the disk was in use. The finding ends when the window no longer has a
sample with the disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from sdstop.analysis.disks.presence import gone
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.volume_readings import MappedRaidState
from sdstop.collectors.md.readings import Member
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.joins import Naming
from sdstop.readings.disk import Disk, DiskActivity

_KINDS = frozenset({"disk", "nvme", "mmc", "pmem", "aoe"})
"""Kinds with a device of their own; commands create and remove the others."""
_BUSY = 3
"""Last samples of a disk that must all have completed requests if it was in use."""
_SHOWN = 8


class _Unplugged(Struct, frozen=True):
    """Disk that is gone: its last row, the time in seconds since it was seen, and its last load."""

    row: BlockDevice
    seconds: float
    in_flight: int
    rate: float
    busy: bool


def unplugged(window: Window, judged: AbstractSet[str]) -> Iterator[Finding]:
    """Yield at most two findings: of the disks that were in use when they left, and of the others.

    Those `judged`, or with a partition judged, have a finding of their own.
    """
    every = list(_every(window, judged))
    for busy in (True, False):
        disks = [each for each in every if each.busy is busy]
        if disks:
            yield _finding(window, disks, busy=busy)


def _every(window: Window, judged: AbstractSet[str]) -> Iterator[_Unplugged]:
    moments = window.moments(BlockDevice)
    now = window.rows(BlockDevice)
    if len(moments) < 2 or moments[0].rows is now:
        return
    names = [str(name) for name in moments[0].rows if name not in now]
    missing = gone(window, names, [*map(str, now)]) if names else []
    new = [row for name, row in now.items() if name not in moments[0].rows] if missing else []
    back = {key for row in new for key in (row.wwn, row.serial) if key}  # another path to it was there before
    known = {moments[0].rows[name].parent or name for name in missing if name in judged}
    judged_above = {row.device for row in window.rows(MappedRaidState).values() if row.failed}  # by volume-degraded
    for name in missing:
        row = moments[0].rows[name]
        if name in known or row.kind not in _KINDS or row.told is not None or row.hidden:
            continue
        if {row.wwn, row.serial} & back:
            continue
        if window.where(Member, "device", name):  # judged by array-degraded
            continue
        thing = window.topology.named(Naming.DEV, name)
        above = (*window.topology.part_of(thing), *window.topology.affected(thing)) if thing is not None else ()
        if not judged_above.isdisjoint(each.name for each in above):
            continue
        yield _last(window, row, listed=bool(above))


def _last(window: Window, row: BlockDevice, *, listed: bool) -> _Unplugged:
    """Return the load of a disk in its last samples; one that is still `listed` as a part of something is in use."""
    seen = [moment for moment in window.moments(Disk) if row.device in moment.rows]
    rates = [each for _, each in window.series(DiskActivity, row.device) if each is not None][-_BUSY:]
    flight = seen[-1].rows[row.device].in_flight if seen else 0
    working = len(rates) == _BUSY and all(each.completed_per_second for each in rates)
    return _Unplugged(
        row=row,
        seconds=window.now.monotonic - seen[-1].started if seen else 0.0,
        in_flight=flight or 0,
        rate=rates[-1].completed_per_second if rates else 0.0,
        busy=listed or bool(flight) or working,
    )


def _finding(window: Window, disks: Sequence[_Unplugged], *, busy: bool) -> Finding:
    first, names = disks[0], [each.row.device for each in disks]
    several = len(disks) > 1
    when = f"{human.duration(first.seconds)} ago"
    who = f"{len(disks)} disks" if several else human.safe(first.row.device, 24)
    load = f", with {human.number(sum(each.rate for each in disks))} requests/s until then" if busy else ", idle"
    return Finding(
        severity=Severity.WARNING if busy else Severity.INFO,
        subject=first.row.device,
        title=f"{f'{len(disks)} DISKS' if several else 'DISK'} GONE{', in use until then' if busy else ''}",
        cause=fitting(f"{who} left the node {when}{load}.", f"{who} left the node {when}."),
        impact="Requests in flight failed; what used it may not have noticed." if busy else "No request was lost.",
        values=(
            Value("disks", "disks gone", human.listed(names, _SHOWN, 200)),
            Value("seconds", "time since the last sample with it", first.seconds, "seconds"),
            Value("in_flight", "requests in flight in the last sample", sum(each.in_flight for each in disks)),
            Value("place", "SCSI address or PCI place", first.row.hctl or first.row.path),
            Value("serial", "serial number", first.row.serial),
            Value("model", "model", first.row.model),
        ),
        evidence=cites(window.quote("/proc/diskstats")),
        advice=(
            "Find out why the disk disappeared: slot, cable, HBA or enclosure.",
            run("journalctl", "-k").pipe("grep", "-w", *operands(first.row.device)).pipe("tail", "-40"),
            run("lsblk", "-o", "NAME,HCTL,SERIAL,STATE", note="whether it returned under another name"),
        ),
        refuted_by=f"a line of {human.safe(first.row.device, 20)} in /proc/diskstats",
        harmless_if="it was removed or logged out on purpose",
        damage=Damage.AVAILABILITY,
        others=tuple(names[1:]),
    )
