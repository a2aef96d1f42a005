"""Identical HBAs with very different numbers of identical disks."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.fabric.hba_throughput import HbaLoad, disks_behind, loads
from sdstop.collectors.fabric.readings import DiskPath, Hba
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, RuledOut, Severity, Value, Verdict, cites, unchecked
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.rules.fabric.hba_oversubscribed import HBA_OVERSUBSCRIBED


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    known = HBA_OVERSUBSCRIBED.limits()
    kinds: dict[str, list[HbaLoad]] = {}
    compared = set[str]()
    for load in loads(window, known["disk_rate"], known["flash_rate"], known["efficiency"]):
        # The model of hosts known only from sg_map is unknown; hosts with the same disks count as identical.
        kind = "scsi" if load.hba.hba.startswith("host") else load.hba.device_id
        if kind is not None:
            kinds.setdefault(kind, []).append(load)
            compared.add(load.hba.hba)
    rest = sorted(str(name) for name in window.rows(Hba).keys() - compared)
    yield from unchecked(rest, "no disks behind it, or model unknown", calm=True)
    for group in kinds.values():
        models = {name: sum(load.models.get(name, 0) for load in group) for load in group for name in load.models}
        names = [load.hba.hba for load in group]
        if len(group) > 1 and not models and sum(load.disks for load in group) >= limits["disks"]:
            yield from unchecked(names, "disk models unknown")
            continue
        model, total = max(models.items(), key=lambda item: item[1], default=("", 0.0))
        if len(group) < 2 or total < limits["disks"]:
            alone = "no identical HBA" if len(group) < 2 else f"fewer than {limits['disks']:g} disks of a model"
            yield from unchecked(names, alone, calm=True)
            continue
        yield _judge(window, group, model, limits)


def _judge(window: Window, group: list[HbaLoad], model: str, limits: Limits) -> Verdict:
    counts = {load.hba.hba: load.models.get(model, 0) for load in group}
    worst = max(group, key=lambda load: counts[load.hba.hba])
    mean = sum(counts.values()) / len(group)
    times = counts[worst.hba.hba] / mean
    others = tuple(name for name in counts if name != worst.hba.hba)
    spread = ", ".join(f"{name}: {count:g}" for name, count in counts.items())
    if times <= limits["times"]:
        return RuledOut(worst.hba.hba, f"{model} evenly on {len(group)} HBAs ({spread})", others=others)
    share = worst.share
    over = share is not None and share > 1 and share / times <= 1
    return Finding(
        severity=Severity.WARNING if over else Severity.INFO,
        subject=worst.hba.hba,
        title=f"HBAS UNBALANCED: {counts[worst.hba.hba]:g} disks on one",
        cause=f"{counts[worst.hba.hba]:g} disks on this HBA, {mean:.1f} on average on {len(group)} identical ones.",
        impact=(
            f"The disks need {human.percent(share)}% of its links; evenly spread they would fit."
            if over
            else "Sequential load is limited by this HBA first."
        ),
        values=(
            Value("times", "disks on this HBA, times the mean", times, "", above=limits["times"]),
            Value("share", "rate of its disks, of its links", share, "ratio", above=1.0),
            Value("model", "model of the disks", model),
            *(Value(name, f"disks on {name}", count) for name, count in counts.items()),
        ),
        evidence=cites(
            window.cite(worst.hba),
            *(
                window.cite(path)
                for path in list(window.rows(DiskPath).values())[:64]
                if path.hba == worst.hba.hba and path.device == _first(window, worst)
            ),
        ),
        advice=(
            "Spread the disks over the HBAs (expander zoning, enclosure cabling).",
            run("lsscsi", "-t", "-g", note="disks by host").pipe("sort"),
        ),
        refuted_by="lsscsi -t with the same number of disks on each of these HBAs",
        harmless_if="the other HBAs are reserved (tape, another enclosure, an uncabled second path)",
        explains=(f"hba-oversubscribed:{worst.hba.hba}",) if over else (),
        others=others,
    )


def _first(window: Window, load: HbaLoad) -> str:
    return min(disks_behind(window, load.hba.hba))


HBA_UNBALANCED = Rule(
    "hba-unbalanced",
    "one of several identical HBAs with far more disks than the others",
    Severity.WARNING,
    _check,
    (Hba, DiskPath),
    (
        Threshold("times", 1.3, "disks on the fullest HBA, times the mean", "ratio"),
        Threshold("disks", 8.0, "minimum number of disks of one model"),
    ),
    either=2,
    covers=(Covers(Hba),),
    standing=True,
    view="fabric",
    advice="Spread the disks over the HBAs (expander zoning, enclosure cabling).",
)
