"""Properties that are computed once for each object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class kept(Generic[V]):  # noqa: N801  # used like property
    """Property kept in the object's `__dict__`, as functools.cached_property does from Python 3.12 on.

    Before, it takes a lock, which costs more than computing most of these properties.
    """

    def __init__(self, make: Callable[[Any], V]) -> None:
        """Keep what `make` returns of the object."""
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, _: type | None = None) -> V:
        made = owner.__dict__[self._name] = self._make(owner)
        return made
