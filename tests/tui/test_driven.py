"""Interaction in a real terminal: search, sort, columns, mouse, pins, the way to a finding's thing, and times."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.days import day, record
from tests.fixtures import opened
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


# --- from the start to the cause, in the five field stories -----------------------------------------------------

Part = str | tuple[str, str]
"""A text at both sizes, or the text at 80x24 and that at 160x48."""

STORIES: dict[str, Sequence[tuple[str, tuple[Part, ...]]]] = {
    "aoe-flashcache": (
        ("", ("!CRIT MTU 4000 SPLITS 4 KiB BLOCKS", "Frames carry 3584 bytes, not a multiple of 4096",
              "92.2% bypass cache cachedev: 1088 of 1180 requests/s.", "ip link set dev eth1 mtu 8700",
              "Frames against cache blocks", "v opens 3 Caches")),
        ("v", ("!cachedev ", ("░ bypass 92.2%", "░ bypass  92.2%"),
               "MTU 4000 of eth1 (8228-8739 fit)")),
        ("Enter", ("cachedev  cache", "SUB-BLOCK I/O: 92.7% not cacheable", "1180 io/s")),
        ("Enter", ("Bypassed                   1088/s", "Bypass                      92.2%")),
        ("Enter", ("Evidence", "dmsetup status", "write hit percent(3)")),
        ("9", ("initiators", "eth1 10 Gb/s", ("  accused", "MTU 4000 SPLITS 4 KiB BLOCKS"),
               "Accused by a finding: eth1 10 Gb/s, cachedev")),
    ),
    "draid-one-dimm": (
        ("", ("!CRIT ONE DIMM PER CPU", "1 of 4 memory channels filled on each socket: 34.1 of 136.5 GB/s.",
              "A full-speed rebuild needs 47.7 GB/s of memory; 27h08 left as it is.", "v opens 6 Host",
              "Fill 3 channels per socket with modules of the same type.", "REBUILD SLOW: 27h08 left")),
        ("v", ("Memory modules", "2 of 8 slots filled", "1 of 4 channels", "17.1 of 68.3 GB/s", "B ░░ empty")),
        ("Enter", ("socket 0", "Processor          Intel(R) Xeon(R) CPU E5-2620 v4", "4 memory channels")),
        ("Enter", ("Evidence", "/sys/firmware/dmi/tables/DMI", "P1-DIMMA1", "P1-DIMMB1")),
        ("9", ("Path of rebuild of N58-C3-D16-P3-S1", ("  accused", "ONE DIMM PER CPU"),
               "Suspect: memory, by arithmetic", "4 HBAs 25.1%")),
    ),
    "clone-convoy": (
        ("", ("!CRIT CONVOY: queue moving between members", "4.69 of 23 columns busy while 10.7 requests wait",
              "Requests take 46.3 ms on the hot column, 3.50 ms on the others.", "10 x qemu-img",
              "md0: queue per mirror pair, 60 s", "79.2 100%", "v opens 2 Disks")),
        ("v", ("!md0  convoy!  raid10 near=2  46 disks  512K chunk", "QUEUE, last")),
        ("Enter", ("md0  array  41.8T", "Queue; busy %", "10 x qemu-img")),
        ("Enter", ("Level                      raid10", "Chunk                     512 KiB")),
        ("Enter", ("Evidence", "/proc/mdstat", "512K chunks 2 near-copies")),
        ("9", ("Path of md0: client to medium", "46 disks", "Accused by a finding: md0 raid10")),
    ),
    "scaleio-cloud": (
        ("", ("*WARN DEVICE NAME MOVED: sde is now sdf", "/dev/sde of sds07 is /dev/sdf now; 48 of 48 names",
              "A restart can lose the device", "Re-add devices by /dev/disk/by-path", "v opens 7 Cluster",
              "498/500", "26/26")),
        ("v", ("└ sdf", "local: sdf", "rack1 19.6T", "ETA 47h39", "rebalance policy favorAppIos")),
        ("Enter", ("sdf  osd", "Wait, ms a request", "/dev/sde")),
        ("Enter", ("Path now                 /dev/sdf", "Path added               /dev/sde")),
        ("Enter", ("Evidence", "GET /api/instances", "deviceOriginalPathName")),
        ("9", ("Path of rebalance of cloud1/sas10k", "At its limit: rebalance, 100% used.", "canary for 10.20.0.2",
               "*WARN AT IOPS LIMIT")),
    ),
    "scaleio-4node": (
        ("", ("*WARN POOR SCALING: 30.5% of 4 x 1", "4 clients do 114k IOPS, one 93500; likeliest: RAM read cache",
              "A request takes 2.81 ms instead of 0.86 ms", "Fix this first: RAM read cache on flash",
              "*WARN RAM READ CACHE ON FLASH", "374k IOPS", "v opens 8 Volumes")),
        ("v", ("bench1", "28518", "bench4", "no limit set")),
        ("Enter", ("bench1  volume", "POOR SCALING: 30.5% of 4 x 1", "flash4/nvme pool", "114k io/s")),
        ("Enter", ("Limited                      none", "Owner                 10.20.0.201")),
        ("Enter", ("Evidence", "GET /api/")),
        ("9", ("Path of bench1: client to medium", "16 devices", "Accused by a finding: flash4/nvme", "28518")),
    ),
}  # fmt: skip
"""Keys, and what stands on the screen after each: what somebody needs to read who has never seen the node."""


@pytest.mark.parametrize("size", [(80, 24), pytest.param((160, 48), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("name", STORIES)
def test_from_the_start_to_the_cause(name: str, size: tuple[int, int], drive: Drive) -> None:
    window = drive(size, "--from", f"fixtures/{name}")
    steps = [
        (key, [part if isinstance(part, str) else part[size == (160, 48)] for part in parts])
        for key, parts in STORIES[name]
    ]
    for at, (key, parts) in enumerate(steps):
        if key == "9":
            for _, below in reversed(steps[1 : at - 1]):
                window.press("Escape")  # a key right after it would be Alt and that key
                window.until(*below)
        if key:
            window.press(key)
        window.until(*parts)
    window.press("q")
    window.until("left with 0")


def test_three_last_night(drive: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.exporters.recording.BLOCK_SECONDS", 600.0)
    origin, story = opened("clone-convoy")
    path = tmp_path / "day.sdstop"
    night = 1_763_866_800.0  # 03:00
    record(path, origin, day(story, night + 7 * 3600, incident=17.0))
    began = time.monotonic()
    window = drive((160, 48), "--from", str(path))
    window.until("REPLAY 09:59", "23h59 held", "judged")
    window.press("b")
    window.type("03:00:05")
    window.until("REPLAY 03:00:05Z")
    window.press("z", "z", "z")
    window.until("15m00 of 23h59 held", "!CONVOY md0")  # the minutes around it are judged before the rest
    window.press("e")
    window.until("stripe-convoy md0 began")
    window.until("REPLAY 03:00:1", "CONVOY: queue moving between members")
    assert time.monotonic() - began < 60
    window.press("q")
    window.until("left with 0")


def test_a_moment_named_at_the_start(drive: Drive) -> None:
    window = drive((80, 24), "--from", "fixtures/clone-convoy", "--at", "08:23:30")
    window.until("REPLAY 08:23:30Z", "CONVOY")
    window.press("L")
    window.until("REPLAY 08:24:06Z")
