"""Metrics pushed by OTLP: the same as on the page, and an endpoint that is dead or slow costs only its own pushes."""

from __future__ import annotations

import gzip
import http.server
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from sdstop.core.guard import Guard
from sdstop.exporters.otlp.data import metrics_data, resource
from sdstop.exporters.otlp.pusher import Pusher, Samples
from sdstop.exporters.prometheus.exposition import Heading, Told, bound
from sdstop.exporters.prometheus.metrics import Exposition
from tests.exporters.meters import TAKEN, frame
from tests.exporters.meters import session as metered
from tests.exporters.page import samples
from tests.exporters.process import PATIENCE, exporting, port_of
from tests.fixtures import story
from tests.fleet.engines import victoria_metrics

SECRET = "gr4pefruit"  # noqa: S105
ONE: list[Told] = [(Heading("sdstop_a", "gauge", "A."), [({}, 1.0)])]
STORIES = ("aoe-flashcache", "draid-one-dimm", "md-degraded", "quiet-node", "scaleio-cloud")


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Takes pushes as the protocol describes them (OTLP/HTTP, binary)."""

    status = 200
    reply = b""
    location = ""
    taken: list[tuple[str, dict[str, str], ExportMetricsServiceRequest]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        self.taken.append((self.path, dict(self.headers), ExportMetricsServiceRequest.FromString(body)))
        self.send_response(self.status)
        self.send_header("Content-Type", "application/x-protobuf")
        if self.location:
            self.send_header("Location", self.location)
        self.send_header("Content-Length", str(len(self.reply)))
        self.end_headers()
        self.wfile.write(self.reply)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def listening(**settings: object) -> Iterator[tuple[str, type[Endpoint]]]:
    """Run an endpoint of this kind; yield its URL and what it took."""
    handler = cast("type[Endpoint]", type("Taking", (Endpoint,), {"taken": [], **settings}))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", handler
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


def received(request: ExportMetricsServiceRequest) -> dict[tuple[str, ...], float]:
    """Return the samples of a push as a page has them: by name and sorted labels."""
    found: dict[tuple[str, ...], float] = {}
    (of_node,) = request.resource_metrics
    (scope,) = of_node.scope_metrics
    for metric in scope.metrics:
        kind = str(metric.WhichOneof("data"))
        for point in getattr(metric, kind).data_points:
            by = sorted(f"{each.key}={each.value.string_value}" for each in point.attributes)
            if kind == "histogram":
                count = 0
                for end, step in zip([*point.explicit_bounds, float("inf")], point.bucket_counts, strict=True):
                    count += step
                    found[f"{metric.name}_bucket", *sorted([*by, f"le={bound(end)}"])] = count
                assert count == point.count
                assert not point.HasField("sum")
            else:
                found[metric.name, *by] = point.as_double if point.WhichOneof("value") == "as_double" else point.as_int
    return found


def pushed(sampled: Samples | None, url: str, **options: Any) -> tuple[Pusher, list[str]]:
    lines: list[str] = []
    return Pusher(url, "node7", 0.05, lambda: sampled, Guard(), lines.append, **options), lines


def until(reached: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


def of_story(name: str) -> Exposition:
    exposition = Exposition(story(name).session)
    exposition.observe(story(name).session.head())
    return exposition


@pytest.mark.parametrize("name", STORIES)
def test_a_push_has_the_samples_of_the_page(name: str) -> None:
    exposition = of_story(name)
    page = samples(exposition.page(process=False))
    with listening() as (url, taking):
        pusher, _ = pushed(exposition.sampled(), url)
        until(lambda: taking.taken)
        pusher.close()
    (path, _, request), *_ = taking.taken
    assert path == "/v1/metrics"
    assert received(request) == page
    of_node = {each.key: each.value.string_value for each in request.resource_metrics[0].resource.attributes}
    assert of_node == {"service.name": "sdstop", "service.instance.id": "node7", "host.name": "node7"}


def test_kinds_and_units_are_those_of_the_headings() -> None:
    exposition = Exposition(metered())
    row = {"name": "a", "count": 3, "time": 1500, "size": 2, "level": 0.5, "mood": "calm", "model": "m"}
    exposition.feed(frame(1, [row, {**row, "name": "b", "sizes": {"512": 1, "4096": 4}}]))
    found = exposition.sampled()
    assert found is not None
    (of_node,) = metrics_data(found[1], found[0], resource("n")).resource_metrics
    kinds = {each.name: (type(each.data).__name__, each.unit) for each in of_node.scope_metrics[0].metrics}
    assert kinds["sdstop_meter_count_total"] == ("Sum", "")
    assert kinds["sdstop_meter_time_seconds_total"] == ("Sum", "s")
    assert kinds["sdstop_meter_size_bytes"] == ("Gauge", "By")
    assert kinds["sdstop_meter_level_ratio"] == ("Gauge", "1")
    assert kinds["sdstop_meter_info"] == ("Gauge", "")
    assert kinds["sdstop_meter_sizes"] == ("Histogram", "")
    request = encode_metrics(metrics_data(found[1], found[0], resource("n")))
    page = samples(exposition.page(process=False))
    assert received(request) == page
    assert page["sdstop_meter_sizes_bucket", "le=+Inf", "name=b", "room=r"] == 4


def test_a_sample_is_pushed_once_and_none_while_there_is_no_recent_one() -> None:
    with listening() as (url, taking):
        pusher, _ = pushed((TAKEN, ONE), url)
        until(lambda: pusher.state.pushed)
        silent, _ = pushed(None, url)
        time.sleep(0.5)
        assert len(taking.taken) == pusher.state.pushed == 1
        assert not pusher.state.success  # nothing new for several intervals
        assert silent.state.pushed == silent.state.failed == 0
        pusher.close()
        silent.close()


REFUSALS: dict[str, dict[str, object]] = {
    "HTTP 302": {"status": 302, "location": "http://127.0.0.1:1/"},
    "HTTP 401": {"status": 401},
    "HTTP 503": {"status": 503},
    "unreadable reply": {"reply": b"\xff" * 9},
    "7 samples rejected": {
        "reply": ExportMetricsServiceResponse(
            partial_success=ExportMetricsPartialSuccess(rejected_data_points=7)
        ).SerializeToString()
    },
}


@pytest.mark.parametrize("why", sorted(REFUSALS))
def test_an_endpoint_that_refuses_is_named_once_and_without_secrets(
    why: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"Authorization=Bearer%20{SECRET}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    times = iter(range(1, 10_000))
    lines: list[str] = []
    with listening(**REFUSALS[why]) as (url, taking):
        sampled = lambda: (TAKEN + next(times), ONE)  # noqa: E731
        pusher = Pusher(f"{url}/in", "n", 0.05, sampled, Guard(), lines.append)
        until(lambda: pusher.state.failed >= 2)
        assert not pusher.state.success
        path, headers, _ = taking.taken[0]
        assert (path, headers["authorization"]) == ("/in", f"Bearer {SECRET}")
        taking.status, taking.reply, taking.location = 200, b"", ""
        until(lambda: pusher.state.success)
        pusher.close()
    assert lines == [
        f"sdstop: --otlp {url}/in: failing: {why}; the exporter goes on",
        f"sdstop: --otlp {url}/in: works again",
    ]
    assert capfd.readouterr() == ("", "")


def test_an_endpoint_that_is_dead_or_never_answers_delays_no_scrape(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "diskstats").write_text("")
    (tmp_path / "config.toml").touch()
    fast = {"OTEL_METRIC_EXPORT_INTERVAL": "1000", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    with socket.create_server(("127.0.0.1", 0)) as hung:  # the kernel accepts, and nobody reads
        for url, why in (
            (f"http://127.0.0.1:{hung.getsockname()[1]}", "timeout"),
            ("http://127.0.0.1:1", "cannot connect"),
        ):
            with exporting(tmp_path, "--listen", "127.0.0.1:0", "--otlp", url, **fast) as process:
                port = port_of(process)
                until(lambda port=port: page_of(port).get(("sdstop_otlp_failures_total",), 0) >= 1)
                began = time.monotonic()
                page = page_of(port)
                assert time.monotonic() - began < 1
                assert page["sdstop_otlp_success",] == page["sdstop_otlp_pushes_total",] == 0
                began = time.monotonic()
                process.terminate()
                _, said = process.communicate(timeout=PATIENCE)
                assert time.monotonic() - began < 3
            assert said == f"sdstop: --otlp {url}/v1/metrics: failing: {why}; the exporter goes on\n"
            assert process.returncode == 0


def page_of(port: int) -> dict[tuple[str, ...], float]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
            return samples(answer.read())
    except urllib.error.HTTPError:
        return {}  # no sample yet


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--once", "--otlp", "http://h"), "cannot use --otlp with --once"),
        (("--otlp", f"http://u:{SECRET}@h"), "credentials in a URL are visible; use OTEL_EXPORTER_OTLP_HEADERS"),
        (("--otlp", "collector:4317"), 'invalid URL "collector:4317"; use http://HOST:4318 or https://HOST/PATH'),
        (("--otlp", "http://h/?token=1"), 'invalid URL "http://h/?token=1"; use http://HOST:4318 or https://HOST/PATH'),
    ],
    ids=["once", "credentials", "scheme", "query"],
)
def test_mistakes_are_named(argv: tuple[str, ...], said: str) -> None:
    done = ran(*argv)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert SECRET not in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_METRIC_EXPORT_INTERVAL", "fast"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip"),
        ("OTEL_EXPORTER_OTLP_HEADERS", SECRET),
    ],
)
def test_mistakes_in_variables_are_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    done = ran("--from", "fixtures/quiet-node", "--listen", "127.0.0.1:0", "--otlp", "http://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr in {
        "sdstop: invalid OTEL_METRIC_EXPORT_INTERVAL; use milliseconds from 1000 to 3600000\n",
        "sdstop: --otlp: a variable OTEL_EXPORTER_OTLP_... has an unusable value\n",
    }


def test_without_the_extra_the_command_that_installs_it_is_named() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from sdstop.__main__ import run\n"
        "sys.argv[1:] = ['export', '--from', 'fixtures/quiet-node', '--otlp', 'http://127.0.0.1:1']\nsys.exit(run())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'sdstop[otlp]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def ran(*argv: str) -> subprocess.CompletedProcess[str]:
    argv = (sys.executable, "-m", "sdstop", "export", *argv)
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE)


@pytest.mark.slow
@pytest.mark.needs("OTLP receiver")
def test_a_real_receiver_stores_the_page_under_its_names(tmp_path: Path) -> None:
    exposition = of_story("aoe-flashcache")
    found = exposition.sampled()
    assert found is not None
    now = float(int(time.time()))
    with victoria_metrics(tmp_path) as url:
        pusher, _ = pushed((now, found[1]), f"{url}/opentelemetry/v1/metrics")
        until(lambda: pusher.state.pushed)
        pusher.close()
        page = {shown(*key): value for key, value in samples(exposition.page(process=False)).items()}
        until(lambda: len(stored(url, now)) >= len(page))
        assert stored(url, now) == pytest.approx(page, rel=1e-11)  # 12 digits are stored


def shown(name: str, *labels: str) -> tuple[str, ...]:
    """Return the key of a sample as servers store it: without empty labels, and `le` as a number."""
    told = (label for label in sorted(labels) if not label.endswith("="))
    return (name, *(f"le={float(label[3:])}" if label.startswith("le=") else label for label in told))


def stored(url: str, taken: float) -> dict[tuple[str, ...], float]:
    """Return the samples of a server as a page has them."""
    words = urllib.parse.urlencode({"query": '{__name__=~"sdstop_.*"}', "time": taken})
    with urllib.request.urlopen(f"{url}/api/v1/query?{words}", timeout=PATIENCE) as answer:  # noqa: S310  # loopback
        rows = json.load(answer)["data"]["result"]
    found = {}
    for row in rows:
        labels = row["metric"]
        name = labels.pop("__name__")
        assert {labels.pop(each) for each in ("service.name", "service.instance.id", "host.name")} == {
            "sdstop", "node7",
        }  # fmt: skip
        if not name.endswith("_bytes_count"):  # of a histogram; the page has none
            found[shown(name, *(f"{key}={text}" for key, text in labels.items()))] = float(row["value"][1])
    return found
