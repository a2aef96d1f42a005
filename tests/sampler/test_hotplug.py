"""A device that comes and goes, on the real kernel: its uevent wakes the collectors long before their next round."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.block.readings import BlockDevice
from sdstop.core.replay import Replay
from sdstop.node.block_events import BlockEvents
from sdstop.sampler import Sampler

pytestmark = [pytest.mark.live, pytest.mark.needs("loop devices")]

_ADD, _REMOVE = 0x4C80, 0x4C81  # LOOP_CTL_ADD and LOOP_CTL_REMOVE of linux/loop.h
_NUMBER = 4711
_ROUND = 300.0


@contextmanager
def loop_control() -> Iterator[int]:
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        yield control
    finally:
        if os.path.exists(f"/sys/block/loop{_NUMBER}"):  # noqa: PTH110
            fcntl.ioctl(control, _REMOVE, _NUMBER)
        os.close(control)


def known(sampler: Sampler, replay: Replay, *, there: bool) -> bool:
    """Follow the frames of a minute until the device is (not) among those known; no round falls into that minute."""
    for frame in sampler.frames(60.0):
        if (replay.feed(frame).get(BlockDevice, f"loop{_NUMBER}") is not None) is there:
            return True
    return False


def test_a_device_is_seen_when_it_comes_and_when_it_goes() -> None:
    collectors = (BLOCKDEV, DISKSTATS)
    with loop_control() as control:
        sampler = Sampler(collectors, interval=_ROUND, hotplug=True)
        replay = Replay(collectors)
        try:
            first = next(iter(sampler.frames()))
            assert replay.feed(first).get(BlockDevice, f"loop{_NUMBER}") is None
            fcntl.ioctl(control, _ADD, _NUMBER)
            assert known(sampler, replay, there=True)
            fcntl.ioctl(control, _REMOVE, _NUMBER)
            assert known(sampler, replay, there=False)
        finally:
            sampler.close()


def test_events_are_received_from_the_beginning() -> None:
    events = BlockEvents.begun()
    with loop_control() as control, events._socket:
        assert not events.wait(0.0)
        fcntl.ioctl(control, _ADD, _NUMBER)
        assert events.wait(60.0)
        events.leave_kernel()
        while events.wait(0.0):
            pass
        if not os.path.exists("/run/udev/control"):  # noqa: PTH110
            fcntl.ioctl(control, _REMOVE, _NUMBER)
            assert not events.wait(0.0)
