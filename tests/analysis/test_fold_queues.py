"""The queue of folded devices is the mean of their members', however many are asked for at once."""

from __future__ import annotations

from statistics import fmean

import pytest

from sdstop.analysis.disks.fold_queues import queue_courses
from sdstop.analysis.disks.likeness import DeviceFold, device_folds, unfolded
from sdstop.analysis.disks.recent_activity import moments
from sdstop.core.history import Window
from tests.nodes.block import Load, Node, disk_name, raid10

_DISKS = tuple(map(disk_name, range(40)))


def _load(name: str, second: int) -> Load:
    place = _DISKS.index(name) if name in _DISKS else 0
    return Load(reads=10, queue=1.0 + place % 11 + second % 7, busy=0.9 if place == 3 else 0.2)


def _window() -> Window:
    return Node((*_DISKS, "md0"), _load, raid10("md0", _DISKS[:20])).session(90).head().window


def _expected(fold: DeviceFold, window: Window) -> list[float]:
    names = [drive.name for drive in fold.devices]
    if len(names) >= 24:
        names = names[:: len(names) // 12][:12]
    return [fmean(moment.rows[name].queue or 0.0 for name in names[:12]) for moment in moments(window)]


@pytest.mark.parametrize("at_once", [True, False])
def test_each_course_is_the_mean_of_its_members(at_once: bool) -> None:  # noqa: FBT001
    window = _window()
    folds = unfolded(device_folds(window, ()), 100)
    assert {len(fold.devices) for fold in folds} >= {1, 19, 20}
    courses = queue_courses(folds, window) if at_once else [queue_courses((fold,), window)[0] for fold in folds]
    for fold, course in zip(folds, courses, strict=True):
        assert len(course) == len(moments(window)) > 60
        assert course == pytest.approx(_expected(fold, window)), fold.label
        assert len({round(queue or 0.0, 3) for queue in course}) == 7, "seconds differ"


def test_a_fold_of_other_devices_with_the_same_first_one_is_another() -> None:
    window = _window()
    fold = max(device_folds(window, ()), key=lambda each: len(each.devices))
    other = DeviceFold("x", (fold.devices[0], *fold.devices[2:], fold.devices[1]), fold.figures, group=fold.group)
    for each in (fold, other, fold):
        assert queue_courses((each,), window)[0] == pytest.approx(_expected(each, window))


def test_without_devices_or_samples_there_is_nothing() -> None:
    window = _window()
    assert queue_courses((), window) == []
    single = Node(_DISKS, _load).session(0).head().window
    assert all(course == [] for course in queue_courses(device_folds(single, ()), single))
