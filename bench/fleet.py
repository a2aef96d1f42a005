"""What a refresh of `sdstop fleet` costs, on a real Prometheus that has a simulated fleet.

    python bench/fleet.py [--nodes 300] [--disks 60] [--minutes 15]

The series are those that the fleet asks for (tests/fleet/simulated.py), as blocks of promtool; nothing is scraped
meanwhile. Wall time is what somebody waits for, CPU what the server and sdstop spend, whatever else the machine does.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sdstop.fleet.client import PrometheusClient
from sdstop.fleet.http_config import HttpConfig
from sdstop.fleet.url import parse_url
from sdstop.fleet.watcher import FleetWatcher
from tests.fleet import simulated
from tests.fleet.engines import prometheus

TICK = os.sysconf("SC_CLK_TCK")


def server_cpu(port: int) -> float:
    """Return the CPU seconds of the Prometheus that listens on a port of ours."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"prometheus") and f"--web.listen-address=127.0.0.1:{port}".encode() in words:
            fields = (folder / "stat").read_text().rpartition(") ")[2].split()
            return (int(fields[11]) + int(fields[12])) / TICK
    raise LookupError("the server is gone")


def measured(title: str, work: Callable[[], object], port: int) -> None:
    """Print wall time, and CPU of both sides."""
    wall, ours, theirs = time.monotonic(), time.process_time(), server_cpu(port)
    work()
    print(
        f"{title:<44} {time.monotonic() - wall:6.2f} s   server {server_cpu(port) - theirs:5.2f} s CPU   "
        f"sdstop {time.process_time() - ours:5.2f} s CPU",
        flush=True,
    )


def main() -> None:
    """Make the fleet, ask for it, and print what that cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=300)
    parser.add_argument("--disks", type=int, default=60)
    parser.add_argument("--minutes", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # The last samples lie ahead: a machine that is slow has time to ask for them.
        count = simulated.write(
            folder / "fleet.om",
            options.nodes,
            int(time.time()) + 900,
            minutes=options.minutes + 15,
            disks=options.disks,
        )
        simulated.blocks(folder / "fleet.om", folder / "data")
        (folder / "fleet.om").unlink()
        print(f"{options.nodes} nodes, {count} series; load {os.getloadavg()[0]:.1f}")
        with prometheus(folder) as url, PrometheusClient(parse_url(url), HttpConfig(), 120.0) as client:
            port = int(url.rpartition(":")[2])
            watcher = FleetWatcher(client)
            picture = watcher.refresh()
            if picture.failed or picture.troubles:
                sys.exit(f"not answered: {picture.troubles}")
            measured("what every second refresh asks (1 min)", lambda: [watcher.refresh(), watcher.refresh()], port)
            walls = []
            for _ in range(3):
                begun = time.monotonic()
                watcher.refresh()
                walls.append(time.monotonic() - begun)
                watcher.refresh()
            print(f"{'a refresh that asks what is always asked':<44} {statistics.median(walls):6.2f} s   (median)")
            fresh = FleetWatcher(client)
            measured("the first one, which asks everything", fresh.refresh, port)
            measured("a node that is looked at", lambda: fresh.node(("sdstop", "n003:10042")), port)


if __name__ == "__main__":
    main()
