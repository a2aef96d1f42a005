"""Rules without data to check: the result of each is kept as long as none of its sources changes.

Most rules concern hardware and services that a node does not have. Whether a rule can run follows from the outcome of
its sources and from which of their families have rows, not from the rows.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from sdstop.core.coverage import devices_of_sources
from sdstop.core.families import names_of
from sdstop.core.history import Window
from sdstop.core.rule import Rule
from sdstop.core.snapshot import Run

V = TypeVar("V")


class Inapplicable(Generic[V]):
    """Results of rules that cannot run, over the successive windows of one session."""

    def __init__(self) -> None:
        """Start without results."""
        self._runs: dict[str, Run] = {}
        self._states: dict[str, Hashable] = {}
        self._results: dict[str, V] = {}
        self._sources: dict[str, frozenset[str]] = {}

    def follow(self, window: Window) -> None:
        """Drop the results whose sources have changed since the window before."""
        runs, states = window.now.runs, self._states
        changed = states.keys() - runs.keys()
        for name, run in runs.items():
            if self._runs.get(name) is run:
                continue
            state = _state(run)
            if states.get(name) != state:
                states[name] = state
                changed.add(name)
        self._runs = dict(runs)
        if changed:
            for rule in [rule for rule in self._results if not self._sources[rule].isdisjoint(changed)]:
                del self._results[rule]
            for name in changed - runs.keys():
                del states[name]
        if devices_of_sources(window):
            self._results.clear()  # new devices can lack their source, and rules owe them a verdict

    def of(self, rule: Rule) -> V | None:
        """Return the result of a rule, None if it must be checked."""
        return self._results.get(rule.id)

    def keep(self, window: Window, rule: Rule, result: V) -> None:
        """Keep the result of a rule that cannot run because of the state of its sources."""
        if rule.id not in self._sources:
            families = (*names_of(rule.needs), *names_of(rule.instead), *rule.covered_names)
            self._sources[rule.id] = frozenset(window.providers.of(families))
        self._results[rule.id] = result


def _state(run: Run) -> Hashable:
    """Return what decides whether rules can run: the outcome, and which families have rows."""
    return run.outcome, run.reason, run.recorded, *((family, bool(rows)) for family, rows in run.tables.items())
