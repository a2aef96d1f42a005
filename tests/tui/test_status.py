"""The first line of the screen and the tabs: counts as chips, names of views at every width."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.tui.status import tabs_line
from sdstop.tui.views import VIEWS
from sdstop.tui.widgets.palette import plain
from tests.fixtures import story
from tests.nodes.block import Node, refused
from tests.tui.rules import says
from tests.tui.screens import LOW, SMALL, roles, screen

HUNG = Finding(rule="device-hung", severity=Severity.CRITICAL, subject="sdc", cause="sdc answers nothing.")
SLOW = Finding(rule="slow-stripe-member", severity=Severity.WARNING, subject="md0/sdb", cause="sdb is slow.")
FINE = RuledOut("md0", "queue is even over 3 columns", rule="stripe-convoy")
BLIND = Unchecked("diskstats: denied, needs root", rule="hot-stripe-member")
UNRECORDED = Unchecked("dmcache: not recorded in this capture", calm=True, rule="cache-errors")


async def test_findings_are_chips_and_checks_are_numbers() -> None:
    session = Node(later={2: [refused("/proc/mdstat")]}).session(3, says(HUNG, SLOW, BLIND), name="storage-07")
    async with screen(session) as shown:
        first = shown.lines()[0]
        assert first.startswith(" storage-07   REPLAY 14:13:23Z")
        assert first.endswith(" 1 CRIT   1 WARN   3 ?  0 pass  0 n/a")
        chips = {s.text: roles(s.style) for s in shown.segments()[0]}
        assert "critbg" in chips[" 1 CRIT "]
        assert "warnbg" in chips[" 1 WARN "]
        assert "playbg" in chips[" REPLAY 14:13:23Z "]


async def test_a_quiet_node_has_a_neutral_chip() -> None:
    async with screen(Node().session(3, says(FINE, UNRECORDED))) as shown:
        assert shown.lines()[0].endswith(" no problem found   0 ?  1 pass  1 n/a")
        chip = next(s for s in shown.segments()[0] if "no problem found" in s.text)
        assert "playbg" in roles(chip.style)
        used = {role for s in shown.segments()[0] for role in roles(s.style)}
        assert not used & {"crit", "warn", "critbg", "warnbg"}


async def test_a_moment_without_a_sample_is_not_called_good() -> None:
    session = Node().session(3, says(FINE, UNRECORDED))
    session.origin = replace(session.origin, late="no sample at the time chosen: the newest is 40s older")
    async with screen(session) as shown:
        assert "no problem found" not in shown.lines()[0]
        assert "   1 ?  1 pass" in shown.lines()[0]
        assert any("no sample at the time chosen: the newest is 40s older" in line for line in shown.lines()[1:12])


@pytest.mark.parametrize("verdicts", [(FINE, BLIND), (BLIND,), ()])
async def test_a_node_that_was_not_seen_whole_is_not_called_good(verdicts: tuple[Unchecked | RuledOut, ...]) -> None:
    async with screen(Node().session(3, says(*verdicts))) as shown:
        assert "no problem found" not in shown.lines()[0]


async def test_where_no_rule_had_data_nothing_is_called_good() -> None:
    async with screen(Node().session(3, says())) as shown:
        assert "nothing checked" in shown.lines()[0]


LOADED = RuledOut("load", "20 tasks waiting for I/O in each sample; explained by device-saturated:sda",
                  rule="load-unexplained")  # fmt: skip
SATURATED = Finding(rule="device-saturated", severity=Severity.INFO, subject="sda", cause="sda is at its limit.")


async def test_a_load_that_findings_account_for_has_a_chip() -> None:
    async with screen(Node().session(3, says(SATURATED, LOADED))) as shown:
        assert " load explained   1 info  0 ?" in shown.lines()[0]
        assert "no problem found" not in shown.lines()[0]
    async with screen(Node().session(3, says(HUNG, LOADED)), (120, 40)) as shown:
        assert " 1 CRIT   load explained " in shown.lines()[0]
    async with screen(Node().session(3, says(SATURATED, FINE))) as shown:
        assert "load explained" not in shown.text()


async def test_on_a_low_screen_passed_checks_give_way_and_findings_stay() -> None:
    async with screen(Node().session(3, says(HUNG, SLOW, FINE)), LOW) as shown:
        assert shown.lines()[0].endswith(" 1 CRIT   1 WARN   0 ?")


@pytest.mark.parametrize("entry", VIEWS, ids=lambda entry: entry.name)
def test_all_tabs_have_names_at_80_columns(entry: object) -> None:
    for width in (80, 100, 120, 160, 200):
        line = plain(tabs_line(entry, width))  # type: ignore[arg-type]
        assert cell_len(line) <= width
        for each in VIEWS:
            names = (f"{each.key} {each.title}", f"{each.key} {each.short}")
            assert each.spare or any(name in line for name in names if not name.endswith(" ")), (width, line)


async def test_the_visible_view_is_a_chip() -> None:
    async with screen(Node().session(2), SMALL) as shown:
        for key, name in (("1", " 1 All "), ("4", " 4 Net "), ("0", " 0 Raw "), ("!", " ! Find ")):
            await shown.press(key)
            chip = "".join(s.text for s in shown.segments()[1] if "tabbg" in roles(s.style))
            assert chip == name


async def test_on_a_narrow_screen_the_name_comes_before_an_unknown_time() -> None:
    async with screen(story("memory-mixed-modules").session, (60, 15)) as shown:
        assert shown.lines()[0].startswith(" memory-mixed")
    async with screen(story("memory-mixed-modules").session) as shown:
        assert "REPLAY time unknown" in shown.lines()[0]
