"""Indexes of declarations: rules and sources without their functions, as Python source text.

A rule or a source is a record of words, numbers, families and functions. Its index has all but the functions, which
`later` names, so that nothing else of it is imported where it has nothing to do. scripts/docs writes the indexes, and a
test fails where one is not up to date.
"""

from __future__ import annotations

import enum
import math
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

_PLAIN = (str, int, float, bool, bytes, type(None))


def index(about: str, name: str, declared: Mapping[str, Mapping[str, Struct]]) -> str:
    """Return the text of a module that defines `name`: declarations by module, and by their names in it.

    `about` is its docstring. Raises TypeError for a value that cannot be written, such as an open file.
    """
    text = _Text()
    lines = []
    for module, found in declared.items():
        lines.append(f'    "{module}": {{')
        lines += [f'        "{each}": {text.of(value, module, each)},' for each, value in found.items()]
        lines.append("    },")
    kind = text.name_of(type(next(value for found in declared.values() for value in found.values())))
    head = (
        f'"""{about}',
        "",
        "Written by scripts/docs from the declarations themselves; a test fails when this file is not up to date.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        *text.imports(),
        "",
        f"{name}: dict[str, dict[str, {kind}]] = {{",
    )
    return "\n".join((*head, *lines, "}", ""))


class _Text:
    """Text of values, and the names used in it."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {}
        self._paths: dict[int, tuple[Any, str]] = {}

    def imports(self) -> list[str]:
        """Return the lines that import the names used in the text."""
        found = {f"from {each.__module__} import {_named(each, name)}" for name, each in self._names.items()}
        return sorted(found | {"from sdstop.core.later import later"})

    def name_of(self, each: type) -> str:
        """Return the name of a class in the text."""
        name, number = each.__name__, 1
        while self._names.setdefault(name, each) is not each:
            number += 1
            name = f"{each.__name__}{number}"
        return name

    def of(self, value: Any, module: str, path: str) -> str:
        """Return the text of a value that `path` leads to from a module. Raises TypeError."""
        if isinstance(value, enum.Enum):
            return f"{self.name_of(type(value))}.{value.name}"
        if isinstance(value, float) and math.isinf(value):
            return f'float("{value}")'
        if isinstance(value, _PLAIN):
            return repr(value)
        if isinstance(value, type):
            return self.name_of(value)
        if isinstance(value, tuple):
            texts = [self.of(each, module, f"{path}[{place}]") for place, each in enumerate(value)]
            return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
        if isinstance(value, frozenset):
            return f"frozenset({{{', '.join(repr(each) for each in sorted(value))}}})" if value else "frozenset()"
        if isinstance(value, Struct) and not callable(value):
            texts = [
                f"{field.name}={self.of(getattr(value, field.name), module, f'{path}.{field.name}')}"
                for field in fields(value)
                if field.default is NODEFAULT or getattr(value, field.name) != field.default
            ]
            return f"{self.name_of(type(value))}({', '.join(texts)})"
        if callable(value):
            return self._later(value, module, path)
        raise TypeError(f"{module}: {path} cannot be written: {value!r}")

    def _later(self, function: Any, module: str, path: str) -> str:
        """Return the text of a function: its name, or the path to it; the first path where several lead to it."""
        if isinstance(function, FunctionType):
            home, name = function.__module__, function.__qualname__
            if getattr(sys.modules[home], name, None) is function:
                return f'later("{home}", "{name}")'
        _, text = self._paths.setdefault(id(function), (function, f'later("{module}", "{path}")'))
        return text


def _named(each: type, name: str) -> str:
    return name if name == each.__name__ else f"{each.__name__} as {name}"
