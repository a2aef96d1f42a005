"""The catalogue of loads on which the stripe detector is tuned and measured, and the truth about each window.

Two pools of parameters share no number of columns, no disk, no chunk, no size or number of clones, no utilisation and
no seed: `TUNING` was used to choose the detector's limits, `HELD_OUT` only to measure it.
"""

from __future__ import annotations

import enum
import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.arrays.geometry import Geometry
from tests.arrays.load import Truth
from tests.arrays.spec import (
    KIB,
    LIMITED_FLASH,
    NVME_FLASH,
    SATA_7200,
    SATA_FLASH,
    ArraySpec,
    Bursts,
    Clones,
    Direction,
    Level,
    Media,
    Random,
    Rebuild,
    Ticks,
)  # fmt: skip

_BUSIEST = 2500.0  # requests per second that the simulation is asked for at most


@dataclass(frozen=True, slots=True)
class Pool:
    """From what a scenario's parameters are drawn."""

    name: str
    columns: tuple[int, ...]
    spinning: tuple[Media, ...]
    flash: tuple[Media, ...]
    limited: tuple[Media, ...]  # flash that serves one request at a time: the kind on which convoys arise
    chunks: tuple[int, ...]
    small_chunk: int
    clone_counts: tuple[int, ...]
    clone_sizes: tuple[int, ...]
    background: tuple[float, ...]  # utilisation by random I/O beside the clones
    loads: tuple[float, ...]  # utilisation by random I/O alone
    callers: tuple[int, ...]
    writes: tuple[float, ...]
    bursts: tuple[int, ...]
    factors: tuple[float, ...]  # of a slow disk
    ratios: tuple[float, ...]  # of a hot column's I/O to the others'


TUNING = Pool(
    name="tuning",
    columns=(4, 6, 8, 12, 23),
    spinning=(SATA_7200,),
    flash=(SATA_FLASH,),
    limited=(LIMITED_FLASH,),
    chunks=(512 * KIB,),
    small_chunk=64 * KIB,
    clone_counts=(6, 10, 20),
    clone_sizes=(16 * KIB, 32 * KIB, 64 * KIB),
    background=(0.0, 0.15, 0.3),
    loads=(0.2, 0.5, 0.8),
    callers=(8, 32, 96),
    writes=(0.0, 0.5, 1.0),
    bursts=(200, 1000, 3000),
    factors=(4.0, 8.0),
    ratios=(4.0, 8.0),
)

HELD_OUT = Pool(
    name="held out",
    columns=(5, 9, 14, 19, 30),
    spinning=(
        Media(rotational=True, rate=160e6, seek=(0.002, 0.007), turn=0.006),
        Media(rotational=True, rate=120e6, seek=(0.004, 0.015), turn=0.0111),
        replace(SATA_7200, reorder=8),
    ),
    flash=(replace(NVME_FLASH, channels=24), replace(SATA_FLASH, channels=6, latency=250e-6)),
    limited=(replace(LIMITED_FLASH, latency=0.0025, jitter=0.05), replace(LIMITED_FLASH, latency=0.0045, jitter=0.1)),
    chunks=(256 * KIB, 1024 * KIB),
    small_chunk=32 * KIB,
    clone_counts=(7, 12, 16),
    clone_sizes=(20 * KIB, 28 * KIB, 40 * KIB),
    background=(0.05, 0.1, 0.2),
    loads=(0.1, 0.4, 0.7),
    callers=(10, 40, 120),
    writes=(0.3, 0.6, 0.8),
    bursts=(150, 700, 2200),
    factors=(5.0, 6.5),
    ratios=(5.0, 7.0),
)


class Expected(enum.Enum):
    """What a scenario is about."""

    HEALTHY = "healthy"  # never a convoy, a hot column or a slow disk
    CLONES = "clones"  # a convoy where the truth says so, never a hot column or a slow disk unless it stands still
    HOT = "hot"
    SLOW = "slow"
    NO_CONVOY = "no convoy"  # a load of which only the convoy is judged


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run: what it is called, what it must show, and how it is simulated."""

    family: str
    expected: Expected
    spec: ArraySpec
    seed: int
    accounted: bool  # whether the kernel counts the md device's own busy time


Draw = random.Random
_Make = Callable[[Pool, ArraySpec, Draw], ArraySpec]


def _rate(spec: ArraySpec, utilisation: float, writes: float, size: int = 8 * KIB, most: float = _BUSIEST) -> float:
    """Return the random requests per second, at most `most`, that keep the columns busy for this share of the time."""
    media = spec.media
    service = media.latency + sum(media.seek) / 2 + media.turn / 2 + size / media.rate
    reads = 1 - writes
    cost = {
        Level.RAID0: 1.0, Level.RAID10: writes + reads / 2,
        Level.RAID5: reads + 4 * writes, Level.RAID6: reads + 6 * writes,
    }[spec.level]  # fmt: skip
    return min(most, utilisation * spec.columns * media.channels / service / cost)


def _background(pool: Pool, spec: ArraySpec, draw: Draw) -> Random:
    return Random(rate=_rate(spec, draw.choice(pool.background), 0.5))


def _idle(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    return replace(spec, random=Random(rate=_rate(spec, 0.02, 0.5)))


def _random(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    writes = draw.choice(pool.writes)
    return replace(spec, random=Random(rate=_rate(spec, draw.choice(pool.loads), writes), writes=writes))


def _callers(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    # Flash answers so fast that the simulation could not keep up with more.
    count = draw.choice(pool.callers) if spec.media.rotational or spec.media.channels == 1 else 2
    return replace(spec, random=Random(outstanding=count, writes=draw.choice(pool.writes)))


def _mixed_sizes(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    sizes = (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB)
    rate = _rate(spec, draw.choice(pool.loads), 0.5, 85 * KIB) * 0.9
    return replace(spec, random=Random(rate=rate, sizes=sizes))


def _skewed(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    return replace(
        spec, random=Random(rate=_rate(spec, min(0.4, draw.choice(pool.loads)), 0.5), skew=draw.choice((0.5, 0.8)))
    )


def _bursts(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    bursts = Bursts(period=draw.choice((2.0, 5.0)), count=draw.choice(pool.bursts), run=draw.choice((1, 8, 64)))
    return replace(spec, random=_background(pool, spec, draw), bursts=bursts)


def _one_clone(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    clones = Clones(
        count=1,
        window=draw.choice((1, 4, 16)),
        size=draw.choice(pool.clone_sizes),
        direction=draw.choice(list(Direction)),
    )
    return replace(spec, random=_background(pool, spec, draw), clones=clones)


def _one_clone_on_flash(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    # As fast as flash is, it must wait for its source: else the simulation could not keep up.
    clones = Clones(
        count=1,
        window=draw.choice((1, 4)),
        size=draw.choice(pool.clone_sizes),
        direction=draw.choice(list(Direction)),
        think=0.001,
    )
    return replace(spec, random=_background(pool, spec, draw), clones=clones)


def _journal(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    clones = Clones(count=2, size=4 * KIB, think=0.01)
    return replace(spec, random=Random(rate=_rate(spec, draw.choice(pool.loads), 0.5)), clones=clones)


def _deep_clones(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    clones = Clones(count=draw.choice(pool.clone_counts), window=8, size=draw.choice(pool.clone_sizes))
    return replace(spec, random=_background(pool, spec, draw), clones=clones)


def _small_chunk(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    clones = Clones(count=draw.choice(pool.clone_counts), size=pool.clone_sizes[1])
    return replace(spec, chunk=pool.small_chunk, random=_background(pool, spec, draw), clones=clones)


def _unequal(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    big = draw.randrange(1, spec.disks // 2 + 1)
    sizes = tuple(draw.choice((2.0, 4.0)) if member < big else 1.0 for member in range(spec.disks))
    return replace(_random(pool, spec, draw), sizes=sizes)


def _degraded(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    loaded = replace(spec, random=Random(rate=_rate(spec, draw.choice(pool.loads) * 0.6, 0.5)))
    return replace(loaded, missing=frozenset({draw.randrange(spec.disks)}))


def _rebuild(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    member = draw.choice((None, draw.randrange(spec.disks)))
    rebuild = Rebuild(member=member, limit=draw.choice((10e6, 80e6)))
    return replace(spec, random=_background(pool, spec, draw), rebuild=rebuild)


def _clones(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    clones = Clones(
        count=draw.choice(pool.clone_counts),
        size=draw.choice(pool.clone_sizes),
        direction=draw.choice((Direction.READ, Direction.WRITE)),
        same_phase=draw.random() < 0.5,
    )
    return replace(spec, chunk=draw.choice(pool.chunks), random=_background(pool, spec, draw), clones=clones)


def _hot(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    ratio = draw.choice(pool.ratios)
    share = (ratio - 1) / (spec.columns + ratio - 1)
    column = draw.randrange(spec.columns)
    if draw.random() < 0.5:
        return replace(spec, random=Random(outstanding=16, hot_share=share, hot_column=column))
    busiest = ratio * spec.columns / (spec.columns + ratio - 1)
    rate = _rate(spec, 1.02 / busiest, 0.5, most=10_000.0)
    return replace(spec, random=Random(rate=rate, hot_share=share, hot_column=column))


def _slow(pool: Pool, spec: ArraySpec, draw: Draw) -> ArraySpec:
    factor = draw.choice(pool.factors)
    writes = draw.choice((0.5, 1.0))
    load = Random(rate=_rate(spec, draw.choice((0.5, 0.8)) / factor, writes), writes=writes)
    if draw.random() < 0.3 and (spec.media.rotational or spec.media.channels == 1):
        load = Random(outstanding=16, writes=writes)
    return replace(spec, random=load, slow=((draw.randrange(spec.disks), factor),))


_EVERY = tuple(Level)
_REDUNDANT = (Level.RAID10, Level.RAID5, Level.RAID6)


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of load: on which levels, on which disks, and what it must show."""

    make: _Make
    expected: Expected = Expected.HEALTHY
    levels: tuple[Level, ...] = _EVERY
    media: tuple[str, ...] = ("spinning", "flash", "limited")


FAMILIES = {
    "idle": Family(_idle),
    "random": Family(_random),
    "callers": Family(_callers),
    "mixed sizes": Family(_mixed_sizes),
    "skewed": Family(_skewed, Expected.NO_CONVOY),
    "bursts": Family(_bursts),
    "one clone": Family(_one_clone, media=("spinning",)),
    "one clone on flash": Family(_one_clone_on_flash, media=("flash",)),
    "journal": Family(_journal),
    "deep clones": Family(_deep_clones, Expected.CLONES, media=("spinning",)),
    "small chunk": Family(_small_chunk, Expected.CLONES, media=("spinning", "limited")),
    "unequal": Family(_unequal, levels=(Level.RAID0,)),
    "degraded": Family(_degraded, levels=_REDUNDANT),
    "rebuild": Family(_rebuild, Expected.NO_CONVOY, levels=_REDUNDANT, media=("spinning",)),
    "clones": Family(_clones, Expected.CLONES, media=("spinning", "limited")),
    "hot": Family(_hot, Expected.HOT, levels=(Level.RAID0, Level.RAID10), media=("spinning", "limited")),
    "slow": Family(_slow, Expected.SLOW),
}


def scenario(pool: Pool, family: str, level: Level, columns: int, media: str, seed: int) -> Scenario:
    """Draw a scenario; the same arguments give the same one."""
    draw = random.Random(f"{pool.name} {family} {level} {columns} {media} {seed}")
    disks = {"spinning": pool.spinning, "flash": pool.flash, "limited": pool.limited}[media]
    spec = ArraySpec(
        level=level,
        disks=columns * 2 if level is Level.RAID10 else columns,
        chunk=pool.chunks[0],
        media=draw.choice(disks),
        ticks=draw.choice(list(Ticks)),
    )
    chosen = FAMILIES[family]
    return Scenario(family, chosen.expected, chosen.make(pool, spec, draw), seed, draw.random() < 0.5)


class Convoy(enum.Enum):
    """The truth about one window."""

    YES = "yes"
    NO = "no"
    WEAK = "weak"  # more crowded than chance, less than half as much again
    STANDING = "standing"  # a crowd that hardly moved: for these seconds a hot column


CROWDED = 1.5
CHANCE = 1.25
MOVING = 0.5


def convoy(truths: Sequence[Truth], spec: ArraySpec) -> Convoy:
    """Say from the clones' positions alone whether a window holds a convoy.

    The yardstick is chance: as many clones, each at a random chunk of its own. In a convoy the fullest member holds
    at least 1.5 times the clones that it would then, the clones stand on at most 1/1.5 of the members, and no column
    is among the fullest for more than half of the window. There is none where the fullest member holds at most 1.25
    times the clones.
    """
    if spec.clones is None or spec.clones.count < 3:
        return Convoy.NO
    fullest, occupied = chance(spec)
    crowd = sum(truth.crowd for truth in truths) / len(truths)
    found = sum(truth.occupied for truth in truths) / len(truths)
    places = [sum(parts) / len(truths) for parts in zip(*(truth.places for truth in truths), strict=True)]
    if crowd <= CHANCE * fullest:
        return Convoy.NO
    if crowd < CROWDED * fullest or found > occupied / CROWDED:
        return Convoy.WEAK
    return Convoy.YES if max(places) <= MOVING else Convoy.STANDING


@functools.lru_cache(maxsize=4096)
def chance(spec: ArraySpec, tries: int = 300) -> tuple[float, float]:
    """Return how many clones the fullest member holds, and on how many members they stand, when chance places them."""
    draw = random.Random(0)
    geometry, clones = Geometry(spec), spec.clones
    if clones is None:
        raise ValueError("no clones")
    last = geometry.size // spec.chunk
    fullest = occupied = 0
    for _ in range(tries):
        at: dict[int, int] = {}
        for _clone in range(clones.count):
            place = geometry.place(draw.randrange(last))
            writing = clones.direction is Direction.WRITE or (
                clones.direction is Direction.COPY and draw.random() < 0.5
            )
            for member in (*place.copies, *place.parity) if writing else (draw.choice(place.copies),):
                at[member] = at.get(member, 0) + 1
        fullest += max(at.values())
        occupied += len(at)
    return fullest / tries, occupied / tries
