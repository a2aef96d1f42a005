"""A device that is plugged and unplugged while somebody watches.

The kernel's own uevents bring it to the screen, not the next round, which is an hour away.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sdstop.collectors import BUILTIN
from sdstop.collectors.block.readings import BlockDevice
from sdstop.core.evidence import Origin
from sdstop.core.session import Session
from sdstop.core.timeline import RING_SECONDS
from sdstop.readings.disk import DiskActivity
from sdstop.sampler import Sampler
from tests.needs import fixture_needs
from tests.tui.plug import Plug, listed, until
from tests.tui.screens import SMALL, WIDE, screen
from tests.tui.tmux import Tmux

pytestmark = pytest.mark.live

_HOUR = 3600.0


@pytest.fixture
@fixture_needs("loop devices")
def plug(tmp_path: Path) -> Iterator[Plug]:
    file = tmp_path / "behind"
    file.write_bytes(bytes(1 << 20))
    made = Plug(file)
    made.pull()  # what a test that was killed left behind
    yield made
    made.pull()
    os.close(made.control)


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_a_device_is_on_the_screen_when_it_comes_and_not_when_it_went(size: tuple[int, int], plug: Plug) -> None:
    # The overview lists what is built upon disks only while it is in use, which the next round tells.
    with Sampler(BUILTIN, interval=_HOUR, hotplug=True) as sampler:
        session = Session(Origin("here", live=True, privileged=True), BUILTIN, (), remember=RING_SECONDS)
        async with screen(session, size, frames=sampler) as shown:  # type: ignore[arg-type]  # it is no fake
            await until(lambda: session.frames_seen > 0, shown.text)
            await shown.press("2")
            # So that other devices of the node do not push it out of sight.
            await shown.press("slash", *plug.name, "enter")
            assert not listed(shown.lines())
            plug.insert()
            await until(lambda: listed(shown.lines()), shown.text)
            plug.pull()
            await until(lambda: not listed(shown.lines()), shown.text)


async def test_a_device_is_on_the_screen_when_its_file_comes_long_after_its_name(plug: Plug) -> None:
    with Sampler(BUILTIN, interval=_HOUR, hotplug=True) as sampler:
        session = Session(Origin("here", live=True, privileged=True), BUILTIN, (), remember=RING_SECONDS)
        async with screen(session, SMALL, frames=sampler) as shown:  # type: ignore[arg-type]  # it is no fake

            def known() -> bool:
                return session.latest is not None and session.latest.window.get(BlockDevice, plug.name) is not None

            await until(lambda: session.frames_seen > 0, shown.text)
            await shown.press("2", "slash", *plug.name, "enter")
            plug.add()
            await until(known, shown.text)
            assert not listed(shown.lines())
            plug.attach()
            await until(lambda: listed(shown.lines()), shown.text)


async def test_a_device_in_use_leaves_the_overview_when_it_is_pulled(plug: Plug) -> None:
    """Its last rates are still known, and stay until the next round."""
    with Sampler(BUILTIN, interval=_HOUR, hotplug=True) as sampler:
        session = Session(Origin("here", live=True, privileged=True), BUILTIN, (), remember=RING_SECONDS)
        async with screen(session, WIDE, frames=sampler) as shown:  # type: ignore[arg-type]  # it is no fake

            def rates() -> bool:
                return session.latest is not None and session.latest.window.get(DiskActivity, plug.name) is not None

            await until(lambda: session.frames_seen > 0, shown.text)
            plug.insert()
            # Rates take two rounds that saw the device, and the round after its uevent may have begun before it came.
            for _ in range(4):
                if rates():
                    break
                rounds = session.frames_seen
                plug.write()
                sampler.rescan()
                await until(lambda before=rounds: session.frames_seen > before, shown.text)  # type: ignore[misc]
            await until(lambda: rates() and listed(shown.lines()), shown.text)
            plug.pull()
            await until(lambda: not listed(shown.lines()), shown.text)
            assert rates()


@pytest.mark.needs("tmux")
async def test_it_is_so_in_a_terminal_too(plug: Plug, tmp_path: Path) -> None:
    config = tmp_path / "slow.toml"
    config.write_text(f"[sampler]\ninterval = {_HOUR}\n")
    window = Tmux(tmp_path, (120, 24), f"{sys.executable} -m sdstop --config {config}")

    def lines() -> list[str]:
        return window.screen().splitlines()

    try:
        window.until("every 3600 s")
        window.press("2")
        window.until("Arrays and disks")
        window.press("/", *plug.name, "Enter")
        window.until(f"no hit of {plug.name}")
        assert not listed(lines())
        plug.insert()
        await until(lambda: listed(lines()), window.screen)
        plug.pull()
        await until(lambda: not listed(lines()), window.screen)
        window.press("q")
        window.until("left with 0")
    finally:
        window.run("kill-server")
