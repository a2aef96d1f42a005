"""Text that fits its cells and does no harm."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from sdstop.core.finding import Severity
from sdstop.tui.widgets.palette import Palette, plain, width_of

ANY = st.text(st.characters(codec=None), max_size=60)


@given(foreign=ANY, width=st.integers(0, 40), ascii_only=st.booleans(), right=st.booleans())
def test_foreign_text_fits_and_holds_no_control(foreign: str, width: int, *, ascii_only: bool, right: bool) -> None:
    palette = Palette(ascii=ascii_only)
    shown = palette.fit(palette.word(foreign), width, right=right)
    assert cell_len(shown) == width
    assert shown.isprintable()
    assert not ascii_only or shown.isascii()


def test_what_is_cut_says_so() -> None:
    assert Palette().fit("abcdef", 4) == "abc…"
    assert Palette(ascii=True).fit("abcdef", 4) == "abc~"
    assert Palette().fit("日本語", 4) == "日… "
    assert Palette().fit("7", 3, right=True) == "  7"


@given(title=ANY, note=ANY, width=st.integers(0, 120), ascii_only=st.booleans())
def test_a_rule_never_overflows(title: str, note: str, width: int, *, ascii_only: bool) -> None:
    palette = Palette(ascii=ascii_only)
    line = palette.rule(palette.word(title), palette.word(note), width)
    assert width_of(line) <= max(width, 6)
    assert width < 12 or width_of(line) == width
    assert not ascii_only or plain(line).isascii()


def test_colour_is_severity_and_can_be_left_out() -> None:
    styles = [Palette().severity(s) for s in (*Severity, None)]
    assert [s.color.name if s.color else None for s in styles] == [None, "yellow", "red", "cyan"]
    assert all(Palette(colour=False).severity(s).color is None for s in (*Severity, None))


def test_what_terminals_join_differently_is_escaped() -> None:
    palette = Palette()
    assert palette.word("\U0001f3fb") == "\\U0001f3fb"
    assert palette.word("größe 日本") == "größe 日本"
    assert palette.word("\U0001f44d\U0001f3fd").isascii()
