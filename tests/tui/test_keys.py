"""What keys do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from sdstop.capture.reader import open_capture
from sdstop.core.evidence import Cite, Origin
from sdstop.core.finding import Finding, Severity, Value
from sdstop.core.rule import Rule
from sdstop.core.session import Session
from sdstop.exporters.capture import CaptureWriter, conclusions
from sdstop.tui.commands import BOUND, HINTS, KEYS
from sdstop.tui.terminal import Depth, Options
from sdstop.tui.widgets.keys import KeyBinding, keys_of
from sdstop.tui.widgets.pane import Pane
from sdstop.tui.widgets.roles import ROLES
from sdstop.tui.widgets.table import LineTable
from sdstop.tui.widgets.tree import TreeTable
from tests.nodes.block import Load, Node
from tests.tui.rules import begun_between
from tests.tui.screens import WIDE, FakeFeed, Screen, roles, screen

DISKS = ("sda", "sdb", "sdc", "nvme0n1")


def busy(device: str, second: int) -> Load:
    return Load(reads=10 * (DISKS.index(device) + 1), queue=float(second), busy=0.5)


def live_node(seconds: int = 20) -> tuple[Node, FakeFeed]:
    node = Node(DISKS, busy)
    return node, FakeFeed(node.frames(seconds))


async def arrive(shown: Screen, count: int = 1) -> str:
    """Let frames come in."""
    return await shown.arrive(count)


def session_of(node: Node) -> object:
    session = node.session(0, live=True)
    return type(session)(session.origin, session.collectors, [begun_between(4, 6)], remember=900)


# --- time -------------------------------------------------------------------------------------------------


async def test_pause_holds_the_moment_while_frames_go_on_being_recorded() -> None:
    node, feed = live_node()
    async with screen(session_of(node), WIDE, frames=feed) as shown:  # type: ignore[arg-type]
        await arrive(shown, 3)
        assert all(part in shown.lines()[0] for part in (" LIVE 14:13:22Z ", "  2026-09-21", "every 1 s"))
        await shown.press("space")
        text = await arrive(shown, 5)
        assert " PAUSED 14:13:22Z -5.0s " in text.splitlines()[0]
        assert "still recording" in text
        assert len(shown.app.session.timeline.frames) == 8
        banner = next(s for line in shown.segments() for s in line if "PAUSED" in s.text)
        assert {"playbg", "playfg"} <= roles(banner.style)
        text = await shown.press("space")
        assert "LIVE 14:13:27Z" in text


async def test_stepping_back_pauses_and_newest_returns() -> None:
    node, feed = live_node()
    async with screen(session_of(node), frames=feed) as shown:  # type: ignore[arg-type]
        await arrive(shown, 8)
        assert "PAUSED 14:13:25Z -2.0s" in await shown.press("T", "T")
        assert "14:13:26Z -1.0s" in await shown.press("t")
        assert "14:13:27Z" in await shown.press("t")
        assert "newest frame" in (await shown.press("t")).splitlines()[-1]
        assert "LIVE 14:13:27Z" in await shown.press("L")
        await shown.press(*["T"] * 7)
        assert "oldest frame" in (await shown.press("T")).splitlines()[-1]


async def test_branch_to_a_time_and_what_no_time_is() -> None:
    async with screen(Node(DISKS, busy).session(30)) as shown:
        await shown.press("b")
        assert " time, UTC " in shown.lines()[-1]
        assert "14:13:40Z -10s" in await shown.type("-10")
        await shown.press("b")
        assert "14:13:45Z -5.0s" in await shown.type("14:13:45")
        await shown.press("b")
        assert "invalid time; use 13:58" in await shown.type("soon")
        await shown.press("b")
        assert "14:13:45Z" in await shown.press("5", "escape")


async def test_a_time_outside_of_the_frames_is_said() -> None:
    async with screen(Node(DISKS, busy).session(30), WIDE) as shown:
        await shown.press("b")
        text = await shown.type("14:13:00")
        assert "frame 1 of 31" in text
        assert "nothing before 14:13:20, the oldest frame" in text.splitlines()[-1]
        await shown.press("b")
        text = await shown.type("+1h")
        assert "frame 31 of 31" in text
        assert "nothing after 14:13:50, the newest frame" in text.splitlines()[-1]
        await shown.press("b")
        assert "nothing" not in (await shown.type("14:13:30")).splitlines()[-1]


async def test_an_event_that_was_reached_is_named() -> None:
    async with screen(Node(DISKS, busy).session(30, [begun_between(4, 6)]), WIDE) as shown:
        text = await shown.press("E")
        assert "14:13:26Z" in text
        assert text.splitlines()[-1].strip() == "odd node ended"
        text = await shown.press("E")
        assert "14:13:23Z" in text
        assert "odd in frame 4" in text
        assert text.splitlines()[-1].strip() == "odd node began"
        assert "no earlier event" in await shown.press("E")
        assert (await shown.press("e")).splitlines()[-1].strip() == "odd node ended"


async def test_a_capture_plays_from_its_beginning_at_a_multiple_of_its_speed() -> None:
    async with screen(Node(DISKS, busy).session(90), WIDE) as shown:
        app = shown.app
        app.ticking.pause()

        async def passed(seconds: float) -> str:
            app.playback.advance(seconds)
            app.paint()
            return await shown.press()

        text = await shown.press("space")
        assert "frame 1 of 91" in text
        assert "playing 1x" in text
        assert "frame 1 of 91" in await passed(0.5)
        assert "frame 2 of 91" in await passed(0.5)
        text = await shown.press("plus")
        assert "playing 10x" in text
        assert "playback at 10x" in text.splitlines()[-1]
        assert "frame 12 of 91" in await passed(1.0)
        assert "playing 60x" in await shown.press("plus", "plus")
        assert "frame 72 of 91" in await passed(1.0)
        text = await shown.press("space")
        assert "playing" not in text
        assert "frame 72 of 91" in await passed(1.0)
        await shown.press("space", "minus", "minus", "minus")
        assert "frame 73 of 91" in await passed(1.0)
        app.playback.speed = 60.0
        text = await passed(1.0)
        assert "frame 91 of 91" in text
        assert "playing" not in text


async def test_a_capture_plays_by_itself() -> None:
    async with screen(Node(DISKS, busy).session(90)) as shown:
        await shown.press("plus", "plus", "space")
        for _ in range(600):
            if shown.app.playhead.at_end:
                break
            await asyncio.sleep(0.02)
        assert "14:14:50Z" in await shown.press()


async def test_the_interval_is_the_feeds() -> None:
    node, feed = live_node()
    async with screen(session_of(node), frames=feed) as shown:  # type: ignore[arg-type]
        await arrive(shown, 2)
        assert "interval 2 s" in await shown.press("plus")
        await shown.press("minus", "minus", "minus")
        assert feed.interval == 0.5
    async with screen(node.session(2)) as shown:
        assert "playback at 10x; Space plays" in await shown.press("plus")


async def test_a_silent_sampler_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    node, feed = live_node()
    async with screen(session_of(node), frames=feed) as shown:  # type: ignore[arg-type]
        await arrive(shown, 2)
        shown.app._heard -= 70
        shown.app._watch()
        assert "no data for 1m" in await shown.press()
        assert "LIVE" in await arrive(shown, 1)


# --- rows -------------------------------------------------------------------------------------------------


async def test_filter_narrows_as_it_is_typed_and_escape_clears_it() -> None:
    async with screen(Node(DISKS, busy).session(3)) as shown:
        await shown.press("2", "slash", "n", "v")
        assert "nvme0n1" in shown.text()
        assert " sda " not in shown.text()
        text = await shown.press("enter")
        assert "1 hit of nv" in text
        assert "4 hits: 1 Disks, 1 Host, 1 Path, 1 Readings" in text
        text = await shown.press("escape")
        assert "sda " in text
        assert "Arrays and disks" in text
        assert "nothing checked" in await shown.press("escape")


async def test_giving_a_filter_up_shows_all() -> None:
    async with screen(Node(DISKS, busy).session(3)) as shown:
        text = await shown.press("2", "slash", "x", "escape")
        assert "sda " in text


async def test_letters_of_a_filter_are_no_commands() -> None:
    async with screen(Node(DISKS, busy).session(3)) as shown:
        await shown.press("slash", "q", "2", "space", "question_mark")
        assert shown.app.is_running
        assert " /  q2 ?" in shown.lines()[-1]
        assert 'invalid pattern "?": nothing to repeat' in shown.lines()[-1]
        assert "nothing checked" in shown.text()
        await shown.press("ctrl+u", "left", "right", "home", "end", "backspace")
        assert " /  " not in shown.lines()[-1]


async def test_matches_can_be_gone_through() -> None:
    async with screen(Node(DISKS, busy).session(3), (100, 30)) as shown:
        await shown.press("2", "slash", *"^sd", "enter")
        table = shown.app.main.table()
        seen = []
        for _ in range(4):
            await shown.press("n")
            seen.append(table.cursor)
        assert [key[1] for key in seen if isinstance(key, tuple)] == ["sdb", "sdc", "sdc", "sdc"]
        assert shown.app.main.entry.name == "path"  # the hits of other views follow
        await shown.press("N", "N")
        assert (shown.app.main.entry.name, table.cursor) == ("disks", ("", "sdc"))
        await shown.press("escape", "N")
        assert table.cursor == ("", "sdb")  # of the last search


async def test_sorting_by_name_and_by_key() -> None:
    async with screen(Node(DISKS, busy).session(3), WIDE) as shown:
        await shown.press("2", "colon")
        await shown.type("sort reads")
        order = [row.key[1] for row in shown.app.main.table().rows if isinstance(row.key, tuple)]
        assert order == ["nvme0n1", "sdc", "sdb", "sda"]
        await shown.press("I")
        order = [row.key[1] for row in shown.app.main.table().rows if isinstance(row.key, tuple)]
        assert order == ["sda", "sdb", "sdc", "nvme0n1"]
        await shown.press("colon")
        assert 'unknown column "nonsense"; valid: ' in await shown.type("sort nonsense")
        await shown.press("colon")
        assert 'unknown column "awiat"; did you mean "await"?' in await shown.type("sort awiat")
        for heading in ("%util", "aqu", "r/s", "queue"):
            await shown.press("colon")
            await shown.type(f"sort {heading}")
            assert shown.app.main.table().sort == {"%util": "busy", "aqu": "queue", "r/s": "reads"}.get(
                heading, heading
            )


# --- screens ----------------------------------------------------------------------------------------------


async def test_every_view_has_its_key_and_says_when_there_is_nothing() -> None:
    async with screen(Node().session(2)) as shown:
        for key, said in (("5", "HBAs, SAS phys"), ("7", "no cluster found"), ("8", "no volume or limit found")):
            assert said in await shown.press(key)
        assert "nothing checked" in await shown.press("1")


async def test_a_view_can_be_asked_for_from_a_sheet() -> None:
    async with screen(Node().session(2)) as shown:
        assert "Help" in await shown.press("question_mark")
        assert "Help" in await shown.press("f1")
        assert "Interfaces" in await shown.press("4")
        assert len(shown.app.screen_stack) == 1


def test_help_names_every_key_that_is_bound() -> None:
    shown = {key for _, rows in KEYS for keys, _ in rows for key in keys.split()}
    tables = (BOUND, Pane.BINDINGS, LineTable.BINDINGS, TreeTable.BINDINGS)
    bound = {name for table in tables for key in keys_of(table) for name in key.names}
    assert all(isinstance(binding, KeyBinding) for table in tables for binding in table)
    assert bound == shown
    for key in "123456780!/nNsSIyteETbLwacmq?:+-[]gGjkhlz":
        assert key in shown, key
    for word in ("Enter", "Esc", "Backspace", "Tab", "Space", "Ctrl-C", "PgUp", "PgDn", "F1", "F10"):
        assert word in shown


async def test_what_the_last_line_names_is_bound_and_in_order() -> None:
    assert HINTS[:4] == (("?", "help"), ("/", "find"), ("s", "sort"), ("Enter", "why"))
    async with screen(Node().session(2), WIDE) as shown:
        for keys, word in HINTS:
            assert f"{keys} {word}" in shown.lines()[-1]


async def test_commands_by_name_and_their_completion() -> None:
    async with screen(Node().session(2)) as shown:
        await shown.press("colon", "n", "e", "t", "tab")
        assert "network" in shown.lines()[-1]
        assert "Interfaces" in await shown.press("enter")
        await shown.press("colon")
        assert 'unknown command "nonsense"; Tab completes' in await shown.type("nonsense")
        await shown.press("colon")
        assert 'unknown command "nework"; did you mean "network"?' in await shown.type("nework")
        await shown.press("colon")
        await shown.type("quit")
        assert shown.app.return_code == 0


@pytest.mark.parametrize("key", ["q", "ctrl+c", "f10"])
async def test_quitting(key: str) -> None:
    async with screen(Node().session(2)) as shown:
        await shown.pilot.press(key)
        assert shown.app.return_code == 0


async def test_ascii_and_colour_can_be_switched() -> None:
    async with screen(Node(DISKS, busy).session(3, [begun_between(1, 9)])) as shown:
        assert not shown.text().isascii()
        assert (await shown.press("a")).isascii()
        assert any("warn" in roles(s.style) for line in shown.segments() for s in line)
        assert not any("crit" in roles(s.style) for line in shown.segments() for s in line)
        await shown.press("c")
        assert not any(s.style and (s.style.color or s.style.bgcolor) for line in shown.segments() for s in line)
        await shown.press("c")
        assert any("warn" in roles(s.style) for line in shown.segments() for s in line)


# --- taking away ------------------------------------------------------------------------------------------


async def test_what_is_remembered_is_written_as_a_capture(tmp_path: Path) -> None:
    session = Node(DISKS, busy).session(4, [begun_between(2, 9)])
    target = tmp_path / "dump.tar.gz"
    async with screen(session, (200, 30)) as shown:
        await shown.press("w")
        assert "sdstop-node-1-20260921T141324Z.tar.gz" in shown.lines()[-1]
        await shown.press("end", "ctrl+u")
        await shown.type(str(target))
        await shown.app.workers.wait_for_complete()
        assert f"saved: {target}" in await shown.press()
        await shown.press("w", "end", "ctrl+u")
        await shown.type(str(target))
        await shown.app.workers.wait_for_complete()
        assert "not saved" in await shown.press()
    origin, frames = open_capture(target)
    assert origin.name == "node-1"
    assert len(frames) == 5
    assert frames[0].evidence


HOT = Finding(
    rule="odd",
    severity=Severity.WARNING,
    subject="sda",
    cause="sda is odd",
    values=(Value("level", "level", 0.9, "ratio", above=0.5),),
    evidence=(Cite("/proc/diskstats", 2, "   8       0 sda 0 0 0", " sda "),),
    advice=("look at it",),
    refuted_by="an even one",
    confidence=0.87,
)


async def test_what_is_written_is_what_capture_writes(tmp_path: Path) -> None:
    """The same findings with their evidence, the same report, and who it was that looked."""
    rule = Rule("odd", "is odd", Severity.WARNING, lambda _window, _limits: (HOT,), ())
    origin = Origin("node-1", privileged=False, facts={"kernel": "6.1"})
    session = Session(origin, Node().session(0).collectors, [rule])
    session.feed_all(Node(DISKS, busy).frames(4))
    async with screen(session, (200, 30)) as shown:
        await shown.press("w", "end", "ctrl+u")
        await shown.type(str(tmp_path / "dump"))
        await shown.app.workers.wait_for_complete()
    with CaptureWriter(tmp_path / "other", "node-1", privileged=False, facts={"kernel": "6.1"}) as writer:
        for frame in session.timeline.frames:
            writer.add(frame)
        writer.finish(conclusions(session))
    for name in ("findings.json", "report.md", "report.html", "manifest.json", "index.jsonl"):
        assert (tmp_path / "dump" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    (finding,) = json.loads((tmp_path / "dump" / "findings.json").read_text())["findings"]
    assert finding["evidence"] == [
        {"key": "/proc/diskstats", "frame": 2, "excerpt": "   8       0 sda 0 0 0", "host": "node-1"}
    ]
    assert [step["text"] for step in finding["advice"]] == ["look at it"]
    assert (finding["values"], finding["against"]) == ({"level": 0.9}, {"level": {"above": 0.5}})
    report = (tmp_path / "dump" / "report.md").read_text()
    assert "Evidence /proc/diskstats, frame 2" in report
    assert "capture has the last" not in report
    opened, _ = open_capture(tmp_path / "dump")
    assert (opened.privileged, opened.facts) == (False, {"kernel": "6.1"})


async def test_a_capture_without_the_oldest_frames_says_so(tmp_path: Path) -> None:
    session = Node(DISKS, busy).session(4, live=True)
    session.timeline.frames.popleft()
    async with screen(session, (200, 30)) as shown:
        await shown.press("w", "end", "ctrl+u")
        await shown.type(str(tmp_path / "dump"))
        await shown.app.workers.wait_for_complete()
    said = "this is of 5 frames, and the capture has the last 4 of them"
    assert said in (tmp_path / "dump" / "report.md").read_text()
    assert json.loads((tmp_path / "dump" / "findings.json").read_text())["hosts"][0]["note"] == said


async def test_a_screen_is_saved_as_text_and_never_over_another_file(tmp_path: Path) -> None:
    target = tmp_path / "screen.txt"
    async with screen(Node(DISKS, busy).session(3), (200, 30)) as shown:
        await shown.press("2", "colon")
        assert f"saved: {target}" in await shown.type(f"save {target}")
        assert "nvme0n1" in target.read_text()
        await shown.press("colon")
        assert "not saved: File exists" in await shown.type(f"save {target}")


async def test_copying_hands_over_safe_text(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    async with screen(Node(DISKS, busy).session(3)) as shown:
        monkeypatch.setattr(shown.app, "copy_to_clipboard", taken.append)
        await shown.press("2", "y")
        assert taken[0].startswith("sda")
        await shown.press("question_mark", "y")
        assert "Views" in taken[1]


FILLED = {"bg", "track", "selbg"}
"""Backgrounds of cells without text."""


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("depth", [Depth.TRUE, Depth.INDEXED])
async def test_the_theme_fills_the_screen(theme: str, depth: Depth) -> None:
    looks = Options(ascii=False, theme=theme, depth=depth, version="9.9")
    async with screen(Node(DISKS, busy).session(3), (160, 48), options=looks) as shown:
        grounds = {
            shades.light if theme == "light" else shades.dark for name, shades in ROLES.items() if name in FILLED
        }
        for line in shown.segments():
            for segment in line:
                ground = segment.style.bgcolor if segment.style else None
                assert ground is not None, line
                if depth is Depth.TRUE and not segment.text.strip():
                    assert ground.get_truecolor().hex in grounds


async def test_a_view_that_is_chosen_before_the_first_is_laid_out_keeps_the_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with screen(Node().session(3)) as shown:
        main, late = shown.app.main, []
        monkeypatch.setattr(main, "call_after_refresh", lambda *call: late.append(call))
        main.on_mount()
        await main.show_view("2")
        for call, *given in late:
            call(*given)
        assert main.focused is main.shown.main
        await shown.press("slash", "s", "d", "a", "enter")
        assert "1 hit of sda" in shown.line("Arrays and disks")
