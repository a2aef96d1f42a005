"""The view of the fabric: a tree of HBAs, expanders and disks, what their links carry, and what is damaged."""

from __future__ import annotations

import functools

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Frame, Origin, Outcome
from sdstop.core.finding import Finding, Severity
from sdstop.core.session import Session
from sdstop.rules import RULES
from sdstop.tui.terminal import Options
from sdstop.tui.widgets.palette import plain
from tests.fixtures import story
from tests.nodes.block import Node, raid10, refused
from tests.nodes.fabric import FabricNode, boxes, names
from tests.nodes.zfs import STATUS, status, tree
from tests.tui.hostile import NASTY, harmless
from tests.tui.rules import says
from tests.tui.screens import LOW, SMALL, WIDE, Screen, roles, screen

HANGS = refused("list:/sys/block", Outcome.TIMEOUT, "hangs")


def two_boxes(*, again: bool = True) -> FabricNode:
    """Return two HBAs of eight disks: a disk's link gets errors, another is slow, a third does not come up."""
    found = boxes(2, 8)
    found[1].errors = {3: (168, 172, 5, 0), 9: (0, 0, 0, 12)}
    found[1].then = {3: (9168, 9172, 9, 1)}
    found[1].rates = {5: "6.0 Gbit", 9: "Link Rate failed"}
    found[1].link = ("8.0 GT/s PCIe", "4")
    return FabricNode(found, raid10("md0", [f"{disk}1" for disk in found[0].disks]), again=again)


@functools.cache
def told(*, again: bool = True) -> Session:
    """Return a session over the story, which the screen only reads."""
    return two_boxes(again=again).session(RULES)


def parted() -> FabricNode:
    """Return the same with an array on the first partitions."""
    node = two_boxes()
    for disk in node.boxes[0].disks:
        node.files[f"/sys/block/{disk}/{disk}1/partition"] = "1\n"
        node.files[f"/sys/block/{disk}/{disk}1/size"] = "1000\n"
    return node


def line(shown: Screen, name: str) -> str:
    """Return the tree's row of a device."""
    tree = shown.app.main.shown.main
    row = next(row for row in tree.rows if row.item.node.name == name)
    return plain(tree.row_line(row, tree.size.width))


# --- the tree ----------------------------------------------------------------------------------------------------


async def test_the_worst_hba_stands_first_with_its_expander_and_disks() -> None:
    async with screen(told(), WIDE) as shown:
        await shown.press("5")
        listed = [row.item.lead + row.item.node.name for row in shown.app.main.shown.main.rows]
        assert listed[:4] == ["0000:83:00.0", "└ expander-131:0", "  ├ sdl", "  ├ sdi"]
        assert listed[9:13] == ["  ├ sdp", "  └ phy-131:0:9", "0000:82:00.0", "└ expander-130:0"]
        assert len(listed) == 21


async def test_links_are_shown_as_they_are_and_as_they_can_be() -> None:
    async with screen(told(), WIDE) as shown:
        await shown.press("5")
        assert "8G x4/8G x8" in line(shown, "0000:83:00.0")
        assert "12G x4/12G x4" in line(shown, "expander-131:0")
        assert "bay 5  6G/12G " in line(shown, "sdn")
        assert "12G/12G" in line(shown, "sdo")
        assert "phy 9  down/12G" in line(shown, "phy-131:0:9")
        assert "Link Rate" in line(shown, "phy-131:0:9")
        assert "node1" in line(shown, "0000:83:00.0")


async def test_errors_in_all_and_new_ones() -> None:
    async with screen(told()) as shown:
        await shown.press("5")
        assert line(shown, "sdl").split()[-2:] == ["9005", "9172"]
        assert "NEW in 5m0" in shown.text()
        marked = [s for line in shown.segments() for s in line if s.text.strip() == "9005" and s.style]
        assert any("crit" in roles(s.style) for s in marked)


async def test_of_one_reading_nothing_is_new() -> None:
    async with screen(told(again=False), WIDE) as shown:
        text = await shown.press("5")
        assert "phys read at 14:13:20Z, NEW needs a second one" in text
        assert line(shown, "sdl").split()[-2:] == ["-", "172"]


async def test_what_moves_is_held_against_what_links_carry() -> None:
    session = told()
    async with screen(session, WIDE) as shown:
        text = await shown.press("5")
        assert "HBAs: possible load of the disks against the links" in text
        # Eight disks of 265 MB/s want 2.12 GB/s; of both links SAS carries less: four times 1.2 GB/s.
        assert "node0   8 disks  up to   2.0G of 4.5G   44.2% " in shown.line("0000:82:00.0 node0")
        budgets = [line for line in shown.lines() if " up to " in line and " now " in line]
        assert not any(line.endswith("…") for line in budgets)
        own = line(shown, "0000:82:00.0")
        disks = [line(shown, disk).split() for disk in two_boxes().boxes[0].disks]
        moved = sum(float(words[words.index("12G/12G") + 1].removesuffix("M")) for words in disks)
        assert f"   8   {moved:.1f} " in own
        assert f" {moved * 1048576 / 4.8e9 * 100:.0f} " in own
        assert "up to 44.2%" in own


async def test_one_hba_alone_has_its_budget_in_its_row() -> None:
    node = FabricNode(boxes(1, 4))
    async with screen(node.session(RULES), WIDE) as shown:
        text = await shown.press("5")
        assert "HBAs: possible load" not in text
        assert "up to 22.1%" in line(shown, "0000:82:00.0")


async def test_a_disk_is_called_after_the_array_that_it_carries_through_a_partition() -> None:
    async with screen(parted().session(RULES), WIDE) as shown:
        await shown.press("5")
        assert "md0 slot 0" in line(shown, "sda")
        assert "md0 slot 7" in line(shown, "sdh")
        assert "md0" not in line(shown, "sdi")


async def test_a_disk_is_called_after_the_vdev_of_the_pool_that_it_is_in() -> None:
    node = two_boxes(again=False)
    names_ = [(2, disk, "ONLINE") for disk in node.boxes[0].disks[:4]]
    node.files[STATUS] = status(tree((0, "tank", "ONLINE"), (1, "raidz2-0", "ONLINE"), *names_))
    async with screen(node.session(), WIDE) as shown:
        await shown.press("5")
        assert "tank raidz2-0" in line(shown, "sdc")
        assert "tank" not in line(shown, "sde")


async def test_a_filter_finds_bays_arrays_and_models_with_what_they_hang_on() -> None:
    async with screen(parted().session(RULES)) as shown:
        await shown.press("5", "/")
        text = await shown.type('"md0 slot 3"')
        assert [row.item.node.name for row in shown.app.main.shown.main.rows] == [
            "0000:82:00.0", "expander-130:0", "sdd",
        ]  # fmt: skip
        assert 'hit of "md0 slot 3"' in text
        await shown.press("escape", "/")
        await shown.type('"bay 7"')
        assert [row.item.node.name for row in shown.app.main.shown.main.rows][-1] == "sdh"
        await shown.press("escape", "/")
        await shown.type("MG07SCA14TA")
        assert len(shown.app.main.shown.main.rows) == 20


# --- the row under the cursor --------------------------------------------------------------------------------------


async def test_the_row_under_the_cursor_has_its_findings_facts_and_phys() -> None:
    async with screen(parted().session(RULES), WIDE) as shown:
        await shown.press("5")
        shown.app.main.shown.point("disk:sdl")
        text = await shown.press()
        assert "!CRIT phy-131:0:3 9000 invalid dwords" in text
        assert "MG07SCA14TA" in shown.line(" is   ")
        assert "SAS 12G of 12G" in text
        assert "from expander-131:0" in text
        assert "bay 3 of enclosure 0x500093d0016c0083" in text
        assert "no array or pool" in text
        assert "invalid 9168 +9000  disparity 9172 +9000  sync lost 9 +4  resets 1 +1" in text
        shown.app.main.shown.point("disk:sda")
        text = await shown.press()
        assert "md0 slot 0" in shown.line(" member ")
        assert "no errors" in shown.line("phy-130:0:0 ")
        assert "!CRIT" not in text


async def test_an_hba_has_its_link_and_its_phys() -> None:
    async with screen(told(), WIDE) as shown:
        text = await shown.press("5")
        assert "PCIe 8G x4 · both ends support 8G x8 (0000:80:03.0)" in text
        assert "mpt3sas · sas · 1000:0097 · on node1 · 8 disks · host131" in text
        assert "expander-131:0" in shown.line("phy-131:0 ")
        assert "not attached" in shown.line("phy-131:7")
        assert "*WARN 0000:83:00.0" in text
        assert "pcie-degra" in line(shown, "0000:83:00.0")


async def test_an_expander_lists_the_phys_that_are_not_as_they_should() -> None:
    async with screen(told(), WIDE) as shown:
        await shown.press("5")
        shown.app.main.shown.point("expander-131:0")
        text = await shown.press()
        assert "NEWISYS NDS-4602-CS" in text
        assert "port-131:0 of 4 phys" in text
        detail = [line[119:].split()[0] for line in shown.lines() if line[119:].strip().startswith("phy-131:0:")]
        assert detail == ["phy-131:0:3", "phy-131:0:5", "phy-131:0:9"]
        assert "6 more phys up at full rate without errors, 8 without link" in text


async def test_rows_lead_to_facts_and_to_raw_evidence_and_findings_to_why() -> None:
    async with screen(told(), WIDE) as shown:
        await shown.press("5")
        shown.app.main.shown.point("disk:sdl")
        text = await shown.press("enter")
        assert "Throughput, MiB/s" in text
        text = await shown.press("home", "enter")
        assert "Disk activity" in text
        assert "Disk paths" in text
        await shown.press("G")
        assert "Invalid dwords/s" in shown.text()
        shown.app.screen.query_one("Pane:focus").point(("sas_phy", "invalid_dwords"))  # type: ignore[attr-defined]
        text = await shown.press("enter")
        assert "/sys/class/sas_phy/phy-131:0:3/invalid_dword_count" in text
        assert "9168" in text
        await shown.press("escape", "escape", "escape", "tab")
        assert "Why !CRIT phy-131:0:3" in await shown.press("enter")
        await shown.press("escape")
        shown.app.screen.query_one("#fabric-detail").point(("phy", "phy-131:0:3"))  # type: ignore[attr-defined]
        text = await shown.press("enter")
        assert "phy-131:0:3  phy" in text
        assert "Why !CRIT" not in text
        assert "SAS phys" in await shown.press("enter")


# --- what is not there ---------------------------------------------------------------------------------------------


async def test_a_real_hba_that_says_nothing_of_its_ports_or_enclosures() -> None:
    async with screen(story("vm-sas-hba").session, WIDE) as shown:
        text = await shown.press("5")
        assert "2 HBAs · 9 disks" in text
        # Which phy leads to it is not told, and all bays are number 0 of no enclosure: neither is guessed.
        assert line(shown, "sde").split()[-5:] == ["-", "0.0", "-", "-", "-"]
        assert "bay" not in line(shown, "sde")
        assert "3G/3G" in shown.line("phy-8:0 ")
        assert "Link Rate failed" in shown.line("phy-8:2")
        assert not [row for row in shown.app.main.shown.main.rows if row.item.node.kind == "phy"]


async def test_a_machine_without_sas_has_its_disks_with_their_own_links() -> None:
    async with screen(story("vm-numa-one-dimm").session) as shown:
        text = await shown.press("5")
        assert "4 disks · no SAS phys" in text
        assert "node1  2.5G x1/2.5G" in line(shown, "nvme0n1")


@pytest.mark.parametrize(
    ("node", "live", "said"),
    [
        (Node(), False, "HBAs, SAS phys and disk paths not recorded"),
        (Node(later={1: [HANGS]}), False, "HBAs unknown: hba: timeout"),
        (Node(), True, "no PCI or SAS disks"),
    ],
)
async def test_nothing_is_told_in_a_line(node: Node, *, live: bool, said: str) -> None:
    async with screen(node.session(3, live=live)) as shown:
        text = await shown.press("5", "j", "enter", "left", "right", "z", "s", "tab")
        assert said in text


async def test_without_end_devices_disks_hang_on_their_expander_once() -> None:
    node = two_boxes(again=False)
    session = Session(Origin("n"), BUILTIN, ())
    for frame in node.frames():
        kept = tuple(item for item in frame.evidence if "/sas_device/end_device-" not in item.key)
        session.feed(Frame(frame.number, frame.taken, frame.monotonic, kept))
    async with screen(session, WIDE) as shown:
        text = await shown.press("5")
        assert "2 HBAs · 2 expanders · 16 disks" in text
        listed = [row.item.node.name for row in shown.app.main.shown.main.rows]
        assert len(listed) == len(set(listed))
        assert listed[:3] == ["0000:82:00.0", "expander-130:0", "sda"]


async def test_phys_alone_hang_on_hosts() -> None:
    node = two_boxes()
    session = Session(node.session().origin, [c for c in BUILTIN if c.name != "hba"], RULES)
    session.feed_all(node.frames())
    async with screen(session) as shown:
        text = await shown.press("5")
        assert "host131" in text
        assert "expander-131:0" in text
        assert "  end_device-1" in (await shown.press("z", "z")).replace("├ ", "  ")


# --- sizes, looks, names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "ascii_only"),
    [(LOW, True), (SMALL, False), (SMALL, True), ((120, 30), False), (WIDE, True), ((40, 8), True)],
)
async def test_it_fits_every_screen(size: tuple[int, int], *, ascii_only: bool) -> None:
    async with screen(told(), size, options=Options(ascii=ascii_only)) as shown:
        text = await shown.press("5")
        lines = shown.lines()
        assert len(lines) == size[1]
        assert max(map(len, lines)) <= size[0]
        assert "0000:83:00.0" in text
        harmless(shown, ascii_only=ascii_only)


async def test_severity_is_seen_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with screen(told()) as shown:
        await shown.press("5")
        assert line(shown, "sdl").startswith("!")
        assert not any(s.style and (s.style.color or s.style.bgcolor) for line in shown.segments() for s in line)


@pytest.mark.parametrize("ascii_only", [False, True])
async def test_hostile_names_do_no_harm(*, ascii_only: bool) -> None:
    node = two_boxes()
    node.boxes[0].model, node.boxes[1].model, node.boxes[0].product = (" ".join(NASTY[at::3]) for at in range(3))
    for phy, name in enumerate(NASTY):
        node.files[f"/sys/class/sas_phy/phy-131:{phy + 20}/negotiated_linkrate"] = name.replace("\n", " ")
    async with screen(node.session(RULES), WIDE, options=Options(ascii=ascii_only)) as shown:
        for keys in (("5",), ("j", "j"), ("G", "tab", "j"), ("enter",), ("escape", "tab"), ("enter",)):
            await shown.press(*keys)
            harmless(shown, ascii_only=ascii_only)


async def test_a_thousand_disks_are_folded_to_one_screen_with_what_is_wrong_in_sight() -> None:
    node = FabricNode(boxes(8, 125), again=False)
    bad = names(125, 6 * 125)[77]
    found = Finding(rule="phy-errors", severity=Severity.WARNING, subject="phy-136:0:77", cause="many")
    async with screen(node.session(says(found))) as shown:
        text = await shown.press("5")
        assert "8 HBAs · 8 expanders · 1000 disks" in text
        listed = [row.item.node.name for row in shown.app.main.shown.main.rows]
        assert listed[:3] == ["0000:88:00.0", "expander-136:0", bad]
        assert len(listed) == 17
        counts = []
        for _ in range(2):
            await shown.press("z")
            counts.append(len(shown.app.main.shown.main.rows))
        assert counts == [1016, 16]


async def test_the_lines_that_the_tree_leaves_show_the_load_behind_an_hba() -> None:
    async with screen(story("draid-one-dimm").session, (160, 48)) as shown:
        text = await shown.press("5")
        assert "0000:03:00.0: Disks together (15), MiB/s" in text
        assert "r 1572" in text
        assert "expander-10:0" in text
        text = await shown.press("down", "down")
        assert "0000:02:00.0: Disks together (15), MiB/s" in text
    async with screen(story("draid-one-dimm").session, (80, 24)) as shown:
        assert "Disks together" not in await shown.press("5")
