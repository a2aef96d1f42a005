"""contrib/grafana: every expression is run on a real Prometheus that has every metric, and returns series."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sdstop.fleet.client import PrometheusClient
from sdstop.fleet.http_config import HttpConfig
from sdstop.fleet.url import parse_url
from tests.contrib.known import known
from tests.fleet.engines import prometheus

CONTRIB = Path(__file__).resolve().parent.parent.parent / "contrib"
DASHBOARD = json.loads((CONTRIB / "grafana" / "sdstop.json").read_text())
STANDING_FOR = {"$job": ".+", "$instance": ".+", "$array": ".+", "$__rate_interval": "5m"}
STATES = {"sdstop_array_member_state": "in_sync"}


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[str]:
    for panel in panels():
        for target in panel["targets"]:
            text = target["expr"]
            for name, value in STANDING_FOR.items():
                text = text.replace(name, value)
            yield text


def everything(now: int) -> Iterator[str]:
    """Yield OpenMetrics with one series of each metric, for half an hour, whose labels have one value everywhere."""
    for name, labels in {"up": frozenset[str](), **known()}.items():
        counts = name.endswith(("_total", "_bucket", "_count", "_sum"))
        yield f"# TYPE {name.removesuffix('_total')} {'counter' if name.endswith('_total') else 'unknown'}\n"
        values = {label: f"{label}-1" for label in labels} | {"le": "4096"} | {"severity": "warning"}
        values["state"] = STATES.get(name, "state-1")
        values |= {"instance": "n1:10042", "job": "sdstop"}
        shown = ",".join(f'{k}="{v}"' for k, v in values.items() if k in labels | {"instance", "job"})
        for taken in range(now - 1800, now, 15):
            value = taken % 100_000 if counts else taken if "timestamp" in name else 1
            yield f"{name}{{{shown}}} {value} {taken}\n"
    yield "# EOF\n"


@pytest.mark.needs("prometheus", "promtool")
def test_every_expression_returns_series(tmp_path: Path) -> None:
    now = int(time.time())
    (tmp_path / "all.om").write_text("".join(everything(now)))
    argv = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(tmp_path / "all.om"), str(tmp_path / "data")]
    subprocess.run(argv, check=True, capture_output=True)
    for path in (CONTRIB / "prometheus").glob("sdstop-*.yml"):
        shutil.copy(path, tmp_path)
    with (
        prometheus(tmp_path, rules="sdstop-*.yml", evaluation="1s") as url,
        PrometheusClient(parse_url(url), HttpConfig()) as client,
    ):
        deadline = time.monotonic() + 60
        while not client.query("sdstop:threshold:peers and on () sdstop:array_skew:ratio5m").series:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        asked = [text for text in expressions() if "== 0" not in text]
        silent = [text for text in asked if not client.query(text).series]
        assert silent == []
        assert len(asked) > 35


def test_what_a_panel_counts_as_wrong_is_0_where_nothing_is() -> None:
    """A panel that would say "No data" for good news says 0."""
    counts = [text for text in expressions() if "== 0" in text or text.startswith("count(time()")]
    assert counts
    assert [text for text in counts if not text.endswith(" or vector(0)")] == []


def test_variables_and_sources() -> None:
    variables = [each["name"] for each in DASHBOARD["templating"]["list"]]
    assert variables == ["datasource", "job", "instance", "array"]
    assert DASHBOARD["schemaVersion"] >= 39
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD)))
    assert used - {"__rate_interval", "__all"} == set(variables)
    for panel in panels():
        for target in panel["targets"]:
            assert target["datasource"] == panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            for selector in re.findall(r"\b(?:sdstop_\w+|up|process_\w+)(\{[^}]*\})?", target["expr"]):
                assert 'job=~"$job",instance=~"$instance"' in selector


def test_panels_do_not_overlap_and_have_ids_of_their_own() -> None:
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: str(panel["title"]))
def test_its_metrics_exist(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        named = set(re.findall(r"\b(?:sdstop|process)_\w+", target["expr"]))
        assert named <= known().keys()
