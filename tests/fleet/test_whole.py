"""From a node to the screen: a real exporter, scraped by a real Prometheus with the rules, an alert, tmux."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.exporters.process import exporting, port_of
from tests.fleet.engines import PATIENCE, prometheus

ROOT = Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "contrib" / "prometheus"
MDSTAT = """\
Personalities : [raid1]
md0 : active raid1 sdb1[1] sda1[0](F)
      1048512 blocks super 1.2 [2/1] [_U]

unused devices: <none>
"""
DISKSTATS = "   8 0 sda 1 0 8 1 1 0 8 1 0 2 2 0 0 0 0 0 0\n   8 16 sdb 1 0 8 1 1 0 8 1 0 2 2 0 0 0 0 0 0\n"


def until(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def firing(url: str) -> set[tuple[str, str]]:
    with urllib.request.urlopen(url + "/api/v1/alerts", timeout=PATIENCE) as answer:  # noqa: S310
        alerts = json.load(answer)["data"]["alerts"]
    return {(a["labels"]["alertname"], a["labels"].get("subject", "")) for a in alerts if a["state"] == "firing"}


@contextlib.contextmanager
def tmux(tmp_path: Path, command: str, size: tuple[int, int]) -> Iterator[Callable[..., str]]:
    """Run a command in a terminal; yield what types keys and returns the screen."""

    def do(*arguments: str) -> str:
        argv = ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null", *arguments]
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            check=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
        )
        return done.stdout

    environment = {k: v for k, v in os.environ.items() if k not in {"TMUX", "NO_COLOR"}} | {"LC_ALL": "C.UTF-8"}
    do("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), command)

    def screen(*keys: str) -> str:
        if keys:
            do("send-keys", *keys)
        return do("capture-pane", "-p")

    try:
        yield screen
    finally:
        do("kill-server")


@pytest.mark.needs("prometheus", "tmux")
def test_a_degraded_array_is_alerted_and_seen(tmp_path: Path) -> None:
    node = tmp_path / "node"
    for name, text in {"mdstat": MDSTAT, "diskstats": DISKSTATS, "sys/kernel/osrelease": "6.1.0\n"}.items():
        (node / "proc" / name).parent.mkdir(parents=True, exist_ok=True)
        (node / "proc" / name).write_text(text)
    for path in RULES.glob("sdstop-*.yml"):
        # A minute is waited for in the rules' own cases.
        (tmp_path / path.name).write_text(re.sub(r"(?m)^        for: \w+$", "        for: 0s", path.read_text()))
    (node / "config.toml").write_text("")
    with exporting(node, "--listen", "127.0.0.1:0") as exporter:
        port = port_of(exporter)
        scrape = f"- {{job_name: sdstop, static_configs: [{{targets: ['127.0.0.1:{port}', '127.0.0.1:1']}}]}}"
        with prometheus(tmp_path, rules="sdstop-*.yml", evaluation="1s", scrape=scrape) as url:
            until(lambda: {("SdstopFindingCritical", "md0"), ("SdstopDown", "")} <= firing(url))
            assert ("SdstopThresholdMissing", "") not in until(lambda: firing(url))
            command = f"cd {ROOT} && {sys.executable} -m sdstop fleet --prometheus {url}"
            with tmux(tmp_path, f"{command} || sleep 600", (80, 24)) as screen:
                until(lambda: "array-degraded md0" in screen())
                shown = screen()
                assert re.search(r"127\.0\.0\.1:1 .* target down", shown)
                assert re.search(r"1 nodes +1 CRIT +1 \?UNKN", shown)
                screen("Enter")
                assert "!CRIT array-degraded" in until(lambda: "Kernel 6.1.0" in screen() and screen())
                screen("Escape")
                until(lambda: "WORST" in screen())
                screen("5")
                until(lambda: "FOR WHY" in screen())
