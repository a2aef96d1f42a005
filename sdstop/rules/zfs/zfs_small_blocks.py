"""ZFS vdevs whose smallest block (ashift) is below the sector size of their medium."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.zfs.readings import Vdev
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.expression import expression
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule

_NOTE = expression(r"block size: (\d{1,9})B configured, (\d{1,9})B native")
"""Note that `zpool status` prints beside such a device (cmd/zpool/zpool_main.c: VDEV_AUX_ASHIFT_TOO_BIG and others)."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    found: dict[str, list[tuple[Vdev, int, int]]] = {}
    for row in window.rows(Vdev).values():
        noted = found.setdefault(row.pool, [])
        sizes = _NOTE.search(row.note or "")
        if sizes is not None and int(sizes[1]) < int(sizes[2]):
            noted.append((row, int(sizes[1]), int(sizes[2])))
    for pool, rows in found.items():
        yield _finding(window, pool, rows) if rows else RuledOut(pool, "zpool status notes no block below 1 sector")


def _finding(window: Window, pool: str, rows: list[tuple[Vdev, int, int]]) -> Finding:
    first, small, native = rows[0]
    return Finding(
        severity=Severity.WARNING,
        subject=pool,
        title=f"BLOCKS BELOW SECTOR SIZE: {len(rows)} devices" if len(rows) > 1 else "BLOCKS BELOW SECTOR SIZE",
        cause=f"{human.listed([first.vdev])} uses blocks of {small} B on sectors of {native} B.",
        impact="A write of part of a sector makes the disk read and rewrite it.",
        values=(
            Value("configured", "smallest block", small, "bytes", below=native),
            Value("native", "sector of the device", native, "bytes"),
            Value("devices", "devices", len(rows)),
        ),
        evidence=cites(window.cite(first)),
        advice=(
            "Plan to make the vdev again: its ashift cannot be changed.",
            run("zpool", "status", *operands(pool)),
            run("lsblk", "-o", "NAME,PHY-SEC,LOG-SEC"),
        ),
        refuted_by="zpool status without a note on block sizes",
    )


ZFS_SMALL_BLOCKS = Rule(
    "zfs-small-blocks",
    "ZFS vdev with blocks below the sector size of its medium (ashift)",
    Severity.WARNING,
    _check,
    (Vdev,),
    covers=(Covers(Vdev, subject="{pool}"),),
    damage=Damage.SPEED,
    standing=True,
    view="disks",
    advice="Plan to make the vdev again: its ashift cannot be changed.",
)
