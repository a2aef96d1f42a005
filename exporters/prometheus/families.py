"""Families: those that are exported, each with its series, of which the configuration chooses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sdstop.collectors.block.readings import BlockDevice, BlockLink
from sdstop.collectors.network.readings import Interface
from sdstop.core.collector import Collector
from sdstop.core.guard import Guard, Part
from sdstop.core.history import Window
from sdstop.core.joins import ThingKind
from sdstop.core.model import Label, Reading, schema
from sdstop.exporters.prometheus import tallies
from sdstop.exporters.prometheus.choice import ALL, FULL, MEMBERS, VIRTUAL, Choice
from sdstop.exporters.prometheus.headings import details
from sdstop.exporters.prometheus.members import Members
from sdstop.exporters.prometheus.repeats import OTHERS
from sdstop.exporters.prometheus.series import FamilyLines, Text
from sdstop.readings.disk import Disk

PASSING = frozenset({"veth", "tun"})
"""Kinds of interfaces that containers and virtual machines have."""


def families_of(collectors: Sequence[Collector]) -> dict[type[Reading], Collector]:
    """Return every exported family with the first collector that provides it, in declaration order."""
    found: dict[type[Reading], Collector] = {}
    for collector in collectors:
        for family in (*collector.families, *(derivation.target for derivation in collector.derives)):
            if family.exported:
                found.setdefault(family, collector)
    return found


def with_tallied(families: Mapping[type[Reading], Collector]) -> dict[type[Reading], Collector]:
    """Return the families, and those counted by the exporter, with the collector of the family that they follow."""
    return {**families, **{tally: families[of] for tally, of in tallies.OF.items() if of in families}}


class ExportedFamilies:
    """Exported families and their series."""

    def __init__(self, collectors: Sequence[Collector], guard: Guard) -> None:
        """Start with the default choice."""
        self.chosen = Choice()
        self._collectors = collectors
        self._guard = guard
        self._members = Members()
        self._series: dict[type[Reading], tuple[str, FamilyLines]] = {}
        self._passing: frozenset[str] = frozenset()
        self._of_interfaces: tuple[FamilyLines, ...] = ()
        self.choose(self.chosen)

    def __iter__(self) -> Iterator[type[Reading]]:
        """Iterate over the families, in page order."""
        return iter(self._series)

    def __getitem__(self, family: type[Reading]) -> FamilyLines:
        """Return the series of a family."""
        return self._series[family][1]

    def choose(self, chosen: Choice) -> None:
        """Apply a new choice; `restrict` applies it to the things of a sample."""
        self.chosen = chosen
        self._series = {
            family: (collector.name, self._lines(family, collector))
            for family, collector in with_tallied(families_of(self._collectors)).items()
        }
        self._find_interfaces()

    def _find_interfaces(self) -> None:
        """Note the series of interfaces of which the default page has no passing ones, unless chosen by pattern."""
        self._of_interfaces = tuple(
            series
            for family, (_, series) in self._series.items()
            if _is_of_interfaces(family) and family.family not in self.chosen.include
        )

    def _lines(self, family: type[Reading], collector: Collector) -> FamilyLines:
        chosen, name = self.chosen, tallies.OF.get(family, family).family
        without = frozenset[str]() if chosen.repeat else frozenset(OTHERS)
        without |= frozenset() if chosen.profile == FULL else details(family)
        exclude, include = chosen.exclude.get(name), chosen.include.get(name)
        if chosen.profile != FULL and name in VIRTUAL:
            exclude = exclude or VIRTUAL[name]
        most = chosen.most(name, of_disks=_is_of_disks(family))
        return FamilyLines(family, collector, most, exclude, include, without)

    def disks(self, window: Window) -> frozenset[str] | None:
        """Return the chosen disks, None for all."""
        if self.chosen.disks == ALL:
            return None
        if self.chosen.disks != MEMBERS:
            return frozenset()
        members = self._members
        return self._guard.call(Part.TALLY, "members", lambda: members.of(window), lambda _: frozenset[str]())

    def restrict(self, window: Window, disks: frozenset[str] | None) -> None:
        """Restrict the disk families to these disks, None: all, and leave out what repeats maps for paths.

        Interfaces of containers and virtual machines are left out of the default page: their names never return.
        """
        if self.chosen.profile != FULL:
            passing = passing_interfaces(window)
            self._passing = self._passing if passing == self._passing else passing
            for series in self._of_interfaces:
                series.hide(self._passing)
        if self.chosen.profile != FULL and self.chosen.disks == MEMBERS:
            for repeated in (BlockDevice, BlockLink):
                if repeated in self._series:
                    self[repeated].hide(self._members.paths)
        for family in (Disk, tallies.DiskSaturation):
            if family in self._series:
                self[family].restrict(disks)

    def prefer(self, named: frozenset[str]) -> None:
        """Keep rows with these names where a family has too many series."""
        for _, series in self._series.values():
            series.prefer(named)

    def dropped(self) -> Counter[str]:
        """Return the number of series that were dropped because their families have too many, by collector."""
        found: Counter[str] = Counter()
        for name, series in self._series.values():
            found[name] += series.dropped
        return found

    def text(self, family: type[Reading], rows: Mapping[Any, Reading]) -> Text:
        """Return a family's lines; none if rendering raises an exception: the next page starts from scratch."""
        name, series = self._series[family]
        made = self._guard.call(Part.PAGE, family.family, lambda: series.text(rows), lambda _: None)
        if made is not None:
            return made
        collector = next(each for each in self._collectors if each.name == name)
        self._series[family] = name, self._lines(family, collector)
        self._find_interfaces()
        return Text(())


def _is_of_disks(family: type[Reading]) -> bool:
    """Return whether a family has a row for each block device, multipath map or path."""
    labels = {column.name for column in schema(family).columns if isinstance(column.mark, Label)}
    return "device" in labels or any(
        each.kind in (ThingKind.MULTIPATH_MAP, ThingKind.PATH) for each in family.things.values()
    )


def _is_of_interfaces(family: type[Reading]) -> bool:
    """Return whether a family has a row for each network interface."""
    return any(column.name == "interface" and isinstance(column.mark, Label) for column in schema(family).columns)


def passing_interfaces(window: Window) -> frozenset[str]:
    """Return the names of the interfaces of containers and virtual machines."""
    return frozenset(row.interface for row in window.rows(Interface).values() if row.kind in PASSING)
