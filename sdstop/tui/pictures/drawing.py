"""Parts of pictures: labelled blocks, and series that fill a width."""

from __future__ import annotations

from collections.abc import Sequence

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
    """Return the values that a graph of `width` cells shows: the last ones, or each repeated if they are too few."""
    fit = samples(width, palette)
    known = list(values)
    while known and known[0] is None:
        known.pop(0)
    if not known:
        return [None] * fit
    if len(known) >= fit:
        return known[-fit:]
    return [known[at * len(known) // fit] for at in range(fit)]
