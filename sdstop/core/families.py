"""Families by name: an index names them, and one that is asked for is imported.

A node has few of the technologies that sources and rules are about. A family whose module is not imported has no rows,
and no source of it has succeeded: both take the class.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

from msgspec import Struct

from sdstop.core.later import refuse_another_version
from sdstop.core.model import Derivation, Reading

T = TypeVar("T")


@cache
def name_of(family: type[Reading]) -> str:
    """Return the name of a family: `MODULE:CLASS`."""
    return f"{family.__module__}:{family.__qualname__}"


@cache
def family_named(name: str) -> type[Reading]:
    """Import a family. Raises ImportError, also if there is none of this name, or if sdstop was replaced on disk."""
    module, _, path = name.partition(":")
    if module not in sys.modules:
        refuse_another_version()
    try:
        found: type[Reading] = getattr(import_module(module), path)
    except (ImportError, AttributeError) as error:
        raise ImportError(f"{error}; if {name} was renamed, run scripts/docs") from error
    return found


def is_imported(name: str) -> bool:
    """Return whether the module of a family is imported, so that it may have rows."""
    return name.partition(":")[0] in sys.modules


class Named(Generic[T]):
    """Families, or declarations about one family each, of which each is made when it is asked for.

    A sequence, equal to a tuple of them; it is not a subclass of Sequence, whose `isinstance` is slow. To iterate makes
    all; see `in_use` and `names_of`.
    """

    __slots__ = ("_all", "_given", "_made", "_make", "names")

    element: ClassVar[type[Struct] | None] = None
    """Declarations, each about a family; None: the families themselves."""
    field: ClassVar[str] = ""
    """Field that has the family."""

    def __init__(self, names: Sequence[str], given: Sequence[Any], make: Callable[[Any], T]) -> None:
        """Keep the names of the families; `make` returns an element from the data at its place."""
        self.names = names
        self._given = given
        self._make = make
        self._made: dict[int, T] = {}
        self._all: tuple[T, ...] | None = None

    def _at(self, place: int) -> T:
        found = self._made.get(place)
        if found is None:
            found = self._made[place] = self._make(self._given[place])
        return found

    def _whole(self) -> tuple[T, ...]:
        if self._all is None:
            self._all = tuple(map(self._at, range(len(self.names))))
        return self._all

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...
    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        places = range(len(self.names))[place]
        return self._at(places) if isinstance(places, int) else tuple(map(self._at, places))

    def __iter__(self) -> Iterator[T]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, element: object) -> bool:
        """Return whether a family, or a declaration, is among them; families are compared by name."""
        return name_of(element) in self.names if isinstance(element, type) else element in self._whole()

    def __eq__(self, other: object) -> bool:
        return self._whole() == tuple(other) if isinstance(other, tuple | Named) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._whole())

    def __repr__(self) -> str:
        """Return the names."""
        return f"{type(self).__name__}({self.names})"

    def in_use(self, first: int | None = None) -> tuple[T, ...]:
        """Return those of the `first` ones, None: of all, whose family is imported."""
        if self._all is not None:
            return self._all[:first]
        names, made = self.names[:first], self._made
        found = tuple(self._at(place) for place, name in enumerate(names) if place in made or is_imported(name))
        if len(found) == len(self.names):
            self._all = found
        return found


def in_use(declared: Sequence[T], first: int | None = None) -> Sequence[T]:
    """Return the families, or the declarations about families, that may have rows: those that are imported.

    `first` is the number of those that count, None: all.
    """
    return declared.in_use(first) if isinstance(declared, Named) else declared[:first]


def names_of(declared: Sequence[type[Reading]] | Sequence[Derivation]) -> Sequence[str]:
    """Return the names of families, or of those that are derived, without importing them."""
    if isinstance(declared, Named):
        return declared.names
    return [name_of(each.target if isinstance(each, Derivation) else each) for each in declared]


if TYPE_CHECKING:
    Families = Sequence[type[Reading]]
    """Families of a declaration."""
    Derivations = Sequence[Derivation]
    """Derivations of a declaration."""
else:

    class Families(Named):
        """Families of a declaration in an index."""

        __slots__ = ()

    class Derivations(Named):
        """Derivations of a declaration in an index, by the families that are derived."""

        __slots__ = ()
        element = Derivation
        field = "target"


class Providers:
    """Names of the collectors that produce each family."""

    __slots__ = ("_by_name",)

    def __init__(self, by_name: Mapping[str, tuple[str, ...]]) -> None:
        """Keep the names of collectors by those of families."""
        self._by_name = by_name

    def __getitem__(self, family: type[Reading]) -> tuple[str, ...]:
        return self._by_name[name_of(family)]

    def get(self, family: type[Reading], otherwise: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the names of the collectors that produce a family."""
        return self._by_name.get(name_of(family), otherwise)

    def of(self, families: Iterable[str]) -> dict[str, None]:
        """Return the names of the collectors that produce families of these names, in order and without duplicates."""
        return dict.fromkeys(name for family in families for name in self._by_name.get(family, ()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __contains__(self, family: str) -> bool:
        """Return whether a collector produces the family of this name."""
        return family in self._by_name
