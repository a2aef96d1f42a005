"""Key set: many keys of evidence, as their hashes and one buffer; of 1000 disks a source reads up to 10 000."""

from __future__ import annotations

import marshal
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

MANY = 256
"""Keys from which a set is worth being compact."""
_LEVEL = 1
"""Of zlib: the fastest."""


_FEW = 64
"""Most keys that are looked for one by one."""


class KeySet(AbstractSet[str]):
    """Keys of evidence. Going through them makes all; one is looked for by its 64-bit hash.

    Of 10 000 keys, one in 10**15 others seems to be in it: then a source runs again for nothing.
    """

    __slots__ = ("_hashes", "_packed")

    def __init__(self, keys: Iterable[str]) -> None:
        """Keep keys."""
        some = sorted(set(keys))
        self._hashes = array("q", sorted(map(hash, some)))
        self._packed = zlib.compress(marshal.dumps(some), _LEVEL)

    def __contains__(self, key: object) -> bool:
        hashes, hashed = self._hashes, hash(key)
        place = bisect_left(hashes, hashed)
        return place < len(hashes) and hashes[place] == hashed

    def isdisjoint(self, other: Iterable[object]) -> bool:
        """Return whether no key is in another set."""
        if isinstance(other, AbstractSet) and len(other) <= _FEW:
            return not any(key in self for key in other)
        return set(map(hash, other)).isdisjoint(self._hashes)

    def __iter__(self) -> Iterator[str]:
        return iter(marshal.loads(zlib.decompress(self._packed)))  # noqa: S302  # packed by this process

    def __len__(self) -> int:
        return len(self._hashes)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, AbstractSet) and not isinstance(other, KeySet):
            return len(other) == len(self) and array("q", sorted(map(hash, other))) == self._hashes
        return isinstance(other, KeySet) and self._hashes == other._hashes

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def _from_iterable(cls, keys: Iterable[str]) -> frozenset[str]:  # type: ignore[override]
        return frozenset(keys)


class KeySets(AbstractSet[str]):
    """All keys of several sets."""

    __slots__ = ("_sets",)

    def __init__(self, sets: Iterable[AbstractSet[str]]) -> None:
        """Refer to the sets."""
        self._sets = tuple(sets)

    def __contains__(self, key: object) -> bool:
        return any(key in each for each in self._sets)

    def __iter__(self) -> Iterator[str]:
        return iter(frozenset[str]().union(*self._sets))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @classmethod
    def _from_iterable(cls, keys: Iterable[str]) -> frozenset[str]:  # type: ignore[override]
        return frozenset(keys)
