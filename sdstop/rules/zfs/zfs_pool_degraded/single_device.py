"""Single devices that a pool needs, beside vdevs that are redundant."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.space.pooling import PoolAnalysis
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window

_CONTENTS = {"special": "metadata", "dedup": "deduplication tables"}


def single_devices(window: Window, whole: PoolAnalysis) -> Iterator[Finding]:
    """Yield a finding for each top-level device without redundancy in a pool whose other vdevs have it.

    `zpool add` refuses such a vdev without -f ("mismatched replication level").
    """
    redundant = [top for top in whole.tops if not top.vdev.leaf]
    for top in whole.tops if redundant else ():
        vdev = top.vdev
        if not vdev.leaf:
            continue
        name = human.safe(vdev.vdev, 20)
        what = _CONTENTS.get(vdev.group, "data")
        yield Finding(
            severity=Severity.WARNING,
            subject=f"{whole.name}/{vdev.vdev}",
            title="SINGLE DEVICE beside redundant vdevs",
            cause=f"{name} has {what} of the pool without a second copy.",
            impact="Without this device all data of the pool is lost.",
            values=(
                Value("group", "group", vdev.group),
                Value("redundant", "vdevs with redundancy", len(redundant), "", of=len(whole.tops)),
            ),
            evidence=cites(window.cite(vdev)),
            advice=(
                "Attach a second device to it, which makes it a mirror.",
                run("zpool", "attach", *operands(whole.name), vdev.path or vdev.vdev, "/dev/disk/by-id/NEW"),
            ),
            refuted_by="a mirror or raidz around the device in zpool status",
            harmless_if="it is a volume of a storage system that is redundant itself",
            damage=Damage.REDUNDANCY,
            standing=True,
            view_subject=whole.name,
        )
