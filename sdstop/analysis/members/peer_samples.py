"""Samples of the members of a peer group: stripe columns over seconds, and over blocks of seconds that cover a minute.

Sources are the kernel's counters, recorded rates (iostat), and the service times that tools print.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from sdstop.analysis.members.column import MemberColumns, Second, StripeColumn, StripeMember
from sdstop.core.columns import Columns as ColumnTable
from sdstop.core.columns import value_of
from sdstop.core.history import Moment, Window
from sdstop.core.model import Rows
from sdstop.core.text import added
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology
from sdstop.readings.disk import Disk, DiskActivity
from sdstop.readings.disk_rates import DiskRates
from sdstop.readings.service import Service

SECONDS = 10.0
"""Seconds to judge: enough for a median, but short enough that a moving crowd is still the same one."""
BLOCK = 6.0
"""Seconds of a block: a member with one request a second completes a few in each."""
BLOCKS = 10
"""Blocks to judge; with longer sampling intervals, each interval is one."""
FEWEST_BLOCKS = 4
"""Blocks of samples that a comparison needs."""
SHORTEST = 24.0
"""Minimum seconds that these blocks cover."""

Columns = tuple[tuple[str, ...], ...]
"""Devices of each stripe column in order, by kernel name."""


class GroupColumns(Struct, frozen=True):
    """A group's columns with their capacities, and the device of the group itself, whose busy time counts.

    `key` is unique among the groups of a window.
    """

    key: Hashable
    columns: Columns
    capacities: tuple[float, ...]
    own: str | None = None
    names: tuple[str, ...] = ()
    """Devices of all columns."""
    legs: tuple[int, ...] = ()
    """Number of devices of each column."""

    def __post_init__(self) -> None:
        """Fill names and legs."""
        force_setattr(self, "names", tuple(name for column in self.columns for name in column))
        force_setattr(self, "legs", tuple(map(len, self.columns)))


def recent(window: Window, seconds: float, fewest: float) -> list[Moment[DiskActivity]]:
    """Return the samples of the last seconds, or the minimum number to judge if they are further apart."""

    def find() -> list[Moment[DiskActivity]]:
        moments = window.moments(DiskActivity)
        start = window.now.monotonic - seconds - 0.5
        young = sum(moment.started >= start for moment in moments)
        return moments[-max(young, int(fewest)) :] if young else []

    return window.once(("recent", seconds, fewest), find)


def seconds_of(layout: GroupColumns, moments: Sequence[Moment[DiskActivity]]) -> tuple[Second, ...]:
    """Return a group's figures in each sample that has all of its members."""
    key, columns = layout.key, layout.columns
    found = []
    for moment in moments:
        seconds: _Seconds | None = moment.memo.get(_SECONDS)
        known = None if seconds is None else seconds.get(key)
        if known is None or known[0] != columns:
            known = _second(layout, moment)
        if known[1] is not None:
            found.append(known[1])
    return tuple(found)


_SECONDS = "seconds of groups"
_Seconds = dict[Hashable, tuple["Columns", Second | None]]
"""Figures of groups in one sample by the key of the group, with the columns that they are of."""


def holds_since(
    moments: Sequence[Moment[DiskActivity]],
    key: Hashable,
    of: object,
    holds: Callable[[Moment[DiskActivity]], bool],
) -> bool:
    """Return whether something holds in each of these successive samples.

    The start of the samples in a row in which it holds is kept with the newest one, so that the next window has to ask
    for its newest sample only. It is valid for `of` alone.
    """
    since = math.inf
    for moment in reversed(moments):
        known: tuple[object, float] | None = moment.brief("holds").get(key)
        if known is not None and known[0] == of:
            since = min(since, known[1])
            break
        if not holds(moment):
            break
        since = moment.started
    moments[-1].brief("holds")[key] = of, since
    return since <= moments[0].started


def is_of(second: Second, layout: GroupColumns, moment: Moment[DiskActivity]) -> bool:
    """Return whether these figures of a group are those of a sample."""
    seconds: _Seconds = moment.memo.get(_SECONDS, {})
    known = seconds.get(layout.key)
    return known is not None and known[1] is second


def forget(window: Window, layout: GroupColumns, kept: int) -> None:
    """Drop the group's cached figures from samples before the last `kept`: they are large and not used again."""
    moments = window.moments(DiskActivity)
    for place in range(len(moments) - kept - 1, -1, -1):
        seconds: _Seconds = moments[place].memo.get(_SECONDS, {})
        if seconds.pop(layout.key, None) is None:
            break


def settle(window: Window, layout: GroupColumns) -> None:
    """Let the group's cached figures from samples before the newest take less memory."""
    for moment in window.moments(DiskActivity)[-2::-1]:
        seconds: _Seconds = moment.memo.get(_SECONDS, {})
        second = seconds.get(layout.key, (layout.columns, None))[1]
        if second is None or not second.settle():
            break


def _second(layout: GroupColumns, moment: Moment[DiskActivity]) -> tuple[Columns, Second | None]:
    """Return the group's figures in one sample, cached with the sample because ten windows use it."""
    seconds: _Seconds = moment.memo.setdefault(_SECONDS, {})
    rows = cast("Rows", moment.rows)
    known = seconds[layout.key] = layout.columns, _read(layout, rows, rows)
    return known


def _read(layout: GroupColumns, rows: Rows, kept: Rows) -> Second | None:
    """Return the group's figures in rows; `kept` are the same rows, for as long as the figures."""
    members = MemberColumns.read(layout.names, rows) if all(layout.legs) else None
    if members is None:
        return None
    busy = value_of(rows, layout.own, "busy") if layout.own is not None else None
    # Before 5.12 md counted requests but not busy time, so a util of 0 with requests means "not counted".
    counted = busy is not None and not (busy == 0 and value_of(rows, layout.own, "completed_per_second"))
    again = kept if isinstance(kept, ColumnTable) else None
    return Second(members, layout.legs, layout.capacities, busy if counted else None, rows=again)


# --- blocks -----------------------------------------------------------------------------------------------


def marks(window: Window) -> Sequence[Moment[Disk]]:
    """Return the first sample of counters after each boundary between blocks, oldest first.

    Boundaries lie at multiples of BLOCK on the monotonic clock, so that each block is the same in all windows.
    """

    def find() -> list[Moment[Disk]]:
        moments = window.moments(Disk)
        edges = [now for before, now in pairwise(moments) if now.started // BLOCK != before.started // BLOCK]
        for edge in edges[: -BLOCKS - 1]:
            edge.memo.pop("blocks", None)  # never used again
        return edges

    return window.once("marks", find)


def blocks_of(window: Window, layout: GroupColumns) -> tuple[Second, ...]:
    """Return a group's figures in each of the last blocks that has all of its members; () if they are too few."""
    edges = marks(window)[-BLOCKS - 1 :]
    if len(edges) <= FEWEST_BLOCKS or edges[-1].started - edges[0].started < SHORTEST:
        return ()
    found = [_block(window, layout, before, after) for before, after in pairwise(edges)]
    known = tuple([block for block in found if block is not None])
    return known if len(known) >= FEWEST_BLOCKS else ()


def _block(window: Window, layout: GroupColumns, before: Moment[Disk], after: Moment[Disk]) -> Second | None:
    blocks: dict[Hashable, tuple[Columns, float, Second | None]] = after.memo.setdefault("blocks", {})
    known = blocks.get(layout.key)
    if known is None or known[:2] != (layout.columns, before.started):
        young, kept = window.once(("rates", before.started, after.started), lambda: _rates(before, after))
        known = blocks[layout.key] = layout.columns, before.started, _read(layout, young, kept)
        earlier = before.memo.get("blocks", {}).get(layout.key)
        if earlier is not None and earlier[2] is not None:
            earlier[2].settle()
    return known[2]


def _rates(before: Moment[Disk], after: Moment[Disk]) -> tuple[Rows, Rows]:
    """Return the activity between two samples: a table to read all rows of now, and one that keeps no results."""
    tables = [cast("Rows", moment.rows) for moment in (before, after)]
    old, new = (rows if isinstance(rows, ColumnTable) else ColumnTable.of(Disk, rows) for rows in tables)
    rates = DiskRates(old, new, after.started - before.started)
    return rates, rates.aged()


# --- service times ----------------------------------------------------------------------------------------


def services_of(window: Window, layout: GroupColumns, members: Mapping[str, Thing]) -> tuple[Second, ...]:
    """Return a group's figures in each block of a tool's intervals with service times of all of its members.

    Intervals shorter than a block are joined, if they make enough blocks. `members` are the things by the name that
    stands in the layout's columns.
    """
    things = tuple(members.items())
    moments = [moment for moment in window.moments(Service) if moment.started >= window.now.monotonic - COVERED]
    blocks: dict[float, list[tuple[Moment[Service], Mapping[str, Service]]]] = {}
    for moment in moments[-int(BLOCKS * BLOCK) :]:
        rows = _by_member(window.topology, layout, moment, things)
        if len(rows) == len(members):
            blocks.setdefault(moment.started // BLOCK, []).append((moment, rows))
    if len(blocks) >= FEWEST_BLOCKS:
        found = [_of_block(layout, block, members) for block in list(blocks.values())[-BLOCKS:]]
    else:
        found = [rows for block in blocks.values() for _, rows in block]
    seconds = (_printed(layout, rows) for rows in found[-BLOCKS:])
    return tuple([second for second in seconds if second is not None])


def _of_block(
    layout: GroupColumns, block: Sequence[tuple[Moment[Service], Mapping[str, Service]]], members: Iterable[str]
) -> Mapping[str, Service]:
    """Return the rows of a block's intervals joined by member, cached with the last of them."""
    key, every = ("joined", layout.key), [rows for _, rows in block]
    known: tuple[list[Mapping[str, Service]], Mapping[str, Service]] | None = block[-1][0].memo.get(key)
    if known is None or len(known[0]) != len(every) or not all(map(operator.is_, known[0], every)):
        known = every, {name: _joined([rows[name] for rows in every]) for name in members}
        block[-1][0].memo[key] = known
    return known[1]


def _joined(rows: Sequence[Service]) -> Service:
    """Return the service of a device over several intervals: waits by the requests of each, where these are known."""
    if len(rows) == 1:
        return rows[0]

    def mean(values: Sequence[float | None], weights: Sequence[float | None]) -> float | None:
        pairs = [(value, 1.0 if weight is None else weight) for value, weight in zip(values, weights, strict=True)
                 if value is not None]  # fmt: skip
        total = added(weight for _, weight in pairs)
        return added(value * weight for value, weight in pairs) / total if total else None

    ones = [1.0] * len(rows)
    rates = ("reads_per_second", "writes_per_second", "requests_per_second")
    reads, writes, requests = ([getattr(row, name) for row in rows] for name in rates)
    return replace(
        rows[-1],
        reads_per_second=mean(reads, ones),
        writes_per_second=mean(writes, ones),
        requests_per_second=mean(requests, ones),
        read_wait=mean([row.read_wait for row in rows], reads),
        write_wait=mean([row.write_wait for row in rows], writes),
        wait=mean([row.wait for row in rows], requests),
        size=mean([row.size for row in rows], requests),
        read_share=mean([row.read_share for row in rows], requests),
        queue=mean([row.queue for row in rows], ones),
        busy=mean([row.busy for row in rows], ones),
    )


COVERED = 600.0
"""Seconds after which the output of a tool no longer describes the present."""


def _by_member(
    topology: Topology, layout: GroupColumns, moment: Moment[Service], things: Sequence[tuple[str, Thing]]
) -> Mapping[str, Service]:
    """Return the rows of one tool by the name of the member that they are about, or else of the device below it.

    Cached with the run, because sixty windows use it.
    """
    key = ("printed", layout.key)
    known: tuple[Topology, Sequence[tuple[str, Thing]], Mapping[str, Service]] | None = moment.memo.get(key)
    if known is None or known[0] is not topology or known[1] != things:
        known = topology, things, _rows_of(topology, moment, dict(things))
        moment.memo[key] = known
    return known[2]


class _ServedRows(NamedTuple):
    """Rows of a run, each with the names of its thing and of those directly below it, and the rows by these names."""

    topology: Topology
    rows: Sequence[tuple[Service, Sequence[str]]]
    by_name: Mapping[str, Sequence[int]]


def _served_rows(topology: Topology, moment: Moment[Service]) -> _ServedRows:
    """Return the rows about things of a topology; cached with the run, because every group asks for its own."""
    known: _ServedRows | None = moment.memo.get("served")
    if known is None or known.topology is not topology:
        rows: list[tuple[Service, Sequence[str]]] = []
        by_name: dict[str, list[int]] = {}
        for row in moment.rows.values():
            served = topology.find(row.name)
            if served is not None:
                near = [served.name, *(other.name for other in topology.lower(served))]
                for name in dict.fromkeys(near):
                    by_name.setdefault(name, []).append(len(rows))
                rows.append((row, near))
        known = moment.memo["served"] = _ServedRows(topology, rows, by_name)
    return known


def _rows_of(topology: Topology, moment: Moment[Service], members: Mapping[str, Thing]) -> Mapping[str, Service]:
    wanted = {thing.name: name for name, thing in members.items()}
    for thing in members.values():
        for below in topology.lower(thing):
            wanted.setdefault(below.name, wanted[thing.name])
    printed = _served_rows(topology, moment)
    by_tool: dict[str, dict[str, Service]] = {}
    for place in sorted({place for each in wanted for place in printed.by_name.get(each, ())}):
        row, near = printed.rows[place]
        name = next(wanted[each] for each in near if each in wanted)
        rows = by_tool.setdefault(row.tool, {})
        if name not in rows or near[0] == members[name].name:
            rows[name] = row
    return max(by_tool.values(), key=len, default={})


def _printed(layout: GroupColumns, rows: Mapping[str, Service]) -> Second | None:
    legs = {name: _served(name, row) for name, row in rows.items()}
    if any(leg is None for leg in legs.values()):
        return None
    columns = tuple(
        StripeColumn(tuple([leg for name in names if (leg := legs[name]) is not None]), capacity)
        for names, capacity in zip(layout.columns, layout.capacities, strict=True)
    )
    timed = all(row.busy is not None for row in rows.values())
    rated = all(
        row.requests_per_second is not None or row.reads_per_second is not None or row.writes_per_second is not None
        for row in rows.values()
    )
    return Second.of(columns, timed=timed, rated=rated)


def _served(name: str, row: Service) -> StripeMember | None:
    """Return a printed row as a member; one request a second of each type with a wait replaces unknown rates."""
    reads, writes = row.reads_per_second, row.writes_per_second
    read_wait, write_wait = row.read_wait, row.write_wait
    wait = row.wait if read_wait is None and write_wait is None else None
    if reads is None and writes is None and read_wait is None and write_wait is None:
        if row.requests_per_second is None and row.wait is None:
            return None
        # Nothing depends on the type but the comparison of members with one another.
        share = 1.0 if row.read_share is None else row.read_share
        rate = 1.0 if row.requests_per_second is None else row.requests_per_second
        reads, writes = share * rate, (1 - share) * rate
    if reads is None and writes is None:
        reads, writes = (1.0 if wait is not None else 0.0 for wait in (read_wait, write_wait))
    reads, writes = reads or 0.0, writes or 0.0
    queue = row.queue
    if queue is None:
        queue = added([reads * (read_wait or wait or 0.0), writes * (write_wait or wait or 0.0)])
    size = row.size or 0.0
    return StripeMember(name, queue, row.busy or 0.0, reads, writes, reads * size, writes * size, read_wait, write_wait,
                        wait)  # fmt: skip
