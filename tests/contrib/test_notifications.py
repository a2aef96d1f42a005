"""Stories served as nodes to a real Prometheus and Alertmanager: one notification each, for the cause."""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.policy import Acceptance, Policy
from sdstop.core.session import Session
from sdstop.exporters.prometheus.findings import MOST_VALUES
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.rules import RULES
from tests.fixtures import story
from tests.fleet.engines import PATIENCE, alertmanager, prometheus, victoria_metrics

FOLDER = Path(__file__).resolve().parent.parent.parent / "contrib" / "prometheus"
PAGED = {
    "aoe-flashcache": ({"mtu-misaligned eth1"}, "payload: 3584"),
    "bond-one-slave": ({"bond-unbalanced bond0"}, ""),
    "ceph-slow-osd": ({"osd-slow ceph-b067058c/store2/osd.2"}, ""),
    "device-hung": ({"device-hung sdf"}, ""),
    "draid-one-dimm": ({"zfs-pool-degraded N58-C3-D16-P3-S1"}, ""),
    "drbd-split-brain": ({"split-brain drbd0/peer"}, ""),
    "hba-lost": ({"device-hung 0000:3b:00.0"}, ""),
    "hot-member": ({"hot-stripe-member md0/sde"}, ""),
    "md-degraded": ({"array-degraded md0"}, ""),
    "nfs-server-dead": ({"tasks-stuck /srv/projects"}, "tasks: 256"),
    "nvme-target-dead": ({"session-down nvme1"}, ""),
    "scaleio-cloud": (
        {"unstable-device-path cloud1"}
        | {f"volume-qos-saturated vol:{name}@10.20.0.201" for name in ("canary", "web-data")},
        "",
    ),
    "slow-member": ({"slow-stripe-member md0/sdd"}, ""),
    "tasks-stalled": ({"io-stalled tasks"}, ""),
}
"""Stories with incidents: the findings announced, which are those that follow from no other, and part of the text."""
TICKETS = {
    "draid-one-dimm": {"dimm-too-few-channels memory"},
    "scaleio-cloud": {
        "zero-padding-off cloud1/sas10k",
        "unstable-device-path /etc/fstab",
        "qos-multiplied vol:shared-vmfs",
    },
}
"""Stories with standing conditions: the findings announced."""
CALM = ("aoe-flashcache-mended", "bond-both-slaves", "gluster-clean", "hba-back", "quiet-node", "server-even")


ACCEPTED = {"draid-one-dimm": "draid-accepted", "md-degraded": "md-degraded-accepted"}
"""Stories that are announced, and nodes with the same findings, all of which are accepted."""


class Node(http.server.BaseHTTPRequestHandler):
    """Serves the pages of stories, and takes what the Alertmanager sends."""

    pages: dict[str, bytes]
    sent: list[tuple[str, dict[str, Any]]]

    def do_GET(self) -> None:
        """Answer with the page of a story: /STORY."""
        page = self.pages[self.path.strip("/")]
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(page)

    def do_POST(self) -> None:
        """Keep a notification: /RECEIVER."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.sent.append((self.path.strip("/"), body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def accepted(name: str) -> bytes:
    """Return the page of a story whose findings are accepted by the policy of its node."""
    told = story(name)
    policy = Policy(accepted=(Acceptance("parts are ordered"),))
    session = Session(told.session.origin, BUILTIN, RULES, policy=policy)
    exposition = Exposition(session)
    for frame in told.frames:
        exposition.feed(frame)
    return exposition.page()


@contextmanager
def served(stories: list[str]) -> Iterator[tuple[int, type[Node]]]:
    def page(name: str) -> bytes:
        exposition = Exposition(story(name).session)
        exposition.observe(story(name).session.head())
        return exposition.page()

    pages = {name: page(name) for name in stories} | {other: accepted(name) for name, other in ACCEPTED.items()}
    handler = type("Handler", (Node,), {"pages": pages, "sent": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], handler
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


@pytest.mark.slow
@pytest.mark.needs("prometheus", "prometheus-alertmanager", "victoria-metrics")
def test_each_story_is_announced_once_and_for_its_cause(tmp_path: Path) -> None:
    stories = [*dict.fromkeys((*PAGED, *TICKETS, *CALM))]
    assert len(stories) == 20
    for path in FOLDER.glob("sdstop-*.yml"):  # the waits of findings are shorter, in their order; others are minutes
        text = path.read_text()
        findings, other, rest = text.partition("  - name: sdstop-arrays")
        for wait, short in (
            ("for: 1m", "for: 2s"),
            ("for: 15m", "for: 8s"),
            ("keep_firing_for: 5m", "keep_firing_for: 0s"),
        ):
            findings = findings.replace(f"        {wait}\n", f"        {short}\n")
        for server in ("a", "b"):
            (tmp_path / server).mkdir(exist_ok=True)
            (tmp_path / server / path.name).write_text(findings + other + rest)
    with served(stories) as (port, node):
        config = (FOLDER / "alertmanager.yml").read_text()
        config = config.replace("http://127.0.0.1:9099/", f"http://127.0.0.1:{port}/")
        config = config.replace("group_wait: 30s", "group_wait: 2s").replace("group_interval: 5m", "group_interval: 2s")
        (tmp_path / "alertmanager.yml").write_text(config)
        scrape = "".join(
            f"- {{job_name: sdstop-{name}, metrics_path: /{name}, static_configs: [{{targets: ['127.0.0.1:{port}'], "
            f"labels: {{instance: {name}}}}}]}}\n"
            for name in (*stories, *ACCEPTED.values())
        )
        wanted = {("page", name) for name in PAGED} | {("ticket", name) for name in TICKETS}
        with (
            alertmanager(tmp_path, tmp_path / "alertmanager.yml") as alerts,
            victoria_metrics(tmp_path, f"scrape_configs:\n{scrape}") as other,
            _prometheus(tmp_path / "a", scrape, alerts) as url,
            _prometheus(tmp_path / "b", scrape, alerts),
        ):
            end = time.monotonic() + PATIENCE
            while missing := wanted - {(receiver, body["groupLabels"]["instance"]) for receiver, body in node.sent}:
                assert time.monotonic() < end, missing
                time.sleep(0.1)
            time.sleep(15)  # further ones would arrive in this time: of warnings, groups and the other server
            fleets = [fleet_of(server) for server in (url, other)]
            announced = list(node.sent)
            node.pages.update((name, accepted(name)) for name in (*PAGED, *TICKETS))  # accepted while they fire
            end = time.monotonic() + PATIENCE
            while left := (firing_in(url) | held_by(alerts)):
                assert time.monotonic() < end, left
                time.sleep(0.2)
            later = [body for _, body in node.sent[len(announced) :]]
            # What ends first is sent with what the group still has: that was announced before, and is not alone.
            known = {each["fingerprint"] for _, body in announced for each in body["alerts"]}
            firing = [[each for each in body["alerts"] if each["status"] == "firing"] for body in later]
            assert [each["labels"] for left in firing for each in left if each["fingerprint"] not in known] == []
            assert all(len(left) < len(body["alerts"]) for left, body in zip(firing, later, strict=True))
            calm = fleet_of(url)
    told: defaultdict[tuple[str, str], list[list[dict[str, Any]]]] = defaultdict(list)
    for receiver, body in announced:
        told[receiver, body["groupLabels"]["instance"]].append(body["alerts"])
    assert {key: len(each) for key, each in told.items() if len(each) > 1} == {}
    assert told.keys() == wanted
    for (receiver, name), (alerts_of,) in told.items():
        said = {f"{each['labels']['rule']} {each['labels']['subject']}" for each in alerts_of}
        assert said == (PAGED[name][0] if receiver == "page" else TICKETS[name]), name
        assert len(alerts_of) == len(said), name  # not as critical and as a warning
        assert {each["labels"]["follows"] for each in alerts_of} == {"false"}
        assert {each["labels"]["standing"] for each in alerts_of} == {str(receiver == "ticket").lower()}
        assert not any("replica" in each["labels"] for each in alerts_of)
        if receiver == "page":
            assert PAGED[name][1] in "".join(each["annotations"]["description"] for each in alerts_of)
    for receiver, name in told:
        for each in told[receiver, name][0]:
            numbers = known_numbers(name, each["labels"]["rule"], each["labels"]["subject"])
            read = numbers_in(each["annotations"]["description"])
            assert numbers, name
            assert {key: read.get(key) for key in numbers} == pytest.approx(numbers, rel=2e-3), name
    for fleet in fleets:
        of_node = {
            name: [each for to, node_ in told if node_ == name for each in told[to, node_][0]] for name in stories
        }
        the_fleet_has_causes_first(fleet, {name: alerts_of for name, alerts_of in of_node.items() if alerts_of})
    assert "!CRIT" not in calm, calm
    assert "*WARN" not in calm, calm
    assert re.search(r"(?m)^2 nodes\s+dimm-too-few-channels\s+otherwise critical$", calm), calm


@contextmanager
def _prometheus(folder: Path, scrape: str, alerts: str) -> Iterator[str]:
    """Run one of two Prometheus servers that scrape the same nodes, as docs/monitoring.md describes."""
    with prometheus(
        folder, rules="sdstop-*.yml", evaluation="1s", scrape=scrape, alerts=alerts, pace="5s", replica=folder.name
    ) as url:
        yield url


def firing_in(prometheus: str) -> set[tuple[str, str]]:
    """Return the nodes and rules of the alerts about findings that fire in a Prometheus."""
    rows = loaded(f"{prometheus}/api/v1/query?query=ALERTS%7Balertstate%3D%22firing%22%7D")["data"]["result"]
    return about_findings(row["metric"] for row in rows)


def held_by(alertmanager: str) -> set[tuple[str, str]]:
    """Return the nodes and rules of the alerts about findings that an Alertmanager has, silent ones included."""
    return about_findings(row["labels"] for row in loaded(f"http://{alertmanager}/api/v2/alerts"))


def about_findings(alerts: Iterable[dict[str, str]]) -> set[tuple[str, str]]:
    return {(each["instance"], each["rule"]) for each in alerts if each["alertname"].startswith("SdstopFinding")}


def loaded(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310  # loopback
        return json.load(answer)


def fleet_of(url: str) -> str:
    """Return what the fleet of a server shows."""
    argv = [sys.executable, "-m", "sdstop", "fleet", "--once", "--prometheus", url]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def known_numbers(name: str, rule: str, subject: str) -> dict[str, float]:
    """Return the numbers of a finding by their names in descriptions, those of further things left out."""
    found = story(name).session.head().judgement.findings
    values = [value for f in found if (f.rule, f.subject) == (rule, subject) for value in f.values]
    numbers = [value for value in values if isinstance(value.value, int | float)][:MOST_VALUES]
    return {value.stable.replace("_", " "): float(value.value or 0) for value in numbers if not value.thing}


SCALES = {"": 1.0, "%": 0.01, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12} | {
    f"{prefix}i": 1024.0 ** (at + 1) for at, prefix in enumerate("kMGT")
}
SPANS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def numbers_in(description: str) -> dict[str, float]:
    """Return the numbers that a person reads in a description: `small: 92.73%; rate: 1.102GiB/s; seconds: 1m 35s`."""
    found = {}
    for name, text in re.findall(r"([\w ]+): ([^;]+);", description):
        spans = re.findall(r"(-?[\d.]+)(d|h|ms|us|ns|m|s)(?: |$)", text)
        if spans and not re.search(r"[/%B]", text):
            found[name.strip()] = sum(float(number) * SPANS[unit] for number, unit in spans)
            continue
        number, scale = re.fullmatch(r"(-?[\d.]+(?:e[+-]?\d+)?)([kMGTm]i?|%)?(?:B?(?:/s)?)", text.strip()).groups()  # type: ignore[union-attr]
        found[name.strip()] = float(number) * SCALES[scale or ""]
    return found


def the_fleet_has_causes_first(fleet: str, paged: dict[str, list[dict[str, Any]]]) -> None:
    """Check that the finding beside each node is one that was announced, and that causes are counted."""
    worst = re.findall(r"(?m)^(!CRIT|\*WARN)  ([\w-]+) .*\b(?:critical|warnings?)\s+([a-z-]+ \S+)$", fleet)
    shown = {name: (severity, finding) for severity, name, finding in worst}
    assert shown["aoe-flashcache"] == ("!CRIT", "mtu-misaligned eth1")
    assert shown["nfs-server-dead"] == ("!CRIT", "tasks-stuck /srv/projects")
    for name, alerts in paged.items():
        assert shown[name][1] in {f"{each['labels']['rule']} {each['labels']['subject']}" for each in alerts}
    assert shown["draid-one-dimm"] == ("!CRIT", "dimm-too-few-channels memory")
    assert not {name for _, name, _ in worst} & {*CALM, *ACCEPTED.values()}
    listed = fleet.partition("Accepted findings by number of nodes\n")[2].partition("\n\n")[0]
    assert re.search(r"(?m)^1 node\s+array-degraded\s+otherwise critical$", listed), fleet
    assert re.search(r"(?m)^1 node\s+dimm-too-few-channels\s+otherwise critical$", listed), fleet
    assert re.search(r"(?m)^!CRIT\s+2 nodes\s+device-hung\s", fleet), fleet
    assert not re.search(r"(?m)^!CRIT\s+\d+ nodes?\s+cache-bypassed\s", fleet)
