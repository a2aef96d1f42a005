"""A btrfs has no space for another chunk, and its metadata, or its data, is full: writes fail although df has some.

Space is given to chunks of data or of metadata. A file system whose devices are all given to chunks of data cannot make
one of metadata, so that files cannot even be deleted (btrfs-progs Documentation/btrfs-balance.rst).
"""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.filesystems.readings import BtrfsSpace
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold

_GIB = 1 << 30
"""Bytes."""
_SMALL = 50 * _GIB
"""Size up to which chunks of metadata have 256 MiB, above it 1 GiB (fs/btrfs/volumes.c: init_alloc_chunk_ctl)."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(BtrfsSpace).values():
        yield _judged(window, row, limits)


def _judged(window: Window, row: BtrfsSpace, limits: Limits) -> Verdict:
    share = _share(row)
    used = f"metadata {human.percent(share)}% used" if share is not None else "use of metadata unknown"
    room = row.room if row.room is not None else row.unallocated
    if room is None:
        full = share is not None and share >= limits["near"]
        why = f"{used}; unallocated space not shown"
        return Unchecked(why, row.name, calm=not full, gap=Gap.FAULTY if full else Gap.OPEN)
    if room >= _chunk(row):
        return RuledOut(row.name, f"{human.quantity(row.unallocated, 'bytes')} unallocated, {used}")
    data = row.data_used / row.data if row.data and row.data_used is not None else None
    if share is None:
        return Unchecked(f"no space for another chunk; {used}", row.name, gap=Gap.FAULTY)
    if share >= limits["full"] or row.reserve_used:
        return _finding(window, row, Severity.CRITICAL, "METADATA FULL: writes fail", share, data, limits)
    if row.told is not None and data is not None and data >= limits["full"]:
        return _finding(window, row, Severity.CRITICAL, "DATA FULL: writes fail", share, data, limits)
    if share >= limits["near"]:
        return _finding(window, row, Severity.WARNING, "METADATA NEARLY FULL", share, data, limits)
    return _finding(window, row, Severity.INFO, "NO UNALLOCATED SPACE", share, data, limits)


def _chunk(row: BtrfsSpace) -> int:
    """Return the size of a chunk of metadata on a device: at most a tenth of the devices."""
    chunk = _GIB if row.size is None or row.size > _SMALL else _GIB // 4
    return min(chunk, row.size // 10 if row.size is not None else chunk) * (row.copies or 1)


def _share(row: BtrfsSpace) -> float | None:
    """Return the share of metadata that is in use, with the reserve, which only deletions get."""
    if not row.metadata or row.metadata_used is None:
        return None
    return min((row.metadata_used + (row.reserve or 0)) / row.metadata, 1.0)


def _finding(
    window: Window,
    row: BtrfsSpace,
    severity: Severity,
    title: str,
    share: float,
    data: float | None,
    limits: Limits,
) -> Finding:
    left = human.quantity(row.room if row.room is not None else row.unallocated, "bytes")
    is_data = title.startswith("DATA")
    of = f"data {human.percent(data)}%" if is_data else f"metadata {human.percent(share)}%"
    return Finding(
        severity=severity,
        subject=row.name,
        title=title,
        cause=f"{left} to allocate, too little for another chunk; {of} used.",
        impact="Writes can fail with ENOSPC although df shows space."
        if severity is not Severity.INFO
        else "Once the metadata is full, writes fail although df shows space.",
        values=(
            Value("unallocated", "unallocated space", row.unallocated, "bytes", below=_chunk(row)),
            Value("room", "of it usable for metadata", row.room, "bytes"),
            Value("metadata", "metadata in use, with the reserve", share, "ratio",
                  above=limits["near"] if share >= limits["near"] else None),
            Value("data", "data in use", data, "ratio"),
            Value("reserve_used", "global reserve in use", row.reserve_used, "bytes"),
            Value("size", "size of all devices", row.size, "bytes"),
        ),
        evidence=cites(window.cite(row)),
        advice=tuple(_advice(row, is_full=is_data)),
        refuted_by="1 GiB of unallocated space on each device in btrfs filesystem usage",
        harmless_if="the kernel frees empty chunks soon" if severity is Severity.INFO else "",
        standing=severity is Severity.INFO,
    )  # fmt: skip


def _advice(row: BtrfsSpace, *, is_full: bool) -> Iterator[Advice]:
    point = row.filesystem if row.filesystem.startswith("/") else "/MOUNT"
    if is_full:
        yield "Delete data or snapshots, or add a device."
    else:
        yield "Give chunks of data that are nearly empty back."
        for share in (0, 5, 20):
            yield run("btrfs", "balance", "start", f"-dusage={share}", *operands(point))
    yield run("btrfs", "filesystem", "usage", *operands(point))
    yield run("btrfs", "device", "add", "/dev/DEVICE", *operands(point), note="if no balance finds space")


BTRFS_UNALLOCATED = Rule(
    "btrfs-unallocated",
    "btrfs without space for another chunk, and with full metadata or data",
    Severity.CRITICAL,
    _check,
    (BtrfsSpace,),
    (
        Threshold("near", 0.85, "share of the metadata in use with the global reserve, warning", "ratio"),
        Threshold("full", 0.97, "share of the metadata or data in use, critical", "ratio"),
    ),
    damage=Damage.CAPACITY,
    view="volumes",
    advice="Give chunks of data that are nearly empty back.",
)
