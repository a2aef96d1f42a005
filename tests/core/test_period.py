"""Moments as people type them, and parts of what was recorded."""

import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from sdstop.core.evidence import Evidence, Frame, RunMark
from sdstop.core.period import Period, between, typed_time

NEWEST = datetime(2026, 11, 23, 14, 0, tzinfo=UTC).timestamp()
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.needs("zones")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-5m", "2026-11-23 13:55:00"),
        ("-1h30m", "2026-11-23 12:30:00"),
        ("13:58", "2026-11-23 12:58:00"),
        ("13:58Z", "2026-11-23 13:58:00"),
        ("15:30", "2026-11-22 14:30:00"),
        ("2026-11-20 03:10:05", "2026-11-20 02:10:05"),
        ("2026-07-20T03:10", "2026-07-20 01:10:00"),
        ("@1763900000", "2025-11-23 12:13:20"),
    ],
)
def test_a_moment_is_in_the_zone_of_the_node(text: str, said: str) -> None:
    found = typed_time(text, NEWEST, BERLIN)
    assert f"{datetime.fromtimestamp(found, UTC):%Y-%m-%d %H:%M:%S}" == said


@pytest.mark.needs("zones")
@pytest.mark.parametrize("zone", ["node", "terminal"])
@pytest.mark.parametrize(
    ("text", "newest", "said"),
    [
        ("01:59:40", "2026-11-01 06:00:32", "2026-11-01 05:59:40"),  # the second one is still to come
        ("01:00:10", "2026-11-01 06:00:32", "2026-11-01 06:00:10"),
        ("01:30", "2026-11-01 09:00:00", "2026-11-01 06:30:00"),
        ("2026-11-01 01:30", "2026-11-01 06:00:32", "2026-11-01 05:30:00"),
        ("01:30", "2026-11-02 05:00:00", "2026-11-01 06:30:00"),
        ("02:30", "2026-11-01 06:00:32", "2026-10-31 06:30:00"),
        ("2026-10-31 12:00", "2026-11-02 12:00:00", "2026-10-31 16:00:00"),  # another offset than that of now
        ("2026-11-03 12:00", "2026-11-02 12:00:00", "2026-11-03 17:00:00"),
    ],
)
def test_a_time_where_clocks_are_set_back_is_the_last_one_that_is_over(
    text: str, newest: str, said: str, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        now = datetime.fromisoformat(f"{newest}+00:00").timestamp()
        found = typed_time(text, now, ZoneInfo("America/New_York") if zone == "node" else None)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert f"{datetime.fromtimestamp(found, UTC):%Y-%m-%d %H:%M:%S}" == said


@pytest.mark.parametrize("text", ["", "yesterday", "25:00", "2026-13-01 10:00", "-", "+5m", "12:60", "5"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid time|no such time"):
        typed_time(text, NEWEST, UTC)


def test_a_period_ends_at_the_newest_frame_unless_it_says_so() -> None:
    assert Period().times(NEWEST, UTC) == (float("-inf"), NEWEST)
    assert Period().times(NEWEST, UTC, 900.0) == (NEWEST - 900, NEWEST)
    assert Period(since="2h").times(NEWEST, UTC, 900.0) == (NEWEST - 7200, NEWEST)
    assert Period(at="13:00").times(NEWEST, UTC, 900.0) == (NEWEST - 4500, NEWEST - 3600)
    assert Period("12:00", "12:30").times(NEWEST, UTC) == (NEWEST - 7200, NEWEST - 5400)


@pytest.mark.parametrize(
    ("period", "why"),
    [
        (Period(since="soon"), "--since: invalid time"),
        (Period(until="27:00"), "--until: no such time"),
        (Period(at="x"), "--at: invalid time"),
        (Period(since="1h", until="2h"), "--since is after the end"),
    ],
    ids=["since", "until", "at", "backwards"],
)
def test_a_period_that_makes_no_sense_is_refused(period: Period, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        period.times(NEWEST, UTC)


FRAMES = [
    Frame(1, 100.0, 0.0, (Evidence("/a", data=b"1"), Evidence("/b", data=b"1")), {"x": RunMark(0.0, 0.1)}),
    Frame(2, 101.0, 1.0, (Evidence("/a", data=b"2"),), {"y": RunMark(1.0, 0.1)}),
    Frame(3, 102.0, 2.0, (Evidence("/a", data=b"3"),), {}),
]


def test_the_first_frame_of_a_part_holds_all_that_was_known() -> None:
    first, second = between(FRAMES, 101.0, 102.0)
    assert {item.key: item.data for item in first.evidence} == {"/a": b"2", "/b": b"1"}
    assert first.ran is not None
    assert first.ran.keys() == {"x", "y"}
    assert second is FRAMES[2]


def test_without_a_frame_in_the_period_the_one_before_is_shown() -> None:
    (only,) = between(FRAMES, 101.2, 101.8)
    assert only.number == 2
    assert between(FRAMES, 1.0, 99.0) == []
