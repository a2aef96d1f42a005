"""Collectors: one package per technology, each with its parsers, readings, collectors and commands."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from sdstop.core.collector import Collector
from sdstop.core.index import declarations

SOURCES = (
    "system.node",
    "system.pressure",
    "system.processes",
    "system.tasks",
    "system.reports",
    "system.mpstat",
    "system.units",
    "system.kernel_limits",
    "block.diskstats",
    "block.iostat",
    "block.sar",
    "block.devices",
    "block.io_sizes",
    "block.names",
    "block.mounts",
    "block.fstab",
    "block.filesystems",
    "block.df",
    "block.lsblk_text",
    "block.dm_tree",
    "block.fio",
    "md.arrays",
    "md.members",
    "network.interfaces",
    "network.links",
    "network.pause",
    "network.paths",
    "network.sessions",
    "network.sessions_text",
    "network.session_states",
    "network.nvme_paths",
    "network.storage_peers",
    "network.clients",
    "network.addresses",
    "network.interfaces_text",
    "network.cards_text",
    "network.exports",
    "network.sar",
    "limits.cgroups",
    "limits.qemu",
    "limits.services",
    "devicemapper.mapper",
    "devicemapper.suspended",
    "devicemapper.suspended_text",
    "devicemapper.status",
    "devicemapper.multipath_text",
    "devicemapper.multipathd_text",
    "devicemapper.raids",
    "devicemapper.lvm",
    "devicemapper.lvm_text",
    "devicemapper.vdostats",
    "devicemapper.dmcache",
    "devicemapper.flashcache",
    "bcache.backing",
    "bcache.superblock",
    "bcache.devices",
    "zfs.arc",
    "zfs.sizes",
    "zfs.kstats",
    "zfs.pools",
    "zfs.load",
    "zfs.zpool_iostat",
    "zfs.settings",
    "zfs.pool_settings",
    "ceph.rbd",
    "ceph.cluster",
    "ceph.cluster_log",
    "ceph.stat_text",
    "ceph.osds",
    "ceph.df_text",
    "ceph.local",
    "drbd.resources",
    "drbd.linstor",
    "pacemaker.cluster",
    "pacemaker.corosync",
    "gluster.volumes",
    "gluster.heal",
    "gluster.printed",
    "aoe.targets",
    "aoe.stat_text",
    "fabric.sas",
    "fabric.hba",
    "fabric.hba_text",
    "fabric.pcie",
    "fabric.fc",
    "fabric.rdma",
    "fabric.numa",
    "fabric.numa_text",
    "fabric.interrupts",
    "memory.dimms",
    "memory.edac",
    "memory.edac_text",
    "memory.bandwidth",
    "health.smart",
    "health.raid",
    "health.temperatures",
    "health.enclosures",
    "health.commands",
    "health.media",
    "health.badblocks",
    "powerflex.cluster",
    "kernel.log",
    "filesystems.errors",
    "filesystems.scrubs",
    "filesystems.quotas",
    "filesystems.chunks",
    "filesystems.checks",
    "platform.ipmi",
    "platform.ses",
    "filesystems.nfs",
    "filesystems.nfsiostat",
    "filesystems.nfsd",
    "filesystems.smb",
)
"""Modules that define collectors, one line each, in the order in which lists show their sources.

If two collectors bring one family, the first that has rows counts, unless the rows of this family are joined.
"""


def written(module: str) -> dict[str, Collector]:
    """Import a module of SOURCES and return the collectors in it, by their names there."""
    names = vars(import_module(f"sdstop.collectors.{module}"))
    return {name: value for name, value in names.items() if isinstance(value, Collector)}


BUILTIN: tuple[Collector, ...]
"""Every collector."""


def __getattr__(name: str) -> tuple[Collector, ...]:
    """Return BUILTIN; a module of readings alone is imported without any source, and one without an entry whole."""
    if name != "BUILTIN":
        raise AttributeError(name)
    index = declarations(Path(__file__).with_name("declared.json"), Collector)
    found = globals()[name] = tuple(
        collector
        for module in SOURCES
        for collector in (index.get(f"sdstop.collectors.{module}") or written(module)).values()
    )
    return found
