"""Growth of every rule with the number of faulty things: in proportion, counted as calls of functions.

In each story everything is there FEW and then MANY times, with the same faults; a rule may take GROWTH times the calls
for ten times the things. The ordinary suite judges the stories of SAMPLES, the slow one all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.finding import RuledOut, Severity, Verdict
from sdstop.core.history import Window
from sdstop.core.judgement import judge
from sdstop.core.rule import Limits, Rule
from sdstop.core.session import Session
from sdstop.readings.disk import Disk
from sdstop.rules import RULES
from tests.fixtures import each_of, names, opened
from tests.rules.calls import CountingGuard
from tests.rules.copies import Copies

FEW, MANY = 4, 40
GROWTH = 12.0
FIXED = 300
"""Calls that do not depend on the number of things."""
SAMPLES = ("ceph-osd-down", "iostat-slow-stripe-member", "san-neglected", "scaleio-cloud", "vm-bond-lacp")
"""Stories whose rules once took 15 to 79 times the calls, and one of a network."""


class Growth(NamedTuple):
    """Calls by rule for few and for many copies, and the findings of each."""

    few: Counter[str]
    many: Counter[str]
    found: Counter[str]
    more: Counter[str]


def counted(window: Window, copies: int, rules: tuple[Rule, ...] = RULES) -> tuple[Counter[str], Counter[str]]:
    guard = CountingGuard()
    judgement = judge(Copies(window, copies).window, rules, {}, guard)
    assert not guard.counts, guard.counts
    return guard.calls, Counter(finding.rule for finding in judgement.singles)


def window_of(story: str) -> Window:
    origin, frames = opened(story)
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    return session.head().window


@cache
def growth(story: str) -> Growth:
    window = window_of(story)
    (few, found), (many, more) = counted(window, FEW), counted(window, MANY)
    return Growth(few, many, found, more)


def faults(known: Growth) -> list[str]:
    return [
        f"{rule}: {known.few[rule]} calls, {calls} for {MANY // FEW} times the things"
        for rule, calls in sorted(known.many.items())
        if calls > GROWTH * known.few[rule] + FIXED
    ]


@each_of(SAMPLES)
def test_no_rule_takes_more_than_in_proportion(name: str) -> None:
    assert faults(growth(name)) == []


@pytest.mark.slow
@each_of([name for name in names() if name not in SAMPLES])
def test_no_rule_takes_more_than_in_proportion_in_any_story(name: str) -> None:
    assert faults(growth(name)) == []


def test_each_copy_has_the_fault_of_the_original() -> None:
    known = growth("vm-bond-lacp")
    assert known.more == {rule: count * MANY // FEW for rule, count in known.found.items()} != {}


def _each_pair(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    rows = window.rows(Disk)
    for device in rows:
        yield RuledOut(str(device), f"{sum(len(str(other)) for other in rows)} letters")


def test_a_rule_that_compares_each_with_each_is_noticed() -> None:
    rule = Rule("each-pair", "costs much", Severity.WARNING, _each_pair, (Disk,))
    window = window_of("slow-member")
    (few, _), (many, _) = counted(window, FEW, (rule,)), counted(window, MANY, (rule,))
    assert [fault.partition(":")[0] for fault in faults(Growth(few, many, Counter(), Counter()))] == ["each-pair"]
