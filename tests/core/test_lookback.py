"""States of frames other than the newest one: judged again, made ahead, and at a glance."""

from __future__ import annotations

from typing import Any

import pytest

from sdstop.analysis.members import peer_groups
from sdstop.analysis.members.judged_group import JudgedGroup
from sdstop.collectors import BUILTIN
from sdstop.core.guard import Superseded
from sdstop.core.headline import UNKNOWN
from sdstop.core.lookback import NOT_JUDGED, Lookback
from sdstop.core.opened_timeline import OpenedTimeline
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.core.snapshots import snapshot_content
from tests.fixtures import opened
from tests.nodes.block import Node
from tests.tui.rules import begun_between


def _lookback(judged: int, monkeypatch: pytest.MonkeyPatch) -> Lookback:
    monkeypatch.setattr("sdstop.core.lookback._QUICK", -1.0)
    node = Node().session(0).origin
    given = Session(node, BUILTIN, [begun_between(140, 150)], timeline=OpenedTimeline(Node().frames(300)))
    given.feed_all(given.timeline.frame(index) for index in range(judged))
    return Lookback(given)


def test_a_glance_has_the_readings_of_the_frame_and_the_findings_that_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lookback = _lookback(300, monkeypatch)
    for index in (145, 100, 147, 200, 148):
        glance = lookback.glance(index)
        assert glance is not None
        look = lookback.at(index)
        assert glance.is_glance
        assert not look.is_glance
        assert snapshot_content(glance.now)[1] == snapshot_content(look.now)[1]  # type: ignore[index]
        assert [f.id for f in glance.judgement.findings] == [f.id for f in look.judgement.findings]
        assert {each.reason for each in glance.judgement.unchecked} == {NOT_JUDGED}
        assert not glance.judgement.ruled_out


def test_a_glance_is_never_good(monkeypatch: pytest.MonkeyPatch) -> None:
    lookback = _lookback(300, monkeypatch)
    lookback.at(50)
    glance = lookback.glance(200)
    assert glance is not None
    assert not glance.judgement.findings
    assert lookback.session.headline(glance.judgement, glance).code == UNKNOWN
    assert len(glance.window.snapshots) == 2


def test_a_glance_made_ahead_is_that_of_its_frame_until_a_finding_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    lookback = _lookback(300, monkeypatch)
    lookback.at(50)
    assert lookback.foreseen(145) is None
    made, now = lookback.foresee(145), lookback.glance(145)
    found = lookback.foreseen(145)
    assert made is not None
    assert now is not None
    assert found is not None
    assert found.is_glance
    assert (found.index, found.judgement, snapshot_content(found.now)) == (
        145,
        now.judgement,
        snapshot_content(now.now),
    )
    assert [f.id for f in found.judgement.findings] == ["odd:node"]
    assert lookback.foreseen(144) is None
    lookback.session.diagnosis.episodes.clear()
    lookback.session.diagnosis.past.clear()
    assert lookback.foreseen(145) is None, "its findings are not those that are known now"


def test_a_glance_made_ahead_is_forgotten_when_its_frame_has_been_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    lookback = _lookback(150, monkeypatch)
    lookback.at(50)
    made = lookback.foresee(200)
    assert made is not None
    assert made.provisional
    assert lookback.foreseen(200) is not None
    lookback.session.feed_all(lookback.session.timeline.frame(index) for index in range(150, 202))
    assert lookback.foreseen(200) is None


def test_a_glance_at_frames_that_are_not_judged_knows_no_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    lookback = _lookback(10, monkeypatch)
    glance = lookback.glance(145)
    assert glance is not None
    assert glance.provisional
    assert not glance.judgement.findings
    assert lookback.at(145).judgement.findings


def test_a_frame_judged_ahead_is_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lookback = _lookback(10, monkeypatch)
    lookback.at(145)
    lookback.prepare(146, lambda: False)
    lookback.prepare(-1, lambda: False)
    lookback.prepare(len(lookback.session.timeline.frames), lambda: False)
    assert lookback.glance(146) is None  # it takes no time
    ready = lookback.at(146)
    assert ready.provisional
    assert lookback.at(146).judgement is ready.judgement
    lookback.at(280)
    assert lookback.ready(146) is None  # samples of a place that was left are released
    lookback.session.feed_all(lookback.session.timeline.frame(index) for index in range(10, 300))
    assert not lookback.at(146).provisional  # what came before it is known now
    lookback._last = None
    with pytest.raises(Superseded):
        lookback.prepare(60, lambda: True)


def test_a_judgement_is_given_up_between_two_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    judged, judge = list[object](), peer_groups._judge

    def counted(*given: Any) -> JudgedGroup:
        judged.append(given)
        return judge(*given)

    monkeypatch.setattr(peer_groups, "_judge", counted)
    origin, frames = opened("draid-one-dimm")
    whole = Lookback(Session(origin, BUILTIN, RULES, timeline=OpenedTimeline(frames))).at(len(frames) - 1).judgement
    groups = len(judged)
    assert groups > 1
    judged.clear()
    session = Session(origin, BUILTIN, RULES, timeline=OpenedTimeline(frames))
    lookback = Lookback(session)
    with pytest.raises(Superseded):
        lookback.at(len(frames) - 1, lambda: bool(judged))
    assert len(judged) == 1
    assert not session.guard.counts, "it is no fault of a rule"
    again = lookback.at(len(frames) - 1).judgement
    assert again.findings == whole.findings
    assert set(again.ruled_out) == set(whole.ruled_out)
    assert set(again.unchecked) == set(whole.unchecked)


def test_every_rule_can_be_glanced_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.core.lookback._QUICK", -1.0)
    origin, frames = opened("clone-convoy")
    given = Session(origin, BUILTIN, RULES, timeline=OpenedTimeline(frames))
    given.feed_all(frames)
    lookback = Lookback(given)
    glance = lookback.glance(len(frames) - 3)
    assert glance is not None
    assert [f.id for f in glance.judgement.findings] == [f.id for f in lookback.at(len(frames) - 3).judgement.findings]
