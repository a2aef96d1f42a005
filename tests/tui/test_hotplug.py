"""A device that is plugged and unplugged while somebody watches.

The kernel's own uevents bring it to the screen, not the next round, which is an hour away.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Origin
from sdstop.core.session import RING_SECONDS, Session
from sdstop.sampler import Sampler
from tests.tui.screens import SMALL, WIDE, screen
from tests.tui.test_terminal import PATIENCE, Tmux

pytestmark = pytest.mark.live

_ADD, _REMOVE = 0x4C80, 0x4C81  # LOOP_CTL_ADD and LOOP_CTL_REMOVE of linux/loop.h
_SET, _CLEAR = 0x4C00, 0x4C01  # LOOP_SET_FD and LOOP_CLR_FD
_NUMBER = 4712
_NAME = f"loop{_NUMBER}"
_HOUR = 3600.0


class Plug:
    """A loop device that comes and goes."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
        self.device: int | None = None

    def insert(self) -> None:
        """Make the device, with a file behind it: one without is in nobody's way, and not shown."""
        fcntl.ioctl(self.control, _ADD, _NUMBER)
        self.device = os.open(f"/dev/{_NAME}", os.O_RDWR | os.O_CLOEXEC)
        with self.file.open("r+b") as behind:
            fcntl.ioctl(self.device, _SET, behind.fileno())

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


@pytest.fixture
def plug(tmp_path: Path) -> Iterator[Plug]:
    assert os.geteuid() == 0, "wants root, to make a loop device"
    file = tmp_path / "behind"
    file.write_bytes(bytes(1 << 20))
    made = Plug(file)
    made.pull()  # what a test that was killed left behind
    yield made
    made.pull()
    os.close(made.control)


def listed(lines: list[str]) -> bool:
    """Whether a row is about the device."""
    return any(re.match(rf"\W*{_NAME}\b", line) for line in lines)


async def until(done: Callable[[], bool], text: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, text()
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(("view", "size"), [("1", WIDE), ("2", SMALL)])
async def test_a_device_is_on_the_screen_when_it_comes_and_not_when_it_went(
    view: str, size: tuple[int, int], plug: Plug
) -> None:
    with Sampler(BUILTIN, interval=_HOUR, hotplug=True) as sampler:
        session = Session(Origin("here", live=True, privileged=True), BUILTIN, (), remember=RING_SECONDS)
        async with screen(session, size, frames=sampler) as shown:  # type: ignore[arg-type]  # it is no fake
            await until(lambda: session.frames_seen > 0, shown.text)
            await shown.press(view)
            await shown.press("slash", *_NAME, "enter")  # so that a node's other devices do not push it out of sight
            assert not listed(shown.lines())
            plug.insert()
            await until(lambda: listed(shown.lines()), shown.text)
            plug.pull()
            await until(lambda: not listed(shown.lines()), shown.text)


async def test_it_is_so_in_a_terminal_too(plug: Plug, tmp_path: Path) -> None:
    config = tmp_path / "slow.toml"
    config.write_text(f"[sampler]\ninterval = {_HOUR}\n")
    window = Tmux(tmp_path, SMALL, f"{sys.executable} -m sdstop --config {config}")

    def lines() -> list[str]:
        return window.screen().splitlines()

    try:
        window.until("every 3600 s")
        window.press("2")
        window.until("Arrays and disks")
        window.press("/", *_NAME, "Enter")
        window.until(f"filter '{_NAME}'")
        assert not listed(lines())
        plug.insert()
        await until(lambda: listed(lines()), window.screen)
        plug.pull()
        await until(lambda: not listed(lines()), window.screen)
        window.press("q")
        window.until("left with 0")
    finally:
        window.run("kill-server")
