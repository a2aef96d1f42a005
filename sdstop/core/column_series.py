"""Column series: successive versions of a text as the columns of numbers that it is printed from.

The parser has made them anyway, so that a version costs no reading and printing of the text. A column of a version is
one large number; the differences of successive ones are kept by byte planes, as those of texts are
(sdstop.core.versions), at a sixth of the cost. Planes of zeros are left out: most differences have one or two bytes.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Sequence
from threading import Lock

from msgspec import Struct

from sdstop.core.planes import Planes, deflated, joined, planes_of

Row = Sequence[Sequence[int]]
"""Numbers of one version, column by column, at least one in each."""
VERSIONS = 48
"""Versions in a series: reading one of them reads all, and the first one has the room of four others."""

_PLACE = 8
"""Bytes of a plane beside its own."""


class Reprint(Struct, frozen=True):
    """The data of a piece of evidence, and what prints them again from columns, byte for byte.

    Texts with the same `printer` differ in the numbers of these columns alone.
    """

    key: str
    data: bytes
    columns: Row
    printer: Callable[[Row], bytes]


class ColumnSeries:
    """Versions of one text. One thread appends while others read; it is compressed when it is full.

    Until then only its first and its newest version are columns, which a history keeps, too.
    """

    def __init__(self, printer: Callable[[Row], bytes], most: int) -> None:
        """Start without a version; `most` is how many there may be."""
        self.count = 0
        self.size = 0
        """Bytes that a timeline counts for it: none until it is compressed, as other tables hold similar columns."""
        self._printer = printer
        self._most = most
        self._shape: list[tuple[str, int]] = []
        self._ends: tuple[Row, Row] | None = None
        """The first and the newest version; None of a series that is empty or compressed."""
        self._steps: list[list[Planes]] = []
        """Differences to the next version, by column, for each version but the newest."""
        self._packed: list[Planes] = []
        """The first version and all differences by column, each plane deflated; of a series that is full."""
        self._lock = Lock()

    def takes(self, reprint: Reprint) -> bool:
        """Return whether there is room for a further version, and it has these columns."""
        return self.count < self._most and reprint.printer is self._printer and _shape(reprint) == self._shape

    def add(self, reprint: Reprint) -> None:
        """Append a version."""
        with self._lock:
            row = reprint.columns
            if self._ends is None:
                self._shape, self._ends = _shape(reprint), (row, row)
            else:
                first, newest = self._ends
                self._steps.append(list(map(_step, self._shape, newest, row)))
                self._ends = first, row
            self.count += 1
            if 1 < self.count == self._most:
                self._packed = [
                    [None if plane is None else deflated(plane) for plane in self._planes(column)]
                    for column in range(len(self._shape))
                ]
                self.size = sum([_PLACE + len(plane or b"") for planes in self._packed for plane in planes])
                self._ends, self._steps = None, []

    def reader(self) -> tuple[int, Callable[[int], bytes]]:
        """Return the number of versions added so far, and what prints one of them; it may be called by any thread."""
        with self._lock:
            return self.count, _Reader(self._printer, self._shape, list(map(self._planes, range(len(self._shape)))))

    def _planes(self, column: int) -> Planes:
        """Return the planes of a column: its first version, and then its differences."""
        if self._packed:
            return [None if plane is None else zlib.decompress(plane) for plane in self._packed[column]]
        kind, count = self._shape[column]
        first = () if self._ends is None else self._ends[0][column]
        every = [planes_of(array(kind, first).tobytes(), array(kind).itemsize), *[step[column] for step in self._steps]]
        zero = bytes(count)
        whole = (b"".join([plane or zero for plane in each]) for each in zip(*every, strict=True))
        return [None if plane == bytes(len(plane)) else plane for plane in whole]


class _Reader:
    """Prints versions, each from the one that was asked for before: most are its neighbors."""

    def __init__(
        self, printer: Callable[[Row], bytes], shape: Sequence[tuple[str, int]], planes: Sequence[Planes]
    ) -> None:
        self._printer, self._shape, self._planes = printer, shape, planes
        self._masks = [(1 << 8 * count * array(kind).itemsize) - 1 for kind, count in shape]
        self._wide = [0] * len(shape)
        self._at = -1
        """Version of these numbers."""
        self._lock = Lock()

    def __call__(self, version: int) -> bytes:
        """Return the text of a version."""
        with self._lock:
            while self._at < version:
                self._at += 1
                self._add(1)
            while self._at > version:
                self._add(-1)
                self._at -= 1
            row = [array(kind, wide.to_bytes(count * array(kind).itemsize, "little"))
                   for (kind, count), wide in zip(self._shape, self._wide, strict=True)]  # fmt: skip
        return self._printer(row)

    def _add(self, sign: int) -> None:
        """Add, or take off, the differences that lead to the version."""
        for column, planes in enumerate(self._planes):
            count = self._shape[column][1]
            begin, end = self._at * count, (self._at + 1) * count
            if any(planes):
                step = joined([None if plane is None else plane[begin:end] for plane in planes], count)
                wide = self._wide[column] + sign * int.from_bytes(step, "little")
                self._wide[column] = wide & self._masks[column]


def _step(shape: tuple[str, int], old: Sequence[int], new: Sequence[int]) -> Planes:
    """Return the differences of a column to the next version."""
    kind, count = shape
    width = array(kind).itemsize
    if new is old:
        return [None] * width
    before, after = (int.from_bytes(array(kind, each).tobytes(), "little") for each in (old, new))
    return planes_of(((after - before) % (1 << 8 * count * width)).to_bytes(count * width, "little"), width)


def _shape(reprint: Reprint) -> list[tuple[str, int]]:
    """Return the type code and the length of each column."""
    return [(column.typecode if isinstance(column, array) else "", len(column)) for column in reprint.columns]
