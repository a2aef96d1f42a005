"""quota-exhausted: where it fires, where it must not, and near its thresholds."""

from __future__ import annotations

import json

import pytest

from sdstop.collectors.filesystems.quotas import QUESTION, QUOTAS
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.rules.filesystems.quota_exhausted import QUOTA_EXHAUSTED
from tests.nodes.frames import Judged
from tests.stories.texts import faults


def judged(used: int, hard: int = 1000, *, cut: bool = False, **more: int) -> Judged:
    quota = {
        "id": 1000,
        "used": used,
        "soft": 0,
        "hard": hard,
        "files": 1,
        "file_soft": 0,
        "file_hard": 0,
        "expired": 0,
    }
    row = {"point": "/srv", "source": "/dev/sdb1", "kind": "user", "limited": 1, "cut": cut, "fullest": [quota | more]}
    return Judged((QUOTAS,), [QUOTA_EXHAUSTED], [(0.0, {f"answer:{QUESTION}": json.dumps([row])})])


@pytest.mark.parametrize(("used", "severity"), [
    (1000, Severity.WARNING), (999, Severity.INFO), (950, Severity.INFO), (949, None), (0, None),
])  # fmt: skip
def test_the_share_of_the_limit_decides(used: int, severity: Severity | None) -> None:
    verdict = judged(used).of("/srv")
    assert (verdict.severity if isinstance(verdict, Finding) else None) is severity
    assert isinstance(verdict, Finding | RuledOut)
    if isinstance(verdict, Finding):
        assert list(faults(verdict)) == []


def test_above_the_soft_limit_the_time_of_grace_decides() -> None:
    assert isinstance(judged(600, soft=500).of("/srv"), RuledOut)
    assert judged(600, soft=500, expired=1).finding("/srv").severity is Severity.WARNING


def test_more_quotas_than_are_queried_are_not_all_good() -> None:
    assert isinstance(judged(10, cut=True).of("/srv"), Unchecked)
    assert isinstance(judged(1000, cut=True).of("/srv"), Finding)
