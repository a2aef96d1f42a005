"""Interaction in a real terminal: search, sort, columns, mouse, pins, the way to a finding's thing, and times."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.needs import fixture_needs
from tests.tui.tmux import Tmux

ROOT = Path(__file__).resolve().parent.parent.parent
SIZES = pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=str)
Drive = Callable[..., Tmux]


@pytest.fixture
@fixture_needs("tmux")
def drive(tmp_path: Path) -> Iterator[Drive]:
    """Start sdstop in tmux; end that server afterwards."""
    started: list[Tmux] = []

    def start(size: tuple[int, int], *options: str, env: str = "") -> Tmux:
        state = f"XDG_STATE_HOME={shlex.quote(str(tmp_path))} XDG_CONFIG_HOME={shlex.quote(str(tmp_path))} {env}"
        command = shlex.join([sys.executable, "-m", "sdstop", *options])
        started.append(Tmux(tmp_path, size, f"cd {shlex.quote(str(ROOT))}; env {state} {command}"))
        return started[-1]

    yield start
    for server in started:
        server.run("kill-server")


@SIZES
def test_search_and_sort(size: tuple[int, int], drive: Drive) -> None:
    window = drive(size, "--from", "fixtures/clone-convoy")
    window.until("REPLAY", "md0")
    window.press("/")
    window.run("send-keys", "-l", "await > 20ms %util > 5")
    assert " Disks" in window.until("hits: ").splitlines()[-1]
    assert "!CRIT" in window.screen()  # a search hides no finding
    window.press("Enter")
    window.until("n N: next, previous") if "n N" in window.screen() else window.until("hit 1 of")
    window.press("n")
    window.until("hit ", "Arrays and disks")
    window.press("Escape")
    window.until(" ? help")
    window.press(":")
    window.type("sort utli")
    window.until('unknown column "utli"; did you mean "%util"?')
    window.press(":")
    window.type("sort %util")
    window.until("▾%util")
    window.press("S")
    window.until("▴%util")
    window.press("/")
    window.type("sd(")
    window.until('invalid pattern "sd(": missing ), unterminated subpattern')
    window.press("/")
    window.type("awiat > 3")
    window.until('unknown column "awiat"; did you mean "await"?')


@SIZES
def test_clicks(size: tuple[int, int], drive: Drive) -> None:
    window = drive(size, "--from", "fixtures/clone-convoy")
    window.until("REPLAY", "md0")
    window.click("2 Disks")
    window.until("Arrays and disks")
    window.click("%util", "DEVICE")
    window.until("▾%util")
    window.click("%util", "DEVICE")
    window.until("▴%util")
    window.click("help", "? help")
    window.until("─ Help ─", "  Views")
    window.press("Escape")
    window.until("Arrays and disks")
    window.click("t T", "? help")
    window.press("T")
    window.until("REPLAY")


@SIZES
def test_columns_pins_and_the_way_to_a_thing(size: tuple[int, int], drive: Drive) -> None:
    window = drive(size, "--from", "fixtures/clone-convoy")
    window.until("REPLAY", "md0")
    window.press("!", "v")
    window.until("Arrays and disks", "!md0 ")
    window.press("]", "p")
    window.until("pinned; p again unpins")
    window.press("4")
    pinned = window.until("Interfaces").splitlines()[2]
    assert "aqu" in pinned
    window.press("2", "o")
    window.until("Columns of Arrays and disks", "[x] await")
    window.press("q")
    window.until("left with 0")


@SIZES
def test_times_are_those_of_the_node(size: tuple[int, int], drive: Drive) -> None:
    window = drive(size, "--from", "fixtures/clone-convoy")
    window.until("REPLAY", "08:24:06Z")
    window.press("b")
    window.until("time, UTC")
    window.type("01:00")
    window.until("nothing before 08:23:02, the oldest frame", "REPLAY 08:23:02Z")
    window.press("q")
    window.until("left with 0")


def test_times_of_this_terminal(drive: Drive, tmp_path: Path) -> None:
    (tmp_path / "sdstop").mkdir()
    (tmp_path / "sdstop/config.toml").write_text('[ui]\ntime = "local"\nmouse = false\n')
    window = drive((80, 24), "--from", "fixtures/clone-convoy", env="TZ=XYZ-5:30")
    window.until("REPLAY", "13:54:06+05:30")
    window.press("b")
    window.until("time, +05:30")
    window.type("13:53:30")
    window.until("13:53:30+05:30")


@SIZES
def test_time_bar(size: tuple[int, int], drive: Drive) -> None:
    window = drive(size, "--from", "fixtures/clone-convoy")
    window.until("─ Time ─", "held", "▲")
    window.press("E")
    window.until("stripe-convoy md0 began")
    window.until("REPLAY 08:23:1")
    window.press("E")
    window.until("no earlier event")
    window.click("━", "▲")
    window.until("├▲━")
    window.press("b")
    window.type("07:00")
    window.until("nothing before 08:23:02, the oldest frame", "REPLAY 08:23:02")
    window.press("+", "+", "Space")
    window.until("REPLAY 08:24:06")


@SIZES
def test_device_page(size: tuple[int, int], drive: Drive) -> None:
    window = drive(size, "--from", "fixtures/clone-convoy")
    window.until("REPLAY", "md0")
    window.press("2")
    window.until("Arrays and disks")
    window.press("j", "Enter")
    first = window.until("Throughput, MiB/s", "Queue; busy %", "md0 array", "▲")
    assert "!CRIT" in first
    window.press("]")
    window.until("slot 1 of md0" if "slot 0" in first else "slot 0 of md0")
    window.press("Enter")
    window.until("Disk activity", "r_await")
    window.press("Escape")
    window.until("Throughput, MiB/s")
    window.press("Escape")
    window.until("Arrays and disks")
