"""Libraries without modules that they can do without, and that take milliseconds and megabytes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def import_without(library: str, *modules: str) -> None:
    """Import a library as if other modules were not installed."""
    import_with(library, dict.fromkeys(modules))


def import_with(library: str, modules: Mapping[str, Mapping[str, Any] | None]) -> None:
    """Import a library that needs only these names of other modules, or none of them (None: not installed).

    Modules that have been imported before are as they are.
    """
    if library in sys.modules:
        return
    replaced = [name for name in modules if name not in sys.modules]
    for name in replaced:
        names = modules[name]
        stand_in = None
        if names is not None:
            stand_in = ModuleType(name)
            vars(stand_in).update(names)
        sys.modules[name] = stand_in  # type: ignore[assignment]  # None raises ImportError, which libraries handle
    try:
        import_module(library)
    except (ImportError, AttributeError):  # another version, which needs more of them
        _forget(replaced)
        import_module(library)
    else:
        _forget(replaced)


def _forget(modules: Iterable[str]) -> None:
    for name in modules:
        sys.modules.pop(name, None)


def spare() -> None:
    """Import libraries of every command without what English messages on Linux do not need: 6 ms, 1 MB."""
    import_with("uuid", {"platform": {"system": lambda: "Linux"}})
    import_with("msgspec", {"typing_extensions": None, "textwrap": {"dedent": _dedented}})  # Python 3.11 has all types
    import_with("argparse", {"gettext": {"gettext": str, "ngettext": _one_or_many}})
    import_with("pathlib", {"urllib.parse": {"quote_from_bytes": _quoted}})


def _one_or_many(one: str, many: str, number: int) -> str:
    return one if number == 1 else many


def _dedented(text: str) -> str:
    """Return text without indentation; schemas of JSON need it."""
    from textwrap import dedent

    return dedent(text)


def _quoted(data: bytes, safe: str = "/") -> str:
    """Quote bytes for a URL; Path.as_uri needs it, and nothing here calls that."""
    quoted: str = import_module("urllib.parse").quote_from_bytes(data, safe)
    return quoted
