"""Metric headings derived from a family's declaration, independent of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sdstop.core.collector import Collector
from sdstop.core.model import Buckets, Column, Fact, Kind, Label, Metric, Reading, Schema, State, metric_name, schema
from sdstop.exporters.prometheus.exposition import Heading


def _source_of(family: type[Reading], column: Column, needs: Sequence[str]) -> str:
    """Return the source of a field: a pattern (`/sys/block/*/size`), or all sources of its collector, its `needs`.

    A joined family without a pattern returns a generic text, because it has several collectors.
    """
    declared = schema(family)
    make: Any = family
    row = make(**{c.name: "*" if isinstance(c.mark, Label) else None for c in declared.columns})
    try:
        found = row.source(column.name)
    except (AttributeError, TypeError, ValueError):  # the source depends on more than the labels
        found = None
    if found is not None:
        return str(found.key)
    if family.joined:
        return "of several sources"
    return ", ".join([*needs[:_MOST_SOURCES], *(["..."] if len(needs) > _MOST_SOURCES else [])])


_MOST_SOURCES = 3
"""Sources named in the HELP of a metric."""


def headings(family: type[Reading], collector: Collector) -> Mapping[str, Heading]:
    """Return a family's metrics by field; "" is the info metric with the facts. Empty if not exported."""
    return _headings(family, tuple(need.what for need in collector.needs))


@cache
def _headings(family: type[Reading], needs: tuple[str, ...]) -> Mapping[str, Heading]:
    declared = schema(family)
    if not family.exported:
        return {}
    found: dict[str, Heading] = {}
    facts = [c for c in declared.columns if isinstance(c.mark, Fact) and c.exported]
    others = [c for c in declared.columns if c.exported and not isinstance(c.mark, Fact | Label)]
    if facts or not others:
        names = (*declared.labels, *(c.name for c in facts))
        found[""] = Heading(
            f"sdstop_{declared.family}_info",
            "info",
            f"{declared.title}: metadata as labels; the value is always 1.",
            names,
        )
    for column in others:
        found[column.name] = _heading(declared, column, _source_of(family, column, needs))
    return found


def details(family: type[Reading]) -> frozenset[str]:
    """Return the names of the metrics of a family that are not on the default page."""
    declared = schema(family)
    facts = [column.mark.detail for column in declared.columns if isinstance(column.mark, Fact) and column.exported]
    info = (f"sdstop_{declared.family}_info",) if facts and all(facts) else ()
    return frozenset(
        (
            *info,
            *(
                metric_name(declared.family, column)
                for column in declared.columns
                if isinstance(column.mark, Metric | State) and column.mark.detail
            ),
        )
    )


def _heading(declared: Schema, column: Column, source: str) -> Heading:
    name, mark = metric_name(declared.family, column), column.mark
    said = f"{mark.help or column.title}."
    match mark:
        case State():
            return Heading(
                name, "gauge", f"{said[:-1]}; 1 for the current state.", (*declared.labels, "state"), "", source
            )
        case Buckets():
            return Heading(name, "histogram", said, (*declared.labels, "le"), mark.unit, source)
        case Metric(kind=Kind.COUNTER):
            return Heading(name, "counter", said, declared.labels, mark.unit, source)
        case _:
            return Heading(name, "gauge", said, declared.labels, column.unit, source)
