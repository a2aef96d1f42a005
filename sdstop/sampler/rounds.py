"""Rounds: who runs when, and what is sent of what they read."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Outcome, RunMark
from sdstop.core.host import Host
from sdstop.core.recording import Listed
from sdstop.sampler.flight import Flight, Landing
from sdstop.sampler.lanes import Lanes

PATIENCE = 0.25
"""Seconds that a frame waits for the collectors of its round."""
TOGETHER = 0.05
"""Seconds between frames outside the rounds: landings that are close go together."""

Sent = tuple[float, float, list[Evidence], dict[str, RunMark]]
"""A frame without its number: Unix and monotonic seconds, evidence, who ran."""


class Delta:
    """Says what of new evidence is news. It remembers 64 bits of what was sent: evidence of every disk is large."""

    def __init__(self) -> None:
        """Start with nothing sent."""
        self._sent: dict[str, tuple[int, float]] = {}

    def news(self, evidence: Iterable[Evidence]) -> list[Evidence]:
        """Return the evidence that says something else than what was sent, and note it as sent.

        What is older than that is no news: a run that hung brings what it read before it hung.
        """
        fresh = []
        for item in evidence:
            said = hash((item.data, item.outcome, item.detail, item.stderr, item.exit))
            moment = item.monotonic if item.monotonic is not None else -math.inf
            before = self._sent.get(item.key)
            if before is not None and moment < before[1]:
                continue
            self._sent[item.key] = (said, moment)
            if before is None or before[0] != said:
                fresh.append(item)
        return fresh


class Rounds:
    """Launches collectors on a grid of intervals, each round at once, and sends a frame for each round.

    A frame waits at most `patience` for its round; who lands later is in the next one, or in one of its own if
    it is urgent. Missed rounds are skipped. Nothing here reads the node; `pause`, `step` and `rescan` belong to
    one thread, `wake` is called by that of any collector.
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
        """Start with the first round due."""
        self.flights = [Flight(collector, host, self._land, clock, wall) for collector in collectors]
        self._quick_first = sorted(self.flights, key=lambda flight: flight.collector.pace)
        self._lanes = Lanes(clock)
        self._interval = interval
        self._patience = patience
        self._send = send
        self._wake = wake
        self._clock = clock
        self._wall = wall
        self._delta = Delta()
        self._landed: deque[Landing] = deque()
        self._next = clock()
        self._awaited: list[Flight] = []
        self._send_by: float | None = None
        self._again: dict[Flight, bool] = {}
        """Who was wanted while it was busy, and whether to run or to be asked for its fingerprint."""

    @property
    def interval(self) -> float:
        """Seconds between rounds."""
        return self._interval

    @interval.setter
    def interval(self, seconds: float) -> None:
        self._interval = seconds
        self._next = min(self._next, self._clock() + seconds)

    def pause(self) -> float:
        """Return the seconds until `step` has something to do if nobody lands."""
        until = self._next if self._send_by is None else min(self._next, self._send_by)
        return min(max(0.0, until - self._clock()), self._lanes.pause())

    def step(self) -> None:
        """Do what is due: launch a round, send a frame."""
        now = self._clock()
        if now >= self._next:
            if self._send_by is not None:
                self._emit()
            self._awaited = self._launch(now)
            self._send_by = now + min(self._patience, self._interval / 2)
            self._next += self._interval * (1 + max(0, math.floor((now - self._next) / self._interval)))
        elif self._send_by is None and any(landing.flight.urgent for landing in tuple(self._landed)):
            self._awaited = [flight for flight in self.flights if flight.busy and flight.urgent]
            self._send_by = now + TOGETHER
        if self._send_by is not None and (now >= self._send_by or not any(f.busy for f in self._awaited)):
            self._emit()
        if self._again:
            unsent = {landing.flight for landing in tuple(self._landed)}
            listed: Listed = {}
            for flight in [flight for flight in self._again if not flight.busy and flight not in unsent]:
                self._want(flight, now, listed, due=self._again.pop(flight))
        self._lanes.step()

    def rescan(self) -> None:
        """Run every collector now, or as soon as its run ends: that may have read before this was asked."""
        now, listed = self._clock(), Listed()
        for flight in self.flights:
            self._want(flight, now, listed, due=True)

    def look(self) -> None:
        """Ask every fingerprint now, or as soon as the run ends; who finds it changed runs."""
        now, listed = self._clock(), Listed()
        for flight in self.flights:
            if flight.collector.fingerprint is not None:
                self._want(flight, now, listed, due=False)

    def _launch(self, now: float) -> list[Flight]:
        launched = []
        listed: Listed = {}
        for flight in self._quick_first:
            if flight.busy:
                continue
            due = flight.due(now, self._interval / 2)
            if due or flight.collector.fingerprint is not None:
                self._start(flight, now, listed, due=due)
                launched.append(flight)
        return launched

    def _want(self, flight: Flight, now: float, listed: Listed, *, due: bool) -> None:
        flight.urgent = True
        if flight.busy:
            self._again[flight] = due or self._again.get(flight, False)
        else:
            self._start(flight, now, listed, due=due)

    def _start(self, flight: Flight, now: float, listed: Listed, *, due: bool) -> None:
        flight.launch(now, listed, due=due)
        self._lanes.put(flight.fly)

    def _land(self, flight: Flight, landing: Landing | None) -> None:
        if landing is not None:
            self._landed.append(landing)
        flight.busy = False  # last: who is not busy has its landing in the queue
        if self._lanes.idle():  # else somebody lands after this one
            self._wake()

    def _emit(self) -> None:
        now = self._clock()
        ran: dict[str, RunMark] = {}
        evidence: list[Evidence] = []
        landings = [self._landed.popleft() for _ in range(len(self._landed))]
        for flight in self.flights:
            if flight.overdue(now):
                flight.urgent = True
                ran[flight.collector.name] = RunMark(flight.launched)
                evidence.extend(_hanging(flight))
        for landing in sorted(landings, key=lambda landing: landing.started):
            landing.flight.urgent = False
            ran[landing.flight.collector.name] = RunMark(landing.started, landing.duration)
            evidence.extend(landing.evidence.values())
        self._awaited = []
        self._send_by = None
        self._send((self._wall(), now, self._delta.news(evidence), ran))


def _hanging(flight: Flight) -> list[Evidence]:
    """Return what a hanging run read so far, and that the key which it reads now gives no answer.

    The words do not change while it hangs, so they are sent once.
    """
    recording = flight.recording
    asked = recording.asked
    known = recording.evidence.copy()
    if asked is not None:
        key, taken, monotonic = asked
        if key not in known or known[key].monotonic != monotonic:  # else it answered just now
            detail = f"no answer within {flight.collector.deadline:g} s"
            known[key] = Evidence(key, Outcome.TIMEOUT, b"", detail, taken, monotonic)
    return list(known.values())
