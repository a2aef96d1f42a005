"""The real servers: Prometheus and VictoriaMetrics of Debian, over blocks or what they scrape."""

from __future__ import annotations

import contextlib
import random
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

PATIENCE = 60.0
"""Seconds after which something that must come is given up."""


def free_port() -> int:
    """Return a port of loopback on which nothing listens.

    The kernel's own choices are left out (32768 and above): it may give one to an outgoing connection before the server
    that is to have it has started.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextlib.contextmanager
def _running(argv: Sequence[str], url: str, ready: str, log: Path) -> Iterator[str]:
    with log.open("wb") as stream:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            with contextlib.suppress(OSError), urllib.request.urlopen(url + ready, timeout=PATIENCE):  # noqa: S310
                break
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE)


@contextlib.contextmanager
def prometheus(
    folder: Path,
    *,
    rules: str = "",
    evaluation: str = "1m",
    scrape: str = "",
    prefix: str = "",
    alerts: str = "",
    pace: str = "1s",
    replica: str = "",
) -> Iterator[str]:
    """Run a Prometheus over `folder`/data; `scrape` is the list of scrape configurations as YAML.

    `alerts` is the address of an Alertmanager, `pace` the interval and the timeout of scrapes; a `replica` is one of
    several servers that scrape the same.
    """
    config = folder / "prometheus.yml"
    config.write_text(
        f"global: {{evaluation_interval: {evaluation}, scrape_interval: {pace}, scrape_timeout: {pace}, "
        f"external_labels: {{{f'replica: {replica}' if replica else ''}}}}}\n"
        f"rule_files: [{rules!r}]\nscrape_configs:\n{scrape}\n"
        if rules
        else f"scrape_configs:\n{scrape}\n"
    )
    if alerts:
        with config.open("a") as stream:
            stream.write(
                f"alerting: {{alert_relabel_configs: [{{action: labeldrop, regex: replica}}], "
                f"alertmanagers: [{{static_configs: [{{targets: [{alerts!r}]}}]}}]}}\n"
            )
    port = free_port()
    argv = [
        "prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}", "--log.level=warn",
        f"--web.listen-address=127.0.0.1:{port}", f"--web.route-prefix={prefix or '/'}",
    ]  # fmt: skip
    with _running(argv, f"http://127.0.0.1:{port}{prefix}", "/-/ready", folder / "prometheus.log") as url:
        yield url


@contextlib.contextmanager
def alertmanager(folder: Path, config: Path) -> Iterator[str]:
    """Run an Alertmanager and yield its address; it tells nobody else about itself."""
    port = free_port()
    argv = [
        "prometheus-alertmanager", f"--config.file={config}", f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=", "--log.level=warn",
    ]  # fmt: skip
    with _running(argv, f"http://127.0.0.1:{port}", "/-/ready", folder / "alertmanager.log"):
        yield f"127.0.0.1:{port}"


@contextlib.contextmanager
def victoria_metrics(folder: Path, scrape: str = "") -> Iterator[str]:
    """Run an empty VictoriaMetrics; `scrape` is the configuration of its scrapes, as YAML."""
    port = free_port()
    argv = [
        "victoria-metrics", f"-storageDataPath={folder / 'vm'}", f"-httpListenAddr=127.0.0.1:{port}",
        "-retentionPeriod=1d", "-search.latencyOffset=1s",
    ]  # fmt: skip
    if scrape:
        (folder / "vm.yml").write_text(f"global: {{scrape_interval: 5s, scrape_timeout: 5s}}\n{scrape}")
        argv.append(f"-promscrape.config={folder / 'vm.yml'}")
    with _running(argv, f"http://127.0.0.1:{port}", "/health", folder / "vm.log") as url:
        yield url


def imported(url: str, openmetrics: Path) -> None:
    """Have VictoriaMetrics take samples over, whose times it wants in milliseconds, and find all of them in queries."""
    lines = []
    for line in openmetrics.read_text().splitlines():
        if not line.startswith("#"):
            sample, _, taken = line.rpartition(" ")
            lines.append(f"{sample} {taken}000\n")
    request = urllib.request.Request(f"{url}/api/v1/import/prometheus", data="".join(lines).encode(), method="POST")  # noqa: S310
    for wanted in (request, f"{url}/internal/force_flush"):
        with urllib.request.urlopen(wanted, timeout=PATIENCE):  # noqa: S310
            pass
