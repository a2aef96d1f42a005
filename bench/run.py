"""Costs of sdstop, stage by stage and beside its peers, on synthetic nodes.

    python bench/run.py [--disks 10,100,1000,5000] [--quick] [--only stages,watching,...]
    python bench/run.py --goals [--only idle,arrays,...]

Only ratios that were measured side by side in one run count; see README.md here for what the columns are.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import days
import goals
import measures
import peers
import tree
from claims import Claim, claims_table, table
from measures import QUICK, STAGES, Effort, Nodes
from subjects import can_cover

PARTS = (
    "stages", "watching", "dashboards", "exporters", "first", "oneshots", "recording", "dumps", "caches", "inside",
    "limits", "views", "screens", "graph", "disasters", "rows",
)  # fmt: skip
MEMORY = Path("/dev/shm")


def machine() -> str:
    """Return what was measured on, and whether it had anything else to do."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    quiet = "" if load < cores / 4 else " (not quiet: latencies and wall times are too high)"
    python = platform.python_version()
    return f"{cores} x {model}, Linux {platform.release()}, Python {python}; load {load:.1f} at the start{quiet}"


def costs_table(costs: dict[int, dict[str, float]]) -> str:
    """Return the milliseconds of CPU of each stage, by size, and how they grow."""
    sizes = sorted(costs)
    rows = []
    for name in (*STAGES, "collect to rules"):
        parts = measures.JUDGING if name == "collect to rules" else (name,)
        figures = [sum(costs[size][part] for part in parts) for size in sizes]
        steps = [f"{b / a:.1f}x" if a else "" for a, b in pairwise(figures)]
        cells = [f"{figure:.2f}" for figure in figures]
        rows.append([name, *cells, *steps])
    growths = [f"{b}/{a}" for a, b in pairwise(sizes)]
    return table(["ms CPU a frame", *(f"{size} disks" for size in sizes), *growths], rows, numbers=True)


def measured(parts: list[str], nodes: Nodes, effort: Effort) -> Iterator[tuple[str, list[Claim]]]:
    """Yield a title and claims of each part, or a table of its own."""
    costs: dict[int, dict[str, float]] = {}
    large, small = nodes.nearest(1000), nodes.nearest(100)
    if {"stages", "watching", "recording"} & set(parts):
        costs = measures.all_stages(nodes, effort)
        print(f"\n{costs_table(costs)}", flush=True)
    for part in parts:
        match part:
            case "stages":
                yield "growth", list(measures.growth(costs))
            case "watching":
                yield part, list(measures.watching(nodes, costs, effort))
            case "dashboards":
                yield part, list(measures.dashboards(nodes.trees[large], large, nodes, effort))
            case "exporters":
                yield part, list(measures.exporters(nodes.trees[large], large, effort))
            case "first":
                found = [
                    claim
                    for size in dict.fromkeys((small, large))
                    for claim in measures.first_frames(nodes.trees[size], size, effort)
                ]
                yield part, found
            case "oneshots":
                yield part, list(measures.one_shots(nodes.trees[small], small, nodes.scratch, effort))
            case "recording":
                quick = effort is QUICK
                yield part, list(measures.recording(costs[small], small))
                yield "days", list(days.claims(nodes.trees, nodes.scratch, covers=nodes.covers, quick=quick))
            case "rows":
                yield part, list(measures.rows(nodes.scratch, effort))
            case "dumps":
                yield part, list(measures.dumps(nodes.trees[small], small, nodes.scratch, effort))
            case _:
                yield part, list(_ALONE[part](effort))


_ALONE = {
    "caches": measures.caches, "inside": measures.inside, "limits": measures.limits, "views": measures.views,
    "screens": measures.screens, "graph": measures.graph, "disasters": measures.disasters,
}  # fmt: skip
"""Parts that need none of the nodes."""


def main() -> int:
    """Build the nodes, measure, print."""
    parser = argparse.ArgumentParser(description="Costs of sdstop, stage by stage and beside its peers.")
    parser.add_argument("--disks", default="10,100,1000,5000", help="sizes of the nodes, default 10,100,1000,5000")
    parser.add_argument("--quick", action="store_true", help="few repetitions: shows that it runs, not what is true")
    parser.add_argument("--goals", action="store_true", help="the goals alone, over windows of two minutes")
    parser.add_argument("--only", help=f"parts of {','.join(PARTS)}; of the goals: {','.join(goals.PARTS)}")
    parser.add_argument("--ratios", action="store_true", help="leave out figures that hold for this machine alone")
    options = parser.parse_args()
    every = goals.PARTS if options.goals else PARTS
    parts = [part for part in every if options.only is None or part in options.only.split(",")]
    print(machine())
    print(f"Peers: {', '.join(map(str, peers.ALL))}", flush=True)
    with contextlib.ExitStack() as stack:
        where = MEMORY if MEMORY.is_dir() else None  # a disk's file system would take part in what is measured
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sdstop-bench-", dir=where)))
        if options.goals:
            for title, claims in goals.measured(parts, scratch, goals.QUICK if options.quick else goals.LONG):
                print(f"\n{title}\n{claims_table(claims, figures=not options.ratios)}", flush=True)
            return 0
        trees = {}
        for size in sorted({int(word) for word in options.disks.split(",")}):
            trees[size] = scratch / f"node-{size}"
            tree.build(trees[size], size)
        nodes = Nodes(trees, scratch, can_cover())
        for title, claims in measured(parts, nodes, QUICK if options.quick else Effort()):
            if claims:
                print(f"\n{title}\n{claims_table(claims, figures=not options.ratios)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
