"""Collector runner: the runs of one collector, one at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence

from msgspec import Struct

from sdstop.core.collector import LIVE, Collector
from sdstop.core.evidence import Evidence, Frame, RunMark
from sdstop.core.guard import caught, described
from sdstop.core.host import Absent, Host, Unreadable
from sdstop.core.parcel import Parcel
from sdstop.core.recording import Listed, RecordingHost
from sdstop.core.retention import Retention

SHARED = 0.25
"""Seconds after the start of a round for which its collectors share directory listings."""
OVERLONG = 5.0
"""Deadlines after which a run counts as hung although it reads on: a node without CPU time is slow, not hung."""


def run(collector: Collector, host: Host) -> bool:
    """Run a collector only for its evidence; the replay produces readings and errors.

    Return whether it may have found something: False if the node has no such thing, or none of its rows.
    """

    def read() -> bool:
        try:
            readings = collector.read(host)
            return collector.eager or sum(1 for _ in readings) > 0
        except Unreadable as error:  # not returned: with its frames it would be garbage that counting does not free
            return not isinstance(error, Absent)

    found = caught(read)
    return isinstance(found, Exception) or found


def sample(host: Host, collectors: Sequence[Collector], number: int, taken: float, monotonic: float) -> Frame:
    """Run every collector once in this thread, and return all evidence as one frame with a single time."""
    evidence: dict[str, Evidence] = {}
    for collector in collectors:
        recording = RecordingHost(host, lambda: monotonic, lambda: taken, keep=_part(collector))
        run(collector, recording)
        evidence.update(recording.evidence)
    ran = {collector.name: RunMark(monotonic, 0.0) for collector in collectors}
    return Frame(number, taken, monotonic, tuple(evidence.values()), ran)


def _part(collector: Collector) -> Callable[[str, bytes], bytes] | None:
    """Return the function that selects the part of a file to keep, None if all files are kept whole."""
    retention = Retention((collector,))
    return retention.part if retention else None


NOTHING = 60.0
"""Minimum seconds between runs on a node at rest of a source that found nothing, as long as no device has an event."""


class FinishedRun(Struct, frozen=True):
    """A finished run: its start (monotonic), duration in seconds, and evidence.

    The evidence of a source that notices work is complete, that of any other without pieces that are known. Where
    there is much, all but the last pieces are `packed`.
    """

    runner: CollectorRunner
    started: float
    duration: float
    evidence: Mapping[str, Evidence]
    packed: Sequence[Parcel] = ()


class CollectorRunner:
    """Run state of one collector. Only `execute` and the methods it calls may run outside the launching thread."""

    def __init__(
        self,
        collector: Collector,
        host: Host,
        done: Callable[[CollectorRunner, FinishedRun | None], None],
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        known: Callable[[Evidence], bool] | None = None,
    ) -> None:
        """Start idle; `done` is called at the end of each run, in the run's thread.

        It gets None if no run was due and the fingerprint had not changed. Evidence that is `known` is dropped when it
        is read, unless the source notices work: most is, and there is much of it.
        """
        self.collector = collector
        self.busy = False
        self.launched = 0.0
        self.began: float | None = None
        """Start of the current run (monotonic), None while it waits for its turn."""
        self.found = True
        """Whether the last run may have found something."""
        self.ran: float | None = None
        """Launch time of the last run that was due (monotonic)."""
        self.urgent = True
        """Whether the next result is sent at once: it is the first, was requested, or is late."""
        self._host = host
        self._done = done
        self._clock = clock
        self._wall = wall
        self._keep = _part(collector)
        self._known = known if collector.stirs is None else None
        self.recording = self._record()
        self._due = False
        self._repeated = False
        """Whether a second run was launched."""
        self._listed: Listed = {}
        self._mark: Hashable = None

    def due(self, now: float, slack: float, noticed: float | None = None, *, resting: bool = False) -> bool:
        """Return whether to run now; a live collector runs in every round, regardless of the interval.

        `noticed` is the time of the last event of a block device, None if the kernel's events are not received.
        `resting`: the node is at rest.
        """
        pace = self.collector.pace
        if self.collector.quiet and noticed is not None and self.ran is not None and self.ran > noticed:
            pace = self.collector.quiet
        if resting:
            pace = max(pace, self.collector.resting)
            if not self.found and self.collector.stirs is None and noticed is not None and (self.ran or 0.0) > noticed:
                pace = max(pace, NOTHING)
        if self.collector.second and not self._repeated and self.found:
            pace = self.collector.second
        return self.ran is None or pace <= LIVE or now - self.ran >= pace - slack

    def launch(self, now: float, listed: Listed, *, due: bool) -> None:
        """Prepare `execute`, which runs the collector if its interval has passed or its fingerprint has changed.

        `listed` shares directory listings between the collectors of a round: half a dozen list /sys/block.
        """
        self.busy = True
        self.launched = now
        self.began = None
        self._listed = listed
        self._due = due
        if due:
            self._repeated = self.ran is not None
            self.ran = now

    def overdue(self, now: float) -> bool:
        """Return whether the current run counts as hung: one read is past the deadline, or all are far beyond it."""
        began, asked = self.began, self.recording.asked
        if not self.busy or began is None:
            return False
        deadline = self.collector.deadline
        read = began if asked is None else max(began, asked[2])
        return now - read > deadline or now - began > OVERLONG * deadline

    def execute(self) -> None:
        """Execute the launched run, and report its end."""
        finished = None
        self.began = self._clock()
        try:
            finished = self._execute(began=self.began, due=self._due)
        finally:
            self._listed = {}
            self._done(self, finished)

    def _execute(self, *, began: float, due: bool) -> FinishedRun | None:
        fingerprint = self.collector.fingerprint
        if fingerprint is not None:
            self.recording = RecordingHost(self._host, self._clock, self._wall, self._listed)
            mark = self._ask(fingerprint)
            late = self._clock() - began > self.collector.deadline  # shown as hanging: send the result
            if not due and not late and mark == self._mark:
                self.recording = self._record()  # without the listings of this round
                return None
            self._mark = mark
        started = self._clock()
        self.recording = recording = self._record(self._listed if started - self.launched <= SHARED else None)
        self.found = run(self.collector, recording)
        finished = FinishedRun(self, started, self._clock() - started, recording.evidence, recording.packed)
        self.recording = self._record()
        recording.let_go()  # a kept error keeps the host that it was raised in, until garbage is collected
        return finished

    def _record(self, listed: Listed | None = None) -> RecordingHost:
        packs = self._known is not None
        return RecordingHost(self._host, self._clock, self._wall, listed, self._keep, self._known, packs=packs)

    def _ask(self, fingerprint: Callable[[Host], Hashable]) -> Hashable:
        def read() -> Hashable:
            try:
                return fingerprint(self.recording)
            except Unreadable as error:  # not returned, as in `run`
                return type(error).__name__, error.key, error.detail

        mark = caught(read)
        return described(mark) if isinstance(mark, Exception) else mark
