"""Functions of declarations, imported when they are called first.

An index of declarations (sdstop.core.index) names the functions of rules and sources without importing them: a node has
few of the technologies that they are about.
"""

from __future__ import annotations

import functools
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any


class Later:
    """Function in a module: called like it, and imported by the first call."""

    __slots__ = ("_function", "name")

    def __init__(self, name: str) -> None:
        """Name the function: `MODULE:PATH`, where the path leads to it from the module (`MAPS.needs[0].keep`).

        `... or MODULE:PATH` names a declaration that has it, for a function that was moved or renamed since.
        """
        self.name = name
        self._function: Any = None

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Call the function."""
        function = self._function
        if function is None:
            function = self._function = self.imported()
        return function(*given, **named)

    def __repr__(self) -> str:
        """Return the name."""
        return f"later({self.name!r})"

    @property
    def is_imported(self) -> bool:
        """Whether its module is imported."""
        return self.name.partition(":")[0] in sys.modules

    def imported(self) -> Any:
        """Import the module and return the function. Raises ImportError, also if sdstop was replaced on disk."""
        if not self.is_imported:
            refuse_another_version()
        name, _, declared = self.name.partition(" or ")
        try:
            return _found(name)
        except (ImportError, AttributeError):
            if not declared:
                raise
            return _found(declared)


def refuse_another_version() -> None:
    """Raise ImportError if sdstop was replaced on disk since this process started."""
    if _installation() != _AT_START:
        raise ImportError(REPLACED)


def _found(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        attribute, *places = part.replace("]", "").split("[")
        found = attrgetter(attribute)(found)
        for place in places:
            found = found[int(place)]
    return found


REPLACED = "sdstop was upgraded or removed since this process started; restart it"
"""Reason for a function that is not imported: modules of two versions do not fit together."""


def _installation() -> tuple[int, int] | None:
    """Return what changes when sdstop is installed again: time and size of a file of it; None without files."""
    try:
        found = Path(__file__).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


_AT_START = _installation()

later = functools.cache(Later)
"""The same object for equal names: declarations that share a function stay equal."""
