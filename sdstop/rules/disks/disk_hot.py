"""Disks that are hotter than they may be."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.alike_verdicts import alike
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.health.raid_readings import RaidDisk
from sdstop.collectors.health.readings import ANSWERED, DiskHealth, DiskTemperature
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.evidence import Cite
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

TEMPERATURE = 2
"""Bit of an NVMe disk's critical warning: outside of its limits, too hot or too cold."""


class _Heat(Struct, frozen=True):
    """Temperature of a disk and the limits that it reports, from whichever source has them."""

    subject: str
    now: float
    warm: float | None
    hot: float | None
    warned: bool
    flash: bool | None
    cite: Cite | None


def _is_known(row: DiskHealth) -> bool:
    return row.state == ANSWERED and row.temperature is not None


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge each answer once: nothing changes between two rounds, and disks are many."""
    others = [window.now.run_of(family) for family in (DiskTemperature, RaidDisk, BlockDevice)]
    key = ("disk-hot", *(run.started if run is not None else None for run in others), *limits.values())
    yield from window.of_run(DiskHealth, key, lambda: alike(_said(window, limits)))


def _said(window: Window, limits: Limits) -> Iterator[Verdict]:
    health = {name: row for name, row in _health(window).items() if _is_known(row)}
    sensors = {row.device: row for row in window.rows(DiskTemperature).values()}
    for name in {**sensors, **health}:
        yield _judged(_heat(window, name, sensors.get(name), health.get(name)), limits)
    for disk in window.rows(RaidDisk).values():
        if disk.temperature is not None:
            heat = _Heat(
                disk.disk, disk.temperature, warm=None, hot=None, warned=False, flash=disk.flash, cite=window.cite(disk)
            )
            yield _judged(heat, limits)
    for row in _health(window).values():
        if row.state == ANSWERED and row.temperature is None and row.device not in sensors:
            yield Unchecked("temperature not reported", row.device, calm=True)


def _health(window: Window) -> dict[str, DiskHealth]:
    return {row.device: row for row in window.rows(DiskHealth).values()}


def _heat(window: Window, name: str, sensor: DiskTemperature | None, row: DiskHealth | None) -> _Heat:
    """Return the temperature of the sensor, which is newer, or of the health data; limits from both."""
    warm = (sensor.warm if sensor is not None else None) or (row.warm if row is not None else None)
    hot = (sensor.hot if sensor is not None else None) or (row.hot if row is not None else None)
    warned = row is not None and bool((row.critical_warning or 0) & TEMPERATURE)
    device = window.get(BlockDevice, name)
    flash = row.flash if row is not None else device.rotational == 0 if device is not None else None
    if sensor is not None:
        return _Heat(name, sensor.temperature, warm, hot, warned, flash or sensor.driver == "nvme", window.cite(sensor))
    now = row.temperature if row is not None else None
    cited = window.cite(row, "temperature") if row is not None else None
    return _Heat(name, now or 0.0, warm, hot, warned, flash, cited)


def _limits(heat: _Heat, limits: Limits) -> tuple[float, float, bool]:
    """Return the temperatures for a warning and a critical finding, and whether they are the disk's own."""
    kind = "flash" if heat.flash else "rotating"
    warm, hot = heat.warm, heat.hot
    if warm is None and hot is None:
        return limits[kind], limits[kind] + limits["critical"], False
    return warm or (hot or 0.0) - limits["near"], hot or (warm or 0.0) + limits["critical"], True


def _judged(heat: _Heat, limits: Limits) -> Verdict:
    warm, hot, own = _limits(heat, limits)
    now = human.quantity(heat.now, "celsius")
    if heat.now < warm and not heat.warned:
        return RuledOut(heat.subject, f"{now}, limit {human.quantity(warm, 'celsius')}")
    severe = heat.now >= hot
    limit = hot if severe else warm
    whose = "its own limit" if own else "a common limit"
    cause = (
        f"{now}; {whose} is {human.quantity(limit, 'celsius')}."
        if heat.now >= warm
        else f"The disk reports a temperature outside of its limits, now {now}."
    )
    return Finding(
        severity=Severity.CRITICAL if severe else Severity.WARNING,
        subject=heat.subject,
        title="DISK TOO HOT" if heat.now >= warm else "DISK WARNS: temperature",
        cause=cause,
        impact="The disk can throttle, stop, and age faster." if severe else "The disk can throttle, and age faster.",
        values=(
            Value("temperature", "temperature", heat.now, "celsius", above=limit),
            Value("warm", "warning temperature", warm, "celsius"),
            Value("hot", "critical temperature", hot, "celsius"),
        ),
        evidence=cites(heat.cite),
        advice=(
            "Check fans and air flow of the slot; compare with its neighbors.",
            run("smartctl", "-x", f"/dev/{heat.subject}", note="highest temperature so far, and time above limits"),
        ),
        refuted_by="a temperature below the limit at the same load",
    )


DISK_HOT = Rule(
    "disk-hot",
    "disk above its own temperature limit, or above a common one if it reports none",
    Severity.CRITICAL,
    _check,
    (DiskHealth,),
    (
        Threshold("rotating", 60.0, "temperature of a rotating disk that reports no limit", "celsius"),
        Threshold("flash", 75.0, "temperature of a flash disk that reports no limit", "celsius"),
        Threshold(
            "critical", 5.0, "degrees above the warning limit that are critical, without a critical one", "celsius"
        ),
        Threshold(
            "near", 5.0, "degrees below the critical limit that warrant a warning, without a warning one", "celsius"
        ),
    ),
    instead=(DiskTemperature, RaidDisk),
    covers=(Covers(DiskTemperature), Covers(DiskHealth, where=_is_known)),
    explains=("slow-device", "slow-stripe-member", "osd-slow", "disk-offline"),
    many="are too hot",
    damage=Damage.AVAILABILITY,
    view="disks",
    advice="Check fans and air flow of the slot; compare with its neighbors.",
)
