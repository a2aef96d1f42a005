"""Regular expressions that are compiled at their first use, because a node has few of the sources."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, AnyStr


class _Expression:
    """Expression that is compiled when a method is used first; the compiled methods are kept."""

    def __init__(self, text: str | bytes, flags: int = 0) -> None:
        self.pattern = text
        self._given = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._given)
        self.__dict__.update({each: getattr(compiled, each) for each in _METHODS})
        return getattr(compiled, name)


_METHODS = (
    "match",
    "fullmatch",
    "search",
    "finditer",
    "findall",
    "sub",
    "subn",
    "split",
    "groups",
    "groupindex",
    "flags",
)


if TYPE_CHECKING:

    def expression(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
        """Return an expression with the methods of a compiled one, the same for equal arguments.

        Functions of `re` do not accept it. Its first use raises re.error if the text is not an expression.
        """

else:
    expression = functools.cache(_Expression)
