"""What a simulated array is made of and what is done to it.

Everything is a frozen dataclass, so that a scenario can be printed beside a failed test and rebuilt by hand.
Sizes are bytes, times seconds, shares 0..1.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


class Level(enum.StrEnum):
    """An md personality, spelt as `/sys/block/mdN/md/level` spells it."""

    RAID0 = "raid0"
    RAID10 = "raid10"
    RAID5 = "raid5"
    RAID6 = "raid6"


class Direction(enum.Enum):
    """What a clone does: a copy reads a piece, then writes it elsewhere."""

    READ = "read"
    WRITE = "write"
    COPY = "copy"


class Ticks(enum.Enum):
    """How the kernel counts busy time.

    `WHOLE` adds the whole gap when something was in flight (6.1 stable, 6.10 and later); `SAMPLED` (5.0 to 6.9)
    also adds one jiffy whenever a request starts in a jiffy not yet counted, and so overstates fast devices.
    """

    WHOLE = "whole"
    SAMPLED = "sampled"


@dataclass(frozen=True, slots=True)
class Media:
    """Service times of one disk.

    A request that does not continue where its channel's last one ended pays `seek` (uniform between the two) and a
    uniform part of one `turn`; every request pays `latency` (varied by +-`jitter`) and its size at `rate`.
    `reorder` is how far down its queue the disk looks for a request that continues where the head is.
    """

    rotational: bool
    rate: float
    channels: int = 1
    seek: tuple[float, float] = (0.0, 0.0)
    turn: float = 0.0
    latency: float = 0.0
    jitter: float = 0.0
    reorder: int = 1


SATA_7200 = Media(rotational=True, rate=150e6, seek=(0.003, 0.011), turn=0.00833)
SAS_15K = Media(rotational=True, rate=180e6, seek=(0.0015, 0.005), turn=0.004)
SATA_FLASH = Media(rotational=False, rate=60e6, channels=8, latency=120e-6, jitter=0.4)
NVME_FLASH = Media(rotational=False, rate=100e6, channels=32, latency=90e-6, jitter=0.4)
# A flash disk behind a limit of its own (cloud volume, worn controller): one at a time, always the same time.
LIMITED_FLASH = Media(rotational=False, rate=1e9, latency=0.002, jitter=0.02)


@dataclass(frozen=True, slots=True)
class Random:
    """Random I/O: Poisson at `rate` per second, and `outstanding` callers that each wait for their answer."""

    rate: float = 0.0
    outstanding: int = 0
    sizes: tuple[int, ...] = (8 * KIB,)
    writes: float = 0.5
    hot_share: float = 0.0  # this part of the I/O goes to one small region of one stripe column
    hot_column: int = 0
    skew: float = 0.0  # exponent of the popularity of 256 areas of the array: 0 = all alike, 1 = Zipf


@dataclass(frozen=True, slots=True)
class Clones:
    """Sequential closed-loop streams, each with `window` requests of `size` outstanding and `think` between them.

    `same_phase` starts all of them at the same time on the same stripe column, else each starts anywhere.
    """

    count: int = 10
    window: int = 1
    size: int = 32 * KIB
    direction: Direction = Direction.WRITE
    same_phase: bool = False
    think: float = 0.0


@dataclass(frozen=True, slots=True)
class Bursts:
    """Page-cache write-back: every `period`, `count` writes of `size` at once, in runs of `run` that touch."""

    period: float = 5.0
    count: int = 400
    size: int = 8 * KIB
    run: int = 1


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Reconstruction of one member, or a check of all (`member` None), at most `limit` bytes a second."""

    member: int | None = 0
    size: int = 64 * KIB
    window: int = 4
    limit: float = 50e6
    started: float = 0.1  # share already done at the first frame


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """One md array and its load. `disks` are members; RAID10 is near 2, so its stripe columns are pairs."""

    level: Level = Level.RAID10
    disks: int = 8
    chunk: int = 512 * KIB
    member_size: int = 64 * GIB
    sizes: tuple[float, ...] = ()  # per member, times `member_size`; RAID0 makes zones of them, others waste the rest
    media: Media = SATA_7200
    random: Random = Random()
    clones: Clones | None = None
    bursts: Bursts | None = None
    rebuild: Rebuild | None = None
    slow: tuple[tuple[int, float], ...] = ()  # member, factor on its service time
    missing: frozenset[int] = frozenset()  # failed members
    ticks: Ticks = Ticks.WHOLE
    name: str = "md0"

    def __post_init__(self) -> None:
        least = {Level.RAID0: 2, Level.RAID10: 2, Level.RAID5: 3, Level.RAID6: 4}[self.level]
        if self.disks < least or (self.level is Level.RAID10 and self.disks % 2):
            raise ValueError(f"{self.level} of {self.disks} disks")
        if self.chunk % (4 * KIB) or self.member_size % self.chunk:
            raise ValueError(f"chunk {self.chunk} does not fit member size {self.member_size}")
        if self.sizes and (len(self.sizes) != self.disks or min(self.sizes) < 1):
            raise ValueError("one size of at least 1 for each member")
        if self.level is Level.RAID0 and self.missing:
            raise ValueError("raid0 does not survive a missing member")

    @property
    def columns(self) -> int:
        """Stripe columns: the places among which consecutive chunks go round."""
        return self.disks // 2 if self.level is Level.RAID10 else self.disks

    def column_of(self, member: int) -> int:
        """Return the stripe column that a member belongs to."""
        return member // 2 if self.level is Level.RAID10 else member
