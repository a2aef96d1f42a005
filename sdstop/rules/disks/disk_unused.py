"""Disks that get no request although all disks like them get an equal load: what uses the others has lost them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.members.unused import LEAST, SECONDS, UnusedDisk, unused_disks
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Gap, Severity, Unchecked, Value, Verdict, cites, passed, unchecked
from sdstop.core.history import Window
from sdstop.core.joins import Naming
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.readings.disk import Disk, DiskActivity

_LOST = frozenset({"osd-down", "ceph-daemon-down", "cluster-degraded", "volume-group-partial"})
"""Rules whose findings on something above a disk are the reason that nothing uses it."""


def _check(window: Window, limits: Limits, findings: Sequence[Finding]) -> Iterator[Verdict]:
    moments = window.moments(Disk)
    if moments and moments[-1].started - moments[0].started < SECONDS:
        lasted = moments[-1].started - moments[0].started
        yield Unchecked(f"collecting data: {lasted:.0f} of {SECONDS:g} s", calm=True, gap=Gap.EARLY)
        return
    found = unused_disks(window, limits["least"], limits["used"])
    yield from (_finding(window, disk, limits, findings) for disk in found.unused)
    yield from passed(found.used, f"all {len(found.used)} disks without array or file system get requests")
    yield from unchecked(found.uncounted, "no row in /proc/diskstats, where disks like it have one", gap=Gap.FAULTY)
    if not found.unused and not found.used and not found.uncounted:
        yield Unchecked("no disks without array or file system that are alike and get an equal load", calm=True)


def _finding(window: Window, disk: UnusedDisk, limits: Limits, findings: Sequence[Finding]) -> Finding:
    name = disk.device
    row = window.get(Disk, name) or window.get(DiskActivity, name)
    peer = window.get(Disk, disk.peers[0]) or window.get(DiskActivity, disk.peers[0])
    return Finding(
        severity=Severity.WARNING,
        subject=name,
        title=f"NO REQUESTS: its peers get {human.quantity(disk.rate, 'per_second')}",
        cause=f"No request for {human.duration(disk.seconds)}; {len(disk.peers)} disks like it get an equal load.",
        impact="What uses the others may have lost this disk, and a copy of its data.",
        values=(
            Value("seconds", "time without a request", disk.seconds, "seconds"),
            Value("rate", "its peers' median", disk.rate, "per_second", above=limits["least"]),
            Value("share", "requests before, of its peers' median", disk.share, "ratio", above=limits["used"]),
            Value("peers", "peers", len(disk.peers)),
        ),
        evidence=cites(*(window.cite(each) for each in (row, peer) if each is not None)),
        advice=(
            "Check the disk in its pool or cluster, and the daemon that serves it.",
            run("lsblk", "-o", "NAME,MODEL,SERIAL,TYPE,MOUNTPOINTS", f"/dev/{name}"),
            run("journalctl", "-k").pipe("grep", "-w", *operands(name)).pipe("tail", "-40"),
            run("smartctl", "-x", f"/dev/{name}"),
        ),
        refuted_by=f"requests to {name} in iostat -x 1 while the other disks get some",
        harmless_if="the disk was taken out of service on purpose, or a scan of all disks ended on it first",
        lasting=disk.seconds,
        explained_by=tuple(_causes(window, name, findings)),
    )


def _causes(window: Window, name: str, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the findings about things above a disk that lost it."""
    disk = window.topology.named(Naming.DEV, name)
    above = {each.place for each in window.topology.above(disk)} if disk is not None else set()
    for finding in findings if above else ():
        thing = window.topology.find(finding.subject)
        if thing is not None and thing.place in above:
            yield finding.id


DISK_UNUSED = Rule(
    "disk-unused",
    "disk without requests although all disks of its model get an equal load",
    Severity.WARNING,
    _check,
    (),  # the kernel's counters, or rates that tools printed
    (
        Threshold("least", LEAST, "requests per second of each peer", "per_second"),
        Threshold("used", 0.5, "requests since the disk appeared, of its peers' median: a spare has fewer", "ratio"),
    ),
    covers=(),
    after=_LOST,
    many="get no requests",
    damage=Damage.REDUNDANCY,
    view="disks",
    advice="Check the disk in its pool or cluster, and the daemon that serves it.",
)
