"""Snapshots made from the one before show what those made from all runs show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.evidence import Outcome
from sdstop.core.model import Label, Reading, Rows
from sdstop.core.snapshot import MergedRows, Run, Snapshot, snapshot


class Own(Reading, frozen=True):
    """A family of one collector."""

    family: ClassVar[str] = "own"
    title: ClassVar[str] = "Own"

    name: Annotated[str, Label("Name")]


class Either(Own, frozen=True):
    """One that several have, of which the first with rows counts."""

    family: ClassVar[str] = "either"


class Both(Own, frozen=True):
    """One whose rows are those of all collectors."""

    family: ClassVar[str] = "both"
    joined: ClassVar[bool] = True


FAMILIES: Sequence[type[Own]] = (Own, Either, Both)
COLLECTORS = ("a", "b", "c")
CHANGES = st.dictionaries(
    st.sampled_from(COLLECTORS),
    st.fixed_dictionaries({}, optional={family: st.integers(0, 2) for family in FAMILIES}),
    max_size=3,
)


def run(name: str, started: float, counts: dict[type[Own], int]) -> Run:
    tables: dict[type[Reading], Rows] = {
        family: {f"{name}{at}": family(f"{name}{at}") for at in range(count)}
        for family, count in counts.items()
        if family is not Own or name == "a"
    }
    return Run(name, Outcome.OK, "", started, started, started, tables=tables)


def shown(shot: Snapshot) -> dict[type[Reading], object]:
    """Return the runs by family; of joined ones, which are made anew, the rows."""
    return {
        family: dict(run.tables[family]) if isinstance(run.tables[family], MergedRows) else id(run)
        for family, run in shot.by_family.items()
    }


@given(st.lists(CHANGES, max_size=12))
def test_successive_snapshots_are_as_those_of_all_runs(steps: list[dict[str, dict[type[Own], int]]]) -> None:
    runs: dict[str, Run] = {}
    before: Snapshot | None = None
    for number, changed in enumerate(steps):
        runs |= {name: run(name, float(number), counts) for name, counts in changed.items()}
        runs = {name: runs[name] for name in COLLECTORS if name in runs}
        before = snapshot(number, float(number), float(number), dict(runs), before)
        assert shown(before) == shown(snapshot(number, float(number), float(number), dict(runs)))
        assert before.runs == runs


def test_families_are_chosen_again_only_where_a_run_changed() -> None:
    alone, other = run("a", 1.0, {Own: 1, Either: 0}), run("b", 1.0, {Either: 1})
    first = snapshot(1, 1.0, 1.0, {"a": alone, "b": other})
    assert (first.by_family[Own], first.by_family[Either], first.shared) == (alone, other, {Either})
    newer = run("a", 2.0, {Own: 1, Either: 2})
    second = snapshot(2, 2.0, 2.0, {"a": newer, "b": other}, first)
    assert (second.by_family[Own], second.by_family[Either]) == (newer, newer)
