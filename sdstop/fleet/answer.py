"""Server responses: JSON of the HTTP API shared by Prometheus, Thanos, Mimir and VictoriaMetrics.

    {"status": "success", "data": {"resultType": "vector",
      "result": [{"metric": {"instance": "n1:10042"}, "value": [1795279294.1, "3"]}]}, "warnings": ["..."]}

Source of the format: prometheus.io/docs/prometheus/latest/querying/api. Thanos reports stores that did not answer
in `warnings`, a VictoriaMetrics cluster sets `"isPartial": true`, Prometheus 2.53 and later adds `infos`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeVar

import msgspec

from sdstop.core.format import safe
from sdstop.fleet.problem import ServerError

MOST_SERIES = 20_000
"""Maximum series in an answer; no query of sdstop requests that many."""
MOST_NOTES = 20
"""Warnings of the server that are kept."""

PARTIAL = "partial response: some storage backends did not answer"

Point = tuple[float, float]


class LabeledSeries(msgspec.Struct, frozen=True):
    """Labels and (Unix seconds, value) points in order of time: one for an instant query, many for a range."""

    labels: Mapping[str, str]
    points: tuple[Point, ...]

    @property
    def value(self) -> float:
        """The last value."""
        return self.points[-1][1]

    def label(self, name: str) -> str:
        """Return a label, "" if missing."""
        return self.labels.get(name, "")


class QueryAnswer(msgspec.Struct, frozen=True):
    """Series, and the server's warnings and infos about them."""

    series: tuple[LabeledSeries, ...] = ()
    warnings: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()


class BuildInfo(msgspec.Struct, frozen=True):
    """Version information of a server."""

    application: str = ""
    version: str = ""
    revision: str = ""


_Value = tuple[float, str]
"""Unix seconds, and a number as text: `NaN` and `+Inf` are not JSON."""


class _Row(msgspec.Struct, frozen=True):
    """A series of a vector (`value`) or a matrix (`values`); a native histogram has neither."""

    metric: dict[str, str]
    value: _Value | None = None
    values: Annotated[tuple[_Value, ...], msgspec.Meta(min_length=1)] | None = None


class _Vector(msgspec.Struct, frozen=True, tag_field="resultType", tag="vector"):
    """`data` of an instant query."""

    result: tuple[_Row, ...]


class _Matrix(msgspec.Struct, frozen=True, tag_field="resultType", tag="matrix"):
    """`data` of a range query."""

    result: tuple[_Row, ...]


class _Scalar(msgspec.Struct, frozen=True, tag_field="resultType", tag="scalar"):
    """`data` of an instant query whose expression is a number."""

    result: _Value


class _Reply(msgspec.Struct, frozen=True, rename="camel"):
    """Envelope of every API response; `data` depends on the endpoint."""

    status: Literal["success", "error"]
    data: msgspec.Raw = msgspec.Raw()
    error_type: str = "error"
    error: str = ""
    warnings: tuple[str, ...] | None = None
    infos: tuple[str, ...] | None = None
    is_partial: bool = False


_Data = _Vector | _Matrix | _Scalar
_T = TypeVar("_T")
_REPLY: msgspec.json.Decoder[_Reply] = msgspec.json.Decoder(_Reply)
_DATA: msgspec.json.Decoder[_Data] = msgspec.json.Decoder(_Data)
_BUILD_INFO = msgspec.json.Decoder(BuildInfo)


def parse_answer(body: bytes) -> QueryAnswer:
    """Return the answer to a query. Raises ServerError if it is not one, or is an error."""
    reply = _successful(body)
    data = _decoded(reply.data, _DATA)
    rows = (_Row({}, data.result),) if isinstance(data, _Scalar) else data.result
    if len(rows) > MOST_SERIES:
        raise ServerError(f"response has {len(rows)} series, the limit is {MOST_SERIES}; narrow it with --match")
    series = tuple(found for row in rows if (found := _series(row)) is not None)
    warnings = _notes(reply.warnings)
    if reply.is_partial:
        warnings = (*warnings, PARTIAL)
    return QueryAnswer(series, warnings, _notes(reply.infos))


def parse_build_info(body: bytes) -> BuildInfo:
    """Return the build information of a server. Raises ServerError."""
    return _decoded(_successful(body).data, _BUILD_INFO)


def error_text(body: bytes) -> str | None:
    """Return the error that a response of the API reports, None if it is not such a response."""
    try:
        _successful(body)
    except _ReportedError as error:
        return str(error)
    except ServerError:
        pass
    return None


class _ReportedError(ServerError):
    """An error that the API reports."""


def _successful(body: bytes) -> _Reply:
    reply = _decoded(body, _REPLY)
    if reply.status == "error":
        raise _ReportedError(f"{safe(reply.error_type, 40)}: {safe(reply.error, 300)}")
    return reply


def _decoded(body: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[_T]) -> _T:
    """Decode JSON as a declared type. Raises ServerError, which names the path of a mismatch."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        why = safe(error, 160)
    except (msgspec.MsgspecError, RecursionError):
        why = "not JSON"
    raise ServerError(f"unexpected response ({why}); is this a Prometheus server?")


def _series(row: _Row) -> LabeledSeries | None:
    """Return a series in order of time; None for a native histogram, of which sdstop queries none."""
    values = row.values if row.values is not None else (row.value,) if row.value is not None else ()
    try:
        points = tuple(sorted((taken, float(value)) for taken, value in values))
    except ValueError:
        raise ServerError("unexpected response (a value is not a number); is this a Prometheus server?") from None
    return LabeledSeries(row.metric, points) if points else None


def _notes(notes: Sequence[str] | None) -> tuple[str, ...]:
    """Return warnings or infos, each sanitized to one line."""
    return tuple(dict.fromkeys(safe(note, 300) for note in (notes or ())[:MOST_NOTES]))
