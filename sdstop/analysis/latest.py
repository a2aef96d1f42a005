"""Latest rows of each family; while a source fails, the rows of its last successful run."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar, cast

from msgspec import Struct

from sdstop.core.columns import Columns
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.snapshot import Run

R = TypeVar("R", bound=Reading)


class LatestRow(Struct, frozen=True):
    """A row at one moment; `stale`: from the last successful run of a source that fails now."""

    row: Reading
    stale: bool


def latest_rows(window: Window, family: type[R]) -> tuple[Mapping[Hashable, R], bool]:
    """Return a family's rows, and whether they are stale."""
    run = window.now.run_of(family)
    if run is not None:
        rows = window.now.rows(family)
        if isinstance(rows, Columns):  # views read nearly all rows of a moment that may be long past
            return cast("Mapping[Hashable, R]", window.once(("latest", family), rows.young)), False
        return rows, False
    for run in window.now.runs.values():
        if run.last is not None and family in run.last.tables:
            return cast("Mapping[Hashable, R]", run.last.tables[family]), True
    return {}, False


def rows_of_all_runs(window: Window, family: type[Reading]) -> dict[Hashable, LatestRow]:
    """Return the rows of a family from several collectors; for equal keys the first row that is not stale."""
    found: dict[Hashable, LatestRow] = {}
    for run, stale in _sources(window.now.runs, family):
        for key, row in run.tables[family].items():
            if key not in found or found[key].stale:
                found[key] = LatestRow(row, stale)
    return found


def _sources(runs: Mapping[str, Run], family: type[Reading]) -> Iterator[tuple[Run, bool]]:
    """Yield the runs that have rows of a family, and whether they are stale."""
    for run in runs.values():
        if family in run.tables:
            yield run, False
        elif run.last is not None and family in run.last.tables:
            yield run.last, True


def past_rows(window: Window, family: type[R], key: Hashable) -> list[tuple[float, float, R]]:
    """Return a row from each run in the window, oldest first.

    Each is (start, seconds, row): the run's start (monotonic), and the seconds since the run before.
    """
    found = []
    for run in _runs(window, family):
        row = run.tables[family].get(key)
        if row is not None:
            found.append((run.started, run.seconds or 0.0, cast("R", row)))
    return found


def _runs(window: Window, family: type[Reading]) -> list[Run]:
    """Return the distinct runs that contain a family, by start time."""

    def make() -> list[Run]:
        seen: dict[int, Run] = {}
        for shot in window.snapshots:
            for run in shot.runs.values():
                if family in run.tables:
                    seen.setdefault(id(run), run)
        return sorted(seen.values(), key=lambda run: run.started)

    return window.once(("runs of", family), make)


def last_read(window: Window, family: type[Reading]) -> float:
    """Return when a family was last read (monotonic seconds), or the window's end if it never was."""
    runs = _runs(window, family)
    return runs[-1].started if runs else window.now.monotonic
