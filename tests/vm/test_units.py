"""The exporter's systemd units on a real systemd: started, scraped, reloaded, stuck and started again."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.vm import guest, scenario
from tests.vm.machine import PROJECT, _attend, _machine, build_site, command_line

pytestmark = [pytest.mark.vm, pytest.mark.needs(*guest.NEEDS)]

LONGEST = 600.0


def booted(folder: Path) -> Any:
    """Boot a guest that systemd runs and return what its probe wrote."""
    plain = replace(scenario.load("md-degraded"), disks=())
    with tempfile.TemporaryDirectory(prefix="sdstop-units-") as name:
        work = Path(name)
        share = work / "share"
        shutil.copytree(Path(__file__).parent / "units", share)
        shutil.copytree(PROJECT / "contrib" / "systemd", share / "contrib")
        (share / "out").mkdir()
        console = folder / "console.log"
        with (
            console.open("wb") as log,
            _machine(command_line(plain, guest.prepare(), build_site(work), work), log) as process,
        ):
            _attend(process, work, LONGEST, console)
        return json.loads((share / "result.json").read_text())


def test_units_start_serve_reload_and_are_watched(tmp_path: Path) -> None:
    found = booted(tmp_path)
    (tmp_path / "result.json").write_text(json.dumps(found, indent=1))
    lists = [found.pop(name)["units"] for name in ("none", "failed")]
    assert re.search(r"(?m)^0 loaded units listed\.", lists[0]), lists
    assert re.search(r"(?m)^\W*tgt\.service +loaded failed failed", lists[1]), lists
    for unit, said in found.items():
        assert said["start"] == "0", said["journal"]
        for when in ("started", "reloaded", "restarted"):
            assert (said[when]["ActiveState"], said[when]["SubState"]) == ("active", "running"), (unit, when, said)
            assert said[when]["StatusText"] == "serving http://127.0.0.1:10042/metrics"
        assert said["reload"] == said["stop"] == "0", said
        assert said["reloaded"]["MainPID"] == said["started"]["MainPID"]
        assert (said["started"]["NRestarts"], said["restarted"]["NRestarts"]) == ("0", "1")
        assert "watchdog" in said["journal"].lower()
        assert "Traceback" not in said["journal"]
        assert re.search(r'(?m)^sdstop_array_info\{array="md0",', said["page"])
    assert (found["sdstop-exporter"]["started"]["User"], found["sdstop-exporter-root"]["started"]["User"]) == (
        "sdstop", "root"
    )  # fmt: skip
    # Other users than root ask systemd over D-Bus, which this guest lacks.
    failed = r'(?m)^sdstop_finding_active\{.*rule="service-failed".*subject="tgt\.service".*\} 2$'
    assert re.search(failed, found["sdstop-exporter-root"]["page"])
    for collector, ordinary in (
        ("diskstats", 1),
        ("mdraid", 1),
        ("network", 1),
        ("paths", 1),
        ("units", 1),
        ("dimms", 0),
    ):
        pattern = rf'(?m)^sdstop_collector_success\{{collector="{collector}"\}} (\S+)$'
        for unit, wanted in (("sdstop-exporter", ordinary), ("sdstop-exporter-root", 1)):
            assert re.findall(pattern, found[unit]["page"]) == [str(wanted)], (unit, collector)
