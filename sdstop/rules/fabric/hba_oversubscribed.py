"""HBAs whose links cannot carry the combined rate of their disks when all are read sequentially."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sdstop.analysis.fabric.hba_throughput import HbaLoad, disks_behind, loads
from sdstop.analysis.rebuilds.rebuilding import REPAIRS, rebuild_analyses
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.fabric.port_readings import SasPhy
from sdstop.collectors.fabric.readings import DiskPath, Hba
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites, unchecked
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    found = loads(window, limits["disk_rate"], limits["flash_rate"], limits["efficiency"])
    few = window.rows(Hba).keys() - {load.hba.hba for load in found if load.disks >= 2}
    yield from unchecked(sorted(map(str, few)), "fewer than 2 disks behind it", calm=True)
    for load in found:
        share = load.share
        if load.disks < 2:
            continue
        if share is None:
            yield Unchecked("link bandwidth unknown", load.hba.hba)
        elif share > limits["share"]:
            yield _finding(window, load, share, limits)
        elif load.unknown:
            yield Unchecked("type of some disks unknown (rotating or flash)", load.hba.hba)
        else:
            yield RuledOut(load.hba.hba, _said(load, share))


def _said(load: HbaLoad, share: float) -> str:
    return (
        f"{load.disks:g} disks can deliver {human.flow(load.wants)}, its links carry {human.flow(load.carries)} "
        f"({human.percent(share)}%)"
    )


def _phys(window: Window, load: HbaLoad) -> list[SasPhy]:
    """Return the phys of the HBA that are up."""
    hosts = dict.fromkeys(path.host for path in window.where(DiskPath, "hba", load.hba.hba))
    phys = (row for host in hosts if host is not None for row in window.where(SasPhy, "owner", host))
    return [row for row in phys if row.rate is not None]


def _saves_power(hba: Hba) -> bool:
    """Return whether the link runs slower than both ends could, as an idle one may; pcie-degraded judges that."""
    most = [speed for speed in (hba.max_speed, hba.port_max_speed) if speed is not None]
    return hba.speed is not None and bool(most) and hba.speed < min(most)


def _finding(window: Window, load: HbaLoad, share: float, limits: Limits) -> Finding:
    full = load.carries is not None and load.moves >= limits["full"] * load.carries
    # Flash speed varies tenfold, and full sequential reads are rare: only rotating disks raise the severity.
    spinning = load.carries is not None and load.rotating * limits["disk_rate"] >= limits["severe"] * load.carries
    spinning = spinning and not _saves_power(load.hba)
    alone = load.carries / load.disks if load.carries is not None else None
    return Finding(
        severity=Severity.WARNING if full or spinning else Severity.INFO,
        subject=load.hba.hba,
        title="HBA SATURATED" if full else f"HBA OVERSUBSCRIBED: disks {human.percent(share)}% of link",
        cause=f"{load.disks:g} disks can deliver {human.flow(load.wants)}, the links {human.flow(load.carries)}.",
        impact=(
            f"{human.flow(load.moves)} now: the HBA limits each disk to {human.flow(alone)}."
            if full
            else f"Sequential load on all disks gets {human.flow(alone)} per disk."
        ),
        values=(
            Value("share", "rate of the disks, of the links", share, "ratio", above=limits["share"]),
            Value("disks", "disks behind it", load.disks),
            Value("wants", "rate of the disks (outer tracks)", load.wants, "bytes_per_second"),
            Value("carries", "rate of the links", load.carries, "bytes_per_second"),
            Value("moves", "rate now", load.moves, "bytes_per_second", of=load.carries),
        ),
        evidence=cites(
            *(window.cite(load.hba, name) for name in ("speed", "width")),
            *(window.cite(phy, "rate") for phy in _phys(window, load)[:4]),
        ),
        advice=(
            "Spread the disks over more HBAs (zoning, enclosure cabling).",
            "Rebuilds and scrubs get faster.",
            run("lspci", "-vv", "-s", load.hba.hba, note="a wider or faster slot").pipe("grep", "-E", "LnkCap|LnkSta"),
        ),
        refuted_by="more through this HBA than its links carry by this calculation",
        harmless_if="the load never reads most disks at once: seeks limit it then",
        standing=not full,
        explains=tuple(f"rebuild-slow:{name}" for name in rebuilds_behind(window, {load.hba.hba})) if full else (),
    )


def rebuilds_behind(window: Window, hbas: Collection[str]) -> tuple[str, ...]:
    """Return the running rebuilds with a device attached to one of these HBAs."""
    rebuilds = window.once("running rebuilds by disk", lambda: _rebuilds(window))
    found = {name for hba in hbas for disk in disks_behind(window, hba) for name in rebuilds.get(disk, ())}
    return tuple(sorted(found))


def _rebuilds(window: Window) -> dict[str, list[str]]:
    """Return the names of the running rebuilds by device, and by disk of a partition."""
    found: dict[str, list[str]] = {}
    for known in rebuild_analyses(window):
        if known.rebuild.state != "running" or known.rebuild.operation not in REPAIRS:
            continue
        names = [*(load.device for load in known.loads), *(known.rebuild.devices or "").split(",")]
        rows = [window.get(BlockDevice, name) for name in names if name]
        for name in {*names, *(row.parent for row in rows if row is not None and row.parent)}:
            found.setdefault(name, []).append(known.name)
    return found


HBA_OVERSUBSCRIBED = Rule(
    "hba-oversubscribed",
    "disks behind an HBA that could exceed its link bandwidth",
    Severity.WARNING,
    _check,
    (Hba, DiskPath, BlockDevice),
    (
        Threshold("share", 1.0, "rate of all disks, of the links", "ratio"),
        Threshold("severe", 2.0, "rate of the rotating disks, of the links, that is a warning", "ratio"),
        Threshold("full", 0.8, "use of the links that is a warning", "ratio"),
        Threshold("disk_rate", 265e6, "rate of a rotating disk on its outer tracks", "bytes_per_second"),
        Threshold("flash_rate", 530e6, "rate of a flash drive (SATA)", "bytes_per_second"),
        Threshold("efficiency", 0.85, "payload share of a PCI Express link", "ratio"),
    ),
    either=3,
    covers=(Covers(Hba),),
    view="fabric",
    advice="Spread the disks over more HBAs (zoning, enclosure cabling).",
)
