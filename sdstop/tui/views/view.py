"""View: what is below the status line; one is shown at a time, and only that one is painted."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct
from textual.containers import Container

from sdstop.core.model import Reading
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.pane import Pane


class ViewPlace(Struct, frozen=True):
    """A row of a view, to go to."""

    view: str
    key: Any = None


class View(Container):
    """A page of panes.

    `main` is the pane that is focused first; `families` are those whose rows it shows: what no view names has its
    place in the table of other readings.
    """

    DEFAULT_CSS = "View { width: 1fr; height: 1fr; }"
    families: ClassVar[tuple[type[Reading], ...]] = ()
    main: Pane

    def show(self, scene: Scene) -> None:
        """Paint a moment."""
        raise NotImplementedError

    def point(self, key: Any) -> None:
        """Put the cursor of the main pane on a row."""
        self.main.point(key)

    def turn(self) -> None:
        """Do what the view's own key does when it is shown already: nothing, or turn to its next page."""
