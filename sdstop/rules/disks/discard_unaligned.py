"""Discards that are not multiples of the unit in which a device frees space: parts of them free nothing."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.block.readings import BlockDevice
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.columns import value_of, values_beside, values_of
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.readings.disk import SECTOR, Disk, sysfs_name


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    moments = window.moments(Disk)
    if len(moments) < 2:
        return
    before, now = moments[0].rows, moments[-1].rows
    counts = zip(now, values_of(now, "discards"), values_beside(before, now, "discards"), strict=True)
    for device, new, old in counts:
        if not new or new - (old or 0) < limits["discards"]:
            continue
        known, row = window.get(BlockDevice, device), now[device]
        if known is None or not known.discard_granularity or device not in before or known.parent is not None:
            continue
        moved = ((row.discard_sectors or 0) - (value_of(before, device, "discard_sectors") or 0)) * SECTOR
        if moved >= 0:
            yield _judge(window, known, row, new - (old or 0), moved)


def _judge(window: Window, device: BlockDevice, row: Disk, count: int, moved: int) -> Verdict:
    """Judge discards by their mean size, and by their sum: a sum of multiples is a multiple."""
    unit = device.discard_granularity or SECTOR
    mean = moved / count
    of = human.quantity(unit, "bytes")
    if moved % unit == 0 and mean >= unit:
        return RuledOut(device.device, f"{human.plural(count, 'discard')}, sum is a multiple of {of}")
    small = mean < unit
    cause = f"{human.plural(count, 'discard')} of {human.quantity(mean, 'bytes')} on average; the unit is {of}."
    return Finding(
        severity=Severity.WARNING if small else Severity.INFO,
        subject=device.device,
        title="DISCARDS BELOW THE DISCARD UNIT" if small else "DISCARDS NOT IN DISCARD UNITS",
        cause=cause,
        impact=(f"Discards below {of} free nothing." if small else f"The parts below {of} at their ends free nothing."),
        values=(
            Value("mean", "mean size of discards", mean, "bytes", below=float(unit) if small else None),
            Value("unit", "discard unit", unit, "bytes"),
            Value("remainder", "remainder of the sum", moved % unit, "bytes"),
            Value("discards", "discards in this window", count),
        ),
        evidence=cites(window.cite(row), window.cite(device, "discard_granularity")),
        advice=(
            "Run fstrim periodically instead; it joins free ranges.",
            run("fstrim", "-v", "/MOUNT", note="once a week instead of the option discard"),
            run("lsblk", "-D", f"/dev/{device.device}", note="discard unit and alignment of each layer"),
            run("cat", f"/sys/block/{sysfs_name(device.device)}/queue/discard_granularity"),
        ),
        refuted_by="space that the device below reports as freed by the same discards",
        harmless_if="later discards free the neighboring ranges",
    )


DISCARD_UNALIGNED = Rule(
    "discard-unaligned",
    "discards that are not multiples of the unit in which the device frees space",
    Severity.WARNING,
    _check,
    (Disk, BlockDevice),
    (Threshold("discards", 100.0, "discards needed to judge"),),
    covers=(),
    damage=Damage.CAPACITY,
    view="disks",
    advice="Run fstrim periodically instead; it joins free ranges.",
)
