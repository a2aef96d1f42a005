"""Events of block devices from before the listener for them is ready.

The listener needs a library, which is imported beside the first readings. Without these events, all earlier readings
would have to be repeated, although nothing had changed.
"""

from __future__ import annotations

import errno
import socket
import time
from typing import Self

_UEVENTS = 15
"""NETLINK_KOBJECT_UEVENT of include/uapi/linux/netlink.h."""
_KERNEL, _UDEV = 1, 2
"""Groups: events as the kernel sends them, and as udev does when its records have them."""
_LARGEST = 16 << 10
"""Bytes of an event; the kernel's are at most 2 KiB (UEVENT_BUFFER_SIZE)."""
_BLOCK = b"SUBSYSTEM=block\0"


class EarlyEvents:
    """Socket that receives events from its creation until it is asked for them."""

    def __init__(self, connection: socket.socket) -> None:
        """Begin with a socket that receives events."""
        self.since = time.monotonic()
        """When it began to receive (monotonic seconds)."""
        self._socket = connection

    @classmethod
    def begun(cls) -> Self | None:
        """Return a socket that receives events already, None where that is not possible."""
        try:
            connection = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _UEVENTS)
        except OSError:
            return None
        try:
            connection.setblocking(False)  # noqa: FBT003  # takes no keyword
            connection.bind((0, _KERNEL | _UDEV))
        except OSError:
            connection.close()
            return None
        return cls(connection)

    def any(self) -> bool:
        """Return whether a block device had an event, or may have had one; no more are received then."""
        with self._socket:
            while True:
                try:
                    if _BLOCK in self._socket.recv(_LARGEST):
                        return True
                except OSError as error:  # ENOBUFS: events were lost
                    return error.errno != errno.EAGAIN
