"""Conservation: in every story requests, bytes and waits of neighboring layers agree, as on the recorded kernels."""

from __future__ import annotations

import pytest

from sdstop.analysis.path import data_path
from sdstop.analysis.path.conservation import cluster_mismatches, mismatches
from sdstop.analysis.path.load import load_of
from sdstop.analysis.path.parts import layer_of
from sdstop.analysis.path.sentences import limit_sentence, second_sentence
from sdstop.analysis.path.subjects import path_subjects
from sdstop.collectors.zfs.readings import Vdev, VdevLoad
from sdstop.core.history import Window
from sdstop.readings.disk import Disk
from tests.fixtures import every_story, story

MOMENTS = 4
"""Moments of a story that are checked, its end included."""
PATHS = 12


def _windows(name: str) -> list[Window]:
    """Return windows that end at some moments of a story."""
    looks = story(name).looks
    return [looks[at].window for at in sorted({(len(looks) - 1) * part // MOMENTS for part in range(1, MOMENTS + 1)})]


def _contradictions(window: Window) -> list[str]:
    found = [each.text for each in cluster_mismatches(window)]
    for thing in window.topology.things:
        load = load_of(window, thing)
        if load is not None and load.requests:
            found += [each.text for each in mismatches(window, layer_of(window, thing, load))]
    return found


@every_story()
def test_layers_agree(name: str) -> None:
    for window in _windows(name):
        assert _contradictions(window) == []
        for subject in path_subjects(window)[:PATHS]:
            path = data_path(window, subject)
            assert path.mismatches == ()
            assert limit_sentence(path.stages, {})
            assert not second_sentence(path.stages, path.mismatches).startswith("Does not")
            for stage in path.stages:
                assert stage.own is None or stage.own >= 0
                assert stage.own is None or stage.wait is not None
                assert stage.known or stage.reason or not stage.things


@pytest.mark.parametrize("name", ["draid-one-dimm", "draid-one-hba"])
def test_zpool_iostat_and_diskstats_agree(name: str) -> None:
    """Both are means over a long time: since the import of the pool, and since the start of the node."""
    window = _windows(name)[-1]
    compared = 0
    for leaf in window.rows(Vdev).values():
        load = window.get(VdevLoad, (leaf.pool, leaf.vdev))
        disk = window.get(Disk, leaf.device) if leaf.device is not None else None
        if load is None or disk is None or not load.disk_read_wait or not disk.reads:
            continue
        compared += 1
        assert disk.read_time / 1000 / disk.reads == pytest.approx(load.disk_read_wait / 1e9, rel=0.2)
    assert compared > 40
