"""ZFS volumes (zvols) whose block size does not fit the pool: RAID-Z and dRAID padding, or partial-block writes."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.space.pooling import PoolAnalysis, disk_of, pool_analyses
from sdstop.collectors.zfs.datasets import DatasetActivity, DatasetSettings
from sdstop.collectors.zfs.readings import Vdev, draid
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.core.text import added
from sdstop.readings.disk import DiskActivity

SECONDS = 60.0
"""Seconds of the window whose requests are judged."""


class BlockLayout(Struct, frozen=True):
    """Layout of a block: `data` disks per group, `parity` additional ones, sectors of `sector` bytes."""

    vdev: str
    data: int
    parity: int
    sector: int
    fixed: bool
    """dRAID: each block takes whole groups. RAID-Z: only the required sectors, to a multiple of parity + 1."""

    def takes(self, block: int) -> int:
        """Return the bytes that a block takes on the disks (module/zfs/vdev_{raidz,draid}.c: *_asize)."""
        sectors = -(-block // self.sector)
        rows = -(-sectors // self.data)
        if self.fixed:
            return rows * (self.data + self.parity) * self.sector
        whole = sectors + rows * self.parity
        unit = self.parity + 1
        return -(-whole // unit) * unit * self.sector

    def share(self, block: int) -> float:
        """Return the data share of a block's allocation, 0..1."""
        return block / self.takes(block)


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    layouts = {whole.name: _layout(window, whole) for whole in pool_analyses(window)}
    for row in sorted(window.rows(DatasetSettings).values(), key=lambda row: row.dataset):
        if not _is_volume(row) or row.volblocksize is None:
            continue
        load = _load(window, row)
        if load is None:
            yield Unchecked("collecting data", row.dataset, gap=Gap.EARLY)
            continue
        if load.read_bytes + load.written_bytes < limits["load"]:
            yield RuledOut(row.dataset, f"{human.quantity(load.written_bytes, 'bytes_per_second')} written")
            continue
        yield _judge(window, row, row.volblocksize, load, layouts.get(row.pool), limits)


def _is_volume(row: DatasetSettings) -> bool:
    return row.kind == "volume" and bool(row.volblocksize)


class _Load(Struct, frozen=True):
    read_bytes: float
    written_bytes: float
    request: float | None
    device: DiskActivity | None


def _load(window: Window, row: DatasetSettings) -> _Load | None:
    """Return the mean of the last minute: the dataset's counters, and the device's for request sizes."""
    recent = window.last(SECONDS)
    disk = [a for m in recent.moments(DiskActivity) if row.device and (a := m.rows.get(row.device)) is not None]
    own = [b for m in recent.moments(DatasetActivity) if (b := m.rows.get((row.pool, row.dataset)))]
    written = [b.written_bytes for b in own if b.written_bytes is not None]
    read = [b.read_bytes for b in own if b.read_bytes is not None]
    writes = added(a.writes_per_second for a in disk)
    request = added(a.write_bytes_per_second for a in disk) / writes if writes else None
    if not written or not read:
        if not disk:
            return None
        read, written = [a.read_bytes_per_second for a in disk], [a.write_bytes_per_second for a in disk]
    return _Load(added(read) / len(read), added(written) / len(written), request, disk[-1] if disk else None)


def _layout(window: Window, whole: PoolAnalysis) -> BlockLayout | None:
    """Return the layout of the pool's first group of disks, None for mirrors and single disks."""
    for top in whole.tops:
        if top.vdev.group != "data":
            continue
        sector = _sector(window, whole.leaves)
        found = draid(top.vdev.vdev)
        if found:
            return BlockLayout(top.vdev.vdev, found.data, found.parity, sector, fixed=True)
        if top.vdev.kind.startswith("raidz"):
            parity = int(top.vdev.kind.removeprefix("raidz") or 1)
            data = len(top.children) - parity
            return BlockLayout(top.vdev.vdev, data, parity, sector, fixed=False) if data > 0 else None
    return None


def _sector(window: Window, leaves: tuple[Vdev, ...]) -> int:
    """Return the largest sector of the disks, which ZFS uses for all; 4096 if unknown."""
    sizes = [disk.physical_block_size or 0 for v in leaves if (disk := disk_of(window, v.device)) is not None]
    return min(max(max(sizes, default=0), 512), 16384) if any(sizes) else 4096


class _Fault(Struct, frozen=True):
    """A mismatch of a volume's block size: with the writes, or with the layout of its disks."""

    title: str
    cause: str
    impact: str
    advice: tuple[Advice, ...]
    values: tuple[Value, ...] = ()


def _judge(
    window: Window, row: DatasetSettings, block: int, load: _Load, layout: BlockLayout | None, limits: Limits
) -> Verdict:
    largest = block * limits["part"]
    part = load.request is not None and load.request <= largest and load.written_bytes >= limits["load"]
    faults = [_partial_writes(block, load.request or 0)] if part else []
    if layout is not None:
        least = limits["share"] * layout.data / (layout.data + layout.parity)
        if layout.share(block) < least:
            faults.append(_lost_space(row, block, layout, least))
    if not faults:
        moved = f"{human.quantity(load.written_bytes, 'bytes_per_second')} written"
        return RuledOut(row.dataset, f"blocks of {human.bytes_(block)} fit the layout; {moved}")
    first, *others = faults
    advice = [each for fault in faults for each in fault.advice]
    files = [s for s in window.where(DatasetSettings, "pool", row.pool) if (s.recordsize or 0) > block]
    if files:
        advice.append(f"Or use a file on a dataset with recordsize={human.bytes_(files[0].recordsize or 0)}.")
    return Finding(
        severity=Severity.WARNING,
        subject=row.dataset,
        title=first.title,
        cause=first.cause,
        impact=first.impact,
        values=(
            Value("volblocksize", "volblocksize", block, "bytes"),
            *(value for fault in faults for value in fault.values),
            *(Value("also", "also found", f"{fault.title}: {fault.cause}") for fault in others),
            Value("request", "mean size of a write", load.request, "bytes", below=largest if part else None),
            Value("written", "written", load.written_bytes, "bytes_per_second", above=limits["load"]),
            Value("read", "read", load.read_bytes, "bytes_per_second"),
        ),
        evidence=cites(
            window.cite(row, "volblocksize"),
            window.cite(load.device) if load.device is not None else None,
            *(window.cite(v) for v in window.rows(Vdev).values() if layout is not None and v.vdev == layout.vdev),
        ),
        advice=tuple(advice),
        refuted_by="equal speed of a volume with larger blocks on the same pool",
        standing=True,
        view_subject=row.device or row.dataset,
    )


def _partial_writes(block: int, request: float) -> _Fault:
    """Return the fault of a volume that gets writes smaller than its blocks; sizes are bytes."""
    return _Fault(
        f"PARTIAL WRITES: {human.bytes_(request)} into {human.bytes_(block)}",
        f"Writes average {human.bytes_(request)}; the volume has blocks of {human.bytes_(block)}.",
        "Each such write reads, changes and rewrites a whole block.",
        ("Match volblocksize to the write size, or write whole aligned blocks.",),
    )


def _lost_space(row: DatasetSettings, block: int, layout: BlockLayout, least: float) -> _Fault:
    """Return the fault of a volume whose blocks are mostly parity and padding; `least` is the share to expect."""
    whole_row, share, takes = layout.data * layout.sector, layout.share(block), layout.takes(block)
    size = _power(whole_row)
    return _Fault(
        f"VOLBLOCKSIZE {human.bytes_(block)}: {human.percent(share)}% data",
        f"On {human.safe(layout.vdev, 20)} each {human.bytes_(block)} block takes {human.bytes_(takes)}.",
        f"{human.percent(share)}% of the space is data; the rest is parity and padding.",
        (
            f"Use a volblocksize of a whole row of data: {human.bytes_(size)}.",
            run(
                "zfs", "create", "-V", "SIZE", "-o", f"volblocksize={size}", *operands(f"{row.pool}/NEW"),
                note="then copy the data; the block size is fixed",
            ),
        ),
        (
            Value("takes", "space of a block", takes, "bytes"),
            Value("share", "data share of a block", share, "ratio", below=least),
            Value("row", "data of a row", whole_row, "bytes"),
        ),
    )  # fmt: skip


def _power(size: int) -> int:
    """Return the next power of two, as required for a volume's block, at most 128 KiB: larger ones need a feature."""
    return min(1 << (size - 1).bit_length(), 128 << 10)


ZVOL_SLOW_PATH = Rule(
    "zvol-slow-path",
    "busy ZFS volume whose block size does not fit its layout or its writes",
    Severity.WARNING,
    _check,
    (DatasetSettings,),
    (
        Threshold("load", 1048576.0, "bytes per second of a busy volume", "bytes_per_second"),
        Threshold("share", 0.67, "data share of a block, relative to that of full rows", "ratio"),
        Threshold("part", 0.5, "mean size of partial writes, relative to the volume's block", "ratio"),
    ),
    view="disks",
    covers=(Covers(DatasetSettings, where=_is_volume),),
    advice="Use a volblocksize of a whole row of data for new volumes.",
)
