"""Events of block devices: which count, and when they are told."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from sdstop.node import block_events
from sdstop.node.block_events import BlockEvents, hotplug

NET = b"add@/devices/virtual/net/veth1\0ACTION=add\0SUBSYSTEM=net\0INTERFACE=veth1\0"
DISK = b"libudev\0\xfe\xed\xca\xfe\0ACTION=change\0SUBSYSTEM=block\0DEVNAME=/dev/sda\0"


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, BlockEvents]]:
    """Return what sends events, and what receives them."""
    sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    receiver.setblocking(False)  # noqa: FBT003
    with sender, receiver:
        yield sender, BlockEvents(receiver)


def test_only_events_of_block_devices_count(ends: tuple[socket.socket, BlockEvents]) -> None:
    sender, events = ends
    assert not events.wait(0.0)
    sender.send(NET)
    assert not events.wait(0.05)
    for packet in (NET, DISK, NET):
        sender.send(packet)
    assert events.wait(0.0)
    assert not events.wait(0.0)


def test_an_event_ends_the_wait(ends: tuple[socket.socket, BlockEvents]) -> None:
    sender, events = ends
    for seconds in (None, 60.0):
        threading.Timer(0.05, sender.send, [DISK]).start()
        began = time.monotonic()
        assert events.wait(seconds)
        assert time.monotonic() - began < 30.0


def test_lost_events_count(monkeypatch: pytest.MonkeyPatch) -> None:
    class Overrun(socket.socket):
        def recv(self, *_: object) -> bytes:
            raise OSError(errno.ENOBUFS, "No buffer space available")

    monkeypatch.setattr(block_events, "SETTLE", 0.01)
    with Overrun(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
        assert BlockEvents(connection).wait(0.0)


class Told(BlockEvents):
    """Events that are given, False for a wait without one; then none."""

    def __init__(self, events: list[bool]) -> None:
        self.events = events
        self.waits: list[float | None] = []
        self.silent = threading.Event()

    def leave_kernel(self) -> None: ...

    def wait(self, seconds: float | None) -> bool:
        self.waits.append(seconds)
        if not self.events and seconds is None:
            self.silent.set()
            threading.Event().wait()
        return bool(self.events) and self.events.pop(0)


@pytest.mark.parametrize(("events", "told"), [([], 0), ([True], 1), ([True, True, True], 1), ([True, False, True], 2)])
def test_events_that_come_together_are_told_once(events: list[bool], told: int) -> None:
    given = Told(events)
    calls: list[None] = []
    hotplug(given, lambda: calls.append(None))
    assert given.silent.wait(60)
    assert len(calls) == told
    assert set(given.waits) <= {None, block_events.SETTLE}


def test_a_storm_is_told_before_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    told = threading.Event()
    storm = Told([])
    monkeypatch.setattr(storm, "wait", lambda _: threading.Event().wait(None if told.is_set() else 0.01) or True)
    monkeypatch.setattr(block_events, "LONGEST_STORM", 0.1)
    hotplug(storm, told.set)
    assert told.wait(60)
