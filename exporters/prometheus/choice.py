"""Choice: what config's `[export]` says of the page.

[export]
disks = "members"          # or "all", or "none": whose counters are exported; node_exporter has them of all
repeat = false             # true: also what else node_exporter has
limit = 20000              # rows of a family, at most
limits = {sas_phy = 500}   # of one family
include = {disk = "sd.*"}  # only rows of which the first label matches, as a whole
exclude = {interface = "veth.*|docker0"}
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sdstop.config import ConfigError

MOST_ROWS = 20_000
"""Rows of a family that are exported, unless config says otherwise."""
MEMBERS, ALL, NONE = "members", "all", "none"

Patterns = Mapping[str, re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class Choice:
    """What is on the page; patterns and limits by family."""

    limit: int = MOST_ROWS
    exclude: Patterns = field(default_factory=dict)
    include: Patterns = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    disks: str = ALL
    repeat: bool = True

    def most(self, family: str) -> int:
        """Return how many rows a family may have."""
        return self.limits.get(family, self.limit)


DEFAULT = Choice(disks=MEMBERS, repeat=False)
"""What `sdstop export` has on its page where no config says otherwise."""


def choice(table: Mapping[str, Any], known: Collection[str]) -> Choice:
    """Read `[export]`; `known` are the families there are. Raises ConfigError."""
    unknown = sorted(table.keys() - _SETTINGS)
    if unknown:
        raise ConfigError(f"export.{unknown[0]}: there is no such setting; there are {', '.join(sorted(_SETTINGS))}")
    disks, repeat = table.get("disks", DEFAULT.disks), table.get("repeat", DEFAULT.repeat)
    if disks not in {MEMBERS, ALL, NONE}:
        raise ConfigError("export.disks must be members, all or none")
    if not isinstance(repeat, bool):
        raise ConfigError("export.repeat must be true or false")
    limits = _by_family("limits", table, known)
    return Choice(
        _limit("limit", table.get("limit", MOST_ROWS)),
        {name: _pattern(f"exclude.{name}", said) for name, said in _by_family("exclude", table, known).items()},
        {name: _pattern(f"include.{name}", said) for name, said in _by_family("include", table, known).items()},
        {name: _limit(f"limits.{name}", said) for name, said in limits.items()},
        disks,
        repeat,
    )


_SETTINGS = frozenset({"disks", "repeat", "limit", "limits", "include", "exclude"})


def _by_family(setting: str, table: Mapping[str, Any], known: Collection[str]) -> Mapping[str, Any]:
    found = table.get(setting, {})
    if not isinstance(found, Mapping):
        what = "number" if setting == "limits" else "pattern"
        raise ConfigError(f"export.{setting} must be a table of family = {what}")
    for name in found:
        if name not in known:
            raise ConfigError(f"export.{setting}.{name}: no such family; there are {', '.join(sorted(known))}")
    return found


def _limit(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"export.{name} must be a whole number from 1")
    return value


def _pattern(name: str, value: object) -> re.Pattern[str]:
    try:
        return re.compile(value)  # type: ignore[call-overload,no-any-return]  # what is no text is a TypeError
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise ConfigError(f"export.{name} must be a regular expression: {error}") from error
