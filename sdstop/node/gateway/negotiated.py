"""Negotiated: the statistics that a gateway version supports. A single unknown one makes it reject the whole query.

Rejected properties are found in the error message or by bisecting the list, then omitted from later queries and
reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from sdstop.core.expression import expression

LIST = "selectedStatisticsList"
MOST_TRIES = 60
"""Maximum number of queries per sample to find unknown properties; the search goes on at the next sample."""
MOST_REFUSALS = 40
"""Maximum number of rejections of a query in one sample: error messages name one unknown property at a time."""
_WORD = expression(r"[A-Za-z][A-Za-z0-9]{2,80}")

Property = tuple[str, str]
"""Object type and property name."""


class Negotiated(Struct):
    """Properties that one gateway version rejected."""

    version: str | None = None
    unknown: set[Property] = field(default_factory=set)

    def of_version(self, version: str | None) -> None:
        """Reset if the gateway's version has changed."""
        if version != self.version and version is not None:
            self.unknown = set() if self.version is not None else self.unknown
            self.version = version

    def body(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the query without unknown properties."""
        known = [p for p in properties(asked) if p not in self.unknown]
        return question(asked, known)

    def find(self, asked: Mapping[str, Any], said: bytes, knows: Callable[[dict[str, Any]], bool]) -> bool:
        """Find the unknown properties of a rejected query; return whether there are any.

        False means that the query was rejected for another reason. `knows` sends a query and returns whether it was
        accepted; its exceptions are passed on.
        """
        known = [p for p in properties(asked) if p not in self.unknown]
        words = set(_WORD.findall(said.decode("utf-8", "replace")))
        named = {p for p in known if p[1] in words}
        if named and len(named) < len(known):
            self.unknown |= named
            return True
        if not known or not knows(question(asked, known[:1])):
            return False  # every version supports the first property, so properties are not the cause
        before = len(self.unknown)
        self._halve(asked, known, knows, [MOST_TRIES])
        return len(self.unknown) > before

    def _halve(
        self,
        asked: Mapping[str, Any],
        part: Sequence[Property],
        knows: Callable[[dict[str, Any]], bool],
        left: list[int],
    ) -> None:
        """Bisect a list of properties that is known to be rejected."""
        if len(part) == 1:
            self.unknown.add(part[0])
            return
        middle = len(part) // 2
        for half in (part[:middle], part[middle:]):
            if left[0] <= 0:
                return
            left[0] -= 1
            if not knows(question(asked, half)):
                self._halve(asked, half, knows, left)


def properties(asked: Mapping[str, Any]) -> list[Property]:
    """Return all properties that a query requests."""
    return [(entry["type"], name) for entry in asked[LIST] for name in entry["properties"]]


def question(asked: Mapping[str, Any], kept: Sequence[Property]) -> dict[str, Any]:
    """Return a query for only the given properties."""
    wanted = set(kept)
    entries = (
        {**entry, "properties": [name for name in entry["properties"] if (entry["type"], name) in wanted]}
        for entry in asked[LIST]
    )
    return {LIST: [entry for entry in entries if entry["properties"]]}
