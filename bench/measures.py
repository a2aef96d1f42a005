"""Measures: each runs programs over synthetic nodes and returns claims."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import peers
import seconds
import subjects
from claims import Claim
from scrapes import Target, free_port, percentile, scrape
from subjects import Subject, below, python, sdstop, window_of

from sdstop.exporters.capture import CaptureWriter

HERE = Path(__file__).resolve().parent
STAGES = ("collect", "slow", "send", "replay", "rates", "rules", "remember", "paint", "page", "gzip", "capture")
JUDGING = STAGES[:6]
"""From reading to findings: what every view of a live node pays."""
ROWS = b"2"
"""The key of the view with a row for each disk."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How often and how long things are measured."""

    rounds: int = 3
    seconds: float = 10.0
    frames: int = 15
    settled: int = 75
    scrapes: int = 15
    starts: int = 7
    ring: int = 900
    settle: float = 4.0


QUICK = Effort(rounds=1, seconds=2.0, frames=4, settled=4, scrapes=3, starts=2, ring=20, settle=2.0)


@dataclass(slots=True)
class Nodes:
    """The synthetic nodes by their number of disks, and a folder for everything else."""

    trees: dict[int, Path]
    scratch: Path
    covers: bool

    def nearest(self, disks: int) -> int:
        """Return the size nearest to that many disks."""
        return min(self.trees, key=lambda size: abs(size - disks))


def program(name: str, *words: str | Path) -> list[str]:
    """Return what runs one of the programs beside this file."""
    return python(HERE / f"{name}.py", *words)


def stages(tree: Path, scratch: Path, effort: Effort) -> dict[str, float]:
    """Return what each stage of a frame takes, in milliseconds of CPU."""
    argv = program("stages", tree, "--frames", str(effort.frames), "--settled", str(effort.settled))
    found: dict[str, float] = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    out = scratch / "painted.json"
    with Subject("dashboard", program("painting", tree, out, "--frames", str(effort.frames)), terminal=True) as film:
        film.first(b"Overview", 60.0)
        film.type(ROWS)
        film.process.wait(120)
    return found | json.loads(out.read_text())


def all_stages(nodes: Nodes, effort: Effort) -> dict[int, dict[str, float]]:
    """Return the medians of the stages by size, measured in turn."""
    found: dict[int, list[dict[str, float]]] = {size: [] for size in nodes.trees}
    for _ in range(effort.rounds):
        for size, tree in nodes.trees.items():
            found[size].append(stages(tree, nodes.scratch, effort))
    return {size: {name: median(run[name] for run in runs) for name in runs[0]} for size, runs in found.items()}


def growth(found: dict[int, dict[str, float]]) -> Iterator[Claim]:
    """Yield how cost grows with disks."""
    sums = {size: sum(cost[name] for name in JUDGING) for size, cost in found.items()}
    sizes = sorted(sums)
    for fewer, more in pairwise(sizes):
        target = 1.05 * more / fewer
        yield Claim(
            f"a frame of {more} disks, to findings", "ms CPU", sums[more], f"{fewer} disks", sums[fewer], target
        )


@contextlib.contextmanager
def advancing(tree: Path, *, independent: bool = False) -> Iterator[None]:
    """Let a tree's counters move, by a process that nobody's costs include."""
    with Subject("counters", program("tree", "advance", tree, *(["--independent"] if independent else []))):
        yield


def windows(running: Sequence[Subject], effort: Effort) -> list[float]:
    """Return what each takes, in milliseconds of CPU a second: medians over the same windows."""
    time.sleep(effort.settle)
    found = [window_of(running, effort.seconds) for _ in range(effort.rounds)]
    return [median(values) for values in zip(*found, strict=True)]


def watching(nodes: Nodes, costs: dict[int, dict[str, float]], effort: Effort) -> Iterator[Claim]:
    """Yield what it takes to sample, judge and be ready for a scrape, once a second, beside iostat."""
    path = peers.IOSTAT.path
    for size, tree in nodes.trees.items():
        what, peer = f"watching {size} disks at 1 Hz, all sources", "iostat -x 1"
        target = 0.5 if size >= 1000 else None
        if path is None or not nodes.covers:
            yield Claim(what, "ms CPU/s", peer=peer, target=target, missing=_reason(path))
            continue
        ours = sdstop("export", "--root", tree, "--listen", f"127.0.0.1:{free_port()}")
        only = sdstop("export", "--root", tree, "--listen", f"127.0.0.1:{free_port()}", "--collectors", "diskstats")
        theirs = below(tree, [path, "-x", "1"])
        with advancing(tree), Subject("export", ours) as a, Subject("only", only) as b, Subject("iostat", theirs) as c:
            full, disks, other = windows([a, b, c], effort)
        rarely = costs[size]["slow"] if size in costs else 0.0
        yield Claim(what, "ms CPU/s", full + rarely, peer, other, target)
        yield Claim(f"watching {size} disks at 1 Hz, what iostat reads", "ms CPU/s", disks, peer, other)


def _reason(path: str | None) -> str:
    return "none here" if path is None else "wants root and unshare"


def dashboards(tree: Path, size: int, nodes: Nodes, effort: Effort) -> Iterator[Claim]:
    """Yield what the dashboard takes on 200x60, beside others; and its memory before its ring is full."""
    running = {"sdstop": sdstop("--root", tree), "DataTable": program("plain_dashboard")}
    if nodes.covers:
        if peers.ATOP.path is not None:
            running["atop"] = below(tree, [peers.ATOP.path, "1"])
        if peers.BTOP.path is not None:
            running["btop"] = below(tree, peers.btop(peers.BTOP.path, nodes.scratch))
    with contextlib.ExitStack() as stack:
        stack.enter_context(advancing(tree))
        started = [stack.enter_context(Subject(name, argv, terminal=True)) for name, argv in running.items()]
        started[0].first(b"Overview", 60.0)
        started[0].type(ROWS)
        found = dict(zip(running, windows(started, effort), strict=True))
        memory = started[0].memory()
    what, unit = f"dashboard of {size} disks, 1 Hz, 200x60, all of it", "ms CPU/s"
    ours = found["sdstop"]
    if "atop" in found and "btop" in found:
        yield Claim(what, unit, ours, "atop + btop", found["atop"] + found["btop"], 2.0)
    else:
        yield Claim(what, unit, peer="atop + btop", target=2.0, missing="not both here")
    yield Claim(what, unit, ours, "Textual's DataTable, 50 rows", found["DataTable"], 0.3)
    yield from _memory(tree, size, effort, memory)


def _memory(tree: Path, size: int, effort: Effort, live: float) -> Iterator[Claim]:
    """Add to a dashboard's memory what it grows until its ring is full."""
    argv = program("memory", tree, "--seconds", str(effort.ring))
    said = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    more = f"a ring of {effort.ring} s"
    yield Claim(f"dashboard's memory, {size} disks", "MB", live)
    yield Claim(f"dashboard's memory, {size} disks, {more}", "MB", live + said["full"] - said["settled"], target=120)


def exporters(tree: Path, size: int, effort: Effort) -> Iterator[Claim]:
    """Yield what a scrape takes, one each second, collection included; memory; latency."""
    ports = [free_port() for _ in range(5)]

    config = tree.parent / "export.toml"
    config.write_text('[export]\ndisks = "all"\nrepeat = true\n')  # what peers export too

    def ours(port: int, *words: str) -> list[str]:
        return sdstop("export", "--root", tree, "--config", config, "--listen", f"127.0.0.1:{port}", *words)

    path = peers.NODE_EXPORTER.path
    running = [
        ("sdstop, all sources", ours(ports[0])),
        ("sdstop, diskstats", ours(ports[1], "--collectors", "diskstats")),
        ("prometheus_client", program("plain_exporter", tree, str(ports[2]))),
        *([("node_exporter", peers.node_exporter(path, tree, ports[3]))] if path is not None else []),
    ]
    with contextlib.ExitStack() as stack:
        stack.enter_context(advancing(tree))
        targets = [
            Target(stack.enter_context(Subject(*each)), port) for each, port in zip(running, ports, strict=False)
        ]
        yield from _scrapes(targets, f"{size} disks", effort)
        full = targets[0]
        yield Claim(f"first scrape of a frame, {size} disks, {full.samples} samples", "ms median",
                    median(full.latencies))  # fmt: skip
        yield Claim(f"exporter's memory, {size} disks", "MB", full.subject.memory(), target=40)
    still = ours(ports[4], "--interval", "60s")
    with advancing(tree), Subject("sdstop", still) as subject:
        target = Target(subject, ports[4], gzip=True)
        target.wait()
        time.sleep(effort.settle)
        scrape([target], 20 * effort.scrapes, 0.01)
        for share, most in ((50, None), (99, 5.0)):
            latency = percentile(target.latencies, share)
            yield Claim(f"scrape of a page that is there, {size} disks, p{share}", "ms", latency, target=most)


def rows(scratch: Path, effort: Effort) -> Iterator[Claim]:
    """Yield what a scrape of the kernel's own rows takes, those of a thousand loop devices that both exporters show.

    Wants root. None of these devices does anything.
    """
    path = peers.NODE_EXPORTER.path
    what, size = "the kernel's own rows", 1000
    if path is None or os.geteuid() or not peers.LOOPS.exists():
        missing = "no node_exporter here" if path is None else f"wants root and {peers.LOOPS}"
        yield Claim(f"scrape of {what}", "us CPU/sample", peer="node_exporter", target=0.2, missing=missing)
        return
    config = scratch / "rows.toml"
    config.write_text('[export]\ndisks = "all"\nrepeat = true\n')
    ports = free_port(), free_port()
    ours = sdstop("export", "--config", config, "--listen", f"127.0.0.1:{ports[0]}", "--collectors", "diskstats")
    with contextlib.ExitStack() as stack:
        stack.enter_context(peers.loops(size))
        running = (("sdstop, diskstats", ours), ("node_exporter", peers.node_exporter(path, Path("/"), ports[1])))
        targets = [Target(stack.enter_context(Subject(*each)), port) for each, port in zip(running, ports, strict=True)]
        yield from _scrapes(targets, f"{size} loop devices, {what}", effort, packed=0.2)


def _scrapes(targets: Sequence[Target], disks_of: str, effort: Effort, packed: float | None = None) -> Iterator[Claim]:
    """Scrape all of them in turn, plain and gzipped; `packed` is the target of the latter."""
    for target in targets:
        target.wait()
    time.sleep(effort.settle)
    for gzip in (False, True):
        for target in targets:
            target.gzip = gzip
        scrape(targets, effort.scrapes)
        yield from _scraped(targets, f"{disks_of}{', gzip' if gzip else ''}", packed if gzip else 0.2)
    if peers.NODE_EXPORTER.path is None:
        yield Claim("scrape", "us CPU/sample", peer="node_exporter", target=0.2, missing="no node_exporter here")


def _scraped(targets: Sequence[Target], disks_of: str, aim: float | None) -> Iterator[Claim]:
    """Yield the cost of each sample beside each peer: they do not have the same number of them.

    The last one of ours has what peers have, and is held to the aim.
    """
    mine = [target for target in targets if target.subject.name.startswith("sdstop")]
    for other in (target for target in targets if target not in mine):
        for ours in mine[::-1]:
            cost = [each.cpu / each.samples * 1000 for each in (ours, other)]
            what, peer = f"{ours.subject.name}, {ours.samples} samples", f"{other.subject.name}, {other.samples}"
            target = aim if ours is mine[-1] else None
            yield Claim(f"scrape of {disks_of}: {what}", "us CPU/sample", cost[0], peer, cost[1], target)


def first_frames(tree: Path, size: int, effort: Effort, aim: float = 1.0) -> Iterator[Claim]:
    """Yield how long it takes until there is something to read."""

    def until(argv: list[str], text: bytes) -> Callable[[], float]:
        def measure() -> float:
            with Subject(argv[-1], argv, terminal=True) as subject:
                return subject.first(text, 60.0)

        return measure

    ours, plain = sdstop("--root", tree), program("plain_dashboard")
    measures = {"sdstop": until(ours, b"Overview"), "plain": until(plain, b"sd1")}
    with advancing(tree):
        found = subjects.interleaved(measures, effort.starts)
    what = f"first frame, {size} disks, with figures"
    yield Claim(what, "ms", found["sdstop"], "Textual, one table and 8 sparklines", found["plain"], aim)


def minute(tree: Path, size: int, scratch: Path) -> Path:
    """Return a capture of a minute."""
    capture = scratch / f"minute-{size}.tar.gz"
    if not capture.exists():
        with CaptureWriter(capture, "bench") as writer:
            for frame in seconds.frames(tree, 60):
                writer.add(frame)
            writer.finish()
    return capture


def one_shots(tree: Path, size: int, scratch: Path, effort: Effort) -> Iterator[Claim]:
    """Yield how long it takes to judge a capture of a minute, and to report a live node over two frames."""
    capture = minute(tree, size, scratch)
    commands = {
        "python -c pass": python("-c", "pass"),
        "check": sdstop("check", "--from", capture),
        "report --format json": sdstop("report", "--from", capture, "--format", "json"),
        "report, live, 1 s": sdstop("report", "--root", tree, "--duration", "1s"),
    }
    with advancing(tree):
        found = subjects.interleaved({name: _timer(argv) for name, argv in commands.items()}, effort.starts)
    for name in ("check", "report --format json"):
        what = f"{name}, 60 frames of {size} disks"
        yield Claim(what, "ms", found[name], "python -c pass", found["python -c pass"], 10)
    yield Claim(f"report of {size} disks, live, 2 frames 1 s apart", "s", found["report, live, 1 s"] / 1000, target=2)


def _timer(argv: list[str]) -> Callable[[], float]:
    return lambda: subjects.wall(argv)


def recording(costs: dict[str, float], size: int) -> Iterator[Claim]:
    """Yield what writing a capture takes."""
    each = costs["collect"] + costs["slow"] + costs["send"] + costs["capture"]
    yield Claim(f"recording {size} disks at 1 Hz, with reading them", "ms CPU/frame", each, target=5)
    yield Claim(f"a day of {size} disks at 1 Hz", "MB", costs["capture_bytes"] * 86400 / 1e6, target=60)


def dumps(tree: Path, size: int, scratch: Path, effort: Effort) -> Iterator[Claim]:
    """Yield what a capture of a minute costs the node, how large it is, and how long its page takes to make.

    The node is the machine where root can have it so; else it is a folder (`--root`), of which each file costs more.
    """
    length, rounds = (60, 3) if effort.starts > 2 else (10, 1)
    capture, page = scratch / f"dump-{size}.tar.gz", scratch / f"dump-{size}.html"
    whole = subjects.can_cover()
    argv = sdstop("capture", "--duration", f"{length}s", "-o", capture, *(() if whole else ("--root", tree)))
    spent = []
    for _ in range(rounds):
        capture.unlink(missing_ok=True)
        with advancing(tree), subjects.as_node(tree, argv) if whole else contextlib.nullcontext(argv) as run:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(run, check=True, capture_output=True, env=subjects.environment())
            after = resource.getrusage(resource.RUSAGE_CHILDREN)  # without who advances: that has not ended
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    what = f"a capture of {length} s of {size} disks"
    cost = f"{what}, start and report included{'' if whole else ', of a folder'}"
    yield Claim(what, "MB", capture.stat().st_size / 1e6, target=10)
    yield Claim(cost, "% of a core", 100 * median(spent) / length, target=2)
    made = subjects.wall(sdstop("report", "--from", capture, "--format", "html", "-o", page))
    yield Claim(f"the page of {what}", "s", made / 1000, target=3)
    yield Claim(f"the page of {what}, its size", "MB", page.stat().st_size / 1e6, target=2)


def caches(effort: Effort) -> Iterator[Claim]:
    """Yield what 32 caches among 200 volumes add to a frame."""
    argv = program("caches", "--caches", "32", "--volumes", "200", "--frames", str(effort.frames))
    found = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    what, unit = "32 caches and 200 volumes add to a frame", "ms CPU"
    yield Claim(f"{what}: parsed, judged", unit, found["parsed"] + found["judged"])
    if found["asked"] is None:
        yield Claim(f"{what}: all", unit, target=5.0, missing="no dmsetup here")
    else:
        yield Claim(f"{what}: all", unit, sum(found.values()), target=5.0)


def views(effort: Effort) -> Iterator[Claim]:
    """Yield what the views of many things take to paint, on 80x24."""
    found = json.loads(
        subprocess.run(program("views", "--frames", str(effort.frames)), check=True, capture_output=True).stdout
    )
    for name, what in (
        ("fabric", "fabric of 8 HBAs and 1000 disks, folded"),
        ("unfolded", "the same with every disk unfolded"),
        ("cluster", "cluster of 60 nodes and 720 devices"),
        ("volumes", "500 volumes with limits"),
    ):
        yield Claim(f"painting a frame: {what}", "ms CPU", found[name])


def screens(effort: Effort) -> Iterator[Claim]:
    """Yield what the first screen and the keys of a node with 1000 disks take."""
    argv = program("screens", "--frames", str(max(effort.frames, 10)))
    found = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    yield Claim("first screen of 1000 disks, a paint on 80x24", "ms CPU", found["small"], target=13.0)
    yield Claim("first screen of 1000 disks, a paint on 200x60", "ms CPU", found["wide"], target=13.0)
    yield Claim(f"slowest key with 1000 disks on 200x60: {found['slowest']}", "ms CPU", found["key"], target=100.0)


def inside(effort: Effort) -> Iterator[Claim]:
    """Yield what the SAS fabric, the HBAs and the memory of a large box cost."""
    argv = program("inside", "--frames", str(effort.frames), "--rounds", str(2 * effort.rounds + 1))
    found = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    what, unit = "240 phys, 96 drives, 8 HBAs", "ms CPU"
    yield Claim(f"{what}: a round of the slowest source, read", unit, found["sas"], target=50.0)
    yield Claim(f"{what}: all slow sources at once, to findings", unit, found["round"])
    yield Claim(f"{what}: added to a frame between", unit, found["frame"], target=0.5)
    yield Claim("48 slots for memory, from the raw table to rows", unit, found["dimms"], target=2.0)


def limits(effort: Effort) -> Iterator[Claim]:
    """Yield what 300 control groups and a Ceph cluster of 700 OSDs take."""
    argv = program("limits", "--groups", "300", "--osds", "700", "--frames", str(effort.frames))
    found = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    unit = "ms CPU"
    yield Claim("a look through 300 control groups for limits, every ten seconds", unit, found["looked"])
    yield Claim("300 control groups, all limited: read", unit, found["read"])
    yield Claim("300 control groups, all limited: parsed, judged", unit, found["parsed"] + found["judged"])
    yield Claim("700 OSDs of Ceph decoded and judged, each five minutes", unit, found["ceph"], target=150)


def graph(effort: Effort) -> Iterator[Claim]:
    """Yield what the topology of a large node takes: to build it, to see that it is the same, and to ask it."""
    del effort
    found = json.loads(subprocess.run(program("graph"), check=True, capture_output=True).stdout)
    what = "topology of 1000 disks, 200 arrays, 1000 volumes"
    yield Claim(f"{what}: built", "ms CPU", found["build"], target=30)
    yield Claim(f"{what}: unchanged, though all rows are new", "ms CPU", found["unchanged"])
    yield Claim(f"{what}: a query", "us CPU", found["query"], target=50)
    yield Claim(f"{what}: all groups of peers", "ms CPU", found["groups"])
    yield Claim(f"{what}: what 1000 disks have in common", "ms CPU", found["common"])


_DISASTERS = {
    "hung": "all disks hung", "failed": "all members failed", "phys": "all phys erring", "limits": "all limits reached",
    "dropping": "all interfaces dropping",
}  # fmt: skip
GROWTH = 12
"""Most that a cost may grow for ten times the things."""


def disasters(effort: Effort) -> Iterator[Claim]:
    """Yield what a frame costs in which everything of one kind has failed, and scrapes meanwhile."""
    argv = program("disasters", "--frames", str(effort.frames), *(["--things", "20,100"] if effort == QUICK else []))
    found = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    for name, what in _DISASTERS.items():
        costs, unit = found[name]["costs"], "ms CPU"
        for count in sorted(costs, key=int):
            target = 250.0 if (name, count) == ("hung", "1000") else None
            yield Claim(f"{what}, {count} of them: a frame", unit, costs[count]["frame"], target=target)
        for part, growth in found[name]["growth"].items():
            if part != "findings":
                yield Claim(f"{what}: growth of a {part} for ten times as many", "x", growth, target=GROWTH)
    if effort != QUICK:
        argv = program("disasters", "--scrape", "1000")
        scraped = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
        yield Claim("a scrape while 1000 hung disks are judged, p99", "ms", scraped["p99"], target=50)


def remove(nodes: Nodes) -> None:
    """Remove the trees."""
    for tree in nodes.trees.values():
        shutil.rmtree(tree, ignore_errors=True)
