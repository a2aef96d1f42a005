"""Disks that left the node while it was watched.

The kernel forgets a disk after a fault as after a removal by an administrator. The last samples distinguish the two: a
disk that is removed on purpose is no longer in use. A disk was in use if something that was above it in the last sample
with it is still there: a pool that has not noticed, or a multipath map that has lost a path, even an idle one. Lost
disks of mappings, mounts and md arrays have other findings. A disk in use is remembered when the window no longer has a
sample with it (see sdstop.core.memory).
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
from sdstop.core.joins import CONTAINS, Naming, ThingKind
from sdstop.core.snapshot import Snapshot
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology
from sdstop.readings.disk import Disk, DiskActivity

_KINDS = frozenset({"disk", "nvme", "mmc", "pmem", "aoe"})
"""Kinds with a device of their own; commands create and remove the others."""
_BUSY = 3
"""Last samples of a disk that must all have completed requests if it was in use."""
_SHOWN = 8
"""Disks and their users listed."""
_ELSEWHERE = frozenset({ThingKind.MOUNT, ThingKind.FILESYSTEM, ThingKind.CLIENT})
"""Kinds of users that are not evidence: mounts are judged by themselves, and read less often."""


def identities(row: BlockDevice) -> tuple[str, ...]:
    """Return what identifies a disk under any name, and its place: a disk that is put there replaces it."""
    return tuple(each for each in (row.own_wwn, row.serial, row.by_path) if each and row.parent is None)


class _Unplugged(Struct, frozen=True):
    """Disk that is gone: its last row and sample, the time in seconds since then, its last load, and its users."""

    row: BlockDevice
    last: Snapshot
    lacking: str
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
        last = _last_with(window, name)
        now_above, above = _above(window.topology, name), _above(window.topology_of(last), name)
        if not judged_above.isdisjoint(each.name for each in (*now_above, *above)):
            continue
        still = (each for each in above if not each.kinds & _ELSEWHERE and window.topology.exact(each.name))
        user = next(iter((*now_above, *still)), None)
        yield _last(window, row, last, user)


def _last_with(window: Window, name: str) -> Snapshot:
    """Return the last snapshot that has a disk in all sources: they are read one after the other."""
    shots = [shot for shot in reversed(window.snapshots) if name in shot.rows(BlockDevice)]
    return next((shot for shot in shots if name in shot.rows(Disk)), shots[0])


def _above(topology: Topology, name: str) -> tuple[Thing, ...]:
    thing = topology.named(Naming.DEV, name)
    if thing is None:
        return ()
    built = (other for other, how in topology.upper(thing).items() if how in CONTAINS and other.device is not None)
    return tuple(dict.fromkeys([*topology.part_of(thing), *built, *topology.affected(thing)]))


def _last(window: Window, row: BlockDevice, last: Snapshot, user: Thing | None) -> _Unplugged:
    """Return the load of a disk in its last samples; one that has a `user` still is in use."""
    seen = [moment for moment in window.moments(Disk) if row.device in moment.rows]
    rates = [each for _, each in window.series(DiskActivity, row.device) if each is not None][-_BUSY:]
    flight = seen[-1].rows[row.device].in_flight if seen else 0
    working = len(rates) == _BUSY and all(each.completed_per_second for each in rates)
    return _Unplugged(
        row=row,
        last=last,
        lacking=user.name if user is not None else "",
        seconds=window.now.monotonic - seen[-1].started if seen else 0.0,
        in_flight=flight or 0,
        rate=rates[-1].completed_per_second if rates else 0.0,
        busy=user is not None or bool(flight) or working,
    )


def _left_with(window: Window, disks: Sequence[_Unplugged]) -> str:
    """Return the lowest thing that all of several disks needed and that has no disk left: a session, an expander."""
    before = window.topology_of(disks[0].last)
    things = [thing for each in disks if (thing := before.named(Naming.DEV, each.row.device)) is not None]
    known = window.rows(BlockDevice).keys()
    for thing in before.shared(things) if len(disks) > 1 else ():
        if known.isdisjoint(other.device for other in before.above(thing)):
            return thing.name
    return ""


def _names(window: Window, row: BlockDevice) -> tuple[str, ...]:
    """Return the names whose return ends the fault: not those that another path to the disk has all the time."""
    others = {name for other in window.rows(BlockDevice).values() for name in identities(other)}
    return (row.device, *(name for name in identities(row) if name not in others))


def _finding(window: Window, disks: Sequence[_Unplugged], *, busy: bool) -> Finding:
    first, names = disks[0], [each.row.device for each in disks]
    several = len(disks) > 1
    when = f"{human.duration(first.seconds)} ago"
    who = f"{len(disks)} disks" if several else human.safe(first.row.device, 24)
    rate = sum(each.rate for each in disks)
    load = f", with {human.number(rate)} requests/s until then" if rate else ", idle"
    behind, lacking = _left_with(window, disks), [each.lacking for each in disks if each.lacking]
    every = f", all of {human.safe(behind, 24)}," if behind else ""
    lacks = f"; {human.safe(lacking[0], 20)} lacks {'them' if several else 'it'}" if lacking else ""
    return Finding(
        severity=Severity.WARNING if busy else Severity.INFO,
        subject=first.row.device,
        title=f"{f'{len(disks)} DISKS' if several else 'DISK'} GONE{', in use until then' if busy else ''}",
        cause=fitting(
            f"{who}{every} left the node {when}{load}{lacks}.",
            f"{who}{every} left the node {when}{lacks}.",
            f"{who}{every} left the node {when}.",
            f"{who} left the node {when}.",
        ),
        impact="Requests in flight failed; what used it may not have noticed." if busy else "No request was lost.",
        values=(
            Value("disks", "disks gone", human.listed(names, _SHOWN, 200)),
            Value("seconds", "time since the last sample with it", first.seconds, "seconds"),
            Value("in_flight", "requests in flight in the last sample", sum(each.in_flight for each in disks)),
            Value("users", "used by", human.listed(list(dict.fromkeys(lacking)), _SHOWN, 200) or None),
            Value("behind", "all disks of", behind or None),
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
        left=tuple(_names(window, each.row) for each in disks) if busy else (),
    )
