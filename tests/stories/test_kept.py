"""What a history keeps of a minute of a story with arrays."""

from __future__ import annotations

import pytest

from sdstop.analysis.members.peer_samples import BLOCKS
from sdstop.readings.disk import DiskActivity
from tests import fixtures


def test_figures_of_members_are_kept_of_the_newest_second_and_read_again_as_they_were() -> None:
    window = fixtures.story("relapsing-member").looks[-1].window
    known = [
        each for moment in window.moments(DiskActivity) for each in moment.memo.get("seconds of groups", {}).values()
    ]
    seconds = [second for _, second in known if second is not None]
    assert seconds
    for second in seconds:
        before = second.members
        second.settle()
        assert second.members == before
        again = second.members
        assert not second.settle()
        assert second.members is again


@pytest.mark.parametrize("name", ["md-rebuild-running", "relapsing-member"])
def test_blocks_are_kept_for_the_newest_window_only(name: str) -> None:
    """Each sample at a boundary once held the ten blocks before it, which have the figures of all members."""
    look = fixtures.story(name).looks[-1]
    runs = {id(run): run for shot in look.window.snapshots for run in shot.runs.values()}.values()
    judged = sorted(run.started for run in runs if "minutes" in run.memo)
    blocks = sorted(run.started for run in runs if "blocks" in run.memo)
    assert judged == blocks[-1:]
    assert 4 < len(blocks) <= BLOCKS + 1
