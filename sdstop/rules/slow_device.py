"""Devices that are far slower than their peers: mirror legs, vdevs, OSDs, paths, disks of one model."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.peer_groups import SLOW, judged_groups, thresholds
from sdstop.core.finding import Limits, Rule, Severity, Verdict
from sdstop.core.history import Window
from sdstop.readings.disk import DiskActivity
from sdstop.readings.service import Service
from sdstop.rules.slow_stripe_member import verdicts


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    groups = [judged for judged in judged_groups(window, limits) if not judged.striped]
    return verdicts(window, groups, limits)


SLOW_DEVICE = Rule(
    "slow-device",
    "one device of a peer group that is not a stripe answers far slower than the others",
    Severity.CRITICAL,
    _check,
    (DiskActivity, Service),
    thresholds(*SLOW),
    either=2,
)
"""`either`: rates of the kernel's counters, or those that tools printed."""
