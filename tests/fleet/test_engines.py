"""The picture of a simulated fleet on the real servers: Prometheus and VictoriaMetrics must show the same."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from sdstop.core.finding import Severity
from sdstop.fleet.client import PrometheusClient
from sdstop.fleet.http_config import HttpConfig
from sdstop.fleet.state import FleetState
from sdstop.fleet.text import fleet_json
from sdstop.fleet.url import parse_url
from sdstop.fleet.watcher import FleetWatcher
from tests.cli.run import run
from tests.fleet import simulated
from tests.fleet.engines import imported, prometheus, victoria_metrics


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("prometheus", marks=pytest.mark.needs("prometheus", "promtool")),
        pytest.param("victoria-metrics", marks=pytest.mark.needs("victoria-metrics")),
    ],
)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that knows twelve nodes, below a prefix."""
    folder = tmp_path_factory.mktemp("fleet")
    samples = folder / "fleet.om"
    simulated.write(samples, 12, int(time.time()) + 60, minutes=20, disks=8, hostile="eth\x1b[31m")
    if request.param == "prometheus":
        simulated.blocks(samples, folder / "data")
        with prometheus(folder, prefix="/prom") as url:
            yield url
    else:
        with victoria_metrics(folder) as url:
            imported(url, samples)
            with PrometheusClient(parse_url(url), HttpConfig()) as client:
                end = time.monotonic() + 60
                while not client.query("count(sdstop_frame_timestamp_seconds)").series:
                    assert time.monotonic() < end
                    time.sleep(0.1)
            yield f"{url}/prometheus"


@pytest.fixture(scope="module")
def picture(server: str) -> FleetState:
    with PrometheusClient(parse_url(server), HttpConfig()) as client:
        return FleetWatcher(client).refresh()


def test_every_question_is_understood(picture: FleetState) -> None:
    assert (picture.troubles, picture.warnings, picture.infos) == ((), (), ())
    assert picture.total == 10
    assert picture.server.startswith("Prometheus 2.") or picture.server == ""


def test_nodes(picture: FleetState) -> None:
    assert [(n.name, n.severity) for n in picture.nodes][:7] == [
        ("n003", Severity.CRITICAL), ("n007", None), ("n009", None), ("n000", Severity.WARNING),
        ("n001", Severity.WARNING), ("n008", Severity.WARNING), ("n010", Severity.WARNING),
    ]  # fmt: skip
    assert {n.name: n.silence for n in picture.silent} == {
        "n007": "no longer scraped", "n009": "target down",
    }  # fmt: skip
    assert picture.counts == {Severity.CRITICAL: 1, Severity.WARNING: 5, Severity.INFO: 1}
    first = picture.nodes[0]
    assert first.worst is not None
    assert (first.worst.rule, first.worst.subject) == ("array-degraded", "md0")
    assert first.history[-1] == 2


def test_arrays_rebuilds_volumes(picture: FleetState) -> None:
    assert {(picture.name(a.node), a.array, a.members, round(a.skew or 0, 2)) for a in picture.arrays} == {
        ("n003", "md0", (), 1.0), ("n000", "md0", ("sd3",), 3.13), ("n010", "md0", ("sd3",), 3.13),
    }  # fmt: skip
    (rebuild,) = picture.rebuilds
    assert (rebuild.operation, rebuild.state, rebuild.done, rebuild.remaining) == ("recovery", "running", 0.4, 7200)
    (volume,) = picture.volumes
    assert (volume.volume, volume.owner, volume.binds, volume.used) == ("vol0", "sdc1", "total iops", 0.99)


def test_who_differs(picture: FleetState) -> None:
    assert [(f.rule, f.subject, f.cause) for f in picture.differing] == [
        ("node-outlier", "n006", "Memory modules: 15 x 32G; 9 peers have 16 x 32G."),
        ("mtu-mismatch", "n006/eth2", "MTU of eth2: 1500; 9 peers have 9000."),
        ("node-outlier", "n006", "Kernel: 5.10.0; 9 peers have 6.1.0."),
    ]
    assert all(f.evidence for f in picture.differing)


def test_one_node_with_its_course(server: str) -> None:
    with PrometheusClient(parse_url(server), HttpConfig()) as client:
        told = FleetWatcher(client).node(("sdstop", "n003:10042"))
    assert told.troubles == ()
    assert [(c.rule, c.severity) for c in told.claims] == [
        ("array-degraded", Severity.CRITICAL), ("phy-errors", Severity.WARNING),
    ]  # fmt: skip
    assert told.courses is not None
    assert told.courses["array-degraded", "critical"][-1] == 1
    assert (told.failing, told.unchecked) == (("sas",), {"phy-errors": 1})
    assert ("Kernel", "6.1.0") in told.facts
    assert ("I/O pressure", "25.0% of a minute") in told.facts


def test_once_with_a_selector(server: str) -> None:
    address = ["fleet", "--prometheus", server, "--match", 'instance=~"n00[0-4].*"']
    shown = run(*address, "--once")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("sdstop fleet: 5 nodes: 1 critical, 3 with warnings\n")
    assert "*WARN  n001  1 warning              link-saturated eth\\x1b[31m\n" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_json_is_whole(picture: FleetState) -> None:
    assert fleet_json(picture, "http://p").count('"instance"') > 20


def test_a_server_that_is_gone_is_one_line() -> None:
    shown = run("fleet", "--prometheus", "http://127.0.0.1:1", "--format", "json")
    assert shown.returncode == 1
    assert shown.stderr == "sdstop: http://127.0.0.1:1: connection refused\n"
    assert '"answered": false' in shown.stdout
