"""Devices that are far slower than their peers: mirror legs, vdevs, OSDs, paths, disks of one model."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.column import SLOW, thresholds
from sdstop.analysis.judged_group import is_mirror
from sdstop.analysis.peer_groups import judged_groups
from sdstop.collectors.md.readings import Array
from sdstop.core.finding import Covers, Limits, Rule, Severity, Unchecked, Verdict
from sdstop.core.history import Window
from sdstop.rules.slow_stripe_member import verdicts


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    groups = judged_groups(window, limits)
    if not groups:
        yield Unchecked("no groups of devices that should behave alike", calm=True)
    yield from verdicts(window, [judged for judged in groups if not judged.striped], limits)


SLOW_DEVICE = Rule(
    "slow-device",
    "device far slower than its peers: mirror leg, vdev, OSD, path, equal disk",
    Severity.CRITICAL,
    _check,
    (),  # rates of the kernel's counters, or those that tools printed
    thresholds(*SLOW),
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
    ),
)
