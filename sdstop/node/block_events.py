"""Events of block devices, from the kernel or from udev, in a socket of this process.

libudev would do the same, with 1 MB of libraries that are loaded for it, and a run of ldconfig that finds it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Self

SETTLE = 0.25
"""Seconds without an event after which a series of hot-plug events is over."""
LONGEST_STORM = 2.0
"""Seconds after which a series of events is reported even if it is not over."""
_UEVENTS = 15
"""NETLINK_KOBJECT_UEVENT of include/uapi/linux/netlink.h."""
_KERNEL, _UDEV = 1, 2
"""Groups: events as the kernel sends them, and as udev does when its records have them."""
_SOL_NETLINK, _DROP_MEMBERSHIP = 270, 2
"""SOL_NETLINK of linux/socket.h, NETLINK_DROP_MEMBERSHIP of include/uapi/linux/netlink.h."""
_LARGEST = 16 << 10
_BLOCK = b"SUBSYSTEM=block\0"
_UDEV_RUNS = "/run/udev/control"


class BlockEvents:
    """Socket that receives events from its creation on."""

    def __init__(self, connection: socket.socket) -> None:
        """Begin with a socket that receives events and does not wait for them."""
        self.since = time.monotonic()
        """When it began to receive (monotonic seconds)."""
        self._socket = connection

    @classmethod
    def begun(cls) -> Self:
        """Return a socket that receives events already. Raises OSError."""
        connection = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _UEVENTS)
        try:
            connection.setblocking(False)  # noqa: FBT003  # takes no keyword
            connection.bind((0, _KERNEL | _UDEV))
        except OSError:
            connection.close()
            raise
        return cls(connection)

    def leave_kernel(self) -> None:
        """Receive only events from udev, which sends them when its database has them."""
        with contextlib.suppress(OSError):
            self._socket.setsockopt(_SOL_NETLINK, _DROP_MEMBERSHIP, _KERNEL)

    def wait(self, seconds: float | None) -> bool:
        """Return whether a block device had an event, or may have had one, within seconds (None: wait for one)."""
        end = None if seconds is None else time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while True:
            try:
                if _BLOCK in self._socket.recv(_LARGEST):
                    return True
                continue
            except OSError as error:
                if error.errno != errno.EAGAIN:  # ENOBUFS: events were lost
                    time.sleep(SETTLE)
                    return True
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            poll.poll(None if left is None else left * 1000)


def hotplug(events: BlockEvents, callback: Callable[[], None]) -> None:
    """Call `callback` in a new thread SETTLE seconds after block devices were added, removed or changed.

    Events that have been received before count. Where udev runs, its events count, not those of the kernel.
    """

    def watch() -> None:
        if os.path.exists(_UDEV_RUNS):  # noqa: PTH110  # in the thread: the main thread reads nothing
            events.leave_kernel()
        first: float | None = None
        while True:
            event = events.wait(None if first is None else SETTLE)
            now = time.monotonic()
            if event and first is None:
                first = now
            elif first is not None and (not event or now - first > LONGEST_STORM):
                first = None
                callback()

    threading.Thread(target=watch, name="hotplug", daemon=True).start()
