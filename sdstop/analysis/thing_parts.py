"""Rows about a thing: which readings describe it, and which thing a row is about."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from sdstop.analysis.latest import latest_rows
from sdstop.core.collector import Collector
from sdstop.core.families import in_use
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology

Part = tuple[type[Reading], Hashable]
"""Family and key of a row."""


def thing_of(window: Window, parts: Iterable[Part]) -> Thing | None:
    """Return the thing that the first of these rows is about that names one; None if no row does."""
    topology = window.topology
    for family, key in parts:
        row = latest_rows(window, family)[0].get(key)
        role = next(iter(family.things), None)
        if row is None or role is None:
            continue
        for known in family.things[role].of(row, role):
            for naming, name in known.names:
                thing = topology.named(naming, name)
                if thing is not None:
                    return thing
    return None


def parts_of(window: Window, thing: Thing, collectors: Iterable[Collector]) -> tuple[Part, ...]:
    """Return the rows whose subject a thing is; before them the rows that collectors derive from these."""
    topology = window.topology
    found: list[Part] = []
    for family, at in topology.once(("rows of", thing.place), lambda: _rows_of(topology, thing)):
        keys = list(latest_rows(window, family)[0])
        if at < len(keys):
            found.append((family, keys[at]))
    whole = with_derived(found, collectors)
    return (*whole[len(found) :], *found)


def with_derived(parts: Iterable[Part], collectors: Iterable[Collector]) -> tuple[Part, ...]:
    """Return rows and those that collectors derive from them, each once."""
    known = tuple(parts)
    derived = [
        (derivation.target, key)
        for collector in collectors
        for derivation in in_use(collector.derives)
        for family, key in known
        if derivation.source is family
    ]
    return tuple(dict.fromkeys((*known, *derived)))


def _rows_of(topology: Topology, thing: Thing) -> list[tuple[type[Reading], int]]:
    """Return the families of the rows about a thing, and the positions of these rows in their tables."""
    found = []
    for table in topology.tables:
        role = next(iter(table.family.things), None)
        if role is not None:
            places = topology.structure.named(table.family, role)
            found += [(table.family, at) for at, named in enumerate(places) if thing.place in named]
    return found
