"""Simulated peer groups beside md's stripes: what keeps their members busy, and which of them is sick.

Each member is a simulated disk (tests.arrays.disk). What differs is how a kind of group spreads its requests: a raidz
asks all members, a mirror writes to all and reads from one, a pool of OSDs or SDS devices writes three copies to random
members by weight, paths are asked in turn, and like disks have their own loads. `TUNING` was looked at when limits were
chosen; the shapes and seeds of `HELD_OUT` were not.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sdstop.core.evidence import Origin
from sdstop.core.finding import Severity
from sdstop.core.session import Session
from sdstop.rules import RULES
from sdstop.rules.arrays.slow_stripe_member import SLOW_STRIPE_MEMBER
from sdstop.rules.disks.slow_device import SLOW_DEVICE
from tests.arrays.clock import Clock
from tests.arrays.disk import Disk
from tests.arrays.measure import Score
from tests.arrays.spec import KIB, NVME_FLASH, SAS_15K, SATA_7200, SATA_FLASH, Media, Ticks
from tests.nodes import peers
from tests.rules.stripes import Files, frames

SECONDS = 72
_BOOT = 1000.0


class Trouble(enum.Enum):
    """What one member suffers from."""

    NONE = "healthy"
    SLOW = "slow"
    STALLS = "stalls"


@dataclass(frozen=True, slots=True)
class Shape:
    """One group: its kind (a key of KINDS), members, medium, load, and the sick member's trouble.

    `load` is the utilization of a member by chance requests. `unequal` members get rates that differ by up to this
    factor. `factor` multiplies the service time of the first member if it is slow; a stalling one stands still for
    `still` of every `every` seconds.
    """

    kind: str
    members: int
    media: Media
    load: float
    writes: float = 0.5
    unequal: float = 1.0
    bursts: bool = False
    trouble: Trouble = Trouble.NONE
    factor: float = 6.0
    still: int = 3
    every: int = 9


def _all(shape: Shape, draw: random.Random, write: bool, turn: int) -> Sequence[int]:  # noqa: FBT001
    return range(shape.members)


def _mirror(shape: Shape, draw: random.Random, write: bool, turn: int) -> Sequence[int]:  # noqa: FBT001
    return range(shape.members) if write else (draw.randrange(shape.members),)


def _copies(shape: Shape, draw: random.Random, write: bool, turn: int) -> Sequence[int]:  # noqa: FBT001
    weights = [1.0 + (shape.unequal - 1.0) * n / shape.members for n in range(shape.members)]
    chosen: list[int] = []
    while len(chosen) < (3 if write else 1):
        (one,) = draw.choices(range(shape.members), weights)
        if one not in chosen:
            chosen.append(one)
    return chosen


def _in_turn(shape: Shape, draw: random.Random, write: bool, turn: int) -> Sequence[int]:  # noqa: FBT001
    return (turn % shape.members,)


def _own(shape: Shape, draw: random.Random, write: bool, turn: int) -> Sequence[int]:  # noqa: FBT001
    weights = [shape.unequal ** (n / max(1, shape.members - 1)) for n in range(shape.members)]
    return draw.choices(range(shape.members), weights)


Spread = Callable[[Shape, random.Random, bool, int], Sequence[int]]

KINDS: dict[str, tuple[str, Spread]] = {
    "mirror of md": ("mirror of md", _mirror),
    "ZFS mirror": ("ZFS mirror", _mirror),
    "raidz2": ("raidz2", _all),
    "dRAID": ("dRAID", _all),
    "LVM stripe": ("LVM stripe", _own),
    "mirror of LVM": ("LVM raid", _mirror),
    "raid6 of LVM": ("LVM raid", _all),
    "multipath": ("multipath", _in_turn),
    "pool devices": ("like disks", _copies),
    "like disks": ("like disks", _own),
}
"""Kinds of groups, each with the structure that forms it, and how it spreads requests.

A pool's devices have the evidence of like disks here: the statistics are the same.
"""


def simulated(shape: Shape, seed: int) -> Iterator[tuple[float, str]]:
    """Yield time and diskstats of each second."""
    draw = random.Random(f"{seed} {shape}")
    clock = Clock()
    slow = shape.factor if shape.trouble is Trouble.SLOW else 1.0
    disks = [Disk(clock, shape.media, draw, Ticks.WHOLE, slow if n == 0 else 1.0) for n in range(shape.members)]
    media, structure = shape.media, KINDS[shape.kind]
    service = media.latency + sum(media.seek) / 2 + media.turn / 2 + 8 * KIB / media.rate
    asked = sum(len(structure[1](shape, draw, draw.random() < shape.writes, n)) for n in range(200)) / 200
    busiest = max(slow if asked >= 1 else 1.0, 1.0)
    rate = min(600.0, shape.load * shape.members * min(media.channels, 4) / service / asked)
    if slow > 1:  # the sick member must not be asked for more than it can do
        rate = min(rate, 0.8 * media.channels * shape.members / service / asked / busiest)
    turns = 0

    def ask(now: float) -> None:
        nonlocal turns
        write = draw.random() < shape.writes
        turns += 1
        start = draw.randrange(1 << 38) // 4096 * 4096
        for member in structure[1](shape, draw, write, turns):
            disks[member].submit(now, start, 8 * KIB, write=write, done=_nothing)

    def arrive(now: float, _: object) -> None:
        ask(now)
        clock.at(now + draw.expovariate(rate), arrive)

    def burst(now: float, _: object) -> None:
        for _ in range(int(rate * 2)):
            ask(now)
        clock.at(now + 5.0, burst)

    def stand(now: float, _: object) -> None:
        for _ in range(media.channels):
            size = int(shape.still * media.rate)
            disks[0].submit(now, 1 << 39, size, write=True, done=_nothing)
        clock.at(now + shape.every, stand)

    clock.at(0.0, burst if shape.bursts else arrive)
    if shape.trouble is Trouble.STALLS:
        clock.at(draw.random() * shape.every, stand)
    for second in range(SECONDS + 1):
        clock.run_until(4.0 + second)
        now = 4.0 + second
        rows = [
            disk.counters.row(*_number(name), name, now)
            for device, disk in zip(names(shape), disks, strict=True)
            for name in (device, *_images(shape, device))
        ]
        yield _BOOT + now, "".join(f"{row}\n" for row in rows)


def _number(name: str) -> tuple[int, int]:
    major, minor = peers.number(name).split(":")
    return int(major), int(minor)


def _images(shape: Shape, device: str) -> list[str]:
    """Return the image of a raid volume that is all that a disk holds, none in other groups."""
    place = names(shape).index(device)
    return [f"dm-{peers.FIRST_IMAGE + place}"] if KINDS[shape.kind][0] == "LVM raid" else []


def _nothing(now: float) -> None:
    pass


def names(shape: Shape) -> list[str]:
    """Return the names of a group's disks."""
    return [f"sd{chr(ord('b') + number)}" for number in range(shape.members)]


def structure(shape: Shape) -> Files:
    """Return the evidence that these disks form a group."""
    disks = names(shape)
    return peers.disks(disks, rotational=int(shape.media.rotational)) | {**peers.GROUPS, **peers.STACKED}[
        KINDS[shape.kind][0]
    ](disks)


@dataclass(frozen=True, slots=True)
class Found:
    """What was said of a group above info, in any second: the members named, the right one and others."""

    shape: Shape
    seed: int
    right: bool
    wrong: tuple[str, ...]


def judged(shape: Shape, seed: int) -> Found:
    """Simulate a group and judge each second of it; on a healthy one, no rule at all may report anything above info."""
    files = structure(shape)
    rules = RULES if shape.trouble is Trouble.NONE else (SLOW_DEVICE, SLOW_STRIPE_MEMBER)
    session = Session(Origin("n"), peers.COLLECTORS, rules)
    session.feed_all(frames([(time, files | {"/proc/diskstats": text}) for time, text in simulated(shape, seed)]))
    said = {
        episode.finding.subject.rpartition("/")[2]
        for episode in session.episodes()
        if episode.finding.severity is not Severity.INFO
    }
    sick = {names(shape)[0], *_images(shape, names(shape)[0])} if shape.trouble is not Trouble.NONE else set()
    return Found(shape, seed, bool(sick & said), tuple(sorted(said - sick)))


def score(every: Iterable[Found]) -> Score:
    """Count the sick members that were named, those that were not, and groups of which another one was."""
    result = Score()
    for found in every:
        sick = found.shape.trouble is not Trouble.NONE
        result.found += sick and found.right
        result.missed += sick and not found.right
        result.false += bool(found.wrong)
    return result


@dataclass(frozen=True, slots=True)
class Pool:
    """From what shapes are drawn; two pools share none of these."""

    members: tuple[int, ...]
    spinning: tuple[Media, ...]
    flash: tuple[Media, ...]
    loads: tuple[float, ...]
    writes: tuple[float, ...]
    factors: tuple[float, ...]
    stalls: tuple[tuple[int, int], ...]


TUNING = Pool((4, 6), (SATA_7200,), (SATA_FLASH,), (0.05, 0.3, 0.6), (0.3, 0.7), (5.0, 10.0), ((3, 9),))
HELD_OUT = Pool(
    (3, 5, 9),
    (SAS_15K, Media(rotational=True, rate=120e6, seek=(0.004, 0.015), turn=0.0111)),
    (replace(NVME_FLASH, channels=8), replace(SATA_FLASH, channels=6, latency=250e-6)),
    (0.03, 0.2, 0.5),
    (0.5, 0.8),
    (6.0, 8.0, 15.0),
    ((4, 12), (2, 8)),
)


def shapes(pool: Pool, seed: int) -> Iterator[Shape]:
    """Yield a healthy, a bursting, an unequal, a slow and a stalling group of every kind, on both kinds of disk."""
    draw = random.Random(f"{pool} {seed}")
    for kind in KINDS:
        mirror = "mirror" in kind
        for media in (draw.choice(pool.spinning), draw.choice(pool.flash)):
            members = draw.choice((2, 3)) if mirror else draw.choice(pool.members)
            writes = draw.choice(pool.writes)
            healthy = Shape(kind, members, media, draw.choice(pool.loads), writes)
            yield healthy
            yield replace(healthy, bursts=True)
            yield replace(healthy, unequal=draw.choice((1.3, 4.0)), load=draw.choice(pool.loads))
            calm = replace(healthy, load=pool.loads[1])
            yield replace(calm, trouble=Trouble.SLOW, factor=draw.choice(pool.factors))
            still, every = draw.choice(pool.stalls)
            yield replace(calm, trouble=Trouble.STALLS, still=still, every=every)
