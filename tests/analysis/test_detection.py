"""Precision and recall of the stripe detector on simulated arrays that were not used to tune it.

The limits in `analysis.stripe.StripeLimits` were chosen on `scenarios.TUNING` (columns 4, 6, 8, 12, 23; seeds below
1000). Here only `scenarios.HELD_OUT` is judged: other numbers of columns (5 to 30), disks, chunks, clone sizes and
counts, loads and seeds. What is a convoy is said by the positions of the simulated clones (`scenarios.convoy`), never
by a counter. These are samples by `-m slow`; `python -m bench.detection` runs all of it. In every run test_stripe.py
and test_group_detection.py judge a few simulated arrays and groups of every kind.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sdstop.analysis.members.stripe import StripePattern
from tests.arrays.measure import Outcome, outcomes, score
from tests.arrays.scenarios import FAMILIES, HELD_OUT, TUNING, Convoy, Expected, Scenario, scenario
from tests.arrays.spec import Level

_SEED = 5000

CONVOYS = {0: 7, 1: 14, 4: 40}
"""Clone loads on spinning disks for each level and number of columns, and how many windows must hold a convoy.

0 is the smallest sample: of the loads as by 1 every other one, so that each level and each number of columns has
some; of limited flash one number of columns for each level; of each healthy family one level; and of each other family
and level one medium.
"""
_SLOW = pytest.mark.slow


def loads(*, whole: bool) -> Iterator[Scenario]:
    """Yield the loads that are no clones; if not `whole`, on one medium, and the healthy at one level, in turns."""
    for index, (name, family) in enumerate(FAMILIES.items()):
        for turn, level in enumerate(family.levels if name != "clones" else ()):
            chosen = whole or turn == index % len(family.levels) or family.expected in {Expected.HOT, Expected.SLOW}
            one = (family.media[(index + turn) % len(family.media)],) if chosen else ()
            for media in family.media if whole else one:
                if not whole or turn == 0 or media != "flash":
                    yield scenario(HELD_OUT, name, level, HELD_OUT.columns[(index + turn) % 5], media, _SEED)


@functools.cache
def judged(*, whole: bool) -> list[Outcome]:
    return [outcome for each in loads(whole=whole) for outcome in outcomes(each, windows=1)]


@pytest.fixture(
    scope="module", params=[pytest.param(number, marks=_SLOW) for number in (0, 1, 4)], ids=["sample", "1", "4"]
)
def seeds(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture(scope="module")
def clones(seeds: int) -> list[Outcome]:
    chosen = (
        scenario(HELD_OUT, "clones", level, columns, media, _SEED + number)
        for media, several in (("spinning", max(seeds, 1)), ("limited", 1))
        for turn, level in enumerate(Level)
        for columns in (
            HELD_OUT.columns
            if seeds
            else HELD_OUT.columns[turn % 2 :: 2]
            if media == "spinning"
            else HELD_OUT.columns[turn : turn + 1]
        )
        for number in range(several)
    )
    return [outcome for each in chosen for outcome in outcomes(each)]


@pytest.fixture(scope="module")
def others(seeds: int) -> list[Outcome]:
    return judged(whole=seeds > 0)


def _told(every: list[Outcome]) -> str:
    return "\n".join(str(outcome) for outcome in every if outcome.misses or outcome.cries)


def test_convoys_are_found_and_nothing_else_is_called_one(
    seeds: int, clones: list[Outcome], others: list[Outcome]
) -> None:
    result = score([*clones, *others], StripePattern.CONVOY)
    assert result.found + result.missed >= CONVOYS[seeds]
    assert result.precision is not None
    assert result.recall is not None
    assert result.precision >= 0.97, _told(clones + others)
    assert result.recall >= 0.95, _told(clones)


@pytest.mark.parametrize(("kind", "recall"), [(StripePattern.HOT, 0.95), (StripePattern.SLOW, 0.95)])
def test_hot_columns_and_slow_disks_are_found_by_name(
    kind: StripePattern, recall: float, others: list[Outcome]
) -> None:
    result = score(others, kind)
    assert result.recall is not None
    assert result.recall >= recall, _told(others)


@pytest.mark.parametrize("kind", [StripePattern.HOT, StripePattern.SLOW])
def test_nothing_else_is_called_hot_or_slow(kind: StripePattern, clones: list[Outcome], others: list[Outcome]) -> None:
    every = [*clones, *others]
    assert score(every, kind).false == 0, _told(every)


def test_healthy_loads_are_seldom_called_unclear(others: list[Outcome]) -> None:
    healthy = [outcome for outcome in others if outcome.scenario.expected is Expected.HEALTHY]
    unclear = [outcome for outcome in healthy if outcome.verdict.kind is StripePattern.UNCLEAR]
    assert len(unclear) <= 0.02 * len(healthy), _told(unclear)


def test_the_sample_holds_every_kind_of_load_and_of_truth(clones: list[Outcome], others: list[Outcome]) -> None:
    assert {outcome.scenario.family for outcome in [*clones, *others]} == set(FAMILIES)
    assert {outcome.truth for outcome in clones} == set(Convoy)


def test_what_was_used_for_tuning_is_not_measured() -> None:
    assert not set(TUNING.columns) & set(HELD_OUT.columns)
    assert not set(TUNING.clone_sizes) & set(HELD_OUT.clone_sizes)
    assert not set(TUNING.clone_counts) & set(HELD_OUT.clone_counts)
    assert not set(TUNING.chunks) & set(HELD_OUT.chunks)
    assert not {*TUNING.spinning, *TUNING.limited, *TUNING.flash} & {
        *HELD_OUT.spinning, *HELD_OUT.limited, *HELD_OUT.flash,
    }  # fmt: skip
    assert not set(TUNING.background) & set(HELD_OUT.background)
    assert not set(TUNING.loads) & set(HELD_OUT.loads)


@pytest.mark.parametrize(("load", "runs"), [("small chunk", 8), pytest.param("clones", 32, marks=_SLOW)])
def test_the_measurement_of_a_few_loads_says_what_was_found_where(load: str, runs: int) -> None:
    words = ["--loads", f"{load},hot", "--columns", "5", "--seeds", "1", "--windows", "1", "--processes", "1"]
    argv = [sys.executable, "-m", "bench.detection", *words]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    assert f"held-out: {runs + 4} runs, {runs + 4} windows" in done.stdout
    for title in ("load", "columns", "level", "disks", "load, truth"):
        assert f"\n| {title} |" in done.stdout
    assert f"| {load} | {runs} |" in done.stdout
    assert "Worst cells" in done.stdout
