"""The fleet's screen: tables, sheets, keys, sizes, and what must not reach a terminal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from sdstop.analysis.comparison.outlier import Trait, outliers
from sdstop.core.config_error import ConfigError
from sdstop.core.finding import Severity
from sdstop.fleet.answer import LabeledSeries, QueryAnswer
from sdstop.fleet.picture import picture
from sdstop.fleet.state import FleetState, Key
from sdstop.fleet.watcher import NodePicture
from sdstop.tui.fleet.app import FleetDashboard
from sdstop.tui.fleet.sheets import DifferenceSheet, KeySheet, NodeSheet, help_lines
from sdstop.tui.terminal import Options
from sdstop.tui.widgets.keys import KeyBinding, keys_of
from sdstop.tui.widgets.pane import Pane
from sdstop.tui.widgets.table import LineTable
from tests.fleet.answers import ANSWERS, HOSTILE, node

URL = "http://prometheus.example:9090"
DIFFERS = tuple(outliers(Trait(f"n{at}", "mtu", "eth2", 1500 if at == 4 else 9000) for at in range(5)))
FLEET = replace(picture(ANSWERS, outliers=DIFFERS), asked=1_795_280_000.0, server="Prometheus 2.42.0", took=0.3)


class Fake:
    """Hands out pictures as they come to hand."""

    def __init__(self, *pictures: FleetState | Exception) -> None:
        self.pictures = list(pictures)
        self.asked: list[Key] = []

    def refresh(self) -> FleetState:
        told = self.pictures.pop(0) if len(self.pictures) > 1 else self.pictures[0]
        if isinstance(told, Exception):
            raise told
        return told

    def pause(self, interval: float) -> float:
        return interval

    def node(self, key: Key) -> NodePicture:
        self.asked.append(key)
        claims = (next(c for c in FLEET.findings if c.node == key),) if key == FLEET.findings[0].node else ()
        courses: dict[tuple[str, str], tuple[float | None, ...]] = {(HOSTILE, "critical"): (None, 1.0, 1.0)}
        return NodePicture(key, 1_795_280_000.0, claims, courses, ("sas",), {"phy-errors": 1}, (("Kernel", HOSTILE),))


Screen = Callable[[], str]


@contextlib.asynccontextmanager
async def shown(
    *pictures: FleetState | Exception, size: tuple[int, int] = (80, 24), options: Options | None = None
) -> AsyncIterator[tuple[FleetDashboard, Pilot[Any], Screen]]:
    """Run the screen until the first picture is painted."""
    watcher: Any = Fake(*(pictures or (FLEET,)))
    app = FleetDashboard(watcher, URL, 3600.0, options or Options(ascii=False))

    def screen() -> str:
        panes = [pane for pane in app.screen.query(Pane).results() if pane.display and pane.size]
        return "\n".join(pane.render_line(y).text for pane in panes for y in range(pane.size.height))

    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.main.tables["1"].rows or app.failure is not None)
        yield app, pilot, screen


async def until(pilot: Pilot[Any], done: Callable[[], object]) -> None:
    for _ in range(600):
        await pilot.pause()
        if done():
            return
        await asyncio.sleep(0.02)
    pytest.fail("it does not come")


async def test_nodes_and_every_table() -> None:
    async with shown() as (app, pilot, screen):
        assert "LIVE" in screen()
        assert "3 nodes   1 CRIT   3 ?UNKN" in screen()
        assert "target down" in screen()
        for key, word in (("2", "hot-stripe-member md0/sdb"), ("3", "delayed"), ("4", " 97 "),
                          ("5", "no longer scraped"), ("6", "MTU of eth2: 1500; 4 peers have 9000"),
                          ("!", "link-saturated")):  # fmt: skip
            await pilot.press(key)
            await pilot.pause()
            assert word in screen(), key
        await pilot.press("escape")
        assert app.main.shown == "1"


@pytest.mark.parametrize("options", [Options(ascii=True), Options(ascii=False, no_color=True)])
async def test_nothing_hostile_reaches_the_terminal(options: Options) -> None:
    async with shown(options=options, size=(200, 60)) as (app, pilot, screen):
        for keys in ((), ("enter",), ("escape", "!"), ("question_mark",)):
            await pilot.press(*keys)
            await pilot.pause(0.05)
            text = screen()
            assert "\x1b" not in text
            assert "\u202e" not in text
            if options.ascii:
                assert text.isascii()
        if options.no_color:
            assert app.palette.style(app.palette.severity(Severity.CRITICAL)).color is None


async def test_a_node_is_asked_for_when_it_is_opened() -> None:
    async with shown() as (app, pilot, screen):
        await pilot.press("enter")
        await until(pilot, lambda: "Kernel" in screen())
        assert isinstance(app.screen, NodeSheet)
        assert app.screen.key == ("sdstop", "c:10042")
        text = screen()
        for part in (
            "Active findings",
            "!CRIT link-saturated",
            "Failing sources",
            "phy-errors (1)",
            "ssh c sdstop",
        ):
            assert part in text
        await pilot.press("r")
        await until(pilot, lambda: len(app.poller._watcher.asked) == 2)  # type: ignore[attr-defined]
        await pilot.press("escape")
        assert "NODE" in screen()


async def test_a_difference_says_what_to_do() -> None:
    async with shown() as (app, pilot, screen):
        await pilot.press("6", "enter")
        await pilot.pause()
        assert isinstance(app.screen, DifferenceSheet)
        assert "Action" in screen()
        await pilot.press("question_mark")
        assert isinstance(app.screen, KeySheet)


async def test_filter_and_sort() -> None:
    async with shown() as (app, pilot, screen):
        await pilot.press("slash", *"scraped", "enter")
        await pilot.pause()
        assert [row.item.name for row in app.main.tables["1"].rows] == ["b", "d"]
        await pilot.press("escape")
        await pilot.press("s")
        await pilot.pause()
        assert [row.item.name for row in app.main.tables["1"].rows] == list("abcde")
        assert "filter" not in screen()


async def test_on_a_wide_screen_all_stand_side_by_side() -> None:
    async with shown(size=(200, 60)) as (_, pilot, screen):
        await pilot.pause()
        for title in ("Nodes", "Arrays", "Rebuilds", "Volumes", "Silent", "Differ"):
            assert f"─ {title} ─" in screen()
        assert "Prometheus 2.42.0, 0.3 s" in screen()


async def test_a_server_that_stops_answering_leaves_what_was_known() -> None:
    gone = FleetState(asked=1_795_280_030.0, troubles=("timed out after 15 s",), failed=True)
    async with shown(FLEET, gone) as (app, pilot, screen):
        await pilot.press("r")
        await until(pilot, lambda: "no answer for" in screen())
        assert "timed out after 15 s" in screen()
        assert "target down" in screen()
        assert app.picture is FLEET


async def test_a_server_that_never_answered_is_no_calm_fleet() -> None:
    async with shown(FleetState(troubles=("cannot be reached: Connection refused",), failed=True)) as (
        _,
        pilot,
        screen,
    ):
        await pilot.pause()
        assert "cannot be reached: Connection refused" in screen()
        assert "no data" in screen()
        assert "LIVE" not in screen()


async def test_partial_answers_stand_above_the_tables() -> None:
    told = replace(FLEET, warnings=("No StoreAPIs matched",), troubles=("skew: answers 422",), infos=("a remark",))
    async with shown(told) as (_, pilot, screen):
        await pilot.pause()
        for line in ("server warning: No StoreAPIs matched", "query failed: skew: answers 422"):
            assert line in screen()


async def test_settings_that_go_wrong_end_it() -> None:
    async with shown(ConfigError("/etc/sdstop/token: No such file")) as (app, pilot, _):
        await until(pilot, lambda: not app.is_running)
        assert isinstance(app.failure, ConfigError)
        assert app.return_code == 1


async def test_a_thousand_nodes_cost_what_is_seen() -> None:
    many = {
        "total": QueryAnswer(), "nodes": QueryAnswer(tuple(_age(at) for at in range(1000))),
    }  # fmt: skip
    async with shown(replace(picture(many), asked=1.0, total=5000)) as (app, pilot, screen):
        await pilot.pause()
        assert len(app.main.tables["1"].rows) == 500
        assert "worst 500 of 5000" in screen()


def _age(at: int) -> LabeledSeries:
    return LabeledSeries({"job": "sdstop", **node(f"m{at:04d}")}, ((1.0, 2.0),))


def test_the_help_names_every_key_that_is_bound() -> None:
    shown = {key for keys, _ in help_lines(FleetDashboard.BINDINGS) for key in keys.split()}
    tables = (FleetDashboard.BINDINGS, Pane.BINDINGS, LineTable.BINDINGS)
    assert shown == {name for table in tables for key in keys_of(table) for name in key.names}
    assert all(isinstance(binding, KeyBinding) for table in tables for binding in table)
