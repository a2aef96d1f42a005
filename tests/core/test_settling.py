"""Evidence of a live node moves to buffers, and nothing that is read or judged shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core import known as known_module
from sdstop.core import settling, sheaf
from sdstop.core.collector import LIVE
from sdstop.core.evidence import Evidence, Frame, Origin, RunMark
from sdstop.core.known import KEPT, Known
from sdstop.core.lookback import Lookback
from sdstop.core.session import Session
from sdstop.core.sheaf import Sheaf
from sdstop.rules import RULES
from tests.core.snapshots import snapshot_content
from tests.fixtures import opened


def _frames(count: int) -> Iterator[Frame]:
    """Yield frames of a node that goes on after its capture, with an attribute that changes now and then."""
    _, recorded = opened("clone-convoy")
    for number in range(count):
        frame = recorded[min(number, len(recorded) - 1)]
        later = max(number - len(recorded) + 1, 0)
        items: Sequence[Evidence] = frame.evidence
        if number % 7 == 3:
            items = (*items, Evidence("/sys/block/sda/queue/nr_requests", data=b"%d\n" % (64 + number)))
        yield replace(
            frame, number=number + 1, taken=frame.taken + later, monotonic=frame.monotonic + later, evidence=items
        )


def _session(seconds: float) -> Session:
    return Session(Origin("node", live=True), BUILTIN, RULES, remember=seconds)


@pytest.mark.parametrize("seconds", [0.0, 40.0, 900.0])
def test_what_moved_is_read_and_judged_as_before(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    moving = _session(seconds)
    frames = list(_frames(100))
    looks = [moving.feed(frame) for frame in frames]
    known = moving._replay.host.state
    assert isinstance(known, Known)
    assert len(known._own) < len(known) / 2

    monkeypatch.setattr(settling, "MANY", 1 << 30)
    staying = _session(seconds)
    for frame, look in zip(frames, looks, strict=True):
        other = staying.feed(frame)
        assert look.judgement == other.judgement
        assert look.now.runs.keys() == other.now.runs.keys()
    assert dict(known.items()) == dict(staying._replay.host.state.items())
    count = len(staying.timeline.frames)
    assert [frame.number for frame in moving.timeline.frames] == [frame.number for frame in staying.timeline.frames]
    for index in {0, count // 2, count - 1}:
        mine, theirs = moving.timeline.recall(index, count), staying.timeline.recall(index, count)
        assert {item.key: item for item in mine[0].evidence} == {item.key: item for item in theirs[0].evidence}
        assert [tuple(frame.evidence) for frame in mine[1:]] == [tuple(frame.evidence) for frame in theirs[1:]]
        for key in ("/sys/block/sda/queue/nr_requests", "/sys/block/sda/size", "/proc/diskstats", "/none"):
            assert moving.timeline.read_at(index, key) == staying.timeline.read_at(index, key)


def test_frames_of_the_ring_are_in_buffers_until_they_are_dropped() -> None:
    session = _session(60.0)
    frames = list(_frames(140))
    for frame in frames[:45]:
        session.feed(frame)
    first = session.timeline.frames[0].evidence
    assert isinstance(first, Sheaf)
    assert tuple(session.timeline.frame(0).evidence) == tuple(frames[0].evidence)
    assert first.size < sum(len(item.data) for item in frames[0].evidence)
    for frame in frames[45:]:
        session.feed(frame)
    assert not any(isinstance(frame.evidence, Sheaf) for frame in session.timeline.frames)
    base = session.timeline.base
    assert len(base._own) < len(base) / 2


def test_a_node_whose_sources_are_all_read_again_leaves_no_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheaf, "TOGETHER", 16)
    monkeypatch.setattr(known_module, "_MOST_ASKED", 200)
    session = _session(900.0)
    frames = list(_frames(150))
    for frame in frames[:80]:
        session.feed(frame)
    known = session._replay.host.state
    assert isinstance(known, Known)
    objects, buffers = len(known._own), len(known._buffers)
    assert buffers > 5
    for number, frame in enumerate(frames[80:]):
        if number % 5 == 0:
            session._replay._changed = {collector.name for collector in BUILTIN}
        ran = {collector.name: RunMark(frame.monotonic, 0.01) for collector in BUILTIN}
        session.feed(replace(frame, ran=ran))
        assert len(known._lent) <= KEPT
    assert len(known._own) <= objects


@pytest.mark.parametrize("marked", [False, True])
def test_earlier_states_of_a_live_node_are_made_of_the_newest_one(
    *, marked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are those of a replay that begins there, and their evidence is in the same buffers."""
    session = _session(900.0)
    for frame in _frames(120):
        some = [c for c in BUILTIN if c.pace <= LIVE or frame.number % 30 == 1]
        ran = {collector.name: RunMark(frame.monotonic, 0.01) for collector in some}
        session.feed(replace(frame, ran=ran) if marked else frame)
    newest = session.newest_replay
    near, alone = Lookback(session), Lookback(session)
    for index in (118, 117, 20, 21, 90, 2, 0):
        monkeypatch.setattr(session, "newest_replay", newest)
        look, host = near.at(index), near._host(index)()
        monkeypatch.setattr(session, "newest_replay", lambda: None)
        other, read = alone.at(index), alone._host(index)()
        assert look.judgement == other.judgement
        assert snapshot_content(look.now) == snapshot_content(other.now)
        assert dict(host.state.items()) == dict(read.state.items())
        assert (host.denied, sorted(host.spoken())) == (read.denied, sorted(read.spoken()))
        for key in ("/sys/block/sda/size", "/sys/block/sda/queue/nr_requests", "/proc/diskstats", "/none"):
            assert host.evidence(key) == read.evidence(key)
        if index > 2:
            assert isinstance(host.state, Known)
            assert len(host.state._own) < len(host.state) / 2
        if index == 20:
            assert near._last is not None
            assert isinstance(near._last.replay.host.state, Known)
    assert session.timeline._read
    near.release()
    assert near._last is None
    assert not session.timeline._read
    assert not near._ahead
