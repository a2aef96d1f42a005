"""A recording on the screen: opened at its end, judged in the background, with days on the time bar."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from sdstop.analysis.load_course import LoadCourse
from sdstop.capture.reader import open_recording
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Frame, Origin
from sdstop.core.lookback import Lookback
from sdstop.core.period import Period
from sdstop.core.session import Session
from sdstop.recordings.timeline import StoredTimeline
from sdstop.rules import RULES
from sdstop.tui.app import Dashboard
from sdstop.tui.playhead import Playhead
from sdstop.tui.recorded_events import EventKind, recorded_events
from sdstop.tui.spans import ZOOMS, Span, spans, time_axis, zoomed
from sdstop.tui.time_bar import span_lines, unjudged
from sdstop.tui.widgets.palette import Palette
from tests.days import day, record
from tests.fixtures import opened
from tests.nodes.block import Node
from tests.tui.screens import LOOKS, Screen

ENDS = 1_763_892_000.0


def recording(path: Path, *, hours: float = 3.0, incident: float = 1.5) -> StoredTimeline:
    origin, story = opened("clone-convoy")
    origin = Origin("store7", privileged=True, collectors=origin.collectors)
    record(path, origin, day(story, ENDS, incident=incident, hours=hours, every=60.0))
    return open_recording(path, Period(), float("inf"))[1]


def session(timeline: StoredTimeline) -> Session:
    origin = Origin("store7", privileged=True, collectors=opened("clone-convoy")[0].collectors)
    return Session(origin, BUILTIN, RULES, timeline=timeline)


async def until(shown: Screen, is_shown: Callable[[str], bool]) -> str:
    """Return the screen as soon as it shows something."""
    for _ in range(1200):
        if is_shown(shown.text()):
            return shown.text()
        await asyncio.sleep(0.05)
    raise AssertionError(shown.text())


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredTimeline:
    """A recording of three hours in blocks of ten minutes."""
    monkeypatch.setattr("sdstop.exporters.recording.BLOCK_SECONDS", 600.0)
    return recording(tmp_path / "r")


async def test_it_opens_at_its_end_and_keys_answer_while_it_is_judged(few: StoredTimeline) -> None:
    kept = session(few)
    app = Dashboard(kept, None, LOOKS, LoadCourse(kept))
    async with app.run_test(size=(160, 48)) as pilot:
        shown = Screen(app, pilot)
        first = await until(shown, lambda text: "REPLAY 09:59" in text and "─ Time ─" in text)
        assert "REPLAY 09:59:04Z provisional   judged" in first
        assert not set("⣿⢸⡇⢹").isdisjoint(first.split("─ Time ─")[1])  # minutes of frames that are not judged yet
        await pilot.press("2")
        assert "Arrays and disks" in shown.text()
        await pilot.press("b", *"08:30:20", "enter")
        await until(shown, lambda text: "REPLAY 08:30:20Z" in text)
        await until(shown, lambda _: any(e.finding.rule == "stripe-convoy" for e in kept.episodes()))
        await pilot.press("E")
        await until(shown, lambda text: "stripe-convoy md0 began" in text)
        await until(shown, lambda text: kept.is_judged and "judged" not in text and "REPLAY 08:30:1" in text)


def test_a_jump_shows_the_frame_of_a_run(few: StoredTimeline) -> None:
    playhead = Playhead(Lookback(session(few)), following=False)
    assert playhead.look is None
    assert playhead.go(ENDS - 1.5 * 3600 + 30) == ""
    assert playhead.look is not None
    assert playhead.look.provisional
    assert playhead.look.now.taken == pytest.approx(ENDS - 1.5 * 3600 + 30, abs=1.0)
    assert any(finding.rule == "stripe-convoy" for finding in playhead.look.judgement.findings)
    assert not playhead.refresh()
    playhead.session.feed_all(few.frame(index) for index in range(len(few)))
    assert playhead.session.latest is not None
    assert playhead.at_end is False


def test_a_part_that_is_not_judged_is_not_drawn_as_good(few: StoredTimeline) -> None:
    held = session(few)
    axis = time_axis(held, 60)
    assert axis is not None

    def line(label: str, shown: Sequence[Span] = ()) -> str:
        (found,) = span_lines(shown, axis, 59, 14, Palette(), unjudged(held, axis))
        text = "".join(segment.text for segment in found)
        assert text.startswith(label)
        return text[14:-1]

    third = few.at(axis.time(20)) + 1
    assert line("  not judged") == "·" * 59
    for index in range(third):
        held.feed(few.frame(index))
    partly = line("  none so far")
    assert set(partly[:20]) == {"─"}
    assert set(partly[21:]) == {"·"}
    held.scouted_times = ((axis.time(40), axis.last),)
    assert set(line("  none so far")[42:]) == {"─"}
    for index in range(third, len(few.frames)):
        held.feed(few.frame(index))
    convoy = [span for span in spans(held.episodes(), axis) if span.finding.rule == "stripe-convoy"]
    assert set(line("!CONVOY md0", convoy)) == {"─", "├"}  # a minute is less than a cell
    assert not unjudged(held, axis)


def test_the_axis_zooms_around_a_time(few: StoredTimeline) -> None:
    kept = session(few)
    first, last = few.frames[0].monotonic, few.frames[-1].monotonic
    assert time_axis(kept, 100) == time_axis(kept, 100, 86400.0, first)
    for at in (first, first + 700, (first + last) / 2, last - 1, last):
        for zoom in (60.0, 900.0, 3600.0):
            axis = time_axis(kept, 100, zoom, at)
            assert axis is not None
            assert first <= axis.first <= at <= axis.last <= last + 1e-6
            assert axis.end - axis.start == pytest.approx(zoom)
    near = time_axis(kept, 100, 900.0, first + 4000)
    assert near == time_axis(kept, 100, 900.0, first + 4010)  # a step does not move the axis


def test_zooms_end_at_a_minute_and_at_all_that_is_held() -> None:
    day_, seen = 86400.0 * 2, list[float | None]()
    zoom: float | None = None
    while (zoom := zoomed(day_, zoom, 1)) not in seen:
        seen.append(zoom)
    assert seen == [each for each in reversed(ZOOMS) if each < day_]
    assert zoomed(day_, 60.0, -1) == 300.0
    assert zoomed(day_, 86400.0, -1) is None
    assert zoomed(day_, None, -1) is None


def test_boots_and_pauses_are_events(tmp_path: Path) -> None:
    origin = Origin("store7", privileged=True, collectors=frozenset({"diskstats"}))
    frames = Node().frames(70)

    def later(wall: float, monotonic: float) -> Iterator[Frame]:
        return (replace(f, taken=f.taken + wall, monotonic=f.monotonic - 1000.0 + monotonic) for f in frames)

    record(tmp_path / "r", origin, later(0, 1000.0), later(600, 1600.0), later(9000, 30.0))
    _, timeline = open_recording(tmp_path / "r", Period(), float("inf"))
    found = [(event.kind, event.said) for event in recorded_events(timeline)]
    assert found == [
        (EventKind.PAUSE, "recorder restarted, 8m50 without a frame"),
        (EventKind.BOOT, "boot, 2h18 without a frame"),
    ]
    kept = Session(origin, BUILTIN, (), timeline=timeline)
    playhead = Playhead(Lookback(kept), following=False)
    playhead.seek(0.0)
    assert playhead.event(1) == ()  # a finding may have begun before it
    kept.feed_all(timeline.frame(index) for index in range(len(timeline)))
    (reached,) = playhead.event(1)
    assert reached.said.startswith("recorder restarted")
    assert playhead.look is not None
    assert playhead.look.index == 71
    assert len(playhead.look.window.snapshots) == 1
