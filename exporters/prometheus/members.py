"""Members: the block devices that something on this node is built upon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdstop.collectors.block.devices import BlockLink
from sdstop.collectors.md.readings import Member
from sdstop.core.history import Window
from sdstop.readings.cache import Cache

_PARTITION = "partition"
_TELL = (BlockLink, Member, Cache)


class Members:
    """The members as of the last window; they are looked for again only when what tells them has changed."""

    def __init__(self) -> None:
        """Know of none."""
        self.names: frozenset[str] = frozenset()
        self._tables: Sequence[Any] = ()

    def of(self, window: Window) -> frozenset[str]:
        """Return the kernel names of all members."""
        tables = [window.rows(family) for family in _TELL]
        if len(tables) != len(self._tables) or any(a is not b for a, b in zip(tables, self._tables, strict=True)):
            found = members_of(window)
            self._tables = tables
            self.names = self.names if found == self.names else found
        return self.names


def members_of(window: Window) -> frozenset[str]:
    """Return the kernel names of all members of arrays, volumes, caches and multipath devices, and of their disks.

    Where a partition is the member, its disk is one too: that is where requests wait.
    """
    links = window.rows(BlockLink).values()
    found = {link.below for link in links if link.relation != _PARTITION}
    found.update(member.device for member in window.rows(Member).values())
    for cache in window.rows(Cache).values():
        found.update(name for name in f"{cache.fast or ''},{cache.slow or ''}".split(",") if name)
    found.update(link.below for link in links if link.relation == _PARTITION and link.device in found)
    return frozenset(found)
