"""Search over all views, pins, and the way from a finding to its thing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.finding import Finding, Severity
from sdstop.core.rule import Rule
from sdstop.core.session import Session
from sdstop.tui.search import Search, counted_hits
from sdstop.tui.views import VIEWS
from sdstop.tui.views.disk_folds import FoldedRow
from sdstop.tui.widgets.column import columns_by_name
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.query import QueryError, parse
from sdstop.tui.widgets.table import MIB, MS, PERCENT, LineTable, TableColumn
from sdstop.tui.widgets.tree import TreeTable
from tests.fixtures import story as at_end
from tests.nodes.block import Load, Node, raid10
from tests.tui.screens import SMALL, WIDE, screen

Item = dict[str, object]


def column(name: str, title: str, scale: float = 1.0, **more: object) -> TableColumn:
    return TableColumn(name, title, 8, lambda i, _: str(i.get(name, "-")), lambda i: i.get(name), scale=scale, **more)  # type: ignore[arg-type]


COLUMNS = columns_by_name(
    [
        column("device", "DEVICE"),
        column("array", "ARRAY"),
        column("wait", "await", MS),
        column("busy", "%util", PERCENT),
        column("read", "rMiB/s", MIB),
        column("reads", "r/s"),
        column("queue", "aqu"),
        column("size", "SIZE"),
        column("rx", "RX B/s"),
    ]
)
ROW: Item = {
    "device": "sdb", "array": "md0,pool", "wait": 0.0215, "busy": 0.812, "read": 30.5 * MIB, "reads": 12_000.0,
    "queue": 4, "size": 2.0 * 1024**3, "rx": None,
}  # fmt: skip


def holds(text: str, item: Item = ROW) -> bool:
    return parse(text, COLUMNS).holds(Row(item["device"], item, None, f"{item['device']} WDC hung task"), COLUMNS)


@pytest.mark.parametrize(
    "text",
    [
        "sdb", "SDB", "^sd[ab]", "wdc", '"hung task"', "'hung task'", "hung task", "sd(a|b)", "(sda|sdb)",
        "await > 20ms", "await>20", "await > 20 ms", "await > 0.02s", "await>=21.5", "wait < 30", "AWAIT > 21000us",
        "%util > 80", "%util > 80%", "%util>80 await>20ms", "busy > 80 and await > 20ms", "%util > 99 or aqu >= 4",
        "rMiB/s > 30", "rmib/s > 30M", "rMiB/s < 1G", "rMiB/s = 30.5", "r/s > 10k", "r/s = 12k", "r/s<13000",
        "queue >= 4", "aqu = 4", "aqu == 4", "aqu != 5", "SIZE = 2G", "SIZE > 1.9GiB",
        "array = md0", "array = pool", "array = MD*", "array ~ ^md", "array != md1", "array !~ zfs", "device = sd?",
        "not array = md1", "! sdc", "not (sdc or array = md7)", "(await > 1s or aqu > 3) array = md0",
        "((sdb) and (aqu > 3))", "sdb and not sdc", "sda or sdb", "sda || sdb", "sdb && wdc",
    ],
)  # fmt: skip
def test_what_holds(text: str) -> None:
    assert holds(text)


@pytest.mark.parametrize(
    "text",
    [
        "sdc", "await > 22ms", "await > 1m", "%util > 82", "aqu > 4", "array = md", "array != md0", "sdb sdc",
        "not sdb", "RX B/s > 0", "RX B/s < 10", "rMiB/s > 1G", "r/s > 13k", '"hung  task"', "sdb and (aqu > 4 or sdc)",
        "device > 3", "array ~ ^pool$ sdc",
    ],
)  # fmt: skip
def test_what_does_not_hold(text: str) -> None:
    assert not holds(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("sd(", 'invalid pattern "sd(": missing ), unterminated subpattern at position 2'),
        ("*", 'invalid pattern "*": nothing to repeat at position 0'),
        ("await >", "await must be compared with a value"),
        ("await > soon", 'await > needs a number, not "soon"'),
        ("await > 20parsec", 'unknown unit in "20parsec"; use ms, s, %, K, M, G or T'),
        ("awiat > 20", 'unknown column "awiat"; did you mean "await"?'),
        ("zzz = 3", 'unknown column "zzz"; put text in quotes'),
        ("array ~ [", 'invalid pattern "[": unterminated character set at position 0'),
        ("(sda or sdb", 'missing ")"'),
        ("sda)", 'unexpected ")"'),
        ("sda or", "incomplete; something must follow"),
        ("not", "incomplete; something must follow"),
        ("", "nothing to search for"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, complaint: str) -> None:
    with pytest.raises(QueryError) as raised:
        parse(text, COLUMNS)
    assert str(raised.value) == complaint


@given(st.text(alphabet="ab()&|\"'<>=!~ 019.%ms*[]\\and or not", max_size=30))
def test_any_text_is_a_query_or_a_line(text: str) -> None:
    try:
        query = parse(text, COLUMNS)
    except QueryError as error:
        said = str(error)
        assert len(said.splitlines()) == 1  # a text may also be a query
    else:
        query.holds(Row("x", ROW, None, "x"), COLUMNS)
        query.holds(Row("x", None, lambda _: (), "x"), COLUMNS)  # a heading


# --- tables -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", VIEWS, ids=lambda entry: entry.name)
def test_headings_are_unique_and_sort_and_are_no_names_of_others(entry: object) -> None:
    for columns in entry.made_of.tables:  # type: ignore[attr-defined]
        headings = [column.heading.lower() for column in columns if column.heading]
        assert len(set(headings)) == len(headings)
        table = LineTable("", columns)
        for column_ in columns:
            if column_.value is None:
                continue
            assert column_.heading in table.sortable
            for name in (column_.heading, column_.heading.lower(), column_.name):
                assert table.column_named(name, sortable=True) is column_


STORIES = ("clone-convoy", "draid-one-dimm", "aoe-flashcache", "scaleio-cloud", "vm-cgroup-io-max", "mtu-mismatch")


@pytest.mark.parametrize("story", STORIES)
async def test_each_row_of_a_view_is_found(story: str) -> None:
    """What stands in a table with columns of its own is in the listing of a view, with a key that leads to it."""
    async with screen(at_end(story).session, WIDE) as shown:
        finder, scene = Search(), shown.app.scene
        assert scene is not None
        for entry in VIEWS[1:]:
            await shown.app.action_view(entry.key)
            await shown.settled()
            listed = {row.key for listing, _ in finder.listed(entry, scene) for row in listing.rows}
            tables = [table for table in shown.app.main.shown.all_tables() if table.columns in entry.made_of.tables]
            for table in tables:
                rows = [row for row in table.rows if not isinstance(row.item, FoldedRow)]  # their members are listed
                keyed = {row.key for row in rows if row.key is not None}
                assert keyed <= listed, (entry.name, keyed - listed)
                if isinstance(table, TreeTable) or not table.display:
                    continue
                for key in list(keyed)[:3]:
                    shown.app.main.shown.point(key)
                    assert table.cursor == key
                    assert shown.app.main.focused is table


def busy(device: str, second: int) -> Load:
    return Load(reads=10, queue=float(second), busy=0.9 if device == "sdb" else 0.2)


def odd(*subjects: str, **more: object) -> Rule:
    def check(window: object, limits: object) -> list[Finding]:
        return [Finding(severity=Severity.CRITICAL, subject=name, cause=f"{name} is odd.", **more) for name in subjects]  # type: ignore[arg-type]

    return Rule("odd", "is odd", Severity.CRITICAL, check, ())


DISKS = ("sda", "sdb", "sdc", "sdd")


def session(*rules: Rule) -> Session:
    return Node((*DISKS, "md0"), busy, raid10("md0", DISKS)).session(3, list(rules))


@pytest.mark.parametrize("size", [SMALL, (160, 48)])
async def test_a_search_counts_in_all_views_and_hides_no_finding(size: tuple[int, int]) -> None:
    async with screen(session(odd("md0")), size) as shown:
        text = await shown.press("slash", *"sdz")
        assert " /  sdz    no hit" in shown.lines()[-1]
        assert "md0 " in shown.line("!CRIT")
        text = await shown.press(*["backspace"] * 3, *"sd[ab]$")
        assert "no hit" in text.splitlines()[-1]
        text = await shown.press("backspace")
        assert "2 Disks" in text.splitlines()[-1]
        await shown.press("enter", "2")
        assert "sda" in shown.app.main.table().text()
        assert "sdc" not in shown.app.main.table().text()
        await shown.press("exclamation_mark")
        assert "!CRIT" in shown.text()
        await shown.press("escape", "2")
        assert "sdc" in shown.text()


async def test_conditions_find_members_by_their_array() -> None:
    async with screen(session(), WIDE) as shown:
        await shown.press("slash")
        text = await shown.type("array = md0 %util > 80")
        assert shown.app.main.entry.name in {"overview", "disks"}
        assert "1 hit: 1 Disks" in text.splitlines()[-1] or "hit 1 of 1: Disks" in text.splitlines()[-1]
        await shown.press("2")
        assert shown.line("sdb")
        assert not shown.line("sda ")
        assert "array = md0 %util > 80" in (await shown.press("slash", "up")).splitlines()[-1]
        await shown.press("ctrl+u")
        text = await shown.type("aray = md0")
        assert 'unknown column "aray"; did you mean "array"?' in text.splitlines()[-1]
        assert "sda " in text  # and nothing is hidden


async def test_hits_lead_through_the_views() -> None:
    async with screen(session(odd("sdb")), SMALL) as shown:
        await shown.press("slash")
        await shown.type("sdb")
        seen = []
        for _ in range(8):
            await shown.press("n")
            seen.append(shown.app.main.entry.name)
        assert {"disks", "findings"} <= set(seen)
        assert "hit " in shown.lines()[-1]


# --- things -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [SMALL, (160, 48)])
async def test_a_finding_leads_to_its_thing(size: tuple[int, int]) -> None:
    async with screen(session(odd("md0/sdc", view="disks")), size) as shown:
        await shown.press("exclamation_mark", "v")
        assert shown.app.main.entry.name == "disks"
        assert shown.app.main.table().cursor == ("md0", "sdc")
        await shown.press("right_square_bracket")
        assert shown.app.main.table().cursor == ("md0", "sdd")
        await shown.press("left_square_bracket", "left_square_bracket")
        assert shown.app.main.table().cursor == ("md0", "sdb")
        assert "no finding selected" in await shown.press("v")
        await shown.press("exclamation_mark", "enter", "v")  # from its explanation, too
        assert shown.app.main.entry.name == "disks"
    async with screen(session(odd("nowhere")), size) as shown:
        assert "no view shows nowhere" in await shown.press("exclamation_mark", "v")


LEADING = [*STORIES, "scaleio-4node", "draid-numa", "pacemaker-unclean"]


@pytest.mark.parametrize("story", [name for name in LEADING if (Path("fixtures") / name).is_dir()])
async def test_each_finding_of_a_story_leads_somewhere(story: str) -> None:
    async with screen(at_end(story).session, (160, 48)) as shown:
        scene = shown.app.scene
        assert scene is not None
        for entry in scene.findings():
            await shown.app.action_view("1")
            said = await shown.app.main.lead(entry)
            wanted = getattr(entry.finding, "view", "")
            assert not said or not wanted, (entry.subject, said)
            assert not wanted or shown.app.main.entry.name.startswith(wanted[:4]), (entry.subject, wanted)


async def test_a_thing_is_pinned_above_all_views() -> None:
    async with screen(session(odd("sdb")), WIDE) as shown:
        await shown.press("2")
        shown.app.main.shown.point(("md0", "sdb"))
        assert "pinned" in await shown.press("p")
        for key in "1346":
            await shown.press(key)
            pinned = shown.lines()[2]
            assert pinned.startswith("!sdb")
            assert "%util 90" in pinned
        await shown.press("2")
        shown.app.main.shown.point(("md0", "sda"))
        await shown.press("p")
        assert shown.lines()[3].startswith(" sda")
        await shown.press("p", "colon")
        await shown.type("unpin")
        assert "──" in shown.lines()[2]


async def test_pins_that_are_gone_say_so() -> None:
    async with screen(session(), WIDE) as shown:
        await shown.press("2")
        await shown.press("p")
        pin = shown.app.main.pins[0]
        shown.app.main.pins = [type(pin)(pin.entry, ("md9", "sdx"))]
        shown.app.paint()
        await shown.settled()
        assert "md9 sdx  not in Disks now" in shown.lines()[2]


def test_counts_name_the_views() -> None:
    assert counted_hits([]) == "no hit"
