"""What starts without what, and that nothing written lies unregistered."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import sdstop.collectors
import sdstop.rules
from sdstop.collector import Collector
from sdstop.finding import Rule


@pytest.mark.parametrize("module", ["sdstop.exporters.prometheus", "sdstop.exporters.report", "sdstop.__main__"])
def test_starts_without_the_libraries_of_the_screen(module: str) -> None:
    code = f"import sys, {module}\nprint(*sorted({{'rich', 'textual'}} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "\n", "")


def modules_of(package: str) -> list[str]:
    found = pkgutil.iter_modules(importlib.import_module(package).__path__)
    return [f"{package}.{module.name}" for module in found]


@pytest.mark.parametrize("module", modules_of("sdstop.collectors"))
def test_every_collector_is_registered(module: str) -> None:
    written = [c for c in vars(importlib.import_module(module)).values() if isinstance(c, Collector)]
    assert written
    assert [c.name for c in written if c not in sdstop.collectors.BUILTIN] == []


@pytest.mark.parametrize("module", modules_of("sdstop.rules"))
def test_every_rule_is_registered(module: str) -> None:
    written = [r for r in vars(importlib.import_module(module)).values() if isinstance(r, Rule)]
    assert written
    assert [r.id for r in written if r not in sdstop.rules.RULES] == []


def test_names_are_unique() -> None:
    collectors = [collector.name for collector in sdstop.collectors.BUILTIN]
    rules = [rule.id for rule in sdstop.rules.RULES]
    assert len(collectors) == len(set(collectors)) > 0
    assert len(rules) == len(set(rules)) > 0
