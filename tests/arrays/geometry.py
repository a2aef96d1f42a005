"""Where md puts a chunk: array offset to stripe column, members and their offsets (drivers/md/raid{0,10,5}.c)."""

from __future__ import annotations

from typing import NamedTuple

from tests.arrays.spec import ArraySpec, Level


class Place(NamedTuple):
    """A chunk's home: `copies` hold the data (two on RAID10), `parity` what protects it, all at `start` bytes."""

    column: int
    copies: tuple[int, ...]
    parity: tuple[int, ...]
    start: int


class Geometry:
    """The mapping of one array. `size` is what can be addressed, in bytes."""

    def __init__(self, spec: ArraySpec) -> None:
        self.spec = spec
        self.rows = spec.member_size // spec.chunk
        self.data = {
            Level.RAID0: spec.disks, Level.RAID10: spec.columns,
            Level.RAID5: spec.disks - 1, Level.RAID6: spec.disks - 2,
        }[spec.level]  # fmt: skip
        self._zones = self._raid0_zones()
        self.size = self._zones[-1][0] * spec.chunk

    def _raid0_zones(self) -> list[tuple[int, int, tuple[int, ...]]]:
        """Return (chunks up to the zone's end, first row, members) of each zone; only RAID0 has more than one."""
        spec = self.spec
        everyone = tuple(range(spec.disks))
        if spec.level is not Level.RAID0 or not spec.sizes:
            return [(self.rows * self.data, 0, everyone)]
        rows = [int(self.rows * size) for size in spec.sizes]
        zones = []
        first = chunks = 0
        for end in sorted(set(rows)):
            members = tuple(member for member in everyone if rows[member] >= end)
            chunks += (end - first) * len(members)
            zones.append((chunks, first, members))
            first = end
        return zones

    def place(self, chunk: int) -> Place:
        """Return the home of the chunk with this number (array offset // chunk size)."""
        spec, disks, size = self.spec, self.spec.disks, self.spec.chunk
        if spec.level is Level.RAID0:
            before = 0
            for end, row, members in self._zones:
                if chunk < end:
                    member = members[(chunk - before) % len(members)]
                    return Place(member, (member,), (), (row + (chunk - before) // len(members)) * size)
                before = end
            raise ValueError(f"chunk {chunk} lies behind the array's end")
        row, index = divmod(chunk, self.data)
        if spec.level is Level.RAID10:
            return Place(index, (2 * index, 2 * index + 1), (), row * size)
        parity = disks - 1 - row % disks
        if spec.level is Level.RAID5:
            member = (parity + 1 + index) % disks
            return Place(member, (member,), (parity,), row * size)
        member = (parity + 2 + index) % disks
        return Place(member, (member,), (parity, (parity + 1) % disks), row * size)

    def capacity_share(self, member: int) -> float:
        """Return a member's share of what the array addresses, times the number of members: 1 when all are alike."""
        if self.spec.level is not Level.RAID0 or not self.spec.sizes:
            return 1.0
        return self.spec.sizes[member] * self.spec.disks / sum(self.spec.sizes)
