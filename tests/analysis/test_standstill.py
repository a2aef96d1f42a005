"""Standstills over a window that moves: what is kept with each sample must not change the result."""

from __future__ import annotations

import random

import pytest

from sdstop.analysis.disks.standstill import standstills
from sdstop.collectors.block.io_sizes import DISKSTATS
from sdstop.core.evidence import Origin
from sdstop.core.session import Session
from sdstop.readings.disk import DiskActivity
from tests.nodes import peers
from tests.nodes.peers import DISKS
from tests.rules.stripes import Load, frames


def without(shown: list[tuple[float, dict[str, str]]], device: str) -> list[tuple[float, dict[str, str]]]:
    """Return the files of a node from which a disk is gone for half a minute."""
    return [
        (at, {path: "".join(line for line in str(text).splitlines(keepends=True) if f" {device} " not in line)
              if path == DISKSTATS and 40 <= at < 70 else text for path, text in files.items()})
        for at, files in shown
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gone", [None, DISKS[0], DISKS[-1]])
def test_a_moving_window_gives_the_same_as_one_that_is_seen_for_the_first_time(seed: int, gone: str | None) -> None:
    chance = random.Random(seed)
    busy = {name: chance.random() for name in DISKS}

    def load(device: str, second: int) -> Load:
        answers = chance.random() > 0.6 * busy[device] and second
        return Load(20, 20, 300.0, in_flight=chance.choice((0, 3, 8))) if answers else Load(0, 0, in_flight=8)

    shown = peers.shown(peers.disks(DISKS), DISKS, load, seconds=100)
    if gone is not None:
        shown = without(shown, gone)
    session = Session(Origin("n"), peers.COLLECTORS, ())
    most = 0
    for frame in frames(shown):
        session.feed(frame)
        window = session.head().window
        moving = dict(standstills(window))
        kept = [moment.memo.pop("standstill", None) for moment in window.moments(DiskActivity)]
        window._memo.clear()
        assert standstills(window) == moving
        for moment, known in zip(window.moments(DiskActivity), kept, strict=True):
            moment.memo["standstill"] = known
        most = max(most, len(moving))
    assert most > 2
