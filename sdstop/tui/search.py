"""Search over the rows of all views, also those that are not on the screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from msgspec import Struct

from sdstop.core.format import plural
from sdstop.core.session import Look
from sdstop.tui.scene import Scene
from sdstop.tui.views import VIEWS, ViewEntry, view_named
from sdstop.tui.views.view import Listing, key_of_subject, names_in
from sdstop.tui.widgets.column import TableColumn, columns_by_name
from sdstop.tui.widgets.palette import Palette
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.query import Columns, RowQuery, parse


class Hit(Struct, frozen=True):
    """A row of a view; the view can put its cursor on the key."""

    entry: ViewEntry
    key: Hashable
    row: Row
    columns: Sequence[TableColumn]


class Search:
    """Hits of a query in the listings of a moment, which are made once per moment and only if they are needed."""

    def __init__(self) -> None:
        """Start without a query."""
        self.query: RowQuery | None = None
        self.typing = False
        """Whether a query is being typed: its hits are those of the moment at which that began, to answer at once."""
        self._look: Look | None = None
        self._palette: Palette | None = None
        self._made: dict[str, list[tuple[Listing, Columns]]] = {}

    def listed(self, entry: ViewEntry, scene: Scene) -> list[tuple[Listing, Columns]]:
        """Return the tables of a view with all their rows."""
        if (self._look is not scene.look and not self.typing) or self._palette != scene.palette:
            self._look, self._palette, self._made = scene.look, scene.palette, {}
        if entry.key not in self._made:
            tables = entry.made_of.listed(scene)
            self._made[entry.key] = [(listing, columns_by_name(listing.columns)) for listing in tables]
        return self._made[entry.key]

    def listings(self, scene: Scene, first: ViewEntry | None = None) -> Iterator[tuple[ViewEntry, Listing, Columns]]:
        """Yield the tables of all views with all their rows, those of `first` first."""
        for entry in sorted(VIEWS, key=lambda each: each is not first):
            for listing, columns in self.listed(entry, scene):
                yield entry, listing, columns

    def forget(self) -> None:
        """Forget the listings, which hold the rows of a moment."""
        self._look, self._made = None, {}

    def parse(self, text: str, scene: Scene) -> RowQuery | None:
        """Return the query of a typed text, None for a blank one. Raises QueryError."""
        if not text.strip():
            return None
        known = {name for _, _, columns in self.listings(scene) for name in columns}
        known |= {name for entry in VIEWS for table in entry.made_of.tables for name in columns_by_name(table)}
        return parse(text, known)

    def hits(self, scene: Scene, query: RowQuery | None = None) -> list[Hit]:
        """Return the hits of a query (default: the active one) in the order of the views."""
        wanted = query or self.query
        if wanted is None:
            return []
        return [
            Hit(entry, row.key, row, listing.columns)
            for entry, listing, columns in self.listings(scene)
            if wanted.judges(columns)
            for row in listing.rows
            if row.key is not None and wanted.holds(row, columns)
        ]

    def find(self, scene: Scene, key: Hashable, entry: ViewEntry | None = None) -> Hit | None:
        """Return the row with a key, preferring those of a view; else the first one with the same name."""
        named: Hit | None = None
        name = next(reversed(names_in(key)), None)
        for place, listing, _ in self.listings(scene, entry):
            for row in listing.rows:
                if row.key == key:
                    return Hit(place, row.key, row, listing.columns)
                if named is None and name is not None and row.key is not None and name in names_in(row.key):
                    named = Hit(place, row.key, row, listing.columns)
        return named

    def about(self, scene: Scene, subject: str, view: str = "") -> Hit | None:
        """Return the row about the subject of a finding, in a view (its name) or in the first that has it."""
        for entry, listing, _ in self.listings(scene, view_named(view)):
            key = key_of_subject(subject, listing.rows) if entry.name != "findings" else None
            if key is not None:
                row = next(row for row in listing.rows if row.key == key)
                return Hit(entry, key, row, listing.columns)
        return None


def counted_hits(hits: Sequence[Hit]) -> str:
    """Return the number of hits, in all and by view: `12 hits: 10 Disks, 2 Findings`."""
    by_view = Counter(hit.entry.title for hit in hits)
    listed = ", ".join(f"{count} {title}" for title, count in by_view.items())
    return f"{plural(len(hits), 'hit')}: {listed}" if len(by_view) > 1 or hits else "no hit"
