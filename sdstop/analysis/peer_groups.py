"""Peer groups of a window, judged once for all rules: hot and slow members, and queues that move between members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from sdstop.analysis import peer_samples, standstill, stripe
from sdstop.analysis.column import Second, StripeLimits
from sdstop.analysis.group_columns import device_of, is_rotational, layout_of
from sdstop.analysis.hysteresis import is_above
from sdstop.analysis.inferred import inferred
from sdstop.analysis.judged_group import JudgedGroup, Laggard
from sdstop.analysis.laggard import Wait, extent, slowest, sudden, times
from sdstop.analysis.neighbour import Neighbour, neighbour
from sdstop.analysis.peer_samples import (
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
)
from sdstop.analysis.stripe import StripePattern
from sdstop.analysis.unjudged import parity_alone, silent_member, synchronising, uncounted_member
from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.md.readings import Array
from sdstop.core.history import Moment, Window
from sdstop.core.joins import CONTAINS, GroupKind
from sdstop.core.peer_group import PeerGroup
from sdstop.core.thing import Thing
from sdstop.readings.disk import Disk, DiskActivity
from sdstop.readings.service import Service

STAYS = 30.0
"""Seconds for which a member must be slow: a crowd of seeking streams on one disk may last longer than SECONDS.

The more its work on each request exceeds its peers', the fewer seconds suffice; a crowd does not lengthen that work.
"""
SUDDEN = 5
"""Samples in which an extremely slow member is known."""
COARSEST = 3.0
"""Sampling interval in seconds above which a moving crowd averages out."""
CRITICAL = 3.0
"""Wait of a member that makes its slowness critical, as a multiple of the threshold."""
DEEP = 2.0
"""Deficit that makes a pattern critical, as a multiple of its threshold."""
MOST = 3
"""Maximum number of slow members that are named of one group."""
_PAST = 20
"""Seconds before now in which a severity that was reached is remembered."""

_SPREAD = frozenset({GroupKind.COLUMNS, GroupKind.LEAVES})
"""Groups over which requests are spread in turn: their queues show hot members and convoys."""
_UNTIMED = frozenset({GroupKind.SLAVES})
"""Groups whose members complete no requests."""


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
        layout = layout_of(window, group)
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


def _judge(window: Window, group: PeerGroup | None, layout: GroupColumns, limits: StripeLimits) -> JudgedGroup:
    rotational = window.of_run(BlockDevice, ("media", layout.columns), lambda: is_rotational(window, layout))
    upper = group.upper if group is not None else None
    name = upper.label if upper is not None else group.name if group is not None else "+".join(layout.names)
    array = window.get(Array, upper.device) if upper is not None and upper.device is not None else None
    judged = JudgedGroup(group, name, layout, rotational, array)
    moments = recent(window, SECONDS, limits.seconds)
    seconds = seconds_of(layout, moments)
    if group is not None and not seconds and window.rows(Service):
        printed = services_of(window, layout, _by_device(group))
        if printed:
            return _of_printed(window, judged, printed, limits)
    action = synchronising(window, upper, moments)
    if not action and seconds and not window.rows(Disk) and (coarse := _coarse(moments)) is not None:
        # Printed rates without counters: the minutes of counters, which judge coarse samples, do not exist.
        unchecked = _too_coarse(coarse)
        return replace(_of_printed(window, judged, seconds[-BLOCKS:], limits, least=FEWEST_IN_BLOCK / coarse),
                       unchecked=unchecked)  # fmt: skip
    judged = _of_pattern(window, judged, seconds, moments, limits, action)
    return _of_minutes(window, judged, limits, action)


def _by_device(group: PeerGroup) -> dict[str, Thing]:
    return {device_of(member): member for member in group.members}


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
        return no("members unknown")
    if (alone := parity_alone(judged.array)) is not None:
        return no(f"layout {alone}: one disk holds all parity and gets more requests by design")
    if action:
        return no(f"{action} running or just finished; its I/O masks the load distribution")
    if (uncounted := uncounted_member(window, layout, moments)) is not None:
        return no(f"no I/O statistics of {uncounted} (queue/iostats = 0)")
    if (coarse := _coarse(moments)) is not None:
        return no(_too_coarse(coarse))
    fewest = limits.seconds if group is not None else min(limits.seconds, FEWEST_PASTED)
    early = _sudden(window, judged, seconds, limits)
    if len(seconds) < fewest:
        return replace(no(f"collecting data: {len(seconds)} of {fewest:g} samples of every member"), slow=early)
    longer, slow, lately = _slow(window, judged, seconds, limits, early)
    verdict = None
    if judged.kind in _SPREAD:
        wait = slow[0].wait if slow else None
        # Unknown media use the stricter flash thresholds to avoid false alarms.
        rotational = judged.rotational is True
        verdict = stripe.pattern(seconds, wait, rotational=rotational, parity=judged.parity, limits=limits)
    forget(window, layout, len(longer) if slow else len(moments))
    judged = replace(judged, seconds=seconds, verdict=verdict, slow=slow, slow_unchecked=lately)
    if not slow and (silent := silent_member(layout, moments)):
        reason = f"{silent} completes nothing, so its queue cannot be measured"
        return replace(no(reason), seconds=(), verdict=None)
    return judged


def _coarse(moments: Sequence[Moment[DiskActivity]]) -> float | None:
    """Return the longest interval in seconds if a moving queue averages out in it, else None."""
    return max((m.seconds for m in moments if m.seconds is not None and m.seconds > COARSEST), default=None)


def _too_coarse(seconds: float) -> str:
    return f"samples are {seconds:.0f} s apart; a moving queue shows at about 1 s only"


FEWEST_PASTED = 3
"""Minimum number of samples of pasted rates: each may be the mean of many seconds."""


def _slow(
    window: Window, judged: JudgedGroup, seconds: tuple[Second, ...], limits: StripeLimits, early: tuple[Laggard, ...]
) -> tuple[Sequence[Second], tuple[Laggard, ...], str]:
    """Return the members that are slow in the last seconds and were for long enough, with these longer samples.

    `early` are extremely slow, and named without more. The last string is the reason why it is too early to judge a
    member that is slow only lately, else empty.
    """
    now = _slowest(judged, seconds, limits)
    if not now:
        return seconds, early, ""
    longest = seconds_of(judged.layout, recent(window, STAYS, limits.seconds))
    found: list[Laggard] = []
    needs: list[float] = []
    for wait in now:
        needed = _needed(judged, seconds, wait, limits)
        longer = longest if needed >= STAYS else seconds_of(judged.layout, recent(window, needed, limits.seconds))
        if any(other.disk == wait.disk for other in _slowest(judged, longer, limits)):
            found.append(_laggard(window, judged, wait, longest, len(seconds), limits))
        needs.append(needed)
    known = {laggard.member for laggard in found}
    found.extend(laggard for laggard in early if laggard.member not in known)
    lately = "" if found else f"collecting data: needs {needs[0]:g} s; {now[0].disk} slower than its peers lately"
    return longest, tuple(found), lately


def _needed(judged: JudgedGroup, seconds: Sequence[Second], wait: Wait, limits: StripeLimits) -> float:
    """Return for how many seconds a member must be slow: STAYS at the threshold, fewer far above it."""
    times = extent(seconds, wait, limits, rotational=judged.rotational is True)
    return float(round(max(SECONDS, STAYS * min(1.0, limits.slow_wait / times))))


def _sudden(
    window: Window, judged: JudgedGroup, seconds: tuple[Second, ...], limits: StripeLimits
) -> tuple[Laggard, ...]:
    """Return the members that are extremely slow in the last few samples; warnings until they stay so."""
    found: list[Laggard] = []
    last = seconds[-SUDDEN:]
    while len(last) == SUDDEN and judged.group is not None and len(found) < MOST:
        without = frozenset(laggard.member for laggard in found)
        rotational, mirrored = judged.rotational is True, judged.mirrored
        wait = sudden(last, limits, rotational=rotational, mirrored=mirrored, without=without)
        if wait is None:
            break
        found.append(replace(_laggard(window, judged, wait, last, SUDDEN, limits), critical=False))
    return tuple(found)


def _slowest(judged: JudgedGroup, seconds: Sequence[Second], limits: StripeLimits) -> list[Wait]:
    """Return the slow members, the worst first."""
    rotational, mirrored = judged.rotational is True, judged.mirrored
    found: list[Wait] = []
    while len(found) < MOST:
        without = frozenset(wait.disk for wait in found)
        wait = slowest(seconds, limits, rotational=rotational, mirrored=mirrored, without=without)
        if wait is None:
            break
        found.append(wait)
    return found


def _of_minutes(window: Window, judged: JudgedGroup, limits: StripeLimits, action: str | None) -> JudgedGroup:
    """Add the members that are slow over a minute, or stall again and again."""
    edges = marks(window)
    blocks: tuple[Second, ...] = ()
    waits: tuple[Wait, ...] = ()
    known = {laggard.member for laggard in judged.slow}
    more: list[Laggard] = []
    if edges:
        key = ("minutes", judged.layout.key, limits, action, frozenset(known))
        memo = edges[-1].memo
        if key not in memo:
            blocks = blocks_of(window, judged.layout)
            memo[key] = blocks, tuple(_slow_over_minutes(judged, blocks, limits, action, known))
        blocks, waits = memo[key]
    elif judged.group is not None and window.rows(Service):
        blocks = services_of(window, judged.layout, _by_device(judged.group))
        blocks = blocks if len(blocks) >= FEWEST_BLOCKS else ()
        waits = tuple(_slow_over_minutes(judged, blocks, limits, action, known))
    if blocks:
        more = [_laggard(window, judged, wait, blocks, len(blocks), limits) for wait in waits]
        newest = recent(window, SECONDS, limits.seconds)
        silent = silent_member(judged.layout, newest) if judged.slow_unchecked else None
        if not judged.seconds and action is None and judged.slow_unchecked and silent is None:
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
