"""The page of one thing: findings, graphs, stack, users and identity on one screen."""

from __future__ import annotations

import json

import pytest

from sdstop.core.evidence import Evidence, Outcome
from sdstop.tui.device.graph_grid import GraphPane
from sdstop.tui.device.page import DevicePage
from sdstop.tui.facts import FactSubject
from sdstop.tui.terminal import Options
from sdstop.tui.time_bar import TimeBar
from sdstop.tui.widgets.pane import Pane
from tests.fixtures import story
from tests.nodes.block import Load, Node, raid10, refused
from tests.tui.screens import Screen, screen

SIZES = ((60, 15), (80, 24), (120, 40), (160, 48), (200, 60), (300, 80))
MEMBERS = ("sda", "sdb", "sdc", "sdd")
DISK = {
    "/sys/block/sdb/device/model": "ST4000NM0035\n",
    "/sys/block/sdb/device/rev": "TN04\n",
    "/sys/block/sdb/queue/scheduler": "[mq-deadline] none\n",
    "/sys/block/sdb/queue/rotational": "1\n",
    "/sys/block/sdb/size": "7814037168\n",
    "/sys/block/sdb/device/wwid": "naa.5000c500a1b2c3d4\n",
}


def moving(device: str, second: int) -> Load:
    busy = device == "sdb"
    return Load(reads=20 + 30 * busy, writes=10 + second % 3, wait=0.02 * busy + 0.002, queue=1.0 + 6 * busy, busy=0.4)


def answer(n: int) -> Evidence:
    processes = [
        {"pid": 40 + at, "name": "qemu-img", "started": 1.0, "user": "root", "cmdline": "qemu-img convert",
         "read_bytes": n << 20, "write_bytes": n << 22}
        for at in range(3)
    ]  # fmt: skip
    return Evidence("answer:psutil.processes", data=json.dumps(processes).encode())


def node() -> Node:
    return Node((*MEMBERS, "md0"), moving, raid10("md0", MEMBERS), DISK, {1: [answer(0)], 60: [answer(59)]})


async def page(shown: Screen, key: object, view: str = "2") -> DevicePage:
    """Open the page of a row of a view."""
    await shown.press(view)
    assert shown.app.main.shown.main.point(key)
    await shown.press("enter")
    opened = shown.app.screen
    assert isinstance(opened, DevicePage)
    return opened


def shown_panes(opened: DevicePage) -> list[Pane]:
    return [p for p in opened.query(Pane) if p.display and p.region.height and p.region.width]


# --- the whole page -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_at_every_size_it_has_findings_graphs_stack_and_identity_and_no_empty_pane(
    size: tuple[int, int],
) -> None:
    async with screen(story("clone-convoy").session, size) as shown:
        opened = await page(shown, ("md0", "sdad"))
        text = shown.text()
        assert shown.line("sdad  ").strip(" ▸").startswith("sdad  ST2000NM0033-9ZM  1.8T  rotates  slot 29 of md0")
        assert "!CRIT" in shown.lines()[3]
        assert "md0" in shown.lines()[3]
        for title in ("Throughput, MiB/s", "Requests, io/s", "Wait, ms a request", "Queue; busy %", "w 79.2", "100%"):
            assert title in text, title
        assert "md0 array" in text
        assert "vs peers" in text
        assert "▲" in text
        if size[0] >= 110:
            assert "10 x qemu-img" in text
            assert "by process, not disk" in text
        if size[1] >= 48:
            assert "1.8 TiB" in shown.line("Size ")
            assert any("not recorded" in line and "scheduler" in line for line in shown.lines())
        for pane in shown_panes(opened):
            assert any("".join(s.text for s in pane.row_line(row, 40)).strip() for row in pane.rows), pane.id
        bottom = max(pane.region.bottom for pane in shown_panes(opened))
        assert bottom == size[1] - 1
        assert all(len(line) <= size[0] for line in shown.lines())


async def test_it_needs_neither_colour_nor_unicode() -> None:
    options = Options(ascii=True, no_color=True)
    async with screen(story("clone-convoy").session, (80, 24), options=options) as shown:
        await page(shown, ("md0", "sdad"))
        text = shown.text()
        assert text.isascii()
        assert "w 79.2 " in text
        assert "####" in text


# --- graphs ---------------------------------------------------------------------------------------------------


async def test_graphs_are_of_the_moment_that_is_looked_at() -> None:
    async with screen(node().session(60), (160, 48)) as shown:
        await page(shown, ("md0", "sdb"))
        requests = shown.line(" r 50.0 ")
        assert requests
        assert "w 10.0" in shown.text()
        assert "last 60 s" in shown.text()
        first = shown.line("Throughput") and shown.lines()
        for _ in range(58):
            shown.app.playhead.step(-1)
        shown.app.paint()
        text = await shown.press()
        assert "frame 3 of 61" in text
        assert "w 12.0" in text
        drawn = [line.count("⣀") + line.count("⣿") for line in (first, shown.lines())[1]]
        assert sum(drawn) < sum(line.count("⣀") + line.count("⣿") for line in first)


async def test_a_click_on_a_graph_goes_to_its_moment() -> None:
    async with screen(node().session(60), (160, 48)) as shown:
        opened = await page(shown, ("md0", "sdb"))
        graph = opened.query(GraphPane).first()
        await shown.pilot.click(graph, offset=(graph.size.width // 2, 3))
        await shown.settled()
        look = shown.app.playhead.look
        assert look is not None
        assert look.now.number == pytest.approx(28, abs=2)


async def test_a_missing_sample_is_a_gap() -> None:
    later = {n: [refused("/proc/diskstats", Outcome.FAILED, "gone")] for n in range(31, 51)}
    quiet = Node(("sda",), lambda *_: Load(reads=50), later=later)
    async with screen(quiet.session(60), (160, 48)) as shown:
        opened = await page(shown, ("", "sda"))
        requests = next(g for g in opened.query(GraphPane) if g.title == "Requests, io/s")
        lines = ["".join(s.text for s in row.line(80)) for row in requests.rows if row.line is not None]
        graph = next(line for line in lines if " r 50.0 " in line)[10:]
        gap = len(graph.strip()) - len(graph.strip().replace(" ", ""))
        assert gap == pytest.approx(68 * 20 / 60, abs=4)


# --- things of other kinds ------------------------------------------------------------------------------------


async def test_an_array_has_its_members_below_and_brackets_lead_on() -> None:
    async with screen(node().session(60), (160, 48)) as shown:
        opened = await page(shown, ("md0", ""))
        assert "md0  array" in shown.text()
        assert "sda .. sdd  4 disks" in shown.line("below ")
        await shown.press("tab", "G", "enter")
        assert shown.app.screen is not opened
        assert shown.line("sda  ")
        for name in ("sdb", "sdc", "sdd", "sda"):
            await shown.press("right_square_bracket")
            assert any(line.strip(" ▸").startswith(f"{name}  ") for line in shown.lines()[2:4]), name
        await shown.press("left_square_bracket")
        assert any(line.strip(" ▸").startswith("sdd  ") for line in shown.lines()[2:4])


async def test_who_is_named_of_a_busy_disk_only_and_as_of_the_node() -> None:
    busy = Node(MEMBERS, lambda d, s: moving(d, s) if d == "sdb" else Load(), later={1: [answer(0)], 6: [answer(9)]})
    async with screen(busy.session(6), (160, 48)) as shown:
        await page(shown, ("", "sdb"))
        assert "3 x qemu-img" in shown.text()
        assert "by process, not disk" in shown.text()
        await shown.press("right_square_bracket", "right_square_bracket")
        assert "qemu-img" not in "\n".join(shown.lines()[:-8])
    async with screen(busy.session(6), (80, 24)) as shown:
        await page(shown, ("", "sdb"))
        assert "I/O of the node: 3 x qemu-img" in shown.text()


async def test_a_pool_and_an_hba_have_the_load_of_their_disks_together() -> None:
    async with screen(story("draid-one-dimm").session, (160, 48)) as shown:
        await shown.press("2", "enter")
        assert "Disks together (58), MiB/s" in shown.text()
        assert "Rebuild, MiB/s" in shown.text()
        assert "r 5990" in shown.text()
        await shown.press("escape", "5", "home", "enter")
        assert "Disks together (15), MiB/s" in shown.text()
        assert "r 1572" in shown.text()


@pytest.mark.parametrize(
    ("fixture", "keys", "titles"),
    [
        ("bond-both-slaves", "4", ("Throughput, MiB/s", "Frames per s", "tx ")),
        ("scaleio-cloud", "8", ("Throughput, MiB/s", "Requests, io/s", "volume")),
        ("aoe-flashcache", "3", ("Throughput, MiB/s", "Wait, ms a request", "cache")),
        ("scaleio-4node", "7", ("Stack",)),
        ("clone-convoy", "9", ("md0",)),
    ],
)
async def test_things_of_every_view_have_a_page(fixture: str, keys: str, titles: tuple[str, ...]) -> None:
    for size in ((80, 24), (200, 60)):
        async with screen(story(fixture).session, size) as shown:
            await shown.press(keys, "j", "enter")
            opened = shown.app.screen
            assert isinstance(opened, DevicePage)
            text = shown.text()
            assert not [title for title in titles if title not in text]
            assert "cannot be shown" not in text
            for pane in shown_panes(opened):
                assert pane.rows, pane.id
            await shown.press("right_square_bracket", "left_square_bracket", "t", "T", "e", "E")
            assert "cannot be shown" not in shown.text()


async def test_what_no_source_samples_shows_its_fields() -> None:
    async with screen(story("draid-one-dimm").session, (80, 24)) as shown:
        await shown.press("6", "6", "enter")
        assert isinstance(shown.app.screen, DevicePage)
        text = shown.text()
        assert "All fields" in text
        assert "Memory of each processor" in text
        assert "last " not in "\n".join(shown.lines()[:-4])
        text = await shown.press("enter")
        assert "Evidence" in text


# --- one key further ------------------------------------------------------------------------------------------


async def test_all_fields_are_one_key_further_and_their_evidence_another() -> None:
    async with screen(node().session(60), (160, 48)) as shown:
        await page(shown, ("md0", "sdb"))
        text = await shown.press("enter")
        assert "Disk activity" in text
        assert "aqu-sz" in text
        text = await shown.press("enter")
        assert "/proc/diskstats" in text
        await shown.press("escape", "escape")
        assert isinstance(shown.app.screen, DevicePage)
        await shown.press("escape")
        assert not isinstance(shown.app.screen, DevicePage)


async def test_its_findings_lead_to_why() -> None:
    async with screen(story("clone-convoy").session, (80, 24)) as shown:
        await page(shown, ("md0", "sdad"))
        assert "Why !CRIT md0" in await shown.press("down", "enter")


async def test_its_text_can_be_saved() -> None:
    async with screen(story("clone-convoy").session, (160, 48)) as shown:
        opened = await page(shown, ("md0", "sdad"))
        text = opened.text()
        for part in ("sdad", "!CRIT", "w 79.2", "md0 array", "10 x qemu-img", "ST2000NM0033-9ZM"):
            assert part in text


async def test_a_thing_that_is_gone_says_so() -> None:
    gone = Node(("sda", "sdb"), moving, later={})
    async with screen(gone.session(20), (80, 24)) as shown:
        opened = await page(shown, ("", "sdb"))
        opened.subject = type(opened.subject)("sdz", tuple((family, "sdz") for family, _ in opened.subject.parts))
        shown.app.paint()
        text = await shown.press()
        assert "no data at this time" in text
        await shown.press("right_square_bracket")
        assert "no other" in shown.lines()[-1]
        assert opened.query_one(TimeBar).lines == 3


async def test_the_thing_of_a_page_is_pinned_and_unpinned() -> None:
    async with screen(node().session(60), (120, 40)) as shown:
        opened = await page(shown, ("md0", "sdb"))
        await shown.press("p")
        assert "pinned; p again unpins" in shown.lines()[-1]
        await shown.press("right_square_bracket", "p")  # the next member
        await shown.press("escape", "4")
        assert [line.split()[0] for line in shown.lines()[2:4]] == ["sdb", "sdc"]
        assert "%util 40" in shown.lines()[2]
        opened = await page(shown, ("md0", "sdb"))
        await shown.press("p")
        assert "unpinned" in shown.lines()[-1]
        assert opened.is_current
        await shown.press("escape", "4")
        assert shown.lines()[2].split()[0] == "sdc"


async def test_a_page_of_something_that_no_view_lists_cannot_be_pinned() -> None:
    async with screen(node().session(60), (120, 40)) as shown:
        opened = await page(shown, ("md0", "sdb"))
        opened.subject = FactSubject("nowhere", ())
        shown.app.paint()
        await shown.press("p")
        assert "nothing to pin here" in shown.lines()[-1]


async def test_the_page_of_a_disk_has_its_messages_in_the_kernels_log() -> None:
    async with screen(story("vm-kernel-ext4").session, (120, 40)) as shown:
        await page(shown, ("", "dm-0"))
        assert "6 lost writes" in shown.line("Kernel log")
    async with screen(story("vm-kernel-ext4").session, (120, 40)) as shown:
        await page(shown, ("", "vda"))
        assert "Kernel log  " not in shown.text()
