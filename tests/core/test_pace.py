"""Sessions that judge at a pace: numbers wait, changes do not, and a judgement is that of judging every frame."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.diagnosis import BRIDGE
from sdstop.core.evidence import Origin, Outcome
from sdstop.core.finding import Finding, Severity
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule
from sdstop.core.session import Look, Session
from sdstop.rules import RULES
from tests.core.meters import Meter, Reader, collector, frame
from tests.fixtures import each_of, names, opened, sampled

PACE = 4.0


def _check(window: Window, limits: Limits) -> Iterator[Finding]:
    del limits
    for row in window.rows(Meter).values():
        if row.count % 2:
            yield Finding(severity=Severity.WARNING, subject=row.name, cause=f"is {row.count}")


ODD = Rule("odd", "meters", Severity.WARNING, _check, (Meter,))


def paced() -> Session:
    made = Session(Origin("n", live=True), [collector(Reader())], (ODD,), remember=0.0)
    made.judge_every(PACE)
    return made


def test_numbers_wait_and_are_shown() -> None:
    given, heard = paced(), list[Look]()
    given.listeners.append(heard.append)
    looks = [given.feed(frame(n, n)) for n in range(1, 13)]
    assert [look.now.number for look in looks] == list(range(1, 13))
    assert [look.held is None for look in looks] == [n in {1, 2, 6, 10} for n in range(1, 13)]  # 2: the first rates
    assert [look.judged for look in looks] == [1, 2, 2, 2, 2, 6, 6, 6, 6, 10, 10, 10]
    assert heard == looks
    assert [len(look.judgement.findings) for look in looks] == [1, *[0] * 11]
    assert given.latest is looks[-1]


def test_jitter_does_not_delay_a_judgement_by_a_frame() -> None:
    given = paced()
    times = [1.0, 2.0, 3.0, 4.1, 5.05, 5.98, 7.0, 8.0, 9.0, 9.9]
    looks = [given.feed(frame(n, n, at=at)) for n, at in enumerate(times, 1)]
    assert [look.now.number for look in looks if look.held is None] == [1, 2, 6, 10]


@pytest.mark.parametrize("interval", [4.0, 5.0, 60.0])
def test_slower_samples_are_all_judged(interval: float) -> None:
    given = paced()
    looks = [given.feed(frame(n, n, at=n * interval)) for n in range(1, 8)]
    assert all(look.held is None for look in looks)


def test_a_source_that_fails_is_judged_at_once() -> None:
    given = paced()
    for n in range(1, 4):
        given.feed(frame(n, 1))
    failed = given.feed(frame(4, 1, outcome=Outcome.FAILED))
    assert failed.held is None
    assert failed.judgement.findings == ()
    assert given.feed(frame(5, 1, outcome=Outcome.FAILED)).held == 4.0
    assert given.feed(frame(6, 1)).judgement.findings


def test_rules_without_time_are_judged_with_the_next_sample() -> None:
    given = paced()
    given.rules = given.diagnosis.rules = (ODD, replace(ODD, id="odd-too"))
    given.budget = 0.0
    looks = [given.feed(frame(n, 1)) for n in range(1, 6)]
    assert all(look.held is None for look in looks)


def test_a_clock_that_went_back_is_no_reason_to_wait() -> None:
    given = paced()
    for n in range(1, 4):
        given.feed(frame(n, 1, at=1000.0 + n))
    assert given.feed(frame(4, 1, at=5.0)).held is None


def test_a_finding_that_lacks_in_one_judgement_goes_on() -> None:
    assert 2 * PACE + 1 < BRIDGE
    given = paced()
    for n in range(1, 40):
        given.feed(frame(n, 1 if n % 8 < 4 else 2))
    (episode,) = given.episodes()
    assert episode.found == 1.0


@each_of(sampled(names(), 20, 7))
def test_a_judgement_is_that_of_a_session_that_judges_every_sample(name: str) -> None:
    origin, frames = opened(name)
    origin = replace(origin, live=True)
    every, some = (Session(origin, BUILTIN, RULES) for _ in range(2))
    some.judge_every(PACE)
    for each in frames:
        whole, held = every.feed(each), some.feed(each)
        assert held.now.monotonic - held.judged < PACE - 0.5
        assert held.now.runs.keys() == whole.now.runs.keys()
        if held.held is None:
            found, known = held.judgement, whole.judgement
            assert list(map(_said, found.findings)) == list(map(_said, known.findings))
            assert (found.ruled_out, found.unchecked, found.ran) == (known.ruled_out, known.unchecked, known.ran)


def _said(finding: Finding) -> Finding:
    """Return a finding without the frames that it quotes: the same line is quoted from the first frame that has it."""
    return replace(finding, evidence=tuple(replace(cite, frame=0) for cite in finding.evidence))
