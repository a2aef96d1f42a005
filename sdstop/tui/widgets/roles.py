"""Roles: the colors of the screen by meaning, in every color depth and for dark and light backgrounds.

Views paint in roles: styles whose colors are names of this table. A pane resolves them once, where its lines become
cells. Contrast of text against its background is at least 4.5; neighboring heat steps are evenly spaced (OKLab).
Only parts that a finding accuses have the color of its severity.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rich.color import Color, ColorType
from rich.style import Style

from sdstop.tui.terminal import Depth


class Shades(NamedTuple):
    """A role's colors: 24 bits and index of 256 for a dark and a light background, then indexes of 16.

    An index of 16 is None for the terminal's own color.
    """

    dark: str
    dark_index: int
    light: str
    light_index: int
    dark_ansi: int | None
    light_ansi: int | None


ROLES = {
    "bg": Shades("#0d1117", 233, "#ffffff", 231, None, None),
    "text": Shades("#d8dee6", 253, "#1d2430", 235, None, None),
    "strong": Shades("#ffffff", 231, "#000000", 16, None, None),
    "dim": Shades("#8f9bab", 247, "#586373", 241, None, None),
    "frame": Shades("#465161", 239, "#aab4c1", 249, 8, 8),
    "track": Shades("#222a35", 235, "#e6eaef", 255, 8, 8),
    "read": Shades("#3d9bff", 39, "#004f96", 25, 14, 4),
    "write": Shades("#f2b0f0", 219, "#b342c9", 128, 13, 5),
    "other": Shades("#93a7bf", 110, "#53677f", 60, None, None),
    "crit": Shades("#ff6a6a", 203, "#9c0d18", 124, 9, 1),
    "warn": Shades("#ffb62e", 214, "#a06000", 130, 11, 3),
    "critbg": Shades("#c2202b", 160, "#9c0d18", 124, 1, 1),
    "critfg": Shades("#ffffff", 231, "#ffffff", 231, 15, 15),
    "warnbg": Shades("#ffb62e", 214, "#8f5500", 94, 3, 3),
    "warnfg": Shades("#1a1200", 233, "#ffffff", 231, 0, 0),
    "selbg": Shades("#24425f", 238, "#cfe3f7", 254, 4, 4),
    "selfg": Shades("#ffffff", 231, "#000000", 16, 15, 15),
    "tabbg": Shades("#d8dee6", 253, "#1d2430", 235, 7, 0),
    "tabfg": Shades("#0d1117", 233, "#ffffff", 231, 0, 15),
    "limit": Shades("#ffffff", 231, "#000000", 16, None, None),
    "playbg": Shades("#2c3746", 237, "#dde4ec", 254, 8, 7),
    "playfg": Shades("#ffffff", 231, "#000000", 16, 15, 0),
    "h0": Shades("#241e4d", 235, "#b3fade", 158, None, None),
    "h1": Shades("#26397d", 24, "#65e3d4", 80, 4, 6),
    "h2": Shades("#005ba6", 25, "#00c7d2", 44, 4, 6),
    "h3": Shades("#0081c2", 32, "#00a6ce", 38, 12, 12),
    "h4": Shades("#00a8d1", 38, "#0082c1", 32, 6, 12),
    "h5": Shades("#00cbd6", 44, "#105fa5", 25, 14, 4),
    "h6": Shades("#71e9da", 116, "#2d407e", 24, 7, 4),
    "h7": Shades("#c1ffe8", 194, "#2b2750", 236, 15, 0),
}
"""Colors by role. Text on h0 to h2 is `heatfg`; `bg` is painted by sdstop with 256 colors and more."""

HEAT_STEPS = 8
"""Colors from cold to hot."""


def role(name: str | None = None, ground: str | None = None, *, bold: bool = False) -> Style:
    """Return a style of roles. Raises KeyError for an unknown role."""
    return Style(color=_named(name), bgcolor=_named(ground), bold=bold or None)


def _named(name: str | None) -> Color | None:
    if name is None:
        return None
    if name not in ROLES:
        raise KeyError(name)
    return Color(name, ColorType.DEFAULT)


@lru_cache(maxsize=4096)
def resolved(style: Style | None, depth: Depth, light: bool) -> Style:  # noqa: FBT001  # a cache's key
    """Return the style that a terminal gets for a style of roles, clickable as before; None is plain text."""
    style = style or Style()
    shown = _shown(style, depth, light)
    return shown + Style.from_meta(style.meta) if style.meta else shown


def _shown(style: Style, depth: Depth, light: bool) -> Style:  # noqa: FBT001
    name, ground = _role_of(style.color) or "text", _role_of(style.bgcolor)
    bold, dim, reverse = style.bold, style.dim, style.reverse
    if depth is Depth.NONE:
        return Style(
            bold=bold or name in _BOLD or ground in _LOUD or None,
            dim=(dim or (name in _DIM and ground is None)) or None,
            reverse=reverse or ground in _REVERSED or None,
            underline=style.underline,
        )
    if depth is Depth.ANSI:
        dim = dim or (name in _DIM and ground is None)
        bold = bold or name in _BOLD
        name = "selfg" if ground == "selbg" else name  # bright red on blue cannot be read
    return Style(
        color=_color(name, depth, light), bgcolor=_color(ground or "bg", depth, light),
        bold=bold or None, dim=dim or None, reverse=reverse or None, underline=style.underline,
    )  # fmt: skip


_BOLD = frozenset({"strong", "crit", "warn", "limit"})
_DIM = frozenset({"dim", "frame"})
_LOUD = frozenset({"critbg", "warnbg", "tabbg", "playbg"})
_REVERSED = frozenset({"critbg", "warnbg", "selbg", "tabbg"})
"""Without colors: roles in bold, faint, bold as a background, and in reverse video."""


def _role_of(color: Color | None) -> str | None:
    return color.name if color is not None and color.name in ROLES else None


def _color(name: str, depth: Depth, light: bool) -> Color | None:  # noqa: FBT001
    shades = ROLES[name]
    match depth:
        case Depth.TRUE:
            return Color.parse(shades.light if light else shades.dark)
        case Depth.INDEXED:
            return Color.from_ansi(shades.light_index if light else shades.dark_index)
        case _:
            index = shades.light_ansi if light else shades.dark_ansi
            return Color.from_ansi(index) if index is not None else None
