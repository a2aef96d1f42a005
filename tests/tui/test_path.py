"""The view of data paths: stages from client to disk, bars on one scale, the stage at its limit, two sentences."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet

from sdstop.analysis.path import data_path
from sdstop.analysis.path.stage import StageKind
from sdstop.analysis.path.subjects import path_subjects
from sdstop.core.session import Session
from sdstop.tui.scene import Scene
from sdstop.tui.terminal import Options
from sdstop.tui.views.limited_volume import limited_volumes
from sdstop.tui.widgets.palette import Palette
from tests.fixtures import story, twentieth, untimed
from tests.nodes.block import IDLE, Load, Node, raid10
from tests.tui.hostile import NASTY, harmless
from tests.tui.screens import LOW, SMALL, WIDE, Screen, roles, screen

MEMBERS = ("sda", "sdb", "sdc", "sdd")
SIZES = (LOW, SMALL, (120, 40), (160, 48), WIDE)


def told(name: str) -> Session:
    return story(name).session


def bars(shown: Screen) -> dict[str, str]:
    """Return the bar of each stage by the first word of its name."""
    lines = [row for row in shown.lines() if " ms go" not in row]
    return {line[2:].split()[0]: line for line in lines if len(line) > 2 and any(c in line for c in "█░▒#=.·")}


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_limit_is_the_brightest_bar_at_every_size(size: tuple[int, int]) -> None:
    async with screen(told("vm-cgroup-io-max"), size) as shown:
        text = await shown.press("9")
        assert "Path of vda for blocking" in text
        line = shown.line("limit 100 IOPS")
        assert line.startswith("*")  # the finding's mark, beside its color
        assert ">5.99" in line or ">6.00" in line
        assert line.count("█") > 2 * shown.line("  vda ").count("█") or size == LOW
        assert "At its limit: limit 100 IOPS" in text
        assert "adds at least" in text or size == LOW
        assert "host below" in text


async def test_an_unknown_stage_is_unknown_and_not_zero() -> None:
    async with screen(told("vm-cgroup-io-max"), SMALL) as shown:
        await shown.press("9")
        line = shown.line("host below")
        assert line.split()[2:7] == ["?", "?", "?", "?", "?"]
        assert "unknown" in line


async def test_no_requests_have_no_wait_and_no_bar() -> None:
    async with screen(Node((*MEMBERS, "md0"), lambda *_: IDLE, raid10("md0", MEMBERS)).session(8), SMALL) as shown:
        text = await shown.press("9")
        assert shown.line("md0 raid10").split()[2:] == ["0", "0.0", "0", "-", "-"]
        assert "No requests in the last seconds." in text


async def test_a_slow_member_wears_the_severity_and_its_array_leads_the_list() -> None:
    async with screen(told("slow-member"), (160, 48)) as shown:
        text = await shown.press("9")
        assert shown.line("sdd  ").startswith("*")
        assert "its peers take" in text
        assert "Slowest: sdd takes" in text
        found = (line for line in shown.segments() if "".join(s.text for s in line).startswith("* sdd"))
        painted = next(found)
        assert any("warn" in roles(s.style) for s in painted)


async def test_the_cursor_in_the_list_chooses_the_path() -> None:
    async with screen(told("aoe-flashcache"), (160, 48)) as shown:
        assert "Path of vmstore/vm01" in await shown.press("9")
        assert "Path of vmstore/vm02" in await shown.press("j")
        text = await shown.press("G")
        assert "Path of mail/spool" in text
        assert "shared with" not in text


async def test_a_stage_leads_to_its_facts() -> None:
    async with screen(told("slow-member"), WIDE) as shown:
        await shown.press("9", "tab", "j")
        assert "Throughput, MiB/s" in await shown.press("enter")
        assert "Disk activity" in await shown.press("enter")


async def test_the_waits_of_the_stages_are_drawn_over_time_on_one_scale() -> None:
    def loads(device: str, second: int) -> Load:
        late = second >= 30
        return Load(reads=100, wait=0.1 if late and device in {"md0", "sdd"} else 0.01)

    node = Node((*MEMBERS, "md0"), loads, raid10("md0", MEMBERS))
    async with screen(node.session(60), (160, 48)) as shown:
        text = await shown.press("9")
        graphs = text.split("Wait of a request at each stage")[1].split("─ Paths")[0].splitlines()
        assert "0 to 100 ms" in graphs[0]
        early, late = (sum(bool(line[a:b].strip()) for line in graphs[1:]) for a, b in ((30, 60), (130, 155)))
        assert early == 3  # the array, the slow disk, the others: a tenth of the scale
        assert late >= 12  # the array and the slow disk rise


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_only_what_a_finding_accuses_wears_its_color(size: tuple[int, int]) -> None:
    async with screen(told("half-slow"), size) as shown:
        text = await shown.press("9")
        assert "* 3 disks" not in text
        if size != LOW:
            assert {"sda", "sdb", "sdc"} <= {line[2:].split()[0] for line in shown.lines() if line.startswith("* ")}
            assert "Slowest: sda, sdb, sdc take 53.3 to 70.8 ms a request, their peers 11.8 ms." in text
            assert "means of" in text


async def test_the_disks_that_hang_are_apart_from_their_peers() -> None:
    async with screen(told("device-hung"), (160, 48)) as shown:
        text = await shown.press("9")
        assert "! sdf " in text
        assert "  7 disks" in text
        assert "Stuck: 16 requests in sdf." in text


async def test_a_stage_without_requests_has_no_wait_now() -> None:
    async with screen(told("device-hung"), (160, 48)) as shown:
        graphs = (await shown.press("9")).split("Wait of a request at each stage")[1].split("─ Paths")[0]
        last = [line for line in graphs.splitlines() if line[:27].strip() == "-"]
        assert len(last) == 3  # the array, the disk that hangs, and the others
        assert all("⣿" in line[27:60] and not line[80:].strip() for line in last)


async def test_a_pool_whose_waits_nobody_reports_shows_its_traffic() -> None:
    async with screen(told("scaleio-cloud"), (160, 48)) as shown:
        text = await shown.press("9")
        assert "rebalance of cloud1/sas10k: Throughput, MiB/s" in text
        assert "Wait of a request at each stage" not in text


async def test_the_list_keeps_its_lines_where_there_is_no_room_for_graphs() -> None:
    async with screen(told("aoe-flashcache"), SMALL) as shown:
        text = await shown.press("9")
        assert "Wait of a request" not in text
        assert text.count("vmstore/vm0") >= 4


async def test_figures_that_contradict_each_other_are_named() -> None:
    def loads(device: str, _: int) -> Load:
        return Load(reads=128, wait=0.01) if device == "md0" else Load(reads=2, wait=0.01)

    async with screen(Node((*MEMBERS, "md0"), loads, raid10("md0", MEMBERS)).session(20), SMALL) as shown:
        text = await shown.press("9")
        assert "Does not add up: md0 does 128 reads/s, its 4 parts 8" in text


async def test_ascii_has_only_ascii() -> None:
    async with screen(told("vm-cgroup-io-max"), SMALL, options=Options(ascii=True, version="9.9")) as shown:
        text = await shown.press("9")
        assert text.isascii()
        assert "#" in shown.line("limit 100 IOPS")


async def test_without_color_the_mark_remains() -> None:
    options = Options(ascii=False, no_color=True, version="9.9")
    async with screen(told("slow-member"), SMALL, options=options) as shown:
        await shown.press("9")
        assert shown.line("sdd  ").startswith("*")
        assert not any(s.style and (s.style.color or s.style.bgcolor) for line in shown.segments() for s in line)


async def test_the_volume_view_agrees_with_the_path() -> None:
    """A volume held back by its limit waits for the limit, not for the disks."""
    async with screen(told("vm-cgroup-io-max"), WIDE) as shown:
        await shown.press("8")
        line = shown.line("blocking read")
        assert ">8.3" in line
        assert ">6.0" in line
        assert line.count("▒") > line.count("█")


async def test_a_wait_that_follows_from_the_queue_is_marked_as_derived() -> None:
    """A real kernel's recording without its ticks: 228 ms in place of the 224 that they measured."""
    async with screen(untimed("vm-md-slow-member"), WIDE) as shown:
        text = await shown.press("9")
        assert "~23.9" in shown.line("md0 raid10")
        assert "~229" in shown.line("8 disks")
        assert text.count("wait derived from outstanding requests and rate") == 2
        assert "derived: 229 of 229 ms in 8 disks" in text
        assert "~" in shown.line("▸md0  ")  # in the list of paths, from the last sample
    async with screen(told("vm-md-slow-member"), WIDE) as shown:
        assert "derived" not in await shown.press("9")


async def test_hostile_names_are_harmless() -> None:
    device = f"sd{NASTY}".replace(" ", "").replace("\n", "")
    async with screen(Node((device,), lambda *_: Load(reads=5, wait=0.01)).session(5), SMALL) as shown:
        await shown.press("9")
        assert "Path of" in shown.text()
        harmless(shown)


def sized() -> Iterator[ParameterSet]:
    """Yield every story in every size; in each run, every twentieth story in one size."""
    for at, each in enumerate(twentieth(5)):
        for turn, size in enumerate(SIZES):
            slow = () if (at // 20 + turn) % len(SIZES) == 0 else (pytest.mark.slow,)
            yield pytest.param(*each.values, size, marks=(*each.marks, *slow))


@pytest.mark.parametrize(("name", "size"), [*sized()])
async def test_every_story_has_its_paths(name: str, size: tuple[int, int]) -> None:
    async with screen(told(name), size) as shown:
        text = await shown.press("9")
        assert not shown.app.guard.counts
        assert "cannot be shown" not in text
        assert "Path" in text


@pytest.mark.parametrize("name", ["vm-cgroup-io-max", "scaleio-cloud", "scaleio-tight", "scaleio-roomy"])
def test_each_limit_is_on_a_path_as_in_the_view_of_volumes(name: str) -> None:
    """Use, time at the limit and the parts of the wait: no volume waits for its disks in one view only."""
    session = told(name)
    scene = Scene(session.head(), session, Palette())
    window = scene.window
    stages = {
        stage.subject: stage
        for subject in path_subjects(window)
        for stage in data_path(window, subject).stages
        if stage.kind is StageKind.LIMIT
    }
    limited = [item for item in limited_volumes(scene) if item.limit is not None and item.known is not None]
    known = [item for item in limited if item.known.samples]  # type: ignore[union-attr]
    assert known
    for item in known:
        stage = stages[item.limit.subject]  # type: ignore[union-attr]
        share = max(item.iops_share or 0.0, item.bytes_share or 0.0)
        assert stage.used == pytest.approx(min(share, 1.0) if item.shared else share), item.name
        assert (stage.wait, stage.least) == (item.wait, item.least) if item.split and item.split.wait else True
        assert stage.own == (item.split.limit if item.split is not None else None)
        assert stage.below == (item.split.disks if item.split is not None else None)
        if not item.shared:
            assert stage.full == ((item.at_limit or 0.0) >= 0.5), item.name
    if name in {"vm-cgroup-io-max", "scaleio-cloud"}:
        assert any(stages[item.limit.subject].full for item in known)  # type: ignore[union-attr]


async def test_each_path_names_its_own_finding() -> None:
    async with screen(told("scaleio-cloud"), (160, 48)) as shown:
        await shown.press("9")
        assert "AT IOPS LIMIT" in shown.line("canary for")
        assert "AT BANDWIDTH LIMIT" in shown.line("web-data for")
