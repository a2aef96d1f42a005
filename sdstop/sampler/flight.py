"""Flight: the runs of one collector, one at a time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from sdstop.core.collector import LIVE, Collector
from sdstop.core.evidence import Evidence, Frame, RunMark
from sdstop.core.host import Host, Unreadable
from sdstop.core.recording import Listed, RecordingHost


def run(collector: Collector, host: Host) -> None:
    """Let a collector read what it reads. What it makes of it, errors too, comes out when its evidence is replayed."""
    with contextlib.suppress(Exception):
        readings = collector.read(host)
        if not collector.eager:
            for _ in readings:
                pass


def sample(host: Host, collectors: Sequence[Collector], number: int, taken: float, monotonic: float) -> Frame:
    """Run every collector once, here and now, and return all evidence, as if it had been taken at one moment."""
    evidence: dict[str, Evidence] = {}
    for collector in collectors:
        recording = RecordingHost(host, lambda: monotonic, lambda: taken)
        run(collector, recording)
        evidence.update(recording.evidence)
    ran = {collector.name: RunMark(monotonic, 0.0) for collector in collectors}
    return Frame(number, taken, monotonic, tuple(evidence.values()), ran)


@dataclass(frozen=True, slots=True)
class Landing:
    """A finished run: when it began (monotonic), seconds it took, what it read."""

    flight: Flight
    started: float
    duration: float
    evidence: Mapping[str, Evidence]


class Flight:
    """One collector's runs. All but `fly` and what it calls belongs to the thread that launches."""

    def __init__(
        self,
        collector: Collector,
        host: Host,
        land: Callable[[Flight, Landing | None], None],
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Start at rest; `land` is called at the end of each flight, in the thread that it took place in.

        It gets None if the fingerprint had not changed and nothing was due.
        """
        self.collector = collector
        self.busy = False
        self.launched = 0.0
        self.ran: float | None = None
        """When the last run that was due was launched."""
        self.urgent = True
        """Whether somebody waits for the next landing: it is the first, or was asked for, or is late."""
        self._host = host
        self._land = land
        self._clock = clock
        self._wall = wall
        self.recording = self._record()
        self._due = False
        self._listed: Listed = {}
        self._mark: Hashable = None

    def due(self, now: float, slack: float) -> bool:
        """Whether it is time to run: what is live runs in every round, whatever the interval."""
        pace = self.collector.pace
        return self.ran is None or pace <= LIVE or now - self.ran >= pace - slack

    def launch(self, now: float, listed: Listed, *, due: bool) -> None:
        """Say that `fly` is to come: it runs the collector, or if it is not due asks its fingerprint whether it is.

        `listed` are the folders that fingerprints of this moment list: half a dozen look into /sys/block.
        """
        self.busy = True
        self.launched = now
        self._listed = listed
        self._due = due
        if due:
            self.ran = now

    def overdue(self, now: float) -> bool:
        """Whether it runs for longer than it may."""
        return self.busy and now - self.launched > self.collector.deadline

    def fly(self) -> None:
        """Do what was launched, and land."""
        landing = None
        try:
            landing = self._fly(due=self._due)
        finally:
            self._land(self, landing)

    def _fly(self, *, due: bool) -> Landing | None:
        fingerprint = self.collector.fingerprint
        if fingerprint is not None:
            self.recording = RecordingHost(self._host, self._clock, self._wall, self._listed)
            mark = self._ask(fingerprint)
            late = self._clock() - self.launched > self.collector.deadline  # it was shown as hanging: show it is not
            if not due and not late and mark == self._mark:
                return None
            self._mark = mark
        self.recording = recording = self._record()
        started = self._clock()
        run(self.collector, recording)
        landing = Landing(self, started, self._clock() - started, recording.evidence)
        self.recording = self._record()  # what was read need not be kept until the next run
        return landing

    def _record(self) -> RecordingHost:
        return RecordingHost(self._host, self._clock, self._wall)

    def _ask(self, fingerprint: Callable[[Host], Hashable]) -> Hashable:
        try:
            return fingerprint(self.recording)
        except Unreadable as error:
            return type(error).__name__, error.key, error.detail
        except Exception as error:  # noqa: BLE001  # a bug in one collector costs that collector alone
            return type(error).__name__, str(error)
