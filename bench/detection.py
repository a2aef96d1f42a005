"""Measure the stripe detector on simulated arrays that were not used to tune it, and print what it found.

    python -m bench.detection [--seeds 3] [--first 4000] [--pool held-out|tuning] [--columns 5,9] [--windows 2]
                              [--loads clones,slow] [--misses]
    python -m bench.detection --groups [--seeds 3] [--first 4000] [--pool held-out|tuning] [--misses]

Every family of load on every RAID level, number of columns and kind of disk. Windows are ten seconds at 1 Hz and do
not overlap. A window whose truth lies between (weakly crowded, or a crowd that stands still) counts neither way and is
shown. Takes about five minutes for each seed on two cores.

With `--groups`: slow and stalling members of mirrors, ZFS vdevs, LVM stripes and raids, paths, pools and like disks,
slaves of bonds that carry nothing, and OSDs that Ceph reports as slow, beside their healthy twins. Each second is
judged as a session judges it. Takes half a minute for each seed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from sdstop.analysis.members.stripe import StripePattern
from tests.arrays import groups, reported
from tests.arrays.measure import Outcome, Score, outcomes, score
from tests.arrays.scenarios import FAMILIES, HELD_OUT, TUNING, Convoy, Pool, Scenario, scenario

_FIRST_SEED = {"held-out": 4000, "tuning": 0}
_TIMES = {"clones": 4}  # only some of their windows hold a convoy
_POOLS = {"held-out": HELD_OUT, "tuning": TUNING}


def scenarios(
    pool: Pool, seeds: range, columns_of: Sequence[int] = (), loads: Sequence[str] = tuple(FAMILIES)
) -> list[Scenario]:
    """Return every combination of the pool, or those of these numbers of columns and these loads."""
    return [
        scenario(pool, name, level, columns, media, seed + turn * len(seeds))
        for name, family in FAMILIES.items()
        if name in loads
        for level in family.levels
        for columns in columns_of or pool.columns
        for media in family.media
        for turn in range(_TIMES.get(name, 1))
        for seed in seeds
    ]


def _judge(work: tuple[Scenario, int]) -> list[Outcome]:
    return outcomes(*work)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _print_scores(title: str, every: list[Outcome], by: Callable[[Outcome], Hashable]) -> None:
    print(f"\n| {title} | windows | convoys | found | false | precision | recall | weak or standing |")
    print("|---|---|---|---|---|---|---|---|")
    groups: dict[Hashable, list[Outcome]] = {}
    for outcome in every:
        groups.setdefault(by(outcome), []).append(outcome)
    for key, part in [*groups.items(), ("all", every)]:
        result = score(part, StripePattern.CONVOY)
        between = sum(outcome.truth in {Convoy.WEAK, Convoy.STANDING} for outcome in part)
        print(
            f"| {key} | {len(part)} | {result.found + result.missed} | {result.found} | {result.false} | "
            f"{_percent(result.precision)} | {_percent(result.recall)} | {between} |"
        )


_FEWEST = 10


def _print_worst(every: list[Outcome]) -> None:
    """Print where fewest convoys were found, among the cells that hold enough of them to speak of a share."""
    cells: dict[tuple[object, ...], list[Outcome]] = {}
    for outcome in every:
        spec = outcome.scenario.spec
        kind = "rotational" if spec.media.rotational else "flash"
        pairs: tuple[tuple[object, ...], ...] = (
            (f"{spec.columns} columns", kind), (spec.level.value, kind), (spec.level.value, f"{spec.columns} columns"),
        )  # fmt: skip
        for cell in pairs:
            cells.setdefault(cell, []).append(outcome)
    scores = {cell: score(part, StripePattern.CONVOY) for cell, part in cells.items()}
    full = {cell: result for cell, result in scores.items() if result.found + result.missed >= _FEWEST}
    print(f"\nWorst cells of two properties that hold {_FEWEST} convoys or more:")
    for cell, result in sorted(full.items(), key=lambda item: item[1].recall or 0.0)[:3]:
        there = result.found + result.missed
        name = ", ".join(map(str, cell))
        print(f"- {name}: {result.found} of {there} found ({_percent(result.recall)}), {result.false} false")


def _print_kinds(every: list[Outcome]) -> None:
    kinds = list(StripePattern)
    print("\n| load, truth | " + " | ".join(kinds) + " |")
    print("|---|" + "---|" * len(kinds))
    said: dict[tuple[str, str], Counter[StripePattern]] = {}
    for outcome in every:
        said.setdefault((outcome.scenario.family, outcome.truth.value), Counter())[outcome.verdict.kind] += 1
    for (family, truth), counts in sorted(said.items()):
        name = family if truth == "no" else f"{family}, convoy: {truth}"
        print(f"| {name} | " + " | ".join(str(counts[kind] or "") for kind in kinds) + " |")


def _print_named(name: str, result: Score, windows: int) -> None:
    there = f"{result.found} of {result.found + result.missed} found by name ({_percent(result.recall)})"
    print(f"{name}: {there}, {result.false} false in {windows} windows")


def _judge_group(work: tuple[groups.Shape, int]) -> groups.Found:
    return groups.judged(*work)


def measure_groups(pool: groups.Pool, seeds: range, processes: int, *, misses: bool) -> None:
    """Measure and print what is found of peer groups of every kind."""
    work = [(shape, seed) for seed in seeds for shape in groups.shapes(pool, seed)]
    with multiprocessing.Pool(processes) as workers:
        every = list(workers.imap(_judge_group, work, chunksize=4))
    print("\n| group | healthy | false | slow | found | stalls | found |")
    print("|---|---|---|---|---|---|---|")
    for kind in (*groups.KINDS, "all"):
        part = [found for found in every if kind in {found.shape.kind, "all"}]
        by = {trouble: [found for found in part if found.shape.trouble is trouble] for trouble in groups.Trouble}
        healthy, slow, stalls = (by[trouble] for trouble in groups.Trouble)
        false = sum(bool(found.wrong) for found in part)
        print(f"| {kind} | {len(healthy)} | {false} | {len(slow)} | {sum(f.right for f in slow)} | {len(stalls)} | "
              f"{sum(f.right for f in stalls)} |")  # fmt: skip
    result = groups.score(every)
    print(f"\nprecision {_percent(result.precision)}, recall {_percent(result.recall)}, {len(every)} groups")
    _measure_reported(seeds, misses=misses)
    for found in every:
        if misses and (found.wrong or (found.shape.trouble is not groups.Trouble.NONE and not found.right)):
            print(found)


def _measure_reported(seeds: range, *, misses: bool) -> None:
    """Measure and print what is found of groups whose members are no disks of the node."""
    every = [(shape, *reported.judged(shape, seed)) for seed in seeds for shape in reported.shapes(seed)]
    print("\n| group | healthy | false | sick | found |")
    print("|---|---|---|---|---|")
    for kind in sorted({shape.kind for shape, _, _ in every}):
        part = [each for each in every if each[0].kind == kind]
        sick, false = [each for each in part if each[0].sick], sum(bool(each[2]) for each in part)
        print(f"| {kind} | {len(part) - len(sick)} | {false} | {len(sick)} | {sum(each[1] for each in sick)} |")
    for shape, right, wrong in every:
        if misses and (wrong or right is not shape.sick):
            print(shape, right, wrong)


def main() -> None:
    """Run the measurement."""
    parser = argparse.ArgumentParser(description="Measure the stripe detector.")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, help="the first of them")
    parser.add_argument("--columns", default="", help="numbers of stripe columns, with commas; all of the pool")
    parser.add_argument("--loads", default=",".join(FAMILIES), help="kinds of load, with commas; all")
    parser.add_argument("--pool", choices=sorted(_POOLS), default="held-out")
    parser.add_argument("--windows", type=int, default=2)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--misses", action="store_true", help="print every window that was judged wrongly")
    parser.add_argument("--groups", action="store_true", help="peer groups of every kind instead of md's stripes")
    options = parser.parse_args()
    first = _FIRST_SEED[options.pool] if options.first is None else options.first
    if options.groups:
        pool_of = {"tuning": groups.TUNING, "held-out": groups.HELD_OUT}[options.pool]
        measure_groups(pool_of, range(first, first + options.seeds), options.processes, misses=options.misses)
        return
    columns = [int(number) for number in options.columns.split(",") if number]
    chosen = scenarios(_POOLS[options.pool], range(first, first + options.seeds), columns, options.loads.split(","))
    work = [(each, options.windows) for each in chosen]
    began = time.monotonic()
    with multiprocessing.Pool(options.processes) as pool:
        every = [outcome for part in pool.imap(_judge, work, chunksize=4) for outcome in part]
    print(f"{options.pool}: {len(work)} runs, {len(every)} windows, {time.monotonic() - began:.0f} s")
    _print_scores("load", every, lambda outcome: outcome.scenario.family)
    _print_scores("columns", every, lambda outcome: outcome.scenario.spec.columns)
    _print_scores("level", every, lambda outcome: outcome.scenario.spec.level.value)
    _print_scores("disks", every, lambda outcome: "rotational" if outcome.scenario.spec.media.rotational else "flash")
    _print_worst(every)
    _print_kinds(every)
    print()
    for kind in (StripePattern.HOT, StripePattern.SLOW):
        _print_named(kind.value, score(every, kind), len(every))
    if options.misses:
        for outcome in every:
            if outcome.misses or outcome.cries:
                print(outcome)


if __name__ == "__main__":
    main()
