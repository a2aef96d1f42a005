"""Scheduler: decides when collectors run and which of their evidence is sent."""

from __future__ import annotations

import math
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Outcome, RunMark
from sdstop.core.hash_places import FLAT, NONE, HashPlaces
from sdstop.core.host import Host
from sdstop.core.parcel import Parcel, Parcels, parcels_of
from sdstop.core.recording import Listed
from sdstop.sampler.executor import SerialExecutor
from sdstop.sampler.rest import WATCH, Rest
from sdstop.sampler.runner import CollectorRunner, FinishedRun

PATIENCE = 0.25
"""Seconds that a frame waits for the collectors of its round."""
TOGETHER = 0.05
"""Seconds that a frame outside the rounds waits, so that runs that end close together share it."""

Sent = tuple[float, float, Sequence[Evidence], dict[str, RunMark], bool]
"""A frame without its number: Unix and monotonic seconds, evidence, runs by collector, and whether it is quiet."""


class ChangeFilter:
    """Filter for evidence that has changed since it was sent. Any thread may use it.

    Of each piece it keeps 64-bit hashes of key and content, and its time: of 1000 disks there are 40 000.
    """

    def __init__(self) -> None:
        """Start with nothing sent."""
        self._places = HashPlaces(FLAT)
        self._said = array("q")
        self._read = array("d")
        self._lock = threading.Lock()

    def news(self, evidence: Iterable[Evidence]) -> list[Evidence]:
        """Return the evidence that differs from the evidence sent before, and note it as sent.

        Older evidence is dropped: a run that hung returns its reads from before it hung.
        """
        return [item for item in evidence if self._noted(item)]

    def packed_news(self, parcels: Iterable[Parcel]) -> list[Parcel]:
        """Do the same for parcels, one at a time: never are all pieces of a large frame objects."""
        fresh = []
        for parcel in parcels:
            news = self.news(parcel.pieces())
            if news:
                fresh.append(parcel if len(news) == len(parcel) else Parcel(news))
        return fresh

    def is_known(self, item: Evidence) -> bool:
        """Return whether a piece of evidence that was just read is as it was sent: then it need not be kept.

        Other evidence is not noted: it is sent when its run ends, and until then other runs must send it, too.
        """
        said, read = _mark(item)
        with self._lock:
            place = self._places.find(hash(item.key))
            if place == NONE or self._said[place] != said:
                return False
            self._read[place] = max(read, self._read[place])
        return True

    def _noted(self, item: Evidence) -> bool:
        said, read = _mark(item)
        with self._lock:
            key = hash(item.key)
            place = self._places.find(key)
            if place == NONE:
                self._places.add(key)
                self._said.append(said)
                self._read.append(read)
                return True
            if read < self._read[place] or (read == self._read[place] and item.outcome is Outcome.TIMEOUT):
                return False  # a timeout is sent before the result of the same read
            before, self._said[place], self._read[place] = self._said[place], said, read
        return before != said


def _mark(item: Evidence) -> tuple[int, float]:
    """Return a hash of the content of evidence, and the time of its read."""
    said = hash((item.data, item.outcome, item.detail, item.stderr, item.exit))
    return said, item.monotonic if item.monotonic is not None else -math.inf


class Scheduler:
    """Scheduler that launches all due collectors at each interval (a round), and sends a frame for each round.

    A frame waits at most `patience` for its round; a run that ends later is in the next frame, or in a separate one if
    it is urgent. Missed rounds are skipped. On a node at rest most rounds are watches: they run only the sources that
    notice work, and their frames are sent with that of the next round, which is at once if there is work. The scheduler
    does not read the node. `pause`, `step` and `rescan` must be
    called by one thread; `wake` is called by the thread of any collector.
    """

    def __init__(
        self,
        collectors: Sequence[Collector],
        host: Host,
        send: Callable[[Sent], None],
        wake: Callable[[], None],
        interval: float = 1.0,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Start with the first round due; the node does not rest until `rest` has a number of seconds."""
        self._host = host
        self._changes = ChangeFilter()
        self.runners = [
            CollectorRunner(collector, host, self._finish, clock, wall, self._changes.is_known)
            for collector in collectors
        ]
        self._quick_first = sorted(self.runners, key=lambda runner: runner.collector.pace)
        self._watchers = [runner for runner in self._quick_first if runner.collector.stirs is not None]
        self._executor = SerialExecutor(clock)
        self._interval = interval
        self._patience = patience
        self._send = send
        self._wake = wake
        self._clock = clock
        self._wall = wall
        self._finished: deque[FinishedRun] = deque()
        self._next = clock()
        self._awaited: list[CollectorRunner] = []
        self._send_by: float | None = None
        self.rest = Rest()
        self._watching = False
        """Whether the current round is a watch."""
        self._whole = -math.inf
        """Start of the last round that was not one."""
        self._held: list[Sent] = []
        """Frames of watches."""
        self._noticed: float | None = None
        """Time of the last event of a block device (monotonic), None if none has been received."""
        self._running: dict[CollectorRunner, None] = {}
        """Runners that may be busy."""
        self._again: dict[CollectorRunner, bool] = {}
        """Runners that were requested while busy, and whether to run them or only compare the fingerprint."""

    @property
    def interval(self) -> float:
        """Seconds between rounds."""
        return self._interval

    @interval.setter
    def interval(self, seconds: float) -> None:
        self._interval = seconds
        self._next = min(self._next, self._clock() + seconds)

    def pause(self) -> float:
        """Return the seconds until `step` has something to do, unless a run ends earlier."""
        until = self._next if self._send_by is None else min(self._next, self._send_by)
        return min(max(0.0, until - self._clock()), self._executor.pause())

    def step(self) -> None:
        """Launch a round, send a frame, or both, as scheduled."""
        now = self._clock()
        if now >= self._next:
            if self._send_by is not None:
                self._emit()
            late = now - self._whole >= self.rest.seconds - self._interval / 2
            self._watching = not late and self.rest.at(now)
            self._whole = self._whole if self._watching else now
            self._awaited = self._launch(now, self._watchers if self._watching else self._quick_first)
            self._send_by = now + min(self._patience, self._interval / 2)
            pace = self._interval * (max(1, round(WATCH / self._interval)) if self.rest.at(now) else 1)
            self._next += pace * (1 + max(0, math.floor((now - self._next) / pace)))
        elif self._send_by is None and any(finished.runner.urgent for finished in tuple(self._finished)):
            self._watching = False
            self._awaited = [runner for runner in self.runners if runner.busy and runner.urgent]
            # With a queue, as on a slow node, a frame for every few runs would cost more than it brings.
            self._send_by = now + (TOGETHER if self._executor.idle() else min(self._patience, self._interval / 2))
        if self._send_by is not None and (now >= self._send_by or not any(f.busy for f in self._awaited)):
            if self._watching and self._work():
                self._watching, self._whole = False, now
                self._next = min(self._next, now + self._interval)
                self.rest.wake(now)
                self._awaited = self._launch(now, [each for each in self._quick_first if each not in self._watchers])
                self._send_by = now + min(self._patience, self._interval / 2)
            else:
                self._emit()
        if self._again:
            unsent = {finished.runner for finished in tuple(self._finished)}
            listed: Listed = {}
            for runner in [runner for runner in self._again if not runner.busy and runner not in unsent]:
                self._want(runner, now, listed, due=self._again.pop(runner))
        self._executor.step()

    def rescan(self) -> None:
        """Run every collector now, or again after its current run, which may have read before this request."""
        self._host.rouse()
        now, listed = self._clock(), Listed()
        for runner in self.runners:
            self._want(runner, now, listed, due=True)

    def look(self) -> None:
        """Compare every fingerprint now, or after the current run, and run the collectors for which it changed.

        Called after events of block devices, and once when they begin to be received. Collectors that are `quiet`
        without events keep their pace for one more run.
        """
        now, listed = self._clock(), Listed()
        self._noticed = now
        for runner in self.runners:
            if runner.collector.fingerprint is not None:
                self._want(runner, now, listed, due=False)

    def hears(self, since: float) -> None:
        """Note that events of block devices are received since then (monotonic seconds), and that there was none.

        Collectors that are `quiet` without events wait after their first run already, if it began later.
        """
        if self._noticed is None:
            self._noticed = since

    def _work(self) -> bool:
        """Return whether a watch has noticed work, a result that does not wait, or a run that hangs."""
        if self._overdue(self._clock()):
            return True
        runs = tuple(self._finished)
        found = [self.rest.noticed(run.runner.collector, run.started, run.evidence) for run in runs]
        return any(found) or any(run.runner.urgent for run in runs)

    def _launch(self, now: float, runners: Iterable[CollectorRunner]) -> list[CollectorRunner]:
        launched = []
        listed: Listed = {}
        resting = self.rest.at(now)
        for runner in runners:
            if runner.busy:
                continue
            due = runner.due(now, self._interval / 2, self._noticed, resting=resting)
            if due or runner.collector.fingerprint is not None:
                self._start(runner, now, listed, due=due)
                launched.append(runner)
        return launched

    def _want(self, runner: CollectorRunner, now: float, listed: Listed, *, due: bool) -> None:
        runner.urgent = True
        if runner.busy:
            self._again[runner] = due or self._again.get(runner, False)
        else:
            self._start(runner, now, listed, due=due)

    def _start(self, runner: CollectorRunner, now: float, listed: Listed, *, due: bool) -> None:
        runner.launch(now, listed, due=due)
        self._running[runner] = None
        self._executor.put(runner.execute, urgent=runner.collector.stirs is not None)

    def _overdue(self, now: float) -> list[CollectorRunner]:
        """Return the runners whose run is past its deadline. Of eighty, a watch runs two."""
        self._running = {runner: None for runner in self._running if runner.busy}
        return [runner for runner in self._running if runner.overdue(now)]

    def _finish(self, runner: CollectorRunner, finished: FinishedRun | None) -> None:
        if finished is not None:
            self._finished.append(finished)
        runner.busy = False  # must be last: the result of an idle runner is in the queue
        if self._executor.idle():  # otherwise a later run wakes the main thread
            self._wake()

    def _emit(self) -> None:
        now = self._clock()
        ran: dict[str, RunMark] = {}
        packed: list[Parcel] = []
        evidence: list[Evidence] = []

        def add(some: Iterable[Evidence], parcels: Sequence[Parcel]) -> None:
            """Note news of a run, in order: the parcels of a run are older than its other pieces."""
            if parcels:
                fresh = self._changes.packed_news(parcels)
                packed.extend((*parcels_of(evidence), *fresh))
                evidence.clear()
            evidence.extend(self._changes.news(some))

        runs = [self._finished.popleft() for _ in range(len(self._finished))]
        for finished in runs:
            self.rest.noticed(finished.runner.collector, finished.started, finished.evidence)
        for runner in self._overdue(now):
            runner.urgent = True
            ran[runner.collector.name] = RunMark(runner.began or runner.launched)
            add(*_hanging(runner))
        for finished in sorted(runs, key=lambda finished: finished.started):
            finished.runner.urgent = False
            ran[finished.runner.collector.name] = RunMark(finished.started, finished.duration)
            add(finished.evidence.values(), finished.packed)
        self._awaited = []
        self._send_by = None
        frame = (self._wall(), now, Parcels(packed, evidence) if packed else evidence, ran, self._watching)
        if self._watching:
            self._held.append(frame)
            return
        held, self._held = self._held, []
        for each in held:
            self._send(each)
        self._send(frame)


def _hanging(runner: CollectorRunner) -> tuple[list[Evidence], Sequence[Parcel]]:
    """Return the pieces of a hanging run so far, with a timeout for the key that it is reading, and its parcels.

    The text does not change during the hang, so it is sent once.
    """
    recording = runner.recording
    asked = recording.asked
    known = recording.evidence.copy()
    packed = tuple(recording.packed)
    if asked is not None:
        key, taken, monotonic = asked
        if key not in known or known[key].monotonic != monotonic:  # otherwise the read has just ended
            detail = f"timed out after {runner.collector.deadline:g} s"
            known[key] = Evidence(key, Outcome.TIMEOUT, b"", detail, taken, monotonic)
    return list(known.values()), packed
