"""The time bar: load, spans and playhead on one axis, below every view."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from sdstop.analysis.load_course import LoadCourse, LoadMetric, LoadOf
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Origin, Outcome
from sdstop.core.finding import Damage, Finding, Severity
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule
from sdstop.core.session import Look, Session
from sdstop.tui.spans import LoadCells, spans, time_axis
from sdstop.tui.terminal import Options
from sdstop.tui.time_bar import TimeBar, margin
from tests.fixtures import story
from tests.nodes.block import STARTED, Load, Node, refused
from tests.nodes.network import Nic
from tests.nodes.network import files as network_files
from tests.tui.hostile import NASTY, harmless
from tests.tui.screens import LOOKS, FakeFeed, Screen, screen

MIB = 1 << 20
SIZES = ((60, 15), (80, 24), (120, 40), (160, 48), (200, 60))


def steady(_device: str, _second: int) -> Load:
    return Load(reads=64, writes=128, size=16384, queue=1.0, busy=0.5)


def odd(rule: str, first: int, last: int, severity: Severity = Severity.WARNING, *, standing: bool = False) -> Rule:
    """Return a rule that finds something from one frame to another."""

    def check(window: Window, limits: Limits) -> list[Finding]:
        found = Finding(severity=severity, subject="sda", cause="Odd.", title=rule.upper(), standing=standing,
                        damage=Damage.SPEED)  # fmt: skip
        return [found] if first <= window.now.number <= last else []

    return Rule(rule, "is odd", severity, check, ())


def session(seconds: int = 60, rules: Sequence[Rule] = (), *, live: bool = False) -> Session:
    return Node(loads=steady).session(seconds, rules, live=live)


def bar_of(shown: Screen) -> list[str]:
    """Return the lines of the bar."""
    bar = shown.app.screen.query_one(TimeBar)
    return shown.lines()[bar.region.y : bar.region.bottom]


# --- what stands on it --------------------------------------------------------------------------------------


async def test_values_hold_until_the_next_sample_is_due() -> None:
    held = story("san-healthy").session
    async with screen(held, (160, 48)) as shown:
        assert "reads MiB/s 0.7" in shown.line("reads MiB/s")
        assert "writes MiB/s 0.0" in shown.line("writes MiB/s")


@pytest.mark.parametrize(("size", "lines"), list(zip(SIZES, (1, 3, 7, 9, 12), strict=True)))
async def test_below_every_view_it_has_its_lines(size: tuple[int, int], lines: int) -> None:
    async with screen(session(rules=[odd("late", 31, 99)]), size) as shown:
        for key in "1234567890!":
            await shown.press(key)
            bar = bar_of(shown)
            assert len(bar) == lines, key
            assert "▲" in "\n".join(bar)
            assert "LATE sda" in "\n".join(bar)
            assert bar[-1] is not shown.lines()[-1]
            assert all(len(line) <= size[0] for line in bar)
            assert not [line for line in bar if not line.strip()] or lines > 3
        await shown.press("2", "enter")
        assert len(bar_of(shown)) == lines


async def test_a_screen_of_a_few_lines_has_none() -> None:
    async with screen(session(), (60, 13)) as shown:
        assert bar_of(shown) == []


async def test_small_it_is_a_rule_the_first_span_and_the_times() -> None:
    rules = [odd("late", 31, 99), odd("worse", 46, 99, Severity.CRITICAL)]
    async with screen(session(rules=rules), (80, 24)) as shown:
        rule, span, times = bar_of(shown)
        assert rule.startswith("─ Time ──")
        assert "1m00 held" in rule
        assert "+1 more span" in rule
        assert span.startswith("!WORSE sda ")
        cells = span[margin(80) :]
        assert len(cells) == 57
        assert cells == "─" * 42 + "├" + "━" * 13 + "▲"
        assert times.split() == ["14:13:20", "14:13:40", "14:14:00", "14:14:20"]
        assert times.index("14:13:20") == margin(80)
        assert times.index("14:14:20") + 8 == margin(80) + 57


async def test_large_it_has_the_load_and_several_spans() -> None:
    rules = [odd("late", 31, 40), odd("early", 1, 99), odd("worse", 46, 99, Severity.CRITICAL)]
    async with screen(session(rules=rules), (160, 48)) as shown:
        bar = bar_of(shown)
        at = [next(n for n, line in enumerate(bar) if word in line) for word in ("WORSE", "EARLY", "LATE")]
        assert at == sorted(at)
        assert bar[at[1]].split()[-1].strip("━") == ""
        ended = bar[at[2]][margin(160) :]
        assert ended.count("━") + ended.count("├") == pytest.approx(133 * 10 / 60, abs=2)
        reads, writes = (next(line for line in bar if f"{word} MiB/s" in line) for word in ("reads", "writes"))
        assert "reads MiB/s 2.0" in reads
        assert "writes MiB/s 4.0" in writes
        drawn = reads[margin(160) :]
        assert set(drawn) <= {"⣿", "⣶", "⣤", "⣀"}
        assert len(drawn) == 133


@pytest.mark.parametrize(
    ("graph", "reads", "writes"),
    [("requests", "reads io/s 128.0", "writes io/s 256.0"), ("latency", "reads ms 1.0", "writes ms 1.0")],
)
async def test_the_graph_has_the_metric_of_the_settings(graph: str, reads: str, writes: str) -> None:
    kept = session()
    async with screen(kept, (160, 48), options=replace(LOOKS, graph=graph)) as shown:
        shown.app.course = LoadCourse(kept)
        shown.app.paint()
        bar = "\n".join((await shown.press()).splitlines()[-12:])
        assert reads in bar
        assert writes in bar
        assert "MiB/s" not in bar
        await shown.press("enter", "enter")
        assert reads in "\n".join(shown.lines()[-12:])  # a sheet has the same bar


async def test_latency_without_requests_is_a_gap_and_not_zero() -> None:
    kept = Node(loads=lambda _, second: Load(reads=10 * (second < 30), writes=1)).session(60)
    axis = time_axis(kept, 60)
    assert axis is not None
    values = LoadCells(LoadMetric.LATENCY).of(LoadCourse(kept).samples, axis)
    before, newest = values[10], values[-1]
    assert before is not None
    assert newest is not None
    assert before[0] == pytest.approx(0.001)
    assert newest[0] is None
    assert newest[1] == pytest.approx(0.001)


async def test_waits_are_means_of_requests_and_not_of_disks() -> None:
    """One disk with 900 reads of 1 ms and one with 100 of 11 ms: 2 ms a read, not 6."""
    node = Node(loads=lambda disk, _: Load(900, wait=0.001) if disk == "sda" else Load(100, wait=0.011))
    sample = LoadCourse(node.session(5)).samples[-1]
    assert sample.total.read_wait == pytest.approx(0.002)
    assert sample.total.write_wait is None


def network(second: int) -> str:
    nics = (Nic("lo", rx_bytes=9 * MIB * second), Nic("eth0", rx_bytes=3 * MIB * second, tx_bytes=MIB * second))
    return network_files(*nics)["/proc/net/dev"]


async def test_a_gateway_without_disks_shows_its_network() -> None:
    later = {n: [Evidence("/proc/net/dev", data=network(n).encode(), taken=STARTED + n)] for n in range(1, 62)}
    node = Node(devices=(), later=later)
    kept = node.session(60)
    async with screen(kept, (160, 48)) as shown:
        shown.app.course = LoadCourse(kept)
        shown.app.paint()
        bar = "\n".join((await shown.press()).splitlines()[-12:])
        assert "Time, network traffic" in bar
        assert "rx MiB/s 3.0" in bar
        assert "tx MiB/s 1.0" in bar


async def test_a_gateway_without_disks_shows_its_cluster() -> None:
    kept = story("scaleio-cloud").session
    async with screen(kept, (160, 48)) as shown:
        shown.app.course = LoadCourse(kept)
        shown.app.paint()
        bar = "\n".join((await shown.press()).splitlines()[-12:])
        assert "Time, load of the cluster" in bar
        assert "writes MiB/s 26.0" in bar


async def test_once_a_disk_is_there_its_load_replaces_that_of_the_network() -> None:
    later = {n: [Evidence("/proc/net/dev", data=network(n).encode(), taken=STARTED + n)] for n in range(1, 12)}
    frames = Node(("sda",), lambda *_: Load(reads=64), later=later).frames(10)
    bare = [
        replace(frame, evidence=tuple(item for item in frame.evidence if item.key != "/proc/diskstats"))
        for frame in frames[:5]
    ]
    kept = Session(Origin("node-1"), BUILTIN, ())
    course = LoadCourse(kept)
    kept.feed_all(bare)
    first = course.of
    assert len(course.samples) == 4
    kept.feed_all(frames[5:])
    assert (first, course.of) == (LoadOf.NETWORK, LoadOf.DISKS)
    assert {sample.total.reads for sample in course.samples} == {64.0}


async def test_incidents_come_before_conditions_of_the_same_severity() -> None:
    rules = [odd("a-condition", 1, 99, standing=True), odd("incident", 31, 99)]
    async with screen(session(rules=rules), (80, 24)) as shown:
        assert bar_of(shown)[1].startswith("*INCIDENT sda")


async def test_causes_come_before_what_they_explain() -> None:
    kept = story("draid-one-dimm").session
    axis = time_axis(kept, 100)
    assert axis is not None
    found = [span.finding for span in spans(kept.episodes(), axis)]
    explained = {key for finding in found for key in finding.explains}
    kinds = [finding.id in explained for finding in found]
    assert kinds == sorted(kinds)
    assert any(kinds)


async def test_without_findings_it_says_so() -> None:
    async with screen(session(), (80, 24)) as shown:
        line = bar_of(shown)[1]
        assert line.startswith("  no finding")
        assert line.endswith("─▲")


async def test_what_was_not_sampled_is_hatched_and_not_zero() -> None:
    later = {n: [refused("/proc/diskstats", Outcome.FAILED, "gone")] for n in range(20, 41)}
    node = Node(loads=steady, later=later)
    kept = node.session(0)
    course = LoadCourse(kept)
    kept.feed_all(node.frames(60)[1:])
    async with screen(kept, (160, 48)) as shown:
        shown.app.course = course
        shown.app.paint()
        await shown.settled()
        reads = next(line for line in bar_of(shown) if "reads MiB/s" in line)[margin(160) :]
        assert reads.count("░") == pytest.approx(133 * 21 / 60, abs=4)
        assert " " not in reads.strip()
        await shown.press("b")
        await shown.type("14:13:50")
        assert "reads MiB/s ?" in shown.line("reads MiB/s")


async def test_it_needs_neither_colour_nor_unicode() -> None:
    rules = [odd("late", 31, 99)]
    async with screen(session(rules=rules), (160, 48), options=Options(ascii=True, no_color=True)) as shown:
        bar = bar_of(shown)
        assert "".join(bar).isascii()
        span = next(line for line in bar if "LATE" in line)[margin(160) :]
        assert span.rstrip().endswith("=^")
        assert "-+=" in span


async def test_names_of_any_kind_do_no_harm() -> None:
    def check(window: Window, limits: Limits) -> list[Finding]:
        return [Finding(severity=Severity.WARNING, subject=name, cause="Odd.", title="ODD") for name in NASTY]

    rule = Rule("odd", "is odd", Severity.WARNING, check, ())
    for size in ((80, 24), (200, 60)):
        async with screen(session(4, [rule]), size) as shown:
            harmless(shown)
            for line in bar_of(shown)[1:]:
                assert len(line) <= size[0]
            await shown.press("E", "E")
            harmless(shown)


# --- live -----------------------------------------------------------------------------------------------------


async def test_live_its_scale_holds_a_minute_until_that_is_full() -> None:
    node = Node(loads=steady)
    feed = FakeFeed(node.frames(70))
    kept = Session(node.session(0).origin, node.session(0).collectors, [odd("late", 11, 99)], remember=900)
    kept.origin = node.session(0, live=True).origin
    async with screen(kept, (160, 48), frames=feed) as shown:
        await shown.arrive(21)
        span = next(line for line in bar_of(shown) if "LATE" in line)[margin(160) :]
        assert span.endswith("━▲")
        assert span.count("━") + 2 == pytest.approx(133 * 11 / 60, abs=3)
        reads = next(line for line in bar_of(shown) if "reads MiB/s" in line)[margin(160) :]
        assert len(reads) - len(reads.lstrip()) == pytest.approx(133 * 40 / 60, abs=3)
        assert "░" not in reads
        before = bar_of(shown)[-1]
        await shown.arrive(1)
        assert bar_of(shown)[-1].count(":") == before.count(":")
        await shown.arrive(45)
        assert "░" not in "".join(bar_of(shown))
        axis = time_axis(kept, 133)
        assert axis is not None
        assert axis.step * 133 == 120


# --- mouse ----------------------------------------------------------------------------------------------------


async def test_a_click_moves_the_playhead() -> None:
    async with screen(session(rules=[odd("late", 31, 99)]), (80, 24)) as shown:
        at = margin(80)
        for x, frame in ((at + 28, 30), (at, 1), (0, 1), (at + 56, 61), (79, 61)):
            await shown.pilot.click(TimeBar, offset=(x, 1))
            await shown.settled()
            number = shown.app.playhead.look.now.number if shown.app.playhead.look else 0
            assert abs(number - frame) <= 1
            assert shown.line("━")[at:].index("▲") == min(max(x - at, 0), 56)


async def test_a_click_does_not_paint_the_moment_before_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with screen(session(), (80, 24)) as shown:
        before, painted = shown.app.playhead.look, []
        monkeypatch.setattr(shown.app.main.shown, "paint", lambda scene: painted.append(scene.look))
        await shown.pilot.click(TimeBar, offset=(margin(80) + 28, 1))
        await shown.settled()
        assert painted
        assert before not in painted


async def test_dragged_it_follows_and_shows_the_moment_when_let_go() -> None:
    async with screen(session(), (80, 24)) as shown:
        at = margin(80)
        await shown.pilot.mouse_down(TimeBar, offset=(at + 10, 1))
        for x in range(at + 10, at + 41, 5):
            await shown.pilot.hover(TimeBar, offset=(x, 1))
        assert shown.line("no finding")[at:].index("▲") == 40
        await shown.pilot.mouse_up(TimeBar, offset=(at + 40, 1))
        await shown.settled()
        look = shown.app.playhead.look
        assert look is not None
        assert look.now.number == pytest.approx(43, abs=1)
        await shown.pilot.hover(TimeBar, offset=(at + 5, 1))
        assert shown.app.playhead.look is look


async def test_live_a_click_pauses_and_one_at_the_end_follows() -> None:
    node = Node(loads=steady)
    feed = FakeFeed(node.frames(80))
    kept = Session(node.session(0, live=True).origin, node.session(0).collectors, (), remember=900)
    async with screen(kept, (80, 24), frames=feed) as shown:
        await shown.arrive(40)
        await shown.pilot.click(TimeBar, offset=(margin(80) + 30, 1))
        assert "PAUSED" in await shown.press()
        await shown.pilot.click(TimeBar, offset=(79, 1))
        assert "LIVE" in await shown.press()


# --- where its numbers come from ------------------------------------------------------------------------------


def test_the_course_is_that_of_every_frame_and_no_more() -> None:
    node = Node(loads=lambda _, second: Load(reads=second))
    kept = node.session(0)
    course = LoadCourse(kept)
    kept.feed_all(node.frames(200)[1:])
    assert [sample.total.reads for sample in course.samples] == [2.0 * second for second in range(1, 201)]
    late = LoadCourse(kept)
    assert late.samples == course.samples[-len(late.samples) :]
    assert len(late.samples) >= 60
    live = node.session(0, live=True)
    live.timeline.seconds = 50
    short = LoadCourse(live)
    live.feed_all(node.frames(200)[1:])
    assert [sample.total.reads for sample in short.samples] == [2.0 * second for second in range(150, 201)]


def test_cells_extended_are_those_computed_at_once() -> None:
    node = Node(loads=lambda _, second: Load(reads=second % 7, writes=second % 5))
    for live in (False, True):
        kept = node.session(0, live=live)
        course = LoadCourse(kept)
        grown = LoadCells()
        for frame in node.frames(150)[1:]:
            kept.feed(frame)
            axis = time_axis(kept, 97)
            assert axis is not None
            found = grown.of(course.samples, axis)
            anew = LoadCells().of(course.samples, axis)
            for one, other in zip(found, anew, strict=True):
                assert (one is None) == (other is None)
                assert one is None or one == pytest.approx(other)


def test_a_cell_is_the_mean_of_its_time() -> None:
    node = Node(loads=lambda _, second: Load(reads=100 * (second % 2), size=MIB))
    kept = node.session(0)
    course = LoadCourse(kept)
    kept.feed_all(node.frames(80)[1:])
    axis = time_axis(kept, 10)
    assert axis is not None
    for value in LoadCells().of(course.samples, axis):
        assert value is not None
        assert value[0] == pytest.approx(100 * MIB, rel=0.3)
        assert value[1] == 0


async def test_of_many_drags_the_last_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are answered in between: frames that are passed by are not judged to the end, however long that takes."""
    async with screen(session(300), (80, 24)) as shown:
        look, judged = shown.app.lookback.at, list[int]()

        def until_superseded(index: int, unwanted: Callable[[], bool]) -> Look:
            while index < 49 and not unwanted():
                time.sleep(0.001)
            made = look(index, unwanted)
            judged.extend([] if unwanted() else [index])
            return made

        monkeypatch.setattr(shown.app.lookback, "at", until_superseded)
        bar = shown.app.screen.query_one(TimeBar)
        for x in range(50):
            bar.post_message(TimeBar.Sought(1000.0 + x))
        await shown.settled()
        assert shown.app.playhead.look is not None
        assert shown.app.playhead.look.now.monotonic == 1049.0
        assert judged[0] == 49


# --- messages of the kernel ---------------------------------------------------------------------------------


async def test_messages_of_the_kernel_have_marks_at_their_times() -> None:
    async with screen(story("vm-kernel-ext4").session, (160, 48)) as shown:
        (line,) = (each for each in bar_of(shown) if "kernel log" in each)
        marks = line[25:].rstrip()
        assert set(marks) <= set(" ┃│╎·")
        assert "┃" in marks
        assert not marks[: len(marks) // 2].strip()  # the device failed in the second half


async def test_without_colors_and_in_ascii_the_marks_tell_effects_apart() -> None:
    options = replace(LOOKS, ascii=True)
    async with screen(story("vm-kernel-ext4").session, (160, 48), options=options) as shown:
        (line,) = (each for each in bar_of(shown) if "kernel log" in each)
        assert {"#", "|"} <= set(line)


async def test_a_silent_log_has_no_line() -> None:
    async with screen(session(60), (160, 48)) as shown:
        assert not [each for each in bar_of(shown) if "kernel log" in each]
