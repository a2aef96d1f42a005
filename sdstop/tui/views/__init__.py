"""The views: one line each, from which tabs, keys, help, commands and the table in the README follow."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

from msgspec import Struct

if TYPE_CHECKING:
    from sdstop.tui.views.view import View


class ViewEntry(Struct, frozen=True):
    """A view of the dashboard.

    `key` is the character that shows it, `place` its module below this package and its class, `shows` what it has
    for help and README. `short` is the title on a narrow line of tabs; a `spare` tab is left out of it.
    """

    key: str
    title: str
    place: str
    shows: str
    short: str = ""
    spare: bool = False

    @property
    def name(self) -> str:
        """The name of the command that shows it."""
        return self.title.lower()

    @property
    def made_of(self) -> type[View]:
        """The class, imported when it is asked for: what the first view does not need costs its start nothing."""
        module, _, name = self.place.partition(".")
        return cast("type[View]", getattr(importlib.import_module(f"{__name__}.{module}"), name))


VIEWS = (
    ViewEntry("1", "Overview", "overview.Overview", "findings, worst devices, who does the I/O", "Over"),
    ViewEntry("2", "Disks", "disks.Disks", "disks, arrays and pools"),
    ViewEntry("3", "Caches", "caches.Caches", "caches and request sizes", "Cache"),
    ViewEntry("4", "Network", "network.Network", "interfaces, bonds, path MTUs, TCP", "Net"),
    ViewEntry("5", "Fabric", "fabric.FabricView", "HBAs, expanders, slots and the disks behind them"),
    ViewEntry("6", "Host", "host.HostView", "load, memory modules, NUMA, processes, sources; 6 again: next page"),
    ViewEntry("7", "Cluster", "cluster.ClusterView", "failure domains, nodes, devices, capacity", "Clust"),
    ViewEntry("8", "Volumes", "volumes.Volumes", "volumes and their limits", "Vols"),
    ViewEntry("0", "Readings", "readings.Readings", "what sources tell that no other view shows", "Read", spare=True),
    ViewEntry("!", "Findings", "findings.Findings", "all findings: in force, unknown, ended, ruled out", "Find"),
)
"""In the order of tabs; the first is shown at the start."""

FIRST = VIEWS[0]


def view_of(key: str) -> ViewEntry:
    """Return the view that a key shows; KeyError if there is none."""
    for entry in VIEWS:
        if entry.key == key:
            return entry
    raise KeyError(key)
