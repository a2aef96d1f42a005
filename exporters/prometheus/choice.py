"""Settings of the metrics page: `[export]` in the config file.

[export]
profile = "lean"           # or "full": with counters of sdstop's own sources and rules, and zeros for calm rules
disks = "members"          # disks with exported counters: or "all", "none"; node_exporter covers all disks
repeat = false             # true: also export other metrics that node_exporter provides
limit = 500                # maximum rows per family, the worst ones; of families of disks, and if "full": 20000
limits = {sas_phy = 500}   # maximum rows of one family
include = {disk = "sd.*"}  # only rows whose first label matches in full
exclude = {interface = "veth.*|docker0"}
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec

from sdstop.core.config_error import ConfigError, unknown
from sdstop.core.expression import expression
from sdstop.core.settings import convert

MOST_ROWS = 20_000
"""Default maximum of exported rows of a family of disks, and of any family in the profile `full`."""
LEAN_ROWS = 500
"""Default maximum of exported rows of any other family."""
MEMBERS: Final = "members"
ALL: Final = "all"
LEAN: Final = "lean"
FULL: Final = "full"

_LOOPS = expression(r"(?:loop|ram|zram)\d+.*")
VIRTUAL: Final[Mapping[str, re.Pattern[str]]] = dict.fromkeys(("block_device", "block_link", "disk"), _LOOPS)
"""Rows that only the profile `full` has, unless another pattern is set: loop, RAM and compressed RAM devices."""

Rows = Annotated[int, msgspec.Meta(ge=1)]
Patterns = Mapping[str, re.Pattern[str]]


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Selection of exported rows; patterns and limits by family."""

    limit: Rows | None = None
    exclude: Patterns = {}
    include: Patterns = {}
    limits: Mapping[str, Rows] = {}
    disks: Literal["members", "all", "none"] = ALL
    repeat: bool = True
    profile: Literal["lean", "full"] = FULL

    def most(self, family: str, *, of_disks: bool = False) -> int:
        """Return the maximum number of rows of a family; `of_disks`: one row for each disk."""
        default = MOST_ROWS if of_disks or self.profile == FULL else LEAN_ROWS
        return self.limits.get(family, default if self.limit is None else self.limit)


DEFAULT = Choice(disks=MEMBERS, repeat=False, profile=LEAN)
"""Default selection of `sdstop export`."""


def choice(table: Mapping[str, Any], known: Collection[str]) -> Choice:
    """Read `[export]`; `known` are the names of all families. Raises ConfigError."""
    defaults = {"disks": DEFAULT.disks, "repeat": DEFAULT.repeat, "profile": DEFAULT.profile}
    found = convert({**defaults, **table}, Choice, "export")
    for setting, families in (("limits", found.limits), ("include", found.include), ("exclude", found.exclude)):
        for name in families:
            if name not in known:
                raise ConfigError(f"export.{setting}.{name}: {unknown('family', name, known)}")
    return found
