"""One frame out of any host, and what replay makes of runs that hang."""

from __future__ import annotations

import contextlib
import fnmatch
import gc
import weakref
from collections.abc import Iterator
from itertools import chain

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Frame, Outcome, RunMark
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Failed, Host, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.core.recording import RecordingHost
from sdstop.core.replay import Replay
from sdstop.core.snapshot import Snapshot
from sdstop.node.live import LiveHost
from sdstop.sampler import sample
from sdstop.sampler.runner import run
from tests.fixtures import names, opened
from tests.sampler.meters import METERS, OTHERS, Meter, Speed, keys

pytestmark = pytest.mark.live


def node_with(collector: Collector) -> Host:
    """Return this machine if it has what a collector reads, else the first node of the fixtures that has."""
    nodes: Iterator[Host] = (EvidenceHost(e for frame in opened(name)[1] for e in frame.evidence) for name in names())
    for host in chain([LiveHost(collectors=[collector])], nodes):
        with contextlib.suppress(Unreadable):
            if list(collector.read(host)):
                return host
    raise AssertionError(f"no fixture has {collector.name}")


class TestSample:
    def test_one_frame_of_everything(self) -> None:
        host = EvidenceHost.of({"/meters/a": "1", "/meters/b": "2", "/first": "3"})
        frame = sample(host, [METERS, OTHERS], 3, 1000.0, 5.0)
        assert (frame.number, frame.taken, frame.monotonic) == (3, 1000.0, 5.0)
        assert frame.ran == {"meters": RunMark(5.0, 0.0), "others": RunMark(5.0, 0.0)}
        assert keys(frame) == {"list:/meters", "/meters/a", "/meters/b", "/first"}
        assert {(item.taken, item.monotonic, item.duration) for item in frame.evidence} == {(1000.0, 5.0, 0.0)}

    def test_it_replays(self) -> None:
        replay = Replay([METERS])
        shots: list[Snapshot] = []
        for number, count in enumerate((10, 30), 1):
            host = EvidenceHost.of({"/meters/a": str(count)})
            shots.append(replay.feed(sample(host, [METERS], number, 1000.0 + number * 2, number * 2.0)))
        assert list(shots[-1].rows(Meter).values()) == [Meter("a", 30)]
        assert list(shots[-1].rows(Speed).values()) == [Speed("a", 10.0)]

    @pytest.mark.parametrize("collector", [c for c in BUILTIN if c.eager], ids=lambda c: c.name)
    def test_who_is_said_to_be_eager_has_read_all_before_rows_are_asked_for(self, collector: Collector) -> None:
        host = node_with(collector)
        first, then = RecordingHost(host), RecordingHost(host)
        readings = collector.read(first)
        read = set(first.evidence)
        assert read
        assert list(readings)
        list(collector.read(then))
        brought = [need.what for other in BUILTIN if other is not collector for need in other.needs]
        later = {key.replace("slug:dmsetup_", "cmd:dmsetup ") for key in set(first.evidence) - read}
        assert {key for key in later if not any(fnmatch.fnmatchcase(key, what) for what in brought)} == set()
        assert set(then.evidence) == set(first.evidence)


class TestReplayOfHangs:
    """What the sampler says of runs that hang, as replay understands it."""

    def feed(self, replay: Replay, number: int, files: dict[str, str], mark: RunMark) -> Snapshot:
        evidence = tuple(Evidence(key, data=text.encode()) for key, text in files.items())
        return replay.feed(Frame(number, 1000.0 + number, float(number), evidence, {"meters": mark}))

    def test_a_first_run_that_hangs_between_two_reads_is_no_absence(self) -> None:
        shot = self.feed(Replay([METERS]), 1, {}, RunMark(0.5))
        assert (shot.runs["meters"].outcome, shot.runs["meters"].reason) == (Outcome.TIMEOUT, "still running")

    def test_a_run_that_ends_with_nothing_new_hangs_no_longer(self) -> None:
        replay = Replay([METERS])
        self.feed(replay, 1, {"/meters/a": "1"}, RunMark(0.5, 0.1))
        assert self.feed(replay, 2, {}, RunMark(1.5)).runs["meters"].outcome is Outcome.TIMEOUT
        shot = self.feed(replay, 3, {}, RunMark(1.5, 1.4))
        assert shot.runs["meters"].outcome is Outcome.OK
        assert list(shot.rows(Meter).values()) == [Meter("a", 1)]

    def test_there_is_no_rate_from_or_to_a_run_that_took_too_long(self) -> None:
        replay = Replay([METERS])
        seconds = []
        for number, duration in enumerate((0.1, 0.1, METERS.deadline + 1, 0.1, 0.1), 1):
            mark = RunMark(float(number), duration)
            seconds.append(self.feed(replay, number, {"/meters/a": str(number)}, mark).runs["meters"].seconds)
        assert seconds == [None, 1.0, None, None, 1.0]


@pytest.mark.parametrize("error", [Absent, Denied, Failed, TimedOut])
def test_a_source_that_fails_keeps_no_host(error: type[Unreadable]) -> None:
    """Counting references must free it: with its frames, an error that is kept has the evidence of its run."""

    def fails(_: Host) -> Iterator[Reading]:
        raise error("/x", "no")
        yield

    host = EvidenceHost()
    gone = weakref.ref(host)
    gc.disable()
    try:
        assert run(replace(METERS, read=fails), host) is (error is not Absent)
        del host
        assert gone() is None
    finally:
        gc.enable()
