"""Disks that the kernel took offline, holds back, or refuses to write to."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.aoe.readings import AoeTarget
from sdstop.collectors.block.devices import BlockDevice
from sdstop.core import format as human
from sdstop.core.finding import (
    Covers,
    Finding,
    Gap,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Unchecked,
    Value,
    Verdict,
    cites,
    passed,
    unchecked,
)
from sdstop.core.history import Window
from sdstop.core.joins import ThingKind
from sdstop.core.shell import operand, quoted

_GOOD = frozenset({"running", "live"})
_BAD = {
    "offline": (Severity.CRITICAL, "every request to it fails"),
    "transport-offline": (Severity.CRITICAL, "its port is gone, and every request to it fails"),
    "cancel": (Severity.CRITICAL, "it is being removed"),
    "deleted": (Severity.CRITICAL, "it was removed"),
    "dead": (Severity.CRITICAL, "its controller is dead, and every request to it fails"),
    "blocked": (Severity.WARNING, "its transport is gone for now, and requests to it wait"),
    "created-blocked": (Severity.WARNING, "its transport is gone for now, and it is not set up"),
    "quiesce": (Severity.WARNING, "its driver holds requests to it back"),
}
"""States (kernel drivers/scsi/scsi_sysfs.c: sdev_states) in which a disk serves nothing, and their meaning."""
_ELSEWHERE = frozenset({"new", "resetting", "connecting", "deleting", "deleting (no IO)"})
"""States of NVMe controllers that session-down judges by how long they last."""
_WRITTEN = frozenset({ThingKind.ARRAY, ThingKind.POOL})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge each run of disks once: nothing changes between runs, and disks are many."""
    yield from window.of_run(BlockDevice, ("disk-offline", *limits.values()), lambda: list(_said(window)))
    for target in window.rows(AoeTarget).values():
        yield _aoe(window, target)


def _said(window: Window) -> Iterator[Verdict]:
    good: list[str] = []
    elsewhere: list[str] = []
    for row in window.rows(BlockDevice).values():
        if row.state in _BAD:
            yield _found(window, row, *_BAD[row.state])
        elif row.state in _ELSEWHERE:
            elsewhere.append(row.device)
        elif row.state is not None and row.state not in _GOOD:
            yield Unchecked(f'unknown state "{human.safe(row.state, 40)}"', row.device, gap=Gap.FAULTY)
        elif row.read_only and row.parent is None and (holder := _holder(window, row)):
            yield _refuses(window, row, holder)
        elif row.state is not None:
            good.append(row.device)
    yield from passed(good, f"{human.plural(len(good), 'disk')} running")
    yield from unchecked(elsewhere, "its controller is judged by session-down", calm=True)


def _aoe(window: Window, target: AoeTarget) -> Verdict:
    """Judge an AoE disk, which the driver calls down after minutes without an answer."""
    words = set((target.state or "").split(","))
    if words == {"up"}:
        return RuledOut(target.device, f"its target is up, {target.payload or '?'} bytes a frame")
    if not words & {"up", "down"}:
        said = human.safe(target.state or "", 40)
        return Unchecked(f'unknown state "{said}"' if said else "its state is not readable", target.device)
    return Finding(
        severity=Severity.CRITICAL,
        subject=target.device,
        cause=f"{target.state}: the AoE target does not answer; requests to it fail or wait",
        values=(
            Value("state", "state", target.state),
            Value("target", "target", target.mac),
            Value("interfaces", "interfaces", target.interfaces),
        ),
        evidence=cites(window.cite(target, "state")),
        advice=(
            "aoe-stat   # which interfaces reach which targets",
            "journalctl -k | grep -i aoe | tail -40   # when it was declared down",
        ),
        refuted_by="the state up",
    )


def _holder(window: Window, row: BlockDevice) -> str:
    """Return the array or pool that writes to a disk, "" for none."""
    thing = window.topology.find(row.device, (ThingKind.DEVICE,))
    above = window.topology.above(thing) if thing is not None else ()
    return next((each.name for each in above if each.kinds & _WRITTEN), "")


def _found(window: Window, row: BlockDevice, severity: Severity, meaning: str) -> Finding:
    name = row.device.rpartition("/")[2]
    return Finding(
        severity=severity,
        subject=row.device,
        cause=f"{row.state}: {meaning}",
        values=(Value("state", "state", row.state), Value("model", "model", row.model)),
        evidence=cites(window.cite(row, "state")),
        advice=(
            f"journalctl -k | grep -w {operand(name)} | tail -40   # the disk, its cable, or the port?",
            f"smartctl -x /dev/{quoted(row.device)}",
        ),
        refuted_by="the state running or live",
    )


def _refuses(window: Window, row: BlockDevice, holder: str) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=row.device,
        cause=f"the disk is write-protected, and {holder} writes to it",
        values=(Value("read_only", "writes refused", row.read_only),),
        evidence=cites(window.cite(row, "read_only")),
        advice=(
            f"journalctl -k | grep -w {operand(row.device.rpartition('/')[2])}   # many flash drives do it at the end",
            f"blockdev --getro /dev/{quoted(row.device)}; smartctl -x /dev/{quoted(row.device)}",
        ),
        refuted_by="0 in its file ro",
    )


DISK_OFFLINE = Rule(
    "disk-offline",
    "a disk is offline, its AoE target is down, or it is write-protected below an array or pool",
    Severity.CRITICAL,
    _check,
    (BlockDevice,),
    covers=(Covers(BlockDevice, where=lambda row: row.state is not None),),
    many="are offline",
)
