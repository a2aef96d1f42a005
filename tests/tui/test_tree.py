"""A table whose rows hang on each other: folding, order, filter."""

from __future__ import annotations

from msgspec import Struct
from textual.app import App, ComposeResult

from sdstop.core.finding import Severity
from sdstop.tui.widgets.palette import Palette
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.table import TableColumn
from sdstop.tui.widgets.tree import Branch, TreeTable, severe


class Leaf(Struct, frozen=True):
    name: str
    value: float
    severity: Severity | None = None
    lead: str = ""


COLUMNS = (
    TableColumn("name", "NAME", 30, lambda i, _: i.lead + i.name, lambda i: i.name, rising=True),
    TableColumn("value", "VALUE", 6, lambda i, _: f"{i.value:g}", lambda i: i.value, right=True),
)


def leaf(name: str, value: float = 0.0, severity: Severity | None = None) -> Branch:
    return Branch(Row(name, Leaf(name, value, severity), None, name))


def branch(name: str, *parts: Branch) -> Branch:
    marked = tuple(part for part in parts if severe(part.row.item))
    return Branch(
        Row(name, Leaf(name, sum(p.row.item.value for p in parts)), None, name),
        lambda: parts, lambda: marked, sum(1 + p.count for p in parts), sum(not p.count for p in parts),
    )  # fmt: skip


class Stage(App[None]):
    """One tree."""

    def __init__(self, roots: list[Branch]) -> None:
        super().__init__()
        self.theme = "ansi-dark"
        self.table = TreeTable("Things", COLUMNS)
        self.roots = roots

    def compose(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        self.put()

    def put(self, *, ascii_only: bool = False) -> None:
        self.table.grow(self.roots, Palette(ascii=ascii_only))

    def cursor(self) -> object:
        return self.table.cursor

    def names(self) -> list[str]:
        return [row.item.lead + row.item.name for row in self.table.rows]


def forest() -> list[Branch]:
    return [
        branch("a", branch("a1", leaf("a1x", 5), leaf("a1y", 7)), leaf("a2", 9)),
        branch("b", leaf("b1", 1)),
    ]


def crowd(disks: int = 40) -> list[Branch]:
    leaves = [leaf(f"d{n:03d}", n, Severity.WARNING if n == 7 else None) for n in range(disks)]
    return [branch("h", branch("e", *leaves), leaf("last")), branch("i", leaf("i1"))]


async def test_what_hangs_on_what_is_drawn() -> None:
    app = Stage(forest())
    async with app.run_test(size=(60, 20)):
        assert app.names() == ["a", "├ a1", "│ ├ a1x", "│ └ a1y", "└ a2", "b", "└ b1"]
        app.put(ascii_only=True)
        assert app.names() == ["a", "|- a1", "|  |- a1x", "|  `- a1y", "`- a2", "b", "`- b1"]


async def test_siblings_are_sorted_among_themselves() -> None:
    app = Stage(forest())
    async with app.run_test(size=(60, 20)):
        app.table.sort_by("value")
        assert app.names() == ["a", "├ a1", "│ ├ a1y", "│ └ a1x", "└ a2", "b", "└ b1"]
        app.table.sort_by("value", down=False)
        assert app.names() == ["b", "└ b1", "a", "├ a2", "└ a1", "  ├ a1x", "  └ a1y"]


async def test_a_filter_shows_what_its_matches_hang_on_and_what_hangs_on_them() -> None:
    app = Stage(forest())
    async with app.run_test(size=(60, 20)):
        app.table.search("a1y")
        assert app.names() == ["a", "└ a1", "  └ a1y"]
        app.table.search("A1")
        assert app.names() == ["a", "└ a1", "  ├ a1x", "  └ a1y"]
        app.table.search("nothing")
        assert app.names() == []
        app.table.search("")
        assert len(app.names()) == 7


async def test_a_filter_finds_what_is_folded() -> None:
    app = Stage(crowd())
    async with app.run_test(size=(60, 14)):
        app.table.search("d039")
        assert app.names() == ["h", "└ e", "  └ d039"]


async def test_keys_fold_and_unfold_and_walk() -> None:
    app = Stage(forest())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("left")
        assert app.names() == ["+ a", "b", "└ b1"]
        await pilot.press("right")
        assert len(app.names()) == 7
        await pilot.press("right")
        assert app.cursor() == "a1"
        await pilot.press("l", "l")
        assert app.cursor() == "a1x"
        await pilot.press("h")
        assert app.cursor() == "a1"
        await pilot.press("h", "h")
        assert (app.cursor(), app.names()) == ("a", ["a", "├ + a1", "└ a2", "b", "└ b1"])
        await pilot.press("z")
        assert len(app.names()) == 7
        await pilot.press("z")
        assert app.names() == ["+ a", "+ b"]
        assert app.cursor() == "a"


async def test_many_leaves_are_folded_unasked_but_for_those_that_are_marked() -> None:
    app = Stage(crowd())
    async with app.run_test(size=(60, 14)) as pilot:
        app.put()
        assert app.names() == ["h", "├ + e", "│ └ d007", "└ last", "i", "└ i1"]
        app.table.point("e")
        await pilot.press("left")  # somebody wants it quiet
        assert app.names() == ["h", "├ + e", "└ last", "i", "└ i1"]
        await pilot.press("right")
        assert len(app.names()) == 45
        app.put()
        assert len(app.names()) == 45


async def test_on_a_large_screen_as_many_are_unfolded() -> None:
    app = Stage(crowd())
    async with app.run_test(size=(60, 40)):
        app.put()
        assert len(app.names()) == 45


async def test_keys_do_nothing_without_rows() -> None:
    app = Stage([])
    async with app.run_test(size=(60, 10)) as pilot:
        await pilot.press("left", "right", "z", "h", "l")
        assert app.names() == []
