"""The pages of docs/runbooks: one for each rule, up to date, with an example from a story."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType

from sdstop.exporters.report.runbook import runbook
from sdstop.rules import RULES
from tests.fixtures import each_of, names, story

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = ROOT / "docs" / "runbooks"


def _script() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("runbooks", str(ROOT / "scripts" / "runbooks"))
    spec = importlib.util.spec_from_loader("runbooks", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


SCRIPT = _script()
STORIES = {rule.id: SCRIPT.story_of(rule.id) for rule in RULES}


def test_every_rule_has_a_page_with_a_story() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == STORIES.keys()
    assert set(STORIES.values()) <= {*names(), ""}
    without = {rule for rule, shown in STORIES.items() if not shown}
    assert without == set()
    for rule in without:
        assert (PAGES / f"{rule}.md").read_text("utf-8") == runbook(next(r for r in RULES if r.id == rule), None)


@each_of(sorted(set(STORIES.values()) - {""}))
def test_the_pages_are_up_to_date(name: str) -> None:
    stale = [
        rule
        for rule, shown in STORIES.items()
        if shown == name and (PAGES / f"{rule}.md").read_text("utf-8") != SCRIPT.page(rule, name, story(name).session)
    ]
    assert stale == [], "run scripts/runbooks"


def test_a_page_has_the_numbers_the_actions_and_the_picture() -> None:
    text = (PAGES / "mtu-misaligned.md").read_text("utf-8")
    heads = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert heads == ["Example", "Confirmation", "Actions", "False alarms", "Thresholds"]
    assert "| partial blocks among requests | 92.7% > 5.0% |" in text
    assert "ip link set dev eth1 mtu 8700" in text
    assert "frame data    3584" in text
