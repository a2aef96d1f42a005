"""Tasks in D state that have not run for a while, grouped by where they wait, and the findings that account for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.collectors.system.readings import BlockedTask, Node
from sdstop.core.finding import Finding, Severity
from sdstop.core.history import Window
from sdstop.core.text import added
from sdstop.core.thing import Thing

_UNKNOWN = (None, None, None, False)
_FROZEN_SOMEWHERE = (None, None, None, True)
GRACE = 0.5
"""Tolerance in seconds: samples arrive slightly early."""

NOT_IO = frozenset({"__refrigerator", "kernel_clone", "_do_fork", "do_fork", "wait_for_vfork_done"})
"""Kernel functions in which healthy tasks stay in D state: frozen control groups (version 1), parents of vfork."""

_BEHIND = frozenset({"d_alloc_parallel", "lookup_slow"})
"""Kernel functions in which a task waits until another one has looked up the same name: it has no place of its own."""

FROZEN = frozenset({"percpu_rwsem_wait", "__percpu_down_read", "__sb_start_write", "sb_start_write", "freeze_super"})
"""Kernel functions in which a task waits until a file system may be written to again (fs/super.c: sb_start_write)."""
FROZEN_PLACE = "filesystems"
"""Place of tasks that wait for a frozen file system of unknown name."""

FOLLOWS_WAITS = (
    "device-hung", "slow-device", "slow-stripe-member", "hot-stripe-member", "stripe-convoy", "rebuild-slow",
    "rebuild-stalled", "tasks-stuck", "volume-qos-saturated", "volume-below-promise",
)  # fmt: skip
"""Rules with findings on the things above a device that follow if its requests wait."""
STOPS = frozenset(
    {
        "device-hung", "session-down", "volume-suspended", "path-failed", "thin-pool-filling", "array-degraded",
        "volume-degraded", "filesystem-readonly", "zfs-pool-degraded", "cluster-degraded", "split-brain",
        "cluster-manager-down", "cache-full-of-dirty", "volume-qos-saturated", "device-saturated", "slow-device",
        "slow-stripe-member", "hot-stripe-member", "stripe-convoy", "kernel-io-errors", "filesystem-full",
        "rebuild-stalled",
    }
)  # fmt: skip
"""Rules whose findings account for tasks that wait for I/O and do not get it."""
_SATURATED = "device-saturated"
HELD = 0.5
"""Share of the tasks in D state that must have a request on a device whose load accounts for them."""
_IF_CRITICAL = frozenset({"array-degraded", "volume-degraded", "zfs-pool-degraded", "cluster-degraded"})
"""Those of which only critical findings stop I/O: less redundancy does not."""
_IF_LOUD = frozenset({"slow-stripe-member", "slow-device"})
"""Those of which information accounts for nothing: a member that lags answers all the time."""
LOADS = STOPS | {
    "rebuild-running", "rebuild-slow", "rebuild-throttled", "cache-bypassed", "cache-errors", "cache-sub-block-io",
    "cache-ineffective", "link-saturated", "link-oversubscribed", "bond-unbalanced", "hba-oversubscribed",
    "hba-unbalanced", "zvol-slow-path", "zfs-no-slog", "frames-dropped", "mtu-misaligned", "mtu-mismatch", "phy-errors",
    "tasks-stuck", "io-stalled", "memory-short",
}  # fmt: skip
"""Rules whose findings account for many tasks that wait for I/O, but get it."""

LOAD_RULE = "load-unexplained"
"""Rule that checks whether findings account for the load of a node."""
EXPLAINED_BY = "; explained by "
"""Between the load of a node and the findings that account for it, in the summary of a check that passed."""


class StalledTask(Struct, frozen=True):
    """A task in D state, and for how many seconds it has not run."""

    task: BlockedTask
    seconds: float


class StalledGroup(Struct, frozen=True):
    """Stalled tasks that wait in one place; None where mount, file system type or device are unknown."""

    mount: str | None
    filesystem: str | None
    device: str | None
    tasks: tuple[StalledTask, ...]

    @property
    def place(self) -> str:
        """Name of the place: device, mount point or type of the file system, FROZEN_PLACE, "" if unknown."""
        return self.device or self.mount or self.filesystem or (FROZEN_PLACE if self.frozen else "")

    @property
    def frozen(self) -> bool:
        """Whether all of the tasks wait until a frozen file system may be written to again."""
        return all(stalled.task.wait in FROZEN for stalled in self.tasks)

    @property
    def seconds(self) -> float:
        """Time for which the task that waits longest has not run."""
        return max(stalled.seconds for stalled in self.tasks)

    @property
    def waits(self) -> tuple[str, ...]:
        """Kernel functions that the tasks sleep in, the most common first."""
        counts: dict[str, int] = {}
        for stalled in self.tasks:
            if stalled.task.wait is not None:
                counts[stalled.task.wait] = counts.get(stalled.task.wait, 0) + 1
        return tuple(sorted(counts, key=lambda wait: (-counts[wait], wait)))

    @property
    def programs(self) -> tuple[str, ...]:
        """Names of the tasks, the most common first."""
        counts: dict[str, int] = {}
        for stalled in self.tasks:
            counts[stalled.task.name] = counts.get(stalled.task.name, 0) + 1
        return tuple(sorted(counts, key=lambda name: (-counts[name], name)))


def watched(window: Window) -> float:
    """Return the seconds between the first and the last sample of tasks."""
    moments = window.moments(BlockedTask)
    return moments[-1].started - moments[0].started if moments else 0.0


def stalled_tasks(window: Window, seconds: float) -> tuple[StalledTask, ...]:
    """Return the tasks in D state in each sample that have not run for at least `seconds`.

    Kernel threads count only along with a stalled user task, or while some task waits for I/O by the kernel's own
    count (procs_blocked): idle threads of some drivers always sleep in D state.
    """
    found = window.once(("stalled", seconds), lambda: tuple(_stalled(window, seconds)))
    users = any(not stalled.task.kernel for stalled in found)
    return found if users or _waits_for_io(window, seconds) else ()


def _stalled(window: Window, seconds: float) -> Iterator[StalledTask]:
    moments = window.moments(BlockedTask)
    if not moments:
        return
    newest = moments[-1]
    for key, task in newest.rows.items():
        if task.wait in NOT_IO:
            continue
        since = newest.started
        for moment in moments[-2::-1]:
            then = moment.rows.get(key)
            if then is None or not _is_same_sleep(then, task):
                break
            since = moment.started
        if newest.started - since + GRACE >= seconds:
            yield StalledTask(task, newest.started - since)


def _is_same_sleep(then: BlockedTask, now: BlockedTask) -> bool:
    if then.switches is not None and then.switches == now.switches:
        return True
    return now.moved is not None and then.moved == now.moved and then.wait == now.wait


def _waits_for_io(window: Window, seconds: float) -> bool:
    counts = [
        node.tasks_blocked
        for shot in window.last(seconds).snapshots
        for node in shot.rows(Node).values()
        if node.tasks_blocked is not None
    ]
    return bool(counts) and min(counts) > 0


_Places = dict[tuple[str | bool | None, ...], list[StalledTask]]
"""Tasks by device, mount, type of the file system, and whether they wait for an unknown one that is frozen."""


def stalled_groups(window: Window, seconds: float) -> tuple[StalledGroup, ...]:
    """Return the stalled tasks by place, groups with most tasks first; those in unknown places are one group."""
    places: _Places = {}
    for stalled in stalled_tasks(window, seconds):
        task = stalled.task
        mount = task.mount if task.device is None else None
        filesystem = task.filesystem if task.device is None else None
        frozen = task.wait in FROZEN and not (task.device or mount or filesystem)
        places.setdefault((task.device, mount, filesystem, frozen), []).append(stalled)
    _join_those_behind(places)
    _join_the_frozen(places)
    _join_by_type(places)
    groups = [
        StalledGroup(
            next((each.task.mount for each in tasks if each.task.mount is not None), None),
            next((each.task.filesystem for each in tasks if each.task.filesystem is not None), None),
            tasks[0].task.device,
            tuple(tasks),
        )
        for tasks in places.values()
    ]
    return tuple(sorted(groups, key=lambda group: (-len(group.tasks), group.place)))


def _join_those_behind(places: _Places) -> None:
    """Move tasks that wait for the lookup of another task to the only place in which one waits, if there is one."""
    unknown = places.get(_UNKNOWN, [])
    others = [tasks for place, tasks in places.items() if place[:3] != _UNKNOWN[:3]]
    if len(others) != 1:
        return
    behind = [stalled for stalled in unknown if stalled.task.wait in _BEHIND]
    others[0].extend(behind)
    left = [stalled for stalled in unknown if stalled.task.wait not in _BEHIND]
    if left:
        places[_UNKNOWN] = left
    else:
        places.pop(_UNKNOWN, None)


def _join_the_frozen(places: _Places) -> None:
    """Move tasks that wait for an unknown frozen file system to the only one that is known, if there is one."""
    known = [tasks for place, tasks in places.items() if place[:3] != _UNKNOWN[:3]]
    frozen = [tasks for tasks in known if all(stalled.task.wait in FROZEN for stalled in tasks)]
    if len(frozen) == 1 and _FROZEN_SOMEWHERE in places:
        frozen[0].extend(places.pop(_FROZEN_SOMEWHERE))


def _join_by_type(places: _Places) -> None:
    """Move tasks of which only the type of the file system is known to the only such mount in which others wait."""
    for place in [place for place in places if place[0] is None and place[1] is None and place[2] is not None]:
        kind = str(place[2] or "")
        mounts = [other for other in places if other[1] is not None and str(other[2] or "").startswith(kind)]
        if len(mounts) == 1:
            places[mounts[0]].extend(places.pop(place))


def causes(window: Window, group: StalledGroup, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings that account for a group's wait.

    A known place must be the subject, or depend on the subject, or be a part of it. Of an unknown place no cause can be
    excluded but devices at their limit with requests for less than HELD of the tasks: they serve requests in turn. A
    file system that is not on a device of this node is accounted for only by a finding that names it.
    """
    stops = [finding for finding in findings if accounts(finding, STOPS)]
    if group.place in {"", FROZEN_PLACE}:
        full = [finding for finding in stops if finding.rule == _SATURATED]
        held = added(finding.cost for finding in full) >= HELD * len(group.tasks)
        return tuple(stops if held else [finding for finding in stops if finding not in full])
    names = {name for name in (group.mount, group.device) if name is not None}
    related = _related(window, names)
    return tuple(finding for finding in stops if _is_about(window, finding, names, related))


def unaccounted(window: Window, seconds: float, findings: Sequence[Finding]) -> int:
    """Return the number of tasks that have not run for at least `seconds` and that no finding accounts for."""
    groups = stalled_groups(window, seconds)
    return sum(len(group.tasks) for group in groups if not causes(window, group, findings))


def accounts(finding: Finding, rules: frozenset[str]) -> bool:
    """Return whether a finding of one of these rules is such that tasks have to wait."""
    if finding.rule in _IF_LOUD and finding.severity is Severity.INFO:
        return False
    return finding.rule in rules and (finding.rule not in _IF_CRITICAL or finding.severity is Severity.CRITICAL)


def _related(window: Window, names: Iterable[str]) -> Mapping[str, Thing]:
    topology = window.topology
    things = [thing for thing in map(topology.find, names) if thing is not None]
    every = [*things, *(other for thing in things for other in (*topology.below(thing), *topology.above(thing)))]
    return {thing.name: thing for thing in every}


def _is_about(window: Window, finding: Finding, names: Iterable[str], related: Mapping[str, Thing]) -> bool:
    if finding.subject in names:
        return True
    thing = window.topology.find(finding.subject)
    return thing is not None and thing.name in related
