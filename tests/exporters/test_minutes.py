"""The recorder's minutes: load with quantiles, and events, of frames that nobody has to read again."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from statistics import median

import msgspec
import pytest

from sdstop.analysis.load_course import LoadCourse
from sdstop.capture.reader import open_recording
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.minute import Minute, MinuteLoad, Spread, spread
from sdstop.core.period import Period
from sdstop.core.session import Session
from sdstop.exporters.minutes import MinuteMeter
from sdstop.exporters.recording import RecordingLimits, RecordingWriter
from sdstop.recordings.database import Recording
from sdstop.recordings.schema import VERSION
from tests.days import record
from tests.nodes.block import Load, Node, raid10

ORIGIN = Origin("store1", privileged=True, collectors=frozenset(collector.name for collector in BUILTIN))


def minutes(frames: list[Frame]) -> list[Minute]:
    meter = MinuteMeter(ORIGIN)
    found = [minute for frame in frames if (minute := meter.add(frame)) is not None]
    return [*found, *filter(None, [meter.ended()])]


def test_a_minute_has_the_load_of_its_samples() -> None:
    frames = Node(loads=lambda _, second: Load(reads=second % 50, writes=second % 7)).frames(150)
    found = minutes(frames)
    assert [round(minute.seconds) for minute in found] == [60, 60, 30]
    assert [minute.taken for minute in found] == [frames[0].taken, frames[60].taken, frames[120].taken]
    session = Session(ORIGIN, BUILTIN, (), timeline=None)
    course = LoadCourse(session)
    session.feed_all(frames)
    known = [s.total for s in course.samples if frames[60].monotonic <= s.ends < frames[120].monotonic]
    second = found[1]
    assert second.writes is not None
    assert second.of == course.of
    assert second.writes.bytes.mean == pytest.approx(sum(each.write_bytes for each in known) / len(known))
    assert second.writes.requests.most == max(each.writes for each in known)
    assert second.writes.requests.median == pytest.approx(median(each.writes for each in known), rel=0.1)
    assert second.usable


def test_quantiles() -> None:
    assert spread([]) is None
    assert spread([float(n) for n in range(1, 101)]) == Spread(50.5, 50.0, 95.0, 100.0)
    assert spread([1.0, 3.0], [3.0, 1.0]) == Spread(1.5, 1.0, 3.0, 3.0)
    assert spread([1.0, 3.0], [0.0, 0.0]) == Spread(2.0, 1.0, 3.0, 3.0)


def test_devices_and_rebuilds_are_events() -> None:
    arrays = raid10("md7", ("sda", "sdb"), progress="[==>....]  recovery = 12.6% (132/1048) finish=1.0min speed=9K/sec")
    row = "   8      {minor} {name} 0 0 0 0 0 0 0 0 0 0 0\n"
    sda, sdb = row.format(minor=0, name="sda"), row.format(minor=16, name="sdb")
    later = {
        71: [Evidence("/proc/diskstats", data=sda.encode())],
        131: [Evidence("/proc/mdstat", data=arrays.encode())],
        190: [Evidence("/proc/mdstat", data=b"Personalities :\nunused devices: <none>\n")],
        250: [Evidence("/proc/diskstats", data=f"{sda}{sdb}".encode())],
    }
    found = minutes(Node(later=later).frames(290))
    assert [minute.removed for minute in found] == [(), ("sdb",), (), (), ()]
    assert [minute.added for minute in found] == [(), (), (), (), ("sdb",)]
    assert [minute.started for minute in found] == [(), (), ("md7",), (), ()]
    assert [minute.ended for minute in found] == [(), (), (), ("md7",), ()]


def test_recordings_without_minutes_open_and_get_them(tmp_path: Path) -> None:
    path = tmp_path / "r"
    record(path, ORIGIN, iter(Node().frames(70)))
    store = sqlite3.connect(path)
    store.execute("DROP TABLE minute")
    store.execute("PRAGMA user_version = 1")
    store.commit()
    store.close()
    with Recording(path) as recording:
        assert recording.minutes() == []
    record(path, ORIGIN, iter(Node().frames(70)))
    with Recording(path) as recording:
        assert [run for run, _ in recording.minutes()] == [1, 1]
        assert recording.notes == []


def test_a_recording_of_version_2_is_continued_as_one_of_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "r"
    record(path, ORIGIN, iter(Node().frames(70)))
    store = sqlite3.connect(path)
    store.execute("PRAGMA user_version = 2")
    store.commit()
    store.close()
    with Recording(path) as recording:
        assert [run for run, _ in recording.minutes()] == [0, 0]
    record(path, ORIGIN, iter(Node().frames(70)))
    with Recording(path) as recording:
        assert [run for run, _ in recording.minutes()] == [0, 0, 1, 1]
        assert recording.notes == []
    store = sqlite3.connect(path)
    assert store.execute("PRAGMA user_version").fetchone() == (VERSION,)  # older programs must not misread it
    store.close()


def test_hostile_minutes_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "r"
    record(path, ORIGIN, iter(Node().frames(70)))
    many = Spread(1e30, 1.0, 1.0, 1.0)
    rows = [
        b"", b"\xff", msgspec.msgpack.encode([1.0]),
        msgspec.msgpack.encode(Minute(float("nan"), 0.0, 1.0)), msgspec.msgpack.encode(Minute(0.0, 0.0, -1.0)),
        msgspec.msgpack.encode(Minute(0.0, 0.0, 1.0, 3, MinuteLoad(many, many))),
    ]  # fmt: skip
    store = sqlite3.connect(path)
    store.executemany("INSERT INTO minute (run, block, data) VALUES (1, 1, ?)", [(row,) for row in rows])
    store.commit()
    store.close()
    _, timeline = open_recording(path, Period())
    assert len(timeline.minutes) == 2
    assert timeline.recording.notes == ["damaged minutes: 6"]


def test_minutes_go_with_their_blocks(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "r", ORIGIN, RecordingLimits(seconds=120.0)) as writer:
        for frame in Node().frames(600):
            writer.add(frame)
    with Recording(tmp_path / "r") as recording:
        assert 2 <= len(recording.minutes()) <= 4
