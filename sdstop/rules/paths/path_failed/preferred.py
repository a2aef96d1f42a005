"""Maps that use paths for which the array is slower, although paths that it prefers are active."""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collectors.devicemapper.multipath import ACTIVE
from sdstop.collectors.devicemapper.readings import MultipathPath, MultipathState
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window

OPTIMIZED = "active/optimized"


def better_paths(window: Window, row: MultipathState) -> tuple[list[MultipathPath], list[MultipathPath]]:
    """Return the paths in use, and the active ones of other groups that the array prefers; none if that is unknown."""
    paths = [each for each in window.where(MultipathPath, "mapping", row.mapping) if each.state == ACTIVE]
    used = [each for each in paths if each.group_state == "active"]
    others = [each for each in paths if each.group_state == "enabled"]
    return used, [each for each in others if used and all(_is_better(each, other) for other in used)]


def _is_better(path: MultipathPath, other: MultipathPath) -> bool:
    if path.access is not None and other.access is not None:
        return path.access == OPTIMIZED and other.access != OPTIMIZED
    return path.priority is not None and other.priority is not None and path.priority > other.priority


def held(window: Window, row: MultipathState) -> float:
    """Return for how many seconds the same groups of a map have been active."""
    moments = window.moments(MultipathPath)
    now = _groups(moments[-1].rows.values(), row.mapping) if moments else frozenset()
    since = moments[-1].started if moments else 0.0
    for moment in moments[::-1]:
        if _groups(moment.rows.values(), row.mapping) != now:
            break
        since = moment.started
    return moments[-1].started - since if moments else 0.0


def _groups(rows: Iterable[MultipathPath], mapping: str) -> frozenset[int]:
    return frozenset(each.group for each in rows if each.mapping == mapping and each.group_state == "active")


def not_preferred(
    window: Window, row: MultipathState, used: list[MultipathPath], better: list[MultipathPath]
) -> Finding:
    """Return the finding of a map that does not use its better paths."""
    names = [each.path or each.number for each in used]
    idle = [each.path or each.number for each in better]
    return Finding(
        severity=Severity.WARNING,
        subject=row.mapping,
        title="PREFERRED PATHS NOT USED",
        cause=f"{human.listed(names, 2, 12)} in use, {human.listed(idle, 2, 12)} preferred by the array and active.",
        impact="Requests take a detour through the other controller of the array.",
        values=(
            Value("used", "paths in use", ", ".join(names[:4])),
            Value("preferred", "preferred paths", ", ".join(idle[:4])),
            Value("access", "access of the paths in use", used[0].access),
            Value("priority", "priority of the paths in use", used[0].priority),
        ),
        evidence=cites(*(window.cite(each) for each in (*used[:1], *better[:1]))),
        advice=(
            "Let multipathd go back to the preferred group, or set failback.",
            run("multipath", "-ll", *operands(row.mapping), note="groups, priorities, the active one"),
            run("multipathd", "switchgroup", "map", *operands(row.mapping), "group", "1", note="the best group first"),
        ),
        refuted_by="the group with the highest priority active in multipath -ll",
        harmless_if="a fault of the array or a path ended moments ago, and failback is delayed",
        damage=Damage.SPEED,
    )
