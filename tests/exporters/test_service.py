"""The exporter as a process: live, with a source that hangs, as a textfile, and scraped by a real Prometheus."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

DISKSTATS = "   8       0 sda 100 0 800 10 5 0 40 3 0 13 13 0 0 0 0 0 0\n"
PATIENCE = 60.0
"""Seconds after which something that must come is given up."""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A tree of a node's files."""
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    (root / "proc" / "diskstats").write_text(DISKSTATS)
    (root / "config.toml").write_text('[export]\ndisks = "all"\n')
    return root


@contextmanager
def exporting(node: Path, *arguments: str | Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run `sdstop export` below `node`, with the config that lies there, and see that it ends."""
    options = ("--root", node, "--config", node / "config.toml", "--interval", "200ms", *arguments)
    argv = [sys.executable, "-m", "sdstop", "export", *map(str, options)]
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | environment,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE)


def port_of(process: subprocess.Popen[str]) -> int:
    """Return the port that the exporter says it listens on."""
    assert process.stderr is not None
    found = re.fullmatch(r"sdstop: serving https?://127\.0\.0\.1:(\d+)/metrics\n", process.stderr.readline())
    assert found is not None
    return int(found[1])


def get(port: int, path: str = "/metrics") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def until(condition: Callable[[], Any]) -> Any:
    """Wait for something that must come."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def test_it_serves_until_it_is_told_to_end(node: Path) -> None:
    with exporting(node, "--listen", "127.0.0.1:0") as process:
        port = port_of(process)
        until(lambda: get(port, "/-/ready")[0] == 200)
        status, page = get(port)
        assert status == 200
        assert 'sdstop_disk_reads_total{device="sda"} 100.0\n' in page
        (node / "proc" / "diskstats").write_text(DISKSTATS.replace("100", "170"))
        until(lambda: 'sdstop_disk_reads_total{device="sda"} 170.0\n' in get(port)[1])
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.communicate() == ("", "")


def test_a_source_that_hangs_delays_neither_a_scrape_nor_the_end(node: Path) -> None:
    os.mkfifo(node / "proc" / "mdstat")
    with exporting(node, "--listen", "127.0.0.1:0") as process:
        port = port_of(process)
        running = r'(?m)^sdstop_collector_running_seconds\{collector="mdraid"\} ([1-9].*)$'
        until(lambda: re.search(running, get(port)[1]))
        frames = r"(?m)^sdstop_frame_timestamp_seconds (.*)$"
        _, page = get(port)
        assert 'sdstop_collector_success{collector="mdraid"} 0.0\n' in page
        assert 'sdstop_collector_success{collector="diskstats"} 1.0\n' in page
        assert 'sdstop_disk_reads_total{device="sda"} 100.0\n' in page
        before = re.findall(frames, page)
        until(lambda: re.findall(frames, get(port)[1]) != before)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130


def test_textfile_is_renewed_and_taken_away(node: Path, tmp_path: Path) -> None:
    path = tmp_path / "textfile" / "sdstop.prom"
    path.parent.mkdir()
    with exporting(node, "--textfile", path) as process:
        until(path.exists)
        page = path.read_text()
        assert 'sdstop_disk_reads_total{device="sda"} 100.0\n' in page
        assert "\nprocess_" not in page  # node_exporter has them already
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert list(path.parent.iterdir()) == []


def test_a_port_that_is_taken_is_told_in_one_line(node: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with exporting(node, "--listen", f"127.0.0.1:{port}") as process:
            assert process.wait(PATIENCE) == 1
            _, said = process.communicate()
    assert re.fullmatch(rf"sdstop: cannot listen on 127\.0\.0\.1:{port}: .*\n", said)


def test_without_its_sampler_it_ends_and_says_so(node: Path) -> None:
    with exporting(node, "--listen", "127.0.0.1:0") as process:
        port = port_of(process)
        until(lambda: get(port, "/-/ready")[0] == 200)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        assert process.wait(PATIENCE) == 1
        _, said = process.communicate()
    assert said.startswith("sdstop: the process that reads the node is gone")


def test_promtool_finds_nothing_wrong(node: Path) -> None:
    with exporting(node, "--listen", "127.0.0.1:0") as process:
        port = port_of(process)
        until(lambda: get(port, "/-/ready")[0] == 200)
        page = get(port)[1]
    result = subprocess.run(["promtool", "check", "metrics"], input=page, text=True, capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: sdstop
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


@contextmanager
def prometheus(folder: Path, target: int) -> Iterator[Callable[[str], list[Any]]]:
    """Run Prometheus on loopback; yield what asks it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "prometheus.yml").write_text(CONFIG.format(port=target))
    argv = [
        "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}", "--log.level=error",
    ]  # fmt: skip
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(query: str) -> list[Any]:
        address = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.request.quote(query)}"  # type: ignore[attr-defined]
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                return list(json.load(answer)["data"]["result"])
        except OSError:  # it is not up yet
            return []

    try:
        yield ask
    finally:
        process.terminate()
        process.wait(PATIENCE)


def test_a_real_prometheus_scrapes_it(node: Path, tmp_path: Path) -> None:
    with exporting(node, "--listen", "127.0.0.1:0") as process:
        port = port_of(process)
        with prometheus(tmp_path, port) as ask:
            until(lambda: ask('up{job="sdstop"} == 1'))
            (series,) = until(lambda: ask("sdstop_disk_reads_total"))
            assert series["metric"]["device"] == "sda"
            assert series["value"][1] == "100"
            assert until(lambda: ask('sdstop_collector_interval_seconds{collector="diskstats"}'))[0]["value"][1] == "1"
            (sampled,) = until(lambda: ask("scrape_samples_post_metric_relabeling"))
            (scraped,) = until(lambda: ask("scrape_samples_scraped"))
            assert sampled["value"][1] == scraped["value"][1]


BROKEN = """
import os, sys
from pathlib import Path
from sdstop.exporters.prometheus import Exposition
from sdstop.exporters.server import Server
from tests.exporters.meters import Meter, frame, session

class Feed:
    alive = True
    def __init__(self):
        self.ours, theirs = os.pipe()
        os.write(theirs, b"always readable")
    def fileno(self):
        return self.ours
    def receive(self):
        raise ZeroDivisionError("in a frame")

exposition = Exposition(session())
exposition.feed(frame(1, [Meter("a", count=1)]))
server = Server(exposition, Feed(), lambda line: print(line, file=sys.stderr, flush=True))
server.run(("127.0.0.1", 0), Path(sys.argv[1]))
"""


def test_what_goes_wrong_with_a_frame_or_a_file_costs_that_alone(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    path = tmp_path / "gone" / "sdstop.prom"
    path.parent.rmdir()
    argv = [sys.executable, "-c", BROKEN, str(path)]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert process.stderr is not None
    try:
        port = port_of(process)
        assert "internal error: " in process.stderr.readline()
        assert 'sdstop_meter_count_total{name="a",room="r"} 1.0\n' in get(port)[1]
        said = until(lambda: next((line for line in process.stderr or () if "cannot be written" in line), ""))
        assert said == f"sdstop: {path} cannot be written: No such file or directory\n"
        assert get(port, "/-/healthy")[0] == 200
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
