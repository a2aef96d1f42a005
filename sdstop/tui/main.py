"""Main: the screen of views, below the status line and the tabs."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen

from sdstop.tui.scene import Scene
from sdstop.tui.status import counts_line, status_line, tabs_line
from sdstop.tui.views.overview import Overview
from sdstop.tui.views.view import Place, View
from sdstop.tui.widgets.foot import Foot, Hint, Question
from sdstop.tui.widgets.palette import Palette, text
from sdstop.tui.widgets.pane import Pane, Row
from sdstop.tui.widgets.table import LineTable

HINTS: tuple[Hint, ...] = (
    ("?", "help"),
    ("/", "filter"),
    ("s", "sort"),
    ("Enter", "why"),
    ("Space", "pause"),
    ("t T", "step"),
    ("e", "event"),
    ("w", "write"),
    ("q", "quit"),
    ("b", "go to time"),
    ("Tab", "next pane"),
    (":", "command"),
)


TABS = (
    ("1", "Overview"),
    ("2", "Disks"),
    ("3", "Caches"),
    ("4", "Network"),
    ("5", "Fabric"),
    ("6", "Host"),
    ("7", "Cluster"),
    ("8", "Volumes"),
    ("!", "Findings"),
)
"""Views by key."""


class Main(Screen[None]):
    """One view at a time."""

    def __init__(self) -> None:
        """Start on the overview."""
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (160, "-wide")]
        self.VERTICAL_BREAKPOINTS = [(0, "-lowest"), (14, "-low"), (20, "-middling"), (36, "-tall")]
        self.status = Pane(cursor=False, id="status")
        self.tabs = Pane(cursor=False, id="tabs")
        self.tiny = Pane(cursor=False, id="tiny")
        self.foot = Foot(HINTS)
        self.shown: View = Overview()
        self.views: dict[str, View] = {"1": self.shown}
        self.scene: Scene | None = None
        self._needle = ""

    def compose(self) -> ComposeResult:
        """Lay out the parts."""
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
        """Have keys go to the view that is shown by now: one may have been typed before the first was laid out."""
        self.set_focus(self.shown.main)

    def on_resize(self, event: events.Resize) -> None:
        """Fall back to one line where there is no room for more."""
        self.set_class(event.size.width < 40 or event.size.height < 8, "-tiny")
        if self.scene is not None:
            self.call_after_refresh(self.show, self.scene)

    def on_screen_resume(self) -> None:
        """Paint what is new since a sheet lay over it."""
        if self.scene is not None:
            self.show(self.scene)

    def wait(self, name: str, trouble: str, palette: Palette) -> None:
        """Say that nothing is known yet, and why."""
        said = f"waiting for the first answer of {name}" + (f": {trouble}" if trouble else "")
        line = text(f" {palette.word(said, 300)}")
        for pane in (self.status, self.tiny):
            pane.put([Row(line=lambda _: line)], palette)
        self.foot.show(palette)

    def show(self, scene: Scene) -> None:
        """Paint a moment."""
        self.scene = scene
        if not self.is_current or not self.is_mounted:
            return
        palette = scene.palette
        self.tiny.put([Row(line=lambda _: (*counts_line(scene, brief=True),))], palette)
        self.status.put([Row(line=lambda width: status_line(scene, width))], palette)
        self.tabs.put([Row(line=lambda width: tabs_line(TABS, self.shown.key, width))], palette)
        self.foot.show(palette)
        self.shown.show(scene)

    # -- keys -------------------------------------------------------------------------------------------------

    async def show_view(self, key: str) -> None:
        """Show a view, or say that there is none."""
        if key not in self.views:
            self.views[key] = _made(key)
            await self.query_one("#views").mount(self.views[key])
        view = self.views[key]
        if view is not self.shown:
            self.shown.remove_class("-shown")
            view.add_class("-shown")
            self.shown = view
        self.set_focus(view.main)
        if self.scene is not None:
            view.show(self.scene)  # for the cursor, which the next key may move; once laid out, it is painted anew
            self.call_after_refresh(self.show, self.scene)

    async def go(self, place: Place) -> None:
        """Show a view, and a row of it."""
        await self.show_view(place.view)
        self.shown.point(place.key)

    def table(self) -> LineTable:
        """Return the table that keys mean: the focused one, else the view's first."""
        focused = self.focused
        return focused if isinstance(focused, LineTable) else self.shown.query(LineTable).first()

    def ask_filter(self) -> None:
        """Ask what rows must hold."""
        table = self.table()

        def done(answer: str | None) -> None:
            self._needle = answer or ""
            table.search(answer or "")

        self.foot.ask(Question("filter", table.needle, done, table.search))

    def match(self, step: int) -> bool:
        """Go to the next or the previous row that holds what was last searched, filtered or not."""
        table = self.table()
        return table.match(table.needle or self._needle, step)

    async def back(self) -> None:
        """Clear the filter, else go back to the overview."""
        table = self.table()
        if table.needle:
            table.search("")
        elif self.shown.key != "1":
            await self.show_view("1")


def _made(key: str) -> View:
    """Make a view when it is asked for: what the first one does not need is not even imported before."""
    match key:
        case "2":
            from sdstop.tui.views.disks import Disks  # noqa: PLC0415

            return Disks()
        case "3":
            from sdstop.tui.views.caches import Caches  # noqa: PLC0415

            return Caches()
        case "4":
            from sdstop.tui.views.network import Network  # noqa: PLC0415

            return Network()
        case "5":
            from sdstop.tui.views.fabric import FabricView  # noqa: PLC0415

            return FabricView()
        case "6":
            from sdstop.tui.views.host import Host  # noqa: PLC0415

            return Host()
        case "7":
            from sdstop.tui.views.cluster import ClusterView  # noqa: PLC0415

            return ClusterView()
        case "8":
            from sdstop.tui.views.volumes import Volumes  # noqa: PLC0415

            return Volumes()
        case _:
            from sdstop.tui.views.findings import Findings  # noqa: PLC0415

            return Findings()
