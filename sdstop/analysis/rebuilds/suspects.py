"""Possible bottlenecks of a rebuild other than its disks: HBAs, memory, processors, and ZFS limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from sdstop.analysis.fabric.hba_throughput import HbaLoad, disks_behind, loads
from sdstop.analysis.rebuilds.rebuilding import LOAD_SECONDS, RebuildAnalysis
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.memory.readings import MemorySocket
from sdstop.collectors.system.readings import CpuActivity, StorageThreadActivity
from sdstop.collectors.zfs.datasets import Tuning
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.averages import fmean
from sdstop.core.history import Window
from sdstop.core.model import Reading
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
    """Possible limit of a rebuild. `guilt`: proven, possible, none (checked and excluded) or unknown.

    `limit` is the same in at most 52 characters, as the end of a sentence: `Limited by ...`.
    """

    what: str
    guilt: str
    limit: str = ""
    advice: tuple[Advice, ...] = ()
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
        yield Suspect("HBAs: those of its disks unknown", "unknown")
        return
    told = [load for load in behind if load.carries]
    if len(told) < len(behind):
        yield Suspect("HBAs: capacity of some links unknown", "unknown")
    if not told:
        return
    worst = max(told, key=lambda load: load.moves / (load.carries or 1.0))
    share = worst.moves / (worst.carries or 1.0)
    words = f"HBA {worst.hba.hba}: {human.flow(worst.moves)}, {human.percent(share)}% of its links"
    if share >= HBA_FULL:
        spread = "Spread the disks over more HBAs (see hba-oversubscribed)."
        yield Suspect(words, "proven", words, (spread,), (worst.hba,))
    elif len(told) == len(behind):
        yield Suspect(f"HBAs (busiest {words})", "none", readings=(worst.hba,))


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
        yield Suspect("memory: channels unknown", "unknown")
        return
    peak = added(peaks)
    moved = PASSES * added(load.bytes for load in known.loads)
    each = _wanted(window, known, behind, rates)
    wanted = None if each is None else PASSES * each
    used, channels = sum(row.used or 0 for row in sockets), sum(row.channels or 0 for row in sockets)
    size = f"{used} of {channels} memory channels filled, {human.decimal_rate(peak)} peak"
    fill = ("Fill the empty memory channels (see dimm-too-few-channels).",)
    if moved >= REACHED * peak:
        text = f"memory: {size}; the rebuild moves {human.decimal_rate(moved)}"
        limit = f"memory, {human.decimal_rate(moved)} of {human.decimal_rate(peak)} peak"
        yield Suspect(text, "proven", limit, fill, tuple(sockets))
    elif wanted is None and used < channels:
        yield Suspect(f"memory: {size}; demand of its disks unknown", "unknown")
    elif wanted is not None and wanted > REACHED * peak and used < channels:
        text = f"memory: {size}; full speed takes {human.decimal_rate(wanted)}"
        limit = f"memory, full speed takes {human.decimal_rate(wanted)} of {human.decimal_rate(peak)}"
        yield Suspect(text, "possible", limit, fill, tuple(sockets))
    else:
        yield Suspect(f"memory ({size})", "none", readings=tuple(sockets))


def _processors(window: Window, known: RebuildAnalysis) -> Iterator[Suspect]:
    moments = window.last(LOAD_SECONDS).moments(CpuActivity)
    means = _means((row.cpu, row.busy) for moment in moments for row in moment.rows.values())
    overall = means.pop("all", None)
    threads = _threads(window, known)
    newest = moments[-1].rows if moments else {}
    if overall is None or "all" not in newest:
        yield Suspect("CPUs: load unknown", "unknown")
        return
    hardest = max(threads, key=lambda thread: thread[1], default=None)
    one = max(means, key=lambda cpu: means[cpu], default=None)
    if hardest is not None and hardest[1] >= CPU_FULL and known.rebuild.kind == "md":
        row, busy = hardest
        limit = f"one CPU: {human.safe(row.name, 16)} takes {human.percent(busy)}% of it"
        text, advice = limit, (_WHOSE, run("top", "-H"))
        if row.name.endswith(_PARITY):
            text = f"{text}, and computes all parity alone"
            advice = (
                "Let more threads compute parity: group_thread_cnt above 0.",
                run("cat", f"/sys/block/{known.name.replace('/', '!')}/md/group_thread_cnt"),
            )
        yield Suspect(text, "proven", limit, advice, (row,))
    elif overall >= CPUS_FULL:
        share = math.fsum(busy for _, busy in threads)
        its = f", {human.percent(share / len(means))}% by its own threads" if threads and means else ""
        rows = (newest["all"], *((hardest[0],) if hardest is not None else ()))
        limit = f"CPUs: {human.percent(overall)}% busy"
        yield Suspect(f"{limit}{its}", "possible", limit, (_WHOSE, run("top", "-H")), rows)
    elif one is not None and means[one] >= CPU_FULL and one in newest:
        limit = f"one CPU: cpu{one} {human.percent(means[one])}% busy"
        yield Suspect(f"{limit}, as by a single thread", "possible", limit, (_WHOSE, run("top", "-H")), (newest[one],))
    else:
        most = f", cpu{one} {human.percent(means[one])}%" if one is not None else ""
        its = f", its busiest thread {hardest[0].name} {human.percent(hardest[1])}%" if hardest else ""
        yield Suspect(f"CPUs ({human.percent(overall)}% busy{most}{its})", "none", readings=(newest["all"],))


_WHOSE = "Find the thread that uses the CPU."


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
    return {key: fmean(values) for key, values in by.items()}


def _suspended(window: Window, known: RebuildAnalysis) -> Iterator[Suspect]:
    tuning = next(iter(window.rows(Tuning).values()), None)
    if known.rebuild.kind == "zfs" and tuning is not None and tuning.scan_suspended:
        limit = "zfs_scan_suspend_progress: the scan is suspended"
        advice = ("Resume the scan.", run("echo", "0", into="/sys/module/zfs/parameters/zfs_scan_suspend_progress"))
        yield Suspect(limit, "proven", limit, advice, (tuning,), "scan_suspended")


def _shares(window: Window, known: RebuildAnalysis) -> Iterator[Suspect]:
    """Yield ZFS's I/O limits, which may keep disks waiting for requests if no disk is saturated."""
    tuning = next(iter(window.rows(Tuning).values()), None)
    busiest = known.busiest
    if known.rebuild.kind != "zfs":
        return
    if tuning is None:
        yield Suspect("ZFS limits on I/Os: unknown", "unknown")
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
        parameter = names[1][0]
        advice = (
            f"Try double {parameter} and compare the speed.",
            run("cat", f"/sys/module/zfs/parameters/{parameter}"),
        )
        field = "rebuild_max_active" if known.rebuild.operation == "rebuild" else "scrub_max_active"
        limit = "ZFS limits on I/Os for each disk"
        yield Suspect(f"{limit} ({told})", "possible", limit, advice, (tuning,), field)
