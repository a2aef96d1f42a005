"""What a server answers: JSON of the HTTP API that Prometheus, Thanos, Mimir and VictoriaMetrics share.

    {"status": "success", "data": {"resultType": "vector",
      "result": [{"metric": {"instance": "n1:10042"}, "value": [1795279294.1, "3"]}]}, "warnings": ["..."]}

Source of the format: prometheus.io/docs/prometheus/latest/querying/api. Thanos tells in `warnings` which stores did not
answer, VictoriaMetrics' cluster by `"isPartial": true`, Prometheus 2.53 and later tells `infos` beside warnings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sdstop.core.format import safe
from sdstop.fleet.problem import ServerError

MOST_SERIES = 20_000
"""Series that an answer may have; no question of sdstop's asks for as many."""
MOST_NOTES = 20

PARTIAL = "some of its storage did not answer: what it holds is missing here"

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    """Labels, and (Unix seconds, value) in order of time: one point of an instant query, many of a range."""

    labels: Mapping[str, str]
    points: tuple[Point, ...]

    @property
    def value(self) -> float:
        """The last value."""
        return self.points[-1][1]

    def label(self, name: str) -> str:
        """Return a label, "" where there is none."""
        return self.labels.get(name, "")


@dataclass(frozen=True, slots=True)
class Answer:
    """Series, and what the server remarks on them."""

    series: tuple[Series, ...] = ()
    warnings: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()


def parse_answer(body: bytes) -> Answer:
    """Return the answer to a query. Raises ServerError where it is none, or tells an error."""
    told = parse_object(body)
    data = told.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("result"), list):
        raise ServerError("the answer holds no result")
    kind, result = data.get("resultType"), data["result"]
    if kind == "scalar":
        result = [{"metric": {}, "value": result}]
    elif kind not in ("vector", "matrix"):  # whatever it is, it need not be hashable
        raise ServerError(f"the result is of type {safe(kind, 20)!r}")
    if len(result) > MOST_SERIES:
        raise ServerError(f"the answer has {len(result)} series: more than sdstop takes; narrow it with --match")
    series = tuple(found for each in result if (found := _series(each)) is not None)
    warnings = _notes(told.get("warnings"))
    if told.get("isPartial") is True:
        warnings = (*warnings, PARTIAL)
    return Answer(series, warnings, _notes(told.get("infos")))


def parse_object(body: bytes) -> Mapping[str, Any]:
    """Return the object of a successful answer. Raises ServerError."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise ServerError("the answer is no JSON: is this the address of a Prometheus?") from None
    if not isinstance(told, dict):
        raise ServerError("the answer is no object: is this the address of a Prometheus?")
    if told.get("status") == "error":
        raise ServerError(f"{safe(told.get('errorType', 'error'), 40)}: {safe(told.get('error', ''), 300)}")
    if told.get("status") != "success":
        raise ServerError("the answer says neither success nor error: is this the address of a Prometheus?")
    return told


def _series(told: Any) -> Series | None:
    """Return a series; None for a native histogram, of which sdstop asks none."""
    if not isinstance(told, dict) or not isinstance(told.get("metric"), dict):
        raise ServerError("the answer has a series without labels")
    points = told["values"] if "values" in told else [told["value"]] if "value" in told else None
    if points is None:
        return None
    if not isinstance(points, list) or not points:
        raise ServerError("the answer has a series without points")
    labels = {str(name): str(value) for name, value in told["metric"].items()}
    return Series(labels, tuple(sorted(_point(point) for point in points)))


def _point(told: Any) -> Point:
    try:
        taken, value = told
        point = float(taken), float(value)
    except (TypeError, ValueError, OverflowError):
        raise ServerError("the answer has a point that is none") from None
    if not math.isfinite(point[0]):
        raise ServerError("the answer has a point without a time")
    return point


def _notes(told: Any) -> tuple[str, ...]:
    """Return remarks, each safe and in one line."""
    if not isinstance(told, list):
        return ()
    return tuple(dict.fromkeys(safe(note, 300) for note in told[:MOST_NOTES]))
