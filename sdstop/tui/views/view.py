"""View: the page below the status line and the tabs; only the visible one is painted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from msgspec import Struct
from textual.containers import Container

from sdstop.core.guard import Part
from sdstop.core.model import Reading
from sdstop.tui.scene import Scene
from sdstop.tui.time_bar import TimeBar
from sdstop.tui.widgets.palette import Palette
from sdstop.tui.widgets.pane import Pane, guard_of

_OTHERS = 3
"""Lines of status, tabs and keys."""


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

    @property
    def room(self) -> int:
        """Number of lines between the tabs and the time bar, even before layout; at least 1."""
        return max(self.app.size.height - _OTHERS - self.screen.query_one(TimeBar).lines, 1)

    def paint(self, scene: Scene) -> None:
        """Paint the scene, or why that is not possible."""
        self._guarded(lambda: self.show(scene), scene.palette)

    def on_pane_moved(self, event: Pane.Moved) -> None:
        """Paint what depends on the row under the cursor."""
        event.stop()
        self._guarded(lambda: self.moved(event.pane), self.main.palette)

    def moved(self, pane: Pane) -> None:
        """Paint what depends on the row under the cursor of a pane: by default nothing."""

    def _guarded(self, paint: Callable[[], None], palette: Palette) -> None:
        """Paint something; an exception is shown in place of the whole view."""

        def failed(said: str) -> None:
            for pane in self.query(Pane):
                pane.fail(said if pane is self.main else "", palette)

        guard_of(self).call(Part.VIEW, type(self).__name__, paint, failed)

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        raise NotImplementedError

    def point(self, key: Any) -> None:
        """Put the cursor of the main pane on a row."""
        self.main.point(key)

    def turn(self) -> None:
        """Handle the view's key while the view is visible: do nothing, or turn to the next page."""
