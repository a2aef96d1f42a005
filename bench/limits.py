"""What limits of control groups and a large Ceph cluster take: CPU milliseconds as JSON.

    python bench/limits.py --groups 300 --osds 700 --frames 30

`looked` is one look through all groups for limits, which is had every ten seconds; `read` what a second reads of the
limited ones; `parsed` and `judged` what it takes to make rows and rates of them and to judge these at an exporter's
pace, more than for the same node without. Every group has a limit on reads and one on writes, and all counters move,
which is the worst case. `ceph` is to decode and judge one answer of each of Ceph's commands, which come every half or
five minutes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from sdstop.cli.command import collect_seldom
from sdstop.cli.export import JUDGED
from sdstop.collectors import BUILTIN
from sdstop.collectors.ceph.answers import DUMP, HEALTH, PERF, STATUS, TREE
from sdstop.collectors.limits.cgroups import AGAIN, QUESTION
from sdstop.core.evidence import Evidence, Frame, Origin, command_key
from sdstop.core.recording import RecordingHost
from sdstop.core.replay import Replay
from sdstop.core.session import Session
from sdstop.node import folders
from sdstop.node.live import LiveHost
from sdstop.readings.limit import Limit, LimitUse
from sdstop.rules import RULES

SETTLED = 30
"""Frames that are not counted: the windows of rules fill."""
_GROUP = "/machine.slice/vm-{}.scope"
_FILES = {
    "io.max": "254:0 rbps=1048576 wbps=max riops=max wiops=100\n",
    "io.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
}
_OTHERS = 50
"""Files of the kernel's that a group has besides."""


def files(group: int, second: int) -> dict[str, str]:
    """Return what the kernel shows of a group in a second."""
    done = second * (50 + group % 50)
    return {
        **_FILES,
        "io.stat": f"254:0 rbytes={done * 4096} wbytes={done * 8192} rios={done} wios={done} dbytes=0 dios=0\n",
        "io.pressure": f"some avg10=0.00 avg60=0.00 avg300=0.00 total={second * 900_000}\n",
    }


def build(root: Path, groups: int) -> None:
    """Make a tree of groups, a tenth of them limited as on a node of virtual machines."""
    root.mkdir()
    (root / "cgroup.controllers").write_text("cpu io memory\n", "ascii")
    for number in range(groups):
        folder = root / _GROUP.format(number).lstrip("/")
        folder.mkdir(parents=True)
        for other in range(_OTHERS):
            (folder / f"memory.file{other}").touch()
        (folder / "io.max").write_text(_FILES["io.max"] if number % 10 == 0 else "", "ascii")


def looked(groups: int, times: int = 20) -> float:
    """Return what one look through all groups takes."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "cgroup")
        build(root, groups)
        began = time.process_time()
        for _ in range(times):
            folders.folders_with(str(root), ["io.max"], 20_000)
        return (time.process_time() - began) * 1000 / times


def read(groups: int, times: int = 20) -> float:
    """Return what it takes to read the files of each limited group, as a live node is read: limits are read seldom."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(groups):
            base = Path(folder, str(number))
            base.mkdir()
            for name, text in files(number, 1).items():
                (base / name).write_text(text, "ascii")
        host = LiveHost(collectors=BUILTIN)
        began = time.process_time()
        for turn in range(times):
            recorder = RecordingHost(host)
            for number in range(groups):
                seldom = ("io.max",) if (number + turn) % round(AGAIN) == 0 else ()
                for name in (*seldom, "io.stat", "io.pressure"):
                    recorder.read(f"{folder}/{number}/{name}")
        return (time.process_time() - began) * 1000 / times


class Node:
    """Frames of a node are replayed and judged at the pace of an exporter, each step timed."""

    def __init__(self) -> None:
        """Start before the first frame."""
        self.parsed: list[float] = []
        self.judged: list[float] = []
        self.rows = 0
        self._session = Session(Origin("bench", live=True), BUILTIN, RULES, remember=0.0)
        self._session.judge_every(JUDGED)
        self._replay = Replay(BUILTIN)

    def second(self, number: int, items: Sequence[Evidence]) -> None:
        """Let one second pass."""
        frame = Frame(number, 1e9 + number, float(number), tuple(items))
        began = time.process_time()
        shot = self._replay.feed(frame)
        then = time.process_time()
        self._session.feed(frame)  # parses it, too
        self.parsed.append((then - began) * 1000)
        self.judged.append((time.process_time() - then) * 1000 - self.parsed[-1])
        self.rows = len(shot.rows(LimitUse) or shot.rows(Limit))


def evidence(groups: int, second: int) -> list[Evidence]:
    """Return what is read of the groups in a second."""
    paths = [_GROUP.format(number) for number in range(groups)]
    answer = json.dumps({"v1": [], "v2": paths, "groups": groups})
    items = [Evidence(f"answer:{QUESTION}", data=answer.encode())] if second == 1 else []
    for number, path in enumerate(paths):
        items += [
            Evidence(f"/sys/fs/cgroup{path}/{name}", data=text.encode())
            for name, text in files(number, second).items()
            if second == 1 or name != "io.max"
        ]
    return items


def answers(osds: int) -> dict[tuple[str, ...], str]:
    """Return what a cluster of hosts with twelve OSDs each says."""
    hosts = [list(range(first, min(first + 12, osds))) for first in range(0, osds, 12)]
    nodes: list[dict[str, object]] = [
        {"id": -1, "name": "default", "type": "root", "children": [-2 - n for n in range(len(hosts))]}
    ]
    for place, numbers in enumerate(hosts):
        nodes.append({"id": -2 - place, "name": f"store{place}", "type": "host", "children": numbers})
        nodes += [
            {
                "id": n, "name": f"osd.{n}", "type": "osd", "type_id": 0, "device_class": "hdd", "crush_weight": 3.64,
                "depth": 2, "pool_weights": {}, "reweight": 1, "kb": 3_906_250_000, "kb_used": 1_562_500_000 + n,
                "kb_used_data": 1_500_000_000, "kb_used_omap": 100, "kb_used_meta": 1_000_000,
                "kb_avail": 2_343_750_000, "utilization": 40.0, "var": 1.0, "pgs": 150, "status": "up",
            }
            for n in numbers
        ]  # fmt: skip
    rows = [{"id": n, "perf_stats": {"commit_latency_ms": n % 9, "apply_latency_ms": n % 9}} for n in range(osds)]
    status = {
        "fsid": "7b1f2c0e", "health": {"status": "HEALTH_OK", "checks": {}}, "quorum_names": ["a", "b", "c"],
        "monmap": {"num_mons": 3}, "osdmap": {"epoch": 1, "num_osds": osds},
        "pgmap": {"pgs_by_state": [], "num_pgs": 0, "num_objects": 9, "data_bytes": 9},
    }  # fmt: skip
    said = {TREE: {"nodes": nodes}, PERF: {"osdstats": {"osd_perf_infos": rows}}, STATUS: status}
    return {argv: json.dumps(value) for argv, value in ({HEALTH: {}, DUMP: {}} | said).items()}


def ceph(osds: int, times: int = 10) -> float:
    """Return what it takes to decode and judge an answer of each command, more than for an empty frame."""
    said = [Evidence(command_key(argv), data=text.encode(), exit=0) for argv, text in answers(osds).items()]
    found = []
    for items in (said, []):
        taken = []
        for _ in range(times):
            node = Node()
            node.second(1, items)
            taken.append(node.parsed[0] + node.judged[0])
        found.append(min(taken))
    return found[0] - found[1]


def main() -> None:
    """Print what a frame takes on average."""
    parser = argparse.ArgumentParser(description="What limits and a large Ceph cluster take.")
    parser.add_argument("--groups", type=int, default=300)
    parser.add_argument("--osds", type=int, default=700)
    parser.add_argument("--frames", type=int, default=30)
    parser.add_argument("--settled", type=int, default=SETTLED)
    options = parser.parse_args()
    collect_seldom()
    full, bare = Node(), Node()
    for number in range(1, options.frames + options.settled + 1):
        full.second(number, evidence(options.groups, number))
        bare.second(number, [])
    assert full.rows == 2 * options.groups
    added = {
        name: mean(getattr(full, name)[options.settled :]) - mean(getattr(bare, name)[options.settled :])
        for name in ("parsed", "judged")
    }
    print(
        json.dumps(
            {**added, "looked": looked(options.groups), "read": read(options.groups), "ceph": ceph(options.osds)}
        )
    )


if __name__ == "__main__":
    main()
