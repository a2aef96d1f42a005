"""Member devices: block devices that other devices on this node are built on."""

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
    """Members in the last window; recomputed only when the tables they are derived from change."""

    def __init__(self) -> None:
        """Start without members."""
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
    """Return the kernel names of all members of arrays, volumes, caches and multipath devices.

    The disk of a member partition is included, because requests queue on the disk.
    """
    links = window.rows(BlockLink).values()
    found = {link.below for link in links if link.relation != _PARTITION}
    found.update(member.device for member in window.rows(Member).values())
    for cache in window.rows(Cache).values():
        found.update(name for name in f"{cache.fast or ''},{cache.slow or ''}".split(",") if name)
    found.update(link.below for link in links if link.relation == _PARTITION and link.device in found)
    return frozenset(found)
