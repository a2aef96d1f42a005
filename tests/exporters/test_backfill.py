"""`sdstop backfill`, proven in a real Prometheus, and `sdstop report --follow`."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from sdstop.core.evidence import Frame
from sdstop.exporters.prometheus.backfill import Backfill
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.exporters.report.follow import SCHEMA, Follower, line
from tests.cli.run import run, start
from tests.exporters.meters import Meter, frame, session
from tests.fixtures import FIXTURES, opened
from tests.fleet.engines import prometheus


def asked(url: str, query: str, taken: float) -> list[Any]:
    words = urllib.parse.urlencode({"query": query, "time": taken})
    with urllib.request.urlopen(f"{url}/api/v1/query?{words}") as answer:  # noqa: S310  # loopback
        return list(json.load(answer)["data"]["result"])


@pytest.mark.needs("prometheus", "promtool")
def test_a_capture_becomes_a_time_series_in_prometheus(tmp_path: Path) -> None:
    done = run("backfill", "--from", FIXTURES / "device-hung", "-o", tmp_path / "made.om")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    argv = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(tmp_path / "made.om"), str(tmp_path / "data")]
    subprocess.run(argv, check=True, capture_output=True)
    frames = opened("device-hung")[1]
    end = frames[-1].taken
    with prometheus(tmp_path) as url:
        labels = 'instance="vault9",job="sdstop"'
        [found] = asked(url, f'sdstop_finding_active{{rule="device-hung",subject="sdf",{labels}}}', end)
        assert float(found["value"][1]) == 3
        seconds = int(end - frames[0].taken)
        [count] = asked(url, f"count_over_time(sdstop_frame_timestamp_seconds{{{labels}}}[{seconds}s])", end)
        assert abs(float(count["value"][1]) - len(frames)) <= 1
        rates = asked(url, f"rate(sdstop_disk_reads_total{{{labels}}}[{seconds}s]) > 0", end)
        assert len(rates) > 1
        assert asked(url, f"up{{{labels}}}", end)


def backfilled(*frames: Frame) -> tuple[str, int]:
    with Backfill(Exposition(session()), {"job": "j"}) as made:
        for each in frames:
            made.feed(each)
        return b"".join(made.pieces()).decode(), made.skipped


def test_samples_of_a_metric_are_together_and_have_their_times() -> None:
    text, skipped = backfilled(frame(1, [Meter("a", count=1)]), frame(2, [Meter("a", count=4)]))
    lines = [each for each in text.splitlines() if "meter_count" in each]
    assert lines[:2] == ["# HELP sdstop_meter_count Things counted.", "# TYPE sdstop_meter_count counter"]
    assert [each.partition(" ")[0] for each in lines[2:]] == ['sdstop_meter_count_total{job="j",name="a",room="r"}'] * 2
    values, times = zip(*(each.split(" ")[1:] for each in lines[2:]), strict=True)
    assert values == ("1.0", "4.0")
    assert float(times[0]) < float(times[1])
    assert skipped == 0
    assert text.endswith("# EOF\n")


def test_a_clock_that_was_set_back_has_no_place() -> None:
    second = frame(2, [Meter("a", count=4)])
    text, skipped = backfilled(second, frame(1, [Meter("a", count=1)]))
    assert skipped == 1
    assert text.count("sdstop_meter_count_total{") == 1


def test_each_change_is_a_line() -> None:
    done = run("report", "--follow", "--from", FIXTURES / "device-hung")
    events = [json.loads(each) for each in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    assert events[0]["event"] == "started"
    # A silence of five seconds is a sign, and unknown; after ten the device hangs.
    assert [each["code"] for each in events if each["event"] == "state"][:3] == [0, 3, 2]
    assert (events[0]["schema"], events[0]["host"]["name"]) == (SCHEMA, "vault9")
    found = [each["finding"] for each in events if each["event"] == "found"]
    assert ("device-hung", "sdf", "critical") in [(each["rule"], each["subject"], each["severity"]) for each in found]
    assert all(each["evidence"] for each in found)


def test_nothing_is_said_twice() -> None:
    watched = session()
    follower = Follower(watched)
    loud = frame(1, [Meter("c", count=1, level=0.9, mood=None)])
    events = [json.loads(line(each))["event"] for each in follower.events(watched.feed(loud))]
    assert events[0] == "started"
    assert list(follower.events(watched.head())) == []


def test_a_live_one_goes_on_until_it_is_interrupted() -> None:
    process = start("report", "--follow", "--interval", "200ms", "--collectors", "diskstats,node")
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert (first["event"], first["host"]["live"]) == ("started", True)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_what_it_cannot_be_combined_with() -> None:
    done = run("report", "--follow", "--format", "json")
    assert done.returncode == 2
    assert done.stderr.startswith("sdstop: cannot use --follow with --format, -o or --redact")
