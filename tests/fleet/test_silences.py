"""Silences of an Alertmanager: a real one, and servers that answer something else."""

from __future__ import annotations

import datetime as dt
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sdstop.core.finding import Severity
from sdstop.fleet.http_config import HttpConfig
from sdstop.fleet.problem import ServerError
from sdstop.fleet.silences import AlertmanagerClient, SilencedAlert
from sdstop.fleet.state import FleetFinding, FleetState
from sdstop.fleet.text import fleet_json, fleet_text
from sdstop.fleet.url import parse_url
from sdstop.fleet.watcher import FleetWatcher
from tests.cli.run import run
from tests.fleet.answers import ANSWERS
from tests.fleet.engines import alertmanager
from tests.fleet.server import Asked, Reply, serving

CONFIG = "route: {receiver: none}\nreceivers: [{name: none}]\n"
SILENCED = SilencedAlert(("sdstop", "n1:10042"), "SdstopFindingCritical", "device-hung", "sda", 2e9, "ops", "ordered")


def client(url: str) -> AlertmanagerClient:
    return AlertmanagerClient(parse_url(url), HttpConfig(), 20.0)


def post(address: str, path: str, told: object) -> None:
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.request("POST", path, json.dumps(told), {"Content-Type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.needs("prometheus-alertmanager")
def test_silenced_alerts_of_a_real_alertmanager(tmp_path: Path) -> None:
    (tmp_path / "alertmanager.yml").write_text(CONFIG)
    now = dt.datetime.now(dt.UTC)
    ends = now + dt.timedelta(hours=8)
    labels = {"alertname": "SdstopFindingCritical", "job": "sdstop", "instance": "n1:10042", "rule": "device-hung"}
    with alertmanager(tmp_path, tmp_path / "alertmanager.yml") as address, client(f"http://{address}") as asker:
        assert asker.silenced() == ()
        post(address, "/api/v2/alerts", [{"labels": labels | {"subject": name}} for name in ("sda", "sdb")])
        silence = {
            "matchers": [{"name": "subject", "value": "sda", "isRegex": False, "isEqual": True}],
            "startsAt": now.isoformat(), "endsAt": ends.isoformat(), "createdBy": "ops", "comment": "disk ordered",
        }  # fmt: skip
        post(address, "/api/v2/silences", silence)
        (found,) = asker.silenced()
        assert (found.node, found.rule, found.subject) == (("sdstop", "n1:10042"), "device-hung", "sda")
        assert (found.by, found.comment) == ("ops", "disk ordered")
        assert found.until == pytest.approx(ends.timestamp(), abs=1)


@pytest.mark.parametrize(
    "body", [b"<html>", b"{}", b"[1]", b'[{"labels": {}}]', {"status": "success", "data": {"result": []}}], ids=repr
)
def test_other_servers_are_named_as_such(body: object) -> None:
    with serving(lambda _: Reply(body)) as (url, asked), client(url) as asker:
        with pytest.raises(ServerError, match="is this an Alertmanager"):
            asker.silenced()
        assert {each.method for each in asked} == {"GET"}


class _Asker:
    """Client of a Prometheus that knows one finding."""

    def __init__(self) -> None:
        self.answers = iter(())

    def server(self) -> str:
        return ""

    def query(self, expression: str, taken: float | None = None) -> Any:
        del expression, taken
        return ANSWERS["total"]

    def query_range(self, expression: str, start: float, end: float, step: float) -> Any:
        del expression, start, end, step
        return ANSWERS["total"]


def test_an_alertmanager_that_does_not_answer_takes_nothing_else_with_it() -> None:
    replies: Iterator[tuple[SilencedAlert, ...] | ServerError] = iter(
        [(SILENCED,), ServerError("refused"), (SILENCED,)]
    )

    def alerts() -> tuple[SilencedAlert, ...]:
        told = next(replies)
        if isinstance(told, ServerError):
            raise told
        return told

    watcher = FleetWatcher(_Asker(), alerts=alerts)
    states = [watcher.refresh() for _ in range(5)]
    assert [state.silenced for state in states[::2]] == [(SILENCED,), None, (SILENCED,)]
    assert [state.troubles for state in states[::2]] == [(), ("Alertmanager: refused",), ()]
    assert FleetWatcher(_Asker()).refresh().silenced is None


def test_silenced_findings_stay_in_the_fleet_and_are_marked() -> None:
    claim = FleetFinding(SILENCED.node, "device-hung", Severity.CRITICAL, "sda")
    hostile = SilencedAlert(("sdstop", "n2"), "SdstopSilent", "", "", None, "a\x1b[31mb")
    state = FleetState(total=2, silenced=(SILENCED, hostile))
    assert state.silence(claim) == SILENCED
    assert state.silence(FleetFinding(SILENCED.node, "device-hung", Severity.CRITICAL, "sdb")) is None
    said = fleet_text(state, "http://p")
    assert "SdstopFindingCritical  device-hung sda" in said
    assert "ops: ordered" in said
    assert "until ?" in said
    assert "\x1b" not in said
    first, second = json.loads(fleet_json(state, "http://p"))["silenced"]
    assert (first["until"], first["by"], first["comment"]) == (2e9, "ops", "ordered")
    assert (second["rule"], second["until"], second["comment"]) == (None, None, None)
    assert json.loads(fleet_json(FleetState(total=2), "http://p"))["silenced"] is None


def test_its_settings_need_an_alertmanager() -> None:
    done = run("fleet", "--prometheus", "http://127.0.0.1:1", "--alertmanager-config", "x.yml")
    assert done.returncode == 2
    assert "--alertmanager-config requires --alertmanager" in done.stderr


def test_the_watched_alertmanager_is_that_of_the_option(tmp_path: Path) -> None:
    def reply(asked: Asked) -> Reply:
        if asked.path == "/am/api/v2/alerts":
            status = {"state": "suppressed", "silencedBy": ["x"], "inhibitedBy": []}
            return Reply([{"labels": {"alertname": "SdstopDown", "instance": "n9"}, "status": status}])
        if asked.path == "/am/api/v2/silences":
            return Reply([{"id": "x", "endsAt": "2033-05-18T03:33:20.000Z", "createdBy": "ops", "comment": "moved"}])
        return Reply({"status": "success", "data": {"resultType": "vector", "result": []}})

    with serving(reply) as (url, _):
        done = run("fleet", "--prometheus", url, "--alertmanager", f"{url}/am", "--once")
    assert done.returncode == 0
    assert "SdstopDown" in done.stdout
    assert "ops: moved" in done.stdout
