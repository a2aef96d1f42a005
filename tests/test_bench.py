"""The benchmark's tools run; what they measure is no matter of tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sdstop.collectors import BUILTIN
from sdstop.collectors.md.readings import Array, Member
from sdstop.core.evidence import Origin
from sdstop.core.session import Session
from sdstop.node.live import LiveHost
from sdstop.readings.disk import Disk
from sdstop.rules import RULES
from sdstop.sampler import sample

BENCH = Path(__file__).parent.parent / "bench"


def ran(*words: str | Path) -> str:
    """Run one of the programs and return what it prints."""
    argv = [sys.executable, *map(str, words)]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A synthetic node of ten disks."""
    ran(BENCH / "tree.py", "build", tmp_path / "node", "--disks", "10")
    return tmp_path / "node"


def test_the_synthetic_node_is_one_that_sdstop_understands_and_finds_nothing_lacking_in(node: Path) -> None:
    session = Session(Origin("n"), BUILTIN, RULES)
    session.feed(sample(LiveHost(str(node), BUILTIN), BUILTIN, 1, 1.0, 1.0))
    shot = session.head().now
    assert {run.collector for run in shot.runs.values() if run.outcome not in {"ok", "absent", "denied"}} == set()
    assert set(shot.rows(Disk)) == {*(f"sd{letter}" for letter in "abcdefghij"), "md0", "dm-0", "dm-1"}
    assert set(shot.rows(Array)) == {"md0"}
    assert {member.state for member in shot.rows(Member).values()} == {"in_sync", "rebuilding"}
    assert {finding.rule for finding in session.head().judgement.findings} == {"array-degraded", "rebuild-running"}


def test_every_stage_of_a_frame_is_measured(node: Path) -> None:
    found = json.loads(ran(BENCH / "stages.py", node, "--frames", "2", "--settled", "2"))
    assert set(found) >= {"collect", "slow", "send", "replay", "rates", "rules", "remember", "page", "gzip", "capture"}
    assert all(value > 0 for value in found.values())


def test_what_a_large_powerflex_cluster_takes_is_measured() -> None:
    argv = ("--volumes", "5", "--nodes", "6", "--devices", "12", "--samples", "4", "--long", "4")
    found = json.loads(ran(BENCH / "clusters.py", *argv))
    assert {"decoded", "judged", "all_new", "child", "json", "growth", "resident", "findings"} <= set(found)
    assert found["findings"]


def test_what_caches_add_is_measured() -> None:
    argv = ("--caches", "8", "--volumes", "10", "--frames", "2", "--settled", "2")
    found = json.loads(ran(BENCH / "caches.py", *argv))
    assert set(found) == {"parsed", "judged", "asked"}


@pytest.mark.slow
def test_what_views_take_to_paint_is_measured() -> None:
    argv = ("--hbas", "2", "--disks", "4", "--nodes", "5", "--devices", "2", "--volumes", "3", "--frames", "1")
    found = json.loads(ran(BENCH / "views.py", *argv))
    assert set(found) == {"fabric", "unfolded", "cluster", "volumes"}
    assert all(value > 0 for value in found.values())


@pytest.mark.slow
def test_what_painting_and_keys_take_is_measured() -> None:
    found = json.loads(ran(BENCH / "screens.py", "--disks", "12", "--frames", "1", "--rounds", "1"))
    assert set(found) == {"small", "wide", "key", "slowest"}
    assert found.pop("slowest")
    assert all(value > 0 for value in found.values())


@pytest.mark.bench
def test_a_thousand_disks_are_painted_within_13_ms_and_keys_take_less_than_100() -> None:
    found = json.loads(ran(BENCH / "screens.py", "--disks", "1000"))
    assert max(found["small"], found["wide"]) <= 13
    assert found["key"] <= 100


def test_what_the_inside_of_a_box_costs_is_measured() -> None:
    found = json.loads(ran(BENCH / "inside.py", "--frames", "2", "--rounds", "2"))
    assert set(found) == {"round", "sas", "frame", "dimms"}
    assert found["round"] > 0


def test_what_limits_and_ceph_take_is_measured() -> None:
    argv = ("--groups", "10", "--osds", "24", "--frames", "2", "--settled", "2")
    found = json.loads(ran(BENCH / "limits.py", *argv))
    assert set(found) == {"parsed", "judged", "looked", "read", "ceph"}


def test_what_the_topology_takes_is_measured() -> None:
    found = json.loads(ran(BENCH / "graph.py", "--disks", "20", "--arrays", "4", "--volumes", "10"))
    assert set(found) == {"things", "build", "unchanged", "groups", "common", "query"}
    assert found["things"] > 2 * 20 + 4 + 10


DISASTERS = ("hung", "failed", "phys", "limits", "dropping")


@pytest.mark.parametrize("names", [DISASTERS[:1], pytest.param(DISASTERS[1:], marks=pytest.mark.slow)])
def test_what_disasters_cost_is_measured(names: tuple[str, ...]) -> None:
    argv = ("--things", "10,48", "--frames", "1", "--work", "0", "--only", ",".join(names))
    found = json.loads(ran(BENCH / "disasters.py", *argv))
    assert set(found) == set(names)
    for name in names:
        costs = found[name]["costs"]["48"]
        assert set(costs) == {"frame", "page", "view", "report", "findings"}
        folded = {"hung": 1, "phys": 1, "failed": 2}  # the node, its expander, two arrays
        assert costs["findings"] == folded.get(name, 48)


@pytest.mark.bench
@pytest.mark.parametrize("name", DISASTERS)
def test_disasters_cost_time_in_proportion(name: str) -> None:
    found = json.loads(ran(BENCH / "disasters.py", "--only", name))[name]
    assert {part: growth for part, growth in found["growth"].items() if growth > 12} == {}
    if name == "hung":
        assert found["costs"]["1000"]["frame"] <= 250


@pytest.mark.bench
def test_scrapes_are_answered_while_a_thousand_hung_disks_are_judged() -> None:
    found = json.loads(ran(BENCH / "disasters.py", "--scrape", "1000"))
    assert found["p99"] <= 50


@pytest.mark.bench
def test_the_topology_of_a_large_node_is_built_and_asked_fast_enough() -> None:
    found = json.loads(ran(BENCH / "graph.py"))
    assert found["build"] <= 30
    assert found["query"] <= 50


@pytest.mark.bench
def test_hours_of_devices_that_are_added_and_removed_leave_nothing_behind() -> None:
    parts = [json.loads(line) for line in ran(BENCH / "soak.py", "--hours", "4").splitlines()]
    assert len(parts) == 6
    settled, last = parts[0], parts[-1]  # the longest history of a source has 2048 samples, 34 minutes
    assert (last["threads"], last["descriptors"]) == (settled["threads"], settled["descriptors"])
    assert last["resident"] - settled["resident"] <= 3.0  # MB in 200 minutes with 200 new devices


@pytest.mark.bench
def test_the_goals_are_measured() -> None:
    said = ran(BENCH / "run.py", "--goals", "--quick", "--only", "starts,idle,added,groups,arrays")
    for title in ("starts", "idle", "added", "groups", "arrays"):
        assert f"\n{title}\n" in said


@pytest.mark.bench
def test_the_whole_benchmark_runs_on_ten_disks() -> None:
    said = ran(BENCH / "run.py", "--disks", "10", "--quick")
    for title in (
        "watching", "dashboards", "exporters", "first", "oneshots", "recording", "days", "dumps", "caches", "inside",
        "limits", "views", "graph", "disasters",
    ):  # fmt: skip
        assert f"\n{title}\n" in said


def test_a_terminal_is_closed_when_nothing_reads_it_any_more() -> None:
    """The next terminal has the same descriptor, and a thread that still read this one would take what is on it."""
    code = """
import os, threading, time
from subjects import Subject, python
close, read, threads = os.close, os.read, []
def slow_read(descriptor, size):
    time.sleep(0.1)
    return read(descriptor, size)
def noted_close(descriptor):
    threads.append(threading.active_count())
    close(descriptor)
os.read = slow_read
with Subject("x", python("-c", "print(1); input()"), terminal=True) as subject:
    subject.first(b"1")
    os.close = noted_close
print(threads)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=BENCH, check=True, capture_output=True, text=True)
    assert done.stdout == "[1]\n"
