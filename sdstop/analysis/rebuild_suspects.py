"""Possible bottlenecks of a rebuild other than its disks: HBAs, memory, processors, and ZFS limits."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from sdstop.analysis.fabric import HbaLoad, disks_behind, loads
from sdstop.analysis.rebuilding import LOAD_SECONDS, RebuildAnalysis
from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.memory.dimms import MemorySocket
from sdstop.collectors.system.node import CpuActivity
from sdstop.collectors.system.processes import StorageThreadActivity
from sdstop.collectors.zfs.readings import Tuning
from sdstop.core import format as human
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.shell import quoted
from sdstop.core.text import added

PASSES = 3
"""Number of times that a rebuilt byte crosses memory: from the HBA, for its checksum, for parity."""
REACHED = 0.75
"""Share of the peak memory bandwidth that programs reach (STREAM measures 0.72 to 0.80)."""
THREAD_SECONDS = 30.0
"""Time span over which threads are averaged; processes are listed every five seconds."""
_PARITY = ("_raid4", "_raid5", "_raid6")
"""Name suffixes of the md threads that compute parity, unless group_thread_cnt adds workers (drivers/md/raid5.c)."""
HBA_FULL, CPU_FULL, CPUS_FULL = 0.8, 0.95, 0.85
"""Utilization at which an HBA's links, one processor and all processors count as saturated."""


class Suspect(Struct, frozen=True):
    """Possible limit of a rebuild. `guilt`: proven, possible, none (checked and excluded) or unknown."""

    what: str
    guilt: str
    advice: str = ""
    readings: tuple[Reading, ...] = ()
    field: str = ""
    """Field of the reading to show, if only one."""


def suspects(
    window: Window, known: RebuildAnalysis, disk_rate: float, flash_rate: float, efficiency: float
) -> list[Suspect]:
    """Return the checked suspects; rates are bytes per second of a disk, `efficiency` is a link's payload share."""
    behind = _hbas(window, known, loads(window, disk_rate, flash_rate, efficiency))
    looks: Sequence[Callable[[], Iterator[Suspect]]] = (
        lambda: _suspended(window, known),
        lambda: _hba(behind),
        lambda: _memory(window, known, behind, (disk_rate, flash_rate)),
        lambda: _processors(window, known),
        lambda: _shares(window, known),
    )
    return [suspect for look in looks for suspect in look()]


def _hbas(window: Window, known: RebuildAnalysis, found: Sequence[HbaLoad]) -> list[HbaLoad]:
    """Return the HBAs that the devices of the rebuild are attached to."""
    names = {load.device for load in known.loads} | {name for name in (known.rebuild.devices or "").split(",") if name}
    rows = [window.get(BlockDevice, name) for name in names]
    names |= {row.parent for row in rows if row is not None and row.parent}
    return [load for load in found if not names.isdisjoint(disks_behind(window, load.hba.hba))]


def _hba(behind: Sequence[HbaLoad]) -> Iterator[Suspect]:
    if not behind:
        yield Suspect("the HBAs: on which ones its disks hang is not known", "unknown")
        return
    told = [load for load in behind if load.carries]
    if len(told) < len(behind):
        yield Suspect("the HBAs: what the links of some carry is not known", "unknown")
    if not told:
        return
    worst = max(told, key=lambda load: load.moves / (load.carries or 1.0))
    share = worst.moves / (worst.carries or 1.0)
    words = f"{human.flow(worst.moves)} go through {worst.hba.hba}, {human.percent(share)}% of what its links carry"
    if share >= HBA_FULL:
        yield Suspect(words, "proven", "spread its disks over more HBAs: see hba-oversubscribed", (worst.hba,))
    elif len(told) == len(behind):
        yield Suspect(f"the HBAs ({words} at most)", "none", readings=(worst.hba,))


def _wanted(
    window: Window, known: RebuildAnalysis, behind: Sequence[HbaLoad], rates: tuple[float, float]
) -> float | None:
    """Return the combined throughput of the disks, capped by their HBAs; None if the disks are unknown."""
    if behind:
        return added(min(load.wants, load.carries or load.wants) for load in behind)
    names = {name for name in (known.rebuild.devices or "").split(",") if name} | {load.device for load in known.loads}
    rows = [window.get(BlockDevice, name) for name in names]
    disks = {row.parent or row.device for row in rows if row is not None}
    kinds = [row.rotational for disk in disks if (row := window.get(BlockDevice, disk)) is not None]
    if not kinds or None in kinds:
        return None
    return added(rates[0] if rotates else rates[1] for rotates in kinds)


def _memory(
    window: Window, known: RebuildAnalysis, behind: Sequence[HbaLoad], rates: tuple[float, float]
) -> Iterator[Suspect]:
    sockets = list(window.rows(MemorySocket).values())
    peaks = [row.peak for row in sockets if row.peak is not None]
    if not sockets or len(peaks) < len(sockets) or any(row.virtual for row in sockets):
        yield Suspect("memory: its channels are not known", "unknown")
        return
    peak = added(peaks)
    moved = PASSES * added(load.bytes for load in known.loads)
    each = _wanted(window, known, behind, rates)
    wanted = None if each is None else PASSES * each
    used, channels = sum(row.used or 0 for row in sockets), sum(row.channels or 0 for row in sockets)
    size = f"{used} of {channels} memory channels have a module, {human.decimal_rate(peak)} at their peak"
    fill = "fill the empty memory channels: see dimm-too-few-channels"
    if moved >= REACHED * peak:
        yield Suspect(
            f"memory: {size}, and this takes {human.decimal_rate(moved)} of it", "proven", fill, tuple(sockets)
        )
    elif wanted is None and used < channels:
        yield Suspect(f"memory: {size}; what its disks could take of that is not known", "unknown")
    elif wanted is not None and wanted > REACHED * peak and used < channels:
        text = f"memory: {size}; all its disks at their rate would take {human.decimal_rate(wanted)}"
        yield Suspect(text, "possible", fill, tuple(sockets))
    else:
        yield Suspect(f"memory ({size})", "none", readings=tuple(sockets))


def _processors(window: Window, known: RebuildAnalysis) -> Iterator[Suspect]:
    moments = window.last(LOAD_SECONDS).moments(CpuActivity)
    means = _means((row.cpu, row.busy) for moment in moments for row in moment.rows.values())
    overall = means.pop("all", None)
    threads = _threads(window, known)
    if overall is None or not moments:
        yield Suspect("the processors: what they do is not known", "unknown")
        return
    newest = moments[-1].rows
    hardest = max(threads, key=lambda thread: thread[1], default=None)
    one = max(means, key=lambda cpu: means[cpu], default=None)
    if hardest is not None and hardest[1] >= CPU_FULL and known.rebuild.kind == "md":
        row, busy = hardest
        text, advice = f"one processor: {row.name} takes {human.percent(busy)}% of it", "top -H; perf top"
        if row.name.endswith(_PARITY):
            text = f"{text}, and computes all parity alone"
            advice = (
                f"cat /sys/block/{quoted(known.name)}/md/group_thread_cnt: with more than 0, others compute "
                "parity for it"
            )
        yield Suspect(text, "proven", advice, (row,))
    elif overall >= CPUS_FULL:
        share = math.fsum(busy for _, busy in threads)
        its = f", {human.percent(share / len(means))}% by its own threads" if threads and means else ""
        rows = (newest["all"], *((hardest[0],) if hardest is not None else ()))
        yield Suspect(f"the processors: {human.percent(overall)}% busy{its}", "possible", "top -H", rows)
    elif one is not None and means[one] >= CPU_FULL and one in newest:
        text = f"one processor: cpu{one} is {human.percent(means[one])}% busy, as with a single thread that does it all"
        yield Suspect(text, "possible", "top -H: whose thread is it?", (newest[one],))
    else:
        most = f", cpu{one} {human.percent(means[one])}%" if one is not None else ""
        its = f", the busiest thread of it, {hardest[0].name}, {human.percent(hardest[1])}%" if hardest else ""
        yield Suspect(f"the processors ({human.percent(overall)}% busy{most}{its})", "none", readings=(newest["all"],))


def _threads(window: Window, known: RebuildAnalysis) -> list[tuple[StorageThreadActivity, float]]:
    """Return the kernel threads that work for a rebuild: latest row and CPU share of each."""
    prefixes = {"md": (f"{known.name}_",), "zfs": ("z_",), "drbd": ("drbd_",)}.get(known.rebuild.kind, ())
    looks = window.last(THREAD_SECONDS).moments(StorageThreadActivity)
    rows = {key: row for look in looks for key, row in look.rows.items() if row.name.startswith(prefixes)}
    means = _means((key, row.busy) for look in looks for key, row in look.rows.items() if key in rows)
    return [(row, means[key]) for key, row in rows.items()] if prefixes else []


def _means(shares: Iterable[tuple[Hashable, float]]) -> dict[Any, float]:
    """Return the mean share by key."""
    by: dict[Any, list[float]] = {}
    for key, share in shares:
        by.setdefault(key, []).append(share)
    return {key: statistics.fmean(values) for key, values in by.items()}


def _suspended(window: Window, known: RebuildAnalysis) -> Iterator[Suspect]:
    tuning = next(iter(window.rows(Tuning).values()), None)
    if known.rebuild.kind == "zfs" and tuning is not None and tuning.scan_suspended:
        advice = "echo 0 > /sys/module/zfs/parameters/zfs_scan_suspend_progress"
        yield Suspect(
            "zfs_scan_suspend_progress tells it to make no progress", "proven", advice, (tuning,), "scan_suspended"
        )


def _shares(window: Window, known: RebuildAnalysis) -> Iterator[Suspect]:
    """Yield ZFS's I/O limits, which may keep disks waiting for requests if no disk is saturated."""
    tuning = next(iter(window.rows(Tuning).values()), None)
    busiest = known.busiest
    if known.rebuild.kind != "zfs":
        return
    if tuning is None:
        yield Suspect("ZFS's limits of I/Os: not known", "unknown")
        return
    if busiest is None or busiest.busy is None or busiest.busy >= 0.9:
        return
    if known.rebuild.operation == "rebuild":
        names = (("zfs_rebuild_vdev_limit", tuning.rebuild_vdev_limit, "bytes"),
                 ("zfs_vdev_rebuild_max_active", tuning.rebuild_max_active, ""))  # fmt: skip
    else:
        names = (("zfs_scan_vdev_limit", tuning.scan_vdev_limit, "bytes"),
                 ("zfs_vdev_scrub_max_active", tuning.scrub_max_active, ""))  # fmt: skip
    told = ", ".join(f"{name} {human.quantity(value, unit)}" for name, value, unit in names if value is not None)
    if told:
        advice = f"try twice {names[1][0]} (/sys/module/zfs/parameters) and see whether it goes faster"
        field = "rebuild_max_active" if known.rebuild.operation == "rebuild" else "scrub_max_active"
        yield Suspect(f"ZFS's limits of I/Os for each disk ({told})", "possible", advice, (tuning,), field)
