"""Successive versions of a text, stored as the first one and the differences of the numbers in the others.

Most evidence is text in which only numbers change. A version that differs in anything else starts again as a text:

    8 0 sda 11 7 904        first version, as it is
    8 0 sda 15 7 936        column 3: +4, +5; column 5: +32, +40
    8 0 sda 20 7 976

Columns that do not change are not stored. The others are written by byte planes, because the high bytes of small
differences are equal and deflate to almost nothing; the largest difference decides how many bytes each of them has.
Reading returns every byte as it was written.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, repeat

import msgspec
from msgspec import Struct

from sdstop.core.expression import expression

_BLANKED = bytes(byte if byte in b"0123456789" else 32 for byte in range(256))
"""Table that replaces everything but digits by blanks."""
_NUMBER = expression(rb"[0-9]+")
PADDED = expression(rb"(?<![0-9])0[0-9]")
WIDTHS = {1: "b", 2: "h", 4: "i", 8: "q"}
"""Bytes of a difference, with the type code of its array."""
_SUMMED = 256
"""Maximum number of bytes that are added up in 16 bits."""
_MOST = 100_000
"""Versions of a text; a hostile recording may claim any number."""
LARGEST = 256 << 20
"""Maximum bytes of all versions of a text, and of all texts of a block; a hostile recording may claim any."""


class Damaged(Exception):  # noqa: N818
    """Raised if stored versions, or a block of them, cannot be read; one sentence with the reason."""


class Versions(Struct, frozen=True, array_like=True):
    """Versions of a text between which only numbers change.

    `first` is the text of the first one. `columns` are the positions of the numbers that change (32-bit), `planes` the
    differences of each such column from version to version (signed, of 1, 2, 4 or 8 bytes, by byte planes, lowest bytes
    first). `padded` is whether any number has leading zeros: a 1 is then put before the digits of all.
    """

    count: int
    first: bytes
    padded: bool
    columns: bytes
    planes: bytes

    def texts(self) -> Iterator[bytes]:
        """Yield the versions. Raises Damaged."""
        if not 0 < self.count <= _MOST or self.count * len(self.first) > LARGEST:
            raise Damaged("a text has an impossible number of versions")
        if not self.columns:
            yield from repeat(self.first, self.count)
            return
        yield self.first
        row = list(numbers_of(self.first, padded=self.padded) or ())
        form = form_of(self.first, padded=self.padded)
        columns, moved = self._moved(len(row))
        steps = self.count - 1
        courses = [
            list(accumulate(moved[place * steps : (place + 1) * steps], initial=row[column]))
            for place, column in enumerate(columns)
        ]
        for version in range(1, self.count):
            for column, course in zip(columns, courses, strict=True):
                row[column] = course[version]
            yield filled(form, row, padded=self.padded)

    def some(self, wanted: Sequence[int]) -> list[bytes]:
        """Return the versions with these places, in ascending order, without those between. Raises Damaged."""
        if not 0 < self.count <= _MOST or wanted[-1] >= self.count or len(self.first) > LARGEST:
            raise Damaged("a text has an impossible number of versions")
        if not self.columns:
            return [self.first] * len(wanted)
        form, numbers = _apart(self.first, self.padded)
        row = list(numbers)
        columns, width = self._shape(len(row))
        wide = int.from_bytes(array("q", [row[column] for column in columns]).tobytes(), "little")
        done, found = 0, []
        for version in wanted:
            if version > done:
                wide += self._between(done, version, len(columns), width)
                for column, number in zip(columns, _split(wide, len(columns)), strict=True):
                    row[column] = number
                done = version
            found.append(filled(form, row, padded=self.padded) if version else self.first)
        return found

    def _shape(self, numbers: int) -> tuple[list[int], int]:
        """Return the positions of the numbers that change, and the bytes of each difference. Raises Damaged."""
        columns = list(_unpacked("I", self.columns))
        if max(columns) >= numbers:
            raise Damaged("a number is changed that its text does not have")
        size = (self.count - 1) * len(columns)
        width, rest = divmod(len(self.planes), max(size, 1))
        if rest or width not in WIDTHS:
            raise Damaged("numbers of a text are missing")
        return columns, width

    def _between(self, begin: int, end: int, columns: int, width: int) -> int:
        """Return by how much each column moved from one version to another, in 64 bits of one large integer each.

        The bytes of a plane at one version are such an integer, too, whose sum over the versions has each column's sum
        in 16 bits of its own: as long as these are at most 256, none carries into the next.
        """
        steps, pairs, moved = self.count - 1, (columns + 1) // 2, 0
        size = steps * columns
        even = int.from_bytes(b"\xff\x00" * pairs, "little")
        signs = int.from_bytes(b"\x80" * columns, "little")
        for first in range(begin, end, _SUMMED):
            rows = range(first, min(first + _SUMMED, end))
            for plane in range(width):
                sums = [0, 0]
                for step in rows:
                    number = int.from_bytes(self.planes[plane * size + step : (plane + 1) * size : steps], "little")
                    if plane == width - 1:
                        number ^= signs  # a signed byte, and 128
                    sums[0] += number & even
                    sums[1] += (number >> 8) & even
                spread = bytearray(16 * pairs)
                for place, total in enumerate(sums):
                    low = total.to_bytes(2 * pairs, "little")
                    spread[8 * place :: 16], spread[8 * place + 1 :: 16] = low[::2], low[1::2]
                moved += int.from_bytes(spread, "little") << 8 * plane
            below = (128 * len(rows)).to_bytes(8, "little") * columns
            moved -= int.from_bytes(below, "little") << 8 * (width - 1)
        return moved

    def _moved(self, numbers: int) -> tuple[list[int], array[int]]:
        """Return the positions of the numbers that change, and their differences, column by column."""
        columns, width = self._shape(numbers)
        size = (self.count - 1) * len(columns)
        raw = bytearray(len(self.planes))
        for plane in range(width):
            raw[plane::width] = self.planes[plane * size : (plane + 1) * size]
        return columns, _unpacked(WIDTHS[width], raw)


def numbers_of(text: bytes, *, padded: bool) -> array[int] | None:
    """Return the numbers of a text, None if one has too many digits for 62 bits, which leaves room for differences."""
    tokens = text.translate(_BLANKED).split()
    try:
        found = array("q", [int(b"1" + token) for token in tokens] if padded else _decoded(tokens))
    except (OverflowError, ValueError):
        return None
    return found if not found or max(found) < 1 << 62 else None


def _decoded(tokens: Sequence[bytes]) -> Sequence[int]:
    """Return numbers; of JSON, which has no leading zeros, they are read in half the time. Raises ValueError."""
    try:
        found: list[int] = msgspec.json.decode(b"[" + b",".join(tokens) + b"]", type=list[int])
    except msgspec.MsgspecError:
        return list(map(int, tokens))
    return found


def form_of(text: bytes, *, padded: bool) -> bytes:
    """Return a text as a format that has a place for each number."""
    return _NUMBER.sub(b"%b" if padded else b"%d", text.replace(b"%", b"%%"))


@lru_cache(maxsize=8)
def _apart(text: bytes, padded: bool) -> tuple[bytes, array[int]]:  # noqa: FBT001
    """Return the format of a text, and its numbers: blocks of an hour begin with one text, which a jump needs again.

    So it does for each of a node's few large texts: diskstats alone would take 5 ms of a jump to 1000 disks.
    """
    return form_of(text, padded=padded), numbers_of(text, padded=padded) or array("q")


def filled(form: bytes, numbers: Sequence[int], *, padded: bool) -> bytes:
    """Return a text from its format and numbers. Raises Damaged for numbers that no text has."""
    try:
        if padded:
            return form % tuple(str(number)[1:].encode() for number in numbers)
        return form % tuple(numbers)
    except TypeError as error:
        raise Damaged(f"a text and its numbers do not fit: {error}") from error


def _split(wide: int, count: int) -> array[int]:
    """Return the numbers in 64 bits each of a large integer. Raises Damaged for numbers that no text has."""
    signs = int.from_bytes(b"\0\0\0\0\0\0\0\x80" * count, "little")
    if wide < 0 or wide & signs or wide.bit_length() > 64 * count:
        raise Damaged("a text has an impossible number")
    return _unpacked("q", wide.to_bytes(8 * count, "little"))


def _unpacked(kind: str, data: bytes | bytearray) -> array[int]:
    found: array[int] = array(kind)
    try:
        found.frombytes(data)
    except ValueError as error:
        raise Damaged("numbers of a text are cut") from error
    return found
