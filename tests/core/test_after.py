"""Rules that are evaluated after others, see their findings, and may be explained by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.system.node import NODE
from sdstop.collectors.system.readings import Node
from sdstop.core.finding import Finding, Severity, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule
from tests.nodes.frames import Judged

FILES = {"/proc/stat": "cpu  1 2 3 4 5 6 7 8\nbtime 1\nprocs_blocked 3\n"}


def finding(window: Window, subject: str, explained_by: tuple[str, ...] = ()) -> Finding:
    row = next(iter(window.rows(Node).values()))
    cited = cites(window.cite(row, "tasks_blocked"))
    return Finding(severity=Severity.WARNING, subject=subject, cause="1", evidence=cited, explained_by=explained_by)


def cause(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    yield finding(window, "sda")


def effect(window: Window, limits: Limits, findings: Sequence[Finding]) -> Iterator[Verdict]:
    del limits
    yield finding(window, f"saw {','.join(f.id for f in findings)}", explained_by=tuple(f.id for f in findings))


CAUSE = Rule("cause", "a cause", Severity.WARNING, cause, (Node,))
OTHER = Rule("other", "another", Severity.WARNING, cause, (Node,))
EFFECT = Rule("effect", "an effect", Severity.WARNING, effect, (Node,), after=frozenset({"cause"}))
LAST = Rule("last", "the last", Severity.WARNING, effect, (Node,), after=frozenset({"effect"}))


def judged(*rules: Rule) -> dict[str, Finding]:
    return {f.rule: f for f in Judged((NODE,), rules, [(0.0, FILES)]).all if isinstance(f, Finding)}


def test_it_sees_the_findings_that_it_names_whatever_the_order() -> None:
    for rules in ((CAUSE, OTHER, EFFECT), (EFFECT, OTHER, CAUSE)):
        assert judged(*rules)["effect"].subject == "saw cause:sda"


def test_rules_after_others_are_evaluated_in_their_order() -> None:
    assert judged(EFFECT, LAST, CAUSE)["last"].subject == "saw effect:saw cause:sda"
    assert judged(LAST, EFFECT, CAUSE)["last"].subject == "saw "


def test_a_cause_lists_what_says_that_it_is_explained_by_it() -> None:
    found = judged(EFFECT, CAUSE)
    assert found["cause"].explains == ("effect:saw cause:sda",)
    assert judged(EFFECT)["effect"].subject == "saw "
