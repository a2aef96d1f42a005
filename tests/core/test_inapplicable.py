"""Rules without data: their results are kept, and dropped as soon as one of their sources changes."""

from __future__ import annotations

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome
from sdstop.core.finding import Finding, Severity
from sdstop.core.history import Window
from sdstop.core.policy import Policy, RulePolicy
from sdstop.core.rule import Limits, Rule
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.core.meters import Meter, frame, session


def _check(window: Window, limits: Limits) -> list[Finding]:
    del limits
    return [
        Finding(severity=Severity.WARNING, subject=row.name, cause="is there") for row in window.rows(Meter).values()
    ]


METERED = Rule("metered", "meters", Severity.WARNING, _check, (Meter,))


def _without(number: int, outcome: Outcome = Outcome.ABSENT, detail: str = "no such file") -> Frame:
    return Frame(number, 1000.0 + number, float(number), (Evidence("/m", outcome, detail=detail),))


def test_what_appears_later_is_judged_at_once() -> None:
    given = session((METERED,))
    given.feed_all(map(_without, range(1, 4)))
    assert given.head().judgement.findings == ()
    assert [found.subject for found in given.feed(frame(4, 1)).judgement.findings] == ["a"]
    assert given.feed(_without(5)).judgement.findings == ()
    assert [found.subject for found in given.feed(frame(6, 1)).judgement.findings] == ["a"]


def test_the_result_is_the_same_as_long_as_the_source_is() -> None:
    given = session((METERED,))
    first, second = (given.feed(_without(n, Outcome.DENIED, "root")).judgement.unchecked for n in (1, 2))
    assert first[0] is second[0]
    assert given.feed(_without(3, Outcome.DENIED, "locked")).judgement.unchecked[0].reason.endswith("locked")


def test_a_new_policy_counts_from_the_next_frame() -> None:
    given = session((METERED,))
    given.feed(_without(1, Outcome.DENIED, "root"))
    given.diagnosis.policy = Policy({"metered": RulePolicy(enabled=False)})
    (unchecked,) = given.feed(_without(2, Outcome.DENIED, "root")).judgement.unchecked
    assert "root" not in unchecked.reason


@pytest.mark.parametrize("rule", ["array-degraded", "data-mismatch", "no-spare-left"])
def test_a_device_that_comes_later_is_owed_a_verdict(rule: str) -> None:
    given = Session(Origin("n"), BUILTIN, [each for each in RULES if each.id == rule])

    def look(number: int, *devices: str) -> set[str]:
        text = "".join(f"   8 {n} {name} 9 0 8 1 5 0 4 3 0 1 1 0 0 0 0 0 0\n" for n, name in enumerate(devices))
        shown = given.feed(
            Frame(number, 1000.0 + number, float(number), (Evidence("/proc/diskstats", data=text.encode()),))
        )
        return {subject for unchecked in shown.judgement.unchecked for subject in unchecked.subjects}

    assert "md0" not in look(1, "sda") | look(2, "sda")
    assert "md0" in look(3, "sda", "md0")
    assert "md0" in look(4, "sda", "md0")
