"""Stripe members that are far slower than their peers at an equal share of I/O."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from sdstop.analysis.laggard import FEWEST, Wait
from sdstop.analysis.stripe import StripePattern
from sdstop.analysis.striped import Striped, is_striped, striped_arrays, thresholds
from sdstop.collectors.md.readings import Array
from sdstop.core import format as human
from sdstop.core.finding import Covers, Finding, Limits, Rule, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted
from sdstop.readings.disk import DiskActivity


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for striped in striped_arrays(window, limits):
        name = striped.array.array
        spread = striped.verdict
        if spread is None:
            yield Unchecked(striped.unchecked, name)
        elif spread.wait is not None and spread.kind is StripePattern.SLOW:
            yield _slow(window, striped, spread.wait, limits)
        elif (disks := sum(map(len, striped.columns))) < FEWEST:
            yield Unchecked(f"{disks} members are too few to tell which of them is slow", name, calm=True)
        else:
            yield RuledOut(name, _good(striped, limits))


def _good(striped: Striped, limits: Limits) -> str:
    waits: dict[str, float] = {}
    for column in striped.seconds[-1].columns:
        for member in column.members:
            if member.write_wait is not None or member.read_wait is not None:
                waits[member.name] = max(member.write_wait or 0.0, member.read_wait or 0.0)
    if not waits:
        return "no member was asked for anything in the last reading"
    slowest = max(waits, key=waits.__getitem__)
    peers = median([wait for disk, wait in waits.items() if disk != slowest] or [0.0])
    times = limits["slow_of_three" if len(waits) <= FEWEST else "slow_wait"]
    if waits[slowest] >= times * peers > 0:
        return (
            f"{slowest} waited {human.wait(waits[slowest])} ms at the last reading, its peers {human.wait(peers)} ms; "
            "but not in most readings, not at an equal share of I/O, or with no more work on each request than a seek "
            "takes"
        )
    return (
        f"no member waits {human.number(times)} times as long as its peers at an equal share; the "
        f"longest wait of the last reading is {human.wait(waits[slowest])} ms ({slowest})"
    )


def _slow(window: Window, striped: Striped, wait: Wait, limits: Limits) -> Finding:
    name = striped.array.array
    times = wait.seconds / wait.peers if wait.peers else float("inf")
    row = window.get(DiskActivity, wait.disk)
    busy = row.busy if row is not None else None
    return Finding(
        severity=Severity.CRITICAL if times >= 3 * limits["slow_wait"] else Severity.WARNING,
        subject=f"{name}/{wait.disk}",
        summary=f"{wait.disk} answers {wait.requests} in {human.wait(wait.seconds)} ms, its peers in "
        f"{human.wait(wait.peers)} ms, at an equal share of I/O: the array waits for it",
        values=(
            Value("wait", f"wait of {wait.requests}", wait.seconds, "seconds"),
            Value("peers", "the peers' median", wait.peers, "seconds"),
            Value("times", "times as long", times, "", limits["slow_wait"]),
            Value("busy", "busy", busy, "ratio"),
        ),
        evidence=cites(window.cite(row) if row is not None else None, window.cite(striped.array)),
        advice=(
            f"smartctl -x /dev/{quoted(wait.disk)}   # pending or reallocated sectors, CRC errors, recovery time",
            f"journalctl -k | grep -w {operand(wait.disk)}   # resets, slow link, timeouts",
            (
                f"if it stays: mdadm /dev/{quoted(name)} --replace /dev/{quoted(wait.disk)}"
                "   # needs a spare, keeps redundancy"
            ),
        ),
        refuted_by=(
            f"a larger share of I/O than its peers' (then {wait.disk} is hot, not slow), or another load on the same "
            "disk (other partitions, a SMART self test)"
        ),
    )


SLOW_STRIPE_MEMBER = Rule(
    "slow-stripe-member",
    "one stripe member answers far slower than its peers at an equal share of I/O",
    Severity.CRITICAL,
    _check,
    (Array, DiskActivity),
    thresholds("slow_wait", "slow_of_three", "slow_service", "slow_excess", "slow_excess_flash", "equal_ios"),
    explains=("rebuild-slow", "stripe-convoy"),
    covers=(Covers(Array, where=is_striped),),
)
