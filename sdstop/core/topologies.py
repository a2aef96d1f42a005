"""Topologies: those of successive snapshots, built again only if the structure changed, not when counters did."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from sdstop.core.model import Reading
from sdstop.core.structure import DeclaredTable, Facts, assembled, facts, structural, table
from sdstop.core.topology import Topology

_EARLIER = 4
"""Topologies of older snapshots that are kept: few things leave at different times."""


class Topologies:
    """The topology of successive snapshots, built again only where the structure changed."""

    def __init__(self) -> None:
        """Start without one."""
        self._known: tuple[dict[type[Reading], tuple[Any, DeclaredTable]], Topology] | None = None
        self._earlier: dict[int, Topology] = {}

    def copy(self) -> Topologies:
        """Return one that starts with the topology known here, for snapshots of another time of the same node."""
        made = Topologies()
        made._known = self._known
        return made

    def of(self, tables: Mapping[type[Reading], Mapping[Hashable, Reading]]) -> Topology:
        """Return the topology of tables; a table that is the same object as before is not read again."""
        before, topology = self._known or ({}, None)
        now: dict[type[Reading], tuple[Any, DeclaredTable]] = {}
        changed = topology is None
        for family in sorted(tables, key=lambda family: family.family):
            if not structural(family):
                continue
            rows = tables[family]
            known = before.get(family)
            if known is not None and known[0] is rows:
                now[family] = known
                continue
            stated: Facts = facts(family, rows)
            if known is not None and known[1].facts == stated:
                now[family] = (rows, known[1])
            elif stated[0] or known is not None:
                now[family] = (rows, table(family, stated))
                changed = True
        changed = changed or before.keys() != now.keys()
        if topology is None or changed:
            every = [each for _, each in now.values()]
            topology = Topology(assembled(every), every)
        self._known = now, topology
        return topology

    def earlier(self, number: int, tables: Mapping[type[Reading], Mapping[Hashable, Reading]]) -> Topology:
        """Return the topology of an older snapshot, by its number; the last few are kept."""
        found = self._earlier.get(number)
        if found is None:
            found = Topologies().of(tables)
            self._earlier = {**dict(list(self._earlier.items())[1 - _EARLIER :]), number: found}
        return found
