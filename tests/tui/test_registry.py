"""Views by their registry: tab, key, help, command, README, and which family is seen where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.session import Session
from sdstop.core.snapshot import Run, Snapshot
from sdstop.tui.commands import KEYS
from sdstop.tui.facts import FactSubject
from sdstop.tui.views import FIRST, VIEWS, ViewEntry, view_of
from sdstop.tui.views.view import View
from sdstop.tui.widgets.keys import key_of
from sdstop.tui.widgets.pane import Pane
from tests.clusters.scenario import RECORDED
from tests.expectation import course
from tests.fixtures import opened
from tests.nodes.block import Node
from tests.nodes.host import HostNode
from tests.tui.screens import SMALL, WIDE, roles, screen

ROOT = Path(__file__).parents[2]


def test_keys_and_names_are_unique() -> None:
    for field in ("key", "title", "place", "name"):
        values = [getattr(entry, field) for entry in VIEWS]
        assert len(set(values)) == len(values)
    assert all(len(entry.key) == 1 for entry in VIEWS)
    assert FIRST is VIEWS[0]
    with pytest.raises(KeyError):
        view_of("?")


def test_each_view_is_a_class_of_its_own() -> None:
    made = [entry.made_of for entry in VIEWS]
    assert len(set(made)) == len(made)
    assert all(issubclass(view, View) for view in made)


@pytest.mark.parametrize("entry", VIEWS, ids=lambda entry: entry.name)
async def test_a_view_is_shown_by_key_and_by_name(entry: ViewEntry) -> None:
    async with screen(Node().session(2), WIDE) as shown:
        assert f" {entry.key} {entry.title}" in shown.lines()[1]
        await shown.press(key_of(entry.key))
        assert shown.app.main.entry is entry
        assert isinstance(shown.app.main.shown, entry.made_of)
        await shown.press("1", "colon")
        await shown.type(entry.name)
        assert shown.app.main.entry is entry
    assert (entry.key, f"{entry.title}: {entry.shows}") in KEYS[0][1]


async def test_a_spare_tab_is_left_out_where_it_has_no_room() -> None:
    async with screen(Node().session(2), SMALL) as shown:
        names = "1 All 2 Disks 3 Cache 4 Net 5 Fabric 6 Host 7 Clust 8 Vols 9 Path"
        assert shown.lines()[1].strip() == f"{names} ! Find"
        await shown.press("0")
        assert shown.lines()[1].strip() == f"{names} 0 Raw ! Find"
        await shown.press("1")
        chip = next(s for s in shown.segments()[1] if "tabbg" in roles(s.style))
        assert chip.text == " 1 All "


def test_the_readme_has_the_views() -> None:
    readme = (ROOT / "README.md").read_text()
    listed = re.findall(r"^\| `(.)` \| (\w+) \| (.+) \|$", readme, re.MULTILINE)
    assert listed == [(entry.key, entry.title, entry.shows) for entry in VIEWS]


# --- families ---------------------------------------------------------------------------------------------


def families() -> set[type[Reading]]:
    """Return every family that a built-in collector brings, and what follows from two runs."""
    found = {family for collector in BUILTIN for family in collector.families}
    return found | {derived.target for collector in BUILTIN for derived in collector.derives}


def test_what_views_show_is_brought_by_collectors() -> None:
    named = [family for entry in VIEWS for family in entry.made_of.families]
    assert len(set(named)) == len(named)
    assert set(named) <= families()


async def test_every_family_is_shown_by_a_view_or_among_the_other_readings() -> None:
    named = {family for entry in VIEWS for family in entry.made_of.families}
    async with screen(Node().session(2), WIDE) as shown:
        await shown.press("0")
        listed = {row.item.family for row in shown.app.main.shown.main.rows}
    assert named | listed == families()
    assert not named & listed


STORIES = ("draid-one-dimm", "scaleio-4node", "clone-convoy", "vm-zfs-draid", "pacemaker-unclean", "mtu-mismatch",
           "gluster-clean", "pacemaker-link-down", "vm-nfs-server-threads", "smb-healthy")  # fmt: skip
LEARNT = '[{"dst":"10.99.2.1","gateway":"10.99.1.2","dev":"a0","flags":[],"cache":[],"metrics":[{"mtu":1500}]}]'


def sessions() -> Iterator[Session]:
    """Yield stories and nodes that together have rows of every family that a view names."""
    for story in STORIES:
        origin, frames = opened(story)
        session = Session(origin, BUILTIN, [])
        session.feed_all(frames[:12])
        yield session
    yield course(RECORDED / "ceph-blocked.tar.gz").session
    yield HostNode(cards={"eth0": 0}).session()
    routes = {"cmd:ip -j -s route show cache": LEARNT, "cmd:ip -j -s -6 route show cache": "[]"}
    yield Node(files={"/sys/class/net/a0/mtu": "9000\n", **routes}).session(2)


class Asked:
    """Which families a view gets rows of while it is painted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.families: set[object] = set()
        for owner, name in ((Snapshot, "rows"), (Snapshot, "run_of"), (Window, "moments")):
            monkeypatch.setattr(owner, name, self._watched(getattr(owner, name)))

    def _watched(self, asked: object) -> object:
        def ask(this: object, family: type[Reading]) -> object:
            found = asked(this, family)  # type: ignore[operator]
            if found.tables[family] if isinstance(found, Run) else found:
                self.families.add(family)
            return found

        return ask


def linked(view: View) -> Iterator[type[Reading]]:
    """Yield the families that rows of a view lead to."""
    for pane in view.query(Pane):
        for row in pane.rows:
            thing = getattr(row.item, "opens", row.item)
            if isinstance(thing, FactSubject):
                yield from (family for family, _ in thing.parts)


async def test_views_show_the_families_that_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a view names and does not show would be seen nowhere."""
    asked = Asked(monkeypatch)
    shows: dict[str, set[object]] = {entry.key: set() for entry in VIEWS}
    for session in sessions():
        async with screen(session, (200, 60)) as shown:
            for entry in (*VIEWS[1:], FIRST):
                if shows[entry.key] >= set(entry.made_of.families):
                    continue
                asked.families.clear()
                await shown.press(key_of(entry.key))
                shows[entry.key] |= asked.families | set(linked(shown.app.main.shown))
    assert {entry.title: set(entry.made_of.families) - shows[entry.key] for entry in VIEWS} == {
        entry.title: set() for entry in VIEWS
    }
