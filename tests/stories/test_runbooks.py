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
        if shown == name
        and (PAGES / f"{rule}.md").read_text("utf-8") != SCRIPT.page(rule, name, story(name).session, FORMS[rule])
    ]
    assert stale == [], "run scripts/runbooks"


FORMS = {rule.id: SCRIPT.forms_of(rule.id) for rule in RULES}
OF_STORIES = sorted({(SCRIPT.story_of_form(row), rule) for rule, rows in FORMS.items() for row in rows})


@each_of(sorted({name for name, _ in OF_STORIES}))
def test_other_forms_are_up_to_date(name: str) -> None:
    for rule in (rule for shown, rule in OF_STORIES if shown == name):
        listed = {row for row in FORMS[rule] if SCRIPT.story_of_form(row) == name}
        assert listed <= set(SCRIPT.rows(rule, name, story(name).session)), "run scripts/runbooks"


def test_a_rule_with_several_forms_lists_them_once_and_the_worst_first() -> None:
    titles = [row.split(" | ")[0].removeprefix("| ") for row in FORMS["array-degraded"]]
    ranks = [("CRITICAL", "WARNING", "INFO").index(title.split()[0]) for title in titles]
    assert ranks == sorted(ranks)
    shapes = [SCRIPT.shape(row) for row in FORMS["array-degraded"]]
    assert len(set(shapes)) == len(shapes) >= 4
    text = (PAGES / "array-degraded.md").read_text("utf-8")
    assert text.index("## Example") < text.index("## Other forms") < text.index("## Thresholds")


def test_a_page_has_the_commands_the_numbers_the_actions_and_the_picture() -> None:
    text = (PAGES / "mtu-misaligned.md").read_text("utf-8")
    heads = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert [head for head in heads if head != "Other forms"] == [
        "Example", "Confirmation", "Actions", "False alarms", "Thresholds"
    ]  # fmt: skip
    assert "cat /sys/class/net/eth1/mtu\n" in text
    assert "`sdstop check --rule mtu-misaligned`" in text
    assert "| partial blocks among requests | 92.7% > 5.0% |" in text
    assert "ip link set dev eth1 mtu 8700" in text
    assert "frame data    3584" in text


def test_a_condition_says_how_it_is_accepted() -> None:
    text = (PAGES / "dimm-too-few-channels.md").read_text("utf-8")
    assert '[[accept]]\nrule = "dimm-too-few-channels"\nsubject = "memory"\n' in text
    assert "[[accept]]" not in (PAGES / "device-hung.md").read_text("utf-8")
