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
from sdstop.node.early_events import EarlyEvents
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


def test_events_from_before_the_listener_are_known_afterwards() -> None:
    with loop_control() as control:
        early = EarlyEvents.begun()
        assert early is not None
        fcntl.ioctl(control, _ADD, _NUMBER)
        assert early.any()


def test_events_of_other_things_are_none_of_block_devices() -> None:
    class Received:
        def __init__(self, *packets: bytes) -> None:
            self.packets = list(packets)

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

        def recv(self, _: int) -> bytes:
            if not self.packets:
                raise BlockingIOError(11, "nothing")
            packet = self.packets.pop(0)
            if not packet:
                raise OSError(105, "No buffer space available")
            return packet

    net = b"add@/devices/virtual/net/veth1\0ACTION=add\0SUBSYSTEM=net\0INTERFACE=veth1\0"
    disk = b"libudev\0\xfe\xed\xca\xfe\0ACTION=change\0SUBSYSTEM=block\0DEVNAME=/dev/sda\0"
    for packets, found in (((), False), ((net,), False), ((net, disk), True), ((b"",), True)):
        assert EarlyEvents(Received(*packets)).any() is found  # type: ignore[arg-type]
