"""Which moment is looked at."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sdstop.core.lookback import Lookback
from sdstop.tui.playhead import Playhead
from tests.nodes.block import STARTED, Node
from tests.tui.rules import begun_between


def test_it_follows_until_it_is_held() -> None:
    session = Node().session(3, live=True)
    playhead = Playhead(Lookback(session), following=True)
    frames = Node().frames(5)
    playhead.newest(session.feed(frames[4]))
    assert playhead.look is not None
    assert playhead.look.now.number == 5
    playhead.hold()
    playhead.newest(session.feed(frames[5]))
    assert playhead.look.now.number == 5
    assert playhead.behind == 1.0
    playhead.follow()
    assert playhead.look.now.number == 6
    assert playhead.behind == 0.0


def test_steps_end_at_the_ends() -> None:
    playhead = Playhead(Lookback(Node().session(3)), following=False)
    assert playhead.at_end
    assert not playhead.step(1)
    assert playhead.step(-1)
    assert playhead.look is not None
    assert playhead.look.now.number == 3
    assert playhead.step(-10)
    assert playhead.look.now.number == 1
    assert not playhead.step(-1)
    assert playhead.step(1)


def test_a_forgotten_frame_is_left_towards_the_oldest() -> None:
    session = Node().session(3, live=True)
    playhead = Playhead(Lookback(session), following=True)
    playhead.step(-3)
    while session.timeline.frames[0].number < 3:
        session.timeline.frames.popleft()
    assert playhead.look is not None
    assert playhead.look.now.number == 1
    assert playhead.step(-1)
    assert playhead.look.now.number == 3


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("-5m", 600 - 300),
        ("-1m30s", 600 - 90),
        ("-90", 600 - 90),
        ("+30s", 600 + 30),
        ("14:20", 400),
        ("14:20:30", 430),
        ("14:20:30Z", 430),
        ("2026-09-21 14:20", 400),
        ("23:00", 400 + 8 * 3600 + 40 * 60 - 86400),
    ],
)
def test_times_that_can_be_typed(typed: str, seconds: float) -> None:
    session = Node().session(0)
    frames = Node().frames(600, 100.0)
    for frame in frames[1:]:
        session.feed(frame)
    playhead = Playhead(Lookback(session), following=False)
    assert playhead.parse(typed) == STARTED + seconds


def test_plus_counts_from_the_frame_looked_at() -> None:
    playhead = Playhead(Lookback(Node().session(10)), following=False)
    playhead.step(-5)
    assert playhead.parse("+2s") == STARTED + 7


@pytest.mark.parametrize("typed", ["", "soon", "25:00", "12:61", "-", "2026-13-01 10:00", "2026-02-30 10:00", "-5x"])
def test_other_times_are_refused_in_one_line(typed: str) -> None:
    playhead = Playhead(Lookback(Node().session(1)), following=False)
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z"):
        playhead.parse(typed)


def test_going_to_a_time_finds_the_last_frame_by_then() -> None:
    playhead = Playhead(Lookback(Node().session(10)), following=False)
    assert not playhead.go(STARTED + 4.5)
    assert playhead.look is not None
    assert playhead.look.now.number == 5
    assert playhead.go(0.0) == "nothing before 14:13:20, the oldest frame"
    assert playhead.look.now.number == 1
    assert playhead.go(float("inf")) == "nothing after 14:13:30, the newest frame"
    assert playhead.look.now.number == 11
    assert not playhead.go(STARTED + 10.5)


def test_a_time_of_the_bar_is_that_of_the_last_frame_by_then() -> None:
    session = Node().session(10)
    playhead = Playhead(Lookback(session), following=False)
    first = session.timeline.frames[0].monotonic
    assert playhead.look is not None
    assert playhead.seek(first + 4.5)
    assert playhead.look.now.number == 5
    assert not playhead.seek(first + 4.9)
    assert playhead.seek(first - 100)
    assert playhead.look.now.number == 1
    assert playhead.seek(first + 100)
    assert playhead.look.now.number == 11


def test_frames_skipped_in_playback_are_judged_as_if_none_was() -> None:
    session = Node().session(90, [begun_between(40, 50)])
    for numbers in ((1, 12, 45, 46, 80), (80, 45, 20, 91, 44)):
        playhead = Playhead(Lookback(session), following=False)
        for number in numbers:
            playhead.seek(session.timeline.frames[number - 1].monotonic)
            look = playhead.look
            assert look is not None
            assert look.now.number == number
            found = [f.summary for f in look.judgement.findings]
            assert found == [f"odd in frame {number}"] * (40 <= number <= 50)
            seen = [shot.number for shot in look.window.snapshots]
            assert seen == list(range(max(number - 75, 1), number + 1))


def test_events_are_where_findings_begin_and_end() -> None:
    session = Node().session(40, [begun_between(5, 10)])
    playhead = Playhead(Lookback(session), following=False)
    assert playhead.event(-1)
    assert playhead.look is not None
    assert playhead.look.now.number == 11
    assert playhead.event(-1)
    assert playhead.look.now.number == 5
    assert playhead.look.judgement.findings[0].summary == "odd in frame 5"
    assert not playhead.event(-1)
    assert playhead.event(1)
    assert playhead.look.now.number == 11
    assert not playhead.event(1)


def test_before_the_first_frame_there_is_nothing() -> None:
    session = Node().session(0)
    session.timeline.frames.clear()
    playhead = Playhead(Lookback(session), following=True)
    assert not playhead.step(1)
    assert not playhead.event(1)
    assert not playhead.seek(5.0)
    assert playhead.go(5.0) == "no sample yet"


def test_a_time_in_a_pause_is_said_to_be_in_one() -> None:
    node, session = Node(), Node().session(0)
    for frame in node.frames(20):
        late = 100.0 if frame.number > 10 else 0.0
        session.feed(replace(frame, taken=frame.taken + late, monotonic=frame.monotonic + late))
    playhead = Playhead(Lookback(session), following=False)
    assert playhead.go(STARTED + 50) == "nothing between 14:13:29 and 14:15:10"
    assert playhead.look is not None
    assert playhead.look.now.number == 10
    assert not playhead.go(STARTED + 9 + 12)
