"""Write caches of RAID controllers and NVMe disks that a loss of power would empty, or that are off for that reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.alike_verdicts import alike
from sdstop.collectors.health.raid_readings import RaidController, RaidVolume
from sdstop.collectors.health.readings import DiskHealth
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule

BACKUP = 16
"""Bit of an NVMe disk's critical warning: the backup of its volatile memory has failed."""
_OFF = ("temporarily disabled", "permanently disabled", "disabled")


def _has_bits(row: DiskHealth) -> bool:
    return row.critical_warning is not None


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    volumes: dict[str, list[RaidVolume]] = {}
    for volume in window.rows(RaidVolume).values():
        volumes.setdefault(volume.controller, []).append(volume)
    for controller in window.rows(RaidController).values():
        yield _judged(window, controller, volumes.get(controller.controller, []))
    disks = window.rows(DiskHealth).values()
    key = ("cache-unprotected",)
    yield from window.of_run(DiskHealth, key, lambda: alike(_disk(window, row) for row in disks if _has_bits(row)))


def _judged(window: Window, row: RaidController, volumes: Sequence[RaidVolume]) -> Verdict:
    cached = [volume for volume in volumes if volume.write_back]
    fallen = [volume for volume in volumes if volume.write_back is False and volume.configured]
    off = (row.cache or "").lower().startswith(_OFF)
    if row.protected is False and (row.forced or cached):
        return _unprotected(window, row, cached)
    if row.protected is False and row.battery == "none" and not volumes and not off:
        return Unchecked(f"{_battery(row)}; no volume reported", row.controller)
    if row.protected is False and (fallen or off or row.battery != "none"):
        return _fallen(window, row, fallen, volumes)
    if fallen or off:
        return _fallen(window, row, fallen, volumes)
    if row.battery is None:
        return Unchecked("state of battery or capacitor not reported", row.controller)
    if row.protected is None:
        return Unchecked(
            f'unknown state of the battery "{human.safe(row.battery, 30)}"', row.controller, gap=Gap.FAULTY
        )
    if row.battery == "none":
        return RuledOut(row.controller, "0 volumes cache writes; no battery")
    return RuledOut(
        row.controller, f"battery or capacitor {human.safe(row.battery, 30)}, {len(cached)} write-back volumes"
    )


def _battery(row: RaidController) -> str:
    return "no battery" if row.battery == "none" else f"battery {human.safe(row.battery or 'unknown', 24)}"


def _unprotected(window: Window, row: RaidController, cached: Sequence[RaidVolume]) -> Finding:
    names = human.listed([volume.volume for volume in cached], 2, 12) if cached else "write-back forced"
    said = _battery(row)
    whole = f"{said[0].upper()}{said[1:]}, yet writes are cached: {names}."
    return Finding(
        severity=Severity.CRITICAL,
        subject=row.controller,
        title="WRITE CACHE WITHOUT BATTERY",
        cause=fitting(whole, f"{said[0].upper()}{said[1:]}, yet writes are cached."),
        impact="A loss of power loses writes that were acknowledged.",
        values=_values(row, cached, ()),
        evidence=cites(window.cite(row), *(window.cite(volume) for volume in cached[:2])),
        advice=(
            "Set write-through until the battery is replaced.",
            *_commands(row, cached),
        ),
        refuted_by="write-through of all volumes, or a good battery",
        harmless_if="another source of power, such as a UPS that is known to work, keeps the node up",
        damage=Damage.DATA,
    )


def _fallen(
    window: Window, row: RaidController, fallen: Sequence[RaidVolume], volumes: Sequence[RaidVolume]
) -> Finding:
    names = human.listed([volume.volume for volume in fallen], 2, 12)
    said = _battery(row) if row.battery is not None else f"cache {human.safe(row.cache or 'off', 24)}"
    slow = bool(fallen) or (row.cache or "").lower().startswith(_OFF)
    cause = f"{said[0].upper()}{said[1:]}" + (f"; write-through instead of write-back: {names}." if fallen else ".")
    certain = "Each write waits for the disks: far slower than with the cache."
    return Finding(
        severity=Severity.WARNING,
        subject=row.controller,
        title="WRITE CACHE OFF" if slow else "CACHE BATTERY BAD",
        cause=fitting(cause, f"{said[0].upper()}{said[1:]}; volumes fell back to write-through."),
        impact=certain if slow else "Volumes can fall back to write-through, or lose cached writes.",
        values=_values(row, (), fallen),
        evidence=cites(window.cite(row), *(window.cite(volume) for volume in (fallen or volumes)[:2])),
        advice=(
            "Replace the battery or capacitor; a learn cycle ends by itself.",
            *_commands(row, ()),
        ),
        refuted_by="a good battery, and write-back of the volumes",
        harmless_if="the battery is in a learn cycle, which takes some hours",
    )


def _values(row: RaidController, cached: Sequence[RaidVolume], fallen: Sequence[RaidVolume]) -> tuple[Value, ...]:
    return (
        Value("battery", "battery or capacitor", row.battery),
        Value("cache", "write cache", row.cache),
        Value("write_back", "volumes with write-back", len(cached)),
        Value("fallen", "volumes fallen back to write-through", len(fallen)),
        Value("model", "model", row.model),
        Value("firmware", "firmware", row.firmware),
    )


def _commands(row: RaidController, cached: Sequence[RaidVolume]) -> Iterator[Advice]:
    if row.controller.startswith("slot "):
        slot = row.controller.removeprefix("slot ")
        yield run("ssacli", "ctrl", f"slot={slot}", "show", "detail")
        if row.forced:
            yield run("ssacli", "ctrl", f"slot={slot}", "modify", "nobatterywritecache=disable")
        return
    yield run("storcli64", f"/{row.controller}/bbu", "show", "all", note="battery; cv instead of bbu for a capacitor")
    for volume in cached[:2]:
        yield run("storcli64", f"/{volume.volume}", "set", "wrcache=wt")


def _disk(window: Window, row: DiskHealth) -> Verdict:
    if not (row.critical_warning or 0) & BACKUP:
        return RuledOut(row.device, f"critical warning {row.critical_warning}: memory backup not failed")
    return Finding(
        severity=Severity.CRITICAL,
        subject=row.device,
        title="POWER-LOSS PROTECTION FAILED",
        cause="The disk reports: backup of its volatile memory has failed.",
        impact="A loss of power can lose writes that the disk acknowledged.",
        values=(
            Value("critical_warning", "critical warning bits", row.critical_warning),
            Value("model", "model", row.model),
        ),
        evidence=cites(window.cite(row, "critical_warning")),
        advice=(
            "Replace the disk, or switch its volatile write cache off.",
            run("nvme", "smart-log", f"/dev/{row.device}"),
            run("nvme", "get-feature", f"/dev/{row.device}", "-f", "6", "-H", note="volatile write cache"),
        ),
        refuted_by="a critical warning without bit 4 in nvme smart-log",
        damage=Damage.DATA,
    )


CACHE_UNPROTECTED = Rule(
    "cache-unprotected",
    "write cache of a RAID controller or NVMe disk without power-loss protection, or off without it",
    Severity.CRITICAL,
    _check,
    (RaidController,),
    instead=(DiskHealth,),
    covers=(Covers(RaidController), Covers(DiskHealth, where=_has_bits)),
    explains=("slow-device", "slow-stripe-member"),
    many="have unprotected caches",
    damage=Damage.SPEED,
    view="disks",
    advice="Replace the battery or capacitor; a learn cycle ends by itself.",
)
