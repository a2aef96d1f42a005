"""Lookback: the states of a session's node at any frame of its timeline, not only at the newest one.

The frames of a window are replayed from the timeline and judged again, with the findings that were known before them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.evidence import Evidence, Frame
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, Gap, Unchecked
from sdstop.core.finding_order import in_order
from sdstop.core.guard import Superseded
from sdstop.core.history import KEEP, History, Window
from sdstop.core.judgement import Judgement, judge
from sdstop.core.memory import Memory, with_vanished
from sdstop.core.replay import Replay
from sdstop.core.session import Look, Session

SPARE = 60.0
"""Seconds that are replayed before the window after a step back: further ones are answered at once."""
_QUICK = 0.03
"""Seconds up to which a state is awaited; one that takes longer is preceded by a glance."""
_NEAR = 2
"""Frames that a glance may replay."""
_LOOKS = 4
"""States made ahead that are kept."""
NOT_JUDGED = "not judged yet"


class _Stretch(Struct):
    """Successive frames that were replayed: their snapshots, and the replay that can go on after the last one."""

    replay: Replay
    history: History
    memory: Memory

    @property
    def end(self) -> tuple[int, Replay]:
        """The number of the last frame, and the replay after it."""
        return self.history.numbers.stop - 1, self.replay

    def add(self, frame: Frame) -> None:
        """Replay the next frame."""
        self.history.add(with_vanished(self.replay.feed(frame), self.memory.at(frame.number)))


class Lookback:
    """States of a session's node at any frame of its timeline.

    Indices are those of the timeline: 0 is the oldest frame kept. One thread may ask for states (`at`, `prepare`,
    `glance`, `foresee`), also while another one feeds the session.
    """

    def __init__(self, session: Session) -> None:
        """Start without states."""
        self.session = session
        self._timeline = session.timeline
        self._last: _Stretch | None = None
        """The frames replayed last."""
        self._ahead: deque[Look] = deque(maxlen=_LOOKS)
        """States made ahead."""
        self._foreseen: Look | None = None
        """The quick view made ahead."""
        self._took = 0.0
        """Seconds that the last state took."""

    def at(self, index: int, unwanted: Callable[[], bool] = bool) -> Look:
        """Return the state of the node at the frame with an index; the nearest one if there is none.

        Raises Superseded between two frames, rules or groups of devices as soon as the result is `unwanted`.
        """
        session, frames = self.session, self._timeline.frames
        index = max(0, min(index, len(frames) - 1))
        newest = session.latest
        if newest is not None and self._is_newest(index, newest):
            return newest
        ready = self.ready(index)
        if ready is not None:
            return ready
        began = time.monotonic()
        host = self._host(index)
        window = self._window(index, lambda key: host().evidence(key), unwanted)
        judged = session.diagnosis
        known = judged.folded_before(frames[index].number)
        judgement = judge(window, session.rules, judged.configured, session.guard, known, unwanted, judged.policy)
        self._took = time.monotonic() - began
        return Look(index, window, judgement, host, self._is_provisional(index))

    def prepare(self, index: int, unwanted: Callable[[], bool]) -> Look | None:
        """Make and keep the state at a frame that is likely to be asked for next.

        None if it was made ahead before or the timeline has no frame with this index. Raises Superseded.
        """
        if not 0 <= index < len(self._timeline.frames) or self.ready(index) is not None:
            return None
        look = self.at(index, unwanted)
        self._ahead.append(look)
        return look

    def ready(self, index: int) -> Look | None:
        """Return the state at a frame if it was made ahead, None if not. Any thread may ask."""
        number, provisional = self._timeline.frames[index].number, self._is_provisional(index)
        found = (look for look in tuple(self._ahead) if look.now.number == number and look.provisional is provisional)
        look = next(found, None)
        return None if look is None else replace(look, index=index)

    def glance(self, index: int) -> Look | None:
        """Return a quick view of a frame, None if its full state is available at once.

        Readings and rates are those of the frame. Findings are those that were found before; no rule has judged it.
        """
        index = max(0, min(index, len(self._timeline.frames) - 1))
        newest = self.session.latest
        is_newest = newest is not None and self._is_newest(index, newest)
        if is_newest or self._took < _QUICK or self.ready(index) is not None:
            return None
        host = self._host(index)

        def evidence(key: str) -> Evidence | None:
            return host().evidence(key)

        window = self._window_at_hand(index, evidence, bool, _NEAR) or self._window_of_two(index, evidence)
        if window is None:
            return None
        return Look(index, window, self._expected(window), host, self._is_provisional(index), is_glance=True)

    def foresee(self, index: int) -> Look | None:
        """Make and keep the quick view of a frame that may be asked for next, None if it has none."""
        self._foreseen = self.glance(index)
        return self._foreseen

    def foreseen(self, index: int) -> Look | None:
        """Return the quick view of a frame if it was made ahead and no finding is new. Any thread may ask."""
        look = self._foreseen
        if look is None or look.now.number != self._timeline.frames[index].number:
            return None
        known = self._is_provisional(index), self._expected(look.window)
        return replace(look, index=index) if known == (look.provisional, look.judgement) else None

    def forget(self) -> None:
        """Drop the quick view made ahead, which may hold the samples of a minute. Any thread may ask."""
        self._foreseen = None

    def release(self) -> None:
        """Drop all states and replayed frames. The thread that asks for states calls it."""
        self._last, self._foreseen = None, None
        self._ahead.clear()
        self._timeline.release()

    # -- windows ----------------------------------------------------------------------------------------------

    def _window(self, index: int, evidence: Callable[[str], Evidence | None], unwanted: Callable[[], bool]) -> Window:
        """Return the window that ends with a frame, from the frames replayed last if they include those needed.

        More frames are replayed than one window needs: steps back are then answered at once.
        """
        window = self._window_at_hand(index, evidence, unwanted)
        if window is not None:
            return window
        number = self._timeline.frames[index].number
        held = self._last.history.numbers if self._last is not None else range(0)
        spare = SPARE if held and held.start <= number < held.stop else self.session.at_hand
        start = self._oldest(self._oldest(index, KEEP), spare)
        stretch = self._jump(start + 1, KEEP + spare) if start < index else None
        if stretch is None:
            stretch = self._stretch(KEEP + spare)
            coming = iter(self._timeline.recall(start, index + 1))
        else:
            coming = (self._timeline.single(at) for at in range(start + 2, index + 1))
        for frame in coming:
            if unwanted():
                raise Superseded
            if frame.fresh:  # after a damaged part of a recording: anything known before it may have changed
                stretch = self._stretch(KEEP + spare)
            stretch.add(frame)
        self._last = stretch
        for look in tuple(self._ahead):  # those of another place hold the samples of a minute each
            if look.now.number not in stretch.history.numbers:
                self._ahead.remove(look)
        window = stretch.history.window_at(number, KEEP, evidence)
        assert window is not None  # noqa: S101  # at least one frame was recalled
        return window

    def _window_at_hand(
        self, index: int, evidence: Callable[[str], Evidence | None], unwanted: Callable[[], bool], most: int = 1 << 30
    ) -> Window | None:
        """Return the window that ends with a frame from the frames replayed last, and at most `most` further ones.

        None if they do not include its older frames.
        """
        frames = self._timeline.frames
        number = frames[index].number
        start = self._oldest(index, KEEP)
        newest = self.session.history
        if newest.numbers.start <= frames[start].number:
            window = newest.window_at(number, KEEP, evidence)
            if window is not None:
                return window
        if self._last is None:
            return None
        held = self._last.history.numbers
        if not held or held.start > frames[start].number:
            return None
        ahead = [at for at in range(start, index + 1) if frames[at].number >= held.stop]
        at = ahead[0] if ahead else 0
        if len(ahead) > most or (at and (frames[at - 1].number != held.stop - 1 or frames[at].fresh)):
            return None
        read = self._timeline.single if len(ahead) <= _NEAR else self._timeline.frame
        for at in ahead:
            if unwanted():
                raise Superseded
            frame = read(at)
            if frame.fresh:
                return None
            self._last.add(frame)
        return self._last.history.window_at(number, KEEP, evidence)

    def _window_of_two(self, index: int, evidence: Callable[[str], Evidence | None]) -> Window | None:
        """Return a window of a frame and the one before it, None if there is none."""
        if index < 1 or self._timeline.frames[index].fresh:
            return None
        stretch = self._jump(index, KEEP)
        if stretch is None:
            stretch = self._stretch(KEEP)
            first, second = self._timeline.recall(index - 1, index + 1)
            if second.fresh:
                return None
            stretch.add(first)
            stretch.add(second)
        return stretch.history.window_at(self._timeline.frames[index].number, KEEP, evidence)

    def _jump(self, index: int, seconds: float) -> _Stretch | None:
        """Return a stretch of a frame and the one before it, made from the state after the frames replayed last.

        Without these it is made from a live node's newest state. Only evidence that changed between them is parsed.
        None without such a state, or without a way from it.
        """
        near = self.session.newest_replay() if self._last is None else self._last.end
        moved = None if near is None else self._timeline.moved(near[0], index)
        if near is None or moved is None:
            return None
        replay, shot = near[1].moved(moved.then, moved.gone)
        stretch = self._stretch(seconds, replay)
        stretch.history.add(with_vanished(shot, stretch.memory.at(moved.then.number)))
        stretch.add(moved.frame)
        return stretch

    def _stretch(self, seconds: float, replay: Replay | None = None) -> _Stretch:
        """Return an empty stretch that keeps `seconds`; the node probably has the topology of the last one there."""
        session = self.session
        near = session.history if self._last is None else self._last.history
        history = session.history.elsewhere(seconds, near.topologies)
        return _Stretch(replay or session.new_replay(), history, session.memory)

    def _oldest(self, index: int, seconds: float) -> int:
        """Return the index of the oldest frame of its run that is at most `seconds` before one."""
        frames, start = self._timeline.frames, index
        frame = newest = frames[index]
        while start > 0 and not frame.fresh:
            frame = frames[start - 1]
            if newest.monotonic - frame.monotonic > seconds:
                break
            start -= 1
        return start

    # -- states -----------------------------------------------------------------------------------------------

    def _host(self, index: int) -> Callable[[], EvidenceHost]:
        """Return a function that returns the evidence known at a frame, which is read once and when asked for."""
        number = self._timeline.frames[index].number
        return cache(lambda: self._host_at(number))

    def _host_at(self, number: int) -> EvidenceHost:
        """Return the evidence known at the frame with a number; that of a live node shares buffers with the newest."""
        newest = self.session.newest_replay()
        index = self._timeline.place(number)
        moved = None if newest is None else self._timeline.moved(newest[0], index)
        if newest is None or moved is None:
            return EvidenceHost(self._timeline.recall(index, index + 1)[0].evidence)
        host = newest[1].host
        host.apply(moved.then.evidence)
        for key in moved.gone:
            host.drop(key)
        host.apply(moved.frame.evidence)
        return host

    def _is_newest(self, index: int, newest: Look) -> bool:
        """Return whether the newest state is that of a frame; those of a live session that follow it are quiet."""
        return newest.index == index if self._timeline.complete else index == len(self._timeline.frames) - 1

    def _is_provisional(self, index: int) -> bool:
        """Return whether a frame of an opened capture or recording was not judged in order yet."""
        return self._timeline.complete and index >= self.session.frames_seen

    def _expected(self, window: Window) -> Judgement:
        """Return the findings that are known to be active at a window's end; every rule is unchecked."""
        session, now, found = self.session, window.now.monotonic, list[Finding]()
        if session.knows(now, now):
            active = (e for e in session.episodes(now) if e.until is None or e.ended is None or now < e.ended)
            found = list({e.finding.id: e.finding for e in active}.values())
        unchecked = tuple(Unchecked(NOT_JUDGED, rule=rule.id, gap=Gap.EARLY) for rule in session.rules)
        return Judgement(in_order(found), (), unchecked)
