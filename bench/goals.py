"""Goals: the most that sdstop may cost, over windows long enough to contain every source.

CPU and memory (PSS) are those of the whole process tree. Counters of disks move independently of each other.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

import measures
import peers
import subjects
import tree
from claims import Claim
from measures import Effort, advancing, program, windows
from scrapes import Target, free_port, scrape
from subjects import Subject, below, python, sdstop

from sdstop.collectors import BUILTIN

LONG = Effort(seconds=120.0, frames=30, scrapes=120, settle=15.0)
"""Medians of three windows of two minutes; they begin when the first frame's work is over."""
QUICK = Effort(rounds=1, seconds=4.0, frames=3, settled=3, scrapes=3, starts=2, settle=2.0)
_SETTLED = 30
"""Frames of limited groups that are not counted: the windows of rules fill."""
_WINDOWS = 5
"""Windows of two minutes of `added`, which begin with the first run of each source."""
ADDED = frozenset({
    "btrfs-errors", "btrfs-scrubs", "dm-status", "enclosures", "ext4-errors", "fc", "filesystems", "kernel-log",
    "mapped-raids", "media", "memory-bandwidth", "nvme-paths", "pause", "quotas", "raid-controllers", "rdma",
    "scsi-commands", "session-states", "smart", "storage-peers", "suspended", "temperatures",
})  # fmt: skip
"""Sources of what disks and the kernel report themselves, of space, of paths, and of measured memory traffic."""
EVERY = 15.0
"""Seconds between the scrapes of Prometheus in its documentation."""


def _built(scratch: Path, disks: int, members: int = tree.MEMBERS) -> Path:
    root = scratch / f"node-{disks}-{members}"
    if not root.exists():
        tree.build(root, disks, members)
    return root


def _export(*words: str | Path) -> tuple[list[str], int]:
    port = free_port()
    return sdstop("export", "--listen", f"127.0.0.1:{port}", *words), port


def watching(scratch: Path, effort: Effort) -> Iterator[Claim]:
    """Yield what it takes to watch 1000 disks, scraped every 15 s, beside iostat, and the exporter's memory.

    As root, the tree is /proc and /sys: events of block devices are heard, as on the node, and slow sources rest.
    """
    for disks, most in ((100, 40), (1000, 70)):
        root, iostat = _built(scratch, disks), peers.IOSTAT.path
        with contextlib.ExitStack() as stack:
            stack.enter_context(advancing(root, independent=True))
            exporter, port = _exporter(stack, root)
            peer = []
            if iostat is not None and disks == 1000 and subjects.can_cover():
                peer.append(stack.enter_context(Subject("iostat", below(root, [iostat, "-x", "1"]))))
            found = _scraped_windows(Target(exporter, port), peer, effort)
            memory = exporter.memory()
        if disks == 1000:
            what, missing = f"watching {disks} disks", "" if peer else "wants iostat, root and unshare"
            yield Claim(what, "ms CPU/s", found[0], "iostat -x 1", found[1] if peer else None, 0.6, missing)
        yield Claim(f"exporter's memory, {disks} disks", "MB", memory, target=most)


def _exporter(stack: contextlib.ExitStack, root: Path) -> tuple[Subject, int]:
    """Start an exporter for which a tree is the node if that is possible, and return it with its port."""
    argv, port = _export(*(() if subjects.can_cover() else ("--root", root)))
    if subjects.can_cover():
        argv = stack.enter_context(subjects.as_node(root, argv))
    return stack.enter_context(Subject("export", argv)), port


def _scraped_windows(target: Target, others: Sequence[Subject], effort: Effort) -> list[float]:
    """Return what an exporter that is scraped every 15 s takes, and others: medians over the same windows."""
    running = [target.subject, *others]
    target.wait()
    time.sleep(effort.settle)
    pause, found = min(EVERY, effort.seconds), []
    for _ in range(effort.rounds):
        before, began = [subject.cpu() for subject in running], time.monotonic()
        scrape([target], max(1, round(effort.seconds / pause)), pause)
        passed = time.monotonic() - began
        found.append([(subject.cpu() - start) / passed for subject, start in zip(running, before, strict=True)])
    return [median(values) for values in zip(*found, strict=True)]


def idle(scratch: Path, effort: Effort) -> Iterator[Claim]:
    """Yield what this machine's exporter takes, scraped every 15 s, beside node_exporter with its defaults.

    The counters of disks stand still, where that is possible: the machine does not stand still for an hour, and work of
    other programs would wake the node.
    """
    path, peer = peers.NODE_EXPORTER.path, "node_exporter"
    if path is None:
        yield Claim("idle node, scraped every 15 s", "ms CPU/s", peer=peer, target=4, missing="no node_exporter here")
        return
    argv, port = _export()
    if subjects.can_cover():
        argv = subjects.at_rest(scratch, argv)
    other = free_port()
    with Subject("sdstop", argv) as mine, Subject(peer, peers.whole_node_exporter(path, other)) as theirs:
        targets = [Target(mine, port), Target(theirs, other)]
        for target in targets:
            target.wait()
        time.sleep(effort.settle)
        pause = min(EVERY, effort.seconds)
        found = []
        for _ in range(effort.rounds):
            scrape(targets, max(1, round(effort.seconds / pause)), pause)
            found.append([target.cpu / pause for target in targets])
        ours, others = (median(values) for values in zip(*found, strict=True))
        yield Claim("idle node, scraped every 15 s", "ms CPU/s", ours, peer, others, 4)
        yield Claim("its memory", "MB", mine.memory(), peer, theirs.memory(), 2)


def added(scratch: Path, effort: Effort) -> Iterator[Claim]:
    """Yield what health, kernel log, space, paths and memory traffic add to this machine's exporter in ten minutes.

    Two exporters run in the same seconds, one without those sources. Child processes count. The counters of disks stand
    still, where that is possible: work of other programs would wake the node, and every source be read each second.
    """
    without = [collector.name for collector in BUILTIN if collector.name not in ADDED]
    commands = {"all": _export(), "without": _export("--collectors", ",".join(without))}
    if subjects.can_cover():
        commands = {name: (subjects.at_rest(scratch, argv), port) for name, (argv, port) in commands.items()}
    with contextlib.ExitStack() as stack:
        targets = [
            Target(stack.enter_context(Subject(name, argv)), port) for name, (argv, port) in commands.items()
        ]  # fmt: skip
        for target in targets:
            target.wait()
        pause = min(EVERY, effort.seconds)
        before, began = [target.subject.cpu() for target in targets], time.monotonic()
        for _ in range(_WINDOWS if effort.rounds > 1 else 1):
            scrape(targets, max(1, round(effort.seconds / pause)), pause)
        took = [target.subject.cpu() - start for target, start in zip(targets, before, strict=True)]
        passed = time.monotonic() - began
    yield Claim("idle node, all sources", "ms CPU/s", took[0] / passed)
    yield Claim("of it by health, log, space, paths", "ms CPU/s", (took[0] - took[1]) / passed, target=0.5)


def scraped(scratch: Path, effort: Effort) -> Iterator[Claim]:
    """Yield what a sample of a scrape of all sources takes, once a second, beside node_exporter's diskstats."""
    root, path, what = _built(scratch, 1000), peers.NODE_EXPORTER.path, "scrape of 1000 disks, all sources"
    if path is None:
        yield Claim(what, "us CPU/sample", peer="node_exporter", target=0.2, missing="no node_exporter here")
        return
    config = scratch / "all.toml"
    config.write_text('[export]\ndisks = "all"\nrepeat = true\n')
    argv, port = _export("--root", root, "--config", config)
    other = free_port()
    with (
        advancing(root, independent=True),
        Subject("sdstop", argv) as mine,
        Subject("node_exporter", peers.node_exporter(path, root, other)) as theirs,
    ):
        targets = [Target(mine, port), Target(theirs, other)]
        for target in targets:
            target.wait()
        time.sleep(effort.settle)
        found = []
        for _ in range(effort.rounds):
            scrape(targets, effort.scrapes)
            found.append([target.cpu / target.samples * 1000 for target in targets])
        ours, others = (median(values) for values in zip(*found, strict=True))
        yield Claim(what, "us CPU/sample", ours, "node_exporter", others, 0.2)


def dashboards(scratch: Path, effort: Effort) -> Iterator[Claim]:
    """Yield what the dashboard takes on 200x60, beside a table that reads nothing, and beside atop and btop."""
    for disks in (10, 1000):
        root = _built(scratch, disks)
        running = {"sdstop": sdstop("--root", root)}
        if disks == 1000:
            running["DataTable"] = program("plain_dashboard")
        elif peers.ATOP.path is not None and peers.BTOP.path is not None and subjects.can_cover():
            running["atop"] = below(root, [peers.ATOP.path, "1"])
            running["btop"] = below(root, peers.btop(peers.BTOP.path, scratch))
        with contextlib.ExitStack() as stack:
            if subjects.can_cover():  # events of devices are not heard below --root: files are read that rest on a node
                running["sdstop"] = stack.enter_context(subjects.as_node(root, sdstop()))
            stack.enter_context(advancing(root, independent=True))
            started = [stack.enter_context(Subject(name, argv, terminal=True)) for name, argv in running.items()]
            started[0].first(b"Overview", 60.0)
            started[0].type(measures.ROWS)
            found = dict(zip(running, windows(started, effort), strict=True))
            memory = started[0].memory()
        what, unit = f"dashboard of {disks} disks", "ms CPU/s"
        if disks == 1000:
            yield Claim(what, unit, found["sdstop"], "Textual's DataTable, 50 rows", found["DataTable"], 0.45)
            yield Claim("its memory, ring included", "MB", memory)
        else:
            both = found["atop"] + found["btop"] if "btop" in found else None
            missing = "" if both is not None else "wants atop, btop, root and unshare"
            yield Claim(what, unit, found["sdstop"], "atop + btop", both, 1.0, missing)


def starts(scratch: Path, effort: Effort) -> Iterator[Claim]:
    """Yield how long the commands of a moment take, beside Python and a minimal Textual application."""
    captures = {size: measures.minute(_built(scratch, size), size, scratch) for size in (10, 100)}
    commands = {"python": python("-c", "pass")}
    commands |= {f"{size}": sdstop("check", "--from", capture) for size, capture in captures.items()}
    found = subjects.interleaved({name: _timer(argv) for name, argv in commands.items()}, effort.starts)
    for size, most in ((10, 10), (100, 18)):
        what = f"check, 60 frames of {size} disks"
        yield Claim(what, "ms", found[f"{size}"], "python -c pass", found["python"], most)
    yield from measures.first_frames(_built(scratch, 100), 100, effort, 1.2)


def _timer(argv: list[str]) -> Callable[[], float]:
    return lambda: subjects.wall(argv)


def groups(scratch: Path, effort: Effort) -> Iterator[Claim]:
    """Yield what limited control groups take each second: read, parsed, judged, and looked for each ten seconds."""
    del scratch
    for count, most in ((300, None), (3000, 100.0)):
        settled = min(effort.settled, _SETTLED)
        argv = program(
            "limits", "--groups", str(count), "--osds", "24", "--frames", str(effort.frames), "--settled", str(settled)
        )
        found = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
        figure = found["read"] + found["parsed"] + found["judged"] + found["looked"] / 10
        yield Claim(f"{count} limited control groups", "ms CPU/s", figure, target=most)


def arrays(scratch: Path, effort: Effort) -> Iterator[Claim]:
    """Yield what a frame of 200 arrays of two members takes: one that is judged, and the mean of an exporter's."""
    root = _built(scratch, 400, 2)
    found = measures.stages(root, scratch, effort)
    yield Claim("200 arrays of two, a judged frame", "ms CPU", sum(found[name] for name in measures.JUDGING))
    with contextlib.ExitStack() as stack:
        stack.enter_context(advancing(root))
        exporter, port = _exporter(stack, root)
        (cpu,) = _scraped_windows(Target(exporter, port), (), effort)
    yield Claim("200 arrays of two, an exporter's frame", "ms CPU", cpu, target=25)


_MEASURES = {
    "starts": starts, "idle": idle, "added": added, "watching": watching, "scraped": scraped, "dashboards": dashboards,
    "groups": groups, "arrays": arrays,
}  # fmt: skip
PARTS = tuple(_MEASURES)


def measured(parts: Sequence[str], scratch: Path, effort: Effort) -> Iterator[tuple[str, list[Claim]]]:
    """Yield a title and claims of each part."""
    for part in parts:
        yield part, list(_MEASURES[part](scratch, effort))
