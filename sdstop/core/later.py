"""Functions of declarations, imported when they are called first.

An index of declarations (sdstop.rules.declared) names the functions of rules and sources without importing them: a node
has few of the technologies that they are about.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any


class Later:
    """Function in a module: called like it, and imported by the first call."""

    __slots__ = ("_declared", "_function", "module", "path")

    def __init__(self, module: str, path: str, *declared: str) -> None:
        """Name the function; `path` leads to it from the module: `ARRAY_DEGRADED.check`, `MAPS.needs[0].keep`.

        `declared`: module and path of a declaration that has it, for a function that was moved or renamed since.
        """
        self.module = module
        self.path = path
        self._declared = declared
        self._function: Any = None

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Call the function."""
        function = self._function
        if function is None:
            function = self._function = self.imported()
        return function(*given, **named)

    def __repr__(self) -> str:
        """Return the module and the path."""
        return f"later({', '.join(map(repr, (self.module, self.path, *self._declared)))})"

    def imported(self) -> Any:
        """Import the module and return the function. Raises ImportError, also if sdstop was replaced on disk."""
        if self.module not in sys.modules and _installation() != _AT_START:
            raise ImportError(REPLACED)
        try:
            return _found(self.module, self.path)
        except (ImportError, AttributeError):
            if not self._declared:
                raise
            return _found(*self._declared)


def _found(module: str, path: str) -> Any:
    found: Any = import_module(module)
    for part in path.split("."):
        name, *places = part.replace("]", "").split("[")
        found = attrgetter(name)(found)
        for place in places:
            found = found[int(place)]
    return found


@functools.cache
def indexed(index: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the declarations in an index, a module, by their modules and names.

    One that names classes or fields that were renamed since, or has two sides of a merge, counts as empty: all
    declarations are then imported.
    """
    try:
        found: Mapping[str, Mapping[str, Any]] = import_module(index).DECLARED
    except (ImportError, AttributeError, TypeError, SyntaxError):
        return {}
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
"""The same object for equal arguments: declarations that share a function stay equal."""
