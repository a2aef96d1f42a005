"""contrib/grafana/sdstop-*.json: every query is evaluated by a real Prometheus that has the stories as nodes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.interval import unrolled
from sdstop.core.retention import Retention
from sdstop.core.session import Session
from sdstop.exporters.prometheus.backfill import Backfill
from sdstop.exporters.prometheus.choice import DEFAULT
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.rules import RULES
from tests.contrib.known import known
from tests.fixtures import names, opened
from tests.fleet.engines import prometheus

ROOT = Path(__file__).resolve().parent.parent.parent
BOARDS = {
    path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "contrib" / "grafana").glob("sdstop-*.json"))
}
SOME = (
    "aoe-flashcache", "draid-one-dimm", "kernel-xfs-shutdown", "md-degraded", "pacemaker-stopped", "pacemaker-unclean",
    "san-healthy", "scaleio-tight", "server-even", "vm-lvm-out-of-space", "zfs-neglected",
)  # fmt: skip
"""Stories served in each run: the cheapest that together have series for each query. All of them with -m slow."""
STANDING_FOR = {"$job": ".+", "$instance": ".+", "$array": ".*", "$cluster": ".*", "$volume": ".*"}


def queries(board: dict[str, Any]) -> Iterator[str]:
    """Yield the queries of panels, annotations and variables, as Grafana sends them."""
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked += [each["expr"] for each in board["annotations"]["list"]]
    for text in asked:
        for name, value in {**STANDING_FOR, "$__rate_interval": "5m"}.items():
            text = text.replace(name, value)  # noqa: PLW2901  # one variable after the other
        yield text


def backfilled(stories: Iterable[str], folder: Path, now: float) -> None:
    """Make a Prometheus's blocks of stories, each of which ends now."""
    for name in stories:
        origin, recorded = opened(name)
        origin, frames = unrolled(origin, Retention(BUILTIN).frames(recorded), BUILTIN)
        shift = now - frames[-1].taken
        exposition = Exposition(Session(origin, BUILTIN, RULES), chosen=DEFAULT)
        with Backfill(exposition, {"instance": name, "job": "sdstop"}) as made:
            for frame in frames:
                made.feed(replace(frame, taken=frame.taken + shift))
            (folder / "story.om").write_bytes(b"".join(made.pieces()))
        argv = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(folder / "story.om"), str(folder / "data")]
        subprocess.run(argv, check=True, capture_output=True)


def asked(url: str, query: str, taken: float) -> list[Any]:
    words = urllib.parse.urlencode({"query": query, "time": taken})
    try:
        with urllib.request.urlopen(f"{url}/api/v1/query?{words}") as answer:  # noqa: S310  # loopback
            return list(json.load(answer)["data"]["result"])
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{query}: {error.read().decode()}") from error


@pytest.mark.needs("prometheus", "promtool")
@pytest.mark.parametrize(
    "stories", [pytest.param(SOME, id="some"), pytest.param(tuple(names()), id="all", marks=pytest.mark.slow)]
)
def test_every_query_is_evaluated_over_the_stories(stories: tuple[str, ...], tmp_path: Path) -> None:
    now = float(int(time.time()))
    backfilled(stories, tmp_path, now)
    with prometheus(tmp_path) as url:
        assert len(asked(url, "sdstop_build_info", now)) == len(stories)
        empty = {(name, text) for name, board in BOARDS.items() for text in queries(board) if not asked(url, text, now)}
        assert empty == set()
        # The alert of a story is on the fleet's and the node's board, with its cause.
        causes = asked(url, 'sdstop_finding_active{cause_rule=""} >= 2', now)
        assert {each["metric"]["rule"] for each in causes if each["metric"]["instance"] == "aoe-flashcache"} == {
            "mtu-misaligned"
        }


def test_the_boards_are_as_their_script_writes_them() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "boards", "--check"], capture_output=True, check=False)
    assert done.stdout == b""


def test_there_is_a_board_for_each_kind_of_thing() -> None:
    assert sorted(BOARDS) == ["sdstop-array", "sdstop-cluster", "sdstop-fleet", "sdstop-node", "sdstop-volumes"]
    assert [board["uid"] for board in BOARDS.values()] == sorted(BOARDS)


@pytest.mark.parametrize("name", sorted(BOARDS))
def test_a_board_selects_annotates_and_links(name: str) -> None:
    board = BOARDS[name]
    variables = {each["name"] for each in board["templating"]["list"]}
    text = json.dumps(board)
    assert set(re.findall(r"\$(\w+)", text)) - {"__rate_interval", "__all"} <= variables
    assert all(f"${each}" in text or f"${{{each}}}" in text for each in variables)
    assert board["annotations"]["list"][0]["expr"].startswith("sdstop_finding_start_timestamp")
    tables = [panel for panel in board["panels"] if panel["type"] == "table"]
    for panel in tables:
        assert any(
            "/docs/runbooks/${__data.fields.rule}.md" in e["url"] for e in panel["fieldConfig"]["defaults"]["links"]
        )
    assert {each["url"] for each in board["links"]} >= {f"/d/{other}" for other in BOARDS if other != name}
    cells = [
        (x, y)
        for p in (panel["gridPos"] for panel in board["panels"])
        for x in range(p["x"], p["x"] + p["w"])
        for y in range(p["y"], p["y"] + p["h"])
    ]
    assert len(cells) == len(set(cells))


@pytest.mark.parametrize("name", sorted(BOARDS))
def test_its_metrics_and_their_labels_exist(name: str) -> None:
    for text in queries(BOARDS[name]):
        for metric, selector in re.findall(r"\b(sdstop_\w+)(?:\{([^}]*)\})?", text):
            if metric.endswith("_value"):
                continue  # a pattern of names
            assert metric in known(), metric
            assert set(re.findall(r"(\w+)[=!]~?\"", selector)) <= known()[metric] | {"job", "instance"}, text


def test_every_rule_has_the_page_that_is_linked() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "runbooks").glob("*.md")}
    assert {rule.id for rule in RULES} <= pages
