"""Negotiated: which statistics a version knows. One that it does not know makes it refuse the whole question.

The refused properties are found, by what the gateway says or by halving the list, left out from then on, and told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

LIST = "selectedStatisticsList"
MOST_TRIES = 60
"""Questions at most to find out what a version does not know; the rest is found out at the next sample."""
MOST_REFUSALS = 40
"""Times that a question may be refused in one sample: who names what it does not know names one at a time."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]{2,80}")

Property = tuple[str, str]
"""Type of object and name of the property."""


class Negotiated(Struct):
    """What one version refused."""

    version: str | None = None
    unknown: set[Property] = field(default_factory=set)

    def of_version(self, version: str | None) -> None:
        """Begin anew if the gateway has another version than before."""
        if version != self.version and version is not None:
            self.unknown = set() if self.version is not None else self.unknown
            self.version = version

    def body(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the question without what is not known."""
        known = [p for p in properties(asked) if p not in self.unknown]
        return question(asked, known)

    def find(self, asked: Mapping[str, Any], said: bytes, knows: Callable[[dict[str, Any]], bool]) -> bool:
        """Find out what is not known of a question that was refused.

        False if all is: it was refused for another reason. `knows` asks; it raises what asking raises.
        """
        known = [p for p in properties(asked) if p not in self.unknown]
        words = set(_WORD.findall(said.decode("utf-8", "replace")))
        named = {p for p in known if p[1] in words}
        if named and len(named) < len(known):
            self.unknown |= named
            return True
        if not known or not knows(question(asked, known[:1])):
            return False  # every version knows the first one: then it is not the properties
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
        """Look into a part that is known to be refused."""
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
    """Return all properties that a question asks for."""
    return [(entry["type"], name) for entry in asked[LIST] for name in entry["properties"]]


def question(asked: Mapping[str, Any], kept: Sequence[Property]) -> dict[str, Any]:
    """Return a question with those properties alone."""
    wanted = set(kept)
    entries = (
        {**entry, "properties": [name for name in entry["properties"] if (entry["type"], name) in wanted]}
        for entry in asked[LIST]
    )
    return {LIST: [entry for entry in entries if entry["properties"]]}
