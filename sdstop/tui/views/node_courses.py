"""Courses of the node over time: processors, stalls, load and pages to write, for graphs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

from sdstop.analysis.latest import past_rows
from sdstop.collectors.system.readings import CpuActivity, Node, Pressure
from sdstop.core.model import Reading
from sdstop.tui.device.graphs import MIB, Course, Pair
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.strip import Sample

R = TypeVar("R", bound=Reading)


def node_courses(scene: Scene) -> list[Course]:
    """Return the courses of processors, stalls, load and memory that have values, at most four."""
    return [course for course in _courses(scene) if any(value is not None for _, _, value in course.up)]


def _courses(scene: Scene) -> Iterator[Course]:
    yield Course(
        Pair("Processors, % of all", "busy", "iowait", ("busy", "wait"), 0.01, neutral=True),
        _samples(scene, CpuActivity, "all", lambda row: row.busy),
        _samples(scene, CpuActivity, "all", lambda row: row.iowait),
    )
    yield Course(
        Pair("Stalled tasks, % of the time", "io", "memory", ("io", "mem"), 0.01, neutral=True),
        _samples(scene, Pressure, "io", lambda row: row.some_avg10),
        _samples(scene, Pressure, "memory", lambda row: row.some_avg10),
    )
    key = next(iter(scene.rows(Node)[0]), None)
    yield Course(
        Pair("Load and tasks blocked on I/O", "load1", "tasks_blocked", ("load", "blkd"), neutral=True),
        _samples(scene, Node, key, lambda row: row.load1),
        _samples(scene, Node, key, lambda row: row.tasks_blocked),
    )
    yield Course(
        Pair("Dirty pages and writeback, MiB", "memory_dirty", "memory_writeback", ("drt", "wb"), MIB, neutral=True),
        _samples(scene, Node, key, lambda row: row.memory_dirty),
        _samples(scene, Node, key, lambda row: row.memory_writeback),
    )


def _samples(scene: Scene, family: type[R], key: Hashable, read: Callable[[R], float | None]) -> tuple[Sample, ...]:
    """Return the values of a row over time."""
    found: list[Sample] = []
    for ends, seconds, row in past_rows(scene.window, family, key):
        value = read(row)
        passed = seconds or (ends - found[-1][0] if found else 0.0)
        found.append((ends, passed, None if value is None else float(value)))
    return tuple(found)
