"""No frame leaves cycles of garbage: an exporter collects it after minutes or hours, with the tables that it holds."""

import gc

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.fixtures import names, opened

_BEGUN = 5
"""Frames in which caches are filled."""
_FRAMES = 40
_SEVERAL = (
    "kernel-medium-error", "san-healthy", "vm-aoe-8700", "vm-dm-flakey-member", "vm-hot-plug", "vm-nvme-tcp-delayed",
    "vm-volume-suspended",
)  # fmt: skip
"""Stories in which sources kept errors, each of them with its frames."""


@pytest.mark.parametrize(
    "story", [pytest.param(name, marks=() if name in _SEVERAL else pytest.mark.slow) for name in names()]
)
def test_no_frame_leaves_garbage(story: str) -> None:
    origin, frames = opened(story)
    gc.freeze()  # what other tests have kept is not scanned
    session = Session(replace(origin, live=True), BUILTIN, RULES)
    session.feed_all(frames[:_BEGUN])
    gc.collect()
    gc.disable()
    try:
        session.feed_all(frames[_BEGUN:_FRAMES])
        assert gc.collect() == 0
    finally:
        gc.enable()
