"""HBAs whose links cannot carry the combined rate of their disks when all are read sequentially."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sdstop.analysis.fabric import HbaLoad, disks_behind, loads
from sdstop.analysis.rebuilding import REPAIRS, rebuild_analyses
from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.fabric.hba import DiskPath, Hba
from sdstop.collectors.fabric.sas import SasPhy
from sdstop.core import format as human
from sdstop.core.finding import (
    Covers,
    Finding,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
    unchecked,
)
from sdstop.core.history import Window
from sdstop.core.shell import quoted


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    found = loads(window, limits["disk_rate"], limits["flash_rate"], limits["efficiency"])
    few = window.rows(Hba).keys() - {load.hba.hba for load in found if load.disks >= 2}
    yield from unchecked(sorted(map(str, few)), "fewer than 2 disks behind it", calm=True)
    for load in found:
        share = load.share
        if load.disks < 2:
            continue
        if share is None:
            yield Unchecked("what its links carry is not known", load.hba.hba)
        elif share > limits["share"]:
            yield _finding(window, load, share, limits)
        elif load.unknown:
            yield Unchecked("of some of its disks it is not known whether they rotate", load.hba.hba)
        else:
            yield RuledOut(load.hba.hba, _said(load, share))


def _said(load: HbaLoad, share: float) -> str:
    return (
        f"{load.disks:g} disks could move {human.flow(load.wants)}, {human.percent(share)} % of the "
        f"{human.flow(load.carries)} that its links carry"
    )


def _phys(window: Window, load: HbaLoad) -> list[SasPhy]:
    """Return the phys of the HBA that are up."""
    hosts = {path.host for path in window.where(DiskPath, "hba", load.hba.hba)}
    return [row for row in window.rows(SasPhy).values() if row.owner in hosts and row.rate is not None]


def _finding(window: Window, load: HbaLoad, share: float, limits: Limits) -> Finding:
    full = load.carries is not None and load.moves >= limits["full"] * load.carries
    # Flash speed varies tenfold, and full sequential reads are rare: only rotating disks raise the severity.
    spinning = load.carries is not None and load.rotating * limits["disk_rate"] >= limits["severe"] * load.carries
    now = f"; now {human.flow(load.moves)} go through: it is the limit" if full else ""
    alone = load.carries / load.disks if load.carries is not None else None
    return Finding(
        severity=Severity.WARNING if full or spinning else Severity.INFO,
        subject=load.hba.hba,
        cause=f"{_said(load, share)}: all together get {human.flow(alone)} each{now}",
        values=(
            Value("share", "what its disks could move, of what its links carry", share, "ratio", above=limits["share"]),
            Value("disks", "disks behind it", load.disks),
            Value("wants", "what they could move on outer tracks", load.wants, "bytes_per_second"),
            Value("carries", "what the links carry", load.carries, "bytes_per_second"),
            Value("moves", "what goes through now", load.moves, "bytes_per_second"),
        ),
        evidence=cites(
            *(window.cite(load.hba, name) for name in ("speed", "width")),
            *(window.cite(phy, "rate") for phy in _phys(window, load)[:4]),
        ),
        advice=(
            "spread the disks (zones, cables of the enclosure) over more HBAs; rebuild and scrub then speed up",
            f"lspci -vv -s {quoted(load.hba.hba)} | grep -E 'LnkCap|LnkSta'   # a wider or faster slot",
        ),
        refuted_by="a load that never reads most of the disks at once: seeks, not links, are then the limit",
        explains=tuple(f"rebuild-slow:{name}" for name in rebuilds_behind(window, {load.hba.hba})) if full else (),
    )


def rebuilds_behind(window: Window, hbas: Collection[str]) -> tuple[str, ...]:
    """Return the running rebuilds with a device attached to one of these HBAs."""
    behind = {disk for hba in hbas for disk in disks_behind(window, hba)}
    found = []
    for known in rebuild_analyses(window):
        if known.rebuild.state != "running" or known.rebuild.operation not in REPAIRS:
            continue
        names = [*(load.device for load in known.loads), *(known.rebuild.devices or "").split(",")]
        rows = [window.get(BlockDevice, name) for name in names if name]
        if not behind.isdisjoint({*names, *(row.parent for row in rows if row is not None and row.parent)}):
            found.append(known.name)
    return tuple(sorted(found))


HBA_OVERSUBSCRIBED = Rule(
    "hba-oversubscribed",
    "the disks behind an HBA could move more than its links carry",
    Severity.WARNING,
    _check,
    (Hba, DiskPath, BlockDevice),
    (
        Threshold("share", 1.0, "what the disks could move, of what the links carry", "ratio"),
        Threshold("severe", 2.0, "the same of rotating disks alone, that is a warning", "ratio"),
        Threshold("full", 0.8, "share of what the links carry that is in use now, that is a warning", "ratio"),
        Threshold("disk_rate", 265e6, "what a rotating disk moves on its outer tracks", "bytes_per_second"),
        Threshold("flash_rate", 530e6, "what a flash drive moves, by SATA's measure", "bytes_per_second"),
        Threshold("efficiency", 0.85, "share of a PCI Express link that is left for data", "ratio"),
    ),
    either=3,
    covers=(Covers(Hba),),
)
