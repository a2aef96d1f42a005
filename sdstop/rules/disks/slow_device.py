"""Devices slower than their peers (legs, vdevs, OSDs, paths, equal disks), or far slower than any healthy disk."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.disks.overlong import LEAST, Overlong, overlong, signs
from sdstop.analysis.disks.saturation import BUSY
from sdstop.analysis.members.column import SLOW, thresholds
from sdstop.analysis.members.judged_group import is_mirror
from sdstop.analysis.members.peer_groups import judged_groups
from sdstop.collectors.md.readings import Array
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Finding, Gap, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.readings.disk import DiskActivity
from sdstop.rules.arrays.slow_stripe_member import verdicts

_ALONE = frozenset({"longest", "longest_nvme"})
"""Thresholds of devices without peers."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    groups = judged_groups(window, {name: value for name, value in limits.items() if name not in _ALONE})
    if not groups:
        yield Unchecked("no groups of devices that should behave alike", calm=True)
    yield from verdicts(window, [judged for judged in groups if not judged.striped], limits)
    named = {name for judged in groups for laggard in judged.slow for name in (laggard.member, laggard.device)}
    for each in overlong(window, limits["longest"], limits["longest_nvme"]):
        if each.device not in named:
            yield _overlong(window, each, limits)
    for each in signs(window, limits["longest"], limits["longest_nvme"]):
        if each.device not in named:
            said = f"{human.wait(each.seconds)} ms of work a request for {human.duration(each.lasting)}"
            yield Unchecked(f"{said}: warning after {LEAST:g} s", each.device, gap=Gap.SIGNS)


def _overlong(window: Window, each: Overlong, limits: Limits) -> Finding:
    name, row = each.device, window.get(DiskActivity, each.device)
    thing = window.topology.find(name)
    users = [other.label for other in window.topology.affected(thing)] if thing is not None else []
    who = f"Requests of {human.listed(users, limit=18)}" if users else "Requests to the disk"
    often = human.number(each.completed)
    cause = f"Busy all the time for {often} requests/s; no healthy disk needs as long."
    if each.busy < BUSY:
        busy = f"{human.percent(each.busy)}%"
        cause = f"Busy for {busy} of the time with {often} requests/s; no healthy SSD needs as long."
    longest = limits["longest"] if each.seconds >= limits["longest"] else limits["longest_nvme"]
    return Finding(
        severity=Severity.WARNING,
        subject=name,
        title=f"SLOW DEVICE: {human.wait(each.seconds)} ms to serve a request",
        cause=cause,
        impact=f"{who} wait {human.wait(each.wait)} ms each.",
        values=(
            Value("service", "busy time per request", each.seconds, "seconds", above=longest),
            Value("wait", "wait of a request", each.wait, "seconds"),
            Value("completed", "requests completed", each.completed, "per_second"),
            Value("queue", "requests outstanding", each.queue),
        ),
        evidence=cites(window.cite(row) if row is not None else None),
        advice=(
            "Check the disk and its link; replace the disk if it stays slow.",
            run("smartctl", "-x", f"/dev/{name}", note="pending or reallocated sectors, CRC errors"),
            run("journalctl", "-k", note="resets, slow link, timeouts").pipe("grep", "-w", *operands(name)),
        ),
        refuted_by="a limit on its requests per second set by a hypervisor, or large requests",
        harmless_if="the device is a shingled disk or a USB stick under writes",
        cost=each.queue,
        lasting=each.lasting,
    )


SLOW_DEVICE = Rule(
    "slow-device",
    "device slower than its peers (leg, vdev, OSD, path, equal disk) or far slower than any disk",
    Severity.CRITICAL,
    _check,
    (),  # rates of the kernel's counters, or those that tools printed
    (
        *thresholds(*SLOW),
        Threshold("longest", 0.2, "busy time per request of a full device that is slow whatever its peers", "seconds"),
        Threshold(
            "longest_nvme",
            0.02,
            "busy time per request of a local NVMe drive or SSD whose wait is five times as long",
            "seconds",
        ),
    ),
    covers=(Covers(Array, where=is_mirror),),
    many="are slow",
    view="disks",
    explains=(
        "slow-device",
        "slow-stripe-member",
        "stripe-convoy",
        "rebuild-slow",
        "device-saturated",
        "volume-below-promise",
        "nfs-server-busy",
    ),
    advice="Check the disk and its link; replace the disk if it stays slow.",
)
