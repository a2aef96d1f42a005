"""What the exporter can write: names of series, and their labels."""

from __future__ import annotations

from functools import cache

from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector
from sdstop.exporters.prometheus import metrics as prometheus
from sdstop.exporters.prometheus.headings import headings
from sdstop.readings.limit import Limit


@cache
def known() -> dict[str, frozenset[str]]:
    """Return the labels of each series, by its name; a limit's are declared though no source may have any here."""
    limits = headings(Limit, Collector("limits", "Limits", lambda _: (), (Limit,), ())).values()
    found: dict[str, frozenset[str]] = {}
    for heading in (*prometheus.catalogue(BUILTIN), *limits):
        histogram = heading.type == "histogram"
        for name in (f"{heading.name}_{part}" for part in ("bucket", "count", "sum")) if histogram else (heading.name,):
            found[name] = frozenset(heading.labels)
    return found
