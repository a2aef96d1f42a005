"""Main: the screen of views, below the status line and the tabs."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen

from sdstop.collectors.blockdev import BlockDevice
from sdstop.collectors.links import Bond
from sdstop.collectors.mdraid import Array, Member, Rebuild
from sdstop.collectors.network import Interface, InterfaceActivity, Traffic
from sdstop.collectors.processes import ProcessActivity, ProcessIo
from sdstop.disk import Disk, DiskActivity
from sdstop.tui.drives import Group
from sdstop.tui.facts import Thing
from sdstop.tui.foot import Foot, Hint, Question
from sdstop.tui.pane import Pane, Row
from sdstop.tui.scene import Scene
from sdstop.tui.status import counts_line, status_line, tabs_line
from sdstop.tui.table import LineTable
from sdstop.tui.views.claims import Said
from sdstop.tui.views.devices import Spindle
from sdstop.tui.views.disks import Disks
from sdstop.tui.views.findings import Findings
from sdstop.tui.views.host import Host, Source
from sdstop.tui.views.network import Network, Port
from sdstop.tui.views.overview import Doer, Overview, place_of
from sdstop.tui.views.view import Place, View

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


def thing(item: Spindle | Group | Port | Doer) -> Thing:
    """Return what a row is about: the readings that hold its facts."""
    match item:
        case Spindle():
            name = item.drive.name
            members = tuple((Member, (m.array, m.device)) for m in item.drive.members)
            return Thing(name, ((DiskActivity, name), *members, (BlockDevice, name), (Disk, name)))
        case Group():
            name = item.array.array
            rebuilds = tuple((Rebuild, (r.array, r.operation)) for r in item.rebuilds)
            return Thing(name, ((Array, name), *rebuilds, (DiskActivity, name), (BlockDevice, name)))
        case Port():
            families = (InterfaceActivity, Interface, Bond, Traffic)
            return Thing(item.name, tuple((family, item.name) for family in families))
        case Doer():
            key = (item.process.pid, item.process.started)
            return Thing(item.process.name, ((ProcessActivity, key), (ProcessIo, key)))


ABSENT = {"3": "caches", "5": "fabrics", "7": "clusters", "8": "volumes"}
"""Views that come with their collectors."""


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
        self.views: dict[str, View] = {view.key: view for view in (Overview(), Disks(), Network(), Host(), Findings())}
        self.shown = self.views["1"]
        self.scene: Scene | None = None
        self._needle = ""

    def compose(self) -> ComposeResult:
        """Lay out the parts."""
        yield self.tiny
        yield self.status
        yield self.tabs
        with Container(id="views"):
            yield from self.views.values()
        yield self.foot

    def on_mount(self) -> None:
        """Show the first view."""
        self.shown.add_class("-shown")
        self.call_after_refresh(self.set_focus, self.shown.main)

    def on_resize(self, event: events.Resize) -> None:
        """Fall back to one line where there is no room for more."""
        self.set_class(event.size.width < 40 or event.size.height < 8, "-tiny")
        if self.scene is not None:
            self.call_after_refresh(self.show, self.scene)

    def on_screen_resume(self) -> None:
        """Paint what is new since a sheet lay over it."""
        if self.scene is not None:
            self.show(self.scene)

    def show(self, scene: Scene) -> None:
        """Paint a moment."""
        self.scene = scene
        if not self.is_current or not self.is_mounted:
            return
        palette = scene.palette
        self.tiny.put([Row(line=lambda _: (*counts_line(scene, brief=True),))], palette)
        self.status.put([Row(line=lambda width: status_line(scene, width))], palette)
        tabs = [(view.key, view.title) for view in self.views.values()]
        self.tabs.put([Row(line=lambda width: tabs_line(tabs, self.shown.title, palette, width))], palette)
        self.foot.show(palette)
        self.shown.show(scene)

    def opens(self, item: object) -> object:
        """Return what a chosen row leads to: a claim, the facts of a thing, or the item itself."""
        match item:
            case Said() | Source():
                return item.claim
            case Spindle() if self.shown.key == "1":
                self.go(place_of(item))
                return None
            case Spindle() | Group() | Port() | Doer():
                return thing(item)
            case _:
                return item

    def go(self, place: Place) -> None:
        """Show a view, and a row of it."""
        view = next(v for v in self.views.values() if v.title == place.view)
        self.show_view(view.key)
        self.call_after_refresh(view.point, place.key)

    # -- keys -------------------------------------------------------------------------------------------------

    def show_view(self, key: str) -> None:
        """Show a view, or say that there is none."""
        if key not in self.views:
            self.foot.say(f"no collector for {ABSENT[key]} in this version")
            return
        view = self.views[key]
        if view is not self.shown:
            self.shown.remove_class("-shown")
            view.add_class("-shown")
            self.shown = view
        view.main.focus()
        if self.scene is not None:
            self.call_after_refresh(self.show, self.scene)

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

    def back(self) -> None:
        """Clear the filter, else go back to the overview."""
        table = self.table()
        if table.needle:
            table.search("")
        elif self.shown.key != "1":
            self.show_view("1")
