"""A loop device that a test plugs and unplugs, and waits for on the screen."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from tests.tui.tmux import PATIENCE

_ADD, _REMOVE = 0x4C80, 0x4C81  # LOOP_CTL_ADD and LOOP_CTL_REMOVE of linux/loop.h
_SET, _CLEAR = 0x4C00, 0x4C01  # LOOP_SET_FD and LOOP_CLR_FD
_NUMBER = 4712 + os.getpid() % 5000  # its own, where tests run in parallel
_NAME = f"loop{_NUMBER}"


class Plug:
    """A loop device that comes and goes."""

    name = _NAME

    def __init__(self, file: Path) -> None:
        self.file = file
        self.control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
        self.device: int | None = None

    def insert(self) -> None:
        """Make the device, with a file behind it."""
        self.add()
        self.attach()

    def add(self) -> None:
        """Make the device without a file; such a device is not listed."""
        fcntl.ioctl(self.control, _ADD, _NUMBER)

    def attach(self) -> None:
        """Put the file behind it."""
        self.device = os.open(f"/dev/{_NAME}", os.O_RDWR | os.O_CLOEXEC)
        with self.file.open("r+b") as behind:
            fcntl.ioctl(self.device, _SET, behind.fileno())

    def write(self) -> None:
        """Write to it, past the page cache."""
        assert self.device is not None
        os.pwrite(self.device, os.urandom(1 << 16), 0)
        os.fsync(self.device)

    def pull(self) -> None:
        """Take it away, as soon as nobody else (udev, a partition scan) has it open."""
        if self.device is not None:
            fcntl.ioctl(self.device, _CLEAR)
            os.close(self.device)
            self.device = None
        deadline = time.monotonic() + PATIENCE
        while Path(f"/sys/block/{_NAME}").exists():
            try:
                fcntl.ioctl(self.control, _REMOVE, _NUMBER)
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def listed(lines: list[str]) -> bool:
    """Whether a row is about the device."""
    return any(re.match(rf"\W*{_NAME}\b", line) for line in lines)


async def until(done: Callable[[], bool], text: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, text()
        await asyncio.sleep(0.05)
