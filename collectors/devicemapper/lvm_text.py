"""LVM's volumes, groups and physical volumes from recorded reports of lvs, vgs and pvs in any form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from sdstop.collectors.devicemapper import lvm_display
from sdstop.collectors.devicemapper.dmsetup import recorded
from sdstop.collectors.devicemapper.lvm_report import FORMS, LOST, rows, size
from sdstop.collectors.devicemapper.volume_readings import (
    LogicalVolume,
    PhysicalVolume,
    ThinPool,
    VolumeGroup,
    VolumeSnapshot,
    mapped,
)
from sdstop.core.collector import ONCE, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.recorded import RecordedOutput, outputs
from sdstop.core.table import Row
from sdstop.core.text import decimal, whole

PROGRAMS = ("lvs", "vgs", "pvs")
MISSING = frozenset({"[unknown]", "unknown device"})
"""Names that LVM prints for a physical volume that it does not find."""
_KINDS = {"t": "thin-pool", "V": "thin", "m": "mirror", "M": "mirror", "C": "cache"}
"""Segment type by the first letter of a volume's attributes (lvs(8)), where it is certain."""

_HEALTH = {
    "-": "ok", "p": "partial", "r": "refresh needed", "m": "mismatches", "w": "writemostly", "F": "failed",
    "D": "out of data", "M": "read-only metadata", "E": "cache error", "R": "reshaping", "X": "unknown",
}  # fmt: skip
_STATES = {
    "I": "invalid snapshot", "S": "invalid snapshot", "m": "failed merge", "M": "failed merge", "s": "suspended",
    "c": "check needed", "C": "check needed",
}  # fmt: skip
"""Fault of a volume by the fifth of its attributes: its state (lvs(8))."""
_POOL_STATES = {
    "ok": "ok", "out of data": "out of data space", "read-only metadata": "read-only", "failed": "failed",
}  # fmt: skip
"""State of a thin pool by its health."""
_NOT_SHOWN = "not shown"


class _UnnamedReport(Malformed):
    """A report without the names of the groups: its volumes are ambiguous."""


def volumes(table: Sequence[Row], output: RecordedOutput) -> Iterator[LogicalVolume]:
    """Yield the logical volumes of a report, which has one row per segment if it has columns of segments.

    Raises Malformed if the report does not name the group of its volumes.
    """
    found: dict[str, list[Row]] = {}
    for row in table:
        if row.get("lv_name"):
            if not row.get("vg_name"):
                raise _UnnamedReport("no column of the volume group")
            found.setdefault(f"{row['vg_name']}/{row['lv_name']}", []).append(row)
    for volume, parts in found.items():
        first = parts[0]
        devices = list(dict.fromkeys(name for part in parts for name in devices_of(part.get("devices", ""))))
        segmented = "devices" in first or "segtype" in first or "seg_size" in first
        yield LogicalVolume(
            volume=volume,
            type=_type(parts, devices),
            devices=",".join(devices) or None,
            pool=_bare(first.get("pool_lv")),
            origin=_bare(first.get("origin")),
            segments=len(parts) if segmented else whole(first.get("segments")),
            size=size(first.get("lv_size", ""), output),
            stripes=whole(first.get("stripes")),
            stripe_size=size(first.get("stripe_size", ""), output) or None,
            chunk_size=size(first.get("chunk_size", ""), output) or None,
            filled=_share(first.get("data_percent", "")),
            metadata_filled=_share(first.get("metadata_percent", "")),
            synced=_share(first.get("copy_percent", "")),
            health=_health(first),
            told=output.key,
        )


def thin_pools(known: Iterable[LogicalVolume]) -> Iterator[ThinPool]:
    """Yield the active thin pools of a report: an inactive one has no fill level, and its health is unknown."""
    for row in known:
        state = _POOL_STATES.get(row.health) if row.health is not None else _NOT_SHOWN
        if row.type != "thin-pool" or state is None or (row.filled is None and state in {"ok", _NOT_SHOWN}):
            continue
        name = row.path.partition("/")[2]
        yield ThinPool(
            pool=row.path,
            mapping=mapped(row.group, name),
            kind="thin-pool",
            state=state,
            size=row.size,
            used=round(row.size * row.filled) if row.size is not None and row.filled is not None else None,
            data_share=row.filled,
            metadata_share=row.metadata_filled,
            origin=row.told or "",
            needle=name,
        )


def snapshots(known: Iterable[LogicalVolume]) -> Iterator[VolumeSnapshot]:
    """Yield the active snapshots of a report that copy on write; the size of their origin is unknown."""
    for row in known:
        if row.type != "snapshot" or (row.filled is None and row.health != "invalid snapshot"):
            continue
        name = row.path.partition("/")[2]
        lost = {"invalid snapshot": "invalid", "failed merge": "merge failed"}
        yield VolumeSnapshot(
            snapshot=row.path,
            mapping=mapped(row.group, name),
            state=lost.get(row.health or "", "ok"),
            size=row.size,
            used=round(row.size * row.filled) if row.size is not None and row.filled is not None else None,
            where=row.told or "",
            needle=name,
        )


def _share(cell: str) -> float | None:
    """Return a percentage as a share; some locales have a decimal comma."""
    percent = decimal(cell.strip().replace(",", "."))
    return None if percent is None else percent / 100


def _health(row: Row) -> str | None:
    """Return the health of a volume: a fault of its state, else the ninth of its attributes (lvs(8))."""
    said = row.get("lv_health_status")
    if said:
        return said.removesuffix(" exist") if said != "error" else "cache error"
    attributes = row.get("attr", "")
    if (whole(row.get("integritymismatches")) or 0) > 0 and attributes[8:9] in {"", "-", "m"}:
        return "integrity errors"
    if len(attributes) >= 9 and attributes[4] in _STATES and attributes[8] in {"-", "m"}:
        return _STATES[attributes[4]]
    return _HEALTH.get(attributes[8], "unknown") if len(attributes) >= 9 else "ok" if said == "" else None


def _type(parts: Sequence[Row], devices: Sequence[str]) -> str | None:
    """Return the type of the segments: the column, else the attributes, else the layout of the devices.

    A snapshot that copies on write has a linear segment.
    """
    if parts[0].get("attr", "")[:1] in {"s", "S"}:
        return "snapshot"
    said = [part["segtype"] for part in parts if part.get("segtype")]
    if said:
        return ",".join(dict.fromkeys(said))
    attributes = parts[0].get("attr", "")
    if attributes[:1] in _KINDS:
        return _KINDS[attributes[0]]
    if attributes[:1] in {"-", "o", "O", "w", "W"} and "devices" in parts[0]:
        several = any(len(devices_of(part.get("devices", ""))) > 1 for part in parts)
        plain = all(word.strip().startswith("/") for part in parts for word in part.get("devices", "").split(","))
        return "striped" if several and plain else "linear" if devices and plain else None
    return None


def devices_of(cell: str) -> list[str]:
    """Return the names in `/dev/sdb(4),lv_rimage_0(0)`; the number in parentheses is the start extent."""
    return [name for word in cell.split(",") if (name := re.sub(r"\(\d+\)$", "", word.strip()).removeprefix("/dev/"))]


def _bare(cell: str | None) -> str | None:
    return (cell or "").strip("[]") or None


def groups(table: Sequence[Row], output: RecordedOutput) -> Iterator[VolumeGroup]:
    """Yield the volume groups of a report; one of pvs or lvs counts only where it has columns of groups."""
    seen = set[str]()
    for row in table:
        name = row.get("vg_name", "")
        if not name or name in seen:
            continue
        seen.add(name)
        attributes = row.get("attr", "") if output.words[0] == "vgs" else row.get("vg_attr", "")
        yield VolumeGroup(
            group=name,
            partial=int(attributes[3] == "p") if len(attributes) >= 6 else None,
            exported_group=int(attributes[2] == "x") if len(attributes) >= 6 else None,
            pvs=whole(row.get("pv_count")),
            lvs=whole(row.get("lv_count")),
            size=size(row.get("vg_size", ""), output),
            free=size(row.get("vg_free", ""), output),
            told=output.key,
        )


def physical(table: Sequence[Row], output: RecordedOutput) -> Iterator[PhysicalVolume]:
    """Yield the physical volumes of a report; several missing ones of a group are one row each."""
    unknown = 0
    for row in table:
        name = row.get("pv_name", "")
        if not name or ("pv_fmt" in row and not row["pv_fmt"] and not row.get("vg_name")):
            continue  # -a lists other devices, too
        attributes = row.get("attr", "") if output.words[0] == "pvs" else ""
        lost = name in MISSING or row.get("pv_missing") == "missing"
        if name in MISSING:
            unknown += 1
            name = name if unknown == 1 else f"{name} #{unknown}"
        yield PhysicalVolume(
            device=name,
            group=row.get("vg_name") or None,
            missing=1 if lost else int("m" in attributes[2:]) if len(attributes) >= 3 else None,
            size=size(row.get("pv_size", ""), output),
            free=size(row.get("pv_free", ""), output),
            told=output.key,
        )


def read(host: Host) -> Iterable[Reading]:
    """Return the rows of the reports; of several reports of one program, the most complete one counts.

    Thin pools and snapshots are those of lvs only where dmsetup's exact status was not recorded.

    Raises Absent without any, Malformed if none of them is understood.
    """
    found: list[Reading] = []
    faults: list[tuple[str, Malformed]] = []
    known = False
    for program in (*PROGRAMS, *lvm_display.PROGRAMS):
        best: list[Reading] = []
        every: list[Reading] = []
        nameless: list[tuple[str, Malformed]] = []
        for output in outputs(host, program):
            known = True
            if _is_bare(output.text):
                continue
            try:
                each = list(_readings(program, output))
                if program in PROGRAMS and any(LOST in row for row in rows(output)):
                    host.defect(output.key, "cells without their headings: blanks were lost")
            except Malformed as error:
                (nameless if isinstance(error, _UnnamedReport) else faults).append((output.key, error))
                continue
            best = max(best, each, key=_known)
            every += each
        found += _with_faults(host, best, every)
        faults += [] if best else nameless  # other columns of volumes that are known
    if not known:
        raise Absent("cmd:lvs", "none recorded; never run on a live node", recorded=False)
    if not found and faults:
        raise faults[0][1]
    for key, why in faults:
        host.defect(key, f"not understood: {why}")
    if not recorded(host, "status"):
        named = [row for row in found if isinstance(row, LogicalVolume)]
        found += [*thin_pools(named), *snapshots(named)]
    return found


def _is_bare(text: str) -> bool:
    """Return whether an output has messages of LVM only, as on a node without volumes; sosreports ask with -v."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return bool(lines) and all(_MESSAGE.fullmatch(line) for line in lines)


_MESSAGE = expression(
    r"WARNING: .{0,60}locking.*|Reloading config files|Loading config file: .*|No volume groups found\.?"
    r"|No matching physical volumes found|No physical volume found\.?|\S+ not found in config: defaulting to .*"
    r"|Obtaining the complete list of VGs to process|\S+: stat failed: No such file or directory"
    r"|Setting \S+ to .*|File-based locking selected\."
)
_Row = LogicalVolume | VolumeGroup | PhysicalVolume


def _with_faults(host: Host, best: Sequence[Reading], every: Sequence[Reading]) -> Iterator[Reading]:
    """Yield the rows of the best report; those that are faulty in another report are taken from that one."""
    faults = {_identity(row): row for row in every if isinstance(row, _Row) and _is_faulty(row)}
    for row in best:
        other = faults.get(_identity(row)) if isinstance(row, _Row) else None
        if other is None or not isinstance(row, _Row) or _is_faulty(row):
            yield row
            continue
        host.defect(row.told or "", f"no fault, and one in {other.told}", _identity(row)[1])
        yield other


def _identity(row: _Row) -> tuple[str, str]:
    name = row.path if isinstance(row, LogicalVolume) else row.group if isinstance(row, VolumeGroup) else row.device
    return row.family, name


def _is_faulty(row: _Row) -> bool:
    if isinstance(row, LogicalVolume):
        return row.health not in {None, "ok", "writemostly", "reshaping"}
    return bool(row.partial if isinstance(row, VolumeGroup) else row.missing)


def _readings(program: str, output: RecordedOutput) -> Iterator[Reading]:
    table = lvm_display.rows(output.text) if program in lvm_display.PROGRAMS else rows(output)
    program = lvm_display.PROGRAMS.get(program, program)
    if program == "lvs":
        yield from volumes(table, output)
    elif program == "vgs":
        yield from groups(table, output)
        if table and "pv_name" in table[0]:
            yield from physical(table, output)
    else:
        yield from physical(table, output)


def _known(readings: Sequence[Reading]) -> int:
    """Return the number of known fields."""
    return sum(getattr(row, name) is not None for row in readings for name in row.__struct_fields__)


LVM_REPORTS = Collector(
    "lvm-reports",
    "LVM in recorded reports of lvs, vgs, pvs, lvdisplay, vgdisplay and pvdisplay",
    read,
    (LogicalVolume, VolumeGroup, PhysicalVolume, ThinPool, VolumeSnapshot),
    (
        *(
            Need(f"cmd:{program}*", "reports in any form, from captures only; never run")
            for program in (*PROGRAMS, *lvm_display.PROGRAMS)
        ),
        Need("cmd:dmsetup *", "whether the exact state of thin pools and snapshots was recorded, too"),
    ),
    ONCE,
    forms=(*FORMS, *lvm_display.FORMS),
)
