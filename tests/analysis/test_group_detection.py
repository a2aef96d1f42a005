"""Slow and stalling members of every kind of peer group, on shapes and seeds that were not used to choose limits.

`python -m bench.detection --groups` measures more of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from tests.arrays import reported
from tests.arrays.groups import HELD_OUT, KINDS, TUNING, Found, Shape, Trouble, judged, score, shapes

_FIRST = 5000


def _measured(every: Iterable[Shape], seed: int) -> list[Found]:
    return [judged(shape, seed) for shape in every]


def _sample(seed: int) -> Iterator[Shape]:
    """Yield the groups of spinning disks: of each kind those with trouble, and one in turns that has none."""
    for turn, kind in enumerate(KINDS):
        spinning = [shape for shape in shapes(HELD_OUT, seed) if shape.kind == kind and shape.media.rotational]
        healthy = [shape for shape in spinning if shape.trouble is Trouble.NONE]
        yield healthy[turn % len(healthy)]
        yield from (shape for shape in spinning if shape.trouble is not Trouble.NONE)


def _check(every: list[Found]) -> None:
    result = score(every)
    assert result.precision is not None
    assert result.recall is not None
    assert result.precision >= 0.97, [found for found in every if found.wrong]
    assert result.recall >= 0.95, [f for f in every if f.shape.trouble is not Trouble.NONE and not f.right]
    assert not [found for found in every if found.shape.trouble is Trouble.NONE and found.wrong]


def test_sick_members_of_every_kind_of_group_are_found_and_no_others() -> None:
    every = list(_sample(_FIRST))
    assert {shape.bursts for shape in every} == {False, True}
    assert {shape.unequal > 1 for shape in every} == {False, True}
    _check(_measured(every, _FIRST))


@pytest.mark.slow
def test_the_same_on_all_disks_and_more_seeds() -> None:
    _check([found for seed in range(_FIRST, _FIRST + 4) for found in _measured(shapes(HELD_OUT, seed), seed)])


def test_every_kind_is_measured_with_every_trouble_and_without() -> None:
    made: list[Shape] = list(shapes(HELD_OUT, _FIRST))
    assert {(shape.kind, shape.trouble) for shape in made} == {(kind, trouble) for kind in KINDS for trouble in Trouble}


def test_what_was_used_for_tuning_is_not_measured() -> None:
    for name in ("members", "spinning", "flash", "loads", "writes", "factors", "stalls"):
        assert not set(getattr(TUNING, name)) & set(getattr(HELD_OUT, name)), name


def test_sick_slaves_of_bonds_and_sick_osds_are_found_and_no_others() -> None:
    every = [(shape, *reported.judged(shape, seed)) for seed in (_FIRST, _FIRST + 1) for shape in reported.shapes(seed)]
    result = reported.score(every)
    assert (result.precision, result.recall) == (1.0, 1.0), every
    assert {(shape.kind, shape.sick, shape.bursts) for shape, _, _ in every} == {
        (kind, sick, bursts) for kind in ("bond slaves", "OSDs of Ceph") for sick in (False, True)
        for bursts in (False, True)
    }  # fmt: skip
