"""A replay that moves to another moment is as one that begins there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from sdstop.capture.reader import open_recording
from sdstop.collectors import BUILTIN
from sdstop.collectors.md.readings import Member
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, RunMark
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.known import Known
from sdstop.core.opened_timeline import OpenedTimeline
from sdstop.core.period import Period
from sdstop.core.replay import Replay
from sdstop.core.sheaf import bound
from sdstop.core.timeline import WORTH_PACKING, Timeline
from sdstop.readings.rebuild import MDSTAT
from tests.core.snapshots import snapshot_content
from tests.days import record
from tests.fixtures import opened
from tests.nodes.block import Node, raid10

Make = Callable[[Sequence[Frame], Origin, Path], Timeline]


def _live(frames: Sequence[Frame], _origin: Origin, _path: Path) -> Timeline:
    timeline = Timeline(1000.0)
    for frame in frames:
        timeline.append(frame)
    return timeline


def _settled(frames: Sequence[Frame], origin: Origin, path: Path) -> Timeline:
    """Make a live timeline of which half of the frames are in buffers."""
    timeline = _live(frames, origin, path)
    for frame in frames[::2]:
        small = {place: item for place, item in enumerate(frame.evidence) if len(item.data) < WORTH_PACKING}
        timeline.sheave(frame.number, list(bound(list(small.values()))), frozenset(small))
    return timeline


def _opened(frames: Sequence[Frame], _origin: Origin, _path: Path) -> Timeline:
    return OpenedTimeline(frames)


def _stored(frames: Sequence[Frame], origin: Origin, path: Path) -> Timeline:
    record(path / "r.sdstop", origin, iter(frames))
    return open_recording(path / "r.sdstop", Period(), float("inf"))[1]


def _mixed(frames: Sequence[Frame]) -> list[Frame]:
    """Return the frames with pieces that appear, change, are denied and vanish."""
    chance, found = Random(1), list(frames)
    for index, frame in enumerate(frames[1:], 1):
        key = chance.choice(["/proc/mdstat", "/sys/block/sdq/size", "/sys/block/sdq/queue/rotational", "/proc/swaps"])
        item = chance.choice([Evidence(key, data=b"%d\n" % index), Evidence(key, Outcome.DENIED, detail="denied")])
        others = tuple(each for each in frame.evidence if each.key != key)
        found[index] = replace(frame, evidence=(*others, item) if chance.random() < 0.3 else frame.evidence)
    return found


class Fresh(NamedTuple):
    """A replay that begins with one frame and goes on with the next: what both say, and its evidence in between."""

    before: Frame
    frame: Frame
    first: object
    state: dict[str, Evidence]
    second: object


_LARGER = ("draid-one-dimm", "scaleio-4node")


def _fresh(before: Frame, frame: Frame, known: frozenset[str] | None) -> Fresh:
    replay = Replay(BUILTIN, known=known)
    first = snapshot_content(replay.feed(before))
    state = dict(replay.host.state)
    return Fresh(before, frame, first, state, snapshot_content(replay.feed(frame)))


@pytest.mark.parametrize(
    ("name", "mixed"),
    [
        ("aoe-flashcache", True),
        ("clone-convoy", False),
        *(pytest.param(name, mixed, marks=pytest.mark.slow) for name in _LARGER for mixed in (False, True)),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("aoe-flashcache", False), ("clone-convoy", True))),
    ],
)
def test_a_moved_replay_is_as_one_that_begins_there(mixed: bool, name: str, tmp_path: Path) -> None:  # noqa: FBT001
    origin, recorded = opened(name)
    frames = _mixed(recorded) if mixed else list(recorded)
    begun: dict[int, Fresh] = {}
    for make in (_live, _settled, _opened, _stored):
        timeline = make(frames, origin, tmp_path)
        chance, count = Random(2), len(timeline.frames)
        known = Known() if make is _settled else None
        replay = Replay(BUILTIN, EvidenceHost(state=known), known=origin.collectors)
        beginning = timeline.recall(0, 1)[0]
        replay.feed(beginning)
        if known is not None:
            for buffer, pieces in bound(beginning.evidence):
                known.adopt(buffer, pieces)
        number = timeline.frames[0].number
        for index in (count - 1, 1, *(chance.randrange(1, count) for _ in range(12))):
            case = f"{make.__name__}, from number {number} to index {index}"
            moved = timeline.moved(number, index)
            assert moved is not None, case
            replay, then = replay.moved(moved.then, moved.gone)
            before, frame = timeline.recall(index - 1, index + 1)
            expected = begun.get(index)
            if expected is None or (expected.before, expected.frame) != (before, frame):
                expected = begun[index] = _fresh(before, frame, origin.collectors)
            assert dict(replay.host.state.items()) == expected.state, case
            assert snapshot_content(then) == expected.first, case
            assert moved.frame.ran == frame.ran, case
            assert snapshot_content(replay.feed(moved.frame)) == expected.second, case
            number = timeline.frames[index].number


def test_there_is_no_way_across_runs_of_a_recorder(tmp_path: Path) -> None:
    origin, recorded = opened("clone-convoy")
    later = [replace(frame, taken=frame.taken + 3600) for frame in recorded]
    record(tmp_path / "r", origin, iter(recorded), iter(later))
    timeline = open_recording(tmp_path / "r", Period(), float("inf"))[1]
    count = len(recorded)
    assert timeline.moved(1, count - 1) is not None
    assert timeline.moved(1, count) is None
    assert timeline.moved(1, count + 3) is None
    assert timeline.moved(count + 3, count + 1) is not None
    assert timeline.moved(99_999, 3) is None
    assert timeline.moved(1, 0) is None


_RESYNC = "[==>....]  resync = 63.2% (81920/129024) finish=0.5min speed=1421K/sec"


_BEGAN = raid10("md0", ("sda", "sdb"), progress=_RESYNC)


def _mdstat(text: str) -> Evidence:
    return Evidence(MDSTAT, data=text.encode(), taken=1.0)


@pytest.mark.parametrize(
    ("item", "is_kept"),
    [
        (_mdstat(_BEGAN.replace("81920", "90000")), True),
        (_mdstat(raid10("md0", ("sda", "sdb"))), True),
        (_mdstat(_BEGAN.replace("sdb[1]", "sdb[1](F)")), False),
        (_mdstat(_BEGAN.replace("[UU]", "[U_]")), False),
        (_mdstat(raid10("md0", ("sda", "sdc"), progress=_RESYNC)), False),
        (_mdstat(raid10("md1", ("sda", "sdb"), progress=_RESYNC)), False),
        (_mdstat("nothing of mdstat\n"), False),
        (_mdstat(""), False),
        (replace(_mdstat(_BEGAN), fault="cut"), False),
        (Evidence(MDSTAT, Outcome.DENIED, detail="needs root"), False),
        (Evidence(MDSTAT, Outcome.ABSENT), False),
    ],
)
def test_rows_are_kept_while_the_part_that_they_follow_from_is_equal(item: Evidence, is_kept: bool) -> None:  # noqa: FBT001
    """Whether they are kept or not, the state is that of a replay that begins there."""
    began, later = (dict.fromkeys((c.name for c in BUILTIN), RunMark(at, 0.01)) for at in (1000.0, 1001.0))
    first = replace(Node(mdstat=_BEGAN).frames(0)[0], ran=began)
    second = replace(first, number=2, taken=first.taken + 1, monotonic=1001.0, evidence=(item,), ran=later)
    others = (each for each in first.evidence if each.key != MDSTAT)
    expected = Replay(BUILTIN).feed(replace(second, evidence=(*others, item))).runs["mdmembers"]
    replay = Replay(BUILTIN)
    before = replay.feed(first).runs["mdmembers"]
    for found in (replay.moved(second, ())[1], replay.feed(second)):
        run = found.runs["mdmembers"]
        for field in ("outcome", "reason", "keys", "defects", "tables", "started", "taken", "recorded"):
            assert getattr(run, field) == getattr(expected, field), field
        assert (run.tables.get(Member) is before.tables[Member]) is is_kept
