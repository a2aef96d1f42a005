"""LVM volume groups of which physical volumes are missing."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.devicemapper.volume_readings import LogicalVolume, PhysicalVolume, VolumeGroup
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    groups = window.rows(VolumeGroup)
    lost: dict[str, list[PhysicalVolume]] = {}
    for volume in window.rows(PhysicalVolume).values():
        if volume.group is not None:
            lost.setdefault(volume.group, [])
            if volume.missing:
                lost[volume.group].append(volume)
    partial: dict[str, list[LogicalVolume]] = {}
    for logical in window.rows(LogicalVolume).values():
        if logical.health == "partial":
            partial.setdefault(logical.group, []).append(logical)
    for name in dict.fromkeys([*(row.group for row in groups.values()), *lost, *partial]):
        group = groups.get(name)
        gone = lost.get(name, [])
        if gone or name in partial or (group is not None and group.partial):
            yield _finding(window, name, group, gone, partial.get(name, []))
        elif group is not None and group.exported_group:
            yield _exported(window, group)
        elif group is None or group.partial is None:
            yield Unchecked("attributes of the volume group unknown", name, calm=True)
        else:
            yield RuledOut(name, "no physical volume missing")


def _finding(
    window: Window,
    name: str,
    group: VolumeGroup | None,
    gone: list[PhysicalVolume],
    partial: list[LogicalVolume],
) -> Finding:
    count = human.plural(len(gone), "physical volume") if gone else "Physical volumes"
    of = f" of {group.pvs}" if group is not None and group.pvs is not None and gone else ""
    cited = ([window.cite(group)] if group is not None else []) + [
        window.cite(row) for row in (*gone[:2], *partial[:2])
    ]
    return Finding(
        severity=Severity.CRITICAL,
        subject=name,
        title="PHYSICAL VOLUME MISSING",
        cause=f"{count}{of} cannot be found by LVM.",
        impact="Logical volumes on them without redundancy cannot be used.",
        values=(
            Value("missing", "missing physical volumes", len(gone) or None),
            Value("pvs", "physical volumes", group.pvs if group is not None else None),
            Value("partial", "affected volumes", ", ".join(row.volume for row in partial[:8]) or None),
        ),
        evidence=cites(*cited),
        advice=(
            "Find the missing disk: cable, path, controller, or filter in lvm.conf.",
            run("pvs", "-o", "+pv_missing,pv_uuid", note="which physical volumes are missing"),
            run("lvs", "-a", "-o", "+devices,lv_health_status", *operands(name), note="affected volumes"),
        ),
        refuted_by="no p in the fourth place of Attr in vgs",
    )


def _exported(window: Window, group: VolumeGroup) -> Finding:
    return Finding(
        severity=Severity.INFO,
        subject=group.group,
        title="VOLUME GROUP EXPORTED",
        cause="vgexport was run for the volume group, to move it to another node.",
        impact="Its logical volumes cannot be used here.",
        values=(Value("lvs", "logical volumes", group.lvs),),
        evidence=cites(window.cite(group)),
        advice=("Import it if it belongs to this node.", run("vgimport", *operands(group.group))),
        refuted_by="no x in the third place of Attr in vgs",
        standing=True,
    )


VOLUME_GROUP_PARTIAL = Rule(
    "volume-group-partial",
    "LVM volume group with missing physical volumes",
    Severity.CRITICAL,
    _check,
    (VolumeGroup, PhysicalVolume, LogicalVolume),
    either=3,
    many="have missing physical volumes",
    damage=Damage.AVAILABILITY,
    covers=(Covers(VolumeGroup),),
    view="volumes",
    advice="Find the missing disk: cable, path, controller, or filter in lvm.conf.",
)
