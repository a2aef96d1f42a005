"""Stepped columns: counters of older samples as differences to an earlier one, in a third of the memory."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, overload

from sdstop.core import lanes
from sdstop.core.planes import Planes, joined, planes_of

TOGETHER = 16
"""Columns with the same base: counters move by one or two bytes from its sample to the last."""

_LITTLE = sys.byteorder == "little"
"""Whether the bytes of numbers are in the order of planes; where they are not, columns stay as they are."""


class SteppedColumn(Sequence[int]):
    """Numbers none of which is smaller than that of the base. Each is read by itself; `whole` is the array of all."""

    __slots__ = ("_base", "_planes")

    def __init__(self, base: array[int], planes: Planes) -> None:
        """Keep the base, and the differences by byte planes."""
        self._base = base
        self._planes = tuple((8 * place, plane) for place, plane in enumerate(planes) if plane is not None)

    def __len__(self) -> int:
        return len(self._base)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[int]: ...
    def __getitem__(self, place: int | slice) -> int | Sequence[int]:
        if isinstance(place, slice):
            return self.whole()[place]
        found = self._base[place]
        for shift, plane in self._planes:
            found += plane[place] << shift
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self.whole())

    def whole(self) -> array[int]:
        """Return the numbers."""
        base = self._base
        planes: list[bytes | None] = [None] * base.itemsize
        for shift, plane in self._planes:
            planes[shift // 8] = plane
        steps = int.from_bytes(joined(planes, len(base)), "little")
        found = array(base.typecode)
        found.frombytes((int.from_bytes(base, "little") + steps).to_bytes(len(base) * base.itemsize, "little"))
        return found


class ColumnSteps:
    """Successive versions of one column, which have a base in common."""

    __slots__ = ("_base", "_count", "_last")

    def __init__(self) -> None:
        """Start without a column."""
        self._base: array[int] | None = None
        self._count = 0
        self._last: tuple[Sequence[Any], Sequence[Any]] = (), ()
        """The newest column that was not the base, and its differences."""

    def stepped(self, column: Sequence[Any]) -> Sequence[Any]:
        """Return a column in less memory if it consists of counters; one that is a base stays as it is."""
        base, last = self._base, self._last
        if column is base or not isinstance(column, array) or column.typecode not in lanes.FORMS or not _LITTLE:
            return column
        if column is last[0]:
            return last[1]
        steps = None if base is None or self._count >= TOGETHER else lanes.differences(column, base)
        if base is None or steps is None:
            self._base, self._count, self._last = column, 0, ((), ())
            return column
        found = SteppedColumn(base, planes_of(steps.tobytes(), steps.itemsize))
        self._count, self._last = self._count + 1, (column, found)
        return found
