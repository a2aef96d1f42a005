"""What a history keeps of a minute of a story with arrays."""

from __future__ import annotations

import pytest

from sdstop.analysis.members.peer_samples import BLOCKS
from tests import fixtures


@pytest.mark.parametrize("name", ["md-rebuild-running", "relapsing-member"])
def test_blocks_are_kept_for_the_newest_window_only(name: str) -> None:
    """Each sample at a boundary once held the ten blocks before it, which have the figures of all members."""
    look = fixtures.story(name).looks[-1]
    runs = {id(run): run for shot in look.window.snapshots for run in shot.runs.values()}.values()
    judged = sorted(run.started for run in runs if "minutes" in run.memo)
    blocks = sorted(run.started for run in runs if "blocks" in run.memo)
    assert judged == blocks[-1:]
    assert 4 < len(blocks) <= BLOCKS + 1
