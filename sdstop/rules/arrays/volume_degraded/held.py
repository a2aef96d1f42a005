"""Raid volumes of device mapper that lack no member and synchronize nothing, though they have to or may have to."""

from __future__ import annotations

from sdstop.collectors.devicemapper.volume_readings import MappedRaidState
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import SIGN, Damage, Finding, Gap, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window

FROZEN = 10.0
"""Seconds for which a volume is frozen without a reason to worry: LVM freezes it while it changes images."""
WAITING = 30.0
"""Seconds for which the first synchronization may wait for its turn."""


def frozen(window: Window, row: MappedRaidState) -> Verdict:
    """Judge a whole volume that starts neither rebuilds nor checks."""
    lasting = window.lasting(MappedRaidState, row.mapping, lambda earlier: earlier.action == "frozen")
    if lasting < FROZEN:
        gap = Gap.SIGNS if lasting >= SIGN else Gap.OPEN
        return Unchecked("all members in sync, but synchronization is frozen", row.volume, gap=gap)
    return Finding(
        severity=Severity.WARNING,
        subject=row.volume,
        title="REBUILDS AND CHECKS FROZEN",
        cause=f"The volume has been frozen for at least {human.duration(lasting)}; its members are in sync.",
        impact="No failed member is replaced, and no check runs.",
        values=(Value("lasting", "frozen for, minimum", lasting, "seconds", above=FROZEN),),
        evidence=cites(window.cite(row)),
        advice=(
            "Allow rebuilds again, unless LVM is changing the volume.",
            run("ps", "axo", "pid,etime,args", note="lvconvert, lvchange").pipe("grep", "lv"),
            run("dmsetup", "message", *operands(row.mapping), "0", "idle"),
        ),
        refuted_by="another action in dmsetup status",
        harmless_if="an administrator froze it",
        lasting=lasting,
    )


def unsynchronized(window: Window, row: MappedRaidState) -> Verdict:
    """Judge a volume whose first synchronization has not ended and does not run."""
    done = human.done(row.done / row.total if row.done is not None and row.total else None)
    said = f"first synchronization at {done}% and not running ({row.action})"
    lasting = window.lasting(
        MappedRaidState, row.mapping, lambda earlier: earlier.action == row.action and earlier.done == row.done
    )
    if lasting < WAITING:
        return Unchecked(said, row.volume, gap=Gap.SIGNS if lasting >= SIGN else Gap.OPEN)
    return Finding(
        severity=Severity.WARNING,
        subject=row.volume,
        title="FIRST SYNC NOT RUNNING",
        cause=f"At {done}%, and {row.action} for at least {human.duration(lasting)}.",
        impact="The members do not have the same data: a failure can lose data.",
        values=(
            Value("lasting", "not running for, minimum", lasting, "seconds", above=WAITING),
            Value("action", "action", row.action),
            Value("health", "health by member (A in sync)", row.health),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Start the synchronization.",
            run("lvchange", "--syncaction", "repair", *operands(row.volume))
            if row.volume != row.mapping
            else run("dmsetup", "message", *operands(row.mapping), "0", "resync"),
        ),
        refuted_by="the action resync in dmsetup status",
        harmless_if="a newer volume waits for the synchronization of another one on its disks",
        damage=Damage.REDUNDANCY,
        lasting=lasting,
    )
