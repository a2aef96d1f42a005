"""Rules that find what a test wants."""

from __future__ import annotations

from sdstop.core.finding import Finding, Limits, Rule, Severity, Verdict
from sdstop.core.history import Window


def says(*verdicts: Verdict, name: str = "device-hung") -> Rule:
    """Return a rule that says the same of every window."""

    def check(window: Window, limits: Limits) -> tuple[Verdict, ...]:
        return verdicts

    return Rule(name, "says so", Severity.CRITICAL, check, ())


def begun_between(first: int, last: int) -> Rule:
    """Return a rule that finds something in some frames."""

    def check(window: Window, limits: Limits) -> list[Finding]:
        found = first <= window.now.number <= last
        return [Finding("odd", Severity.WARNING, "node", f"odd in frame {window.now.number}")] if found else []

    return Rule("odd", "is odd", Severity.WARNING, check, ())
