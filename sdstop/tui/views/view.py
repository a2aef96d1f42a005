"""View: the page below the status line and the tabs; only the visible one is painted."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct
from textual.containers import Container

from sdstop.core.model import Reading
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.pane import Pane


class ViewPlace(Struct, frozen=True):
    """Target of navigation: a view and the key of one of its rows."""

    view: str
    key: Any = None


class View(Container):
    """A page of panes.

    `main` is the pane that is focused first; `families` are the families whose rows the view shows. Families named by
    no view appear in the table of other readings.
    """

    DEFAULT_CSS = "View { width: 1fr; height: 1fr; }"
    families: ClassVar[tuple[type[Reading], ...]] = ()
    main: Pane

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        raise NotImplementedError

    def point(self, key: Any) -> None:
        """Put the cursor of the main pane on a row."""
        self.main.point(key)

    def turn(self) -> None:
        """Handle the view's key while the view is visible: do nothing, or turn to the next page."""
