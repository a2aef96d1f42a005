"""Versions of a text that is still being written.

The numbers of a version are one large integer, with 64 bits for each: so all differences are one subtraction. Each step
from version to version is deflated at once: of a text of 1000 disks, 24 rows have half a million numbers.
"""

from __future__ import annotations

import zlib
from array import array
from itertools import compress, count

from msgspec import Struct, field

from sdstop.core.expression import expression
from sdstop.core.versions import PADDED, WIDTHS, Versions, filled, form_of, numbers_of

_BYTES = 8
"""Bytes of a number."""
_ZERO = 1 << 62
"""What each difference is raised by: none is negative, as the numbers are smaller."""
_LOWERED = bytes((byte - (_ZERO >> 56)) & 255 for byte in range(256))
"""Table that takes it from the highest byte again."""
_SIGNS = bytes(255 if byte & 128 else 0 for byte in range(256))
"""Table that replaces the highest byte of a number by the bytes above it, if it were wider."""
_MOVING = expression(rb"[^\0]+")


class GrowingVersions:
    """Versions of a text that is still being written."""

    def __init__(self) -> None:
        """Start without a version."""
        self._runs: list[_GrowingRun] = []
        self._form: bytes | None = None
        """Format of the newest run, None if its first text cannot be one."""

    def add(self, text: bytes) -> None:
        """Append a version."""
        if self._form is not None:
            run = self._runs[-1]
            row = numbers_of(text, padded=run.padded)
            if row is not None and len(row) == run.numbers and filled(self._form, row, padded=run.padded) == text:
                run.add(_wide(row))
                return
        padded = PADDED.search(text) is not None
        row = numbers_of(text, padded=padded)
        self._form = None if row is None else form_of(text, padded=padded)
        row = row or array("q")
        self._runs.append(_GrowingRun(text, padded, len(row), _wide(row)))

    def packed(self) -> list[Versions]:
        """Return all versions added so far."""
        return [run.packed() for run in self._runs]


class _GrowingRun(Struct):
    """Versions between which only numbers change: the first text, the newest numbers, and the steps to them.

    A step is the bytes of a difference, and those of all differences, deflated, by byte planes.
    """

    first: bytes
    padded: bool
    numbers: int
    newest: int
    steps: list[tuple[int, bytes]] = field(default_factory=list)

    def add(self, wide: int) -> None:
        """Append the numbers of a version."""
        raised = int.from_bytes(_ZERO.to_bytes(_BYTES, "little") * self.numbers, "little")
        raw = (wide + raised - self.newest).to_bytes(_BYTES * self.numbers, "little")
        planes = [raw[plane::_BYTES] for plane in range(_BYTES)]
        planes[-1] = planes[-1].translate(_LOWERED)
        signs = {width: planes[width - 1].translate(_SIGNS) for width in WIDTHS}
        width = next(width for width in WIDTHS if all(plane == signs[width] for plane in planes[width:]))
        self.steps.append((width, zlib.compress(b"".join(planes[:width]), 1)))
        self.newest = wide

    def packed(self) -> Versions:
        """Return the versions added so far."""
        size, height = self.numbers, len(self.steps)
        widest = max((width for width, _ in self.steps), default=1)
        every = [bytearray(size * height) for _ in range(widest)]  # planes of the steps of each number in turn
        moved = 0
        for place, (width, step) in enumerate(self.steps):
            raw = zlib.decompress(step)
            planes = [raw[plane * size : (plane + 1) * size] for plane in range(width)]
            planes += [planes[-1].translate(_SIGNS)] * (widest - width)
            for column, plane in zip(every, planes, strict=True):
                column[place::height] = plane
                moved |= int.from_bytes(plane, "little")
        moving = moved.to_bytes(size, "little")
        spans = [found.span() for found in _MOVING.finditer(moving)]
        kept = b"".join([column[start * height : end * height] for column in every for start, end in spans])
        columns = array("I", compress(count(), moving)).tobytes()
        return Versions(height + 1, self.first, self.padded, columns, kept)


def _wide(row: array[int]) -> int:
    """Return numbers of 64 bits as one."""
    return int.from_bytes(row.tobytes(), "little")
