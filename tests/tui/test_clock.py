"""A node whose wall clock is set back while it is watched."""

from __future__ import annotations

from msgspec.structs import replace

from sdstop.core.evidence import Outcome
from sdstop.core.lookback import Lookback
from sdstop.core.session import Session
from sdstop.tui.playhead import Playhead
from tests.nodes.block import STARTED, Node, refused
from tests.tui.rules import begun_between
from tests.tui.screens import WIDE, screen


def set_back(session: Session, frame: int, seconds: float) -> Session:
    """Feed the same frames to a session whose node's clock was set back before one of them."""
    again = Session(session.origin, session.collectors, session.rules)
    again.feed_all(replace(f, taken=f.taken - seconds * (f.number >= frame)) for f in session.timeline.frames)
    return again


def test_one_can_go_to_where_findings_begin_and_end() -> None:
    session = set_back(Node().session(10, [begun_between(4, 8)]), 6, 100.0)
    playhead = Playhead(Lookback(session), following=False)

    def event(direction: int) -> int:
        assert playhead.event(direction)
        assert playhead.look is not None
        return playhead.look.now.number

    assert [event(-1), event(-1)] == [9, 4]
    assert playhead.behind == 7.0
    assert not playhead.event(-1)
    assert event(1) == 9
    assert playhead.go(STARTED + 1.5) == ""
    assert playhead.look is not None
    assert playhead.look.now.number == 2  # not frame 11: the last one by its date, but the clock was set back


async def test_ages_are_what_passed() -> None:
    node = Node(later={4: [refused("/proc/mdstat", Outcome.FAILED, "broken")]})
    session = set_back(node.session(10, [begun_between(2, 4), begun_between(9, 99)]), 6, 100.0)
    async with screen(session, WIDE) as shown:
        assert shown.line("*WARN").endswith(" 9.0s")
        assert "since 14:13:21Z, for 9.0s" in await shown.press("enter")  # a short silence does not end it
        text = await shown.press("!")
        assert "7.0s" in shown.line("failed: /proc/mdstat")
        assert "Ended" not in text
    session = set_back(Node().session(10, [begun_between(2, 7)]), 6, 100.0)
    async with screen(session, WIDE) as shown:
        await shown.press("!")
        assert shown.line("odd in frame").endswith("14:13:21 6.0s")
        await shown.press("enter")
        assert "from 14:13:21Z to 14:11:47Z, for 6.0s" in shown.text()


async def test_a_clock_that_ran_back_is_said_on_every_screen() -> None:
    session = set_back(Node().session(10), 6, 100.0)
    async with screen(session, WIDE) as shown:
        for key in "126":
            await shown.press(key)
            assert "clock went back 1m39" in shown.lines()[0]
    async with screen(Node().session(10), WIDE) as shown:
        assert "ran back" not in shown.text()
