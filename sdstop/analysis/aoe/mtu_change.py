"""Last remembered change of an AoE path's MTU or payload, and cache activity before and after it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

from msgspec import Struct, field

from sdstop.analysis.latest import last_read, past_rows, rows_of_all_runs
from sdstop.collectors.aoe.readings import AoeExport, AoeTarget, payload
from sdstop.collectors.network.readings import Interface
from sdstop.core.evidence import Evidence, Frame, Outcome
from sdstop.core.history import Window
from sdstop.core.lookback import Lookback
from sdstop.core.session import Look, Session
from sdstop.readings.cache import Cache, CacheActivity, activity
from sdstop.readings.iosize import RequestSizes, between, not_whole


def mtu_changed(window: Window, interface: str) -> float | None:
    """Return when an interface was first seen with its current MTU (monotonic); None if the MTU never changed."""
    now = window.get(Interface, interface)
    first = None
    for moment in reversed(window.moments(Interface)):
        row = moment.rows.get(interface)
        if now is None or row is None or row.mtu != now.mtu:
            return first if row is not None else None
        first = moment.started
    return None


class PayloadSource(Struct, frozen=True):
    """Source of a number that frame sizes depend on: location, subject, and whether it is an MTU or a payload."""

    evidence: str
    name: str
    mtu: bool

    def carried(self, value: int) -> int:
        """Return the payload bytes of a frame."""
        return payload(value) if self.mtu else value


class PayloadChange(Struct, frozen=True):
    """Change from `old` to `new` in frame `number`, which was `taken` (Unix seconds, and monotonic)."""

    watched: PayloadSource
    number: int
    taken: float
    monotonic: float
    old: int
    new: int


class CacheSide(Struct, frozen=True):
    """Cache activity on one side of a change, over `seconds`; None if unknown.

    `not_whole` is the share of requests that were not a whole number of blocks.
    """

    activity: CacheActivity | None
    not_whole: float | None
    seconds: float | None


class _ChangeWindows(Struct, frozen=True):
    """Windows that end just before a change and with it; the old value was last read at `until`, monotonic."""

    before: Window
    upon: Window
    until: float


class PayloadHistory(Struct):
    """History of AoE path readings; each frame is processed once, in order."""

    _watched: frozenset[PayloadSource] = frozenset()
    _values: dict[str, int] = field(default_factory=dict)
    _changes: list[PayloadChange] = field(default_factory=list)
    _seen: int = 0
    _turns: dict[PayloadChange, _ChangeWindows | None] = field(default_factory=dict)

    def change(self, session: Session, look: Look, names: Collection[str]) -> PayloadChange | None:
        """Return the last change of these interfaces or disks up to a moment, None if none is known."""
        now = watched(look)
        if now != self._watched:
            self._watched, self._seen, self._values, self._changes = now, 0, {}, []
        if not now or not session.timeline.frames:
            return None
        timeline = session.timeline if self._seen else session.timeline.copy()
        frames = timeline.whole()
        if not frames:
            return None
        if not self._seen:
            self._take(Frame(0, 0.0, 0.0, tuple(timeline.base.values())))
        fresh: list[Frame] = []
        for frame in reversed(frames):
            if frame.number <= self._seen:
                break
            fresh.append(frame)
        for frame in reversed(fresh):
            self._take(frame)
        self._seen = frames[-1].number
        first = frames[0].number
        self._changes = [change for change in self._changes if change.number > first]
        self._turns = {change: turn for change, turn in self._turns.items() if change in self._changes}
        past_ = (c for c in reversed(self._changes) if c.number <= look.now.number)
        return next((c for c in past_ if c.watched.name in names), None)

    def _take(self, frame: Frame) -> None:
        keys = {w.evidence: w for w in self._watched}
        for item in frame.evidence:
            if item.key in keys and (value := _number(item)) is not None:
                old = self._values.get(item.key)
                self._values[item.key] = value
                if old is not None and old != value:
                    at = (frame.number, frame.taken, frame.monotonic)
                    self._changes.append(PayloadChange(keys[item.key], *at, old, value))

    def sides(
        self, change: PayloadChange, cache: Cache, sizes: Sequence[RequestSizes], session: Session, window: Window
    ) -> tuple[CacheSide, CacheSide] | None:
        """Return the cache activity before and after a change; None if the data before it has expired."""
        if change not in self._turns:
            self._turns[change] = _turn(change, session)
        turn = self._turns[change]
        if turn is None:
            return None
        key, block = (cache.cache, cache.kind), cache.block_size
        ran = [(ends, row) for ends, _, row in past_rows(turn.before, Cache, key) if ends <= turn.until]
        upon = past_rows(turn.upon, Cache, key)
        now = past_rows(window, Cache, key)
        return (
            _side(ran, [_sized(turn.before, row, turn.until) for row in sizes], block),
            _side(
                [(ends, row) for ends, _, row in (*upon[-1:], *now[-1:])],
                [_since(turn.upon, window, row) for row in sizes],
                block,
            ),
        )


def watched(look: Look) -> frozenset[PayloadSource]:
    """Return the payloads of visible AoE disks, and the MTUs of interfaces that serve AoE."""
    found = []
    evidence = look.host.evidence
    for latest in rows_of_all_runs(look.window, AoeTarget).values():
        target = cast("AoeTarget", latest.row)
        found.append((target.source("payload"), target.device, False))
    interfaces = rows_of_all_runs(look.window, Interface)
    for latest in rows_of_all_runs(look.window, AoeExport).values():
        name = cast("AoeExport", latest.row).interface
        if name in interfaces:
            found.append((interfaces[name].row.source("mtu"), name, True))
    return frozenset(
        PayloadSource(item.key, name, mtu)
        for source, name, mtu in found
        if source is not None and (item := evidence(source.key)) is not None
    )


def _number(item: Evidence) -> int | None:
    try:
        return int(item.data) if item.outcome is Outcome.OK and len(item.data) < 16 else None
    except ValueError:
        return None


def _turn(change: PayloadChange, session: Session) -> _ChangeWindows | None:
    frames, index = session.timeline.frames, session.timeline.place(change.number)
    if not index or index >= len(frames) or frames[index].number != change.number:
        return None
    lookback = Lookback(session)
    before, upon = lookback.at(index - 1).window, lookback.at(index).window
    family = Interface if change.watched.mtu else AoeTarget
    # A frame without a list of runs includes all collectors: values that it omits are unchanged.
    until = before.now.monotonic if frames[index - 1].ran is None else last_read(before, family)
    return _ChangeWindows(before, upon, until)


def _side(ran: Sequence[tuple[float, Cache]], sizes: Sequence[dict[int, int] | None], block: int | None) -> CacheSide:
    did, seconds = None, None
    if len(ran) > 1:
        seconds = ran[-1][0] - ran[0][0]
        did = activity(ran[0][1], ran[-1][1], seconds)
    counts: dict[int, int] = {}
    for part in sizes:
        for size, count in (part or {}).items():
            counts[size] = counts.get(size, 0) + count
    told = bool(sizes) and None not in sizes and bool(block)
    return CacheSide(did, not_whole(counts, block) if told and block else None, seconds)


def _readings(window: Window, row: RequestSizes, until: float) -> list[RequestSizes]:
    key = (row.counter, row.device, row.direction)
    return [r for ends, _, r in past_rows(window, RequestSizes, key) if ends <= until]


def _sized(window: Window, row: RequestSizes, until: float) -> dict[int, int] | None:
    known_ = _readings(window, row, until)
    return between(known_[0], known_[-1]) if len(known_) > 1 else None


def _since(upon: Window, now: Window, row: RequestSizes) -> dict[int, int] | None:
    first = _readings(upon, row, upon.now.monotonic)
    last = _readings(now, row, now.now.monotonic)
    return between(first[-1], last[-1]) if first and last else None
