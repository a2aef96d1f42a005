"""Main screen: the views below the status line and the tabs."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen

from sdstop.tui.scene import Scene
from sdstop.tui.status import counts_line, status_line, tabs_line
from sdstop.tui.views import FIRST, view_of
from sdstop.tui.views.view import View, ViewPlace
from sdstop.tui.widgets.foot import FooterBar, Prompt
from sdstop.tui.widgets.keys import Hint
from sdstop.tui.widgets.palette import Palette, text
from sdstop.tui.widgets.pane import Pane, Row
from sdstop.tui.widgets.table import LineTable


class Main(Screen[None]):
    """Screen that shows one view at a time."""

    def __init__(self, hints: Sequence[Hint]) -> None:
        """Start with the first view; `hints` are the key hints of the bottom line."""
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (160, "-wide")]
        self.VERTICAL_BREAKPOINTS = [(0, "-lowest"), (14, "-low"), (20, "-middling"), (36, "-tall")]
        self.status = Pane(cursor=False, id="status")
        self.tabs = Pane(cursor=False, id="tabs")
        self.tiny = Pane(cursor=False, id="tiny")
        self.foot = FooterBar(hints)
        self.entry = FIRST
        self.views: dict[str, View] = {FIRST.key: FIRST.made_of()}
        self.scene: Scene | None = None
        self._needle = ""

    @property
    def shown(self) -> View:
        """The visible view."""
        return self.views[self.entry.key]

    def compose(self) -> ComposeResult:
        """Lay out the widgets."""
        yield self.tiny
        yield self.status
        yield self.tabs
        with Container(id="views"):
            yield self.shown
        yield self.foot

    def on_mount(self) -> None:
        """Show the first view."""
        self.shown.add_class("-shown")
        self.call_after_refresh(self._focus_shown)

    def _focus_shown(self) -> None:
        """Focus the current view, which a key may have changed before the first view was laid out."""
        self.set_focus(self.shown.main)

    def on_resize(self, event: events.Resize) -> None:
        """Reduce the screen to one line if the terminal is too small."""
        self.set_class(event.size.width < 40 or event.size.height < 8, "-tiny")
        if self.scene is not None:
            self.call_after_refresh(self.show, self.scene)

    def on_screen_resume(self) -> None:
        """Repaint after a sheet is closed."""
        if self.scene is not None:
            self.show(self.scene)

    def wait(self, name: str, trouble: str, palette: Palette) -> None:
        """Show that no data has arrived yet, and why."""
        said = f"waiting for the first answer of {name}" + (f": {trouble}" if trouble else "")
        line = text(f" {palette.word(said, 300)}")
        for pane in (self.status, self.tiny):
            pane.put([Row(line=lambda _: line)], palette)
        self.foot.show(palette)

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        if not self.is_current or not self.is_mounted:
            return
        palette = scene.palette
        self.tiny.put([Row(line=lambda _: counts_line(scene, tight=True))], palette)
        self.status.put([Row(line=lambda width: status_line(scene, width))], palette)
        self.tabs.put([Row(line=lambda width: tabs_line(self.entry, width))], palette)
        self.foot.show(palette)
        self.shown.paint(scene)

    # -- keys -------------------------------------------------------------------------------------------------

    async def show_view(self, key: str) -> None:
        """Show a view."""
        entry = view_of(key)
        if key not in self.views:
            self.views[key] = entry.made_of()
            await self.query_one("#views").mount(self.views[key])
        view = self.views[key]
        if view is not self.shown:
            self.shown.remove_class("-shown")
            view.add_class("-shown")
            self.entry = entry
        self.set_focus(view.main)
        if self.scene is not None:
            view.paint(self.scene)  # places the cursor before the next key; painted again after layout
            self.call_after_refresh(self.show, self.scene)

    async def go(self, place: ViewPlace) -> None:
        """Show a view and move its cursor to a row."""
        await self.show_view(place.view)
        self.shown.point(place.key)

    def table(self) -> LineTable:
        """Return the table that receives keys: the focused one, or else the first one of the view."""
        focused = self.focused
        return focused if isinstance(focused, LineTable) else self.shown.query(LineTable).first()

    def ask_filter(self) -> None:
        """Prompt for the row filter."""
        table = self.table()

        def done(answer: str | None) -> None:
            self._needle = answer or ""
            table.search(answer or "")

        self.foot.ask(Prompt("filter", table.needle, done, table.search))

    def match(self, step: int) -> bool:
        """Move to the next (1) or previous (-1) match of the filter, or of the last search; return False if none."""
        table = self.table()
        return table.match(table.needle or self._needle, step)

    async def back(self) -> None:
        """Clear the filter, or return to the overview if there is none."""
        table = self.table()
        if table.needle:
            table.search("")
        elif self.entry is not FIRST:
            await self.show_view(FIRST.key)
