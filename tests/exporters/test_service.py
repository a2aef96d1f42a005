"""The exporter as a process: live, with a source that hangs, as a textfile, and scraped by a real Prometheus."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from tests.exporters.certificates import Authority
from tests.exporters.process import PATIENCE, exporting, port_of
from tests.fleet.engines import free_port

DISKSTATS = "   8       0 sda 100 0 800 10 5 0 40 3 0 13 13 0 0 0 0 0 0\n"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A tree of a node's files."""
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    (root / "proc" / "diskstats").write_text(DISKSTATS)
    (root / "config.toml").write_text('[export]\ndisks = "all"\n')
    return root


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
        assert 'sdstop_disk_reads_total{device="sda"} 100\n' in page
        (node / "proc" / "diskstats").write_text(DISKSTATS.replace("100", "170"))
        until(lambda: 'sdstop_disk_reads_total{device="sda"} 170\n' in get(port)[1])
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
        assert 'sdstop_collector_outcome{collector="mdraid",outcome="timeout"} 1\n' in page
        assert 'sdstop_collector_outcome{collector="diskstats",outcome="ok"} 1\n' in page
        assert 'sdstop_disk_reads_total{device="sda"} 100\n' in page
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
        assert 'sdstop_disk_reads_total{device="sda"} 100\n' in page
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


def test_a_killed_sampler_is_started_again_while_pages_are_served(node: Path) -> None:
    with exporting(node, "--listen", "127.0.0.1:0") as process:
        port = port_of(process)
        until(lambda: get(port, "/-/ready")[0] == 200)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        first = children.read_text().split()
        assert len(first) == 1
        os.kill(int(first[0]), signal.SIGKILL)
        until(lambda: children.read_text().split() not in (first, []))
        (node / "proc" / "diskstats").write_text(DISKSTATS.replace("100", "170"))
        until(lambda: 'sdstop_disk_reads_total{device="sda"} 170\n' in get(port)[1])
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert process.communicate() == ("", "")


@pytest.mark.needs("promtool")
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
    {more}
"""
DOCS = Path(__file__).parents[2] / "docs" / "monitoring.md"


@contextmanager
def prometheus(folder: Path, target: int, more: str = "") -> Iterator[Callable[[str], list[Any]]]:
    """Run Prometheus on loopback, its scrape configured with `more`; yield what asks it."""
    port = free_port()
    (folder / "prometheus.yml").write_text(CONFIG.format(port=target, more=more))
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


@pytest.mark.needs("prometheus")
def test_a_real_prometheus_scrapes_it(node: Path, tmp_path: Path) -> None:
    with exporting(node, "--listen", "127.0.0.1:0") as process:
        port = port_of(process)
        with prometheus(tmp_path, port) as ask:
            until(lambda: ask('up{job="sdstop"} == 1'))
            (series,) = until(lambda: ask("sdstop_disk_reads_total"))
            assert series["metric"]["device"] == "sda"
            assert series["value"][1] == "100"
            assert until(lambda: ask('sdstop_collector_outcome{collector="diskstats"}'))[0]["value"][1] == "1"
            (sampled,) = until(lambda: ask("scrape_samples_post_metric_relabeling"))
            (scraped,) = until(lambda: ask("scrape_samples_scraped"))
            assert sampled["value"][1] == scraped["value"][1]


BROKEN = """
import os, sys
from pathlib import Path
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.exporters.web.server import Server
from tests.exporters.meters import Meter, frame, session
from tests.fleet.engines import free_port

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
        assert 'sdstop_meter_count_total{name="a",room="r"} 1\n' in get(port)[1]
        said = until(lambda: next((line for line in process.stderr or () if "cannot write" in line), ""))
        assert said == f"sdstop: cannot write {path}: No such file or directory\n"
        assert get(port, "/-/healthy")[0] == 200
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def state_of(process: subprocess.Popen[str]) -> tuple[int, int]:
    """Return how many threads and open files the exporter has."""
    folder = Path(f"/proc/{process.pid}")
    return len(list((folder / "task").iterdir())), len(list((folder / "fd").iterdir()))


def test_a_thousand_scrapes_of_a_hung_source_leave_no_thread_and_no_file_behind(node: Path) -> None:
    os.mkfifo(node / "proc" / "mdstat")
    with exporting(node, "--listen", "127.0.0.1:0") as process:
        port = port_of(process)
        hangs = r'(?m)^sdstop_collector_running_seconds\{collector="mdraid"\} ([1-9].*)$'
        until(lambda: re.search(hangs, get(port)[1]))
        assert 'sdstop_collector_outcome{collector="mdraid",outcome="timeout"} 1\n' in get(port)[1]
        before = state_of(process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        theirs = [len(list(Path(f"/proc/{child}/fd").iterdir())) for child in children]
        for _ in range(20):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            for _ in range(50):
                connection.request("GET", "/metrics")
                answer = connection.getresponse()
                assert (answer.status, b"sdstop_disk_reads_total" in answer.read()) == (200, True)
            connection.close()
        until(lambda: all(now <= then for now, then in zip(state_of(process), before, strict=True)))
        assert [len(list(Path(f"/proc/{child}/fd").iterdir())) for child in children] == theirs


@pytest.mark.needs("openssl")
def test_fifty_scrapers_and_two_hundred_silent_connections_at_once(node: Path, tmp_path: Path) -> None:
    cert, key = Authority(tmp_path).issue("node", "IP:127.0.0.1")
    web = tmp_path / "web-config.yml"
    web.write_text(f"tls_server_config: {{cert_file: {cert}, key_file: {key}}}\n")
    with exporting(node, "--listen", "127.0.0.1:0", "--web-config", web) as process, ExitStack() as stack:
        port = port_of(process)
        context = ssl.create_default_context(cafile=tmp_path / "authority.crt")
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(200)]
        for connection in silent[:100]:
            connection.sendall(b"\x16\x03\x01\x02")  # half of these begin a handshake
        scrapers = [
            http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=context) for _ in range(50)
        ]
        for scraper in scrapers:
            stack.callback(scraper.close)
            scraper.connect()
        until(lambda: b"sdstop_frame" in _scraped(scrapers[0]))
        for _ in range(3):
            for scraper in scrapers:
                scraper.request("GET", "/metrics")
            pages = {scraper.getresponse().read().split(b"sdstop_frame_timestamp_seconds ")[0] for scraper in scrapers}
            assert len(pages) == 1
        threads, files = state_of(process)
        assert threads == 2  # one serves, one judges
        assert files >= 250
        for connection in silent:
            connection.close()
        until(lambda: state_of(process)[1] <= files - 200)


def _scraped(scraper: http.client.HTTPSConnection) -> bytes:
    scraper.request("GET", "/metrics")
    answer = scraper.getresponse()
    page = answer.read()
    return page if answer.status == 200 else b""


def test_parts_of_the_page(node: Path) -> None:
    with exporting(node, "--listen", "127.0.0.1:0") as process:
        port = port_of(process)
        until(lambda: get(port, "/-/ready")[0] == 200)
        page = get(port, "/metrics?collect[]=diskstats")[1]
        names = set(re.findall(r"(?m)^(\w+)", page))
        assert "sdstop_disk_reads_total" in names
        assert {name for name in names if name.startswith(("sdstop_finding", "process_", "sdstop_node_"))} == set()
        assert set(re.findall(r'collector="(\w+)"', page)) == {"diskstats"}
        page = get(port, "/metrics?collect%5B%5D=findings&collect%5B%5D=process")[1]
        assert "process_cpu_seconds_total" in page
        assert "sdstop_collector_outcome{" not in page
        page = get(port, "/metrics?exclude[]=diskstats&exclude[]=findings")[1]
        assert "sdstop_disk_reads_total" not in page
        assert "sdstop_finding_seconds_total" not in page
        assert "process_cpu_seconds_total" in page
        status, said = get(port, "/metrics?collect[]=disk")
        assert (status, said.startswith("unknown collector disk; valid: ")) == (400, True)
        assert get(port, "/metrics?collect[]=diskstats&exclude[]=mdraid")[0] == 400


def test_hangup_has_it_read_its_configuration_again(node: Path, tmp_path: Path) -> None:
    good = "sdstop_config_last_reload_successful"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(PATIENCE)
        manager = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "30000000"}
        with exporting(node, "--listen", "127.0.0.1:0", **manager) as process:
            port = port_of(process)
            said = systemd.recv(999).decode()
            while said == "WATCHDOG=1":
                said = systemd.recv(999).decode()
            assert said == f"READY=1\nSTATUS=serving http://127.0.0.1:{port}/metrics"
            until(lambda: f"{good} 1\n" in get(port)[1])
            assert "sdstop_disk_reads_total" in get(port)[1]
            (node / "config.toml").write_text('[export]\ndisks = "none"\n')
            process.send_signal(signal.SIGHUP)
            until(lambda: "sdstop_disk_reads_total" not in get(port)[1])
            assert 'sdstop_collector_outcome{collector="diskstats",outcome="ok"} 1\n' in get(port)[1]
            words = iter(lambda: systemd.recv(999).decode(), "")
            told = [next(word for word in words if word != "WATCHDOG=1") for _ in range(2)]
            assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", told[0])
            assert told[1].startswith("READY=1\nSTATUS=")
            assert next(words) == "WATCHDOG=1"
            (node / "config.toml").write_text("[export]\ndisks = 5\n")
            process.send_signal(signal.SIGHUP)
            assert process.stderr is not None
            said = process.stderr.readline()
            assert said.startswith(
                f"sdstop: {node}/config.toml: export.disks: expected one of all, members, none, got a whole number"
            )
            until(lambda: f"{good} 0\n" in get(port)[1])
            process.terminate()
            assert process.wait(PATIENCE) == 0
            assert "STOPPING=1" in words


@pytest.mark.needs("openssl", "prometheus", "promtool")
def test_a_real_prometheus_scrapes_it_over_tls_with_a_password(node: Path, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.issue("node", "IP:127.0.0.1")
    client, client_key = authority.issue("prometheus", "DNS:prometheus.example")
    hashed = bcrypt.hashpw(b"hot disk", bcrypt.gensalt(10)).decode()
    web = tmp_path / "web-config.yml"
    web.write_text(
        f"tls_server_config: {{cert_file: {cert}, key_file: {key}, client_auth_type: RequireAndVerifyClientCert,\n"
        f"  client_ca_file: {authority.cert}}}\nbasic_auth_users: {{prometheus: {hashed}}}\n"
    )
    web.chmod(0o600)
    checked = subprocess.run(["promtool", "check", "web-config", web], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    scrape = (
        f"scheme: https\n    tls_config: {{ca_file: {authority.cert}, cert_file: {client}, key_file: {client_key}}}\n"
        "    basic_auth: {username: prometheus, password: hot disk}"
    )
    with exporting(node, "--listen", "127.0.0.1:0", "--web-config", web) as process:
        port = port_of(process)
        with prometheus(tmp_path, port, scrape) as ask:
            until(lambda: ask('up{job="sdstop"} == 1'))
            (series,) = until(lambda: ask("sdstop_disk_reads_total"))
            assert series["value"][1] == "100"


@pytest.mark.needs("prometheus", "prometheus-node-exporter")
def test_the_page_on_monitoring_joins_with_node_exporter(node: Path, tmp_path: Path) -> None:
    """Both exporters read one tree; relabelled as docs/monitoring.md says, its query has an answer."""
    relabelled, query = re.findall(
        r"(?s)### With node_exporter.*?```yaml\n(.*?)```.*?```promql\n(.*?)```", DOCS.read_text()
    )[0]
    assert query.startswith("sum by (instance, array)")
    (node / "proc" / "mdstat").write_text(
        "Personalities : [raid1]\nmd0 : active raid1 sda[0]\n      1 blocks [2/1] [U_]\n"
    )
    (node / "proc" / "diskstats").write_text(DISKSTATS.replace(" 40 3 0 13 13", " 40 3 7 13 13"))
    (node / "sys").mkdir()
    (node / "config.toml").write_text("")
    port = free_port()
    argv = ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}", f"--path.procfs={node}/proc",
            f"--path.sysfs={node}/sys", "--collector.disable-defaults", "--collector.diskstats"]  # fmt: skip
    theirs = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with exporting(node, "--listen", "127.0.0.1:0") as process:
            both = "".join(f"    {line}\n" for line in relabelled.splitlines()).lstrip()
            more = f"{both}  - job_name: node\n    static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n    {both}"
            with prometheus(tmp_path, port_of(process), more) as ask:
                (series,) = until(lambda: ask(query))
                assert series["metric"] == {"instance": "127.0.0.1", "array": "md0"}
                assert series["value"][1] == "7"
                assert ask("sdstop_disk_io_time_seconds_total")[0]["metric"]["device"] == "sda"  # a member, by default
    finally:
        theirs.terminate()
        theirs.wait(PATIENCE)


SLOW = """
import os, sys, threading, time
from msgspec.structs import replace
from sdstop.core.finding import RuledOut, Severity
from sdstop.core.rule import Rule
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.exporters.web.server import Server
from tests.exporters.meters import METERS, Meter, frame
from sdstop.core.evidence import Origin
from sdstop.core.session import Session

SECONDS = float(sys.argv[1])
ROWS = [Meter(f"m{n}", count=n) for n in range(1000)]

class Feed:
    alive = True
    def __init__(self):
        self.ours, self.theirs = os.pipe()
        self.number = 0
        threading.Thread(target=self.send, daemon=True).start()
    def send(self):
        while True:
            os.write(self.theirs, b".")
            time.sleep(0.2)
    def fileno(self):
        return self.ours
    def receive(self):
        os.read(self.ours, 100)
        self.number += 1
        now = time.monotonic()
        return [replace(frame(self.number, ROWS), taken=time.time(), monotonic=now, ran=None)]

def slow(window, limits):
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        sorted(str(n) for n in range(1000))
    yield RuledOut("a", "b")

rules = [Rule(f"slow-{n}", "s", Severity.INFO, slow, ()) for n in range(3)]
session = Session(Origin("node", live=True), [METERS], rules)
session.budget = 0.2
server = Server(Exposition(session, interval=0.2), Feed(), lambda line: print(line, file=sys.stderr, flush=True))
server.run(("127.0.0.1", 0))
"""


def scrape_times(seconds: float, count: int) -> tuple[list[float], str]:
    """Return how long scrapes of an exporter take whose rules take `seconds` each, sorted, and its last page."""
    argv = [sys.executable, "-c", SLOW, str(seconds)]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    try:
        port = port_of(process)
        until(lambda: get(port, "/-/ready")[0] == 200)
        times, page = [], b""
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
            for _ in range(count):
                began = time.perf_counter()
                connection.request("GET", "/metrics")
                page = connection.getresponse().read()
                times.append(time.perf_counter() - began)
                time.sleep(0.02)
        return sorted(times), page.decode()
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


@pytest.mark.slow
def test_scrapes_are_answered_while_frames_take_seconds() -> None:
    idle, _ = scrape_times(0.0, 100)
    meanwhile, page = scrape_times(0.7, 200)
    # A machine with other work is slower without slow rules, too.
    assert meanwhile[198] <= max(0.05, 4 * idle[98])
    (late,) = re.findall(r"(?m)^sdstop_frames_late_total (\d+)$", page)
    assert int(late) > 5
    assert re.search(r'(?m)^sdstop_rule_unchecked\{rule="slow-\d"\} 1$', page)
    (took,) = re.findall(r"(?m)^sdstop_frame_seconds (\S+)$", page)
    assert 0.6 <= float(took) < 60
