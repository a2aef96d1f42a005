"""Volumes of RAID controllers that lack a disk or are offline, and controllers that report a fault of their own."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.health.raid_readings import RaidController, RaidDisk, RaidVolume
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for row in window.rows(RaidVolume).values():
        yield _judged(window, row)
    for controller in window.rows(RaidController).values():
        if controller.healthy is False and not _is_explained(window, controller):
            yield _at_fault(window, controller)


def _is_explained(window: Window, row: RaidController) -> bool:
    """Return whether a volume, a disk or the battery of a controller is the cause of its own state."""
    disks = window.where(RaidDisk, "controller", row.controller)
    volumes = window.where(RaidVolume, "controller", row.controller)
    is_bad = any(disk.good is False or disk.predicted or disk.alert for disk in disks)
    return is_bad or row.protected is False or any(volume.whole is False for volume in volumes)


def _at_fault(window: Window, row: RaidController) -> Finding:
    state = human.safe(row.state or "", 30)
    slot = row.controller.removeprefix("slot ")
    return Finding(
        severity=Severity.CRITICAL if "fail" in state.lower() else Severity.WARNING,
        subject=row.controller,
        title="RAID CONTROLLER REPORTS A FAULT",
        cause=f"The controller reports its own state as {state}.",
        impact="Volumes can be lost or slow; none of them shows the fault yet.",
        values=(
            Value("state", "state", row.state),
            Value("model", "model", row.model),
            Value("firmware", "firmware", row.firmware),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Read the events of the controller.",
            run("ssacli", "ctrl", f"slot={slot}", "show", "detail")
            if slot != row.controller
            else run("storcli64", f"/{row.controller}", "show", "events", "filter=warning,critical,fatal"),
        ),
        refuted_by="the state Optimal or OK",
        damage=Damage.AVAILABILITY,
    )


def _judged(window: Window, row: RaidVolume) -> Verdict:
    state = human.safe(row.state or "", 30)
    if row.state is None:
        return Unchecked("state not reported", row.volume)
    if row.whole is None:
        return Unchecked(f'unknown state "{state}"', row.volume, gap=Gap.FAULTY)
    if row.whole and row.damaged:
        return _damaged(window, row)
    if row.whole:
        return RuledOut(row.volume, f"{human.safe(row.level or 'volume', 20)}, state {state}")
    disks = window.where(RaidDisk, "volume", row.volume)
    bad = [disk.disk for disk in disks if disk.good is False]
    rebuilt = [disk.disk for disk in disks if disk.rebuilding]
    rebuilds = f" {human.listed(rebuilt, 1, 16)} is being rebuilt." if rebuilt else ""
    slot = row.controller.removeprefix("slot ")
    return Finding(
        severity=Severity.CRITICAL if row.lost or not rebuilt else Severity.WARNING,
        subject=row.volume,
        title="RAID VOLUME OFFLINE" if row.lost else "RAID VOLUME DEGRADED",
        cause=f"The controller reports the state {state}.",
        impact=(
            "The data of the volume is inaccessible."
            if row.lost
            else "Another failed disk can lose the data of the volume."
        ),
        values=(
            Value("state", "state", row.state),
            Value("level", "level", row.level),
            Value("failed", "failed disks", ", ".join(bad) or None),
            Value("rebuilding", "disks being rebuilt", rebuilds.strip() or None),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Let the rebuild finish." if rebuilt else "Replace the failed disk; the controller then rebuilds.",
            run("ssacli", "ctrl", f"slot={slot}", "show", "config")
            if slot != row.controller
            else run("storcli64", f"/{row.controller}/eall/sall", "show", "rebuild"),
        ),
        refuted_by="the state Optl or OK",
        damage=Damage.AVAILABILITY if row.lost else None,
    )


def _damaged(window: Window, row: RaidVolume) -> Finding:
    slot = row.controller.removeprefix("slot ")
    return Finding(
        severity=Severity.WARNING,
        subject=row.volume,
        title="VOLUME WITH UNREADABLE BLOCKS",
        cause="The controller found blocks that no disk of the volume could restore.",
        impact="Reads of these blocks fail; their data is lost unless a backup exists.",
        values=(Value("state", "state", row.state), Value("level", "level", row.level)),
        evidence=cites(window.cite(row)),
        advice=(
            "Restore the files on these blocks; blocks that are written are good again.",
            run("ssacli", "ctrl", f"slot={slot}", "show", "config", "detail")
            if slot != row.controller
            else run("storcli64", f"/{row.controller}", "show", "events", "filter=warning,critical,fatal"),
        ),
        refuted_by="a scan of all blocks without an error after they were written again",
        damage=Damage.DATA,
    )


RAID_VOLUME_DEGRADED = Rule(
    "raid-volume-degraded",
    "volume of a RAID controller that lacks a disk or is offline, or controller with a fault",
    Severity.CRITICAL,
    _check,
    (RaidVolume,),
    instead=(RaidController,),
    explains=("slow-device", "slow-stripe-member"),
    many="are degraded",
    damage=Damage.REDUNDANCY,
    view="disks",
    advice="Replace the failed disk; the controller then rebuilds.",
)
