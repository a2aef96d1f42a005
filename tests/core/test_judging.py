"""Live frames: judged in a thread of their own, within a budget, and dropped if late."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.diagnosis import BRIDGE, Diagnosis
from sdstop.core.evidence import Evidence, Frame, Origin, RunMark
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Verdict
from sdstop.core.guard import Guard, Part
from sdstop.core.history import Window
from sdstop.core.judgement import Judgement
from sdstop.core.judging import MOST_WAITING, Judging, merged
from sdstop.core.rule import Limits, Rule
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.core.meters import Speed, frame, session
from tests.fixtures import opened


class Clock:
    """A clock that rules move."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def slow_rules(clock: Clock, count: int, *, finds: bool = False) -> list[Rule]:
    """Return rules that take a second each."""

    def check(window: Window, limits: Limits) -> Iterable[Verdict]:
        del window, limits
        clock.now += 1.0
        if finds:
            yield Finding(severity=Severity.WARNING, subject="a", cause="bad")
        else:
            yield RuledOut("a", "good")

    return [Rule(f"slow-{number}", "s", Severity.WARNING, check, ()) for number in range(count)]


def reached(judgement: Judgement) -> list[str]:
    return [rule.removeprefix("slow-") for rule in judgement.ran]


def test_rules_without_time_are_unchecked_and_come_first_in_the_next_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("sdstop.core.judgement.time", clock)
    judged = Diagnosis(slow_rules(clock, 5))
    window = session(()).feed(frame(1, 1)).window
    first = judged.add(window, clock.now + 2.0)
    assert reached(first) == ["0", "1"]
    assert first.unchecked == tuple(
        Unchecked("no time in this frame", rule=f"slow-{n}", gap=Gap.EARLY) for n in (2, 3, 4)
    )
    assert [verdict.rule for verdict in first.ruled_out] == ["slow-0", "slow-1"]
    assert reached(judged.add(window, clock.now + 2.0)) == ["2", "3"]
    assert reached(judged.add(window, clock.now + 2.0)) == ["0", "4"]
    assert reached(judged.add(window, clock.now)) == ["1"]  # one at least
    assert reached(judged.add(window, clock.now + 9.0)) == ["0", "1", "2", "3", "4"]
    assert reached(judged.add(window)) == ["0", "1", "2", "3", "4"]


def test_findings_of_rules_without_time_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("sdstop.core.judgement.time", clock)
    judged = Diagnosis(slow_rules(clock, 3, finds=True))
    given = session(())
    window = given.feed(frame(1, 1)).window
    for number in range(1, 10):
        window = given.feed(frame(1 + number * int(BRIDGE + 5), 1)).window
        judgement = judged.add(window, clock.now + 1.0)
        assert len(judgement.findings) == min(number, 3)
        assert len(judgement.ran) == 1
    assert all(episode.until is None for episode in judged.ordered())
    assert len(judged.ordered()) == 3
    assert len(judged.add(window).unchecked) == 0


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_frames_are_judged_in_order_and_announced() -> None:
    judging = Judging(lambda frame: frame.number, Guard())
    try:
        assert judging.take() == []
        judging.put([frame(1, 1), frame(2, 2)])
        judging.put([frame(3, 3)])
        found: list[int] = []
        while len(found) < 3:
            assert select.select([judging], [], [], 60)[0]
            found += judging.take()
        assert found == [1, 2, 3]
        assert not select.select([judging], [], [], 0)[0]
        assert not judging.busy
        assert judging.late == 0
    finally:
        judging.close()


def test_late_frames_are_merged_into_newer_ones_and_counted() -> None:
    gate = threading.Event()
    seen: list[Frame] = []

    def feed(given: Frame) -> None:
        gate.wait(60)
        seen.append(given)

    judging = Judging(feed, Guard(), interval=0.01)
    try:
        judging.put([frame(1, 1)])
        until(lambda: judging.seconds > 0)
        for number in (2, 3, 4):
            judging.put([frame(number, number)])
        time.sleep(0.05)
        judging.put([frame(5, 5)])
        gate.set()
        until(lambda: not judging.busy)
        assert (seen[0].number, seen[-1].number) == (1, 5)
        assert len(seen) == 5 - judging.late
        assert judging.late >= 2
        assert seen[-1].evidence[0].data == b"a 5"
    finally:
        judging.close()


def test_frames_do_not_pile_up() -> None:
    gate = threading.Event()
    judging = Judging(lambda _: gate.wait(60), Guard(), interval=1000.0)
    try:
        for number in range(1, 100):
            judging.put([frame(number, number)])
        assert 99 - MOST_WAITING - 1 <= judging.late <= 99 - MOST_WAITING
        gate.set()
        until(lambda: not judging.busy)
        assert len(judging.take()) == 99 - judging.late
    finally:
        judging.close()


def test_samples_of_a_node_at_rest_arrive_together_and_none_is_late() -> None:
    """With an interval of 0.1 s, a hundred of them are sent with each round of all sources."""
    many = 5 * MOST_WAITING
    seen: list[Frame] = []
    judging = Judging(seen.append, Guard(), interval=1000.0)
    try:
        judging.put([*(replace(frame(n, n), quiet=True) for n in range(1, many)), frame(many, many)])
        until(lambda: len(seen) == many)
        assert judging.late == 0
        assert [each.number for each in seen] == list(range(1, many + 1))
    finally:
        judging.close()


def test_results_of_quiet_frames_come_with_that_of_the_next() -> None:
    """A node at rest wakes the thread that serves once for each round."""
    gate = threading.Event()
    signs = []

    def feed(frame: Frame) -> int:
        gate.wait(60)
        signs.append(bool(select.select([judging], [], [], 0)[0]))
        return frame.number

    judging = Judging(feed, Guard(), interval=1000.0)
    try:
        judging.put([*(replace(frame(n, n), quiet=True) for n in (1, 2, 3)), frame(4, 4)])
        gate.set()
        assert select.select([judging], [], [], 60)[0]
        until(lambda: not judging.busy)
        assert signs == [False] * 4
        assert judging.take() == [1, 2, 3, 4]
        assert not select.select([judging], [], [], 0)[0]
        judging.put([replace(frame(5, 5), quiet=True)])  # nothing follows: its result is not held back
        assert select.select([judging], [], [], 60)[0]
        assert judging.take() == [5]
    finally:
        judging.close()


def test_frames_from_before_are_all_in_the_first_window_and_none_is_late() -> None:
    """A dashboard that attaches to an exporter gets its window at once."""
    frames = opened("hot-member")[1]
    assert len(frames) > MOST_WAITING + 5
    plain = session_of_story(frames)
    attached = Session(Origin("attached"), BUILTIN, RULES)
    judging = Judging(attached.feed, Guard(), interval=0.001)
    try:
        judging.put(frames[:12], before=frames[-1].monotonic)
        judging.put(frames[12:], before=frames[-1].monotonic)
        until(lambda: not judging.busy)
        assert judging.late == 0
        assert attached.frames_seen == len(frames)
        found = [(f.rule, f.subject, f.severity) for f in attached.head().judgement.findings]
        assert found == [(f.rule, f.subject, f.severity) for f in plain.head().judgement.findings]
        assert "hot-stripe-member" in {rule for rule, *_ in found}
        assert attached.head().window.seconds == plain.head().window.seconds
    finally:
        judging.close()


def session_of_story(frames: Iterable[Frame]) -> Session:
    found = Session(Origin("plain"), BUILTIN, RULES)
    found.feed_all(frames)
    return found


def test_an_exception_costs_one_frame() -> None:
    def feed(given: Frame) -> int:
        return 1 // (given.number - 1)

    guard = Guard()
    judging = Judging(feed, guard)
    try:
        judging.put([frame(1, 1), frame(2, 2)])
        until(lambda: not judging.busy)
        assert judging.take() == [1]
        assert guard.counts == {(Part.FRAME, "frame"): 1}
    finally:
        judging.close()


def test_a_merged_frame_leads_to_the_same_state() -> None:
    older = Frame(
        1, 1.0, 1.0, (Evidence("/a", data=b"1"), Evidence("/b", data=b"1")), {"x": RunMark(1.0), "y": RunMark(1.0)}
    )
    newer = Frame(2, 2.0, 2.0, (Evidence("/a", data=b"2"),), {"x": RunMark(2.0, 0.1)})
    both = merged(older, newer)
    assert (both.number, both.taken, both.monotonic) == (2, 2.0, 2.0)
    assert {item.key: item.data for item in both.evidence} == {"/a": b"2", "/b": b"1"}
    assert both.ran == {"x": RunMark(2.0, 0.1), "y": RunMark(1.0)}
    one, two = session(()), session(())
    frames = [frame(number, number * number) for number in (1, 2, 3, 4)]
    one.feed_all(frames)
    two.feed_all([frames[0], merged(frames[1], frames[2]), frames[3]])
    rows = [given.head().window.rows(Speed)["a"].per_second for given in (one, two)]
    assert rows == [7.0, 7.0]


@pytest.mark.parametrize("name", ["clone-convoy", "hot-member", "quiet-node"])
def test_quiet_frames_are_samples_like_all_others(name: str) -> None:
    origin, frames = opened(name)
    every, few = (Session(replace(origin, live=True), BUILTIN, RULES) for _ in range(2))
    for place, each in enumerate(frames, 1):
        every.feed(each)
        quiet = place % 5 != 0 and each is not frames[-1]
        before = few.latest
        look = few.feed(replace(each, quiet=quiet))
        assert (look is before) is (quiet and before is not None)
    ours, theirs = few.head(), every.head()
    assert [shot.number for shot in ours.window.snapshots] == [shot.number for shot in theirs.window.snapshots]
    assert ours.judgement == theirs.judgement
    assert [frame.number for frame in few.timeline.frames] == [frame.number for frame in frames]


def test_merged_frames_are_judged_if_one_of_them_is() -> None:
    quiet, loud = replace(frame(1, 1), quiet=True), frame(2, 2)
    assert [merged(a, b).quiet for a, b in ((quiet, loud), (loud, quiet), (quiet, quiet))] == [False, False, True]
