"""View: the page below the status line and the tabs; only the visible one is painted."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

from msgspec import Struct
from textual.containers import Container

from sdstop.core.finding import Finding
from sdstop.core.guard import Part
from sdstop.core.model import Reading
from sdstop.tui.scene import Scene
from sdstop.tui.time_bar import TimeBar
from sdstop.tui.views.absence import absent_rows
from sdstop.tui.widgets.palette import Palette
from sdstop.tui.widgets.pane import Pane, Row, guard_of
from sdstop.tui.widgets.table import LineTable, TableColumn

_OTHERS = 3
"""Lines of status, tabs and keys."""


class ViewPlace(Struct, frozen=True):
    """Target of navigation: a view and the key of one of its rows."""

    view: str
    key: Any = None


class Listing(Struct, frozen=True):
    """A table of a view with all its rows, including folded ones and those without room; the input of a search."""

    columns: Sequence[TableColumn]
    rows: Sequence[Row]


class View(Container):
    """A page of panes.

    `main` is the pane that is focused first; `families` are the families whose rows the view shows. Families named by
    no view appear in the table of other readings. `tables` are the columns of its tables.
    """

    DEFAULT_CSS = "View { width: 1fr; height: 1fr; }"
    BLANK = True
    families: ClassVar[tuple[type[Reading], ...]] = ()
    tables: ClassVar[tuple[Sequence[TableColumn], ...]] = ()
    main: Pane

    @property
    def room(self) -> int:
        """Number of lines between tabs or pinned things and the time bar, even before layout; at least 1."""
        pinned = self.screen.query_one("#pinned", Pane)
        return max(self.app.size.height - _OTHERS - self.screen.query_one(TimeBar).lines - len(pinned.rows), 1)

    def absent(self, note: str, scene: Scene, sources: Iterable[str], room: int | None = None) -> list[Row]:
        """Return the rows of a view without content: the reason, its sources, and the node's findings and load."""
        return absent_rows(note, scene, sources, self.app.size.width, self.room - 2 if room is None else room)

    @classmethod
    def listed(cls, scene: Scene) -> Iterator[Listing]:
        """Yield the tables with the rows that a search finds in this view; `point` accepts their keys.

        By default none: each row is in the listing of one view.
        """
        del scene
        yield from ()

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
        """Put the cursor on a row: of the main pane, or of another one that shows it and then gets the keys."""
        others = [pane for pane in self.query(Pane) if pane is not self.main and pane.display and pane.can_focus]
        for pane in (self.main, *others):
            if pane.point(key):
                self.screen.set_focus(pane)
                return

    def lead(self, finding: Finding) -> None:
        """Select the object of a finding if it has no row in a table: by default nothing."""

    def sibling(self, step: int) -> None:
        """Move to the next (1) or previous (-1) row of the same kind, such as a member or another path; else of any."""
        pane = self.main
        row = pane.chosen
        kind = type(row.item) if row is not None else None
        following = pane.rows[pane.at + 1 :] if step > 0 else pane.rows[: pane.at][::-1]
        keyed = [other for other in following if other.key is not None]
        alike = next((other for other in keyed if type(other.item) is kind), next(iter(keyed), None))
        if alike is not None:
            pane.point(alike.key)

    def all_tables(self) -> list[LineTable]:
        """Return the tables of the view."""
        return list(self.query(LineTable))

    def turn(self) -> None:
        """Handle the view's key while the view is visible: do nothing, or turn to the next page."""


def names_in(key: Hashable) -> list[str]:
    """Return the names in a row's key."""
    return [part for part in (key if isinstance(key, tuple) else (key,)) if isinstance(part, str) and part]


def key_of_subject(subject: str, rows: Sequence[Row]) -> Hashable:
    """Return the key of the row about the subject of a finding: `md2`, `md2/sdc`, `vol:NAME`; None if there is none.

    The whole subject has precedence, then its parts from the last to the first.
    """
    wanted = [subject, *reversed([part for part in re.split("[/:@]", subject) if part])]
    keys: dict[str, Hashable] = {}
    for row in rows:
        if row.key is not None:
            names = names_in(row.key)
            for name in ("/".join(names), *reversed(names)):
                keys.setdefault(name, row.key)
    return next((keys[name] for name in wanted if name in keys), None)
