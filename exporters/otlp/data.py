"""Samples of the metrics page in the data model of the OpenTelemetry SDK.

Names, descriptions and units are those of the page's headings: a receiver that writes for Prometheus stores the same
names. Counters are cumulative and monotonic sums whose start is unknown (0): the kernel started most of them.

Format: https://opentelemetry.io/docs/specs/otel/metrics/data-model/; units are those of UCUM.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

import sdstop
from sdstop.exporters.prometheus.exposition import Heading, Sample, Told

UNITS = {
    "": "", "bytes": "By", "bytes_per_second": "By/s", "celsius": "Cel", "per_second": "1/s", "ratio": "1",
    "seconds": "s",
}  # fmt: skip
"""UCUM unit of each unit of the page. Other counts have none, so that receivers add nothing to their names."""
_SCOPE = InstrumentationScope("sdstop", sdstop.__version__)
_UNKNOWN = 0
"""Unknown start time of a sum, as the protocol writes it."""


def resource(node: str) -> Resource:
    """Return the resource of a node: receivers for Prometheus make its labels `job` and `instance` of it."""
    return Resource({"service.name": "sdstop", "service.instance.id": node, "host.name": node})


def metrics_data(told: Iterable[Told], taken: float, of: Resource) -> MetricsData:
    """Return the samples, all taken at the Unix time `taken`."""
    nanoseconds = round(taken * 1e9)
    metrics = [_metric(heading, samples, nanoseconds) for heading, samples in told if samples]
    return MetricsData([ResourceMetrics(of, [ScopeMetrics(_SCOPE, metrics, "")], "")])


def _metric(heading: Heading, samples: Iterable[Sample], taken: int) -> Metric:
    unit = UNITS.get(heading.suffix, "")
    if heading.type == "histogram":
        data: Gauge | Histogram | Sum = Histogram(_histograms(samples, taken), AggregationTemporality.CUMULATIVE)
    else:
        points = [NumberDataPoint(labels, _UNKNOWN, taken, value) for labels, value in samples]
        counts = heading.type == "counter"
        data = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True) if counts else Gauge(points)
    return Metric(heading.name, heading.help, unit, data)


def _histograms(samples: Iterable[Sample], taken: int) -> list[HistogramDataPoint]:
    """Return a point for each set of labels; the buckets of the page are cumulative and ordered, the last one is +Inf.

    Sum, minimum and maximum are absent, because no source reports them.
    """
    found: dict[tuple[tuple[str, str], ...], list[tuple[float, int]]] = {}
    for labels, value in samples:
        by = tuple((name, text) for name, text in labels.items() if name != "le")
        found.setdefault(by, []).append((float(labels["le"]), round(value)))
    unknown: Any = None  # the protocol allows it, the annotations of the SDK do not
    points = []
    for by, buckets in found.items():
        counts = [count for _, count in buckets]
        steps = [after - before for before, after in zip([0, *counts], counts, strict=False)]
        bounds = [bound for bound, _ in buckets[:-1]]
        points.append(
            HistogramDataPoint(dict(by), _UNKNOWN, taken, counts[-1], unknown, steps, bounds, unknown, unknown)
        )
    return points
