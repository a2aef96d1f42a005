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

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec import MsgspecError, Struct, convert, json

from sdstop.core.absence import Elsewhere, IfPresent, NothingFound
from sdstop.core.families import Named, family_named
from sdstop.core.host import Unreadable
from sdstop.core.later import later

_Declaration = TypeVar("_Declaration")


def declarations(path: Path, kind: type[_Declaration]) -> dict[str, dict[str, _Declaration]]:
    """Return the declarations in an index, by their modules and their names there.

    An index with fields that were renamed since, or with two sides of a merge, counts as empty, and so does one that is
    missing: all declarations are then imported. Families are imported when they are asked for (sdstop.core.families);
    the source or rule of one that was renamed since fails, and names scripts/docs.
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
    elsewhere: Elsewhere | None = None


def _named(kind: Any, given: Any) -> Any:
    """Return the value of a field of this type: families, things and derivations, a class, or a function."""
    if isinstance(given, str):
        return family_named(given) if kind.__origin__ is type else later(given)
    if isinstance(given, list):
        return _later_declared(kind, given)
    source = convert(given, _Source, dec_hook=_named)
    return IfPresent(
        later(source.function), (source.courses[0], source.courses[-1]), source.passes, source.own, source.elsewhere
    )


def _later_declared(kind: type[Named[Any]], given: Sequence[Any]) -> Named[Any]:
    """Return families, or declarations about families, that are imported when they are asked for."""
    element, field = kind.element, kind.field
    names: list[Any] = list(given)
    if element is not None:
        names = [each.get(field) if isinstance(each, dict) else None for each in given]
    if not all(isinstance(name, str) for name in names):
        raise ValueError("not named by its family")
    if element is None:
        return kind(names, names, family_named)
    return kind(names, given, partial(convert, type=element, dec_hook=_named))
