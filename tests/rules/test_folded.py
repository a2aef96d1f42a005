"""Disks behind one HBA that stop one after the other: single findings, then one, then single ones again."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import Frame, Origin
from sdstop.core.finding import Finding
from sdstop.core.lookback import Lookback
from sdstop.core.session import Session
from sdstop.rules.disks.device_hung import DEVICE_HUNG
from sdstop.rules.fabric.phy_errors import PHY_ERRORS
from tests.nodes.block import disk_name
from tests.nodes.frames import START, frames
from tests.nodes.hba import Card, files

_COUNT = 12
_NAMES = tuple(disk_name(n) for n in range(_COUNT))
_HANGS = {name: 2 + 2 * n for n, name in enumerate(_NAMES[:8])}
"""Second in which each disk stops; it is found 10 s later."""
_BACK = dict.fromkeys(_NAMES[:3], 34) | dict.fromkeys(_NAMES[3:6], 40) | {"sdg": 50, "sdh": 50}
"""Second in which each works again."""
_FOLD = "device-hung:expander-130:0"


def _row(number: int, name: str, second: int) -> str:
    hangs, back = _HANGS.get(name, 1000), _BACK.get(name, 1000)
    stopped = hangs <= second < back
    done = 10 * (hangs if stopped else second)
    return f"   8 {16 * number:7} {name} {done} 0 {done * 8} {done} 0 0 0 0 {3 if stopped else 0} 1 1 0 0 0 0 0 0\n"


def _frames() -> list[Frame]:
    card = files(Card(disks=_NAMES, rotates=False))
    return frames([
        (float(t), card | {"/proc/diskstats": "".join(_row(n, name, t) for n, name in enumerate(_NAMES))})
        for t in range(62)
    ])  # fmt: skip


@functools.cache
def _run() -> tuple[Session, Mapping[int, tuple[str, ...]], Mapping[int, Mapping[str, Episode]]]:
    """Return the session at the end, and after each second the findings and the active episodes."""
    session = Session(Origin("node"), BUILTIN, [DEVICE_HUNG])
    found, active = {}, {}
    for second, frame in enumerate(_frames()):
        found[second] = tuple(finding.id for finding in session.feed(frame).judgement.findings)
        active[second] = {e.finding.id: e for e in session.episodes() if e.until is None}
    return session, found, active


def _single(*names: str) -> set[str]:
    return {f"device-hung:{name}" for name in names}


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (11, set()),
        (12, _single("sda")),
        (20, _single(*_NAMES[:5])),
        (22, {_FOLD}),  # six of twelve
        (33, {_FOLD}),  # eight
        (39, {_FOLD}),  # five, which would be single ones otherwise
        (41, _single("sdg", "sdh")),  # fewer than a third
        (51, set()),
    ],
)
def test_findings_fold_at_half_and_unfold_below_a_third(second: int, expected: set[str]) -> None:
    _, found, _ = _run()
    assert set(found[second]) == expected


def test_the_time_is_that_of_the_first_member_and_members_keep_theirs() -> None:
    _, _, active = _run()
    assert active[39][_FOLD].since == active[12]["device-hung:sda"].since == START + 2
    assert active[21]["device-hung:sde"].since == START + 10
    assert set(active[22]) == {_FOLD}
    assert {key: episode.since - START for key, episode in active[45].items()} == {
        "device-hung:sdg": 14, "device-hung:sdh": 16
    }  # fmt: skip


def test_it_began_when_the_disks_stopped_and_was_found_ten_seconds_later() -> None:
    session, _, active = _run()
    assert (active[12]["device-hung:sda"].found - active[12]["device-hung:sda"].began) == 10
    assert active[22][_FOLD].lasted(22) == 20
    began = {e.finding.id: e for e in session.episodes(11.0)}
    assert began == {}  # time travel to a frame before it was reported
    assert set(session.diagnosis.episodes) == {_FOLD, *_single("sdg", "sdh")}


def _numbers(finding: Finding) -> dict[str, object]:
    return {v.name: v.value for v in finding.values if v.name != "example"}


def test_an_active_fold_has_its_newest_count_and_the_largest_beside_it() -> None:
    session, _, active = _run()
    assert {second: len(active[second][_FOLD].finding.members) for second in (22, 29, 33, 39)} == {
        22: 6, 29: 8, 33: 8, 39: 5
    }  # fmt: skip
    assert _numbers(active[33][_FOLD].finding) == {"affected": 8, "all": 12, "worst": 8}
    assert _numbers(active[39][_FOLD].finding) == {"affected": 5, "all": 12, "worst": 5, "most": 8}
    assert active[39][_FOLD].frame > active[33][_FOLD].frame
    [past] = [e for e in session.episodes() if e.finding.id == _FOLD]
    assert (len(past.finding.members), past.finding.summary[:12]) == (8, "8 of 12 disk")  # over: at its largest
    assert "most" not in {v.name for v in past.finding.values}


def test_the_past_has_the_fold_once_and_no_member_of_it() -> None:
    session, _, _ = _run()
    past = {e.finding.id: (e.since - START, (e.until or 0) - START) for e in session.episodes()}
    assert past == {_FOLD: (2, 40), "device-hung:sdg": (14, 50), "device-hung:sdh": (16, 50)}


def test_a_frame_looked_at_again_is_judged_as_it_was() -> None:
    """At second 39 five of twelve are folded only because more were before."""
    session, found, _ = _run()
    lookback = Lookback(session)
    for second in (41, 22, 39, 20, 21, 50, 40):
        assert tuple(finding.id for finding in lookback.at(second).judgement.findings) == found[second]


def test_a_copy_of_the_session_folds_alike() -> None:
    session, found, _ = _run()
    assert tuple(each.id for each in Lookback(session.still()).at(30).judgement.findings) == found[30]


def test_a_rule_that_a_late_frame_does_not_reach_keeps_its_fold() -> None:
    session = Session(Origin("node"), BUILTIN, [PHY_ERRORS, DEVICE_HUNG])
    *before, late = _frames()[:40]
    session.feed_all(before)
    session.budget = 0.0
    judgement = session.feed(late).judgement
    assert [each.reason for each in judgement.unchecked if each.rule == "device-hung"] == ["no time in this frame"]
    [fold] = judgement.findings
    assert (fold.id, len(fold.members)) == (_FOLD, 5)


def test_without_folding_each_finding_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[Finding]:
        raise ZeroDivisionError

    monkeypatch.setattr("sdstop.core.judgement.folded", broken)
    session = Session(Origin("node"), BUILTIN, [DEVICE_HUNG])
    session.feed_all(_frames()[:34])
    assert {each.id for each in session.head().judgement.findings} == _single(*_HANGS)
    assert sum(session.guard.counts.values())
