"""Main screen: the views below the status line and the tabs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen

from sdstop.tui.pins import MOST_PINS, Pin, pin_line
from sdstop.tui.scene import FindingEntry, Scene
from sdstop.tui.search import Hit, Search, counted_hits
from sdstop.tui.status import counts_line, status_line, tabs_line
from sdstop.tui.time_bar import TimeBar
from sdstop.tui.views import FIRST, ViewEntry, view_named, view_of
from sdstop.tui.views.view import View, ViewPlace
from sdstop.tui.widgets.foot import FooterBar, Prompt
from sdstop.tui.widgets.keys import Hint
from sdstop.tui.widgets.palette import Palette, text
from sdstop.tui.widgets.pane import Pane, Row
from sdstop.tui.widgets.query import QueryError, RowQuery
from sdstop.tui.widgets.table import LineTable


class _Views(Container):
    """The place of the views."""

    BLANK = True


class Main(Screen[None]):
    """Screen that shows one view at a time."""

    BLANK = True

    def __init__(self, hints: Sequence[Hint], columns: Mapping[str, Sequence[str]] | None = None) -> None:
        """Start with the first view; `hints` are the key hints of the bottom line.

        `columns` are the names of the columns that the user has chosen, by the id of their table.
        """
        super().__init__()
        self.columns = dict(columns or {})
        self.finder = Search()
        self.pins: list[Pin] = []
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (160, "-wide")]
        self.VERTICAL_BREAKPOINTS = [(0, "-lowest"), (14, "-low"), (20, "-middling"), (36, "-tall")]
        self.status = Pane(cursor=False, id="status")
        self.tabs = Pane(cursor=False, id="tabs")
        self.pinned = Pane(cursor=False, id="pinned")
        self.tiny = Pane(cursor=False, id="tiny")
        self.bar = TimeBar()
        self.foot = FooterBar(hints)
        self.entry = FIRST
        self.views: dict[str, View] = {FIRST.key: FIRST.made_of()}
        self.scene: Scene | None = None
        self._last: RowQuery | None = None
        self._at: Hit | None = None
        self._waiting = False
        self._styled = False

    @property
    def shown(self) -> View:
        """The visible view."""
        return self.views[self.entry.key]

    def compose(self) -> ComposeResult:
        """Lay out the widgets, with the classes of the terminal's size: set later, all widgets are styled again."""
        for size, points in zip(self.app.size, (self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS), strict=True):
            self.update_classes(dict.fromkeys(self._get_breakpoint_classes(size, points or []), True), update=False)
        yield self.tiny
        yield self.status
        yield self.tabs
        yield self.pinned
        with _Views(id="views"):
            yield self.shown
        yield self.bar
        yield self.foot

    def on_mount(self) -> None:
        """Show the first view."""
        self.shown.display = True
        self._prepare(self.shown)
        self.call_after_refresh(self._focus_shown)

    def _focus_shown(self) -> None:
        """Focus the current view, which a key may have changed before the first view was laid out."""
        self.set_focus(self.shown.main)

    def on_resize(self, event: events.Resize) -> None:
        """Reduce the screen to one line if the terminal is too small."""
        self.set_class(event.size.width < 40 or event.size.height < 8, "-tiny")
        self._show_after_layout()

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Repaint after a sheet is closed; at the start, all widgets have just been styled."""
        event.refresh_styles, self._styled = self._styled, True
        if self.scene is not None:
            self.show(self.scene)

    def wait(self, name: str, trouble: str, palette: Palette, *, opens: bool = False) -> None:
        """Show that no data has arrived yet, and why; of a capture, which `opens`, that its end is being judged."""
        said = f"waiting for the first data of {name}" + (f": {trouble}" if trouble else "")
        said = f"opening {name}: judging the frames before the one to show" if opens else said
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
        self.bar.show(scene, self.app.size.width, self.app.size.height)
        self._show_pins(scene)
        self.shown.paint(scene)

    def await_frame(self, scene: Scene) -> None:
        """Paint which frame is being judged: all else stays as it is until then."""
        self.scene = scene
        if self.is_current and self.is_mounted:
            self.status.put([Row(line=lambda width: status_line(scene, width))], scene.palette)
            self.bar.show(scene, self.app.size.width, self.app.size.height)

    def _prepare(self, view: View) -> None:
        """Apply the search and the chosen columns to the tables of a view."""
        for table in view.all_tables():
            table.search(self.finder.query)
            table.choose(self.columns.get(table.id or ""))

    def _show_after_layout(self) -> None:
        """Paint the newest scene, once for several changes of size: a dashboard starts with three."""
        if not self._waiting:
            self._waiting = True
            self.call_after_refresh(self._show_newest)

    def _show_newest(self) -> None:
        self._waiting = False
        if self.scene is not None:
            self.show(self.scene)

    # -- keys -------------------------------------------------------------------------------------------------

    async def show_view(self, key: str) -> None:
        """Show a view."""
        entry = view_of(key)
        if key not in self.views:
            self.views[key] = entry.made_of()
            await self.query_one("#views").mount(self.views[key])
        view = self.views[key]
        self._prepare(view)
        turned = view is not self.shown
        if turned:
            self.shown.display, view.display = False, True  # a class restyles all widgets of both
            self.entry = entry
        self.set_focus(view.main)
        if turned and self.scene is not None:
            view.paint(self.scene)  # places the cursor before the next key; painted again after layout
            self._show_after_layout()

    async def go(self, place: ViewPlace) -> None:
        """Show a view and move its cursor to a row."""
        await self.show_view(place.view)
        self.shown.point(place.key)

    def table(self) -> LineTable:
        """Return the table that receives keys: the focused one, or else the first one of the view."""
        focused = self.focused
        return focused if isinstance(focused, LineTable) else self.shown.query(LineTable).first()

    # -- search -----------------------------------------------------------------------------------------------

    def ask_filter(self) -> None:
        """Prompt for what to search for in all views; the hits are counted while it is typed."""

        def done(answer: str | None) -> None:
            self.finder.typing = False
            note = self._search(answer or "")
            if answer and self.finder.query is not None:
                self.call_later(self._first_hit)
            elif answer and answer.strip():
                self.foot.say(note, bad=True)

        self.finder.forget()
        self.finder.typing = True
        self.foot.ask(Prompt("/", "", done, self._search, recalled=self._last.text if self._last else ""))

    def search_for(self, text: str) -> None:
        """Search for a text and show the number of hits, or the error in it."""
        note = self._search(text)
        self.foot.say(note, bad=self.finder.query is None)
        if self.finder.query is not None:
            self.call_later(self._first_hit)

    def _search(self, text: str) -> str:
        """Search for a typed text and return the number of hits, or the error in the text."""
        if self.scene is None:
            return ""
        try:
            query = self.finder.parse(text, self.scene)
        except QueryError as error:
            self._apply(None)
            return str(error)
        self._apply(query)
        return counted_hits(self.finder.hits(self.scene)) if query is not None else ""

    def _apply(self, query: RowQuery | None) -> None:
        self.finder.query = query
        self._last = query or self._last
        self._at = None
        for table in self.shown.all_tables():
            table.search(query)

    async def _first_hit(self) -> None:
        """Move to the first hit of the focused table, or else of the first view that has one."""
        if self.scene is None:
            return
        hits = self.finder.hits(self.scene)
        table = self.table()
        here = next((row for row in table.rows if table.hit(row)), None)
        if here is not None:
            table.point(here.key)
            self.foot.say(f"{counted_hits(hits)}; n N: next, previous")
        elif hits:
            await self._go_to(hits, 0)
        else:
            self.foot.say(f"no hit of {self.finder.query.text if self.finder.query else ''}")

    async def _go_to(self, hits: Sequence[Hit], at: int) -> None:
        self._at = hit = hits[at]
        await self.go(ViewPlace(hit.entry.key, hit.key))
        self.foot.say(f"hit {at + 1} of {len(hits)}: {hit.entry.title}")

    async def match(self, step: int) -> bool:
        """Move to the next (1) or previous (-1) hit of the search, or of the last one, in any view.

        Return False if there is none.
        """
        query = self.finder.query or self._last
        if query is None or self.scene is None:
            return False
        hits = self.finder.hits(self.scene, query)
        if not hits:
            return False
        places = {(hit.entry.key, hit.key): at for at, hit in enumerate(hits)}
        table = self.table()
        now = places.get((self.entry.key, table.cursor))
        if now is None and self._at is not None:
            now = places.get((self._at.entry.key, self._at.key))
        if now is None:  # in a view without hits of its own, such as the first one
            now = -1 if step > 0 else 0
        await self._go_to(hits, (now + step) % len(hits))
        return True

    async def back(self) -> None:
        """End the search, or return to the overview if there is none."""
        if self.finder.query is not None:
            self._apply(None)
            self.finder.forget()
        elif self.entry is not FIRST:
            await self.show_view(FIRST.key)

    # -- things -----------------------------------------------------------------------------------------------

    async def lead(self, entry: FindingEntry) -> str:
        """Show the view of a finding and select its thing there; return "" or why that is not possible."""
        finding, scene = entry.finding, self.scene
        if scene is None or finding is None:
            return "no finding selected"
        wanted = str(getattr(finding, "view", None) or "")
        subject = str(getattr(finding, "view_subject", None) or finding.subject)
        hit = self.finder.about(scene, subject, wanted) or self.finder.about(scene, finding.subject, wanted)
        place = view_named(wanted)
        if place is not None and (hit is None or hit.entry is not place):
            await self.show_view(place.key)
            self.shown.lead(finding)
            return ""
        if hit is None:
            return f"no view shows {scene.palette.word(subject, 40)}"
        await self.go(ViewPlace(hit.entry.key, hit.key))
        return ""

    def pin(self) -> str:
        """Pin the thing under the cursor, or unpin it; return what happened."""
        scene, table = self.scene, self.table()
        row = table.chosen
        if scene is None or row is None or row.key is None:
            return "nothing to pin here"
        return self._pin(self.finder.find(scene, row.key, self.entry), scene)

    def pin_subject(self, names: Iterable[str], entry: ViewEntry) -> str:
        """Pin the row of a thing with one of these names, preferably of a view, or unpin it; return what happened."""
        scene = self.scene
        if scene is None:
            return "nothing to pin here"
        hits = (self.finder.about(scene, name, entry.name) for name in names)
        return self._pin(next((hit for hit in hits if hit is not None), None), scene)

    def _pin(self, hit: Hit | None, scene: Scene) -> str:
        if hit is None:
            return "nothing to pin here"
        pin = Pin(hit.entry, hit.key)
        if pin in self.pins:
            self.pins.remove(pin)
        elif len(self.pins) == MOST_PINS:
            return f"{MOST_PINS} things are pinned; p on one of them unpins it"
        else:
            self.pins.append(pin)
        if self.finder.query is None:
            self.finder.forget()
        self.show(scene)
        return "pinned; p again unpins" if pin in self.pins else "unpinned"

    def unpin(self) -> None:
        """Unpin everything."""
        self.pins.clear()
        if self.scene is not None:
            self.show(self.scene)

    def _show_pins(self, scene: Scene) -> None:
        self.pinned.styles.height = len(self.pins)
        lines = [pin_line(pin, self._row_of(pin.entry, pin.key, scene), scene) for pin in self.pins]
        self.pinned.put([Row(line=line) for line in lines], scene.palette)

    def _row_of(self, entry: ViewEntry, key: Hashable, scene: Scene) -> Hit | None:
        for listing, _ in self.finder.listed(entry, scene):
            for row in listing.rows:
                if row.key == key:
                    return Hit(entry, key, row, listing.columns)
        return None
