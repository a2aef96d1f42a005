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
from typing import Annotated, Any, Final, Literal

import msgspec

from sdstop.core.config_error import ConfigError, unknown
from sdstop.core.settings import convert

MOST_ROWS = 20_000
"""Rows of a family that are exported, unless config says otherwise."""
MEMBERS: Final = "members"
ALL: Final = "all"

Rows = Annotated[int, msgspec.Meta(ge=1)]
Patterns = Mapping[str, re.Pattern[str]]


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is on the page; patterns and limits by family."""

    limit: Rows = MOST_ROWS
    exclude: Patterns = {}
    include: Patterns = {}
    limits: Mapping[str, Rows] = {}
    disks: Literal["members", "all", "none"] = ALL
    repeat: bool = True

    def most(self, family: str) -> int:
        """Return how many rows a family may have."""
        return self.limits.get(family, self.limit)


DEFAULT = Choice(disks=MEMBERS, repeat=False)
"""What `sdstop export` has on its page where no config says otherwise."""


def choice(table: Mapping[str, Any], known: Collection[str]) -> Choice:
    """Read `[export]`; `known` are the families there are. Raises ConfigError."""
    found = convert({"disks": DEFAULT.disks, "repeat": DEFAULT.repeat, **table}, Choice, "export")
    for setting, families in (("limits", found.limits), ("include", found.include), ("exclude", found.exclude)):
        for name in families:
            if name not in known:
                raise ConfigError(f"export.{setting}.{name}: {unknown('family', name, known)}")
    return found
