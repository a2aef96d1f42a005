"""Three dm-caches on one SSD: one is full of dirty blocks, one must be checked, one is of no use."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.nodes.system import Shape
from tests.stories.rows import Rows
from tests.stories.scene import Stories
from tests.stories.told import Evidence, Told, moved

_STARTED = 1_796_500_000.0
_BEFORE = 600_000
_BLOCK = 128
"""Sectors."""
_BLOCKS = 400_000
_ORIGIN = 3_907_029_168
_DM = 253


@dataclass(frozen=True, slots=True)
class Mapping:
    """A cache: what it counts a second, its dirty blocks and how they grow, and the last words of its status."""

    name: str
    minor: int
    origin: str
    read_hits: int = 0
    read_misses: int = 0
    write_hits: int = 0
    write_misses: int = 0
    promotions: int = 0
    dirty: int = 0
    growth: int = 0
    cleaned: int = 0
    words: str = "rw -"

    def status(self, second: int) -> str:
        """Return its line of `dmsetup status`."""
        passed = _BEFORE + second
        counts = (self.read_hits, self.read_misses, self.write_hits, self.write_misses)
        moves = self.promotions * passed
        counted = " ".join(str(count * passed) for count in counts)
        return (
            f"{self.name}: 0 {_ORIGIN} cache 8 2210/65536 {_BLOCK} {_BLOCKS}/{_BLOCKS} {counted} {moves} {moves} "
            f"{self.dirty + self.growth * second} 1 writeback 2 migration_threshold 2048 smq 0 {self.words}\n"
        )

    def table(self) -> str:
        """Return its line of `dmsetup table`: metadata, data and origin."""
        meta = 2 * self.minor + 1
        origin = 16 * "abcdefgh".index(self.origin[2])
        return f"{self.name}: 0 {_ORIGIN} cache 8:{16 + meta} 8:{16 + meta + 1} 8:{origin} {_BLOCK} 1 writeback smq 0\n"

    def rows(self, second: int) -> Rows:
        """Return what the mapping and its origin counted: the origin gets what missed, and what is written back."""
        reads, writes = self.read_hits + self.read_misses, self.write_hits + self.write_misses
        whole = _BLOCK * 512
        below = self.read_misses + self.promotions
        read = self.read_misses * 8192 + self.promotions * whole
        written = self.write_misses * 8192 + self.cleaned * whole
        busy = min(0.97, (below + self.write_misses + self.cleaned) * 0.006)
        return {
            f"dm-{self.minor}": moved(second, reads=reads, read=reads * 8192, read_wait=0.004, writes=writes,
                                      written=writes * 8192, write_wait=0.002, busy=0.6, before=_BEFORE),
            self.origin: moved(second, reads=below, read=read, read_wait=0.007, writes=self.write_misses + self.cleaned,
                               written=written, write_wait=0.009, busy=busy, before=_BEFORE),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mapped:
    """The node with its caches."""

    taken: float
    mappings: tuple[Mapping, ...]

    def write(self, path: Path) -> None:
        """Write the capture."""
        names = {"sdb": (8, 16), **{f"sdb{n}": (8, 16 + n) for n in range(1, 2 * len(self.mappings) + 1)}}
        for mapping in self.mappings:
            names[mapping.origin] = (8, 16 * "abcdefgh".index(mapping.origin[2]))
            names[f"dm-{mapping.minor}"] = (_DM, mapping.minor)
        Told(Shape("web4", iowait=0.12, load=4.0), self.taken, 2, 16, self._told, names, self._counted).write(path)

    def _counted(self, second: int) -> Rows:
        """Return the rows of the SSD, too: hits, blocks taken in, and blocks read to be written back."""
        found: Rows = {"sdb": [0] * 17}
        for mapping in self.mappings:
            found |= mapping.rows(second)
            whole = _BLOCK * 512
            reads, writes = mapping.read_hits + mapping.cleaned, mapping.write_hits + mapping.promotions
            data = moved(
                second, reads=reads, read=mapping.read_hits * 8192 + mapping.cleaned * whole, read_wait=0.0002,
                writes=writes, written=mapping.write_hits * 8192 + mapping.promotions * whole, write_wait=0.0003,
                busy=0.08, before=_BEFORE,
            )  # fmt: skip
            found[f"sdb{2 * mapping.minor + 1}"] = moved(second, writes=1, written=4096, write_wait=0.0001, busy=0.0001,
                                                         before=_BEFORE)  # fmt: skip
            found[f"sdb{2 * mapping.minor + 2}"] = data
            found["sdb"] = [a + b + c for a, b, c in zip(found["sdb"], data, found[f"sdb{2 * mapping.minor + 1}"],
                                                         strict=True)]  # fmt: skip
        return found

    def _told(self, second: int) -> Evidence:
        found: dict[str, str | bytes] = {
            "cmd:dmsetup status --noflush": "".join(mapping.status(second) for mapping in self.mappings)
        }
        if not second:
            found["cmd:dmsetup table"] = "".join(mapping.table() for mapping in self.mappings)
            found["cmd:dmsetup info -c --noheadings --separator :"] = "".join(
                f"{mapping.name}:{_DM}:{mapping.minor}:L--w:1:1:0:\n" for mapping in self.mappings
            )
            found |= {"/sys/module/dm_cache/initstate": "live\n"} | _disk("sdb", 16, 0)
            for number in range(1, 2 * len(self.mappings) + 1):
                base = f"/sys/block/sdb/sdb{number}"
                found |= {f"{base}/partition": f"{number}\n", f"{base}/dev": f"8:{16 + number}\n",
                          f"{base}/start": f"{2048 + (number - 1) * 60_000_000}\n",
                          f"{base}/size": "60000000\n"}  # fmt: skip
            for mapping in self.mappings:
                found |= _disk(mapping.origin, 16 * "abcdefgh".index(mapping.origin[2]), 1)
                base = f"/sys/block/dm-{mapping.minor}"
                found |= {f"{base}/dev": f"{_DM}:{mapping.minor}\n", f"{base}/size": f"{_ORIGIN}\n",
                          f"{base}/dm/name": f"{mapping.name}\n", f"{base}/dm/uuid": "\n",
                          f"{base}/dm/suspended": "0\n",
                          f"link:/dev/mapper/{mapping.name}": f"../dm-{mapping.minor}"}  # fmt: skip
                for lower in (f"sdb{2 * mapping.minor + 1}", f"sdb{2 * mapping.minor + 2}", mapping.origin):
                    found[f"link:{base}/slaves/{lower}"] = f"../../{lower}"
        return found


def _disk(name: str, minor: int, rotational: int) -> dict[str, str]:
    base = f"/sys/block/{name}"
    model = "ST2000NM0055-1V4" if rotational else "SAMSUNG MZ7L3960"
    return {
        f"{base}/dev": f"8:{minor}\n", f"{base}/size": f"{_ORIGIN}\n", f"{base}/queue/rotational": f"{rotational}\n",
        f"{base}/device/model": f"{model}\n", f"{base}/device/state": "running\n",
    }  # fmt: skip


_GOOD = (
    Mapping("db", 0, "sdc", read_hits=300, read_misses=20, write_hits=380, write_misses=20, promotions=2,
            dirty=40_000, cleaned=30),
    Mapping("mail", 1, "sdd", read_hits=40, read_misses=6, write_hits=20, write_misses=2, promotions=1, dirty=300,
            cleaned=4),
    Mapping("web", 2, "sde", read_hits=640, read_misses=60, promotions=3),
)  # fmt: skip
_BAD = (
    Mapping("db", 0, "sdc", read_hits=300, read_misses=20, write_hits=380, write_misses=20, promotions=2,
            dirty=384_000, growth=3, cleaned=90),
    Mapping("mail", 1, "sdd", read_hits=40, read_misses=26, write_hits=20, write_misses=12, dirty=300,
            words="ro needs_check"),
    Mapping("web", 2, "sde", read_hits=14, read_misses=146, write_hits=4, write_misses=60, promotions=3),
)  # fmt: skip
STORIES: Stories = {
    "dm-caches-failing": lambda: Mapped(_STARTED, _BAD),
    "dm-caches-mended": lambda: Mapped(_STARTED + 800_000, _GOOD),
}
