"""Relapses over a window that moves: what is kept with each sample must not change the result."""

from __future__ import annotations

import random

import pytest

from sdstop.analysis.members.column import StripeLimits
from sdstop.analysis.members.group_columns import layout_of
from sdstop.analysis.members.relapse import relapse
from sdstop.core.evidence import Origin
from sdstop.core.session import Session
from sdstop.readings.disk import DiskActivity
from tests.nodes import peers
from tests.nodes.peers import DISKS
from tests.rules.stripes import Load, frames


@pytest.mark.parametrize("seed", range(3))
def test_a_moving_window_gives_the_same_as_one_that_is_seen_for_the_first_time(seed: int) -> None:
    chance = random.Random(seed)

    def load(device: str, second: int) -> Load:
        slow = device == "sdc" and chance.random() > 0.7
        return Load(20, 20, 300.0 if slow else chance.uniform(8, 12), busy=0.9 if slow else 0.2)

    shown = peers.shown(peers.disks(DISKS) | peers.pool(DISKS), DISKS, load, seconds=90)
    session = Session(Origin("n"), peers.COLLECTORS, ())
    spells = 0
    for frame in frames(shown):
        session.feed(frame)
        window = session.head().window
        (group,) = [group for group in window.topology.groups() if group.upper is not None]
        layout = layout_of(window, group)
        key = ("far", layout.key)
        moving = relapse(window, layout, StripeLimits(), rotational=True, mirrored=False)
        for moment in window.moments(DiskActivity):
            moment.memo.pop(key, None)
        assert relapse(window, layout, StripeLimits(), rotational=True, mirrored=False) == moving
        spells = max(spells, moving.spells if moving is not None else 0)
        assert moving is None or moving.member == "sdc"
    assert spells > 5
