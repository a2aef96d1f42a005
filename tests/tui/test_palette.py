"""Text that fits its cells and does no harm."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cached_cell_len, cell_len, get_character_cell_size
from rich.style import Style

from sdstop.core.finding import Severity
from sdstop.tui.terminal import Depth, Options, color_depth, is_light
from sdstop.tui.widgets.palette import (
    BANNER,
    CRIT,
    CRIT_CHIP,
    CURSOR,
    FAINT,
    HEAT_GROUND,
    PLAIN,
    READ,
    STRONG,
    WARN,
    WARN_CHIP,
    WRITE,
    Palette,
    _drawn,
    cells_of,
    plain,
    width_of,
)  # fmt: skip
from sdstop.tui.widgets.roles import HEAT_STEPS, ROLES

CUBE = (0, 95, 135, 175, 215, 255)

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


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colors, as WCAG defines it."""
    low, high = sorted(luminance(c) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def oklab(color: str) -> tuple[float, ...]:
    """Return a color in OKLab (Ottosson 2020), where distances are even to the eye."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    long, middle, short = (
        (a * red + b * green + c * blue) ** (1 / 3)
        for a, b, c in (
            (0.4122214708, 0.5363325363, 0.0514459929),
            (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005),
        )
    )
    return tuple(
        a * long + b * middle + c * short
        for a, b, c in (
            (0.2104542553, 0.7936177850, -0.0040720468),
            (1.9779984951, -2.4285922050, 0.4505937099),
            (0.0259040371, 0.7827717662, -0.8086757660),
        )
    )


def apart(one: str, other: str) -> float:
    return 100 * math.dist(oklab(one), oklab(other))


TEXT = ("text", "strong", "dim", "read", "write", "other", "crit", "warn", "limit")
CHIPS = (("critfg", "critbg"), ("warnfg", "warnbg"), ("selfg", "selbg"), ("tabfg", "tabbg"), ("playfg", "playbg"))
XTERM = [f"#{r:02x}{g:02x}{b:02x}" for r in CUBE for g in CUBE for b in CUBE] + [
    f"#{v:02x}{v:02x}{v:02x}" for v in range(8, 239, 10)
]


def shade(role: str, theme: str, depth: Depth) -> str:
    shades = ROLES[role]
    if depth is Depth.TRUE:
        return shades.light if theme == "light" else shades.dark
    return XTERM[(shades.light_index if theme == "light" else shades.dark_index) - 16]


@pytest.mark.parametrize("depth", [Depth.TRUE, Depth.INDEXED])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_text_can_be_read_on_its_background(theme: str, depth: Depth) -> None:
    pairs = [(role, "bg") for role in TEXT] + list(CHIPS)
    low = {pair: contrast(shade(pair[0], theme, depth), shade(pair[1], theme, depth)) for pair in pairs}
    assert {pair: ratio for pair, ratio in low.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_heat_ramp_is_even_and_orders_by_lightness(theme: str) -> None:
    ramp = [shade(f"h{step}", theme, Depth.TRUE) for step in range(HEAT_STEPS)]
    steps = [apart(one, other) for one, other in pairwise(ramp)]
    assert max(steps) / min(steps) < 1.15, steps
    light = [oklab(color)[0] for color in ramp]
    assert light == sorted(light, reverse=theme == "light")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_meanings_are_apart(theme: str) -> None:
    colors = {role: shade(role, theme, Depth.TRUE) for role in ROLES}
    for one, other in (("read", "write"), ("crit", "warn"), ("read", "other"), ("warn", "h7"), ("crit", "write")):
        assert apart(colors[one], colors[other]) > 10, (one, other)


def test_an_index_is_near_its_color() -> None:
    for name, shades in ROLES.items():
        assert apart(shades.dark, XTERM[shades.dark_index - 16]) < 12, name
        assert apart(shades.light, XTERM[shades.light_index - 16]) < 12, name


def test_severity_has_its_own_colors_and_unknown_has_none() -> None:
    assert [Palette().severity(s) for s in (*Severity, None)] == [PLAIN, WARN, CRIT + Style(bold=True), FAINT]


@pytest.mark.parametrize("style", [PLAIN, FAINT, STRONG, READ, CRIT_CHIP, WARN_CHIP, CURSOR, BANNER, *HEAT_GROUND])
def test_without_color_nothing_has_one(style: Style) -> None:
    shown = Palette(depth=Depth.NONE).style(style)
    assert shown.color is None
    assert shown.bgcolor is None


def test_without_color_chips_and_the_cursor_still_differ_from_text() -> None:
    palette = Palette(depth=Depth.NONE)
    assert len({palette.style(style) for style in (PLAIN, FAINT, STRONG, CURSOR, BANNER)}) == 5


@pytest.mark.parametrize("light", [False, True])
def test_16_colors_have_one_ink_under_the_cursor(*, light: bool) -> None:
    """Bright red on blue cannot be read; mark and words still say how bad it is."""
    palette = Palette(depth=Depth.ANSI, light=light)
    inks = {palette.style(style + Style(bgcolor=CURSOR.bgcolor)).color for style in (CRIT, WARN, READ, FAINT, PLAIN)}
    assert inks == {palette.style(CURSOR).color}


def test_16_colors_leave_text_to_the_terminal() -> None:
    for light in (False, True):
        palette = Palette(depth=Depth.ANSI, light=light)
        assert palette.style(PLAIN).color is None
        numbers = [palette.style(style).color for style in (READ, WRITE, CRIT, WARN)]
        assert all(color is not None and color.number is not None and color.number < 16 for color in numbers)
        assert len(set(numbers)) == 4


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-256color"}, Depth.INDEXED),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, Depth.TRUE),
        ({"TERM": "tmux-256color", "COLORTERM": "24bit"}, Depth.TRUE),
        ({"TERM": "xterm-kitty"}, Depth.TRUE),
        ({"TERM": "xterm-direct"}, Depth.TRUE),
        ({"TERM": "linux"}, Depth.ANSI),
        ({"TERM": "vt220"}, Depth.ANSI),
        ({}, Depth.ANSI),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, Depth.NONE),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, Depth.INDEXED),
    ],
)
def test_the_color_depth_is_detected(environ: dict[str, str], expected: Depth) -> None:
    assert color_depth(Options(), environ) is expected
    assert color_depth(Options(no_color=True), environ) is Depth.NONE


@pytest.mark.parametrize(
    ("ground", "light"),
    [("15;0", False), ("0;15", True), ("0;default;15", True), ("0;7", True), ("7;8", False), ("", False)],
)
def test_the_background_is_detected(ground: str, *, light: bool) -> None:
    assert is_light(Options(), {"COLORFGBG": ground}) is light
    assert is_light(Options(theme="light"), {"COLORFGBG": ground})
    assert not is_light(Options(theme="dark"), {"COLORFGBG": ground})


def test_the_terminals_own_theme_paints_no_background() -> None:
    assert color_depth(Options(theme="terminal"), {"COLORTERM": "truecolor"}) is Depth.ANSI
    assert Palette(depth=Depth.ANSI).style(PLAIN) == Style()


def test_drawn_glyphs_have_ascii_forms() -> None:
    palette = Palette(ascii=True)
    assert palette.glyphs("─━│├└▲▶·█▓▒░▀▏") == '-=||`^>.##=."|'
    assert Palette().glyphs("─▲") == "─▲"


@given(st.text(st.characters(exclude_categories=("Cc", "Cs")) | st.sampled_from("\u2588\u28ff\u2500 a\u00b7\u2026")))
def test_widths_are_those_that_rich_counts(shown: str) -> None:
    assert cells_of(shown) == cell_len(shown)


def test_a_graph_is_not_kept_for_its_width() -> None:
    before = cached_cell_len.cache_info().currsize
    assert cells_of("".join(map(chr, range(0x2500, 0x25FD))) + "\u28ff" * 50) == 303
    assert cached_cell_len.cache_info().currsize == before


def test_each_drawn_glyph_has_one_cell() -> None:
    narrow = [chr(code) for code in range(0x20, 0x10000) if _drawn(chr(code))]
    assert len(narrow) > 500
    assert {get_character_cell_size(glyph) for glyph in narrow} == {1}


def test_what_terminals_join_differently_is_escaped() -> None:
    palette = Palette()
    assert palette.word("\U0001f3fb") == "\\U0001f3fb"
    assert palette.word("größe 日本") == "größe 日本"
    assert palette.word("\U0001f44d\U0001f3fd").isascii()
