"""Numbers over time as glyphs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdstop.tui.widgets.graph import bar, chart, scale, stacked
from sdstop.tui.widgets.strip import HOT, cells, drawn, heat, heat_scale_max, level, sparkline

VALUES = st.lists(st.none() | st.floats(0, 1e6), max_size=80)


def test_a_cell_shows_the_sample_that_covers_its_middle() -> None:
    samples = [(10.0, 1.0, 1.0), (11.0, 1.0, 2.0), (12.0, 1.0, 3.0)]
    assert cells(samples, 12.0, 5) == [None, None, 1.0, 2.0, 3.0]


def test_a_long_interval_fills_its_cells_and_nothing_is_interpolated() -> None:
    samples = [(5.0, 5.0, 1.0), (10.0, 5.0, 9.0)]
    assert cells(samples, 10.0, 10) == [1.0] * 5 + [9.0] * 5


def test_jitter_neither_drops_nor_invents_a_cell() -> None:
    samples = [(100.04, 1.04, 1.0), (101.0, 0.96, 2.0), (102.05, 1.05, 3.0), (103.01, 0.96, 4.0)]
    assert cells(samples, 103.01, 4) == [1.0, 2.0, 3.0, 4.0]


def test_a_gap_stays_a_gap() -> None:
    samples = [(t, 1.0, 1.0) for t in (1.0, 2.0, 3.0)] + [(13.0, 10.0, 2.0), (14.0, 1.0, 3.0)]
    row = cells(samples, 14.0, 14)
    assert row == [1.0, 1.0, 1.0, *[None] * 9, 2.0, 3.0]
    assert sparkline(row, 3.0)[2:5] == "▃╎╎"
    assert sparkline(row, 3.0, ascii=True)[3] == "|"


def test_what_nobody_measured_before_the_first_sample_is_blank() -> None:
    assert sparkline([None, None, 0.0, 8.0], 8.0) == "  ▁█"


def test_zero_is_no_heat_and_the_top_is_solid() -> None:
    assert heat([0.0, 0.2, 1.0, 2.0, 3.0, 4.0, 9.0], 4.0) == "  ░▒▓██"
    assert heat([0.0, 4.0], 4.0, ascii=True) == " #"
    assert level(4.0, 4.0) == 5 > HOT


def test_an_even_load_looks_even_and_a_fixed_one_stands_out() -> None:
    even = heat_scale_max(3.6, 3.0)
    assert heat([2.4, 3.0, 3.6], even) == "·░░"
    crowded = heat_scale_max(30.0, 1.0)
    assert heat([30.0, 0.3], crowded) == "█ "
    assert heat([0.05, 0.1], heat_scale_max(0.1, 0.07)) == " ·"


def test_bars() -> None:
    assert bar(0.5, 10) == ("━━━━━", "─────")
    assert bar(0.55, 10) == ("━━━━━╸", "────")
    assert bar(0.001, 10) == ("╸", "─" * 9)
    assert bar(1.7, 4) == ("━━━━", "")
    assert bar(None, 4) == ("", "    ")
    assert bar(0.5, 4, ascii=True) == ("##", "..")


def test_charts_fill_from_below() -> None:
    assert chart([0.0, 1.0, 2.0, None], 2.0, 2) == ["  █ ", "▁██ "]


def test_a_scale_seldom_changes() -> None:
    assert [scale(v) for v in (0, 1, 3, 1000, 1025)] == [1, 1, 4, 1024, 2048]


@given(values=VALUES, top=st.floats(0, 1e6), plain=st.booleans())
def test_every_value_is_one_glyph(values: list[float | None], top: float, *, plain: bool) -> None:
    for shown in (
        sparkline(values, top, ascii=plain),
        heat(values, top, ascii=plain),
        *chart(values, top, 3, ascii=plain),
    ):
        assert len(shown) == len(values)
        assert not plain or shown.isascii()


@given(ratio=st.none() | st.floats(-1, 1e9), width=st.integers(0, 60), plain=st.booleans())
def test_a_bar_has_its_width(ratio: float | None, width: int, *, plain: bool) -> None:
    full, rest = bar(ratio, width, ascii=plain)
    assert len(full + rest) == max(width, 0)
    assert not plain or (full + rest).isascii()


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 20), st.none() | st.floats(0, 10)), max_size=30))
def test_cells_come_from_samples(samples: list[tuple[float, float, float | None]]) -> None:
    row = cells(sorted(samples, key=lambda s: s[0]), 100.0, 60)
    assert len(row) == 60
    assert {v for v in row if v is not None} <= {s[2] for s in samples}


def test_strips_and_bars_are_told_from_words() -> None:
    assert all(drawn(shown) for shown in ("━━╸──", " ··░▒▓█ ", "▁▂█", "##..", "_.:-=+*#|"))
    assert not any(drawn(shown) for shown in ("", "   ", "sda", "1.0", "a.."))


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


def test_what_is_not_said_is_no_bar() -> None:
    assert not drawn("-")
    assert not drawn(" - ")
    assert drawn("--")
    assert drawn("━╸──")
