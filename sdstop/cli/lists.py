"""`sdstop rules` and `sdstop metrics`: lists of rules and exported metrics."""

from __future__ import annotations

import argparse

from sdstop.cli import output
from sdstop.cli.watch import chosen, configured
from sdstop.core.diagnosis import providers_of
from sdstop.exporters.report import catalogue
from sdstop.exporters.report.text import WIDTH
from sdstop.rules import RULES
from sdstop.rules.between import BETWEEN


def rules(options: argparse.Namespace) -> int:
    """Print every rule supported by the selected sources, with its effective thresholds. Raises Problem."""
    served = providers_of(chosen(options.collectors))
    rules_ = [rule for rule in RULES if served.keys() >= set(rule.needs)]
    between = BETWEEN if options.collectors is None else ()
    output.write(catalogue.rules_text((*rules_, *between), configured(options).thresholds, output.width(WIDTH)))
    return 0


def metrics(options: argparse.Namespace) -> int:
    """Print every metric. Raises Problem."""
    configured(options)
    output.write(catalogue.metrics_text(chosen(options.collectors), output.width(WIDTH)))
    return 0
