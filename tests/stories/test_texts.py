"""The texts of findings and rules have their form, in every frame of every story, and the checks find each fault."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Severity, with_members
from sdstop.core.finding_text import LINE, TITLE, fitting
from sdstop.core.rule import NodeRule, Rule, Threshold
from sdstop.rules import RULES
from sdstop.rules.between import BETWEEN
from sdstop.tui.views import VIEWS as PAGES
from tests.fixtures import every_story, story
from tests.stories.texts import VIEWS, declared_faults, faults


@every_story()
def test_the_texts_of_findings_have_their_form(name: str) -> None:
    """Title, cause, impact and the first advice fit on 80 columns and can be read alone."""
    findings = {each for judgement in story(name).judgements for each in with_members(judgement.findings)}
    wrong = {(each.id, fault) for each in findings for fault in faults(each)}
    assert not wrong


def test_the_texts_of_rules_have_their_form() -> None:
    rules: list[Rule | NodeRule] = [*RULES, *BETWEEN]
    assert [fault for rule in rules for fault in declared_faults(rule)] == []
    assert {page.name for page in PAGES} >= VIEWS


GOOD = Finding(
    severity=Severity.WARNING,
    subject="memory",
    title="ONE DIMM PER CPU",
    cause="1 of 4 memory channels filled on each socket: 34.1 of 136.5 GB/s.",
    impact="Peak memory bandwidth is 25.0% of the possible 136.5 GB/s.",
    advice=("Fill 3 channels per socket.", run("dmidecode", "-t", "17", note="the slots")),
    refuted_by="measured bandwidth above this peak",
    damage=Damage.SPEED,
    standing=True,
    view="host",
    view_subject="memory",
)


def test_a_finding_in_its_form_has_no_fault() -> None:
    assert list(faults(GOOD)) == []
    assert list(faults(replace(GOOD, title="M" * TITLE, cause="c" * (LINE - 1) + "."))) == []


@pytest.mark.parametrize("change", [
    {"title": ""}, {"title": "one DIMM per CPU"}, {"title": "M" * (TITLE + 1)}, {"title": "ONE DIMM PER CPU."},
    {"title": "SLOW memory"}, {"title": "満" * 21},
    {"cause": ""}, {"cause": "c" * LINE + "."}, {"cause": "no full stop"}, {"cause": "Two sentences. Of one."},
    {"cause": "It has one DIMM."}, {"cause": "The same memory."}, {"cause": "満" * 36 + "."},
    {"impact": ""}, {"impact": "There is less bandwidth."}, {"impact": "i" * LINE + "."},
    {"advice": ()}, {"advice": ("A" * (LINE + 1),)}, {"advice": (run("cat", "x" * LINE),)},
    {"advice": ("fill the channels",)}, {"advice": ("Fill.", run("dmidecode", note="which slots?"))},
    {"refuted_by": ""}, {"refuted_by": "A sentence."}, {"refuted_by": "harmless if idle"},
    {"damage": None}, {"standing": None}, {"view": ""}, {"view": "overview"}, {"view_subject": ""},
], ids=str)  # fmt: skip
def test_each_fault_is_found(change: dict[str, object]) -> None:
    assert len(list(faults(replace(GOOD, **change)))) == 1


def test_what_a_rule_declares() -> None:
    rule = Rule("r", "memory channels without a module", Severity.INFO, lambda *_: (), (), view="host")
    assert list(declared_faults(rule)) == []
    for says in ("a channel without a module", "memory channels without a module.", "m" * 96):
        assert list(declared_faults(replace(rule, says=says)))
    assert list(declared_faults(replace(rule, view="")))
    for text in ("and at least this many", "the same for flash", "h" * 111, "share of the channels."):
        assert list(declared_faults(replace(rule, thresholds=(Threshold("share", 0.5, text),))))


def test_the_first_text_that_fits_in_cells() -> None:
    assert fitting("a" * LINE, "b") == "a" * LINE
    assert fitting("満" * 36, "b") == "b"
    assert fitting("a" * 99, "b" * 99, "c" * 99) == "c" * 99
