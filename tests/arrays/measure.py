"""How well `analysis.stripe` tells what a simulated array suffers from: verdicts beside the truth, and their score.

The way is that of the program: the text of `/proc/diskstats` of successive seconds, rates, ten seconds judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sdstop.analysis.members.column import Second, StripeColumn, StripeMember
from sdstop.analysis.members.stripe import StripePattern, Verdict, judge
from tests.arrays.evidence import member_name
from tests.arrays.geometry import Geometry
from tests.arrays.scenarios import Convoy, Expected, Scenario, convoy
from tests.arrays.simulation import Frame, simulate
from tests.arrays.spec import ArraySpec, Level

WINDOW = 10
"""Seconds of one judgement."""

PARITY = {Level.RAID0: 0, Level.RAID10: 0, Level.RAID5: 1, Level.RAID6: 2}


def rows(diskstats: str) -> dict[str, list[int]]:
    """Return the counters of each device of `/proc/diskstats`."""
    return {(parts := line.split())[2]: [int(word) for word in parts[3:]] for line in diskstats.splitlines()}


def member(name: str, before: Sequence[int], now: Sequence[int], seconds: float) -> StripeMember:
    """Return what a disk did between two rows of `/proc/diskstats`."""
    delta = [b - a for a, b in zip(before, now, strict=True)]
    return StripeMember(
        name,
        queue=delta[10] / 1000 / seconds,
        busy=delta[9] / 1000 / seconds,
        reads=delta[0] / seconds,
        writes=delta[4] / seconds,
        read_bytes=delta[2] * 512 / seconds,
        write_bytes=delta[6] * 512 / seconds,
        read_wait=delta[3] / 1000 / delta[0] if delta[0] else None,
        write_wait=delta[7] / 1000 / delta[4] if delta[4] else None,
    )


def seconds(frames: Iterable[Frame], spec: ArraySpec, *, accounted: bool = True) -> Iterator[Second]:
    """Yield the columns of each interval; `accounted` says whether the kernel counts the array's own busy time."""
    geometry = Geometry(spec)
    columns: list[list[int]] = [[] for _ in range(spec.columns)]
    for number in range(spec.disks):
        if number not in spec.missing:
            columns[spec.column_of(number)].append(number)
    for before, now in pairwise(frames):
        took = now.monotonic - before.monotonic
        old, new = rows(before.diskstats), rows(now.diskstats)
        names = [[member_name(number) for number in members] for members in columns]
        made = tuple(
            StripeColumn(
                tuple(member(name, old[name], new[name], took) for name in legs), geometry.capacity_share(members[0])
            )
            for members, legs in zip(columns, names, strict=True)
            if members
        )
        busy = (new[spec.name][9] - old[spec.name][9]) / 1000 / took
        yield Second.of(made, busy if accounted else None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One window of a scenario: what was so, and what was said."""

    scenario: Scenario
    number: int
    truth: Convoy
    verdict: Verdict

    @property
    def misses(self) -> bool:
        """Whether something that was so was not found."""
        kind, expected = self.verdict.kind, self.scenario.expected
        if expected is Expected.HOT:
            return kind is not StripePattern.HOT or self._hot not in self.verdict.top
        if expected is Expected.SLOW:
            wait = self.verdict.wait
            return kind is not StripePattern.SLOW or wait is None or wait.disk != self._slow
        return self.truth is Convoy.YES and kind is not StripePattern.CONVOY

    @property
    def cries(self) -> bool:
        """Whether something was found that was not so."""
        kind, expected = self.verdict.kind, self.scenario.expected
        if kind is StripePattern.CONVOY:
            return self.truth is Convoy.NO
        if kind is StripePattern.SLOW:
            return expected is not Expected.SLOW
        standing = self.truth is Convoy.STANDING  # then it is asked for more, for as long as the window lasts
        return kind is StripePattern.HOT and expected not in {Expected.HOT, Expected.NO_CONVOY} and not standing

    @property
    def _hot(self) -> str:
        spec = self.scenario.spec
        legs = spec.disks // spec.columns
        return member_name(spec.random.hot_column * legs)

    @property
    def _slow(self) -> str:
        return member_name(self.scenario.spec.slow[0][0])

    def __str__(self) -> str:
        return f"{self.scenario.family} #{self.number}: {self.truth}, {self.verdict}, {self.scenario}"


def outcomes(scenario: Scenario, windows: int = 2) -> list[Outcome]:
    """Simulate a scenario and judge this many windows of it, which do not overlap."""
    spec = scenario.spec
    frames = list(simulate(spec, scenario.seed, WINDOW * windows))
    every = list(seconds(frames, spec, accounted=scenario.accounted))
    truths = [frame.truth for frame in frames[1:]]
    found = []
    for number in range(windows):
        part = slice(number * WINDOW, (number + 1) * WINDOW)
        verdict = judge(every[part], rotational=spec.media.rotational, parity=PARITY[spec.level])
        found.append(Outcome(scenario, number, convoy(truths[part], spec), verdict))
    return found


@dataclass(slots=True)
class Score:
    """Windows counted; `kinds` is what was said of each truth."""

    found: int = 0
    missed: int = 0
    false: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def precision(self) -> float | None:
        """Right among those claimed; None if nothing was claimed."""
        claimed = self.found + self.false
        return self.found / claimed if claimed else None

    @property
    def recall(self) -> float | None:
        """Found among those there were; None if there were none."""
        there = self.found + self.missed
        return self.found / there if there else None


def score(every: Iterable[Outcome], kind: StripePattern) -> Score:
    """Count how a kind of verdict (convoy, hot or slow) did."""
    expected = {StripePattern.HOT: Expected.HOT, StripePattern.SLOW: Expected.SLOW}.get(kind)
    result = Score()
    for outcome in every:
        there = outcome.truth is Convoy.YES if kind is StripePattern.CONVOY else outcome.scenario.expected is expected
        if there:
            result.missed += outcome.misses
            result.found += not outcome.misses
        result.false += outcome.verdict.kind is kind and outcome.cries
        result.kinds[f"{outcome.truth.value}: {outcome.verdict.kind.value}"] += 1
    return result
