"""Peer groups of a window, judged once for all rules: hot and slow members, and queues that move between members."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from msgspec.structs import replace

from sdstop.analysis.disks import standstill
from sdstop.analysis.hysteresis import is_above
from sdstop.analysis.members import peer_samples, stripe
from sdstop.analysis.members.column import Second, StripeLimits
from sdstop.analysis.members.evenness import is_even
from sdstop.analysis.members.group_columns import device_of, is_rotational, layout_of
from sdstop.analysis.members.inferred import inferred
from sdstop.analysis.members.judged_group import JudgedGroup, Laggard
from sdstop.analysis.members.lag import Lag, lag
from sdstop.analysis.members.laggard import Wait, slowest
from sdstop.analysis.members.peer_samples import (
    BLOCKS,
    FEWEST_BLOCKS,
    SECONDS,
    GroupColumns,
    blocks_of,
    forget,
    marks,
    recent,
    seconds_of,
    services_of,
    settle,
)
from sdstop.analysis.members.relapse import relapse
from sdstop.analysis.members.slow_members import (
    FEWEST_PASTED,
    MOST,
    PAST,
    device_below,
    laggard_of,
    neighbor_of,
    slow_members,
    sudden_members,
    thing_of,
)
from sdstop.analysis.members.stripe import StripePattern
from sdstop.analysis.members.unjudged import (
    parity_alone,
    silent_member,
    synchronizing,
    uncounted_member,
)
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Array
from sdstop.core.averages import median
from sdstop.core.guard import check_wanted
from sdstop.core.history import Moment, Window
from sdstop.core.joins import GroupKind
from sdstop.core.peer_group import PeerGroup
from sdstop.core.thing import Thing
from sdstop.readings.disk import Disk, DiskActivity
from sdstop.readings.service import Service

COARSEST = 3.0
"""Sampling interval in seconds above which a moving crowd averages out."""
DEEP = 2.0
"""Deficit that makes a pattern critical, as a multiple of its threshold."""

_SPREAD = frozenset({GroupKind.COLUMNS, GroupKind.LEAVES})
"""Groups over which requests are spread in turn: their queues show hot members and convoys."""
_LOADED_ALIKE = _SPREAD | {GroupKind.DEVICES}
"""Groups whose members may get equal shares of requests: one that then lags is the cause itself."""
_CROWDS = frozenset({StripePattern.CONVOY, StripePattern.HOT})
"""Patterns that explain longer waits of a member."""
_UNTIMED = frozenset({GroupKind.SLAVES})
"""Groups whose members complete no requests."""


def judged_groups(window: Window, limits: Mapping[str, float]) -> Sequence[JudgedGroup]:
    """Judge every peer group of the window under these limits; rules with the same limits share the work.

    Raises Superseded between two groups if the judgement is not wanted any more.
    """
    chosen = _chosen(limits)
    return window.once(("peer groups", chosen), lambda: list(_judged(window, chosen)))


def _chosen(limits: Mapping[str, float]) -> StripeLimits:
    return _limits(tuple([(name, limits[name]) for name in StripeLimits.__struct_fields__ if name in limits]))


@lru_cache(maxsize=16)
def _limits(limits: tuple[tuple[str, float], ...]) -> StripeLimits:
    """Return the same object for the same limits: each result of a group is kept with the limits it is valid for."""
    return StripeLimits(**dict(limits))


def striped_groups(window: Window, limits: Mapping[str, float]) -> list[JudgedGroup]:
    """Return the judged groups whose members are stripe columns."""
    return [judged for judged in judged_groups(window, limits) if judged.striped]


def renewed(window: Window, judged: JudgedGroup, limits: Mapping[str, float]) -> JudgedGroup:
    """Return a group judged in an older window with the last seconds of this one; its verdict stays."""
    moments = recent(window, SECONDS, _chosen(limits).seconds)
    return replace(judged, seconds=seconds_of(judged.layout, moments))


def spread_groups(window: Window, limits: Mapping[str, float]) -> list[JudgedGroup]:
    """Return the judged groups over which requests are spread in turn."""
    return [judged for judged in judged_groups(window, limits) if judged.kind in _SPREAD]


def _judged(window: Window, limits: StripeLimits) -> Iterator[JudgedGroup]:
    owned: set[str] = set()
    for group in window.topology.groups():
        if group.kind in _UNTIMED:
            continue
        layout = layout_of(window, group)
        if group.upper is None:
            # Members of an array, pool or map are compared there.
            if any(name in owned for name in layout.names):
                continue
        else:
            owned.update(layout.names)
        check_wanted()
        yield _judge(window, group, layout, limits)
    if not window.rows(BlockDevice) and not owned:
        for names in inferred(window):
            yield _judge(
                window, None, GroupColumns(names, tuple((name,) for name in names), (1.0,) * len(names)), limits
            )


def is_deep(window: Window, judged: JudgedGroup, limits: Mapping[str, float]) -> bool:
    """Return whether a hot column or a convoy keeps far more columns idle than its limit, with hysteresis."""
    verdict = judged.verdict
    if verdict is None or verdict.deficit is None or not verdict.deficit_limit:
        return False
    chosen = _chosen(limits)

    def earlier() -> Iterator[float | None]:
        seconds = seconds_of(judged.layout, recent(window, SECONDS + PAST, chosen.seconds))
        for back in range(1, PAST + 1):
            part = seconds[max(len(seconds) - back - verdict.seconds, 0) : len(seconds) - back]
            rotational = judged.rotational is True
            known = stripe.pattern(part, None, rotational=rotational, parity=judged.parity, limits=chosen)
            yield known.deficit if known.kind is verdict.kind else None

    return is_above(verdict.deficit, DEEP * verdict.deficit_limit, earlier)


def _judge(window: Window, group: PeerGroup | None, layout: GroupColumns, limits: StripeLimits) -> JudgedGroup:
    rotational = window.of_run(BlockDevice, ("media", layout.columns), lambda: is_rotational(window, layout))
    upper = group.upper if group is not None else None
    name = upper.label if upper is not None else group.name if group is not None else "+".join(layout.names)
    array = window.get(Array, upper.device) if upper is not None and upper.device is not None else None
    judged = JudgedGroup(group, name, layout, rotational, array)
    moments = recent(window, SECONDS, limits.seconds)
    coarse = window.once(("coarse", len(moments)), lambda: _coarse(moments))  # the last ones, of all groups
    even = len(moments) > 0 and is_even(layout, moments, limits, rotational=rotational is True)
    # Of members that are close together in each second, and whose queue has no pattern, only the newest one is shown.
    few = even and coarse is None and judged.kind not in _SPREAD
    seconds = seconds_of(layout, moments[-1:] if few else moments)
    if group is not None and not seconds and window.rows(Service):
        printed = services_of(window, layout, _by_device(group))
        if printed:
            return _of_printed(window, judged, printed, limits)
    action = synchronizing(window, upper, moments)
    if not action and seconds and coarse is not None and not window.rows(Disk):
        # Printed rates without counters: the minutes of counters, which judge coarse samples, do not exist.
        unchecked = _too_coarse(coarse)
        return replace(_of_printed(window, judged, seconds[-BLOCKS:], limits, least=FEWEST_IN_BLOCK / coarse),
                       unchecked=unchecked)  # fmt: skip
    judged = _of_pattern(window, judged, seconds, moments, limits, action, coarse=coarse, even=even)
    judged = _of_minutes(window, judged, limits, action)
    settle(window, layout)
    return judged


def _by_device(group: PeerGroup) -> dict[str, Thing]:
    return {device_of(member): member for member in group.members}


def _of_pattern(
    window: Window,
    judged: JudgedGroup,
    seconds: tuple[Second, ...],
    moments: Sequence[Moment[DiskActivity]],
    limits: StripeLimits,
    action: str | None,
    *,
    coarse: float | None,
    even: bool,
) -> JudgedGroup:
    """Judge the last seconds: the pattern of the queue, and slow members; an `even` group has none."""
    layout, group = judged.layout, judged.group

    def undecided(reason: str) -> JudgedGroup:
        return replace(judged, unchecked=reason, slow_unchecked=reason)

    if not layout.names:
        return undecided("members unknown")
    if (alone := parity_alone(judged.array)) is not None:
        return undecided(f"layout {alone}: one disk holds all parity and gets more requests by design")
    if action:
        forget(window, layout, len(moments))
        return undecided(f"{action} running or just finished; its I/O masks the load distribution")
    if uncounted := uncounted_member(window, layout, judged.array, moments):
        return undecided(uncounted)
    if coarse is not None:
        return undecided(_too_coarse(coarse))
    fewest = limits.seconds if group is not None else min(limits.seconds, FEWEST_PASTED)
    rotational = judged.rotational is True
    early = () if even else sudden_members(window, judged, seconds, limits)
    count = len(moments) if even else len(seconds)
    if count < fewest:
        sign = "" if even else _lags(seconds, limits)
        seen = f"collecting data: {count} of {fewest:g} samples of every member"
        return replace(undecided(seen), slow=early, sign=sign)
    no_slow: tuple[Sequence[Second], tuple[Laggard, ...], str, str] = seconds, (), "", ""
    longer, slow, lately, sign = no_slow if even else slow_members(window, judged, seconds, limits, early)
    verdict = None
    if judged.kind in _SPREAD:
        wait = slow[0].wait if slow else None
        # Unknown media use the stricter flash thresholds to avoid false alarms.
        verdict = stripe.pattern(seconds, wait, rotational=rotational, parity=judged.parity, limits=limits)
    forget(window, layout, len(longer) if slow else len(moments))
    judged = replace(judged, seconds=seconds, verdict=verdict, slow=slow, slow_unchecked=lately, sign=sign)
    if not slow and (silent := silent_member(layout, moments)):
        reason = f"{silent} completes nothing, so its queue cannot be measured"
        return replace(undecided(reason), seconds=(), verdict=None)
    return judged


_SIGNS = 5
"""Fewest samples in a row that show a sign."""
_SHORT = 0.02
"""Seconds: a shorter wait is not a sign of a slow member."""


def _lags(seconds: Sequence[Second], limits: StripeLimits) -> str:
    """Return the member whose wait is above the multiple of a slow one in every sample; "" for none."""
    if len(seconds) < _SIGNS:
        return ""
    found: set[str] | None = None
    for second in seconds:
        waits = {
            member.name: max(known)
            for column in second.columns
            for member in column.members
            if (known := [wait for wait in (member.read_wait, member.write_wait, member.any_wait) if wait is not None])
        }
        late = set()
        for name, wait in waits.items():
            peers = median([other for each, other in waits.items() if each != name] or [math.inf])
            if wait >= max(_SHORT, limits.slow_wait * peers):
                late.add(name)
        found = late if found is None else found & late
    return min(found or {""})


def _coarse(moments: Sequence[Moment[DiskActivity]]) -> float | None:
    """Return the longest interval in seconds if a moving queue averages out in it, else None."""
    return max((m.seconds for m in moments if m.seconds is not None and m.seconds > COARSEST), default=None)


def _too_coarse(seconds: float) -> str:
    return f"samples are {seconds:.0f} s apart; a moving queue shows at about 1 s only"


def _of_minutes(window: Window, judged: JudgedGroup, limits: StripeLimits, action: str | None) -> JudgedGroup:
    """Add the members that are slow over a minute, or stall again and again."""
    edges = marks(window)
    blocks: tuple[Second, ...] = ()
    waits: tuple[Wait, ...] = ()
    behind: Lag | None = None
    known = {laggard.member for laggard in judged.slow}
    more: list[Laggard] = []
    if edges:
        key = (judged.layout.key, action, frozenset(known))
        found = window.once(("minutes", id(limits)), lambda: _minutes(edges, limits))
        if key not in found:
            blocks = blocks_of(window, judged.layout)
            waits = tuple(_slow_over_minutes(judged, blocks, limits, action, known))
            compared = judged.kind in _LOADED_ALIKE and not waits and not known and action is None
            behind = lag(blocks, rotational=judged.rotational is True) if compared else None
            found[key] = blocks, waits, behind
        blocks, waits, behind = found[key]
    elif judged.group is not None and window.rows(Service):
        blocks = services_of(window, judged.layout, _by_device(judged.group))
        blocks = blocks if len(blocks) >= FEWEST_BLOCKS else ()
        waits = tuple(_slow_over_minutes(judged, blocks, limits, action, known))
    if blocks:
        more = [laggard_of(window, judged, wait, blocks, len(blocks), limits) for wait in waits]
        newest = recent(window, SECONDS, limits.seconds)
        silent = silent_member(judged.layout, newest) if judged.slow_unchecked else None
        if not judged.seconds and action is None and judged.slow_unchecked and silent is None:
            judged = replace(judged, seconds=blocks, slow_unchecked="")
    still = standstill.worst(window, judged.layout.names)
    if still is not None:
        more = [laggard for laggard in more if laggard.member != still.device]
        known -= {still.device}
        thing = thing_of(judged, still.device)
        near = neighbor_of(window, judged, thing)
        critical = near is None and standstill.is_critical(window, still)
        more.append(Laggard(still.device, thing, None, still, near, critical, device_below(window, thing)))
    elif not more and not judged.slow and judged.group is not None and action is None:
        more = _relapsing(window, judged, limits)
    if not more:
        crowded = judged.verdict is not None and judged.verdict.kind in _CROWDS
        return replace(judged, lag=behind) if behind is not None and not judged.slow and not crowded else judged
    kept = tuple(laggard for laggard in judged.slow if laggard.member not in {each.member for each in more})
    verdict = judged.verdict
    if verdict is not None and verdict.kind is StripePattern.UNCLEAR:
        verdict = replace(verdict, kind=StripePattern.SLOW)
    return replace(judged, slow=(*kept, *more), verdict=verdict)


_Minutes = dict[Hashable, tuple[tuple[Second, ...], tuple[Wait, ...], Lag | None]]
"""Blocks of a group, the members that are slow in them, and without any one that lags."""


def _minutes(edges: Sequence[Moment[Disk]], limits: StripeLimits) -> _Minutes:
    """Return the judgements of the blocks that end with the last of these samples, kept with it.

    It is dropped from the samples before: each would hold ten blocks, 0.5 MB each of 1000 disks.
    """
    memo = edges[-1].memo
    if "minutes" not in memo:
        memo["minutes"] = {}
        for edge in edges[:-1]:
            edge.memo.pop("minutes", None)
    found: dict[StripeLimits, _Minutes] = memo["minutes"]
    return found.setdefault(limits, {})


def _relapsing(window: Window, judged: JudgedGroup, limits: StripeLimits) -> list[Laggard]:
    """Return the member that is slow at times, if no member is slow all the time."""
    if parity_alone(judged.array) is not None:
        return []
    rotational = judged.rotational is True
    found = relapse(window, judged.layout, limits, rotational=rotational, mirrored=judged.mirrored)
    if found is None:
        return []
    thing = thing_of(judged, found.member)
    near = neighbor_of(window, judged, thing)
    return [Laggard(found.member, thing, neighbor=near, base=device_below(window, thing), relapse=found)]


def _slow_over_minutes(
    judged: JudgedGroup, blocks: Sequence[Second], limits: StripeLimits, action: str | None, known: AbstractSet[str]
) -> Iterator[Wait]:
    """Yield the members that are slow over a minute beside those known to be slow, which hide others of few."""
    if not blocks:
        return
    rate = FEWEST_IN_BLOCK / peer_samples.BLOCK
    limits = replace(limits, slow_ios=min(limits.slow_ios, rate))
    if action is not None:  # the members' shares of a rebuild differ: only what no share explains
        limits = replace(limits, slow_wait=limits.slow_far, slow_of_three=limits.slow_far, slow_of_two=limits.slow_far)
    rotational, mirrored = judged.rotational is True, judged.mirrored
    found = set(known)
    while len(found) < MOST:
        wait = slowest(blocks, limits, rotational=rotational, mirrored=mirrored, lasting=True, without=found)
        if wait is None:
            return
        found.add(wait.disk)
        yield replace(wait, minutes=True)


FEWEST_IN_BLOCK = 2.0
"""Requests in a block, below which a member's wait in it is not judged."""


def _of_printed(
    window: Window, judged: JudgedGroup, printed: tuple[Second, ...], limits: StripeLimits, *, least: float = 0.0
) -> JudgedGroup:
    """Judge the intervals that a tool printed: slow members only; `least` is the fewest requests per second of one."""
    judged = replace(judged, seconds=printed, unchecked="service times of a tool, without the pattern of the queue")
    limits = replace(limits, slow_ios=min(limits.slow_ios, least))
    if len(printed) < FEWEST_PASTED:
        limits = replace(limits, slow_wait=limits.slow_once, slow_of_two=limits.slow_once)
    rotational, mirrored = judged.rotational is True, judged.mirrored
    found: list[Laggard] = []
    while len(found) < MOST:
        without = frozenset(laggard.member for laggard in found)
        wait = slowest(printed, limits, rotational=rotational, mirrored=mirrored, lasting=True, without=without)
        if wait is None or (len(printed) < FEWEST_PASTED and len(judged.layout.names) <= FEWEST_PASTED):
            break
        laggard = laggard_of(window, judged, wait, printed, len(printed), limits)
        found.append(replace(laggard, critical=laggard.critical and len(printed) >= FEWEST_PASTED))
    return replace(judged, slow=tuple(found))
