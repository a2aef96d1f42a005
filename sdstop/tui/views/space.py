"""Space: a bar for each store of the node, with the share above which a finding accuses it, its rest and state."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.cells import cell_len

from sdstop.analysis.space.spaces import Store, stores
from sdstop.core.format import percent
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import FAINT, OTHER, Line, text
from sdstop.tui.widgets.pane import Row, words
from sdstop.tui.widgets.roles import role

_NAME, _SHARE = 28, 6
"""Cells."""
_FILLED = frozenset({"thin pool", "ZFS pool"})
"""Kinds whose use is unknown if none is reported; an LVM volume has none."""
_NARROWEST, _LONGEST = 8, 48
"""Minimum and maximum cells of a bar."""


def space_of(scene: Scene, first: Collection[str] = ()) -> list[Store]:
    """Return the stores of a node, those of these names or volume groups first."""
    known = stores(scene.window, scene.in_force)
    return sorted(known, key=lambda store: not is_of(store, first))


def is_of(store: Store, names: Collection[str]) -> bool:
    """Return whether a store has one of these names or is in a volume group that has."""
    group, inside, _ = store.name.partition("/")
    return store.name in names or (bool(group and inside) and group in names)


def space_rows(scene: Scene, width: int) -> list[Row]:
    """Return headings and a row for each store; Enter on one with a finding opens it."""
    known = space_of(scene)
    if not known:
        return []
    head, *lines = space_lines(known, scene, width, len(known) + 1)
    entries = {entry.subject: entry for entry in reversed(scene.findings())}
    rows = [
        words(
            line, ("store", store.name, store.part), entries.get(store.name, store),
            f"{store.name} {store.kind} {store.part} {store.state}",
        )
        for store, line in zip(known, lines, strict=True)
    ]  # fmt: skip
    return [words(head), *rows]


def space_lines(known: Sequence[Store], scene: Scene, width: int, height: int) -> list[Line]:
    """Return headings if there is room, and a line for each store, the last one with the number of the others."""
    headed = height > len(known)
    shown = known if len(known) <= height else known[: max(height - 1, 1)]
    palette = scene.palette
    name = min(max([cell_len(palette.word(store.name, 60)) for store in shown] + [5]), _NAME)
    whats = [f"{store.kind} {store.part}".strip() for store in shown]
    kind = max(map(len, whats), default=4)
    lefts, sizes = ([getattr(store, field) for store in shown] for field in ("left", "size"))
    left, size = (max([len(said) for said in column] + [4]) for column in (lefts, sizes))
    state = max((cell_len(store.state) for store in shown), default=0)
    room = width - name - kind - _SHARE - left - state - 8
    sized = room - size - 2 >= _NARROWEST
    bars = max(min(room - (size + 2) * sized, _LONGEST), _NARROWEST)
    lines: list[Line] = []
    if headed:
        head = f" {'STORE':<{name}} {'WHAT':<{kind}} {'':<{bars}} {'used':>{_SHARE}}  {'left':>{left}}"
        head += f"  {'size':>{size}}" if sized else ""
        lines.append(text((head, role("dim"))))
    for store, what in zip(shown, whats, strict=True):
        color = ROLES.get(store.severity) if store.severity is not None else None
        ink = role(color or "text")
        filled = store.used is not None or store.kind in _FILLED
        share = f"{percent(store.used)}%" if store.used is not None else "?" if filled else ""
        drawn = (
            text(" " * bars)
            if not filled
            else bar(store.used, bars, palette, role(color) if color else OTHER, mark=store.above)
        )
        lines.append(
            (
                *text((f" {palette.fit(palette.word(store.name, 60), name)} ", ink), (f"{what:<{kind}} ", FAINT)),
                *drawn,
                *text((f" {share:>{_SHARE}}  ", ink), (f"{store.left:>{left}}", FAINT)),
                *text((f"  {store.size:>{size}}" if sized else "", FAINT), (f"  {palette.word(store.state, 40)}", ink)),
            )
        )
    hidden = len(known) - len(shown)
    return [*lines, text((f" and {hidden} more, less full", FAINT))] if hidden and height > 1 else lines
