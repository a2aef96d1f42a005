"""Numbers over time as glyphs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.tui.terminal import Depth
from sdstop.tui.widgets.palette import (
    CRIT,
    CRIT_CHIP,
    HEAT,
    HEAT_GROUND,
    WARN,
    WARN_CHIP,
    Palette,
    plain,
    width_of,
)  # fmt: skip
from sdstop.tui.widgets.strip import cells, drawn, heat, heat_pair, heat_scale_max, level, spark

VALUES = st.lists(st.none() | st.floats(0, 1e6), max_size=80)
UNICODE, ASCII, BLOCKS = Palette(), Palette(ascii=True), Palette(blocks=True)
PALETTES = st.builds(Palette, ascii=st.booleans(), blocks=st.booleans(), depth=st.sampled_from(list(Depth)))


def test_a_cell_shows_the_sample_that_covers_its_middle() -> None:
    samples = [(10.0, 1.0, 1.0), (11.0, 1.0, 2.0), (12.0, 1.0, 3.0)]
    assert cells(samples, 12.0, 5) == [None, None, 1.0, 2.0, 3.0]


def test_a_long_interval_fills_its_cells_and_nothing_is_interpolated() -> None:
    samples = [(5.0, 5.0, 1.0), (10.0, 5.0, 9.0)]
    assert cells(samples, 10.0, 10) == [1.0] * 5 + [9.0] * 5


def test_jitter_neither_drops_nor_invents_a_cell() -> None:
    samples = [(100.04, 1.04, 1.0), (101.0, 0.96, 2.0), (102.05, 1.05, 3.0), (103.01, 0.96, 4.0)]
    assert cells(samples, 103.01, 4) == [1.0, 2.0, 3.0, 4.0]


def test_a_peak_shorter_than_a_cell_is_not_lost() -> None:
    for at in range(1, 30):
        samples = [(float(t), 1.0, 90.0 if t == at else 1.0) for t in range(1, 31)]
        row = cells(samples, 30.0, 20, 1.5)
        assert row.count(90.0) == 1, at
        assert None not in row


def test_a_gap_stays_a_gap() -> None:
    samples = [(t, 1.0, 1.0) for t in (1.0, 2.0, 3.0)] + [(13.0, 10.0, 2.0), (14.0, 1.0, 3.0)]
    row = cells(samples, 14.0, 14)
    assert row == [1.0, 1.0, 1.0, *[None] * 9, 2.0, 3.0]
    assert plain(heat(row, 3.0, UNICODE))[2:5] == "░╎╎"
    assert plain(heat(row, 3.0, ASCII))[3] == "|"
    assert plain(spark(row, 14, 3.0, BLOCKS)) == "▃▃▃         ▅█"


def test_a_measured_zero_is_drawn_and_a_missing_sample_is_not() -> None:
    assert plain(spark([None, None, 0.0, 8.0], 4, 8.0, BLOCKS)) == "  ▁█"
    assert plain(spark([None, None, 0.0, 8.0], 2, 8.0, UNICODE)) == " ⣸"
    assert plain(spark([0.0, 0.0], 1, 8.0, UNICODE)) == "⣀"


def test_zero_is_no_heat_and_the_top_is_hottest() -> None:
    values = [0.0, 0.1, 1.0, 2.0, 3.0, 4.0, 9.0]
    assert plain(heat(values, 4.0, UNICODE)) == "  ░▒▓██"
    assert plain(heat([0.0, 4.0], 4.0, ASCII)) == " #"
    assert level(4.0, 4.0) == 7
    hottest = heat([4.0], 4.0, UNICODE)[0].style
    assert hottest == HEAT_GROUND[7]  # a cell of its color; the glyph remains in copied text


@pytest.mark.parametrize("depth", [Depth.NONE, Depth.ANSI])
def test_where_cells_have_no_ground_of_their_own_heat_is_a_glyph(depth: Depth) -> None:
    line = heat([0.0, 1.0, 2.0, 4.0], 4.0, Palette(depth=depth))
    assert plain(line) == " ░▒█"
    assert all(s.style is None or s.style.bgcolor is None for s in line)


def test_two_rows_share_a_line_of_heat() -> None:
    line = heat_pair([4.0, 0.0, 4.0, None], [0.0, 4.0, 4.0, None], 4.0, UNICODE)
    assert plain(line) == "▀▄▀ "
    both = line[1].style
    assert both is not None
    assert (both.color, both.bgcolor) == (HEAT[7].color, HEAT[7].color)
    assert plain(heat_pair([4.0, 0.0], [1.0, 4.0], 4.0, ASCII)) == "##"  # the maximum of both


def test_an_even_load_looks_even_and_a_fixed_one_stands_out() -> None:
    even = heat_scale_max(3.6, 3.0)
    assert plain(heat([2.4, 3.0, 3.6], even, UNICODE)) == "░░░"
    crowded = heat_scale_max(30.0, 1.0)
    assert plain(heat([30.0, 0.3], crowded, UNICODE)) == "█ "
    assert plain(heat([0.03, 0.1], heat_scale_max(0.1, 0.07), UNICODE)) == " ·"


def test_heat_never_has_the_color_of_a_severity() -> None:
    used = {style for row in (HEAT, HEAT_GROUND) for style in row}
    assert not used & {CRIT, WARN, CRIT_CHIP, WARN_CHIP}


@given(values=VALUES, top=st.floats(0, 1e6), palette=PALETTES)
def test_every_value_is_one_cell(values: list[float | None], top: float, palette: Palette) -> None:
    shown = heat(values, top, palette)
    assert width_of(shown) == len(values)
    assert not palette.ascii or plain(shown).isascii()
    assert width_of(heat_pair(values, values[::-1], top, palette)) == len(values)
    assert width_of(spark(values, 20, top, palette)) == 20


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 20), st.none() | st.floats(0, 10)), max_size=30))
def test_cells_come_from_samples(samples: list[tuple[float, float, float | None]]) -> None:
    row = cells(sorted(samples, key=lambda s: s[0]), 100.0, 60)
    assert len(row) == 60
    assert {v for v in row if v is not None} <= {s[2] for s in samples}


def test_strips_and_bars_are_told_from_words() -> None:
    assert all(drawn(shown) for shown in ("██▌··", " ··░▒▓█ ", "▁▂█", "##..", " .:-=*%#|", "⣀⣸"))
    assert not any(drawn(shown) for shown in ("", "   ", "sda", "1.0", "a.."))


def test_what_is_not_said_is_no_bar() -> None:
    assert not drawn("-")
    assert not drawn(" - ")
    assert drawn("--")
    assert drawn("█▌··")
