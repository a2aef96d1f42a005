"""The line-painting table: columns, order, filter, cursor, and what it sends to the terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.geometry import Region

from sdstop.tui.widgets.palette import Palette, text
from sdstop.tui.widgets.pane import Row, words
from sdstop.tui.widgets.table import LineTable, TableColumn, fitted

Item = tuple[str, float | None]
COLUMNS = (
    TableColumn("name", "NAME", 6, lambda i, _: i[0], lambda i: i[0], rising=True),
    TableColumn("value", "VALUE", 6, lambda i, _: "-" if i[1] is None else f"{i[1]:.1f}", lambda i: i[1], right=True),
    TableColumn("note", "NOTE", 4, lambda _, w: "." * w, keep=1, widest=20),
)


class Recorded(LineTable):
    """Keeps which regions were sent."""

    sent: list[Region]

    def refresh(self, *regions: Region, **how: bool) -> Recorded:
        if not hasattr(self, "sent"):
            self.sent = []
        self.sent.extend(regions)
        super().refresh(*regions, **how)
        return self


class Stage(App[None]):
    """One table."""

    def __init__(self) -> None:
        super().__init__()
        self.theme = "ansi-dark"
        self.table = Recorded("Things", COLUMNS, sort="value")
        self.now = 0.0
        self.table.clock = lambda: self.now
        self.pause = 11.0  # seconds between two updates, after which rows are ordered anew

    def compose(self) -> ComposeResult:
        yield self.table

    def put(self, *items: Item) -> None:
        self.now += self.pause
        self.table.put([Row(i[0], i, None, i[0]) for i in items], Palette())

    def shown(self) -> list[str]:
        return [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]

    def sorted_by(self) -> str | None:
        return self.table.sort

    def cursor(self) -> object:
        return self.table.cursor

    def names(self) -> list[str]:
        return [row.item[0] for row in self.table.rows]


@given(st.integers(1, 250), st.lists(st.tuples(st.integers(1, 20), st.integers(0, 9), st.integers(0, 60)), min_size=1,
                                     max_size=12))  # fmt: skip
def test_columns_fit_and_use_the_width(width: int, shapes: list[tuple[int, int, int]]) -> None:
    columns = [TableColumn(str(n), "T", w, lambda *_: "", keep=k, widest=x) for n, (w, k, x) in enumerate(shapes)]
    chosen = fitted(columns, width)
    taken = sum(size for _, size in chosen) + len(chosen) - 1
    assert taken <= width or len(chosen) == 1 or all(c.keep == 0 for c, _ in chosen)
    assert all(c.width <= size <= max(c.width, c.widest) for c, size in chosen)
    assert [c for c, _ in chosen] == [c for c in columns if c in {c for c, _ in chosen}]
    if any(size < c.widest for c, size in chosen):
        assert taken >= width


def test_the_least_important_column_leaves_first() -> None:
    columns = [TableColumn(n, n, 10, lambda *_: "", keep=k) for n, k in (("a", 0), ("b", 3), ("c", 1), ("d", 2))]
    assert [c.name for c, _ in fitted(columns, 32)] == ["a", "b", "d"]
    assert [c.name for c, _ in fitted(columns, 5)] == ["a"]


async def test_rows_are_sorted_and_unknown_values_come_last_both_ways() -> None:
    app = Stage()
    async with app.run_test(size=(40, 10)) as pilot:
        app.put(("a", 1.0), ("b", None), ("c", 3.0))
        await pilot.pause()
        assert app.shown()[1:5] == [
            " NAME   ▾VALUE NOTE",
            "▸c         3.0 ....................",
            " a         1.0 ....................",
            " b           - ....................",
        ]
        await pilot.press("S")
        assert app.names() == ["a", "c", "b"]
        await pilot.press("s")
        assert app.sorted_by() is None
        await pilot.press("s")
        assert (app.sorted_by(), app.names()) == ("name", ["a", "b", "c"])


async def test_the_cursor_stays_on_its_row_once_it_was_moved() -> None:
    app = Stage()
    async with app.run_test(size=(40, 10)) as pilot:
        app.put(("a", 1.0), ("b", 2.0), ("c", 3.0))
        app.put(("a", 9.0), ("b", 2.0), ("c", 3.0))
        assert app.cursor() == "a"
        await pilot.press("down")
        assert app.cursor() == "c"
        for _ in range(6):
            app.put(("a", 9.0), ("b", 8.0), ("c", 1.0))
        assert app.names() == ["a", "b", "c"]
        assert app.cursor() == "c"
        app.put(("a", 9.0), ("b", 8.0))
        assert app.cursor() == "b"


async def test_rows_keep_their_places_while_the_cursor_moves() -> None:
    app = Stage()
    async with app.run_test(size=(40, 10)) as pilot:
        app.put(("a", 1.0), ("b", 2.0), ("c", 3.0))
        await pilot.press("j")
        app.put(("a", 9.0), ("b", 2.0), ("c", 3.0), ("d", 5.0))
        assert app.names() == ["c", "b", "a", "d"]
        for _ in range(3):
            app.put(("a", 9.0), ("b", 2.0), ("c", 3.0), ("d", 5.0))
        assert app.names() == ["a", "d", "c", "b"]


async def test_filter_keeps_headings_that_have_rows() -> None:
    app = Stage()
    rows = [
        words(text("first"), None, None, "first"), Row("sda", ("sda", 1.0), None, "sda"),
        words(text("second"), None, None, "second"), Row("sdb", ("sdb", 1.0), None, "sdb"),
    ]  # fmt: skip
    async with app.run_test(size=(40, 10)):
        app.table.put(rows, Palette())
        app.table.search("SDB")
        assert [row.search for row in app.table.rows] == ["second", "sdb"]
        assert "1 hit of SDB" in app.shown()[0]
        app.table.search("first")
        assert [row.search for row in app.table.rows] == ["first", "sda"]
        app.table.search("nowhere")
        assert list(app.table.rows) == []
        app.table.search("")
        assert len(app.table.rows) == 4


async def test_only_lines_that_changed_are_sent() -> None:
    app = Stage()
    items = [(f"r{n:03}", float(1000 - n)) for n in range(1000)]
    async with app.run_test(size=(40, 12)) as pilot:
        app.put(*items)
        await pilot.pause()
        app.table.sent.clear()
        app.put(*items)
        assert app.table.sent == []
        app.put(*[(name, value + 0.04) for name, value in items])
        assert app.table.sent == []  # rounds to the same text
        changed = [(name, 997.9 if name == "r002" else value) for name, value in items]
        app.put(*changed)
        assert app.table.sent == [Region(0, 4, 40, 1)]
        app.table.sent.clear()
        app.put(*[(name, 0.0 if name == "r500" else value) for name, value in changed])
        assert app.table.sent == []  # out of sight


async def test_only_rows_in_view_are_painted() -> None:
    app = Stage()
    asked: list[str] = []

    def cell(item: Item, width: int) -> str:
        asked.append(item[0])
        return item[0]

    app.table.columns = (TableColumn("name", "NAME", 6, cell),)
    app.table.sort = None
    async with app.run_test(size=(40, 12)):
        app.put(*[(f"r{n}", 1.0) for n in range(1000)])
        assert 0 < len(set(asked)) <= 12


async def test_moving_scrolls_and_says_what_is_in_view() -> None:
    app = Stage()
    async with app.run_test(size=(60, 12)) as pilot:
        app.put(*[(f"r{n:02}", float(-n)) for n in range(50)])
        assert app.shown()[0].endswith("1-10 of 50 ─")
        await pilot.press("G")
        assert app.shown()[0].endswith("41-50 of 50 ─")
        assert app.shown()[-1].startswith("▸r49")
        await pilot.press("pageup")
        assert app.cursor() == "r40"
        await pilot.press("g")
        assert app.shown()[2].startswith("▸r00")
        await pilot.press(*["down"] * 11)
        assert app.shown()[-1].startswith("▸r11")


async def test_numbers_that_do_not_fit_are_seen_to_be_cut() -> None:
    app = Stage()
    async with app.run_test(size=(40, 6)):
        app.put(("a", 123456789.0))
        assert "12345…" in app.shown()[2]


async def test_no_rows_at_all() -> None:
    app = Stage()
    async with app.run_test(size=(40, 6)) as pilot:
        app.put()
        await pilot.press("j", "k", "G", "g", "pagedown", "enter", "s", "S", "n")
        assert app.table.chosen is None
        assert not app.table.match("x", 1)
