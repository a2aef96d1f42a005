"""The first screen: the cause in full, its picture, and what gives way at which size."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.finding import Value
from sdstop.core.headline import OK
from sdstop.core.session import Session
from sdstop.rules import RULES
from sdstop.tui.pictures import Picture
from sdstop.tui.views.measured import measures
from sdstop.tui.views.plan import Needs, arrange
from tests.fixtures import opened, sampled, story
from tests.nodes.block import Load, Node, raid10, refused
from tests.tui.first_screen import SIZES, check_first_screen, joined, panes, view
from tests.tui.members import BLIND, FINE, HUNG, SLOW, UNRECORDED, array_node, slow
from tests.tui.rules import says
from tests.tui.screens import LOW, SMALL, WIDE, FakeFeed, roles, screen

MAIN = ("clone-convoy", "aoe-flashcache", "draid-one-dimm", "scaleio-cloud", "scaleio-4node")
CALM = ("quiet-node", "busy-but-healthy")


@pytest.mark.parametrize("name", sampled([*MAIN, *CALM], 3))
async def test_nothing_essential_is_cut_and_no_pane_is_empty(name: str) -> None:
    async with screen(story(name).session) as shown:
        for size in SIZES:
            await shown.pilot.resize_terminal(*size)
            await shown.settled()
            check_first_screen(shown)
            assert max(map(cell_len, shown.lines())) <= size[0]


@pytest.mark.parametrize("name", CALM)
@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_a_healthy_screen_has_no_colour_of_severity(name: str, size: tuple[int, int]) -> None:
    async with screen(story(name).session, size) as shown:
        used = {role for line in shown.segments() for segment in line for role in roles(segment.style)}
        assert not used & {"crit", "warn", "critbg", "warnbg"}
        assert "read" in used


@pytest.mark.parametrize(
    ("name", "title", "inside"),
    [
        ("clone-convoy", "md0: queue per mirror pair", ["sdac-sdaf", "100%"]),
        ("aoe-flashcache", "Frames against cache blocks", ["4096", "3584", "bypass 92"]),
        ("draid-one-dimm", "Memory channels", ["A 16G 2133", "B empty", "34 have", "48 needed"]),
    ],
)
@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_the_picture_proves_the_first_finding(
    name: str, title: str, inside: list[str], size: tuple[int, int]
) -> None:
    async with screen(story(name).session, size) as shown:
        lines = panes(shown)["picture"][3]
        assert title in lines[0]
        assert all(part in "\n".join(lines[1:]) for part in inside), shown.text()


async def test_the_clusters_are_on_the_first_screen_of_their_nodes() -> None:
    async with screen(story("scaleio-cloud").session, SMALL) as shown:
        assert "12/12 nodes" in shown.text()
        assert not any(line.split()[-4:] == ["-"] * 4 for line in shown.lines() if line.split())
    async with screen(story("scaleio-4node").session, (160, 48)) as shown:
        assert "nvme" in shown.text()
        assert "block devices" not in shown.text()


async def test_the_finding_under_the_cursor_swaps_picture_and_numbers_and_nothing_else_moves() -> None:
    async with screen(story("scaleio-cloud").session, (160, 48)) as shown:
        before = {name: pane[:3] for name, pane in panes(shown).items()}
        titles = {panes(shown)["picture"][3][0]}
        keys = {view(shown).chosen.entry.key}  # type: ignore[union-attr]
        for _ in range(4):
            await shown.press("down")
            after = {name: pane[:3] for name, pane in panes(shown).items()}
            assert (after["cause"], after["picture"][:2]) == (before["cause"], before["picture"][:2])
            titles.add(panes(shown)["picture"][3][0])
            chosen = view(shown).chosen
            assert chosen is not None
            keys.add(chosen.entry.key)
            assert chosen.entry.title in panes(shown)["cause"][3][0] + shown.text()
        assert len(keys) == 5
        assert len(titles) > 1
        await shown.press("home")
        assert panes(shown)["picture"][3][0] in titles
        assert "Why" in await shown.press("enter")


async def test_the_last_of_many_findings_can_be_reached() -> None:
    many = [replace(SLOW, subject=f"md0/sd{letter}") for letter in "abcdefghij"]
    async with screen(array_node(slow).session(6, says(*many)), LOW) as shown:
        assert "more finding" in shown.text()
        text = await shown.press(*["down"] * 9)
        chosen = view(shown).chosen
        assert chosen is not None
        assert chosen.entry.subject in text
        assert await shown.press("down") == text


async def test_a_quiet_node_is_not_called_good_without_a_look() -> None:
    async with screen(Node().session(3, says(FINE))) as shown:
        assert "no findings in the recorded data" in shown.text()
        assert "1 check passed" in shown.text()
        assert "md0: queue is even over 3 columns" in shown.text()


async def test_a_device_whose_state_was_not_recorded_is_not_called_good() -> None:
    origin, frames = opened("iostat-only")
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)  # without the samples of iostat's intervals, there is no finding
    async with screen(session) as shown:
        assert "no problem found" not in shown.lines()[0]
        text = shown.text()
        assert "state not recorded: md0 (mdraid)" in text
        assert "  ok " not in text


async def test_what_is_unknown_is_on_the_first_screen() -> None:
    session = Node(later={2: [refused("/proc/mdstat")]}).session(3, says(HUNG, SLOW, BLIND), name="storage-07")
    async with screen(session, (120, 40)) as shown:
        assert "!CRIT DEVICE HUNG" in shown.text()
        assert "*WARN SLOW STRIPE MEMBER" in shown.text()
        assert "failed: /proc/mdstat: denied, although" in shown.line("?UNKN NO USABLE DATA mdraid")


async def test_what_nobody_recorded_takes_no_line_of_a_live_node() -> None:
    async with screen(Node().session(3, says(FINE, UNRECORDED))) as shown:
        assert "1 rule not applicable or not recorded" in shown.text()
    feed = FakeFeed([])
    async with screen(Node().session(3, says(FINE, UNRECORDED), live=True), frames=feed) as shown:
        assert "not applicable or not recorded" not in shown.text()


async def test_devices_are_folded_and_those_that_differ_have_a_line() -> None:
    async with screen(array_node(slow).session(6, says(SLOW)), (120, 40)) as shown:
        text = shown.text()
        assert "Disks, folded by likeness" in text
        assert shown.line("*  sdb")
        assert shown.line("   sdc ").split()[1:8] == ["50", "50", "0.2", "0.2", "60.0", "60.0", "99%"]
        assert "4 disks alike" in text or "4 others" in text
    quiet = Node(
        ("sda", "sdb", "sdc", "sdd", "sde", "md0"),
        lambda *_: Load(10, 10, busy=0.1),
        raid10("md0", ("sda", "sdb", "sdc", "sdd")),
    )
    async with screen(quiet.session(6), (120, 40)) as shown:
        assert "4 disks alike" in shown.text()


async def test_a_device_leads_to_its_page() -> None:
    async with screen(array_node(slow).session(3), (120, 40)) as shown:
        await shown.press("tab", "j", "enter")
        assert "sdc" in shown.text()
        assert "Disks, folded" not in shown.text()


async def test_a_member_that_failed_is_told_in_every_list_of_devices() -> None:
    async with screen(story("md-degraded").session, (120, 40)) as shown:
        assert "faulty" in shown.line("*  sde")
        await shown.press("2")
        assert shown.line("*sde").endswith(" faulty")


async def test_a_wide_screen_shows_the_numbers_and_who_does_the_io() -> None:
    processes = [
        {"pid": 41, "name": "qemu", "started": 1.0, "user": "root", "cmdline": "qemu -m 8G", "read_bytes": n << 20,
         "write_bytes": n << 22}
        for n in (0, 10)
    ]  # fmt: skip
    later = {
        n + 1: [Evidence("answer:psutil.processes", data=json.dumps([p]).encode())]
        for n, p in ((0, processes[0]), (5, processes[1]))
    }
    async with screen(Node(loads=slow, later=later).session(6, says(HUNG)), WIDE) as shown:
        assert "> 20s" in joined(panes(shown)["measured"][3])
        assert "smartctl -x /dev/sdc" in shown.text()
        assert "QUEUE, 60 s" in shown.text()
        assert " 2.0M" in shown.line("qemu -m 8G")
        assert " 8.0M" in shown.line("qemu -m 8G")


async def test_the_last_good_numbers_of_a_failing_source_are_marked_stale() -> None:
    node = Node(loads=slow, later={5: [refused("/proc/diskstats", Outcome.TIMEOUT, "hung since 4 s")]})
    session = node.session(3)
    frames = node.frames(4)
    session.feed(type(frames[4])(5, frames[4].taken, frames[4].monotonic, tuple(node.later[5])))
    async with screen(session, (120, 40)) as shown:
        assert "~sda" in shown.text()
        assert "timeout: /proc/diskstats: hung since 4 s" in shown.text()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("others", [0, 1, 9])
@pytest.mark.parametrize("devices", [0, 3, 40])
@pytest.mark.parametrize("steps", [(), (3,), (4, 9, 24)])
def test_all_lines_are_shared_out_and_the_cause_comes_first(
    size: tuple[int, int], others: int, devices: int, steps: tuple[int, ...]
) -> None:
    picture = Picture("", lambda *_: [], steps) if steps else None
    second = Picture("", lambda *_: [], tuple(range(4, 13)))
    width, height = size[0], size[1] - 3
    plan = arrange(width, height, Needs((4, 5, 6), others, 5, picture, second, True, devices, 3))  # noqa: FBT003
    beside = width >= 110 and plan.devices
    below = max(plan.devices, plan.who) if beside else plan.devices + plan.who
    assert plan.health + plan.cause + plan.picture + plan.second + plan.strip + below == height
    assert plan.cause >= min(4, height)
    assert all(lines == 0 or lines > 1 for lines in (plan.picture, plan.second, plan.strip, plan.devices, plan.who))


def test_a_threshold_is_marked_and_what_is_beyond_it_is_accused() -> None:
    values = (
        Value("a", "requests past the cache", 0.92, "ratio", above=0.2), Value("b", "channels", 1, of=4),
        Value("c", "hits", 0.6, "ratio"), Value("d", "nodes up", 2, below=3), Value("e", "word", "off"),
    )  # fmt: skip
    found = {each.title: each for each in measures(replace(HUNG, values=values))}
    assert found["requests past the cache"].accused
    assert (found["requests past the cache"].share, found["requests past the cache"].mark) == (0.92, 0.2)
    assert (found["channels"].against, found["channels"].share, found["channels"].accused) == ("of 4", 0.25, False)
    assert (found["hits"].share, found["hits"].mark, found["hits"].accused) == (0.6, None, False)
    assert found["nodes up"].accused
    assert found["word"].share is None


@pytest.mark.parametrize("name", ["bond-both-slaves", "busy-but-healthy"])
async def test_the_state_counts_the_rules_as_the_first_line_does(name: str) -> None:
    async with screen(story(name).session, (160, 48)) as shown:
        without = shown.lines()[0].split()[-2]
        assert f"{without} rules not applicable or not recorded" in shown.text()


async def test_rules_that_need_more_samples_leave_nothing_unknown() -> None:
    origin, frames = opened("server-even")
    session = Session(origin, BUILTIN, RULES)
    for frame in frames[:3]:
        session.feed(frame)
    async with screen(session, (160, 48)) as shown:
        assert " no problem found   2 ? " in shown.line("db7")
        assert "?    device-saturated: collecting data: 2 of 8 samples" in shown.text()


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_a_device_that_no_rule_can_judge_is_named_first_and_the_node_is_not_called_good(
    size: tuple[int, int],
) -> None:
    async with screen(story("san-healthy").session, size) as shown:
        assert " no findings   1 ? " in shown.lines()[0]
        assert "  ok " not in shown.text()
        assert "   ?    device-hung: I/O accounting is off (queue/iostats = 0)" in shown.text()


async def test_the_screen_of_a_node_without_findings_agrees_with_the_check() -> None:
    """A recording whose samples are too far apart for two rules is no node with an unknown state."""
    session = story("aoe-flashcache-8700").session
    async with screen(session, (160, 48)) as shown:
        assert shown.app.scene is not None
        assert shown.app.scene.headline.code == OK
        assert shown.line("no findings in the recorded data")
        assert "?    2 rules: samples are 5 s apart; a moving queue shows at about 1 s only" in shown.text()
        assert "UNKN" not in shown.text()
