"""The view of the host: pages, the picture of memory modules, and NUMA nodes against devices."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.memory.readings import TABLE
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.session import Session
from sdstop.rules import RULES
from sdstop.tui.terminal import Options
from sdstop.tui.views.nodes import cpus
from tests.fixtures import story
from tests.nodes.block import Node, refused
from tests.nodes.fabric import boxes
from tests.nodes.firmware import Board, Module, board
from tests.nodes.host import HostNode
from tests.tui.hostile import NASTY, harmless
from tests.tui.screens import LOW, SMALL, WIDE, roles, screen

XEON = "Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz"


def large() -> Board:
    """Return two sockets of eight channels of three slots each; the first of each is filled."""
    return Board(
        [
            Module(f"P{socket}-DIMM{channel}{slot}", 32768 if slot == 1 else 0, speed=3200, configured=2933)
            for socket in (1, 2) for channel in "ABCDEFGH" for slot in (1, 2, 3)
        ],
        cpus=(XEON, XEON),
    )  # fmt: skip


@functools.cache
def told(kind: str) -> Session:
    """Return a session over a node with a board, which the screen only reads."""
    made = {
        "story": board((1, 1)),
        "large": large(),
        "no socket": board((1, 1), names="DIMM {all}"),
        "no channel": board((1, 1), names="CPU{cpu}_DIMM_{n}"),
        "unknown size": Board([Module("P1-DIMMA1", -1), Module("P2-DIMMA1", 16384)]),
    }[kind]
    cards = {"p1p1": 0, "p1p2": 1, "eth0": -1}
    return HostNode(made, boxes=boxes(4, 15), cards=cards).session(RULES)


# --- pages -------------------------------------------------------------------------------------------------------


async def test_its_key_turns_the_pages_of_a_small_screen() -> None:
    async with screen(told("story")) as shown:
        text = await shown.press("6")
        assert "Top I/O processes" in text
        assert "75.0 ██" in shown.line(" cpu 0 ")
        assert "NUMA nodes" not in text
        text = await shown.press("6")
        assert "Memory modules" in text
        assert "NUMA nodes" in text
        assert "Top I/O processes" not in text
        text = await shown.press("6")
        assert "Data sources" in text
        assert "Memory modules" not in text
        text = await shown.press("6")
        assert "Kernel log" in text
        assert "Data sources" not in text
        text = await shown.press("6")
        assert "Top I/O processes" in text
        await shown.press("1", "6")
        assert "Top I/O processes" in shown.text()


async def test_a_page_is_marked_by_what_is_said_of_it() -> None:
    async with screen(told("story")) as shown:
        await shown.press("6")
        assert "Hardware *" in shown.line("6: next page")
        assert "?UNKN" not in shown.line("6: next page")
    node = HostNode(later={3: [refused("/proc/mdstat", Outcome.DENIED, "needs root")]})
    async with screen(node.session()) as shown:
        await shown.press("6")
        assert "Sources 2 ?UNKN" in shown.line("6: next page")


async def test_the_key_on_a_sheet_takes_it_away_and_turns_no_page() -> None:
    async with screen(told("story")) as shown:
        await shown.press("6", "6", "enter")
        assert "Memory of each processor" in shown.text()
        assert "Memory modules" in await shown.press("6")


async def test_a_large_screen_has_all_of_it_and_the_key_goes_from_pane_to_pane() -> None:
    async with screen(told("story"), WIDE) as shown:
        text = await shown.press("6")
        for title in ("Processors and memory", "Memory modules", "NUMA nodes", "Top I/O processes", "Data sources"):
            assert title in text
        assert "6: next page" not in text
        await shown.press("6")
        assert shown.app.focused is not None
        assert shown.app.focused.id == "modules"


@pytest.mark.parametrize(
    ("size", "ascii_only"),
    [(LOW, False), (SMALL, True), ((120, 30), False), ((100, 60), True), (WIDE, True), ((40, 8), True)],
)
async def test_it_fits_every_screen(size: tuple[int, int], *, ascii_only: bool) -> None:
    async with screen(told("large"), size, options=Options(ascii=ascii_only)) as shown:
        for _ in range(3):
            await shown.press("6")
            lines = shown.lines()
            assert len(lines) == size[1]
            assert max(map(len, lines)) <= size[0]
            harmless(shown, ascii_only=ascii_only)


# --- memory modules ------------------------------------------------------------------------------------------------


async def test_one_of_four_channels_is_seen_at_a_glance() -> None:
    async with screen(told("story")) as shown:
        text = await shown.press("6", "6")
        assert "2 of 8 slots filled · 32G · DDR4 · 2133 of 2400 MT/s" in text
        assert shown.line("socket 0").count("Xeon E5-2620 v4") == 2
        assert shown.line("of 4 channels").count("1 of 4 channels ▊   17.1 of 68.3 GB/s") == 2
        assert shown.line(" A ▆▆").split() == ["A", "▆▆", "16G", "2133", "2R"] * 2
        assert shown.line(" D ").split() == ["D", "░░", "empty"] * 2


async def test_forty_eight_slots_fit_the_smallest_terminal() -> None:
    async with screen(told("large")) as shown:
        text = await shown.press("6", "6")
        assert text.count("▆▆ 32G") == 16
        assert text.count("░░") == 32
        assert text.count("8 of 8 channels") == 2
    async with screen(told("large"), WIDE, options=Options(ascii=True)) as shown:
        text = await shown.press("6")
        assert text.count("## 32G  2933") == 16
        assert text.count(".. empty") == 32


async def test_a_line_leads_to_the_modules_that_stand_in_it_and_to_the_firmware_table() -> None:
    async with screen(told("story")) as shown:
        await shown.press("6", "6", "j", "j")
        text = await shown.press("enter")
        assert "socket 0, channel A, socket 1, channel A" in text
        assert "P1-DIMMA1" in text
        assert "Processor socket, from 0, if the slots" in shown.app.screen.text()  # type: ignore[attr-defined]
        await shown.press("j")
        await shown.press("enter", "g")
        await shown.press(*["k"] * 30)
        assert TABLE in shown.text()


async def test_what_names_do_not_prove_is_not_guessed() -> None:
    async with screen(told("no socket")) as shown:
        text = await shown.press("6", "6")
        assert text.count("its slots are unknown") == 2
        assert "socket unknown" in text
        assert shown.line("DIMM 1").split() == ["DIMM", "1", "▆▆", "16G", "2133", "2R", "DIMM", "2", "░░", "empty"]
    async with screen(told("no channel")) as shown:
        await shown.press("6", "6")
        assert shown.line("CPU1_DIMM_1").split() == [
            "CPU1_DIMM_1", "▆▆", "16G", "2133", "2R", "CPU2_DIMM_1", "▆▆", "16G", "2133", "2R",
        ]  # fmt: skip
    async with screen(told("unknown size")) as shown:
        await shown.press("6", "6")
        assert shown.line("?? ?")


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (HostNode(), "memory modules unknown: /sys/firmware/dmi/tables/DMI: not recorded"),
        (HostNode(later={1: [refused(TABLE, Outcome.DENIED, "needs root")]}), "memory modules unknown: denied"),
        (HostNode(memory=()), "NUMA nodes unknown: not recorded: numa"),
        (
            HostNode(memory=(), later={1: [Evidence("list:/sys/devices/system/node", Outcome.ABSENT)]}),
            "NUMA nodes unknown: not reported by this node",
        ),
    ],
)
async def test_what_is_not_there_is_told_in_a_line(node: HostNode, said: str) -> None:
    async with screen(node.session()) as shown:
        assert said in await shown.press("6", "6")
        await shown.press("j", "enter", "tab", "enter", "s", "6")


# --- nodes ---------------------------------------------------------------------------------------------------------


async def test_nodes_stand_against_what_is_near_to_them() -> None:
    async with screen(told("story"), (240, 60)) as shown:
        await shown.press("6")
        first, second, unknown = (shown.line(name) for name in ("▸node0", " node1 ", " unknown   "))
        assert first.split()[:2] == ["▸node0", "75"]
        assert "64G" in first
        assert " 50 " in first
        assert "82:00.0(15) 84:00.0(15)" in first
        assert "p1p1" in first
        assert " 10.0" in second
        assert " 25 " in second
        assert " 90 " in second
        assert "83:00.0(15) 85:00.0(15)" in second
        assert "p1p2" in second
        assert unknown.split()[:2] == ["unknown", "-"]
        assert "eth0" in unknown


async def test_where_names_do_not_fit_they_are_counted() -> None:
    async with screen(told("story")) as shown:
        await shown.press("6", "6")
        assert "2 HBAs, 30 disks" in shown.line("node1")


async def test_a_node_leads_to_its_facts() -> None:
    async with screen(told("story")) as shown:
        await shown.press("6", "6", "tab", "j")
        text = await shown.press("enter")
        assert "NUMA nodes" in text
        assert "21 10" in text
        fields = shown.app.screen.text()  # type: ignore[attr-defined]
        assert "10.0%" in next(line for line in fields.splitlines() if line.strip().startswith("Remote "))


@pytest.mark.parametrize(
    ("said", "listed"),
    [
        ("0-2,8", [0, 1, 2, 8]), ("5", [5]), ("", []), (None, None), ("x", None), ("1-", None), ("3-1", []),
        ("0-9999999", None), ("0-100000", None),
    ],
)  # fmt: skip
def test_lists_of_processors(said: str | None, listed: list[int] | None) -> None:
    assert cpus(said) == listed


@given(st.text(max_size=40) | st.from_regex(r"[0-9,-]{0,30}"))
def test_no_list_of_processors_is_too_much(said: str) -> None:
    assert len(cpus(said) or []) <= 1 << 14


async def test_hostile_names_do_no_harm() -> None:
    names = [name.encode("utf-8", "replace").decode().replace("\0", "")[:60] for name in NASTY]
    modules = [Module(name, 16384, bank=name[:9]) for name in names]
    made = Board(modules, cpus=("\x1b[31m" + NASTY[0], NASTY[1]))
    node = HostNode(made, boxes=boxes(1, 2), cards={"x\x1b[1m": 0})
    session = node.session(RULES)
    for ascii_only in (False, True):
        async with screen(session, WIDE, options=Options(ascii=ascii_only)) as shown:
            for keys in (("6",), ("6",), ("j", "j", "enter"), ("escape", "tab", "enter")):
                await shown.press(*keys)
                harmless(shown, ascii_only=ascii_only)


async def test_nothing_known() -> None:
    async with screen(Node().session(1)) as shown:
        await shown.press("6", "j", "tab", "6", "j", "tab", "k")
        assert "memory modules unknown" in shown.text()
        assert "NUMA nodes unknown" in shown.text()


async def test_lines_that_stay_free_show_processors_stalls_and_load_over_time() -> None:
    async with screen(story("vm-swap-storm").session, (160, 48)) as shown:
        text = await shown.press("6")
        for part in ("Processors, % of all", "busy 83.3", "Stalled tasks, % of the time", "mem 20.3",
                     "Load and tasks blocked on I/O", "blkd 6.0", "Dirty pages and writeback, MiB"):  # fmt: skip
            assert part in text
        colors = {style for line in shown.segments() for s in line if "busy 83.3" in s.text for style in roles(s.style)}
        assert "read" not in colors
