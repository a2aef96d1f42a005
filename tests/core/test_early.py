"""Rules that need more time: named in the headline, and nothing is OK where their fault already shows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sdstop.collectors.system.node import NODE
from sdstop.collectors.system.readings import Node
from sdstop.core.evidence import Origin
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Verdict
from sdstop.core.headline import CRITICAL, OK, UNKNOWN, Headline, headline
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule
from sdstop.core.session import Session
from tests.nodes.frames import frames

STAT = "cpu  1 0 1 1 0 0 0 0 0 0\ncpu0 1 0 1 1 0 0 0 0 0 0\nbtime 1763701560\n"
GOOD = RuledOut("disk", "0 errors")
BAD = Finding(severity=Severity.CRITICAL, subject="disk", title="BAD", cause="It is bad.")


def of(*verdicts: Verdict) -> Headline:
    """Return the headline of a node about which rules `rule-0`, `rule-1`, ... have one verdict each."""

    def rule(number: int, verdict: Verdict) -> Rule:
        def check(window: Window, limits: Limits) -> Iterator[Verdict]:
            yield verdict

        return Rule(f"rule-{number}", "a rule", Severity.CRITICAL, check, (Node,), covers=())

    rules = [rule(number, verdict) for number, verdict in enumerate(verdicts)]
    session = Session(Origin("n", live=True), (NODE,), rules)
    session.feed_all(frames([(0.0, {"/proc/stat": STAT})]))
    head = session.head()
    return headline(head.judgement, head.now.runs, (NODE,), session.origin)


def early(*, calm: bool = False) -> Unchecked:
    return Unchecked("collecting data: 7 of 20 s", "disk", calm=calm, gap=Gap.EARLY)


@pytest.mark.parametrize("calm", [False, True])
def test_what_needs_more_time_is_named_and_is_no_fault(calm: bool) -> None:  # noqa: FBT001
    said = of(GOOD, early(calm=calm), early(calm=not calm))
    assert (said.code, said.text) == (OK, "no findings; not yet judged: rule-1, rule-2")


def test_many_are_counted() -> None:
    said = of(GOOD, *[early()] * 9)
    assert said.text == "no findings; not yet judged: rule-1, rule-2, rule-3, rule-4, rule-5 and 4 more"


def test_a_sign_of_the_fault_makes_the_result_unknown() -> None:
    said = of(GOOD, Unchecked("FAILED for 3 s: warning after 5 s", "session1", gap=Gap.SIGNS), early())
    assert said.code == UNKNOWN
    assert said.text == (
        "too early to judge: rule-1 session1: FAILED for 3 s: warning after 5 s; not yet judged: rule-2"
    )


def test_a_finding_counts_more_than_a_sign() -> None:
    said = of(BAD, Unchecked("FAILED for 3 s", "session1", gap=Gap.SIGNS), early())
    assert said.code == CRITICAL
    assert said.text.endswith("too early to judge: rule-1 session1: FAILED for 3 s")


def test_where_nothing_was_judged_the_reason_is_given() -> None:
    said = of(early(), early())
    assert said.code == UNKNOWN
    assert said.text == "nothing checked; 2 rules not checked (collecting data: 7 of 20 s)"
