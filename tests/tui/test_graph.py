"""Bars and graphs over time as glyphs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from sdstop.analysis.load_course import LoadCourse, LoadMetric, LoadOf
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Origin
from sdstop.core.session import Session
from sdstop.readings.disk import DiskActivity
from sdstop.tui.device.graphs import courses, graph_lines
from sdstop.tui.load_graph import HELD, highest, load_lines, scale_of
from sdstop.tui.pictures.traffic import load_picture
from sdstop.tui.scene import Scene
from sdstop.tui.spans import LoadCells, time_axis
from sdstop.tui.terminal import Depth
from sdstop.tui.widgets.graph import Axis, area, bar, plot, samples, stacked, step, traffic
from sdstop.tui.widgets.palette import CRIT, FRAME, LIMIT, READ, WRITE, Line, Palette, plain, width_of
from tests.nodes.block import Load, Node

UNICODE, ASCII, BLOCKS, PLAINLY = Palette(), Palette(ascii=True), Palette(blocks=True), Palette(depth=Depth.NONE)
PALETTES = st.builds(Palette, ascii=st.booleans(), blocks=st.booleans(), depth=st.sampled_from(list(Depth)))
VALUES = st.lists(st.none() | st.floats(0, 1e9), max_size=80)


def whole(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


AXIS = Axis(whole, gutter=6)


def test_bars_are_filled_by_eighths() -> None:
    assert plain(bar(0.5, 10, UNICODE)) == "█████     "
    assert plain(bar(0.55, 10, UNICODE)) == "█████▌    "
    assert plain(bar(0.001, 4, UNICODE)) == "▏   "
    assert plain(bar(1.7, 4, UNICODE)) == "████"
    assert plain(bar(0.5, 4, PLAINLY)) == "██··"
    assert plain(bar(0.5, 4, ASCII)) == "##.."


def test_an_unknown_bar_is_dotted_and_not_empty() -> None:
    assert plain(bar(None, 5, UNICODE)) == "· · ·"
    assert plain(bar(None, 5, ASCII)) == ". . ."
    assert plain(bar(0.0, 5, PLAINLY)) == "·····"


def test_a_threshold_is_marked_on_both_parts_of_a_bar() -> None:
    for ratio in (0.1, 0.95):
        line = bar(ratio, 10, UNICODE, CRIT, mark=0.8)
        (marked,) = [s for s in line if s.text == "│"]
        assert plain(line).index("│") == 8
        assert marked.style is not None
        assert marked.style.color == LIMIT.color
    assert plain(bar(0.1, 10, ASCII, mark=0.8)) == "#.......|."


def test_graphs_fill_from_below_or_hang_from_above() -> None:
    assert area([0.0, 1.0, 2.0, None], 4, 2, 2.0, BLOCKS) == ["  █ ", "▁██ "]
    assert area([0.0, 1.0, 2.0, None], 2, 2, 2.0, UNICODE) == [" ⡇", "⣸⡇"]
    assert area([0.0, 1.0, 2.0, None], 2, 2, 2.0, UNICODE, down=True) == ["⢹⡇", " ⡇"]
    assert area([0.0, 1.0, 2.0, None], 4, 2, 2.0, ASCII) == ["  # ", ".## "]
    assert area([0.1, 0.6, 2.0], 3, 1, 1.0, BLOCKS, down=True) == ["▀██"]


def test_the_newest_sample_is_at_the_right_and_older_ones_leave() -> None:
    assert area([9.0] * 40 + [1.0, 9.0], 1, 1, 9.0, UNICODE) == ["⣸"]
    assert area([9.0], 3, 1, 9.0, UNICODE) == ["  ⢸"]
    assert samples(10, UNICODE) == 20
    assert samples(10, BLOCKS) == samples(10, ASCII) == 10


def texts(lines: list[Line]) -> list[str]:
    return [plain(line) for line in lines]


def test_both_directions_share_a_baseline_and_a_scale() -> None:
    lines = texts(traffic([10.0] * 8, [40.0] * 8, 11, 5, UNICODE, AXIS))
    assert lines == [
        "  r 10 ⣿⣿⣿⣿",
        "  w 40 ⣿⣿⣿⣿",
        "       ⣿⣿⣿⣿",
        "       ⣿⣿⣿⣿",
        "    40 ⣿⣿⣿⣿",
    ]
    styles = [line[2].style for line in traffic([10.0] * 8, [40.0] * 8, 11, 5, UNICODE, AXIS)]
    assert styles == [READ, WRITE, WRITE, WRITE, WRITE]


def test_an_idle_node_looks_idle() -> None:
    lines = texts(traffic([0.002] * 8, [0.001] * 8, 11, 4, UNICODE, AXIS))
    assert [line[7:] for line in lines] == ["    ", "⣀⣀⣀⣀", "⠉⠉⠉⠉", "    "]


def test_a_link_is_drawn_against_its_capacity_with_a_mark() -> None:
    axis = Axis(whole, ("rx", "tx"), top=100.0, limit=80.0, limit_label="80%", gutter=6)
    lines = traffic([30.0] * 8, [10.0] * 8, 11, 10, UNICODE, axis)
    shown = texts(lines)
    assert [line[:6].strip() for line in shown] == ["100", "80%", "", "", "rx 30", "tx 10", "", "", "80%", "100"]
    assert [bool(line[7:].strip()) for line in shown] == [
        False,
        True,
        False,
        True,
        True,
        True,
        False,
        False,
        True,
        False,
    ]
    assert [line[0].text for line in lines][4:6] == [" rx 30", " tx 10"]
    assert lines[1][2].style == FRAME


def test_one_series_has_its_scale_and_its_limit() -> None:
    lines = texts(plot([1.0, 2.0, 3.0, 4.0], 9, 5, UNICODE, Axis(whole, ("", ""), limit=4.5, gutter=6)))
    assert [line[:6].strip() for line in lines] == ["5", "", "", "", "4"]
    assert texts(plot([2.0], 8, 5, UNICODE, Axis(whole, ("", ""), top=10.0, limit=8.0, gutter=6)))[1] == "     8 ╌"


@pytest.mark.parametrize(
    ("value", "end"), [(0.0, 1.0), (1.0, 1.0), (1.1, 1.5), (3.0, 3.0), (5.1, 7.0), (1000.0, 1000.0), (1025.0, 1500.0)]
)
def test_a_scale_ends_at_a_round_number(value: float, end: float) -> None:
    assert step(value) == pytest.approx(end)


@given(value=st.floats(1e-6, 1e12))
def test_a_scale_is_two_thirds_full_or_more(value: float) -> None:
    assert 2 / 3 * (1 - 1e-6) <= value / step(value) <= 1 + 1e-6


@given(
    ratio=st.none() | st.floats(-1, 1e9), width=st.integers(0, 60), palette=PALETTES, mark=st.none() | st.floats(0, 1)
)
def test_a_bar_has_its_width(ratio: float | None, width: int, palette: Palette, mark: float | None) -> None:
    line = bar(ratio, width, palette, mark=mark)
    assert width_of(line) == width
    assert not palette.ascii or plain(line).isascii()


@given(up=VALUES, down=VALUES, width=st.integers(1, 60), height=st.integers(2, 12), palette=PALETTES,
       top=st.none() | st.floats(1, 1e9), limit=st.none() | st.floats(0, 1e9))  # fmt: skip
def test_graphs_fill_their_place_and_every_glyph_is_one_cell(
    up: list[float | None], down: list[float | None], width: int, height: int, palette: Palette, top: float | None,
    limit: float | None,
) -> None:  # fmt: skip
    axis = Axis(whole, top=top, limit=limit)
    for lines in (traffic(up, down, width + 9, height, palette, axis), plot(up, width + 9, height, palette, axis)):
        assert len(lines) == height
        for line in lines:
            assert width_of(line) == width + 9
            assert all(cell_len(glyph) == 1 for glyph in plain(line))
            assert not palette.ascii or plain(line).isascii()


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=40), st.integers(2, 12))
def test_no_value_leaves_the_scale(values: list[float], height: int) -> None:
    drawn = [plain(line)[9:] for line in traffic(values, values, 49, height, UNICODE, Axis(whole))]
    tops = {i for i, row in enumerate(drawn) if row.strip()}
    assert tops  # something is drawn, and both sides meet at the baseline
    assert tops == set(range(min(tops), max(tops) + 1))


# --- stacked parts --------------------------------------------------------------------------------------------

SHARES = st.lists(st.none() | st.floats(0, 1), min_size=3, max_size=3).map(
    lambda parts: [None if p is None else p / max(sum(q or 0.0 for q in parts), 1.0) for p in parts]
)


@given(SHARES, st.integers(3, 40))
def test_stacked_parts_fill_their_share_and_none_is_lost(parts: list[float | None], height: int) -> None:
    taken = stacked(parts, height)
    known = [part or 0.0 for part in parts]
    assert sum(taken) <= height
    assert all(cells_ >= 1 for part, cells_ in zip(known, taken, strict=True) if part >= 0.005)
    assert all(abs(cells_ - part * height) < 3 for part, cells_ in zip(known, taken, strict=True))
    assert all(cells_ == 0 for part, cells_ in zip(parts, taken, strict=True) if part is None)


def test_stacked_parts_of_a_whole_leave_no_gap() -> None:
    assert stacked((0.05, 0.03, 0.92), 4) == [1, 1, 2]
    assert stacked((0.25, 0.13, 0.62), 20) == [5, 3, 12]
    assert stacked((0.5, None, 0.0), 8) == [4, 0, 0]
    assert stacked((None, None, None), 8) == [0, 0, 0]


@pytest.mark.parametrize("palette", [UNICODE, ASCII])
def test_a_scale_holds_a_peak_that_has_left_the_graph(palette: Palette) -> None:
    for values, end in (([90.0, *[1.0] * 59], "100"), ([1.0] * 60, "1")):
        assert plain(plot(values, 27, 2, palette, AXIS)[0]).split()[0] == end


BURST = 2
"""Second in which a device has its only burst."""


def _burst(_: str, second: int) -> Load:
    return Load(reads=100 if second == BURST else 2, size=1 << 20, wait=0.001, busy=0.1)


def _scales(second: int, palette: Palette) -> list[str]:
    """Return the end of the scale of each graph of one device, this many seconds after the start."""
    session = Session(Origin("node-1", live=True), BUILTIN, (), remember=900)
    load = LoadCourse(session)
    session.feed_all(Node(("sda",), _burst).frames(second))
    look = session.latest
    assert look is not None
    scene = Scene(look, session, palette)
    picture = load_picture(None, scene)
    axis = time_axis(session, 24)
    assert picture is not None
    assert axis is not None
    scale = scale_of(LoadMetric.THROUGHPUT, LoadOf.DISKS)
    course = courses(scene.window, [(DiskActivity, "sda")], None)[0]
    scale = replace(scale, held=highest(load.samples, scale, axis.last - HELD))
    return [
        plain(lines[0]).split()[0]
        for lines in (
            picture.draw(46, 6)[1:],
            graph_lines(course, scene.now.monotonic, 60.0, 30, 6, palette),
            load_lines(LoadCells().of(load.samples, axis), scale, axis, axis.width - 1, 6, 21, 1.0, palette),
        )
    ]


@pytest.mark.parametrize("palette", [UNICODE, ASCII, BLOCKS])
def test_scales_grow_at_once_and_shrink_a_minute_after_a_burst(palette: Palette) -> None:
    before, burst = _scales(BURST - 1, palette), _scales(BURST, palette)
    assert all(float(after) > 10 * float(least) for least, after in zip(before, burst, strict=True))
    assert _scales(BURST + 30, palette) == burst
    assert _scales(BURST + 57, palette) == burst
    assert _scales(BURST + 130, palette)[:2] == before[:2]  # the time bar still shows the burst
