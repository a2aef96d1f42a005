"""Index: the declarations of sources or rules as data, read without importing the modules that have them.

A declaration is a record of words, numbers, families and functions. An index is a JSON file with one line for each
module:

    {
    "sdstop.collectors.aoe.targets": {"AOE": {"name": "aoe", "read": "sdstop.collectors.aoe.targets:AOE.read", ...}},
    ...
    }

A class or function is `MODULE:PATH`; `... or MODULE:PATH` is a declaration that has the function, should it have moved.
The function of a source has its courses beside it, if it has any (sdstop.core.absence). Defaults are left out.

scripts/docs writes the indexes, and pytest stops while an entry differs from its declaration (tests/conftest.py).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from msgspec import MsgspecError, Struct, convert, json

from sdstop.core.absence import IfPresent, NothingFound
from sdstop.core.host import Unreadable
from sdstop.core.later import later

_Declaration = TypeVar("_Declaration")


def declarations(path: Path, kind: type[_Declaration]) -> dict[str, dict[str, _Declaration]]:
    """Return the declarations in an index, by their modules and their names there.

    An index that names classes or fields that were renamed since, or has two sides of a merge, counts as empty, and so
    does one that is missing: all declarations are then imported.
    """
    try:
        # Not strict: JSON has no infinity, so it is written as a string.
        return json.decode(path.read_bytes(), type=dict[str, dict[str, kind]], strict=False, dec_hook=_named)  # type: ignore[valid-type]
    except (OSError, ImportError, AttributeError, MsgspecError):
        return {}


class _Source(Struct):
    """Function of a source, and its courses where nothing is to be found: one if both are alike."""

    function: str
    courses: tuple[NothingFound, ...]
    passes: tuple[type[Unreadable], ...] = ()
    own: tuple[str, ...] = ()


def _named(kind: Any, given: Any) -> Any:
    """Return the value of a field of this type: a class, which is imported now, or a function."""
    if isinstance(given, str):
        return _class(given) if kind.__origin__ is type else later(given)
    source = convert(given, _Source, dec_hook=_named)
    return IfPresent(later(source.function), (source.courses[0], source.courses[-1]), source.passes, source.own)


@cache
def _class(given: str) -> type:
    module, _, name = given.partition(":")
    found: type = getattr(import_module(module), name)
    return found
