"""Registry of views, from which tabs, keys, help, commands and the table in the README are derived."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

from msgspec import Struct

if TYPE_CHECKING:
    from sdstop.tui.views.view import View


class ViewEntry(Struct, frozen=True):
    """A view of the dashboard.

    `key` is the character that shows it, `place` its module in this package and its class, `shows` its contents as
    described in the help and the README. `short` is the title on a narrow line of tabs, which omits `spare` tabs.
    """

    key: str
    title: str
    place: str
    shows: str
    short: str = ""
    spare: bool = False

    @property
    def name(self) -> str:
        """Name of the command that shows the view."""
        return self.title.lower()

    @property
    def made_of(self) -> type[View]:
        """Class of the view, imported on first use to keep the start of the dashboard fast."""
        module, _, name = self.place.partition(".")
        return cast("type[View]", getattr(importlib.import_module(f"{__name__}.{module}"), name))


VIEWS = (
    ViewEntry(
        "1",
        "Overview",
        "overview.Overview",
        "the first finding and its picture, data path, devices, processes",
        "All",
    ),
    ViewEntry("2", "Disks", "disks.Disks", "disks, arrays and pools"),
    ViewEntry("3", "Caches", "caches.Caches", "caches and request sizes", "Cache"),
    ViewEntry("4", "Network", "network.Network", "interfaces, bonds, path MTUs, TCP, NFS and SMB shares", "Net"),
    ViewEntry("5", "Fabric", "fabric.FabricView", "HBAs, expanders, slots and the disks behind them"),
    ViewEntry("6", "Host", "host.HostView", "load, memory, NUMA, processes, sources, kernel log; 6 again: next page"),
    ViewEntry("7", "Cluster", "cluster.ClusterView", "failure domains, nodes, devices, capacity", "Clust"),
    ViewEntry("8", "Volumes", "volumes.Volumes", "volumes, their limits, and space that can run out", "Vols"),
    ViewEntry("9", "Path", "path.PathView", "where the time of a request goes, from client to disk"),
    ViewEntry("0", "Readings", "readings.Readings", "readings that no other view shows", "Raw", spare=True),
    ViewEntry("!", "Findings", "findings.Findings", "all findings: active, not checked, resolved, passed", "Find"),
)
"""All views, in tab order; the first is shown at the start."""

FIRST = VIEWS[0]


def view_named(name: str) -> ViewEntry | None:
    """Return the view with a name, in the singular or the plural; None if there is none."""
    return next((entry for entry in VIEWS if name in {entry.name, entry.name.removesuffix("s")}), None)


def view_of(key: str) -> ViewEntry:
    """Return the view for a key; raises KeyError if there is none."""
    for entry in VIEWS:
        if entry.key == key:
            return entry
    raise KeyError(key)
