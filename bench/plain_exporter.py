"""A peer: the same 17 columns of /proc/diskstats by prometheus_client alone, as one would write it at first.

python bench/plain_exporter.py TREE PORT
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import REGISTRY, start_http_server
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector


class DiskStats(Collector):
    """Reads at every scrape."""

    def __init__(self, path: Path) -> None:
        """Read this file."""
        self._path = path

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Yield a family for each column."""
        rows = [line.split() for line in self._path.read_text().splitlines()]
        for column in range(17):
            family = CounterMetricFamily(f"plain_disk_{column}", "A column of /proc/diskstats", labels=["device"])
            for row in rows:
                family.add_metric([row[2]], float(row[3 + column]))
            yield family


if __name__ == "__main__":
    REGISTRY.register(DiskStats(Path(sys.argv[1], "proc/diskstats")))
    start_http_server(int(sys.argv[2]), addr="127.0.0.1")
    while True:
        time.sleep(60)
