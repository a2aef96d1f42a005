"""Scrapes of exporters, as Prometheus does them: over a connection that is kept."""

from __future__ import annotations

import http.client
import socket
import time
from dataclasses import dataclass, field
from statistics import quantiles

from subjects import Subject

_HEADERS = {"Accept": "text/plain;version=0.0.4;q=1,*/*;q=0.1"}


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass(slots=True)
class Target:
    """An exporter that is scraped: milliseconds of each scrape, and of CPU for each."""

    subject: Subject
    port: int
    gzip: bool = False
    latencies: list[float] = field(default_factory=list)
    cpu: float = 0.0
    samples: int = 0
    _connection: http.client.HTTPConnection | None = None

    def wait(self, seconds: float = 20.0) -> None:
        """Wait until it answers with samples. Raises RuntimeError."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.subject.check()
            try:
                status, body = self._get({})
            except OSError:
                self._connection = None
            else:
                if status == 200 and body:
                    return
            time.sleep(0.1)
        raise RuntimeError(f"{self.subject.name} does not answer")

    def scrape(self) -> float:
        """Scrape once and return the milliseconds it took."""
        began = time.perf_counter()
        self._get({"Accept-Encoding": "gzip"} if self.gzip else {})
        return (time.perf_counter() - began) * 1000

    def count(self) -> None:
        """Count the samples of its page."""
        _, body = self._get({})
        self.samples = sum(1 for line in body.splitlines() if line and not line.startswith(b"#"))

    def _get(self, headers: dict[str, str]) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        self._connection.request("GET", "/metrics", headers=_HEADERS | headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()


def scrape(targets: list[Target], count: int, pause: float = 1.0) -> None:
    """Scrape each of them so many times, in turn, every `pause` seconds, and note what they took."""
    for target in targets:
        target.latencies.clear()
        target.count()
        target.scrape()
    before = [target.subject.cpu() for target in targets]
    due = time.monotonic()
    for _ in range(count):
        for target in targets:
            target.latencies.append(target.scrape())
        due += pause
        time.sleep(max(0.0, due - time.monotonic()))
    for target, cpu in zip(targets, before, strict=True):
        target.cpu = (target.subject.cpu() - cpu) / count


def percentile(values: list[float], share: int) -> float:
    """Return the value that so many percent do not exceed."""
    return quantiles(values, n=100, method="inclusive")[share - 1]
