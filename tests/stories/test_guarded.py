"""An exception in a rule, an analysis, a tally or a view costs that one thing: nothing else is lost."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType
from typing import Any, NoReturn

import pytest
from msgspec.structs import replace

from sdstop import analysis
from sdstop.collectors import BUILTIN
from sdstop.core.finding import Verdict
from sdstop.core.guard import Guard, Part
from sdstop.core.history import Window
from sdstop.core.judgement import Judgement, judge
from sdstop.core.session import Look, Session
from sdstop.exporters.prometheus import tallies
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.exporters.prometheus.series import FamilyLines
from sdstop.exporters.report import postmortem, text
from sdstop.exporters.report.series import ReportSeries
from sdstop.exporters.web.http import Request
from sdstop.exporters.web.server import answer
from sdstop.readings.disk import Disk
from sdstop.rules import RULES
from sdstop.tui.scene import Scene
from sdstop.tui.views import VIEWS
from sdstop.tui.widgets.keys import key_of
from tests.fixtures import opened
from tests.tui.screens import WIDE, screen

STORIES = ("aoe-flashcache", "scaleio-cloud", "draid-one-dimm", "drbd-resync")
"""Stories that together ask half of all analyses for their verdicts; views and pages ask the others."""


class Injected(Exception):  # noqa: N818
    """An exception that a test raises."""


def boom(*_: object, **__: object) -> NoReturn:
    raise Injected("in a test")


@functools.cache
def session_of(name: str) -> Session:
    origin, frames = opened(name)
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    return session


def fresh(window: Window) -> Window:
    """Return a window that remembers no results."""
    for shot in window.snapshots:
        for run in (*shot.runs.values(), *shot.by_family.values()):
            run.memo.clear()
    return Window(window.snapshots, window.evidence, window.providers, window.past, window.topologies)


def by_rule(judgement: Judgement) -> dict[str, set[str]]:
    """Return all verdicts of each rule, as text; good ones by thing, as the rule said them.

    What passed despite a critical finding names it, which the loss of that finding changes.
    """
    found = defaultdict(set)
    verdicts: list[Verdict] = [*judgement.findings, *judgement.unchecked]
    for verdict in verdicts:
        found[verdict.rule].add(repr(verdict))
    for good in judgement.ruled_out:
        said = good.summary.partition("; but see ")[0] if good.despite else good.summary
        found[good.rule].update(f"{subject}: {said}" for subject in good.subjects)
    return found


def bugs(judgement: Judgement) -> set[str]:
    return {verdict.rule for verdict in judgement.unchecked if "Injected: in a test" in verdict.reason}


def nothing_else_is_lost(good: Judgement, bad: Judgement, lost: set[str]) -> None:
    assert bugs(bad) == lost
    expected, found = by_rule(good), by_rule(bad)
    assert {rule: said for rule, said in found.items() if rule not in lost} == {
        rule: said for rule, said in expected.items() if rule not in lost
    }
    assert set(bad.ran) == set(good.ran) - lost
    assert set(found) >= set(expected)


@pytest.mark.parametrize("name", [STORIES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in STORIES[1:])])
def test_a_rule_that_raises_costs_its_own_verdicts(name: str) -> None:
    window = session_of(name).head().window
    good = judge(fresh(window), RULES, {})
    for broken in RULES:
        guard = Guard()
        others = [replace(rule, check=boom) if rule is broken else rule for rule in RULES]
        bad = judge(fresh(window), others, {}, guard)
        lost = {broken.id} if guard.counts else set[str]()
        nothing_else_is_lost(good, bad, lost)
        assert guard.counts == dict.fromkeys(((Part.RULE, rule) for rule in lost), 1)
        assert lost or broken.id not in good.ran


def modules(package: Any) -> Iterator[Any]:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(module.name)


def entries() -> Iterator[FunctionType]:
    """Yield every function of an analysis that other modules import."""
    for module in modules(analysis):
        for name, found in vars(module).items():
            if isinstance(found, FunctionType) and found.__module__ == module.__name__ and not name.startswith("_"):
                yield found


ENTRIES = sorted({*entries()}, key=lambda entry: (entry.__module__, entry.__name__))


@functools.cache
def places(_: int) -> dict[FunctionType, list[tuple[Any, str]]]:
    """Return the modules in which a function of an analysis has a name; the argument is the number of modules."""
    found, entries_ = defaultdict(list), set(ENTRIES)
    for module in [m for name, m in sys.modules.items() if name.startswith("sdstop.") and m is not None]:
        for name, each in list(vars(module).items()):
            if isinstance(each, FunctionType) and each in entries_:
                found[each].append((module, name))
    return found


def broken_everywhere(monkeypatch: pytest.MonkeyPatch, function: FunctionType) -> None:
    """Replace a function in every module that has imported it."""
    for module, name in places(len(sys.modules))[function]:
        monkeypatch.setattr(module, name, boom)


def page_of(session: Session, look: Look, judgement: Judgement) -> bytes:
    """Return the exported page of a frame as it was judged."""
    page = Exposition(session)
    page.observe(replace(look, window=fresh(look.window), judgement=judgement))
    return page.page()


def called(work: Callable[[], object]) -> list[FunctionType]:
    """Return the functions of analyses that some work calls: only those can raise in it."""
    codes = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return [entry for entry in ENTRIES if inspect.unwrap(entry).__code__ in codes]


def asked_of(name: str, monkeypatch: pytest.MonkeyPatch) -> set[FunctionType]:
    """Return the analyses that rules ask for their verdicts, each of which was broken in turn and cost only those."""
    asked = set()
    session = session_of(name)
    look = session.head()
    good = judge(fresh(look.window), RULES, {})
    used = called(lambda: page_of(session, look, judge(fresh(look.window), RULES, {})))
    assert used
    for entry in used:
        with monkeypatch.context() as patch:
            broken_everywhere(patch, entry)
            bad = judge(fresh(look.window), RULES, {})
            lost = bugs(bad)
            nothing_else_is_lost(good, bad, lost)
            assert b"sdstop_rule_unchecked" in page_of(session, look, bad)
        if lost:
            asked.add(entry)
    nothing_else_is_lost(good, judge(fresh(look.window), RULES, {}), set())
    return asked


def test_an_analysis_that_raises_costs_the_rules_that_ask_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(asked_of(STORIES[0], monkeypatch)) >= 20


@pytest.mark.slow
def test_an_analysis_that_raises_costs_the_rules_that_ask_it_in_every_story(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(set().union(*(asked_of(name, monkeypatch) for name in STORIES))) >= 40


COUNTERS = {
    "_observe_limits": ("limit_saturation",),
    "_observe_disks": ("disk_saturation",),
    "_observe_arrays": ("array_heat", "array_member_heat"),
    "_observe_rebuilds": ("rebuild_estimate",),
    "_observe_paths": ("path_stage",),
}


def counted(name: str) -> tuple[dict[str, object], dict[tuple[Part, str], int]]:
    """Return the rows of each tally over a story, by family, and the exceptions."""
    origin, frames = opened(name)
    page = Exposition(Session(origin, BUILTIN, ()))  # tallies count rows of windows, no findings
    for frame in frames:
        page.feed(frame)
    return {family.family: rows for family, rows in page._tallies.rows.items()}, page.session.guard.counts


unbroken = functools.cache(counted)
TALLIED = ("hot-member", "vm-cgroup-io-max", "draid-one-dimm")
"""Stories that together have rows of every tally."""


@pytest.mark.parametrize("method", COUNTERS)
def test_a_tally_that_raises_costs_its_own_counter(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a story in which each of them has rows."""
    own = COUNTERS[method]
    name = next(name for name in TALLIED if all(unbroken(name)[0][family] for family in own))
    good, errors = unbroken(name)
    assert not errors
    monkeypatch.setattr(tallies.EventCounters, method, boom)
    bad, errors = counted(name)
    assert bad == good | {family: {} for family in own}
    assert errors.keys() == {(Part.TALLY, own[0])}


def test_every_tally_has_a_guard_of_its_own() -> None:
    assert {family.family for family in tallies.OF} == {name for names in COUNTERS.values() for name in names}


html = importlib.import_module("sdstop.exporters.report.html.page")
SECTIONS = {
    "findings": (text, "finding_lines"),
    "checks": (text, "_judged"),
    "readings": (text, "_readings"),
    "Timeline": (postmortem, "_timeline"),
    "Topology": (postmortem, "storage_diagram"),
    "Findings and evidence": (postmortem, "_findings"),
    "topology": (html, "drawn_topology"),
    "time": (html, "plots"),
    "evidence": (html, "raw_evidence"),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_a_part_of_a_report_that_raises_costs_that_part(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, function = SECTIONS[name]
    session = session_of("drbd-resync").still()
    session.guard = Guard()

    def made() -> str:
        if module is html:
            return str(html.page(session, ReportSeries()))
        return text.text_report(session) if module is text else postmortem.postmortem(session)

    good = made()
    assert not session.guard.counts
    with monkeypatch.context() as patch:
        patch.setattr(module, function, boom)
        bad = made()
    assert "annot be shown, internal error: Injected: in a test" in bad
    assert "Injected" not in good
    guarded = {(part, name if where.startswith("finding ") else where) for part, where in session.guard.counts}
    assert guarded == {(Part.REPORT, name)}
    headings = re.findall(r"^(?:FINDINGS|SOURCES)$|^## .*|<h2>[^<]*", good, re.MULTILINE)
    assert len(headings) > 1
    assert [each for each in headings if each not in bad and name not in each.lower()] == []


def test_a_family_whose_lines_raise_is_left_out_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_of("draid-one-dimm")
    page = Exposition(session)
    page.observe(session.head())
    text = FamilyLines.text
    whole = page.page(process=False).decode()

    def broken(self: FamilyLines, rows: Any) -> Any:
        return boom() if next(iter(rows), None) in session.head().window.rows(Disk) else text(self, rows)

    with monkeypatch.context() as patch:
        patch.setattr(FamilyLines, "text", broken)
        page.observe(session.head())
        left = page.page(process=False).decode()
    assert "sdstop_disk_reads_total{" in whole
    assert "sdstop_disk_reads_total{" not in left
    assert 'sdstop_internal_errors_total{name="disk",part="page"} 1\n' in left
    assert {line for line in left.splitlines() if "sdstop_array" in line} == {
        line for line in whole.splitlines() if "sdstop_array" in line
    }
    page.observe(session.head())
    assert "sdstop_disk_reads_total{" in page.page().decode()


async def test_a_view_that_raises_is_one_line_and_the_others_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    async with screen(session_of("draid-one-dimm"), WIDE) as shown:
        for entry in VIEWS:
            whole = await shown.press(key_of(entry.key))
            assert "a bug" not in whole
            with monkeypatch.context() as patch:
                patch.setattr(entry.made_of, "show", boom)
                shown.app.paint()
                text = await shown.press()
                assert "cannot be shown, internal error: Injected: in a test" in text
                assert text.splitlines()[0] == whole.splitlines()[0]
            shown.app.paint()
            assert "a bug" not in await shown.press()
        assert sum(shown.app.guard.counts.values()) >= len(VIEWS)


def anew(scene: Scene) -> Scene:
    """Return a scene that remembers no results."""
    return replace(scene, look=replace(scene.look, window=fresh(scene.window)))


async def test_an_analysis_that_raises_costs_the_views_that_ask_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with screen(session_of("draid-one-dimm"), WIDE) as shown:
        for entry in VIEWS:
            await shown.press(key_of(entry.key))
        scene = shown.app.scene
        assert scene is not None
        broken = 0
        for view in shown.app.main.views.values():
            for function in called(lambda: view.paint(anew(scene))):  # noqa: B023
                with monkeypatch.context() as patch:
                    broken_everywhere(patch, function)
                    before = sum(shown.app.guard.counts.values())
                    view.paint(anew(scene))
                    broken += sum(shown.app.guard.counts.values()) > before
        assert broken > 10
        shown.app.paint()
        assert "a bug" not in await shown.press("1")


def test_the_frame_after_an_exception_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    origin, frames = opened("draid-one-dimm")
    page = Exposition(Session(replace(origin, live=False), BUILTIN, RULES))
    for number, frame in enumerate(frames[-6:]):
        with monkeypatch.context() as patch:
            if number % 2:
                patch.setattr(Exposition, "_limits", boom)
            page.feed(frame)
        shown = answer(page, Request("GET", "/metrics"))
        assert shown.status == 200
        errors = b'sdstop_internal_errors_total{name="all",part="tally"}'
        assert (errors in shown.body) is (number >= 1)


def test_unchecked_is_said_for_a_rule_whose_data_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a rule can run at all is asked within the guard, too."""
    window = session_of("draid-one-dimm").head().window
    monkeypatch.setattr("sdstop.core.judgement._missing", boom)
    judgement = judge(fresh(window), RULES, {})
    assert len(judgement.unchecked) == len(RULES)
    assert all("error in this rule" in verdict.reason for verdict in judgement.unchecked)
