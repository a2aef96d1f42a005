"""`sdstop rules`, `sdstop config` and `sdstop metrics`: lists of rules, settings and exported metrics."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

from sdstop.cli import output
from sdstop.cli.choices import chosen, configured
from sdstop.core.collector import providers_of
from sdstop.core.families import names_of
from sdstop.core.format import safe
from sdstop.exporters.report import catalogue
from sdstop.exporters.report.table import listing
from sdstop.exporters.report.text import WIDTH
from sdstop.rules import RULES
from sdstop.rules.between import BETWEEN


def rules(options: argparse.Namespace) -> int:
    """Print every rule supported by the selected sources, with its effective thresholds. Raises Problem."""
    served = providers_of(chosen(options.collectors))
    rules_ = [rule for rule in RULES if all(name in served for name in names_of(rule.needs))]
    between = BETWEEN if options.collectors is None else ()
    output.write(catalogue.rules_text((*rules_, *between), configured(options).thresholds, output.width(WIDTH)))
    return 0


def config(options: argparse.Namespace) -> int:
    """Print the settings of all files, each with its file, then the accepted findings. Raises Problem."""
    tables = configured(options).tables
    if not tables:
        output.write("No configuration file; all settings have their defaults.\n")
        return 0
    effective: dict[str, tuple[str, str]] = {}
    accepted: list[tuple[str, str, str]] = []
    for path, table in tables:
        for place, value in _flat(table):
            effective[place] = json.dumps(value, ensure_ascii=False, default=str), path
        accepted += [
            (
                "accept (ended)" if _has_ended(each) else "accept",
                json.dumps(each, ensure_ascii=False, default=str),
                path,
            )
            for each in table.get("accept", ())
        ]
    rows = [(safe(place), safe(value, 200), safe(path)) for place, (value, path) in sorted(effective.items())]
    rows += [(name, safe(value, 500), safe(path)) for name, value, path in accepted]
    lines = [f"Files, later ones override earlier ones: {', '.join(safe(path) for path, _ in tables)}", ""]
    output.write("\n".join([*lines, *listing(rows, output.width(WIDTH)), ""]))
    return 0


def _has_ended(accept: Mapping[str, Any]) -> bool:
    """Return whether the last day (UTC) of an acceptance is over."""
    until = accept.get("until")
    if isinstance(until, str):
        until = date.fromisoformat(until)
    return isinstance(until, date) and until < datetime.now(UTC).date()


def _flat(table: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings of nested tables with their dotted names; passwords are in no configuration file."""
    for name, value in table.items():
        where = f"{place}.{name}".removeprefix(".")
        if isinstance(value, Mapping):
            yield from _flat(value, where)
        elif where != "accept":
            yield where, value


def metrics(options: argparse.Namespace) -> int:
    """Print every metric. Raises Problem."""
    configured(options)
    output.write(catalogue.metrics_text(chosen(options.collectors), output.width(WIDTH)))
    return 0
