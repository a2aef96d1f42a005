"""Every view at every size: the facts that must be on the screen, and what holds of each screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from unittest import mock

import pytest
from rich.cells import cell_len
from textual.dom import DOMNode

from sdstop.tui.app import Dashboard
from sdstop.tui.main import Main
from sdstop.tui.views import VIEWS
from tests.fixtures import crossed, every_story, story
from tests.tui.screens import Screen, screen

SIZES = ((60, 15), (80, 24), (120, 40), (160, 48), (200, 60))
KEYS = {entry.key: {"!": "exclamation_mark"}.get(entry.key, entry.key) for entry in VIEWS}
HOST = {
    "clone-convoy": "vault3", "aoe-flashcache": "san1", "draid-one-dimm": "bay60", "scaleio-cloud": "sds07",
    "scaleio-4node": "ops1",
}  # fmt: skip

Facts = tuple[tuple[str, ...], ...]
"""Texts that a view shows from 60x15 on, those that it adds from 80x24 on, and those from 160x48 on."""

FIELD: Mapping[str, Mapping[str, Facts]] = {
    "clone-convoy": {
        "1": (
            ("!CRIT CONVOY: queue moving between members  md0", "why  4.69 of 23 columns busy", "sda"),
            ("do   Run fewer copies, clones or scans at once: 10 x qemu-img.", " sdac-sdaf ", "79.2 100%", "w ms util"),
            ("longest queue, times the mean", "8.08 > 2.30", "adds 1.81 of 11.4 ms", "28100", "peers", "x44"),
        ),
        "2": (("!md0  convoy!  raid10", "QUEUE", " sda "), ("xaqu", "await", "46 disks"), ("w_ms", "peers: queue")),
        "3": (("no cache",),),
        "4": (("eno1", "ens1f0", "9000"), ("%LINE",)),
        "5": (("not recorded",),),
        "6": (("qemu-img", "28100", "2.7M"), ("88.5",), ("qemu-img convert",)),
        "7": (("not recorded",),),
        "8": (("not recorded",),),
        "9": (
            ("! md0 raid10", "46 disks", "11.4", "9.40"),
            ("Accused by a finding: md0 raid10.", "!CRIT CONVOY"),
            ("could carry", "each write goes to 2 disks"),
        ),
        "!": (("!CRIT md0", "CONVOY: queue moving between members"), ("56s",), ("08:23:10",)),
    },
    "aoe-flashcache": {
        "1": (
            ("!CRIT MTU 4000 SPLITS 4 KiB BLOCKS  eth1", "why  Frames carry 3584 bytes", "4096", "3584"),
            ("hurt 92.2% bypass cache cachedev: 1088 of 1180 requests/s.", "bypass 92.2% to md2", "◂ cache block",
             "20.5%", " 2560 "),
            ("MTU of the interface", "smallest MTU that fits", "8228", "vmstore/vm01", "eth1 10 Gb/s"),
        ),
        "2": (("md2 ", "QUEUE"), ("cachedev", "97"), ("w_ms",)),
        "3": (
            ("!cachedev", "92.2", "MTU 4000 of eth1"),
            ("92.7% of requests are not a whole 4K block of the cache", *map(" {} ".format, range(512, 4097, 512)),
             "◂ cache block"),
        ),
        "4": (("!eth1", "4000"), ("eth1, MiB/s", "80%")),
        "9": (
            ("eth1 10 Gb/s", "cachedev"), ("md2 raid10", "4 disks", "Accused by a finding: eth1 10 Gb/s, cachedev"),
            ("could carry", "e0.1"),
        ),
        "!": (("MTU 4000 SPLITS 4 KiB BLOCKS",), ("SUB-BLOCK I/O", "CACHE BYPASSED")),
    },
    "draid-one-dimm": {
        "1": (
            ("!CRIT ONE DIMM PER CPU  memory", "why  1 of 4 memory channels filled on each socket"),
            ("A full-speed rebuild needs 47.7 GB/s of memory; 27h08 left as it is.", "34 have", "48 needed", "B empty",
             "*WARN POOL DEGRADED: 2 more can fail"),
            ("full-speed rebuild, through memory", "47.7 GB/s > 34.1 GB/s", "57 disks alike", "PCIe 8 GT/s x8"),
        ),
        "2": (("DEGRADED", "rebuild"), ("sdap", "faulted", "57 alike"), ("draid3:16d:58c:1s-0",)),
        "5": (("0000:03:00.0", "0000:02:00.0"), ("expander-1:0", "579"), ("mpt3sas",)),
        "6": (("23.0",),),
        "9": (("memory",), ("Suspect: memory, by arithmetic: about 56.1% used.", "4 HBAs"), ("could carry",)),
        "!": (("ONE DIMM PER CPU",), ("REBUILD SLOW", "POOL DEGRADED")),
    },
    "scaleio-cloud": {
        "1": (
            ("*WARN DEVICE NAME MOVED: sde is now sdf  cloud1", "why  /dev/sde of sds07 is /dev/sdf now"),
            ("*WARN ZERO PADDING OFF cloud1/sas10k", " rack3 sds06 ", " sdf ", "canary", "498/500"),
            ("devices with another name now", "spare 19.6TiB", "10.0 of 10.0 MiB/s"),
        ),
        "7": (("sds00",), ("cloud1", "rack1")),
        "8": (("canary", "web-data"), ("shared-vmfs", "500")),
        "!": (("DEVICE NAME MOVED",), ("ZERO PADDING OFF", "AT IOPS LIMIT")),
    },
    "scaleio-4node": {
        "1": (
            ("*WARN POOR SCALING: 30.5% of 4 x 1  flash4", "why  4 clients do 114k IOPS, one 93500"),
            ("*WARN RAM READ CACHE ON FLASH flash4/nvme", "4 x 1 client", "30.5% of 4x", "374k IOPS"),
            ("rate of 4 clients, of 4 times one", "Path of bench1", "114k/s  446 MiB/s"),
        ),
        "7": (("flash4",),),
        "8": (("bench1",),),
        "!": (("POOR SCALING: 30.5% of 4 x 1",), ("RAM READ CACHE ON FLASH",)),
    },
}  # fmt: skip


def check_screen(shown: Screen, size: tuple[int, int], host: str) -> str:
    """Assert what holds of every screen, and return its text."""
    lines = shown.lines()
    text = "\n".join(lines)
    assert len(lines) == size[1]
    assert max(map(cell_len, lines)) <= size[0]
    assert host in lines[0], lines[0]
    assert " help" in lines[-1]
    assert "cannot be shown" not in text, text
    assert "Traceback" not in text
    assert any(line.startswith("─ ") for line in lines), text
    for above, below in pairwise(lines):  # a pane has something below its rule
        assert not (above.startswith("─ ") and below.startswith("─ ")), text
    return text


async def check_views(name: str, host: str, facts: Mapping[str, Facts], sizes: Sequence[tuple[int, int]]) -> None:
    """Show every view at these sizes, or those that have facts, and assert that these are on the screen."""
    async with screen(story(name).session, sizes[0]) as shown:
        for key, pressed in KEYS.items():
            if facts and key not in facts:
                continue
            await shown.press(pressed)
            for size in sizes:
                if len(sizes) > 1:
                    await shown.pilot.resize_terminal(*size)
                    await shown.settled()
                text, at = check_screen(shown, size, host), SIZES.index(size)
                wanted = facts.get(key, ())[: 1 + (at > 0) + (at > 2)]
                missing = [fact for step in wanted for fact in step if fact not in text]
                assert not missing, (name, key, size, missing, text)


@pytest.mark.parametrize(("name", "size"), crossed(FIELD, SIZES))
async def test_the_facts_of_a_field_story_are_on_the_screen_at_every_size(name: str, size: tuple[int, int]) -> None:
    await check_views(name, HOST[name], FIELD[name], [size])


@pytest.mark.slow
@every_story()
async def test_every_view_of_every_story_is_whole_at_every_size(name: str) -> None:
    session = story(name).session
    await check_views(name, session.origin.name[:8], {}, SIZES)


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_start_styles_the_screen_once(size: tuple[int, int]) -> None:
    """When its widgets are made; the classes for the terminal's size are there by then, and the same later."""
    again: list[type[DOMNode]] = []
    styled = Dashboard.update_styles

    def update(app: Dashboard, node: DOMNode, **settings: bool) -> None:
        again.append(type(node))
        styled(app, node, **settings)

    with mock.patch.object(Dashboard, "update_styles", update):
        async with screen(story("md-degraded").session, size) as shown:
            assert Main not in again
            kept = shown.app.main.classes
            await shown.pilot.resize_terminal(size[0] + 1, size[1])
            assert shown.app.main.classes == kept
            await shown.press("?")
            await shown.press("escape")
            assert Main in again  # styled when a sheet is closed, because it may have changed below it
