"""Striped arrays of a window as per-second samples, judged by sdstop.analysis.stripe."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.analysis import stripe
from sdstop.analysis.column import Second, StripeColumn, StripeLimits, StripeMember
from sdstop.analysis.laggard import slowest
from sdstop.analysis.stripe import Verdict
from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.md.readings import Array, Member
from sdstop.core.finding import Threshold
from sdstop.core.history import Moment, Window
from sdstop.readings.disk import DiskActivity

SECONDS = 10.0
"""Seconds to judge: enough for a median, but short enough that a moving crowd is still the same one."""
STAYS = 30.0
"""Seconds for which a disk must be slow: a crowd of seeking streams on one disk may last longer than SECONDS."""
COARSEST = 3.0
"""Sampling interval in seconds above which a moving crowd averages out."""
SILENT = 3
"""Consecutive samples without completions after which a member's queue counts as unknown."""

_STRIPED = frozenset({"raid0", "raid10", "raid5", "raid6"})
PARITY = {"raid5": 1, "raid6": 2}

_HELP = {
    "columns": ("fewest stripe columns of which a convoy or a hot member is claimed", ""),
    "queue": ("outstanding requests below which a second is ignored", ""),
    "ios": ("requests per second below which a second is ignored", "per_second"),
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
    "slow_service": ("busy time that it spends on each request, times its peers' median", ""),
    "slow_excess": ("and longer by, rotational members", "seconds"),
    "slow_excess_flash": ("and longer by, flash members", "seconds"),
}


def thresholds(*names: str) -> tuple[Threshold, ...]:
    """Return the named limits of sdstop.analysis.stripe as configurable thresholds."""
    defaults = StripeLimits()
    return tuple(Threshold(name, getattr(defaults, name), *_HELP[name]) for name in names)


class Striped(Struct, frozen=True):
    """One striped array over the last seconds: the verdict, or the reason for its absence.

    `columns` are the member devices of each stripe column in order; `seconds` are the judged ones, oldest first.
    """

    array: Array
    columns: tuple[tuple[str, ...], ...]
    rotational: bool | None
    seconds: tuple[Second, ...] = ()
    verdict: Verdict | None = None
    unchecked: str = ""


def is_striped(array: Array) -> bool:
    """Return whether an array spreads its data over columns."""
    return array.level in _STRIPED


def striped_arrays(window: Window, limits: Mapping[str, float]) -> list[Striped]:
    """Judge every striped md array of the window under these limits; rules with the same limits share the work."""
    known = StripeLimits.__struct_fields__
    chosen = StripeLimits(**{name: value for name, value in limits.items() if name in known})

    def judge() -> list[Striped]:
        arrays = sorted(window.rows(Array).values(), key=lambda array: array.array)
        return [_judge(window, array, chosen) for array in arrays if is_striped(array)]

    return window.once(("striped", chosen), judge)


def _recent(window: Window, seconds: float, fewest: float) -> list[Moment[DiskActivity]]:
    """Return the samples of the last seconds, or the minimum number to judge if they are further apart."""
    moments = window.moments(DiskActivity)
    start = window.now.monotonic - seconds - 0.5
    young = sum(moment.started >= start for moment in moments)
    return moments[-max(young, int(fewest)) :] if young else []


def columns_of(array: Array, members: Sequence[Member]) -> tuple[tuple[str, ...], ...]:
    """Return the devices of each stripe column, in slot order.

    RAID10 with near copies whose number divides the number of disks has one column per mirror, because its legs carry
    the same writes. In every other layout each disk is a column of its own. A missing leg leaves the others in its
    column.
    """
    present = {
        m.slot: m.device for m in members if m.slot is not None and m.state in {"in_sync", "rebuilding", "unknown"}
    }
    disks = array.raid_disks or len(present)
    near = array.near_copies or 1
    if array.level != "raid10" or (array.far_copies or 1) > 1 or near < 2 or disks % near:
        near = 1
    slots = [range(first, first + near) for first in range(0, disks, near)]
    columns = (tuple(present[slot] for slot in group if slot in present) for group in slots)
    return tuple(column for column in columns if column)


def _judge(window: Window, array: Array, limits: StripeLimits) -> Striped:
    moments = window.once(("recent", limits.seconds), lambda: _recent(window, SECONDS, limits.seconds))
    members = window.of_run(Member, "members", lambda: _by_array(window)).get(array.array, [])
    shape = (array.array, array.level, array.raid_disks, array.near_copies, array.far_copies)
    columns = window.of_run(Member, ("columns", *shape), lambda: columns_of(array, members))
    rotational, uncounted = window.of_run(BlockDevice, ("media", columns), lambda: _media(window, columns))

    def no(reason: str) -> Striped:
        return Striped(array, columns, rotational, unchecked=reason)

    if not members:
        return no("its members are not known")
    if array.layout is not None and (array.layout.startswith("parity-") or array.layout.endswith("-6")):
        return no(f"with the layout {array.layout} one disk holds parity alone and is rightly asked for more")
    if action := _synchronising(window, array, moments):
        return no(f"{action} is running, or was a moment ago: its own I/O hides how the load is spread")
    if uncounted is not None:
        return no(f"the kernel keeps no I/O statistics of {uncounted} (queue/iostats is 0)")
    coarse = [m.seconds for m in moments if m.seconds is not None and m.seconds > COARSEST]
    if coarse:
        return no(f"readings lie {max(coarse):.0f} s apart; a moving crowd shows only in readings of about 1 s")
    capacities = _capacities(array, columns, members)
    seconds = _seconds(array.array, columns, capacities, moments)
    if len(seconds) < limits.seconds:
        return no(f"needs {limits.seconds:g} readings of every member, has {len(seconds)}")
    # Unknown media use the stricter flash thresholds to avoid false alarms.
    parity = PARITY.get(array.level or "", 0)
    verdict = stripe.judge(seconds, rotational=rotational is True, parity=parity, limits=limits)
    if verdict.wait is not None:
        longer = _seconds(array.array, columns, capacities, _recent(window, STAYS, limits.seconds))
        lasting = slowest(longer, limits, rotational=rotational is True)
        if lasting is None or lasting.disk != verdict.wait.disk:
            without = replace(limits, slow_wait=math.inf)
            verdict = stripe.judge(seconds, rotational=rotational is True, parity=parity, limits=without)
    _forget(window, array.array, len(moments) if verdict.wait is None else len(_recent(window, STAYS, limits.seconds)))
    silent = None if verdict.kind is stripe.StripePattern.SLOW else _silent(columns, moments)
    if silent:
        return no(f"{silent} answers nothing, and what waits is counted when it is answered: no queue is known")
    return Striped(array, columns, rotational, seconds, verdict)


def _by_array(window: Window) -> dict[str, list[Member]]:
    found: dict[str, list[Member]] = {}
    for member in window.rows(Member).values():
        found.setdefault(member.array, []).append(member)
    return found


def _synchronising(window: Window, array: Array, moments: Sequence[Moment[DiskActivity]]) -> str | None:
    """Return the md operation that ran at any time since the first sample, None if there was none."""
    start = min((moment.started - (moment.seconds or 0.0) for moment in moments), default=window.now.monotonic)
    for shot in reversed(window.snapshots):
        known = shot.get(Array, array.array)
        if known is not None and known.action not in {"idle", "frozen", None}:
            return known.action
        if shot.monotonic < start:
            break
    return None


def _silent(columns: tuple[tuple[str, ...], ...], moments: Sequence[Moment[DiskActivity]]) -> str | None:
    """Return a member with outstanding requests that completed none in the last samples."""
    names = [name for column in columns for name in column]
    for moment in moments[-SILENT:]:
        rows = ((name, moment.rows.get(name)) for name in names)
        names = [n for n, row in rows if row is not None and row.in_flight and not row.completed_per_second]
    return names[0] if names and moments else None


def _seconds(
    array: str,
    columns: tuple[tuple[str, ...], ...],
    capacities: Sequence[float],
    moments: Sequence[Moment[DiskActivity]],
) -> tuple[Second, ...]:
    found = (_second(array, columns, capacities, moment) for moment in moments)
    return tuple(second for second in found if second is not None)


def _second(
    array: str,
    columns: tuple[tuple[str, ...], ...],
    capacities: Sequence[float],
    moment: Moment[DiskActivity],
) -> Second | None:
    """Return the array's figures in one sample, cached with the sample because ten windows use it."""
    known: tuple[tuple[tuple[str, ...], ...], Second | None] | None = moment.memo.get(("second", array))
    if known is None or known[0] != columns:
        known = columns, _read_second(array, columns, capacities, moment.rows)
        moment.memo["second", array] = known
    return known[1]


def _forget(window: Window, array: str, kept: int) -> None:
    """Drop the array's cached figures from samples before the last `kept`: they are large and not used again."""
    for moment in window.moments(DiskActivity)[:-kept]:
        moment.memo.pop(("second", array), None)


def _read_second(
    array: str,
    columns: tuple[tuple[str, ...], ...],
    capacities: Sequence[float],
    rows: Mapping[object, DiskActivity],
) -> Second | None:
    made = []
    for names, capacity in zip(columns, capacities, strict=True):
        legs = [_leg(rows.get(name)) for name in names]
        if any(leg is None for leg in legs):
            return None
        made.append(StripeColumn(tuple(leg for leg in legs if leg is not None), capacity))
    own = rows.get(array)
    # Before 5.12 md counted requests but not busy time, so a util of 0 with requests means "not counted".
    counted = own is not None and not (own.busy == 0 and own.completed_per_second)
    return Second(tuple(made), own.busy if own is not None and counted else None)


def _leg(row: DiskActivity | None) -> StripeMember | None:
    if row is None or row.queue is None or row.busy is None:
        return None
    return StripeMember(
        row.device,
        row.queue,
        row.busy,
        row.reads_per_second,
        row.writes_per_second,
        row.read_bytes_per_second,
        row.write_bytes_per_second,
        row.read_wait,
        row.write_wait,
    )


def _capacities(array: Array, columns: tuple[tuple[str, ...], ...], members: Sequence[Member]) -> tuple[float, ...]:
    """Return each column's share of the array's space; only RAID0 fully uses members of different sizes."""
    sizes = {m.device: m.size for m in members}
    found = [sizes.get(column[0]) for column in columns]
    if array.level != "raid0" or not all(found):
        return (1.0,) * len(columns)
    known = [float(size) for size in found if size]
    mean = sum(known) / len(known)
    return tuple(size / mean for size in known)


def _device(window: Window, name: str) -> BlockDevice | None:
    device = window.get(BlockDevice, name)
    return window.get(BlockDevice, device.parent) or device if device is not None and device.parent else device


def _media(window: Window, columns: tuple[tuple[str, ...], ...]) -> tuple[bool | None, str | None]:
    """Return whether the members are rotational, and the first member without kernel statistics.

    The first is None if unknown for all members, the second if all have statistics.
    """
    known = {name: device for column in columns for name in column if (device := _device(window, name)) is not None}
    said = [bool(device.rotational) for device in known.values() if device.rotational is not None]
    uncounted = next((name for name, device in known.items() if device.iostats_enabled == 0), None)
    return any(said) if said else None, uncounted
