"""Multipath maps and NVMe namespaces with failed paths: fewer ways to the data, or none."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.tasks.stalled import FOLLOWS_WAITS
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.multipath import FAILED, UNNAMED
from sdstop.collectors.devicemapper.readings import MultipathPath, MultipathState
from sdstop.collectors.network.peer_readings import NvmePath
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.rules.paths.path_failed.beside import beside_finding, disks_beside
from sdstop.rules.paths.path_failed.nvme import namespaces
from sdstop.rules.paths.path_failed.preferred import better_paths, held, not_preferred
from sdstop.rules.paths.path_failed.read_only import protected_finding, refusing_finding, refusing_paths, written_mount

_GRACE = 0.5
"""Seconds that a span of samples may lack."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(MultipathState).values():
        if row.paths is None and row.active:
            yield Unchecked("multipathd show maps counts only active paths", row.mapping, calm=True)
            continue
        if row.paths is None:
            yield Unchecked("line of dmsetup status not understood", row.mapping, gap=Gap.FAULTY)
            continue
        sizes = _sizes(window, row)
        if row.active == row.paths and len(set(sizes.values())) > 1:
            yield _unequal(window, row, sizes)
            continue
        if row.read_only == 1 and (point := written_mount(window, row)):
            yield protected_finding(window, row, point)
            continue
        if row.active == row.paths and (refusing := refusing_paths(window, row)):
            yield refusing_finding(window, row, refusing)
            continue
        if row.active == row.paths and row.paths and (others := disks_beside(window, row)):
            yield beside_finding(window, row, others)
            continue
        if row.active == row.paths and row.paths:
            used, better = better_paths(window, row)
            if better:
                yield _detour(window, row, limits, used, better)
                continue
            if row.paths == 1 and (most := _most_paths(window)) > 1 and not _is_elsewhere(window, row):
                yield _alone(window, row, most)
                continue
            yield RuledOut(row.mapping, f"{human.plural(row.paths, 'path')} active")
            continue
        seconds = _since(window, row)
        if row.active and seconds + _GRACE < limits["seconds"] and len(window.moments(MultipathState)) > 1:
            failed = row.paths - row.active
            why = f"{failed} failed for {human.duration(seconds)}: warning after {limits['seconds']:g} s"
            yield Unchecked(why, row.mapping, gap=Gap.SIGNS)
        else:
            yield _finding(window, row, seconds)
    yield from namespaces(window, limits)


def _most_paths(window: Window) -> int:
    return window.once(
        "most paths", lambda: max((row.paths or 0 for row in window.rows(MultipathState).values()), default=0)
    )


def _is_elsewhere(window: Window, row: MultipathState) -> bool:
    """Return whether another path to the same disk is used without the map: path-used-directly judges it."""
    paths = {each.path for each in window.where(MultipathPath, "mapping", row.mapping)}
    disks = [disk for path in paths if path is not None and (disk := window.get(BlockDevice, path)) is not None]
    names = {disk.own_wwn for disk in disks} - {None}
    alike = (disk for name in names for disk in window.where(BlockDevice, "own_wwn", name))
    return any(disk.device not in paths and disk.kind == "disk" for disk in alike)


def _alone(window: Window, row: MultipathState, most: int) -> Finding:
    """Return the finding of a map with one path beside maps with several: the other one may never have appeared."""
    return Finding(
        severity=Severity.WARNING,
        subject=row.mapping,
        title="ONE PATH, other maps have more",
        cause=f"The map has one path; other maps of this node have {most}.",
        impact="If this path fails, the data is unreachable.",
        values=(Value("paths", "paths", row.paths, "", below=most),),
        evidence=cites(window.cite(row)),
        advice=(
            "Find the path that is missing: zoning, LUN mapping, cable, HBA.",
            run("multipath", "-v2", note="adds paths that are there"),
            run("multipath", "-ll", *operands(row.mapping)),
        ),
        refuted_by="a second path in multipath -ll",
        harmless_if="the disk is local and has one path",
        damage=Damage.REDUNDANCY,
        standing=True,
    )


def _detour(
    window: Window, row: MultipathState, limits: Limits, used: list[MultipathPath], better: list[MultipathPath]
) -> Verdict:
    """Judge a map that does not use its preferred paths; multipathd may be about to go back to them."""
    seconds = held(window, row)
    if used[0].access is not None and seconds + _GRACE < limits["detour"]:
        why = f"preferred paths not used for {human.duration(seconds)}: warning after {limits['detour']:g} s"
        return Unchecked(why, row.mapping, gap=Gap.SIGNS)
    return not_preferred(window, row, used, better)


def _sizes(window: Window, row: MultipathState) -> dict[str, int]:
    """Return the capacity of each path of a map, as far as known."""
    paths = [each.path for each in window.where(MultipathPath, "mapping", row.mapping) if each.path is not None]
    known = {path: disk.size for path in paths if (disk := window.get(BlockDevice, path)) is not None}
    return {path: size for path, size in known.items() if size is not None}


def _unequal(window: Window, row: MultipathState, sizes: dict[str, int]) -> Finding:
    """Return the finding of a map whose paths have several capacities: the kernel has seen a change on some of them."""
    least = min(sizes, key=lambda path: sizes[path])
    most = max(sizes, key=lambda path: sizes[path])
    small, large = (human.quantity(sizes[path], "bytes") for path in (least, most))
    disk = window.get(BlockDevice, least)
    return Finding(
        severity=Severity.WARNING,
        subject=row.mapping,
        title="PATHS DIFFER IN SIZE",
        cause=f"{human.safe(least, 12)} has {small}, {human.safe(most, 12)} {large}.",
        impact="Requests behind the end of the smaller path fail on it.",
        values=tuple(Value(f"size_{path}", f"capacity of {path}", size, "bytes") for path, size in sizes.items()),
        evidence=cites(window.cite(disk, "size") if disk is not None else None, window.cite(row)),
        advice=(
            "Scan the paths again; if they still differ, they lead to different volumes.",
            run("echo", "1", into=f"/sys/block/{least}/device/rescan"),
            run("multipathd", "resize", "map", *operands(row.mapping)),
            run("multipath", "-ll", *operands(row.mapping), note="WWID and size"),
        ),
        refuted_by="the same number in the file size of all paths",
        damage=Damage.AVAILABILITY,
    )


def _since(window: Window, row: MultipathState) -> float:
    """Return for how many seconds each sample shows failed paths of a map."""
    moments = window.moments(MultipathState)
    first = moments[-1].started
    for moment in moments[::-1]:
        then = moment.rows.get(row.mapping)
        if then is None or then.active == then.paths:
            break
        first = moment.started
    return moments[-1].started - first


def _finding(window: Window, row: MultipathState, seconds: float) -> Finding:
    failed = [each for each in window.where(MultipathPath, "mapping", row.mapping) if each.state == FAILED]
    names = [each.path or each.number for each in failed]
    severity = Severity.WARNING if row.active else Severity.CRITICAL
    if row.active:
        title = f"PATH FAILED: {row.active} of {row.paths} left"
        count = "1 path" if len(failed) == 1 else f"{len(failed)} of {row.paths} paths"
        cause = f"The kernel does not use {count}: {_listed(names)}."
        impact = (
            "The data stays reachable." if (row.active or 0) > 1 else "If the last path fails, the data is unreachable."
        )
        if row.mapping == UNNAMED:
            impact = "Maps have fewer paths; multipath -ll shows whether one has none."
    else:
        title, impact = _WITHOUT[row.queues]
        cause = (
            f"All {row.paths} paths have failed: {_listed(names)}."
            if (row.paths or 0) > 1
            else "It has no working path."
        )
    return Finding(
        severity=severity,
        subject=row.mapping,
        title=title,
        cause=cause,
        impact=impact,
        values=(
            Value("active", "active paths", row.active, "", of=row.paths),
            Value("seconds", "failed for, minimum", seconds, "seconds"),
            Value("queues", "without a path, requests", _QUEUES.get(row.queues)),
            Value("failed", "failed paths", ", ".join(names[:8]) or None),
        ),
        evidence=cites(window.cite(row), *(window.cite(each) for each in failed[:2])),
        advice=tuple(_advice(window, row, names)),
        refuted_by="all paths A in dmsetup status",
        lasting=seconds,
        damage=Damage.REDUNDANCY if row.active else None,
    )


_QUEUES = {None: None, 0: "fail", 1: "wait"}
_WITHOUT = {
    None: ("NO PATH LEFT", "Every request waits or fails."),
    0: ("NO PATH LEFT: requests fail", "Every request fails with an I/O error."),
    1: ("NO PATH LEFT: requests wait", "Every request waits until a path works again."),
}


def _listed(names: list[str]) -> str:
    shown = [human.safe(name, 16) for name in names[:2]]
    return ", ".join(shown) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _name(row: MultipathState) -> tuple[str, ...]:
    return () if row.mapping == UNNAMED else operands(row.mapping)


def _advice(window: Window, row: MultipathState, names: list[str]) -> Iterator[Advice]:
    disks = [disk for name in names if (disk := window.get(BlockDevice, name)) is not None]
    if any(disk.state == "running" for disk in disks):
        yield "Check that multipathd runs: a path returns only if it checks the path."
        yield run("systemctl", "status", "multipathd")
        yield run("multipathd", "reinstate", "path", *operands(names[0]), note="if an administrator failed it")
    else:
        yield "Repair the link, the switch or the target; multipathd returns the path."
    yield run("multipath", "-ll", *_name(row), note="paths and their checker")
    if names:
        yield run("journalctl", "-k").pipe("grep", "-w", *operands(names[0].rpartition("/")[2])).pipe("tail", "-40")
    if not row.active and row.queues:
        yield "To let requests fail instead of wait; programs then see I/O errors:"
        yield run("dmsetup", "message", *operands(row.mapping), "0", "fail_if_no_path")


PATH_FAILED = Rule(
    "path-failed",
    "multipath map or NVMe namespace with failed paths, or without any",
    Severity.CRITICAL,
    _check,
    (MultipathState, MultipathPath),
    (
        Threshold("seconds", 5.0, "minimum time with a failed path; a switch to another path takes less", "seconds"),
        Threshold("detour", 30.0, "minimum time on paths that the array does not prefer", "seconds"),
    ),
    instead=(NvmePath,),
    covers=(Covers(MultipathState), Covers(NvmePath, "{device}")),
    many="have failed paths",
    damage=Damage.AVAILABILITY,
    view="disks",
    explains=FOLLOWS_WAITS,
    advice="Repair the link, the switch or the target; see whether multipathd runs.",
)
