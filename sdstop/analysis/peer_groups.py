"""Peer groups of a window, judged once for all rules: hot and slow members, and queues that move between members."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.analysis import peer_samples, standstill, stripe
from sdstop.analysis.column import Second, StripeLimits
from sdstop.analysis.hysteresis import is_above
from sdstop.analysis.inferred import inferred
from sdstop.analysis.laggard import Wait, slowest, times
from sdstop.analysis.neighbour import Neighbour, neighbour
from sdstop.analysis.peer_samples import (
    SECONDS,
    Columns,
    GroupColumns,
    blocks_of,
    forget,
    marks,
    recent,
    seconds_of,
    services_of,
)
from sdstop.analysis.standstill import Standstill
from sdstop.analysis.stripe import StripePattern, Verdict
from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.md.readings import Array
from sdstop.core.finding import Threshold
from sdstop.core.history import Moment, Window
from sdstop.core.joins import CONTAINS, GroupKind, Traits
from sdstop.core.model import Reading
from sdstop.core.peer_group import PeerGroup
from sdstop.core.thing import Thing
from sdstop.readings.disk import DiskActivity
from sdstop.readings.rebuild import Rebuild
from sdstop.readings.service import Service

STAYS = 30.0
"""Seconds for which a member must be slow: a crowd of seeking streams on one disk may last longer than SECONDS."""
COARSEST = 3.0
"""Sampling interval in seconds above which a moving crowd averages out."""
SILENT = 3
"""Consecutive samples without completions after which a member's queue counts as unknown."""
CRITICAL = 3.0
"""Wait of a member that makes its slowness critical, as a multiple of the threshold."""
DEEP = 2.0
"""Deficit that makes a pattern critical, as a multiple of its threshold."""
MOST = 3
"""Maximum number of slow members that are named of one group."""
_PAST = 20
"""Seconds before now in which a severity that was reached is remembered."""

_SPREAD = frozenset({GroupKind.COLUMNS, GroupKind.LEAVES})
"""Groups over which requests are spread in turn: their queues tell hot members and convoys."""
_STRIPED = frozenset({"raid0", "raid10", "raid5", "raid6"})
_UNTIMED = frozenset({GroupKind.SLAVES})
"""Groups whose members complete no requests."""

_HELP = {
    "columns": ("fewest stripe columns of which a convoy or a hot member is claimed", ""),
    "queue": ("requests outstanding in the array, below which a second says nothing", ""),
    "ios": ("requests per second, below which a second says nothing", "per_second"),
    "deficit": ("share of the columns expected busy that were idle, rotational members", "ratio"),
    "deficit_flash": ("the same, flash members", "ratio"),
    "top_share": ("queue of the fullest column, times the mean", ""),
    "crowded": ("share of the seconds that must be crowded", "ratio"),
    "moving": ("how much of the crowd's pattern is the same in each second, below which it moves", "ratio"),
    "fixed": ("the same, from which it stays", "ratio"),
    "hot_ios": ("requests of the fullest column, times the others' median, that make it hot", ""),
    "equal_ios": ("up to here a member's share of I/O is equal to its peers'", ""),
    "slow_wait": ("a slow disk's wait, times its peers' median", ""),
    "slow_of_three": ("the same of three members, times the wait of the slower of the other two", ""),
    "slow_of_two": ("the same of two legs of a mirror, times the other leg's wait for writes", ""),
    "slow_far": ("the same over a minute, if busy times are no evidence", ""),
    "slow_once": ("the same in a single sample, times the longest wait of its peers", ""),
    "slow_service": ("busy time that it spends on each request, times its peers' median", ""),
    "slow_excess": ("and longer by, rotational members", "seconds"),
    "slow_excess_flash": ("and longer by, flash members", "seconds"),
}

SLOW = (
    "slow_wait", "slow_of_three", "slow_of_two", "slow_far", "slow_once", "slow_service", "slow_excess",
    "slow_excess_flash", "equal_ios",
)  # fmt: skip
"""Names of the thresholds for slow members."""


def thresholds(*names: str) -> tuple[Threshold, ...]:
    """Return the named limits of sdstop.analysis.stripe as configurable thresholds."""
    defaults = StripeLimits()
    return tuple(Threshold(name, getattr(defaults, name), *_HELP[name]) for name in names)


class Laggard(Struct, frozen=True):
    """A slow member: far longer waits than its peers, or standstills that they do not have.

    `neighbour` is set if another load on its disk is the cause. `critical` has hysteresis. `base` is the device below a
    member that is a mapping (an image of LVM's raid) of one device, "" for others.
    """

    member: str
    thing: Thing | None
    wait: Wait | None = None
    still: Standstill | None = None
    neighbour: Neighbour | None = None
    critical: bool = False
    base: str = ""

    @property
    def device(self) -> str:
        """The device whose own health matters: the one below a mapping, or the member."""
        return self.base or self.member


class JudgedGroup(Struct, frozen=True):
    """A peer group over the last seconds, with its slow members and the pattern of its queue, or why they are unknown.

    `seconds` are the judged ones, oldest first. `verdict` is about the pattern of the whole group, None if `unchecked`
    says why there is none. `slow` are the slow members, the worst first; `slow_unchecked` says why there may be more.
    An inferred group (pasted rates, no topology) has no `group`; `array` is that of md.
    """

    group: PeerGroup | None
    name: str
    layout: GroupColumns
    rotational: bool | None
    array: Array | None = None
    seconds: tuple[Second, ...] = ()
    verdict: Verdict | None = None
    unchecked: str = ""
    slow: tuple[Laggard, ...] = ()
    slow_unchecked: str = ""

    @property
    def rows(self) -> tuple[Reading, ...]:
        """Rows that state the group, for evidence."""
        return (self.array,) if self.array is not None else ()

    @property
    def chunk(self) -> int | None:
        """Bytes of consecutive data on one member, None if unknown."""
        return self.array.chunk if self.array is not None else None

    @property
    def columns(self) -> Columns:
        """Devices of each stripe column in order."""
        return self.layout.columns

    @property
    def kind(self) -> GroupKind | None:
        """Kind of the group, None if it is inferred."""
        return self.group.kind if self.group is not None else None

    @property
    def striped(self) -> bool:
        """Whether the members are stripe columns, of which the rules on stripe members speak."""
        return self.kind is GroupKind.COLUMNS

    @property
    def parity(self) -> int:
        """Further members that each write uses."""
        return (self.group.traits.parity or 0) if self.group is not None else 0

    @property
    def mirrored(self) -> bool:
        """Whether all members carry the same writes, so that one of two can be called slow."""
        if self.group is None:
            return False
        pair = self.kind is GroupKind.LEAVES and self.group.traits.layout == "mirror" and len(self.group.members) == 2
        return self.kind is GroupKind.LEGS or pair

    def subject(self, member: str) -> str:
        """Return the subject of a finding on one of the members."""
        return f"{self.name}/{member}" if self.group is not None and self.group.upper is not None else member


def is_striped(array: Array) -> bool:
    """Return whether an array spreads its data over columns; a RAID10 of two members is a mirror."""
    return array.level in _STRIPED and array.copies != array.raid_disks


def is_mirror(array: Array) -> bool:
    """Return whether all members of an array carry the same writes."""
    return array.redundant and (array.copies or 1) > 1 and array.copies == array.raid_disks


def judged_groups(window: Window, limits: Mapping[str, float]) -> Sequence[JudgedGroup]:
    """Judge every peer group of the window under these limits; rules with the same limits share the work."""
    chosen = _chosen(limits)
    return window.once(("peer groups", chosen), lambda: list(_judged(window, chosen)))


def _chosen(limits: Mapping[str, float]) -> StripeLimits:
    known = StripeLimits.__struct_fields__
    return StripeLimits(**{name: value for name, value in limits.items() if name in known})


def striped_groups(window: Window, limits: Mapping[str, float]) -> list[JudgedGroup]:
    """Return the judged groups whose members are stripe columns."""
    return [judged for judged in judged_groups(window, limits) if judged.striped]


def spread_groups(window: Window, limits: Mapping[str, float]) -> list[JudgedGroup]:
    """Return the judged groups over which requests are spread in turn."""
    return [judged for judged in judged_groups(window, limits) if judged.kind in _SPREAD]


def _judged(window: Window, limits: StripeLimits) -> Iterator[JudgedGroup]:
    owned: set[str] = set()
    for group in window.topology.groups():
        if group.kind in _UNTIMED:
            continue
        layout = _layout(window, group)
        if group.upper is None:
            # Members of an array, pool or map are compared there.
            if any(name in owned for name in layout.names):
                continue
        else:
            owned.update(layout.names)
        yield _judge(window, group, layout, limits)
    if not window.rows(BlockDevice) and not owned:
        for names in inferred(window):
            yield _judge(
                window, None, GroupColumns(names, tuple((name,) for name in names), (1.0,) * len(names)), limits
            )


# --- columns ----------------------------------------------------------------------------------------------


def is_deep(window: Window, judged: JudgedGroup, limits: Mapping[str, float]) -> bool:
    """Return whether a hot column or a convoy keeps far more columns idle than its limit, with hysteresis."""
    verdict = judged.verdict
    if verdict is None or verdict.deficit is None or not verdict.deficit_limit:
        return False
    chosen = _chosen(limits)

    def earlier() -> Iterator[float | None]:
        seconds = seconds_of(judged.layout, recent(window, SECONDS + _PAST, chosen.seconds))
        for back in range(1, _PAST + 1):
            part = seconds[max(len(seconds) - back - verdict.seconds, 0) : len(seconds) - back]
            rotational = judged.rotational is True
            known = stripe.pattern(part, None, rotational=rotational, parity=judged.parity, limits=chosen)
            yield known.deficit if known.kind is verdict.kind else None

    return is_above(verdict.deficit, DEEP * verdict.deficit_limit, earlier)


def _layout(window: Window, group: PeerGroup) -> GroupColumns:
    """Return a group's columns, which stay the same as long as the topology does."""

    def make() -> GroupColumns:
        columns = columns_of(group)
        own = group.upper.device if group.upper is not None else None
        return GroupColumns((group.kind.value, group.name), columns, _capacities(group, columns), own)

    return window.topology.once(("layout", group.kind, group.name), make)


def device_of(member: Thing) -> str:
    """Return the name under which the kernel counts a member's requests, or the member's name."""
    return member.device or member.name


def columns_of(group: PeerGroup) -> Columns:
    """Return the devices of each stripe column, in slot order.

    Copies that neighbouring members carry form one column, because these legs carry the same writes, if their number
    divides the number of members (RAID10 with near copies, mirrors). In every other layout each device is a column of
    its own. A missing leg leaves the others in its column.
    """
    traits: Traits = group.traits
    names = [device_of(member) for member in group.members]
    slots = group.slots or tuple(range(len(names)))
    disks = traits.slots or len(names)
    near = traits.copies or 1
    if group.kind not in {GroupKind.COLUMNS, GroupKind.LEGS} or (traits.far or 1) > 1 or near < 2 or disks % near:
        near = 1
    columns: dict[int, list[str]] = {}
    for slot, name in sorted(zip(slots, names, strict=True)):
        columns.setdefault(slot // near, []).append(name)
    return tuple(tuple(columns[number]) for number in sorted(columns))


def _capacities(group: PeerGroup, columns: Columns) -> tuple[float, ...]:
    """Return each column's share of the group's space; only levels without redundancy fully use unequal members."""
    weights = dict(zip(map(device_of, group.members), group.weights, strict=False))
    found = [weights.get(column[0]) for column in columns]
    if group.traits.layout != "raid0" or not all(found):
        return (1.0,) * len(columns)
    known = [weight for weight in found if weight]
    mean = math.fsum(known) / len(known)
    return tuple(weight / mean for weight in known)


# --- judging ----------------------------------------------------------------------------------------------


def _judge(window: Window, group: PeerGroup | None, layout: GroupColumns, limits: StripeLimits) -> JudgedGroup:
    rotational = window.of_run(BlockDevice, ("media", layout.columns), lambda: _is_rotational(window, layout))
    upper = group.upper if group is not None else None
    name = upper.label if upper is not None else group.name if group is not None else "+".join(layout.names)
    array = window.get(Array, upper.device) if upper is not None and upper.device is not None else None
    judged = JudgedGroup(group, name, layout, rotational, array)
    moments = recent(window, SECONDS, limits.seconds)
    seconds = seconds_of(layout, moments)
    if group is not None and not seconds and window.rows(Service):
        printed = services_of(window, layout, {device_of(member): member for member in group.members})
        if printed:
            return _of_printed(window, judged, printed, limits)
    action = _synchronising(window, judged, moments)
    judged = _of_pattern(window, judged, seconds, moments, limits, action)
    return _of_minutes(window, judged, limits, action)


def _of_pattern(
    window: Window,
    judged: JudgedGroup,
    seconds: tuple[Second, ...],
    moments: Sequence[Moment[DiskActivity]],
    limits: StripeLimits,
    action: str | None,
) -> JudgedGroup:
    """Judge the last seconds: the pattern of the queue, and slow members."""
    layout, group = judged.layout, judged.group

    def no(reason: str) -> JudgedGroup:
        return replace(judged, unchecked=reason, slow_unchecked=reason)

    if not layout.names:
        return no("its members are not known")
    if (alone := _parity_alone(judged.array)) is not None:
        return no(f"with the layout {alone} one disk holds parity alone and is rightly asked for more")
    if action:
        return no(f"{action} is running, or was a moment ago: its own I/O hides how the load is spread")
    if (uncounted := _uncounted(window, layout, moments)) is not None:
        return no(f"the kernel keeps no I/O statistics of {uncounted} (queue/iostats is 0)")
    coarse = [m.seconds for m in moments if m.seconds is not None and m.seconds > COARSEST]
    if coarse:
        return no(f"readings lie {max(coarse):.0f} s apart; a moving crowd shows only in readings of about 1 s")
    fewest = limits.seconds if group is not None else min(limits.seconds, FEWEST_PASTED)
    if len(seconds) < fewest:
        return no(f"needs {fewest:g} readings of every member, has {len(seconds)}")
    longer, slow, lately = _slow(window, judged, seconds, limits)
    verdict = None
    if judged.kind in _SPREAD:
        wait = slow[0].wait if slow else None
        # Unknown media use the stricter flash thresholds to avoid false alarms.
        rotational = judged.rotational is True
        verdict = stripe.pattern(seconds, wait, rotational=rotational, parity=judged.parity, limits=limits)
    forget(window, layout, len(longer) if slow else len(moments))
    judged = replace(judged, seconds=seconds, verdict=verdict, slow=slow, slow_unchecked=lately)
    if not slow and (silent := _silent(layout, moments)):
        reason = f"{silent} answers nothing, and what waits is counted when it is answered: no queue is known"
        return replace(no(reason), seconds=(), verdict=None)
    return judged


FEWEST_PASTED = 3
"""Minimum number of samples of pasted rates: each may be the mean of many seconds."""


def _slow(
    window: Window, judged: JudgedGroup, seconds: tuple[Second, ...], limits: StripeLimits
) -> tuple[Sequence[Second], tuple[Laggard, ...], str]:
    """Return the members that are slow in the last seconds and were in the last STAYS, with these longer samples.

    The last string is the reason why it is too early to judge a member that is slow only lately, else empty.
    """
    rotational, mirrored = judged.rotational is True, judged.mirrored
    first = slowest(seconds, limits, rotational=rotational, mirrored=mirrored)
    if first is None:
        return (), (), ""
    longer = seconds_of(judged.layout, recent(window, STAYS, limits.seconds))
    found: list[Laggard] = []
    while len(found) < MOST:
        without = frozenset(laggard.member for laggard in found)
        now = slowest(seconds, limits, rotational=rotational, mirrored=mirrored, without=without)
        lasting = now and slowest(longer, limits, rotational=rotational, mirrored=mirrored, without=without)
        if now is None or lasting is None or lasting.disk != now.disk:
            break
        found.append(_laggard(window, judged, now, longer, len(seconds), limits))
    lately = "" if found else f"needs {STAYS:g} s: {first.disk} is slower than its peers, but only lately"
    return longer, tuple(found), lately


def _of_minutes(window: Window, judged: JudgedGroup, limits: StripeLimits, action: str | None) -> JudgedGroup:
    """Add the members that are slow over a minute, or stall again and again."""
    edges = marks(window)
    known = {laggard.member for laggard in judged.slow}
    more: list[Laggard] = []
    if edges and not known:
        key = ("minutes", judged.layout.key, limits, action)
        memo = edges[-1].memo
        if key not in memo:
            blocks = blocks_of(window, judged.layout)
            memo[key] = blocks, tuple(_slow_over_minutes(judged, blocks, limits, action))
        blocks, waits = memo[key]
        more = [_laggard(window, judged, wait, blocks, len(blocks), limits) for wait in waits]
        silent = _silent(judged.layout, recent(window, SECONDS, limits.seconds)) if judged.slow_unchecked else None
        if blocks and not judged.seconds and action is None and judged.slow_unchecked and silent is None:
            judged = replace(judged, seconds=blocks, slow_unchecked="")
    still = standstill.worst(window, judged.layout.names)
    if still is not None:
        more = [laggard for laggard in more if laggard.member != still.device]
        known -= {still.device}
        thing = _thing(judged, still.device)
        near = _neighbour(window, judged, thing)
        critical = near is None and standstill.is_critical(window, still)
        more.append(Laggard(still.device, thing, None, still, near, critical, _base(window, thing)))
    if not more:
        return judged
    kept = tuple(laggard for laggard in judged.slow if laggard.member not in {each.member for each in more})
    verdict = judged.verdict
    if verdict is not None and verdict.kind is StripePattern.UNCLEAR:
        verdict = replace(verdict, kind=StripePattern.SLOW)
    return replace(judged, slow=(*kept, *more), verdict=verdict)


def _slow_over_minutes(
    judged: JudgedGroup, blocks: Sequence[Second], limits: StripeLimits, action: str | None
) -> Iterator[Wait]:
    if not blocks:
        return
    rate = FEWEST_IN_BLOCK / peer_samples.BLOCK
    limits = replace(limits, slow_ios=min(limits.slow_ios, rate))
    if action is not None:  # the members' shares of a rebuild differ: only what no share explains
        limits = replace(limits, slow_wait=limits.slow_far, slow_of_three=limits.slow_far, slow_of_two=limits.slow_far)
    rotational, mirrored = judged.rotational is True, judged.mirrored
    found: set[str] = set()
    while len(found) < MOST:
        wait = slowest(blocks, limits, rotational=rotational, mirrored=mirrored, lasting=True, without=found)
        if wait is None:
            return
        found.add(wait.disk)
        yield replace(wait, minutes=True)


FEWEST_IN_BLOCK = 2.0
"""Requests in a block, below which a member's wait in it says nothing."""


def _of_printed(window: Window, judged: JudgedGroup, printed: tuple[Second, ...], limits: StripeLimits) -> JudgedGroup:
    """Judge the intervals that a tool printed: slow members only."""
    judged = replace(judged, seconds=printed, unchecked="service times of a tool: the queue's pattern is not in them")
    limits = replace(limits, slow_ios=0.0)
    if len(printed) < FEWEST_PASTED:
        limits = replace(limits, slow_wait=limits.slow_once, slow_of_two=limits.slow_once)
    rotational, mirrored = judged.rotational is True, judged.mirrored
    found: list[Laggard] = []
    while len(found) < MOST:
        without = frozenset(laggard.member for laggard in found)
        wait = slowest(printed, limits, rotational=rotational, mirrored=mirrored, lasting=True, without=without)
        if wait is None or (len(printed) < FEWEST_PASTED and len(judged.layout.names) <= FEWEST_PASTED):
            break
        laggard = _laggard(window, judged, wait, printed, len(printed), limits)
        found.append(replace(laggard, critical=laggard.critical and len(printed) >= FEWEST_PASTED))
    return replace(judged, slow=tuple(found))


def _laggard(
    window: Window, judged: JudgedGroup, wait: Wait, seconds: Sequence[Second], count: int, limits: StripeLimits
) -> Laggard:
    """Return a slow member with its severity; `count` of the `seconds` are those in which it was found."""
    thing = _thing(judged, wait.disk)
    near = _neighbour(window, judged, thing)

    def earlier() -> Iterator[float | None]:
        for back in range(1, _PAST + 1):
            part = seconds[max(len(seconds) - back - count, 0) : len(seconds) - back]
            yield times(part, wait, limits) if len(part) >= min(count, FEWEST_PASTED) else None

    critical = judged.group is not None and near is None
    if critical and not judged.striped:
        critical = wait.seconds >= limits.slow_seek
    critical = critical and is_above(wait.times, CRITICAL * StripeLimits().slow_wait, earlier)
    return Laggard(wait.disk, thing, wait, None, near, critical, _base(window, thing))


def _base(window: Window, thing: Thing | None) -> str:
    """Return the only device below a mapping, "" for other members."""
    if thing is None or thing.device is None or not thing.device.startswith("dm-"):
        return ""
    below = [other.device for other, how in window.topology.lower(thing).items() if how in CONTAINS and other.device]
    return below[0] if len(below) == 1 else ""


def _neighbour(window: Window, judged: JudgedGroup, thing: Thing | None) -> Neighbour | None:
    if thing is None or judged.group is None:
        return None
    peers = [other for other in judged.group.members if other is not thing]
    return neighbour(window, thing, peers, judged.group.upper, recent(window, SECONDS, FEWEST_PASTED))


def _thing(judged: JudgedGroup, member: str) -> Thing | None:
    members = judged.group.members if judged.group is not None else ()
    return next((thing for thing in members if device_of(thing) == member), None)


# --- reasons not to judge ---------------------------------------------------------------------------------


def _parity_alone(array: Array | None) -> str | None:
    """Return the layout of an array of which one disk holds parity alone, None for all others."""
    layout = array.layout if array is not None else None
    return layout if layout is not None and (layout.startswith("parity-") or layout.endswith("-6")) else None


def _synchronising(window: Window, judged: JudgedGroup, moments: Sequence[Moment[DiskActivity]]) -> str | None:
    """Return the rebuild or check that ran at any time since the first sample, None if there was none."""
    upper = judged.group.upper if judged.group is not None else None
    if upper is None:
        return None
    start = min((moment.started - (moment.seconds or 0.0) for moment in moments), default=window.now.monotonic)
    actions = window.once(("actions", start), lambda: _actions(window, start))
    if not actions:
        return None
    return actions.get(upper.name) or actions.get(upper.label)


def _actions(window: Window, start: float) -> dict[str, str]:
    """Return the rebuilds and checks by array or pool since a time, the newest of each."""
    found: dict[str, str] = {}
    seen: set[int] = set()
    for shot in reversed(window.snapshots):
        for family in (Array, Rebuild):
            run = shot.run_of(family)
            if run is None or id(run) in seen:
                continue
            seen.add(id(run))
            for array in shot.rows(Array).values() if family is Array else ():
                if array.action not in {"idle", "frozen", None}:
                    found.setdefault(array.array, array.action or "")
            for row in shot.rows(Rebuild).values() if family is Rebuild else ():
                if row.state == "running" and row.kind != "md":
                    found.setdefault(row.array, row.operation)
        if shot.monotonic < start:
            break
    return found


def _silent(layout: GroupColumns, moments: Sequence[Moment[DiskActivity]]) -> str | None:
    """Return a member with outstanding requests that completed none in the last samples."""
    names: Sequence[str] = layout.names
    for moment in moments[-SILENT:]:
        rows = ((name, moment.rows.get(name)) for name in names)
        names = [n for n, row in rows if row is not None and row.in_flight and not row.completed_per_second]
        if not names:
            return None
    return names[0] if names and moments else None


def _uncounted(window: Window, layout: GroupColumns, moments: Sequence[Moment[DiskActivity]]) -> str | None:
    """Return a member whose requests the kernel does not count, None if all are counted.

    Only counters that do not move are no counters: dm, DRBD and bcache devices are counted whatever queue/iostats says.
    """
    off = window.of_run(BlockDevice, ("iostats off", layout.columns), lambda: _switched_off(window, layout))
    for name in off:
        rows = (moment.rows.get(name) for moment in moments)
        if not any(row is not None and row.completed_per_second for row in rows):
            return name
    return None


def _switched_off(window: Window, layout: GroupColumns) -> tuple[str, ...]:
    devices = ((name, _device(window, name)) for name in layout.names)
    return tuple(name for name, device in devices if device is not None and device.iostats_enabled == 0)


def _device(window: Window, name: str) -> BlockDevice | None:
    device = window.get(BlockDevice, name)
    return window.get(BlockDevice, device.parent) or device if device is not None and device.parent else device


def _is_rotational(window: Window, layout: GroupColumns) -> bool | None:
    """Return whether a member is rotational, None if that is unknown of all."""
    devices = [device for name in layout.names if (device := _device(window, name)) is not None]
    said = [bool(device.rotational) for device in devices if device.rotational is not None]
    return any(said) if said else None
