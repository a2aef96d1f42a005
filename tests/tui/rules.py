"""Rules that find what a test wants."""

from __future__ import annotations

from sdstop.core.finding import Finding, Severity, Verdict
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule


def says(*verdicts: Verdict) -> list[Rule]:
    """Return the rules that these verdicts are of; they say the same of every window."""
    by_rule: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_rule.setdefault(verdict.rule, []).append(verdict)
    return [Rule(rule, "says so", Severity.CRITICAL, lambda *_, f=found: f, ()) for rule, found in by_rule.items()]


def begun_between(first: int, last: int) -> Rule:
    """Return a rule that finds something in some frames."""

    def check(window: Window, limits: Limits) -> list[Finding]:
        found = first <= window.now.number <= last
        summary = f"odd in frame {window.now.number}"
        return [Finding(severity=Severity.WARNING, subject="node", cause=summary)] if found else []

    return Rule("odd", "is odd", Severity.WARNING, check, ())
