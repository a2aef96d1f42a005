"""Push of the newest sample to an OTLP endpoint over HTTP, in a thread of its own, through the OpenTelemetry SDK.

An endpoint that is dead or slow costs its own pushes: each has a deadline, at most one is under way, and the next one
has the newest sample. Nothing waits in a queue, because counters are cumulative. The standard variables of the SDK
set the rest: OTEL_EXPORTER_OTLP_HEADERS (credentials), _TIMEOUT (seconds, 10), _CERTIFICATE, _COMPRESSION.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import requests
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from msgspec import Struct
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.sdk.metrics.export import MetricExportResult

from sdstop.core.evidence import dated
from sdstop.core.format import safe
from sdstop.core.guard import Guard, Part
from sdstop.exporters.otlp.data import metrics_data, resource
from sdstop.exporters.prometheus.exposition import Told

Samples = tuple[float, list[Told]]
"""Unix time of a sample, and its metrics."""
_LATE = 3
"""Intervals without an accepted push after which pushing counts as failing: a push can hang."""
_FIRST = 5.0
"""Seconds until the first push, and between attempts without a sample."""
_LONGEST_REPLY = 65_536
"""Bytes of a response about a partial success; a longer one is not read."""
_PATH = "/v1/metrics"


class OtlpState(Struct, frozen=True):
    """Pushes that were accepted and that failed so far, and whether pushing works now."""

    pushed: int
    failed: int
    success: bool


class Pusher:
    """Thread that pushes a sample at each interval, if there is a newer one. No method waits for the endpoint."""

    def __init__(
        self, url: str, node: str, interval: float, sampled: Callable[[], Samples | None], guard: Guard,
        say: Callable[[str], None],
    ) -> None:  # fmt: skip
        """Push to `url` every `interval` seconds; `sampled` returns None while the newest sample is too old.

        `say` gets a line when pushes begin to fail, and when they work again. Raises ValueError if a variable of the
        SDK has an unusable value.
        """
        self._reply = _Reply()
        self._url = url if url.split("://", 1)[-1].strip("/").count("/") else url.rstrip("/") + _PATH
        self._exporter = _exporter(self._url, self._reply)
        self._resource = resource(node)
        self._interval = interval
        self._sampled = sampled
        self._guard = guard
        self._say = say
        self._pushed = self._failed = 0
        self._trouble = self._said = ""
        self._taken = 0.0
        self._began = self._accepted = time.monotonic()
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="otlp", daemon=True).start()

    @property
    def state(self) -> OtlpState:
        """The state by now."""
        recent = time.monotonic() - self._accepted <= _LATE * self._interval
        return OtlpState(self._pushed, self._failed, success=recent and not self._trouble)

    def close(self) -> None:
        """End after the push that is under way, without waiting for it."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(self._interval if self._taken else min(self._interval, _FIRST)):
            trouble = self._guard.call(Part.PAGE, "otlp", self._push, lambda said: said)
            if trouble is None:
                continue
            self._trouble = trouble
            if trouble:
                self._failed += 1
            else:
                self._pushed += 1
                self._accepted = time.monotonic()
            if trouble != self._said:
                self._said = trouble
                state = f"failing: {safe(trouble, 200)}; the exporter goes on" if trouble else "works again"
                self._say(f"sdstop: --otlp {safe(self._url)}: {state}")

    def _push(self) -> str | None:
        """Push the newest sample; return why it failed, "" if it was accepted, None without a newer one."""
        found = self._sampled()
        if found is None or not dated(found[0]) or found[0] == self._taken:
            return None
        self._taken, told = found
        self._reply.said = ""
        result = self._exporter.export(metrics_data(told, self._taken, self._resource))
        if result is not MetricExportResult.SUCCESS:
            return self._reply.said or "no answer"
        return self._reply.said


class _Reply(requests.Session):
    """HTTP session that keeps why a request was not accepted, without names and secrets of the request."""

    def __init__(self) -> None:
        super().__init__()
        self.said = ""

    def request(self, *args: Any, **options: Any) -> requests.Response:
        """Send a request. Only a reply of 2xx that rejects nothing is accepted; others are an error of the SDK's."""
        try:
            answer = super().request(*args, **{**options, "stream": True})
        except requests.RequestException as error:
            self.said = _CAUSES.get(type(error), "cannot connect")
            raise
        self.said = "" if answer.ok and not answer.is_redirect else f"HTTP {answer.status_code}"
        if not self.said:
            self.said = _rejected(answer)
        answer.close()
        return answer


_CAUSES = {
    requests.exceptions.ReadTimeout: "timeout",
    requests.exceptions.ConnectTimeout: "timeout",
    requests.exceptions.SSLError: "TLS failed",
    requests.exceptions.ProxyError: "the proxy failed",
}


def _rejected(answer: requests.Response) -> str:
    """Return how many samples of an accepted request were rejected, "" if none: a partial success."""
    length = answer.headers.get("Content-Length", "")
    if not length.isdecimal() or not 0 < int(length) <= _LONGEST_REPLY:
        return ""
    if "protobuf" not in answer.headers.get("Content-Type", ""):
        return ""
    try:
        reply = ExportMetricsServiceResponse.FromString(answer.content)
    except DecodeError:
        return "unreadable reply"
    rejected = reply.partial_success.rejected_data_points
    return f"{rejected} samples rejected" if rejected else ""


class _Complaints(logging.Handler):
    """Keeps the SDK's log off standard error, because its lines can quote headers, and counts the lines."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count a line."""
        del record
        self.count += 1


def _exporter(url: str, session: requests.Session) -> OTLPMetricExporter:
    """Return the exporter of the SDK. Raises ValueError for a variable that the SDK only warns of."""
    complaints = _Complaints()
    log = logging.getLogger("opentelemetry")
    log.propagate = False
    log.handlers = [complaints]
    made = OTLPMetricExporter(url, session=session)
    if complaints.count:
        raise ValueError("unusable variable")
    return made
