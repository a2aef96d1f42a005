"""Column series: successive versions of a text as the columns of numbers that it is printed from.

The parser has made them anyway, so that a version costs no reading and printing of the text. A column of a version is
one large number; the differences of successive ones are written by byte planes, as those of texts are
(sdstop.core.versions), at a sixth of the cost.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import Lock

from msgspec import Struct

Row = Sequence[Sequence[int]]
"""Numbers of one version, column by column, at least one in each."""


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

    A series of one version stays as it is: its columns are those that a history keeps.
    """

    def __init__(self, printer: Callable[[Row], bytes], most: int) -> None:
        """Start without a version; `most` is how many there may be."""
        self.count = 0
        self.size = 0
        """Bytes that a timeline counts for it: none until it is compressed, as other tables hold the same columns."""
        self._printer = printer
        self._most = most
        self._rows: list[Row] = []
        self._packed = b""
        self._shape: list[tuple[str, int]] = []
        self._lock = Lock()

    def takes(self, reprint: Reprint) -> bool:
        """Return whether there is room for a further version, and it has these columns."""
        return self.count < self._most and reprint.printer is self._printer and _shape(reprint) == self._shape

    def add(self, reprint: Reprint) -> None:
        """Append a version."""
        with self._lock:
            self._shape = self._shape or _shape(reprint)
            self._rows.append(reprint.columns)
            self.count += 1
            if 1 < self.count == self._most:
                self._packed = zlib.compress(b"".join(map(self._planes, range(len(self._shape)))), 1)
                self._rows, self.size = [], len(self._packed)

    def reader(self) -> tuple[int, Callable[[int], bytes]]:
        """Return the number of versions added so far, and what prints one of them."""
        with self._lock:
            rows = list(self._rows) if not self._packed else None
        known = self._unpacked() if rows is None else rows
        return len(known), lambda version: self._printer(known[version])

    def _planes(self, column: int) -> bytes:
        """Return the differences of a column from version to version, beginning with 0, by byte planes."""
        kind, count = self._shape[column]
        size, width = count * array(kind).itemsize, array(kind).itemsize
        wide = [0, *(int.from_bytes(array(kind, row[column]).tobytes(), "little") for row in self._rows)]
        steps = b"".join([((new - old) % (1 << 8 * size)).to_bytes(size, "little") for old, new in pairwise(wide)])
        return b"".join([steps[plane::width] for plane in range(width)])

    def _unpacked(self) -> list[Row]:
        raw, at = zlib.decompress(self._packed), 0
        columns = []
        for kind, count in self._shape:
            width = array(kind).itemsize
            size, every = count * width, self.count * count
            steps = bytearray(every * width)
            for plane in range(width):
                steps[plane::width] = raw[at : at + every]
                at += every
            wide, column = 0, []
            for begin in range(0, len(steps), size):
                wide = (wide + int.from_bytes(steps[begin : begin + size], "little")) % (1 << 8 * size)
                column.append(array(kind, wide.to_bytes(size, "little")))
            columns.append(column)
        return [list(row) for row in zip(*columns, strict=True)]


def _shape(reprint: Reprint) -> list[tuple[str, int]]:
    """Return the type code and the length of each column."""
    return [(column.typecode if isinstance(column, array) else "", len(column)) for column in reprint.columns]
