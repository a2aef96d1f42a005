"""Parts of pictures: labeled blocks, and series that fill a width."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rich.style import Style

from sdstop.tui.widgets.graph import samples
from sdstop.tui.widgets.palette import Palette
from sdstop.tui.widgets.roles import role

GROUNDS = {"crit": ("critfg", "critbg"), "warn": ("warnfg", "warnbg")}
"""Text and ground of an accused block, by the role of its severity."""


def block(cells: int, name: str, ground: str, label: str, palette: Palette) -> tuple[str, Style]:
    """Return a block of cells with a label on it, cut to the block; `ground` is "track" for something empty.

    A terminal without backgrounds shows its outline: `[ label ]`, or `( label )` for something empty.
    """
    bold = ground != "track" or name in {"crit", "warn"}
    if palette.grounds and not palette.ascii:
        return f"{label[:cells]:<{cells}}", role(name, ground, bold=bold)
    ends = "()" if ground == "track" else "[]"
    style = role({"critfg": "crit", "warnfg": "warn"}.get(name, "text" if name == "playfg" else name), bold=bold)
    if cells < len(label.strip()) + 2:  # the label matters more than the outline
        return f"{label.strip()[:cells]:<{cells}}", style
    return f"{ends[0]}{label.strip()[: cells - 2]:<{cells - 2}}{ends[1]}", style


def stretched(values: Sequence[float | None], width: int, palette: Palette) -> list[float | None]:
    """Return the values from the first known one on, each repeated if they are too few for `width` cells."""
    fit = samples(width, palette)
    first = next((at for at, value in enumerate(values) if value is not None), None)
    if first is None:
        return [None] * fit
    known = values[first:]
    if len(known) >= fit:
        return [*known]
    return [known[at] for at in _repeats(len(known), fit)]


@lru_cache(maxsize=256)
def _repeats(known: int, fit: int) -> tuple[int, ...]:
    """Return for each of `fit` places the index of its value, of `known` ones."""
    return tuple(at * known // fit for at in range(fit))
