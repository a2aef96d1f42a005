"""Cost of rules at many disks, as calls of functions: the same on every machine, however busy it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pytest

from sdstop.collectors import BUILTIN
from sdstop.collectors.block.readings import BlockDevice
from sdstop.core.evidence import Origin
from sdstop.core.finding import RuledOut, Severity, Verdict
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule
from sdstop.core.session import Session
from sdstop.readings.disk import DiskActivity
from sdstop.rules import RULES
from tests.nodes.large import frames
from tests.rules.calls import CountingGuard

FEW, MANY = 100, 1000
SECONDS = 24
"""Length of the window; all but the youngest samples of so many disks are packed, and a look at them is expensive."""
MOST = 125
"""Calls that a rule may take for each disk of a frame. The largest today is 87: who asks first for groups of peers."""
MOST_TOGETHER = 250
"""The same of all rules and of what is done with their verdicts; today 206."""
GROWTH = 1.25 * MANY / FEW
"""Allowed growth of a rule's calls: in proportion to the disks, and what earlier tests left in caches."""
FIXED = 300
"""Calls that do not depend on the number of disks."""


def _each_sample(window: Window, limits: Limits) -> Iterable[Verdict]:
    """Read each sample of each disk, as flush-slow once did: 600 of 650 ms of a frame."""
    del limits
    moments = window.moments(DiskActivity)
    for device in window.rows(BlockDevice):
        rows = [row for moment in moments if (row := moment.rows.get(device)) is not None]
        yield RuledOut(str(device), f"{sum(row.flush_wait is not None for row in rows)} samples")


def _each_pair(window: Window, limits: Limits) -> Iterable[Verdict]:
    """Compare each disk with each other one."""
    del limits
    rows = window.rows(BlockDevice)
    for device in rows:
        yield RuledOut(str(device), f"{sum(device != other for other in rows)} others")


COSTLY = tuple(
    Rule(name, "costs much", Severity.WARNING, check, (BlockDevice,))
    for name, check in (("each sample", _each_sample), ("each pair", _each_pair))
)
"""Rules that are judged in the last frame alone, to see that they are noticed."""


class Cost(NamedTuple):
    """Calls by rule in the last frame, and the rules that had data to check."""

    calls: Counter[str]
    ran: tuple[str, ...]


@pytest.fixture(scope="module")
def costs() -> tuple[Cost, Cost]:
    """The costs for few and for many disks."""
    return cost(FEW), cost(MANY)


def cost(disks: int) -> Cost:
    session = Session(Origin("n"), BUILTIN, RULES)
    *earlier, last = frames(disks, SECONDS)
    session.feed_all(earlier)
    session.diagnosis.guard = counting = CountingGuard()
    session.diagnosis.rules = (*RULES, *COSTLY)
    return Cost(counting.calls, session.feed(last).judgement.ran)


def faults(few: Counter[str], many: Counter[str]) -> Iterator[str]:
    """Yield what costs too much, or more than in proportion to the number of disks."""
    for name, calls in many.items():
        if calls > MOST * MANY:
            yield f"{name}: {calls / MANY:.0f} calls for each disk"
        if calls > GROWTH * few[name] + FIXED:
            yield f"{name}: {few[name]} calls for {FEW} disks, {calls} for {MANY}"
    if many.total() > MOST_TOGETHER * MANY:
        yield f"all: {many.total() / MANY:.0f} calls for each disk"


def _part(calls: Counter[str], *, costly: bool) -> Counter[str]:
    """Return the calls of the costly rules, or those of all others."""
    names = {rule.id for rule in COSTLY}
    return Counter({name: count for name, count in calls.items() if (name in names) == costly})


def test_no_rule_takes_more_than_a_few_calls_for_each_disk(costs: tuple[Cost, Cost]) -> None:
    few, many = costs
    assert set(many.ran) >= {"array-degraded", "device-hung", "disk-failing", "flush-slow", "stripe-convoy"}
    assert len(many.ran) >= 18 + len(COSTLY)
    assert list(faults(_part(few.calls, costly=False), _part(many.calls, costly=False))) == []


def test_costly_rules_are_noticed(costs: tuple[Cost, Cost]) -> None:
    few, many = (_part(each.calls, costly=True) for each in costs)
    found = {re.sub(r"[0-9]+", "N", fault) for fault in faults(few, many)}
    assert found >= {
        "each sample: N calls for each disk",
        "each pair: N calls for N disks, N for N",
        "all: N calls for each disk",
    }
