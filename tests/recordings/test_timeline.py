"""Frames of a recording are read when asked for, its runs are one timeline, and its judgement is the report's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from sdstop.capture.reader import open_capture, open_recording
from sdstop.cli.redacting import redactor
from sdstop.cli.settings import Config
from sdstop.cli.watch import Watch
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, RunMark
from sdstop.core.forward import ForwardPass
from sdstop.core.history import KEEP
from sdstop.core.lookback import Lookback
from sdstop.core.open_block import OpenBlock
from sdstop.core.opened_timeline import OpenedTimeline
from sdstop.core.period import Period, between
from sdstop.core.session import Session
from sdstop.core.timeline import RING_SECONDS, Timeline
from sdstop.exporters.recording import RecordingLimits, RecordingWriter
from sdstop.exporters.report.document import document, to_json
from sdstop.recordings.timeline import StoredTimeline
from sdstop.rules import RULES
from tests.cli.run import executed
from tests.days import day, record
from tests.fixtures import opened

START = 1_763_900_000.0
ORIGIN = Origin("store1", privileged=True, collectors=frozenset({"disks"}))
EVERYTHING = float("inf")


def frames(seconds: range, taken: float, monotonic: float, *extra: Evidence) -> Iterator[Frame]:
    """Frames of a run: a counter that moves, one file every 100 seconds, and others once."""
    for place, second in enumerate(seconds):
        now = monotonic + place
        evidence = [Evidence("/proc/diskstats", data=b"8 0 sda %d\n" % second, taken=taken + place, monotonic=now)]
        if place % 100 == 0:
            evidence.append(Evidence("/sys/slow", data=b"%d\n" % second))
        evidence += extra if not place else ()
        yield Frame(place + 1, taken + place, now, tuple(evidence), {"disks": RunMark(now, 0.001)})


def all_of(path: Path) -> StoredTimeline:
    return open_recording(path, Period(), EVERYTHING)[1]


def test_any_frame_is_as_it_was_recorded(tmp_path: Path) -> None:
    given = list(frames(range(250), START, 1000.0, Evidence("/sys/once", data=b"1\n")))
    record(tmp_path / "r", ORIGIN, iter(given))
    timeline = all_of(tmp_path / "r")
    assert [timeline.frame(index) for index in range(250)] == given
    assert [frame.monotonic for frame in timeline.frames] == [frame.monotonic for frame in given]
    for index in (249, 0, 149, 31, 30, 29, 1, 200, 240, 90, 95, 130, 0):
        (whole,) = timeline.recall(index, index + 1)
        (expected,) = between(given, given[index].taken, given[index].taken)
        assert {item.key: item for item in whole.evidence} == {item.key: item for item in expected.evidence}
        assert (whole.taken, whole.ran) == (expected.taken, expected.ran)
        assert timeline.at(given[index].monotonic + 0.5) == index
        assert timeline.taken_by(given[index].taken + 0.5) == index
        assert timeline.place(given[index].number) == index
    assert timeline.taken_by(START - 1) is None
    assert (timeline.at(0.0), timeline.at(1e9)) == (0, 249)


def test_any_moment_is_known_from_the_one_before(tmp_path: Path) -> None:
    given = list(frames(range(600), START, 1000.0))
    chance = Random(1)
    for index in range(600):  # pieces that appear, change and vanish
        name = f"/sys/{chance.randrange(40)}"
        more = Evidence(name, data=b"%d" % index) if chance.random() < 0.8 else Evidence(name, Outcome.ABSENT)
        given[index] = replace(given[index], evidence=(*given[index].evidence, more))
    with RecordingWriter(tmp_path / "r", ORIGIN, RecordingLimits(seconds=400.0)) as writer:
        for each in given:
            writer.add(each)
    timeline = all_of(tmp_path / "r")
    first = 600 - len(timeline)
    assert first > 100
    for _ in range(40):
        index = chance.randrange(len(timeline))
        (whole,) = timeline.recall(index, index + 1)
        (expected,) = between(given, given[first + index].taken, given[first + index].taken)
        assert {item.key: item for item in whole.evidence} == {item.key: item for item in expected.evidence}
        assert whole.ran == expected.ran


def test_a_single_frame_is_read_without_those_of_its_block(tmp_path: Path) -> None:
    def given() -> Iterator[Frame]:
        for first, base in ((0, 1000.0), (150, 9000.0)):  # the second run is on another clock
            for frame in frames(range(first, first + 150), START + 2 * first, base):
                large = Evidence("/sys/large", data=b"%d 7\n" % frame.number + bytes(8000))
                yield replace(frame, evidence=(*frame.evidence, large), number=first + frame.number)

    every = list(given())
    record(tmp_path / "r", ORIGIN, iter(every[:150]), iter(every[150:]))
    timeline, whole = all_of(tmp_path / "r"), all_of(tmp_path / "r")
    for index in (31, 29, 30, 100, 149, 151, 200, 299):
        assert timeline.single(index) == whole.frame(index)
        assert timeline.recall(index, index + 1) == whole.recall(index, index + 1)
        assert len(timeline.single(index).evidence) > 1
    assert not timeline._blocks._read
    assert whole._blocks._read
    assert timeline.single(0) == whole.frame(0)
    assert timeline.single(150) == whole.frame(150), "the first frame of a run has all that is known"
    assert timeline.single(150).fresh


def test_runs_form_one_timeline_with_gaps(tmp_path: Path) -> None:
    path = tmp_path / "r"
    once = Evidence("/sys/gone", data=b"1\n")
    record(
        path, ORIGIN,
        frames(range(50), START, 1000.0, once),
        frames(range(50, 90), START + 600, 1600.0),
        frames(range(5), START + 4000, 20.0),
    )  # fmt: skip
    timeline = all_of(path)
    assert [(each.index, each.gap, each.booted) for each in timeline.starts] == [(50, 551.0, False), (90, 3361.0, True)]
    times = [frame.monotonic for frame in timeline.frames]
    assert times == sorted(times)
    assert times[90] - times[89] == 4000 - 639
    assert [frame.number for frame in timeline.frames if frame.fresh] == [51, 91]
    second = timeline.frame(50)
    assert second.fresh
    assert {item.key for item in second.evidence} == {"/proc/diskstats", "/sys/slow"}
    third = timeline.frame(92)
    assert third.ran == {"disks": RunMark(third.monotonic, 0.001)}
    assert third.evidence[0].monotonic == third.monotonic
    part = open_recording(path, Period(since=f"@{START + 620:.0f}", until=f"@{START + 4001:.0f}"))[1]
    assert [part.frames[0].number, part.frames[-1].number] == [71, 92]
    assert {item.key for item in part.frame(0).evidence} == {"/proc/diskstats", "/sys/slow"}


def test_a_time_in_a_pause_of_the_recorder_is_judged_by_the_frames_before_the_pause(tmp_path: Path) -> None:
    origin, story = opened("clone-convoy")
    later = [replace(each, taken=each.taken + 7200, monotonic=each.monotonic + 7200) for each in story]
    record(tmp_path / "r", origin, iter(story), iter(later))
    ended = story[-1].taken
    for pause, late in ((10, ""), (2400, "no sample at the time chosen: the newest is 40m00 older")):
        origin, frames = open_capture(tmp_path / "r", period=Period(at=f"@{ended + pause:.0f}"))
        assert [each.taken for each in frames] == [each.taken for each in story]
        assert origin.late == late
        done = executed("check", "--from", str(tmp_path / "r"), "--at", f"@{ended + pause:.0f}")
        assert done.returncode == 2, done.stdout
        assert late in done.stdout
    since = Period(since=f"@{ended + 600:.0f}", until=f"@{ended + 2400:.0f}")  # as asked for: what was known
    assert [each.taken for each in open_capture(tmp_path / "r", period=since)[1]] == [ended]


HEALTHY = "quiet-node"
LATE = "no sample {}: the newest is {} older"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--at", 0.0), 0, "SDSTOP OK - "),
        (("--at", 10.0), 0, "SDSTOP OK - "),
        (("--at", 40.0), 3, f"SDSTOP UNKNOWN - {LATE.format('at the time chosen', '40s')}"),
        (("--until", 40.0), 3, f"SDSTOP UNKNOWN - {LATE.format('at the end of the period', '40s')}"),
        (("--since", 5.0, "--until", 10.0), 3, f"SDSTOP UNKNOWN - {LATE.format('in the period', '5.0s')}"),
    ],
)
@pytest.mark.parametrize("kind", ["recording", "capture"])
def test_a_node_is_not_good_at_a_time_without_a_sample(
    kind: str, options: tuple[str | float, ...], code: int, said: str, tmp_path: Path
) -> None:
    origin, story = opened(HEALTHY)
    path = f"fixtures/{HEALTHY}"
    if kind == "recording":
        record(tmp_path / "r", origin, iter(story))
        path = str(tmp_path / "r")
    words = [f"@{story[-1].taken + word:.0f}" if isinstance(word, float) else word for word in options]
    done = executed("check", "--from", path, *words)
    assert (done.returncode, done.stdout.startswith(said)) == (code, True), done.stdout
    assert "no findings" not in done.stdout or code == 0


@pytest.mark.parametrize(
    ("period", "first", "last"),
    [
        (Period(), 0, 99),
        (Period(at=f"@{START + 40:.0f}"), 0, 40),  # the clock showed this time once only
        (Period(at=f"@{START - 3600 + 55:.0f}"), 0, 55),
        (Period(since=f"@{START + 20:.0f}", until=f"@{START + 30:.0f}"), 20, 30),
        (Period(since=f"@{START + 20:.0f}"), 20, 99),
    ],
)
def test_times_of_a_clock_that_was_set_back_are_found(tmp_path: Path, period: Period, first: int, last: int) -> None:
    given = [
        replace(each, taken=each.taken - (3600 if at >= 50 else 0))
        for at, each in enumerate(frames(range(100), START, 1000.0))
    ]
    record(tmp_path / "r", ORIGIN, iter(given))
    origin, timeline = open_recording(tmp_path / "r", period)
    assert [timeline.frames[0].number, timeline.frames[-1].number] == [first + 1, last + 1]
    assert not origin.late
    whole = all_of(tmp_path / "r")
    held = OpenedTimeline(given)
    for taken, place in ((START + 40.2, 40), (START - 3600 + 60.2, 60), (START + 600, 49), (START - 3600, None)):
        assert whole.taken_by(taken) == held.taken_by(taken) == place


def test_a_node_is_not_good_where_its_recording_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "r"
    origin, story = opened(HEALTHY)
    lasts = story[-1].monotonic - story[0].monotonic + 1
    several = (
        replace(
            each,
            number=each.number + at * len(story),
            taken=each.taken + at * lasts,
            monotonic=each.monotonic + at * lasts,
        )
        for at in range(200 // len(story) + 1)
        for each in story
    )
    record(path, origin, several)
    assert not all_of(path).faults
    store = sqlite3.connect(path)
    (newest,) = store.execute("SELECT max(id) FROM block").fetchone()
    assert newest > 3
    assert executed("check", "--from", str(path)).returncode == 0
    store.execute("UPDATE block SET data = x'00' WHERE id = 2")
    store.commit()
    done = executed("report", "--from", str(path))  # it is the newest state that is judged
    assert "Note: block 2 is damaged" in done.stdout
    assert "The capture is incomplete." in done.stdout
    store.execute("UPDATE block SET data = x'00' WHERE id = ?", (newest,))
    store.commit()
    store.close()
    done = executed("check", "--from", str(path))
    assert done.returncode == 3
    assert done.stdout.startswith("SDSTOP UNKNOWN - no sample at this moment: the recording is damaged")


def test_what_may_have_changed_in_a_damaged_part_is_not_known_after_it(tmp_path: Path) -> None:
    def given() -> Iterator[Frame]:
        for frame in frames(range(150), START, 1000.0, Evidence("/sys/state", data=b"good\n"), Evidence("/sys/still")):
            more = (Evidence("/sys/state", data=b"bad\n"),) if frame.number == 45 else ()
            yield replace(frame, evidence=(*frame.evidence, *more))

    path = tmp_path / "r"
    record(path, ORIGIN, given())
    store = sqlite3.connect(path)
    (number,) = store.execute("SELECT max(id) FROM block WHERE first <= ?", (START + 44,)).fetchone()
    assert number > 1
    store.execute("UPDATE block SET data = x'00' WHERE id = ?", (number,))
    store.commit()
    store.close()
    timeline = all_of(path)
    session = Session(ORIGIN, (), (), timeline=timeline)
    session.feed_all(timeline.frame(index) for index in range(len(timeline)))
    known = session.head().host
    assert known.evidence("/sys/state") is None
    assert known.evidence("/sys/still") is not None
    assert [timeline.frame(index).fresh for index in range(len(timeline))].count(True) == 1
    again = Session(ORIGIN, (), (), timeline=timeline)
    assert Lookback(again).at(140).host.evidence("/sys/state") is None
    for order in ((140, 70, 20, 65, 130), (20, 21, 65, 66, 140), (61, 62, 63, 100)):
        lookback = Lookback(Session(ORIGIN, (), (), timeline=all_of(path)))
        for index in order:
            window = lookback.at(index).window
            lookback._took = 1.0
            lookback.glance(index + 1)
            assert lookback._last is not None
            known = lookback._last.replay.host
            if not 31 <= index <= 61:  # the damaged block, whose moments are in doubt
                assert (known.evidence("/sys/state") is None) is (index > 61), f"{order}, at {index}"
            assert known.evidence("/sys/still") is not None
            assert window.now.number == index + 1
    done = executed("unpack", str(path), str(tmp_path / "c"))
    assert f"block {number} is damaged" in done.stderr
    _, kept = open_capture(tmp_path / "c")
    held = Session(ORIGIN, (), (), timeline=OpenedTimeline(kept))
    held.feed_all(kept)
    assert len(kept) < 150
    assert held.head().host.evidence("/sys/state") is None
    assert held.head().host.evidence("/sys/still") is not None


def test_a_change_in_a_damaged_part_does_not_bring_back_what_was_known_before_the_oldest_frame(tmp_path: Path) -> None:
    path = tmp_path / "r"
    with RecordingWriter(path, ORIGIN, RecordingLimits(120.0)) as writer:
        for frame in frames(range(300), START, 1000.0, Evidence("/sys/state", data=b"good\n"), Evidence("/sys/still")):
            more = (Evidence("/sys/state", data=b"bad\n"),) if frame.number == 230 else ()
            writer.add(replace(frame, evidence=(*frame.evidence, *more)))
    store = sqlite3.connect(path)
    (number,) = store.execute("SELECT max(id) FROM block WHERE first <= ?", (START + 229,)).fetchone()
    (oldest,) = store.execute("SELECT min(id) FROM block").fetchone()
    assert 1 < oldest < number, "the first version is that of the base"
    store.execute("UPDATE block SET data = x'00' WHERE id = ?", (number,))
    store.commit()
    store.close()
    timeline = all_of(path)
    (before,), (after,) = timeline.recall(1, 2), timeline.recall(len(timeline) - 1, len(timeline))
    assert {"/sys/state", "/sys/still"} <= {item.key for item in before.evidence}
    assert "/sys/still" in {item.key for item in after.evidence}
    assert "/sys/state" not in {item.key for item in after.evidence}


def test_a_moment_that_is_left_early_is_not_called_judged() -> None:
    session = Session(ORIGIN, (), (), timeline=OpenedTimeline(frames(range(5000), START, 1000.0)))
    forward = ForwardPass(session)
    forward.near(1500)
    assert all(forward._scouting() for _ in range(200))
    assert not session.scouted_times
    forward.near(4000)
    while forward._scouting():
        pass
    early, late = session.scouted_times
    assert early == (1000.0 + 900 + KEEP, 1000.0 + 900 + 199)
    assert late == (1000.0 + 3400 + KEEP, 1000.0 + 4600)
    assert session.knows(2000.0, 2050.0)
    assert not session.knows(2000.0, 2150.0)
    assert not any(hasattr(scout, "_session") for scout in forward._scouted)
    forward.near(1500)  # it was not judged
    assert forward._scouting()
    forward.near(4100)  # it was
    assert forward._scouting()
    assert len(forward._scouted) == 2  # all of the early one is judged again


@pytest.mark.parametrize("name", ["part", "part.tar.gz"])
def test_a_capture_of_several_runs_keeps_them_apart(name: str, tmp_path: Path) -> None:
    once = Evidence("/sys/gone", data=b"1\n")
    record(
        tmp_path / "r", ORIGIN,
        frames(range(50), START, 1000.0, once),
        frames(range(50, 90), START + 600, 1600.0),
    )  # fmt: skip
    assert executed("unpack", tmp_path / "r", tmp_path / name).returncode == 0
    opened_again = open_capture(tmp_path / name)[1]
    assert [frame.number for frame in opened_again if frame.fresh] == [51]
    timeline = OpenedTimeline(opened_again)
    for index, known in ((49, True), (50, False), (51, False), (89, False)):
        (whole,) = timeline.recall(index, index + 1)
        assert ("/sys/gone" in {item.key for item in whole.evidence}) == known
    (last,) = between(opened_again, START + 639, START + 639)
    assert {item.key for item in last.evidence} == {"/proc/diskstats", "/sys/slow"}


def test_a_clock_that_jumps_loses_and_reorders_nothing(tmp_path: Path) -> None:
    given = []
    for place, frame in enumerate(frames(range(240), START, 1000.0)):
        jump = -3600.0 if 100 <= place < 170 else 7200.0 if place >= 170 else 0.0
        given.append(replace(frame, taken=frame.taken + jump))
    record(tmp_path / "r", ORIGIN, iter(given))
    timeline = all_of(tmp_path / "r")
    assert [(frame.number, frame.taken, frame.monotonic) for frame in timeline.frames] == [
        (frame.number, frame.taken, frame.monotonic) for frame in given
    ]
    assert timeline.starts == ()
    assert timeline.taken_by(START - 3600 + 120) == 120
    assert timeline.taken_by(START + 50) == 50  # the last frame by then, 169, showed a time 54 minutes before
    assert timeline.taken_by(START + 130) == 99  # in no frame's time: the nearest one before it
    assert timeline.taken_by(START + 7200 + 200) == 200
    kept = Session(ORIGIN, (), (), timeline=timeline)
    kept.feed_all(timeline.frame(index) for index in range(len(timeline)))
    assert kept.ran_back == pytest.approx(3600.0, abs=2.0)


def test_redacted_frames_of_a_recording_are_held_for_a_quarter_of_an_hour(tmp_path: Path) -> None:
    origin, story = opened("clone-convoy")
    origin = Origin("store7", privileged=True, collectors=origin.collectors)
    record(tmp_path / "r", origin, day(story, START, incident=1.0, hours=2.0, every=60.0))
    timeline = all_of(tmp_path / "r")
    watch = Watch(origin, BUILTIN, Config(), 1.0, recorded=timeline)
    watch.redact(redactor("", origin.collectors))
    session = watch.session(None)
    session.feed_all(watch.frames(0.0))
    assert session.frames_seen == len(timeline)
    assert session.timeline.frames[-1].monotonic - session.timeline.frames[0].monotonic <= RING_SECONDS
    assert any(episode.finding.rule == "stripe-convoy" for episode in session.episodes())


def test_few_blocks_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.recordings.blocks._MOST_BYTES", 5 << 16)
    large = (Evidence("/sys/large", data=bytes(1 << 16)),)
    record(tmp_path / "r", ORIGIN, *(frames(range(3), START + run * 10, 1000.0 + 10 * run, *large) for run in range(9)))
    timeline = all_of(tmp_path / "r")
    for index in range(len(timeline)):
        assert timeline.frame(index).evidence
        assert timeline._blocks.size < 6 << 16


@pytest.mark.parametrize(("number", "index"), [(90, 7), (20, 7), (7, 90), (7, 20)])
def test_a_jump_into_a_first_block_reads_what_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, index: int
) -> None:
    attributes = [Evidence(f"/sys/block/sd{disk}/size", data=b"%d\n" % disk) for disk in range(500)]
    record(tmp_path / "r", ORIGIN, frames(range(100), START, 1000.0, *attributes))
    timeline, read = all_of(tmp_path / "r"), list[str]()
    near = OpenBlock._near

    def counted(self: OpenBlock, key: str, index: int, **asked: bool) -> tuple[Evidence | None, Evidence | None]:
        read.append(key)
        return near(self, key, index, **asked)

    monkeypatch.setattr(OpenBlock, "_near", counted)
    moved = timeline.moved(number, index)
    assert moved is not None
    assert {item.key for item in moved.then.evidence} >= {"/proc/diskstats"}
    assert len(read) < 20


@pytest.mark.parametrize("read", [(), (5, 40), (190, 5)], ids=["unread", "read before", "read later first"])
def test_frames_that_are_dropped_while_it_is_open_are_not_those_of_later(tmp_path: Path, read: Sequence[int]) -> None:
    given = list(frames(range(500), START, 1000.0, Evidence("/sys/once", data=b"1\n")))
    with RecordingWriter(tmp_path / "r", ORIGIN, RecordingLimits(90.0)) as writer:
        for each in given[:80]:
            writer.add(each)
        timeline = all_of(tmp_path / "r")
        assert len(timeline) == 62
        for index in (each for each in read if each < 62):
            assert timeline.recall(index, index + 1)[0].evidence
        for each in given[80:130]:
            writer.add(each)
        (first_left,) = [index for index in range(1, 62) if timeline._is_first_left(index)]
        assert first_left == 31
        for index in (0, 20, 30):
            (frame,) = timeline.recall(index, index + 1)
            assert (frame.evidence, frame.ran, frame.taken) == ((), {}, given[index].taken)
            assert timeline.moved(timeline.frames[40].number, index) is None
        whole = {item.key: item.data for item in timeline.frame(31).evidence}  # later frames need what is known
        assert whole == {"/proc/diskstats": b"8 0 sda 31\n", "/sys/slow": b"0\n", "/sys/once": b"1\n"}
        assert timeline.frame(32) == given[32]
        for each in given[130:]:
            writer.add(each)
        assert all(not timeline.recall(index, index + 1)[0].evidence for index in range(62))


def test_a_damaged_block_is_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "r"
    record(path, ORIGIN, frames(range(95), START, 1000.0))
    store = sqlite3.connect(path)
    store.execute("UPDATE block SET data = x'00' WHERE id = 2")
    store.commit()
    store.close()
    timeline = all_of(path)
    assert len(timeline) == 95
    assert timeline.frame(30).evidence
    assert timeline.frame(40).evidence == ()
    assert timeline.frame(40).ran == {}
    assert timeline.frame(70).evidence
    alone = all_of(path)
    assert (alone.single(40).evidence, alone.single(40).ran) == ((), {})
    after = next(index for index in range(41, 95) if timeline.frame(index).evidence)
    assert alone.single(after) == timeline.frame(after)
    assert alone.single(after).fresh
    times = [frame.monotonic for frame in timeline.frames]
    assert times == sorted(times)
    assert timeline.recording.notes


def judged(origin: Origin, timeline: Timeline | None, given: Sequence[Frame] = ()) -> Session:
    """Return a session whose frames were judged as a report does, or by the forward pass."""
    session = Session(origin, BUILTIN, RULES, timeline=timeline)
    if timeline is None:
        session.feed_all(given)
    else:
        forward = ForwardPass(session)
        forward.start()
        assert forward.join(60.0)
        assert forward.take() == 1.0
    return session


@pytest.mark.parametrize("stored", [False, True], ids=["capture", "recording"])
def test_the_end_is_judged_first_and_everything_becomes_the_report(stored: bool, tmp_path: Path) -> None:  # noqa: FBT001
    origin, story = opened("clone-convoy")
    given = list(day(story, START, incident=0.02, hours=0.06))
    origin = Origin("store1", privileged=True, collectors=origin.collectors)
    timeline: Timeline = OpenedTimeline(given)
    if stored:
        record(tmp_path / "r", origin, iter(given))
        timeline = all_of(tmp_path / "r")
        given = [timeline.frame(index) for index in range(len(given))]
    session = Session(origin, BUILTIN, RULES, timeline=timeline)
    lookback = Lookback(session)
    first = lookback.at(len(given) - 1)
    assert first.provisional
    assert not session.is_judged
    assert session.frames_seen == 0
    middle = lookback.at(60)
    assert middle.provisional
    expected = judged(origin, None, given)
    whole = judged(origin, timeline)
    assert whole.is_judged
    assert to_json(document(whole)) == to_json(document(expected))
    lookback = Lookback(whole)
    assert not lookback.at(len(given) - 1).provisional
    assert lookback.at(60).judgement.findings == middle.judgement.findings
    assert expected.episodes()


def test_a_finding_ends_where_the_recorder_did(tmp_path: Path) -> None:
    origin, story = opened("clone-convoy")
    origin = Origin("store1", privileged=True, collectors=origin.collectors)
    record(
        tmp_path / "r", origin,
        iter(story), day(story[:1], story[-1].taken + 9000, incident=0.0, hours=0.01),
    )  # fmt: skip
    timeline = all_of(tmp_path / "r")
    session = judged(origin, timeline)
    convoy = next(each for each in session.episodes() if each.finding.rule == "stripe-convoy")
    assert convoy.until == pytest.approx(story[-1].taken)
    assert Lookback(session).at(len(story) + 1).window.snapshots[0].number == len(story) + 1
