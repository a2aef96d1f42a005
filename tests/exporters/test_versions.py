"""The same capture gives the same report under every version of Python."""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.session import Session
from sdstop.core.text import added, total, whole_total
from sdstop.exporters.report.document import document, to_json
from sdstop.exporters.report.html import page
from sdstop.exporters.report.postmortem import postmortem
from sdstop.exporters.report.series import ReportSeries
from sdstop.exporters.report.text import text_report
from sdstop.rules import RULES
from tests.fixtures import opened

STORIES = (
    "draid-one-dimm", "scaleio-cloud", "aoe-flashcache", "iostat-only", "slow-member",
    *(pytest.param(name, marks=pytest.mark.slow)
      for name in ("vm-md-writers-512k-apart", "clone-convoy", "hot-member", "md-rebuild-running")),
)  # fmt: skip


def one_by_one(values: Iterable[Any], /, start: Any = 0) -> Any:
    """Add as Python 3.11 does."""
    for value in values:
        start = start + value
    return start


def compensated(values: Iterable[Any], /, start: Any = 0) -> Any:
    """Add as Python 3.12 does: whole numbers exactly, others without losing what was rounded away."""
    kept = [start, *values]
    return math.fsum(kept) if any(isinstance(value, float) for value in kept) else one_by_one(kept[1:], kept[0])


def reports(name: str) -> list[str]:
    """Return every format of a story's report."""
    origin, frames = opened(name)
    session, series = Session(origin, BUILTIN, RULES), ReportSeries()
    for frame in frames:
        series.add(session.feed(frame).now)
    return [to_json(document(session)), page(session, series), postmortem(session), text_report(session, 100)]


class Noting:
    """A `sum` that notes who adds what versions of Python add differently: three and more numbers, one a fraction."""

    def __init__(self) -> None:
        self.noted: set[str] = set()

    def __call__(self, values: Iterable[Any], /, start: Any = 0) -> Any:
        kept = list(values)
        numbers = [value for value in kept if value != 0]
        if len(numbers) > 2 and any(isinstance(value, float) and not value.is_integer() for value in numbers):
            code = sys._getframe(1).f_code
            self.noted.add(f"{Path(code.co_filename).name}: {code.co_qualname}")
        return one_by_one(kept, start)


@pytest.mark.parametrize("name", STORIES)
def test_reports_use_no_sum_that_differs_between_versions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    noting = Noting()
    monkeypatch.setattr(builtins, "sum", noting)
    careful = reports(name)
    assert noting.noted == set()
    monkeypatch.setattr(builtins, "sum", compensated)
    assert reports(name) == careful


def test_sums_are_made_one_by_one() -> None:
    tenths = [0.1] * 10
    assert compensated(tenths) == 1.0
    assert added(tenths) == total(tenths) == whole_total(tenths) == 0.9999999999999999
    assert added([]) == 0
    assert added([1 << 62, 1 << 62]) == 1 << 63
    noting = Noting()
    assert noting(tenths) == added(tenths)
    assert noting.noted == {"test_versions.py: test_sums_are_made_one_by_one"}
