"""Pictures: what proves a finding, drawn for the first screen and for the view that shows the same in detail."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from sdstop.tui.widgets.palette import Line


class Picture(Struct, frozen=True):
    """A picture: its title, a note for the right end of its rule, and its lines for a width and a height.

    `steps` are the heights that it can use, the least first: with fewer lines it proves nothing, between two of them
    lines would stay empty. It is complete with `whole` lines (0: with the most); other panes have priority over further
    lines. With fewer, its rule has `head`: the headings of its last columns. `is_path` is set if it is a data
    path, which then need not be shown a second time.
    """

    title: str
    draw: Callable[[int, int], list[Line]]
    steps: tuple[int, ...]
    note: str = ""
    whole: int = 0
    is_path: bool = False
    head: str = ""

    def fit(self, room: int) -> int:
        """Return how many of `room` lines the picture uses: the largest step, or all if even the least is more."""
        return max((step for step in self.steps if step <= room), default=max(room, 0))
