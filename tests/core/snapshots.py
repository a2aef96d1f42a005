"""Content of snapshots, to compare them."""

from __future__ import annotations

from sdstop.core.snapshot import Snapshot


def snapshot_content(shot: Snapshot) -> object:
    """Return everything that a snapshot says, in a form that can be compared."""
    runs = {
        name: (
            run.outcome, run.reason, run.started, run.taken, run.duration, run.seconds, run.recorded, run.defects,
            {family: dict(rows) for family, rows in run.tables.items()},
        )
        for name, run in shot.runs.items()
    }  # fmt: skip
    return runs, {family: dict(run.tables[family]) for family, run in shot.by_family.items()}, shot.unread
